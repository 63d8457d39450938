// The Python face of coordinate_descent.hpp: shapes and indices are checked before the loops.
#include "bindings.hpp"
#include "coordinate_descent.hpp"

namespace consilience {
namespace {

using Fortran = nb::ndarray<const double, nb::ndim<2>, nb::f_contig, nb::device::cpu>;
using Out1 = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Out2 = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Out3 = nb::ndarray<double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

DesignView dense_view(const nb::tuple& parts, const std::uint8_t* present, std::size_t n) {
    const auto X = read<Fortran>(parts[0], "a dense view", false);
    require(X.shape(0) == n, "a view must have one row for each sample");
    return {X.data(), nullptr, nullptr, nullptr, nullptr, present, X.shape(1)};
}

DesignView sparse_view(const nb::tuple& parts, const std::uint8_t* present, std::size_t n) {
    const auto data = read<Vector<double>>(parts[0], "the data of a sparse view", false);
    const auto indices = read<Vector<std::int32_t>>(parts[1], "indices", false);
    const auto indptr = read<Vector<std::int64_t>>(parts[2], "indptr", false);
    const auto mean = read<Vector<double>>(parts[3], "mean", false);
    require(data.shape(0) == indices.shape(0), "data and indices must have the same length");
    require(indptr.shape(0) == mean.shape(0) + 1, "indptr must have one entry more than mean");
    const std::int64_t* starts = indptr.data();
    require(starts[0] == 0 && starts[mean.shape(0)] == static_cast<std::int64_t>(data.shape(0)),
            "indptr does not fit data and indices");
    for (std::size_t j = 0; j < mean.shape(0); ++j)
        require(starts[j] <= starts[j + 1], "indptr must not descend");
    for (std::size_t e = 0; e < indices.shape(0); ++e)
        require(indices.data()[e] >= 0 && static_cast<std::size_t>(indices.data()[e]) < n &&
                    present[indices.data()[e]],
                "indices must be rows that have the view");
    return {nullptr, data.data(), indices.data(), starts, mean.data(), present, mean.shape(0)};
}

GroupPenalty checked_penalty(const Vector<std::int64_t>& starts, const Vector<double>& l1,
                             const Vector<double>& tau, const Vector<double>& ridge, double lam,
                             bool non_negative, const std::vector<std::size_t>& first) {
    const std::size_t p = first.back(), groups = tau.shape(0);
    require(starts.shape(0) == groups + 1 && ridge.shape(0) == groups && l1.shape(0) == p,
            "l1 needs an entry for each column, tau and ridge one for each group");
    require(starts.data()[0] == 0 && starts.data()[groups] == static_cast<std::int64_t>(p),
            "groups must cover all columns");
    std::size_t v = 0;
    for (std::size_t g = 0; g < groups; ++g) {
        const std::int64_t begin = starts.data()[g], end = starts.data()[g + 1];
        require(begin < end && end <= static_cast<std::int64_t>(p), "a group must have columns");
        while (begin >= static_cast<std::int64_t>(first[v + 1])) ++v;
        require(end <= static_cast<std::int64_t>(first[v + 1]), "a group must lie within a view");
        require(tau.data()[g] >= 0 && ridge.data()[g] >= 0, "penalties must be >= 0");
        require(!non_negative || tau.data()[g] == 0, "non-negative groups have no tau");
    }
    for (std::size_t j = 0; j < p; ++j) require(l1.data()[j] >= 0, "penalties must be >= 0");
    require(lam > 0, "lam must be > 0");
    return {groups, starts.data(), l1.data(), tau.data(), ridge.data(), lam, non_negative};
}

nb::tuple solve(const nb::list& views, Matrix<std::uint8_t> present, Vector<double> weight,
                Vector<std::int64_t> codes, Vector<double> view_counts, Vector<double> column_norms,
                Vector<std::int64_t> group_starts, Vector<double> l1, Vector<double> tau,
                Vector<double> ridge, double rho, double lam, double last_lam, bool non_negative,
                Out2 coef, Out1 intercept, Out1 norms, Out3 reference, double tol,
                std::int64_t max_iter, std::int64_t max_passes) {
    const std::size_t n = weight.shape(0), C = intercept.shape(0), V = views.size();
    require(V > 0 && n > 0 && C > 0, "there must be views, rows and outputs");
    require(present.shape(0) == V && present.shape(1) == n, "present must be views x samples");
    require(codes.shape(0) == n && view_counts.shape(0) == n, "codes must have n entries");
    for (std::size_t i = 0; i < n; ++i)
        require(codes.data()[i] >= 0 && codes.data()[i] < static_cast<std::int64_t>(C == 1 ? 2 : C),
                "codes must number the classes");
    PenalisedProblem problem{{n, C, weight.data(), codes.data()}, {}, {0}, view_counts.data(), rho,
                             column_norms.data()};
    for (std::size_t v = 0; v < V; ++v) {
        const auto parts = read<nb::tuple>(views[v], "a view", false);
        require(parts.size() == 1 || parts.size() == 4,
                "a view is (matrix,) or (data, indices, indptr, mean)");
        const std::uint8_t* mask = present.data() + v * n;
        problem.views.push_back(parts.size() == 1 ? dense_view(parts, mask, n)
                                                  : sparse_view(parts, mask, n));
        require(problem.views.back().width > 0, "a view must have columns");
        problem.first_columns.push_back(problem.first_columns.back() + problem.views.back().width);
    }
    const std::size_t p = problem.first_columns.back();
    require(coef.shape(0) == p && coef.shape(1) == C && norms.shape(0) == p &&
                column_norms.shape(0) == p,
            "coef, norms and column_norms must have an entry for each column");
    require(reference.shape(0) == problem.slots() && reference.shape(1) == C &&
                reference.shape(2) == n,
            "reference must be slots x outputs x samples");
    require(!non_negative || C == 1, "non-negative coefficients need one output");
    const GroupPenalty penalty = checked_penalty(group_starts, l1, tau, ridge, lam, non_negative,
                                                 problem.first_columns);
    PenalisedState state{coef.data(), intercept.data(), norms.data(), reference.data(), last_lam};
    Outcome outcome;
    {
        nb::gil_scoped_release release;
        outcome = solve_penalised(problem, penalty, state, {tol, max_iter, max_passes});
    }
    return nb::make_tuple(outcome.gap, outcome.objective, outcome.n_iter, outcome.n_working,
                          state.lam);
}

}  // namespace

void bind_coordinate_descent(nb::module_& m) {
    using namespace nb::literals;
    const auto array = [](const char* name) { return nb::arg(name).noconvert(); };
    m.def("solve_penalised", &solve, "views"_a, array("present"), array("weight"), array("codes"),
          array("view_counts"), array("column_norms"), array("group_starts"), array("l1"),
          array("tau"), array("ridge"), "rho"_a, "lam"_a, "last_lam"_a, "non_negative"_a,
          array("coef"), array("intercept"), array("norms"), array("reference"), "tol"_a,
          "max_iter"_a, "max_passes"_a);
}

}  // namespace consilience
