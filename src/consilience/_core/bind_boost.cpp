// The Python face of boosted trees. Arrays of trees are checked: they may come from a file.
#include <algorithm>
#include <cmath>

#include "bindings.hpp"
#include "boost.hpp"
#include "boost_predict.hpp"

namespace consilience {
namespace {

// max_rounds, patience, max_leaves, max_depth, learning_rate, l2, min_hessian, row_share,
// max_features, seed
BoostParams read_params(const nb::tuple& values) {
    require(nb::len(values) == 10, "params must have 10 entries");
    BoostParams p;
    p.max_rounds = read<int>(values[0], "max_rounds");
    p.patience = read<int>(values[1], "patience");
    p.max_leaves = read<int>(values[2], "max_leaves");
    p.max_depth = read<int>(values[3], "max_depth");
    p.learning_rate = read<double>(values[4], "learning_rate");
    p.l2 = read<double>(values[5], "l2");
    p.min_hessian = read<double>(values[6], "min_hessian");
    p.row_share = read<double>(values[7], "row_share");
    p.max_features = read<std::size_t>(values[8], "max_features");
    p.seed = read<std::uint64_t>(values[9], "seed");
    require(p.max_rounds >= 0 && p.patience >= 1 && p.max_leaves >= 1 && p.max_depth >= 0,
            "max_rounds, patience, max_leaves or max_depth out of range");
    require(p.learning_rate > 0 && p.l2 >= 0 && p.min_hessian > 0 && p.row_share > 0 &&
                p.max_features >= 1,
            "learning_rate, l2, min_hessian, row_share or max_features out of range");
    return p;
}

nb::tuple trees_to_numpy(BoostedTrees trees) {
    return nb::make_tuple(to_numpy(std::move(trees.feature)), to_numpy(std::move(trees.threshold)),
                          to_numpy(std::move(trees.left)), to_numpy(std::move(trees.right)),
                          to_numpy(std::move(trees.missing_left)),
                          to_numpy(std::move(trees.value)), to_numpy(std::move(trees.starts)));
}

nb::tuple py_boost(Codes bins, Vector<double> least, Vector<double> greatest,
                   Vector<std::int64_t> start, Vector<std::int32_t> codes, Vector<double> weight,
                   Vector<bool> left_out, Vector<double> base, std::size_t n_classes,
                   nb::tuple params) {
    require(start.shape(0) > 0, "start must not be empty");
    const std::size_t n = bins.shape(1), d = start.shape(0) - 1;
    require(bins.shape(2) == lanes && bins.shape(0) == (d + lanes - 1) / lanes, "bins do not fit");
    require(n < (std::size_t{1} << 31), "more than 2^31 rows");
    require(least.shape(0) == greatest.shape(0) &&
                static_cast<std::size_t>(start.data()[d]) == least.shape(0),
            "limits do not fit");
    require(codes.shape(0) == n && weight.shape(0) == n && left_out.shape(0) == n,
            "codes, weight and left_out must have one entry per row");
    require(n_classes >= 2, "n_classes must be at least 2");
    const BoostTarget target = {codes.data(), weight.data(),
                                reinterpret_cast<const std::uint8_t*>(left_out.data()),
                                base.data(), n_classes};
    require(base.shape(0) == target.n_scores(), "base must have one entry per score");
    for (std::size_t i = 0; i < n; ++i) {
        require(codes.data()[i] >= 0 && static_cast<std::size_t>(codes.data()[i]) < n_classes,
                "codes must lie in 0 ... n_classes - 1");
        require(weight.data()[i] > 0 && std::isfinite(weight.data()[i]),
                "weights must be positive and finite");
    }
    const BoostParams p = read_params(params);
    const Edges edges = {least.data(), greatest.data(), start.data()};
    BoostResult out;
    {
        nb::gil_scoped_release release;
        out = boost(bins.data(), n, d, edges, target, p);
    }
    return nb::make_tuple(trees_to_numpy(std::move(out.trees)), to_numpy(std::move(out.scores)),
                          to_numpy(std::move(out.losses)));
}

// feature, threshold, left, right, missing_left, value, starts
struct TreeArrays {
    Vector<std::int32_t> feature;
    Vector<double> threshold;
    Vector<std::int32_t> left, right;
    Vector<float> missing_left, value;
    Vector<std::int64_t> starts;

