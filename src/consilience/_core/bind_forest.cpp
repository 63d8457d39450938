// The Python face of forests. The arrays of a fitted forest are checked once, when a predictor is
// made of them: they may come from a file.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "bindings.hpp"
#include "forest.hpp"
#include "grow.hpp"
#include "predict.hpp"

namespace consilience {
namespace {

nb::tuple forest_to_numpy(GrownTrees trees, std::vector<std::int32_t> leaves) {
    const std::size_t n_classes = trees.n_classes;
    return nb::make_tuple(
        to_numpy(std::move(trees.feature)), to_numpy(std::move(trees.threshold)),
        to_numpy(std::move(trees.left)), to_numpy(std::move(trees.right)),
        to_numpy(std::move(trees.missing_left)), to_numpy(std::move(trees.left_share)),
        to_numpy(std::move(trees.starts)), to_numpy(std::move(trees.roots)),
        to_numpy(std::move(trees.mixed), n_classes), to_numpy(std::move(leaves)));
}

TreeParams forest_params(std::size_t max_features, int max_depth) {
    require(max_features >= 1 && max_depth >= 0, "max_features or max_depth out of range");
    TreeParams params;
    params.max_depth = max_depth;
    params.max_features = max_features;
    params.random_splits = true;
    return params;
}

void require_rows(std::size_t n, const Vector<std::int32_t>& y, const Vector<double>& weight,
                  const Vector<std::int32_t>& folds, int n_classes) {
    require(n_classes >= 1, "n_classes must be at least 1");
    require(y.shape(0) == n && weight.shape(0) == n && folds.shape(0) == n,
            "y, weight and folds must have one entry per row");
}

nb::tuple py_grow_trees(Matrix<std::uint8_t> codes, Vector<double> least, Vector<double> greatest,
                        Vector<std::int64_t> start, Vector<std::int32_t> y, Vector<double> weight,
                        Vector<std::int32_t> folds, double sample_share,
                        Vector<std::uint64_t> seeds, int n_classes, std::size_t max_features,
                        int max_depth) {
    const std::size_t d = codes.shape(0), n = codes.shape(1);
    require(start.shape(0) == d + 1, "start must have one entry per column and one more");
    require(n < (std::size_t{1} << 31), "more than 2^31 rows");
    require_rows(n, y, weight, folds, n_classes);
    const TreeParams params = forest_params(max_features, max_depth);
    const Edges edges = {least.data(), greatest.data(), start.data()};
    const RowSample sample = {folds.data(), sample_share};
    const ForestProblem problem = {codes.data(),  n,      d,        edges, y.data(),
                                   weight.data(), sample, n_classes};
    GrownTrees trees;
    std::vector<std::int32_t> leaves;
    {
        nb::gil_scoped_release release;
        leaves.assign(n, -1);
        trees = grow_trees(problem, params, seeds.data(), seeds.shape(0), leaves.data());
    }
    return forest_to_numpy(std::move(trees), std::move(leaves));
}

nb::tuple py_grow_sparse_trees(Vector<std::int64_t> indptr, Vector<std::int64_t> middle,
                               Vector<std::int32_t> entry_rows, Vector<std::uint8_t> entry_codes,
                               Vector<std::uint8_t> zero_bin, Vector<std::uint32_t> outside_in,
                               std::size_t n, Vector<double> least, Vector<double> greatest,
                               Vector<std::int64_t> start, Vector<std::int32_t> y,
                               Vector<double> weight, Vector<std::int32_t> folds,
                               double sample_share, Vector<std::uint64_t> seeds, int n_classes,
                               std::size_t max_features, int max_depth) {
    const std::size_t d = start.shape(0) - 1;
    require(indptr.shape(0) == d + 1 && middle.shape(0) == d && zero_bin.shape(0) == d,
            "columns do not fit");
    require_rows(n, y, weight, folds, n_classes);
    TreeParams params = forest_params(max_features, max_depth);
    const RowSample sample = {folds.data(), sample_share};
    const Edges edges = {least.data(), greatest.data(), start.data()};
    const SparseCodes entries = {indptr.data(),      middle.data(),   entry_rows.data(),
                                 entry_codes.data(), zero_bin.data(), outside_in.data()};
    GrownTrees trees;
    std::vector<std::int32_t> leaves;
    {
        nb::gil_scoped_release release;
        leaves.assign(n, -1);
        trees.n_classes = n_classes;
        std::vector<std::uint8_t> is_kept(n);
        std::vector<std::int32_t> reached(n), leaf_of_node;
        for (std::size_t t = 0; t < seeds.shape(0); ++t) {
            params.seed = seeds.data()[t];
            const int fold = static_cast<int>(t);
            sample.draw(params.seed, fold, is_kept);
            const Problem problem = weighted_problem(y.data(), weight.data(), is_kept.data(), n,
                                                     n_classes, params);
            const Tree tree = grow_sparse(entries, d, edges, problem, params);
            append_tree(trees, tree, edges, leaf_of_node);
            const TreeView view = {
                tree.feature.data(),   tree.left.data(), tree.right.data(),
                tree.threshold.data(), tree.bin.data(),  tree.missing_left.data()};
            apply_sparse_bins(view, entries, n, {reached.data(), 1, true});
            for (std::size_t i = 0; i < n; ++i)
                if (folds.data()[i] == fold) leaves[i] = leaf_of_node[reached[i]];
        }
    }
    return forest_to_numpy(std::move(trees), std::move(leaves));
}

// An array of the narrow or of the wide type, and its length.
template <typename Narrow, typename Wide>
struct EitherArray {
    std::optional<Vector<Narrow>> narrow;
    std::optional<Vector<Wide>> wide;

