// The Python face of prediction.
#include "bindings.hpp"
#include "edges.hpp"
#include "tree_arrays.hpp"

namespace consilience {
namespace {

// n_depths = 0 asks for the leaf
template <typename Apply>
nb::object reach(std::size_t n, int n_depths, Apply apply) {
    const std::size_t width = n_depths > 0 ? n_depths : 1;
    std::vector<std::int32_t> nodes;
    {
        nb::gil_scoped_release release;
        nodes.resize(n * width);
        apply(Reached{nodes.data(), static_cast<int>(width), n_depths == 0});
    }
    return to_numpy(std::move(nodes), width);
}

template <typename T>
nb::object py_apply_dense(nb::tuple tree, Strided<T> x, int n_depths) {
    const TreeArrays arrays(tree);
    arrays.require_features(x.shape(1));
    return reach(x.shape(0), n_depths,
                 [&](Reached out) { apply_dense(arrays.view(), columns(x), out); });
}

nb::object py_apply_csr(nb::tuple tree, Vector<double> data, Vector<std::int32_t> indices,
                        Vector<std::int64_t> indptr, int n_depths) {
    const TreeArrays arrays(tree);
    const std::size_t n = indptr.shape(0) - 1;
    return reach(n, n_depths, [&](Reached out) {
        apply_csr(arrays.view(), data.data(), indices.data(), indptr.data(), n, out);
    });
}

nb::object py_apply_bins(nb::tuple tree, Codes bins, int n_depths) {
    const TreeArrays arrays(tree);
    require(bins.shape(2) == lanes, "bins do not fit");
    arrays.require_features(bins.shape(0) * lanes);
    return reach(bins.shape(1), n_depths, [&](Reached out) {
        apply_bins(arrays.view(), arrays.size(), bins.data(), bins.shape(1), out);
    });
}

// out (n): the decision (by node, in) at the leaf of each row
void py_predict_bins(nb::tuple tree, Vector<std::int32_t> decision, Codes bins,
                     nb::ndarray<std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> out) {
    const TreeArrays arrays(tree);
    const std::size_t n = bins.shape(1);
    require(bins.shape(2) == lanes && out.shape(0) == n, "bins or out do not fit");
    require(decision.shape(0) == arrays.size(), "decision must have one entry per node");
    arrays.require_features(bins.shape(0) * lanes);
    nb::gil_scoped_release release;
    apply_bins(arrays.view(), arrays.size(), bins.data(), n, {out.data(), 1, true});
    for (std::size_t i = 0; i < n; ++i) out.data()[i] = decision.data()[out.data()[i]];
}

nb::object py_apply_sparse_bins(nb::tuple tree, Vector<std::int64_t> indptr,
                                Vector<std::int64_t> middle, Vector<std::int32_t> entry_rows,
                                Vector<std::uint8_t> entry_codes, Vector<std::uint8_t> zero_bin,
                                Vector<std::uint32_t> outside_in, std::size_t n, int n_depths) {
    const TreeArrays arrays(tree);
    arrays.require_features(zero_bin.shape(0));
    const SparseCodes entries = {indptr.data(),      middle.data(),   entry_rows.data(),
                                 entry_codes.data(), zero_bin.data(), outside_in.data()};
    return reach(n, n_depths,
                 [&](Reached out) { apply_sparse_bins(arrays.view(), entries, n, out); });
}

}  // namespace

void bind_predict(nb::module_& m) {
    using namespace nb::literals;
    m.def("apply_dense", &py_apply_dense<float>, "tree"_a, nb::arg("x").noconvert(), "n_depths"_a);
    m.def("apply_dense", &py_apply_dense<double>, "tree"_a, nb::arg("x").noconvert(), "n_depths"_a);
    m.def("apply_csr", &py_apply_csr, "tree"_a, "data"_a, "indices"_a, "indptr"_a, "n_depths"_a);
    m.def("apply_bins", &py_apply_bins, "tree"_a, "bins"_a, "n_depths"_a);
    m.def("predict_bins", &py_predict_bins, "tree"_a, "decision"_a, "bins"_a,
          nb::arg("out").noconvert());
    m.def("apply_sparse_bins", &py_apply_sparse_bins, "tree"_a, "indptr"_a, "middle"_a,
          "entry_rows"_a, "entry_codes"_a, "zero_bin"_a, "outside_in"_a, "n_rows"_a, "n_depths"_a);
}

}  // namespace consilience
