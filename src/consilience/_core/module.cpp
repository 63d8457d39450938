// The Python face of the kernels: shapes are checked here, the GIL is released around the loops.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>

#include "bindings.hpp"
#include "local_patterns.hpp"

namespace nb = nanobind;

namespace {

using consilience::Matrix, consilience::Vector;
using Writable = nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void local_patterns(Matrix<float> X, Vector<std::int64_t> distances, Matrix<float> biases,
                    Writable out) {
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
    m.def("local_patterns", &local_patterns, "X"_a, "distances"_a, "biases"_a,
          nb::arg("out").noconvert());
    consilience::bind_rbf(m);
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
