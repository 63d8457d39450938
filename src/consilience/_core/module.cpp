// The Python face of the kernels: shapes are checked here, the GIL is released around the loops.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>

#include "bindings.hpp"
#include "local_patterns.hpp"
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

using Stack = nb::ndarray<const float, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void combined_rbf(Stack products, Rows x_norms, Rows z_norms, Vector<float> factors,
                  Vector<float> weights, double width, Matrix<float> out) {
    const std::size_t n_views = products.shape(0), n = products.shape(1), m = products.shape(2);
    if (x_norms.shape(0) != n_views || x_norms.shape(1) != n || z_norms.shape(0) != n_views ||
        z_norms.shape(1) != m || factors.shape(0) != n_views || weights.shape(0) != n_views)
        throw std::invalid_argument("norms, factors and weights must match the products");
    if (out.shape(0) != n || out.shape(1) != m)
        throw std::invalid_argument("out must have the rows and columns of the products");
    if (!(width >= 0)) throw std::invalid_argument("width must be a number >= 0");
    nb::gil_scoped_release release;
    consilience::combined_rbf(products.data(), x_norms.data(), z_norms.data(), factors.data(),
                              weights.data(), n_views, n, m, static_cast<float>(width),
                              out.data());
}

void local_patterns(Rows X, Vector<std::int64_t> distances, Rows biases, Matrix<float> out) {
    using consilience::pattern_points, consilience::patterns_per_distance;
    const std::size_t n = X.shape(0), d = X.shape(1), n_distances = distances.shape(0);
    if (biases.shape(0) != n_distances || biases.shape(1) != patterns_per_distance)
        throw std::invalid_argument("biases must have 84 columns and a row for each distance");
    if (out.shape(0) != n || out.shape(1) != patterns_per_distance * n_distances)
        throw std::invalid_argument("out must have a row for each of X and 84 columns per distance");
    const auto longest = static_cast<std::int64_t>(d == 0 ? 0 : (d - 1) / (pattern_points - 1));
    for (std::size_t k = 0; k < n_distances; ++k)
        if (distances.data()[k] < 1 || distances.data()[k] > longest)
            throw std::invalid_argument("distances must be positive and patterns fit into a row");
    nb::gil_scoped_release release;
    consilience::local_patterns(X.data(), n, d, distances.data(), n_distances, biases.data(),
                                out.data());
}

}  // namespace

NB_MODULE(_core, m) {
    m.doc() = "Compiled kernels of consilience. Plain arrays in, caller-owned arrays out.";
    using namespace nb::literals;
    // threads that an interrupt leaves behind still hold objects when the interpreter ends: no leak
    nb::set_leak_warnings(false);
    // noconvert: a converted copy of an output array would swallow the result
    m.def("rbf_epilogue", &rbf_epilogue<double>, nb::arg("products").noconvert(),
          nb::arg("x_norms").noconvert(), nb::arg("z_norms").noconvert(), "gamma"_a);
    m.def("rbf_epilogue", &rbf_epilogue<float>, nb::arg("products").noconvert(),
          nb::arg("x_norms").noconvert(), nb::arg("z_norms").noconvert(), "gamma"_a);
    m.def("combined_rbf", &combined_rbf, nb::arg("products").noconvert(),
          nb::arg("x_norms").noconvert(), nb::arg("z_norms").noconvert(), "factors"_a, "weights"_a,
          "width"_a, nb::arg("out").noconvert());
    m.def("local_patterns", &local_patterns, "X"_a, "distances"_a, "biases"_a,
          nb::arg("out").noconvert());
    consilience::bind_trees(m);
    consilience::bind_predict(m);
    consilience::bind_levels(m);
    consilience::bind_round_rows(m);
    consilience::bind_smo(m);
    consilience::bind_sparse_gram(m);
    consilience::bind_margin_rows(m);
    consilience::bind_signals(m);
    consilience::bind_forest(m);
    consilience::bind_boost(m);
    consilience::bind_coordinate_descent(m);
}
