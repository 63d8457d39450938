// The Python face of prediction. The arrays of a tree are checked: they may come from a file.
#include <algorithm>

#include "bindings.hpp"
#include "edges.hpp"
#include "predict.hpp"

namespace consilience {
namespace {

// feature, threshold, left, right, bin, missing_left of a tree
struct TreeArrays {
    Vector<std::int32_t> feature;
    Vector<double> threshold;
    Vector<std::int32_t> left, right;
    Vector<std::uint8_t> bin, missing_left;
    std::size_t n_features = 0;  // at least so many

    static nb::object item(const nb::tuple& t, std::size_t i) {
        require(nb::len(t) == 6, "a tree has 6 arrays");
        return t[i];
    }

    explicit TreeArrays(const nb::tuple& t)
        : feature(read<Vector<std::int32_t>>(item(t, 0), "feature of a tree")),
          threshold(read<Vector<double>>(item(t, 1), "threshold of a tree")),
          left(read<Vector<std::int32_t>>(item(t, 2), "left of a tree")),
          right(read<Vector<std::int32_t>>(item(t, 3), "right of a tree")),
          bin(read<Vector<std::uint8_t>>(item(t, 4), "bin of a tree")),
          missing_left(read<Vector<std::uint8_t>>(item(t, 5), "missing_left of a tree")) {
        const std::size_t size = feature.shape(0);
        require(size > 0 && threshold.shape(0) == size && left.shape(0) == size &&
                    right.shape(0) == size && bin.shape(0) == size && missing_left.shape(0) == size,
                "the arrays of a tree must have the same length");
        // children follow their parents, so no walk can leave the arrays or go in circles
        const auto n_nodes = static_cast<std::int32_t>(size);
        for (std::int32_t i = 0; i < n_nodes; ++i) {
            if (feature.data()[i] < 0) continue;
            const std::int32_t l = left.data()[i], r = right.data()[i];
            require(l > i && l < n_nodes && r > i && r < n_nodes, "not a tree");
            n_features = std::max(n_features, static_cast<std::size_t>(feature.data()[i]) + 1);
        }
    }
    void require_features(std::size_t d) const {
        require(d >= n_features, "the data have fewer features than the tree was grown on");
    }
    TreeView view() const {
        return {feature.data(),   left.data(), right.data(),
                threshold.data(), bin.data(),  missing_left.data()};
    }
};

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
    return reach(bins.shape(1), n_depths,
                 [&](Reached out) { apply_bins(arrays.view(), bins.data(), bins.shape(1), out); });
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
    m.def("apply_sparse_bins", &py_apply_sparse_bins, "tree"_a, "indptr"_a, "middle"_a,
          "entry_rows"_a, "entry_codes"_a, "zero_bin"_a, "outside_in"_a, "n_rows"_a, "n_depths"_a);
}

}  // namespace consilience
