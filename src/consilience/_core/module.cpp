// The Python face of the kernels: shapes are checked here, the GIL is released around the loops.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>

#include "bindings.hpp"
#include "rbf.hpp"

namespace nb = nanobind;

namespace {

template <typename T>
using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <typename T>
void rbf_epilogue(Matrix<T> products, Vector<T> x_norms, Vector<T> z_norms, double gamma) {
    const std::size_t n = products.shape(0), m = products.shape(1);
    if (x_norms.shape(0) != n || z_norms.shape(0) != m)
        throw std::invalid_argument("x_norms and z_norms must match the rows and columns of products");
    if (!(gamma >= 0)) throw std::invalid_argument("gamma must be a number >= 0");
    T* out = products.data();
    const T *x = x_norms.data(), *z = z_norms.data();
    nb::gil_scoped_release release;
    consilience::rbf_epilogue(out, x, z, n, m, static_cast<T>(gamma));
}

}  // namespace

NB_MODULE(_core, m) {
    m.doc() = "Compiled kernels of consilience. Plain arrays in, caller-owned arrays out.";
    using namespace nb::literals;
    // noconvert: a converted copy of an output array would swallow the result
    m.def("rbf_epilogue", &rbf_epilogue<double>, nb::arg("products").noconvert(),
          nb::arg("x_norms").noconvert(), nb::arg("z_norms").noconvert(), "gamma"_a);
    m.def("rbf_epilogue", &rbf_epilogue<float>, nb::arg("products").noconvert(),
          nb::arg("x_norms").noconvert(), nb::arg("z_norms").noconvert(), "gamma"_a);
    consilience::bind_trees(m);
    consilience::bind_predict(m);
    consilience::bind_smo(m);
    consilience::bind_sparse_gram(m);
    consilience::bind_margin_rows(m);
    consilience::bind_signals(m);
    consilience::bind_forest(m);
    consilience::bind_boost(m);
    consilience::bind_coordinate_descent(m);
}
