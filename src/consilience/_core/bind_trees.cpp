// The Python face of binning and trees: arguments are checked here, the GIL is released around the
// loops, results are fresh NumPy arrays.
#include "bind_trees.hpp"
#include "binning.hpp"
#include "grow.hpp"

namespace consilience {
namespace {

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

template <typename T>
nb::tuple py_find_limits(Strided<T> x, Masses mass, int limit) {
    require(limit >= 2 && limit <= max_bins, "max_bins must lie in 2 ... 255");
    require(x.shape(0) < (std::size_t{1} << 31), "more than 2^31 rows");
    const std::int64_t* masses = row_masses(mass, x.shape(0));
    BinLimits limits;
    {
        nb::gil_scoped_release release;
        limits = find_limits(columns(x), masses, limit);
    }
    return limits_to_numpy(std::move(limits));
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
    m.def("find_limits", &py_find_limits<float>, nb::arg("x").noconvert(), "mass"_a.none(),
          "max_bins"_a);
    m.def("find_limits", &py_find_limits<double>, nb::arg("x").noconvert(), "mass"_a.none(),
          "max_bins"_a);
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
