// The Python face of binning and trees: arguments are checked here, the GIL is released around the
// loops, results are fresh NumPy arrays.
#include <cmath>
#include <stdexcept>

#include <nanobind/stl/optional.h>

#include "bindings.hpp"
#include "binning.hpp"
#include "grow.hpp"
#include "predict.hpp"

namespace consilience {
namespace {

using Flags = std::optional<Vector<bool>>;

void require(bool condition, const char* message) {
    if (!condition) throw std::invalid_argument(message);
}

const std::uint8_t* flags(const Flags& rows, std::size_t n, const char* message) {
    if (!rows) return nullptr;
    require(rows->shape(0) == n, message);
    return reinterpret_cast<const std::uint8_t*>(rows->data());
}

template <typename T>
Columns<T> columns(const Strided<T>& x) {
    return {x.data(), x.shape(0), x.shape(1), x.stride(0), x.stride(1)};
}

nb::tuple limits_to_numpy(BinLimits limits) {
    return nb::make_tuple(to_numpy(std::move(limits.least)), to_numpy(std::move(limits.greatest)),
                          to_numpy(std::move(limits.start)));
}

template <typename T>
nb::tuple py_bin_dense(Strided<T> x, Flags present, int limit) {
    require(limit >= 2 && limit <= max_bins, "max_bins must lie in 2 ... 255");
    const std::size_t n = x.shape(0), d = x.shape(1), n_blocks = (d + lanes - 1) / lanes;
    require(n < (std::size_t{1} << 31), "more than 2^31 rows");
    const std::uint8_t* rows = flags(present, n, "present must have one flag per row");
    std::vector<std::uint8_t> bins;
    BinLimits limits;
    {
        nb::gil_scoped_release release;
        bins.resize(n_blocks * n * lanes);
        limits = bin_dense(columns(x), rows, limit, bins.data());
    }
    return nb::make_tuple(to_numpy(std::move(bins)), limits_to_numpy(std::move(limits)));
}

nb::tuple py_bin_sparse(Vector<double> data, Vector<std::int32_t> indices,
                        Vector<std::int64_t> indptr, std::size_t n, Flags present, int limit) {
    require(limit >= 2 && limit <= max_bins, "max_bins must lie in 2 ... 255");
    require(data.shape(0) == indices.shape(0) && indptr.shape(0) > 0, "not a CSC matrix");
    const std::uint8_t* rows = flags(present, n, "present must have one flag per row");
    SparseBins out;
    {
        nb::gil_scoped_release release;
        out = bin_sparse(data.data(), indices.data(), indptr.data(), n, indptr.shape(0) - 1, rows,
                         limit);
    }
    return nb::make_tuple(to_numpy(std::move(out.indptr)), to_numpy(std::move(out.middle)),
                          to_numpy(std::move(out.rows)),
                          to_numpy(std::move(out.codes)), to_numpy(std::move(out.zero_bin)),
                          to_numpy(std::move(out.outside_in)),
                          limits_to_numpy(std::move(out.limits)));
}

// least, greatest, start
using EdgeArrays = std::tuple<Vector<double>, Vector<double>, Vector<std::int64_t>>;

// max_depth, min_samples_leaf, min_weight_leaf, max_features, random_splits, seed
TreeParams read_params(const nb::tuple& values, std::size_t d) {
    require(nb::len(values) == 6, "params must have 6 entries");
    TreeParams p;
    p.max_depth = nb::cast<int>(values[0]);
    p.min_samples_leaf = nb::cast<std::int64_t>(values[1]);
    p.min_weight_leaf = nb::cast<double>(values[2]);
    p.max_features = nb::cast<std::size_t>(values[3]);
    p.random_splits = nb::cast<bool>(values[4]);
    p.seed = nb::cast<std::uint64_t>(values[5]);
    require(p.max_depth >= 0 && p.min_samples_leaf >= 1 && p.min_weight_leaf >= 0,
            "max_depth, min_samples_leaf or min_weight_leaf out of range");
    require(p.max_features >= 1 || d == 0, "max_features must be at least 1");
    return p;
}

// The arrays of a tree as in Python: value is nodes x classes.
nb::tuple tree_to_numpy(Tree tree, const Problem& p) {
    std::vector<double> value;
    std::vector<std::int64_t> count;
    for (std::size_t i = 0; i < tree.size(); ++i) {
        if (p.cost) value.push_back(0);
        for (int c = 0; c < p.n_sums; ++c)
            value.push_back(std::ldexp(static_cast<double>(tree.total(i)[c]), -p.exponent));
    }
    const std::size_t n_classes = p.n_classes;
    return nb::make_tuple(to_numpy(std::move(tree.feature)), to_numpy(std::move(tree.threshold)),
                          to_numpy(std::move(tree.left)), to_numpy(std::move(tree.right)),
                          to_numpy(std::move(tree.bin)), to_numpy(std::move(tree.missing_left)),
                          to_numpy(std::move(tree.depth)), to_numpy(std::move(tree.decision)),
                          to_numpy(std::move(tree.gain)), to_numpy(std::move(value), n_classes));
}

// codes and weights, or costs: one of them is given
struct Target {
    std::optional<Vector<std::int32_t>> codes;
    std::optional<Vector<double>> weights;
    std::optional<Matrix<double>> costs;
    Flags rows;
    int n_classes;
};

Problem make_problem(const Target& t, std::size_t n, const TreeParams& params) {
    const std::uint8_t* rows = flags(t.rows, n, "rows must have one flag per row");
    require(t.n_classes >= 1, "n_classes must be at least 1");
    if (t.costs) {
        require(t.costs->shape(0) == n && t.costs->shape(1) == static_cast<std::size_t>(t.n_classes),
                "costs must have one row per row and one column per class");
        return cost_problem(t.costs->data(), rows, n, t.n_classes, params);
    }
    require(t.codes && t.weights && t.codes->shape(0) == n && t.weights->shape(0) == n,
            "codes and weights must have one entry per row");
    return weighted_problem(t.codes->data(), t.weights->data(), rows, n, t.n_classes, params);
}

template <typename Grow>
nb::tuple grow(const Target& target, std::size_t n, const TreeParams& params, Grow grow_tree) {
    Problem problem;
    Tree tree;
    {
        nb::gil_scoped_release release;
        problem = make_problem(target, n, params);
        tree = grow_tree(problem);
    }
    return tree_to_numpy(std::move(tree), problem);
}

nb::tuple py_grow_dense(Codes bins, Vector<double> least, Vector<double> greatest,
                        Vector<std::int64_t> start, std::optional<Vector<std::int32_t>> codes,
                        std::optional<Vector<double>> weights, std::optional<Matrix<double>> costs,
                        Flags rows, int n_classes, nb::tuple params) {
    const std::size_t n = bins.shape(1), d = start.shape(0) - 1;
    require(bins.shape(2) == lanes && bins.shape(0) == (d + lanes - 1) / lanes, "bins do not fit");
    const TreeParams p = read_params(params, d);
    const Edges edges = {least.data(), greatest.data(), start.data()};
    return grow({codes, weights, costs, rows, n_classes}, n, p, [&](const Problem& problem) {
        return grow_dense(bins.data(), d, edges, problem, p);
    });
}

nb::tuple py_grow_sparse(Vector<std::int64_t> indptr, Vector<std::int64_t> middle,
                         Vector<std::int32_t> entry_rows,
                         Vector<std::uint8_t> entry_codes, Vector<std::uint8_t> zero_bin,
                         Vector<std::uint32_t> outside_in,
                         std::size_t n, Vector<double> least, Vector<double> greatest,
                         Vector<std::int64_t> start, std::optional<Vector<std::int32_t>> codes,
                         std::optional<Vector<double>> weights, std::optional<Matrix<double>> costs,
                         Flags rows, int n_classes, nb::tuple params) {
    const std::size_t d = start.shape(0) - 1;
    require(indptr.shape(0) == d + 1 && middle.shape(0) == d && zero_bin.shape(0) == d, "columns do not fit");
    const TreeParams p = read_params(params, d);
    const Edges edges = {least.data(), greatest.data(), start.data()};
    const SparseCodes entries = {indptr.data(), middle.data(), entry_rows.data(), entry_codes.data(),
                                 zero_bin.data(), outside_in.data()};
    return grow({codes, weights, costs, rows, n_classes}, n, p, [&](const Problem& problem) {
        return grow_sparse(entries, d, edges, problem, p);
    });
}

// feature, threshold, left, right, bin, missing_left of a tree
struct TreeArrays {
    Vector<std::int32_t> feature;
    Vector<double> threshold;
    Vector<std::int32_t> left, right;
    Vector<std::uint8_t> bin, missing_left;

