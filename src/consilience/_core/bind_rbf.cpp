// The Python face of the Gaussian kernels.
#include "bindings.hpp"
#include "gaussian_rows.hpp"
#include "rbf.hpp"

namespace consilience {
namespace {

template <typename T>
using Writable = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <typename T>
void epilogue(Writable<T> products, Vector<T> x_norms, Vector<T> z_norms, double gamma) {
    const std::size_t n = products.shape(0), m = products.shape(1);
    require(x_norms.shape(0) == n && z_norms.shape(0) == m,
            "x_norms and z_norms must match the rows and columns of products");
    require(gamma >= 0, "gamma must be a number >= 0");
    T* out = products.data();
    const T *x = x_norms.data(), *z = z_norms.data();
    nb::gil_scoped_release release;
    rbf_epilogue(out, x, z, n, m, static_cast<T>(gamma));
}

using Stack = nb::ndarray<const float, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

void combined(Stack products, Matrix<float> x_norms, Matrix<float> z_norms, Vector<float> factors,
              Vector<float> weights, double width, Writable<float> out) {
    const std::size_t n_views = products.shape(0), n = products.shape(1), m = products.shape(2);
    require(x_norms.shape(0) == n_views && x_norms.shape(1) == n && z_norms.shape(0) == n_views &&
                z_norms.shape(1) == m && factors.shape(0) == n_views &&
                weights.shape(0) == n_views,
            "norms, factors and weights must match the products");
    require(out.shape(0) == n && out.shape(1) == m,
            "out must have the rows and columns of the products");
    require(width >= 0, "width must be a number >= 0");
    nb::gil_scoped_release release;
    combined_rbf(products.data(), x_norms.data(), z_norms.data(), factors.data(), weights.data(),
                 n_views, n, m, static_cast<float>(width), out.data());
}

nb::object packed_panels(Matrix<float> Z) {
    const std::size_t n = Z.shape(0), d = Z.shape(1);
    std::vector<float> packed(panels(n) * d * panel_width);
    pack_panels(Z.data(), n, d, packed.data());
    return to_numpy(std::move(packed));
}

void rows_of_gaussian(Matrix<float> X, Vector<float> x_norms, Vector<float> packed,
                      Vector<float> z_norms, Writable<float> out) {
    const std::size_t r = X.shape(0), d = X.shape(1), n = z_norms.shape(0);
    require(x_norms.shape(0) == r, "x_norms must have an entry for each row of X");
    require(packed.shape(0) == panels(n) * d * panel_width,
            "packed must hold as many rows as z_norms, of as many columns as X");
    require(out.shape(0) == r && out.shape(1) == n,
            "out must have a row for each of X and a column for each of z_norms");
    nb::gil_scoped_release release;
    gaussian_rows(X.data(), x_norms.data(), r, packed.data(), z_norms.data(), n, d, out.data());
}

}  // namespace

void bind_rbf(nb::module_& m) {
    using namespace nb::literals;
    // noconvert: a converted copy of an output array would swallow the result
    m.def("rbf_epilogue", &epilogue<double>, nb::arg("products").noconvert(),
          nb::arg("x_norms").noconvert(), nb::arg("z_norms").noconvert(), "gamma"_a);
    m.def("rbf_epilogue", &epilogue<float>, nb::arg("products").noconvert(),
          nb::arg("x_norms").noconvert(), nb::arg("z_norms").noconvert(), "gamma"_a);
    m.def("combined_rbf", &combined, nb::arg("products").noconvert(),
          nb::arg("x_norms").noconvert(), nb::arg("z_norms").noconvert(), "factors"_a, "weights"_a,
          "width"_a, nb::arg("out").noconvert());
    m.def("pack_panels", &packed_panels, nb::arg("Z").noconvert());
    m.def("gaussian_rows", &rows_of_gaussian, nb::arg("X").noconvert(),
          nb::arg("x_norms").noconvert(), nb::arg("packed").noconvert(),
          nb::arg("z_norms").noconvert(), nb::arg("out").noconvert());
}

}  // namespace consilience