    static nb::object item(const nb::tuple& t, std::size_t i) {
        require(nb::len(t) == 7, "boosted trees have 7 arrays");
        return t[i];
    }

    explicit TreeArrays(const nb::tuple& t)
        : feature(read<Vector<std::int32_t>>(item(t, 0), "feature of boosted trees")),
          threshold(read<Vector<double>>(item(t, 1), "threshold of boosted trees")),
          left(read<Vector<std::int32_t>>(item(t, 2), "left of boosted trees")),
          right(read<Vector<std::int32_t>>(item(t, 3), "right of boosted trees")),
          missing_left(read<Vector<float>>(item(t, 4), "missing_left of boosted trees")),
          value(read<Vector<float>>(item(t, 5), "value of boosted trees")),
          starts(read<Vector<std::int64_t>>(item(t, 6), "starts of boosted trees")) {}

    // No walk can leave its tree or go in circles.
    void check(std::size_t d) const {
        const std::size_t size = feature.shape(0);
        require(threshold.shape(0) == size && left.shape(0) == size && right.shape(0) == size &&
                    missing_left.shape(0) == size && value.shape(0) == size,
                "the arrays of boosted trees must have the same length");
        require(size < (std::size_t{1} << 31) && starts.shape(0) > 0 && starts.data()[0] == 0 &&
                    starts.data()[starts.shape(0) - 1] == static_cast<std::int64_t>(size),
                "starts must begin at 0 and end at the number of nodes");
        for (std::size_t t = 0; t + 1 < starts.shape(0); ++t) {
            const std::int64_t first = starts.data()[t], last = starts.data()[t + 1];
            require(first < last && last <= static_cast<std::int64_t>(size),
                    "starts must increase");
            for (std::int64_t i = first; i < last; ++i) {
                const std::int64_t f = feature.data()[i];
                if (f < 0) continue;
                const std::int64_t l = first + left.data()[i], r = first + right.data()[i];
                require(l > i && l < last && r > i && r < last && !std::isnan(threshold.data()[i]),
                        "not a tree");
                require(f < static_cast<std::int64_t>(d),
                        "the data have fewer features than the trees were grown on");
            }
        }
    }
};

template <typename T>
nb::object py_boosted_scores(nb::tuple trees, Strided<T> x, std::size_t n_scores) {
    const TreeArrays arrays(trees);
    require(n_scores >= 1, "n_scores must be at least 1");
    std::vector<double> scores;
    {
        nb::gil_scoped_release release;
        arrays.check(x.shape(1));
        scores.resize(x.shape(0) * n_scores);
        const BoostedView view = {arrays.feature.data(),      arrays.left.data(),
                                  arrays.right.data(),        arrays.threshold.data(),
                                  arrays.missing_left.data(), arrays.value.data(),
                                  arrays.starts.data(),       arrays.starts.shape(0) - 1,
                                  n_scores};
        add_boosted_scores(view, columns(x), scores.data());
    }
    return to_numpy(std::move(scores), n_scores);
}

}  // namespace

void bind_boost(nb::module_& m) {
    using namespace nb::literals;
    m.def("boost", &py_boost, "bins"_a, "least"_a, "greatest"_a, "start"_a, "codes"_a, "weight"_a,
          "left_out"_a, "base"_a, "n_classes"_a, "params"_a);
    m.def("boosted_scores", &py_boosted_scores<float>, "trees"_a, nb::arg("x").noconvert(),
          "n_scores"_a);
    m.def("boosted_scores", &py_boosted_scores<double>, "trees"_a, nb::arg("x").noconvert(),
          "n_scores"_a);
}

}  // namespace consilience