    explicit TreeArrays(const nb::tuple& t)
        : feature(nb::cast<Vector<std::int32_t>>(t[0])), threshold(nb::cast<Vector<double>>(t[1])),
          left(nb::cast<Vector<std::int32_t>>(t[2])), right(nb::cast<Vector<std::int32_t>>(t[3])),
          bin(nb::cast<Vector<std::uint8_t>>(t[4])),
          missing_left(nb::cast<Vector<std::uint8_t>>(t[5])) {
        const std::size_t size = feature.shape(0);
        require(size > 0 && threshold.shape(0) == size && left.shape(0) == size &&
                    right.shape(0) == size && bin.shape(0) == size && missing_left.shape(0) == size,
                "the arrays of a tree must have the same length");
    }
    TreeView view() const {
        return {feature.data(), left.data(), right.data(), threshold.data(), bin.data(),
                missing_left.data()};
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
    return reach(bins.shape(1), n_depths, [&](Reached out) {
        apply_bins(arrays.view(), bins.data(), bins.shape(1), out);
    });
}

nb::object py_apply_sparse_bins(nb::tuple tree, Vector<std::int64_t> indptr, Vector<std::int64_t> middle,
                                Vector<std::int32_t> entry_rows, Vector<std::uint8_t> entry_codes,
                                Vector<std::uint8_t> zero_bin,
                         Vector<std::uint32_t> outside_in, std::size_t n, int n_depths) {
    const TreeArrays arrays(tree);
    const SparseCodes entries = {indptr.data(), middle.data(), entry_rows.data(), entry_codes.data(),
                                 zero_bin.data(), outside_in.data()};
    return reach(n, n_depths,
                 [&](Reached out) { apply_sparse_bins(arrays.view(), entries, n, out); });
}

}  // namespace

void bind_trees(nb::module_& m) {
    using namespace nb::literals;
    const auto none = nb::none();
    m.def("bin_dense", &py_bin_dense<float>, nb::arg("x").noconvert(), "present"_a.none(), "max_bins"_a);
    m.def("bin_dense", &py_bin_dense<double>, nb::arg("x").noconvert(), "present"_a.none(), "max_bins"_a);
    m.def("bin_sparse", &py_bin_sparse, "data"_a, "indices"_a, "indptr"_a, "n_rows"_a,
          "present"_a.none(), "max_bins"_a);
    m.def("grow_dense", &py_grow_dense, "bins"_a, "least"_a, "greatest"_a, "start"_a,
          "codes"_a.none(), "weights"_a.none(), "costs"_a.none(), "rows"_a.none(), "n_classes"_a,
          "params"_a);
    m.def("grow_sparse", &py_grow_sparse, "indptr"_a, "middle"_a, "entry_rows"_a, "entry_codes"_a,
          "zero_bin"_a, "outside_in"_a, "n_rows"_a, "least"_a, "greatest"_a, "start"_a, "codes"_a.none(),
          "weights"_a.none(), "costs"_a.none(), "rows"_a.none(), "n_classes"_a, "params"_a);
    m.def("apply_dense", &py_apply_dense<float>, "tree"_a, nb::arg("x").noconvert(), "n_depths"_a);
    m.def("apply_dense", &py_apply_dense<double>, "tree"_a, nb::arg("x").noconvert(), "n_depths"_a);
    m.def("apply_csr", &py_apply_csr, "tree"_a, "data"_a, "indices"_a, "indptr"_a, "n_depths"_a);
    m.def("apply_bins", &py_apply_bins, "tree"_a, "bins"_a, "n_depths"_a);
    m.def("apply_sparse_bins", &py_apply_sparse_bins, "tree"_a, "indptr"_a, "middle"_a, "entry_rows"_a,
          "entry_codes"_a, "zero_bin"_a, "outside_in"_a, "n_rows"_a, "n_depths"_a);
}

}  // namespace consilience