    EitherArray(nb::handle array, const char* what) {
        Vector<Narrow> held;
        if (nb::try_cast(array, held, false))
            narrow = held;
        else
            wide = read<Vector<Wide>>(array, what, false);
    }
    std::size_t size() const { return narrow ? narrow->shape(0) : wide->shape(0); }
    Either<Narrow, Wide> view() const {
        return {narrow ? narrow->data() : nullptr, wide ? wide->data() : nullptr};
    }
};

class ForestPredictor {
public:
    ForestPredictor(nb::handle feature, nb::handle threshold, nb::handle left, nb::handle right,
                    Vector<std::uint8_t> missing_left, Vector<float> left_share,
                    Vector<std::int64_t> starts, Vector<std::int32_t> roots, Matrix<float> shares)
        : feature_(feature, "feature of a forest"),
          threshold_(threshold, "threshold of a forest"),
          left_(left, "left of a forest"),
          right_(right, "right of a forest"),
          missing_left_(missing_left),
          left_share_(left_share),
          starts_(starts),
          roots_(roots),
          shares_(shares) {
        const std::size_t size = feature_.size();
        require(threshold_.size() == size && left_.size() == size && right_.size() == size &&
                    missing_left.shape(0) == size && left_share.shape(0) == size,
                "the arrays of a forest must have the same length");
        require(starts.shape(0) == roots.shape(0) + 1 && roots.shape(0) > 0 &&
                    starts.data()[0] == 0 && starts.data()[roots.shape(0)] ==
                                                 static_cast<std::int64_t>(size),
                "starts and roots do not fit the nodes of the forest");
        for (std::size_t t = 0; t < roots.shape(0); ++t) check_tree(t);
    }

    ForestView view() const {
        return {feature_.view(),      threshold_.view(),  left_.view(),    right_.view(),
                missing_left_.data(), left_share_.data(), starts_.data(),  roots_.data(),
                roots_.shape(0),      shares_.data(),     shares_.shape(0),
                static_cast<int>(shares_.shape(1))};
    }

    template <typename T>
    nb::object predict_dense(Strided<T> x, const nb::object& present,
                             const nb::object& view_of_column, double min_path_weight) const {
        return predict(columns(x), x.shape(0), x.shape(1), present, view_of_column,
                       min_path_weight);
    }

    nb::object predict_csr(Vector<double> data, Vector<std::int32_t> indices,
                           Vector<std::int64_t> indptr, std::size_t d, const nb::object& present,
                           const nb::object& view_of_column, double min_path_weight) const {
        require(indptr.shape(0) > 0 && data.shape(0) == indices.shape(0), "not a CSR matrix");
        const std::size_t n = indptr.shape(0) - 1;
        const std::int64_t* ends = indptr.data();
        require(ends[0] >= 0 && std::is_sorted(ends, ends + n + 1) &&
                    ends[n] <= static_cast<std::int64_t>(data.shape(0)),
                "not a CSR matrix");
        const auto is_outside = [d](std::int32_t column) {
            return column < 0 || static_cast<std::size_t>(column) >= d;
        };
        require(std::none_of(indices.data(), indices.data() + indices.shape(0), is_outside),
                "not a CSR matrix");
        const SparseRows x = {data.data(), indices.data(), ends, n, d};
        return predict(x, n, d, present, view_of_column, min_path_weight);
    }

private:
    // children follow their parents, so no walk can leave the arrays or go in circles
    void check_tree(std::size_t t) {
        const std::int64_t begin = starts_.data()[t], size = starts_.data()[t + 1] - begin;
        require(size >= 0, "starts of a forest must ascend");
        const auto n_leaves = static_cast<std::int64_t>(shares_.shape(0));
        const auto fits = [&](std::int64_t child, std::int64_t first) {
            return child >= 0 ? child >= first && child < size : ~child < n_leaves;
        };
        require(roots_.data()[t] <= 0 && fits(roots_.data()[t], 0), "not a forest");
        const ForestView f = view();
        for (std::int64_t i = 0; i < size; ++i) {
            const std::int32_t column = f.feature[begin + i];
            require(column >= 0 && fits(f.left[begin + i], i + 1) &&
                        fits(f.right[begin + i], i + 1) && f.missing_left[begin + i] <= 1,
                    "not a forest");
            n_features_ = std::max(n_features_, static_cast<std::size_t>(column) + 1);
        }
    }

