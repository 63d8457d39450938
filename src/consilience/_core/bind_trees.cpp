// The Python face of binning and trees: arguments are checked here, the GIL is released around the
// loops, results are fresh NumPy arrays.
#include <nanobind/stl/optional.h>

#include <cmath>
#include <stdexcept>

#include "bindings.hpp"
#include "binning.hpp"
#include "grow.hpp"

namespace consilience {
namespace {

using Flags = std::optional<Vector<bool>>;

const std::uint8_t* flags(const Flags& rows, std::size_t n, const char* message) {
    if (!rows) return nullptr;
    require(rows->shape(0) == n, message);
    return reinterpret_cast<const std::uint8_t*>(rows->data());
}

nb::tuple limits_to_numpy(BinLimits limits) {
    return nb::make_tuple(to_numpy(std::move(limits.least)), to_numpy(std::move(limits.greatest)),
                          to_numpy(std::move(limits.start)));
}

using Masses = std::optional<Vector<std::int64_t>>;

const std::int64_t* row_masses(const Masses& mass, std::size_t n) {
    if (!mass) return nullptr;
    require(mass->shape(0) == n, "mass must have one number per row");
    return mass->data();
}

template <typename T>
nb::tuple py_bin_dense(Strided<T> x, Masses mass, Flags present, int limit) {
    require(limit >= 2 && limit <= max_bins, "max_bins must lie in 2 ... 255");
    const std::size_t n = x.shape(0), d = x.shape(1), n_blocks = (d + lanes - 1) / lanes;
    require(n < (std::size_t{1} << 31), "more than 2^31 rows");
    const std::uint8_t* rows = flags(present, n, "present must have one flag per row");
    const std::int64_t* masses = row_masses(mass, n);
    std::vector<std::uint8_t> bins;
    BinLimits limits;
    {
        nb::gil_scoped_release release;
        bins.resize(n_blocks * n * lanes);
        limits = bin_dense(columns(x), masses, rows, limit, bins.data());
    }
    return nb::make_tuple(to_numpy(std::move(bins)), limits_to_numpy(std::move(limits)));
}

nb::tuple py_bin_sparse(Vector<double> data, Vector<std::int32_t> indices,
                        Vector<std::int64_t> indptr, std::size_t n, Masses mass, Flags present,
                        int limit) {
    require(limit >= 2 && limit <= max_bins, "max_bins must lie in 2 ... 255");
    require(data.shape(0) == indices.shape(0) && indptr.shape(0) > 0, "not a CSC matrix");
    const std::uint8_t* rows = flags(present, n, "present must have one flag per row");
    const std::int64_t* masses = row_masses(mass, n);
    SparseBins out;
    {
        nb::gil_scoped_release release;
        out = bin_sparse(data.data(), indices.data(), indptr.data(), n, indptr.shape(0) - 1, masses,
                         rows, limit);
    }
    return nb::make_tuple(to_numpy(std::move(out.indptr)), to_numpy(std::move(out.middle)),
                          to_numpy(std::move(out.rows)), to_numpy(std::move(out.codes)),
                          to_numpy(std::move(out.zero_bin)), to_numpy(std::move(out.outside_in)),
                          limits_to_numpy(std::move(out.limits)));
}

// max_depth, min_samples_leaf, min_weight_leaf, max_features, random_splits, seed
TreeParams read_params(const nb::tuple& values, std::size_t d) {
    require(nb::len(values) == 6, "params must have 6 entries");
    TreeParams p;
    p.max_depth = read<int>(values[0], "max_depth");
    p.min_samples_leaf = read<std::int64_t>(values[1], "min_samples_leaf");
    p.min_weight_leaf = read<double>(values[2], "min_weight_leaf");
    p.max_features = read<std::size_t>(values[3], "max_features");
    p.random_splits = read<bool>(values[4], "random_splits");
    p.seed = read<std::uint64_t>(values[5], "seed");
    require(p.max_depth >= 0 && p.min_samples_leaf >= 1 && p.min_weight_leaf >= 0,
            "max_depth, min_samples_leaf or min_weight_leaf out of range");
    require(p.max_features >= 1 || d == 0, "max_features must be at least 1");
    return p;
}

// The arrays of a tree as in Python: value is nodes x classes.
nb::tuple tree_to_numpy(Tree tree, const Problem& p) {
    std::vector<double> value;
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
        require(
            t.costs->shape(0) == n && t.costs->shape(1) == static_cast<std::size_t>(t.n_classes),
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
                         Vector<std::int32_t> entry_rows, Vector<std::uint8_t> entry_codes,
                         Vector<std::uint8_t> zero_bin, Vector<std::uint32_t> outside_in,
                         std::size_t n, Vector<double> least, Vector<double> greatest,
                         Vector<std::int64_t> start, std::optional<Vector<std::int32_t>> codes,
                         std::optional<Vector<double>> weights, std::optional<Matrix<double>> costs,
                         Flags rows, int n_classes, nb::tuple params) {
    const std::size_t d = start.shape(0) - 1;
    require(indptr.shape(0) == d + 1 && middle.shape(0) == d && zero_bin.shape(0) == d,
            "columns do not fit");
    const TreeParams p = read_params(params, d);
    const Edges edges = {least.data(), greatest.data(), start.data()};
    const SparseCodes entries = {indptr.data(),      middle.data(),   entry_rows.data(),
                                 entry_codes.data(), zero_bin.data(), outside_in.data()};
    return grow({codes, weights, costs, rows, n_classes}, n, p,
                [&](const Problem& problem) { return grow_sparse(entries, d, edges, problem, p); });
}

}  // namespace

void bind_trees(nb::module_& m) {
    using namespace nb::literals;
    m.def("bin_dense", &py_bin_dense<float>, nb::arg("x").noconvert(), "mass"_a.none(),
          "present"_a.none(), "max_bins"_a);
    m.def("bin_dense", &py_bin_dense<double>, nb::arg("x").noconvert(), "mass"_a.none(),
          "present"_a.none(), "max_bins"_a);
    m.def("bin_sparse", &py_bin_sparse, "data"_a, "indices"_a, "indptr"_a, "n_rows"_a,
          "mass"_a.none(), "present"_a.none(), "max_bins"_a);
    m.def("grow_dense", &py_grow_dense, "bins"_a, "least"_a, "greatest"_a, "start"_a,
          "codes"_a.none(), "weights"_a.none(), "costs"_a.none(), "rows"_a.none(), "n_classes"_a,
          "params"_a);
    m.def("grow_sparse", &py_grow_sparse, "indptr"_a, "middle"_a, "entry_rows"_a, "entry_codes"_a,
          "zero_bin"_a, "outside_in"_a, "n_rows"_a, "least"_a, "greatest"_a, "start"_a,
          "codes"_a.none(), "weights"_a.none(), "costs"_a.none(), "rows"_a.none(), "n_classes"_a,
          "params"_a);
}

}  // namespace consilience
