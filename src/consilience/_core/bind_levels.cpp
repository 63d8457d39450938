// The Python face of trees on blocks of rows: codes by given cuts, histograms of a level, splits from
// their sums, and exact sums.
#include <type_traits>

#include "bind_trees.hpp"
#include "coding.hpp"
#include "exact_sum.hpp"
#include "growing_rows.hpp"
#include "tree_arrays.hpp"

namespace consilience {
namespace {

nb::object sums_to_numpy(const std::vector<ExactSum>& sums) {
    std::vector<std::uint32_t> limbs;
    for (const ExactSum& sum : sums) {
        const std::vector<std::uint32_t> one = sum.limbs();
        limbs.insert(limbs.end(), one.begin(), one.end());
    }
    return to_numpy(std::move(limbs), ExactSum::n_limbs);
}

nb::object py_exact_sums(Vector<double> values, std::optional<Vector<std::int32_t>> groups,
                         std::size_t n_groups) {
    const std::size_t n = values.shape(0);
    require(!groups || groups->shape(0) == n, "groups must have one entry per value");
    require(groups || n_groups == 1, "several groups need an entry per value");
    std::vector<ExactSum> sums(n_groups);
    {
        nb::gil_scoped_release release;
        for (std::size_t i = 0; i < n; ++i)
            if (!std::isfinite(values.data()[i]))
                throw std::invalid_argument("sums need finite numbers");
        for (std::size_t i = 0; groups && i < n; ++i)
            if (groups->data()[i] >= static_cast<std::int64_t>(n_groups))
                throw std::invalid_argument("groups must lie below n_groups");
        add_exactly(values.data(), groups ? groups->data() : nullptr, n, sums);
    }
    return sums_to_numpy(sums);
}

nb::object py_cost_total(Matrix<double> costs, Flags rows) {
    const std::size_t n = costs.shape(0);
    const std::uint8_t* some = flags(rows, n, "rows must have one flag per row");
    std::vector<ExactSum> total(1);
    {
        nb::gil_scoped_release release;
        const int n_classes = static_cast<int>(costs.shape(1));
        for (std::size_t i = 0; i < n; ++i)
            if (!some || some[i]) total[0].add(widest_cost(costs.data() + i * n_classes, n_classes));
    }
    return sums_to_numpy(total);
}

// The values of the cuts, and where those of each feature begin.
Cuts read_cuts(const Vector<double>& values, const Vector<std::int64_t>& start, std::size_t d) {
    require(start.shape(0) == d + 1 && start.data()[0] == 0 &&
                static_cast<std::size_t>(start.data()[d]) == values.shape(0),
            "cuts do not fit");
    for (std::size_t f = 0; f < d; ++f) {
        const std::int64_t width = start.data()[f + 1] - start.data()[f];
        require(width >= 0 && width < max_bins, "a feature has at most 254 cuts");
    }
    return {values.data(), start.data()};
}

template <typename T>
nb::tuple py_code_dense(Strided<T> x, Vector<double> values, Vector<std::int64_t> start,
                        Flags present) {
    const std::size_t n = x.shape(0), d = x.shape(1);
    require(n < (std::size_t{1} << 31), "more than 2^31 rows");
    const std::uint8_t* rows = flags(present, n, "present must have one flag per row");
    const Cuts cuts = read_cuts(values, start, d);
    std::vector<std::uint8_t> bins;
    CodeRanges ranges;
    {
        nb::gil_scoped_release release;
        bins.resize((d + lanes - 1) / lanes * n * lanes);
        ranges = code_dense(columns(x), cuts, rows, bins.data());
    }
    return nb::make_tuple(to_numpy(std::move(bins)), to_numpy(std::move(ranges.least)),
                          to_numpy(std::move(ranges.greatest)));
}

nb::tuple py_code_sparse(Vector<double> data, Vector<std::int32_t> indices,
                         Vector<std::int64_t> indptr, std::size_t n, Vector<double> values,
                         Vector<std::int64_t> start, Flags present) {
    require(data.shape(0) == indices.shape(0) && indptr.shape(0) > 0, "not a CSC matrix");
    const std::uint8_t* rows = flags(present, n, "present must have one flag per row");
    const std::size_t d = indptr.shape(0) - 1;
    const Cuts cuts = read_cuts(values, start, d);
    SparseBins out;
    CodeRanges ranges;
    {
        nb::gil_scoped_release release;
        ranges = code_sparse(data.data(), indices.data(), indptr.data(), n, d, cuts, rows, out);
    }
    return nb::make_tuple(to_numpy(std::move(out.indptr)), to_numpy(std::move(out.middle)),
                          to_numpy(std::move(out.rows)), to_numpy(std::move(out.codes)),
                          to_numpy(std::move(out.zero_bin)), to_numpy(std::move(out.outside_in)),
                          to_numpy(std::move(ranges.least)), to_numpy(std::move(ranges.greatest)));
}

void py_start(GrowingRows& self, std::size_t n, std::size_t d,
              std::optional<Vector<std::int32_t>> codes, std::optional<Vector<double>> weights,
              std::optional<Matrix<double>> costs, Flags rows, int n_classes, nb::tuple params) {
    const Target target = {codes, weights, costs, rows, n_classes};
    const std::uint8_t* some = check_target(target, n);
    const TreeParams p = read_params(params, d);
    nb::gil_scoped_release release;
    if (costs)
        self.start(costs->data(), some, n, n_classes, p);
    else
        self.start(codes->data(), weights->data(), some, n, n_classes, p);
}

// start: the first bin of each feature; place and slot by node, as in LevelNodes
template <typename Data>
nb::tuple level_sums(GrowingRows& rows, const nb::tuple& tree, const Vector<std::int64_t>& start,
                     const Vector<std::int32_t>& place, const Vector<std::int32_t>& slot,
                     std::size_t n_places, std::size_t n_slots, const Data& data) {
    const TreeArrays arrays(tree);
    const std::size_t d = start.shape(0) - 1, n_nodes = arrays.size();
    arrays.require_features(d);
    require(place.shape(0) == n_nodes && slot.shape(0) == n_nodes, "nodes of the level do not fit");
    for (std::size_t i = 0; i < n_nodes; ++i)
        require(place.data()[i] < static_cast<std::int64_t>(n_places) &&
                    slot.data()[i] < static_cast<std::int64_t>(n_slots),
                "place and slot are out of range");
    const LevelNodes level = {place.data(), slot.data(), n_nodes, n_places, n_slots};
    std::vector<std::int64_t> totals, hist;
    {
        nb::gil_scoped_release release;
        const HistogramLayout layout({nullptr, nullptr, start.data()}, d,
                                     rows.problem().n_channels());
        rows.route(arrays.view(), n_nodes, data);
        totals = rows.totals(level);
        hist.resize(n_slots * layout.size());
        if constexpr (std::is_same_v<Data, SparseCodes>)
            rows.histograms(level, layout, data, d, hist.data());
        else
            rows.histograms(level, layout, data, hist.data());
    }
    return nb::make_tuple(to_numpy(std::move(totals)), to_numpy(std::move(hist)));
}

nb::tuple py_dense_level(GrowingRows& self, Codes bins, nb::tuple tree, Vector<std::int64_t> start,
                         Vector<std::int32_t> place, Vector<std::int32_t> slot,
                         std::size_t n_places, std::size_t n_slots) {
    const std::size_t d = start.shape(0) - 1;
    require(bins.shape(2) == lanes && bins.shape(0) == (d + lanes - 1) / lanes &&
                bins.shape(1) == self.problem().n,
            "bins do not fit");
    return level_sums(self, tree, start, place, slot, n_places, n_slots, bins.data());
}

nb::tuple py_sparse_level(GrowingRows& self, Vector<std::int64_t> indptr,
                          Vector<std::int64_t> middle, Vector<std::int32_t> entry_rows,
                          Vector<std::uint8_t> entry_codes, Vector<std::uint8_t> zero_bin,
                          Vector<std::uint32_t> outside_in, std::size_t n, nb::tuple tree,
                          Vector<std::int64_t> start, Vector<std::int32_t> place,
                          Vector<std::int32_t> slot, std::size_t n_places, std::size_t n_slots) {
    const std::size_t d = start.shape(0) - 1;
    require(indptr.shape(0) == d + 1 && middle.shape(0) == d && zero_bin.shape(0) == d &&
                n == self.problem().n,
            "columns do not fit");
    const SparseCodes entries = {indptr.data(),      middle.data(),   entry_rows.data(),
                                 entry_codes.data(), zero_bin.data(), outside_in.data()};
    return level_sums(self, tree, start, place, slot, n_places, n_slots, entries);
}

template <typename T>
std::vector<T> copy_of(const Vector<T>& values) {
    return std::vector<T>(values.data(), values.data() + values.shape(0));
}

void make_grower(LevelGrower* self, Vector<double> least, Vector<double> greatest,
                 Vector<std::int64_t> start, int n_classes, bool cost, nb::tuple params) {
    require(start.shape(0) > 0 && least.shape(0) == greatest.shape(0) &&
                static_cast<std::size_t>(start.data()[start.shape(0) - 1]) == least.shape(0),
            "limits of the bins do not fit");
    require(n_classes >= 1, "n_classes must be at least 1");
    TreeParams p = read_params(params, start.shape(0) - 1);
    if (!p.exponent) p.exponent = 0;
    Problem problem = cost ? cost_problem(nullptr, nullptr, 0, n_classes, p)
                           : weighted_problem(nullptr, nullptr, nullptr, 0, n_classes, p);
    new (self) LevelGrower(copy_of(least), copy_of(greatest), copy_of(start), std::move(problem), p);
}

void py_advance(LevelGrower& self, Vector<std::int64_t> hist, Vector<std::int64_t> totals,
                std::int64_t few_rows) {
    require(hist.shape(0) == self.built().size() * self.histogram_size() &&
                totals.shape(0) == self.level().size() * (self.problem().n_channels() + 2),
            "sums of the level do not fit");
    nb::gil_scoped_release release;
    self.advance(hist.data(), totals.data(), few_rows);
}

}  // namespace

void bind_levels(nb::module_& m) {
    using namespace nb::literals;
    m.def("exact_sums", &py_exact_sums, "values"_a, "groups"_a.none(), "n_groups"_a);
    m.def("cost_total", &py_cost_total, "costs"_a, "rows"_a.none());
    m.def("code_dense", &py_code_dense<float>, nb::arg("x").noconvert(), "cuts"_a, "start"_a,
          "present"_a.none());
    m.def("code_dense", &py_code_dense<double>, nb::arg("x").noconvert(), "cuts"_a, "start"_a,
          "present"_a.none());
    m.def("code_sparse", &py_code_sparse, "data"_a, "indices"_a, "indptr"_a, "n_rows"_a, "cuts"_a,
          "start"_a, "present"_a.none());
    nb::class_<GrowingRows>(m, "GrowingRows")
        .def(nb::init<>())
        .def("start", &py_start, "n_rows"_a, "n_features"_a, "codes"_a.none(), "weights"_a.none(),
             "costs"_a.none(), "rows"_a.none(), "n_classes"_a, "params"_a)
        .def("dense_level", &py_dense_level, "bins"_a, "tree"_a, "start"_a, "place"_a, "slot"_a,
             "n_places"_a, "n_slots"_a)
        .def("sparse_level", &py_sparse_level, "indptr"_a, "middle"_a, "entry_rows"_a,
             "entry_codes"_a, "zero_bin"_a, "outside_in"_a, "n_rows"_a, "tree"_a, "start"_a,
             "place"_a, "slot"_a, "n_places"_a, "n_slots"_a);
    nb::class_<LevelGrower>(m, "LevelGrower")
        .def("__init__", &make_grower, "least"_a, "greatest"_a, "start"_a, "n_classes"_a, "cost"_a,
             "params"_a)
        .def("level", [](const LevelGrower& g) { return to_numpy(g.level()); })
        .def("built", [](const LevelGrower& g) { return to_numpy(g.built()); })
        .def("advance", &py_advance, "hist"_a, "totals"_a, "few_rows"_a)
        .def("unfinished",
             [](const LevelGrower& g) {
                 return to_numpy(std::vector<std::int32_t>(g.unfinished()));
             })
        .def("keys",
             [](const LevelGrower& g) { return to_numpy(std::vector<std::uint64_t>(g.tree().key)); })
        .def("arrays", [](const LevelGrower& g) { return tree_to_numpy(g.tree(), g.problem()); });
}

}  // namespace consilience