    template <typename X>
    nb::object predict(X x, std::size_t n, std::size_t d, const nb::object& present,
                       const nb::object& view_of_column, double min_path_weight) const {
        require(d >= n_features_, "the data have fewer columns than the forest was grown on");
        RowViews views = {nullptr, nullptr, 0, min_path_weight};
        Matrix<bool> flags;
        Vector<std::int32_t> owners;
        const bool routed = !present.is_none();
        if (routed) {
            flags = read<Matrix<bool>>(present, "present");
            owners = read<Vector<std::int32_t>>(view_of_column, "view_of_column");
            require(flags.shape(0) == n && owners.shape(0) == d, "present does not fit");
            views.n_views = flags.shape(1);
            for (std::size_t j = 0; j < d; ++j)
                require(owners.data()[j] >= 0 &&
                            static_cast<std::size_t>(owners.data()[j]) < views.n_views,
                        "view_of_column out of range");
            views.present = reinterpret_cast<const std::uint8_t*>(flags.data());
            views.view_of_column = owners.data();
        }
        const ForestView forest = view();
        std::vector<double> votes;
        {
            nb::gil_scoped_release release;
            votes.assign(n * forest.n_classes, 0);
            add_votes(forest, x, routed ? &views : nullptr, votes.data());
            for (double& vote : votes) vote /= static_cast<double>(forest.n_trees);
        }
        return to_numpy(std::move(votes), forest.n_classes);
    }

    EitherArray<std::uint16_t, std::int32_t> feature_;
    EitherArray<float, double> threshold_;
    EitherArray<std::int16_t, std::int32_t> left_, right_;
    Vector<std::uint8_t> missing_left_;
    Vector<float> left_share_;
    Vector<std::int64_t> starts_;
    Vector<std::int32_t> roots_;
    Matrix<float> shares_;
    std::size_t n_features_ = 0;
};

}  // namespace

void bind_forest(nb::module_& m) {
    using namespace nb::literals;
    m.def("grow_trees", &py_grow_trees, "codes"_a, "least"_a, "greatest"_a, "start"_a, "y"_a,
          "weight"_a, "folds"_a, "sample_share"_a, "seeds"_a, "n_classes"_a, "max_features"_a,
          "max_depth"_a);
    m.def("grow_sparse_trees", &py_grow_sparse_trees, "indptr"_a, "middle"_a, "entry_rows"_a,
          "entry_codes"_a, "zero_bin"_a, "outside_in"_a, "n_rows"_a, "least"_a, "greatest"_a,
          "start"_a, "y"_a, "weight"_a, "folds"_a, "sample_share"_a, "seeds"_a, "n_classes"_a,
          "max_features"_a, "max_depth"_a);
    nb::class_<ForestPredictor>(m, "ForestPredictor")
        .def(nb::init<nb::handle, nb::handle, nb::handle, nb::handle, Vector<std::uint8_t>,
                      Vector<float>, Vector<std::int64_t>, Vector<std::int32_t>, Matrix<float>>(),
             "feature"_a, "threshold"_a, "left"_a, "right"_a, "missing_left"_a, "left_share"_a,
             "starts"_a, "roots"_a, "leaf_shares"_a)
        .def("predict_dense", &ForestPredictor::predict_dense<float>, nb::arg("x").noconvert(),
             "present"_a.none(), "view_of_column"_a.none(), "min_path_weight"_a)
        .def("predict_dense", &ForestPredictor::predict_dense<double>, nb::arg("x").noconvert(),
             "present"_a.none(), "view_of_column"_a.none(), "min_path_weight"_a)
        .def("predict_csr", &ForestPredictor::predict_csr, "data"_a, "indices"_a, "indptr"_a,
             "n_columns"_a, "present"_a.none(), "view_of_column"_a.none(), "min_path_weight"_a);
}

}  // namespace consilience
