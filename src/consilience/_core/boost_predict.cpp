// Rows down boosted trees (see boost_predict.hpp).
//
// Few rows walk down the trees. Many rows are compared with all splits of a tree at once, a chunk of
// rows side by side: each split that sends a row to the right removes the leaves on its left, and
// the first leaf that remains is that of the row (Lucchese et al.: QuickScorer, 2015). For this,
// values are replaced by the number of thresholds below them. Both ways give the same bits.
#include "boost_predict.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "dispatch.hpp"
#include "signals.hpp"

namespace consilience {
namespace {

constexpr std::size_t chunk_rows = 128;
constexpr std::size_t min_rows = 256;  // below it the preparation does not pay
constexpr std::int16_t missing_code = -1;

using Leaves = std::uint16_t;  // one bit for each leaf
constexpr int max_leaves = 16;

// The value for a row at a node; a missing value may send a share of it each way.
template <typename T>
double descend(const BoostedView& trees, std::int64_t start, std::int32_t at, const T* row,
               std::ptrdiff_t stride) {
    for (;;) {
        const std::int64_t node = start + at;
        if (trees.feature[node] < 0) return trees.value[node];
        const double value = row[trees.feature[node] * stride];
        if (std::isnan(value)) {
            const double share = trees.missing_left[node];
            if (share > 0 && share < 1)
                return share * descend(trees, start, trees.left[node], row, stride) +
                       (1 - share) * descend(trees, start, trees.right[node], row, stride);
            at = share >= 1 ? trees.left[node] : trees.right[node];
        } else {
            at = value <= trees.threshold[node] ? trees.left[node] : trees.right[node];
        }
    }
}

enum class Missing : std::uint8_t { right, left, both };

struct QuickSplit {
    std::int32_t column;  // among those that are used
    std::int16_t code;    // codes above it go right
    Leaves keep;          // all leaves but those on the left
    Missing missing;
};

struct QuickTree {
    std::size_t first_split, first_value;
    int n_splits;  // -1: too large, rows must walk
};

// Trees in the form that chunks of rows need.
struct QuickTrees {
    std::vector<std::int32_t> columns;            // features that are used
    std::vector<std::vector<double>> thresholds;  // of each, sorted
    std::vector<QuickSplit> splits;
    std::vector<float> values;
    std::vector<QuickTree> trees;

    QuickTrees(const BoostedView& view, std::size_t d) {
        collect_thresholds(view, d);
        for (std::size_t t = 0; t < view.n_trees; ++t) add_tree(view, t);
    }

private:
    std::vector<std::int32_t> place_;  // of a feature among those that are used

    void collect_thresholds(const BoostedView& view, std::size_t d) {
        place_.assign(d, -1);
        const std::int64_t n_nodes = view.starts[view.n_trees];
        for (std::int64_t i = 0; i < n_nodes; ++i) {
            const std::int32_t f = view.feature[i];
            if (f < 0) continue;
            if (place_[f] < 0) {
                place_[f] = static_cast<std::int32_t>(columns.size());
                columns.push_back(f);
                thresholds.emplace_back();
            }
            thresholds[place_[f]].push_back(view.threshold[i]);
        }
        for (std::vector<double>& values : thresholds) {
            std::sort(values.begin(), values.end());
            values.erase(std::unique(values.begin(), values.end()), values.end());
        }
    }

    // Leaves are numbered from left to right.
    void add_tree(const BoostedView& view, std::size_t t) {
        const std::int64_t start = view.starts[t], size = view.starts[t + 1] - start;
        trees.push_back({splits.size(), values.size(), -1});
        if (size > 2 * max_leaves - 1) return;
        int n_leaves[2 * max_leaves], first_leaf[2 * max_leaves] = {};
        for (std::int64_t i = size - 1; i >= 0; --i) {
            const bool is_leaf = view.feature[start + i] < 0;
            n_leaves[i] = is_leaf ? 1
                                  : n_leaves[view.left[start + i]] + n_leaves[view.right[start + i]];
            if (n_leaves[i] > max_leaves) return;  // not a tree: nodes are shared
        }
        values.resize(values.size() + max_leaves);
        for (std::int64_t i = 0; i < size; ++i) {
            const std::int64_t node = start + i;
            if (view.feature[node] < 0) {
                values[trees.back().first_value + first_leaf[i]] = view.value[node];
                continue;
            }
            const int first = first_leaf[i], n_left = n_leaves[view.left[node]];
            first_leaf[view.left[node]] = first;
            first_leaf[view.right[node]] = first + n_left;
            splits.push_back(split(view, node, first, n_left));
        }
        trees.back().n_splits = static_cast<int>(splits.size() - trees.back().first_split);
    }

    QuickSplit split(const BoostedView& view, std::int64_t node, int first, int n_left) const {
        const std::int32_t column = place_[view.feature[node]];
        const std::vector<double>& sorted = thresholds[column];
        const auto code =
            std::lower_bound(sorted.begin(), sorted.end(), view.threshold[node]) - sorted.begin();
        const float share = view.missing_left[node];
        const auto removed = static_cast<Leaves>(((1u << n_left) - 1) << first);
        return {column, static_cast<std::int16_t>(code), static_cast<Leaves>(~removed),
                share <= 0 ? Missing::right : share >= 1 ? Missing::left : Missing::both};
    }
};

// leaves (chunk_rows, out): those that remain; codes: columns x chunk_rows, in
CONSILIENCE_CLONES
void find_leaves(const QuickSplit* splits, int n_splits, const std::int16_t* codes,
                 Leaves* leaves) {
    constexpr Leaves all = static_cast<Leaves>(~0u);
    for (std::size_t i = 0; i < chunk_rows; ++i) leaves[i] = all;
    for (int s = 0; s < n_splits; ++s) {
        const std::int16_t* code = codes + splits[s].column * chunk_rows;
        const Leaves keep = splits[s].keep;
        const std::int16_t last = splits[s].code;
        if (splits[s].missing == Missing::left)  // below all other codes
            for (std::size_t i = 0; i < chunk_rows; ++i)
                leaves[i] &= code[i] > last ? keep : all;
        else  // above them, without its sign
            for (std::size_t i = 0; i < chunk_rows; ++i)
                leaves[i] &= static_cast<std::uint16_t>(code[i]) > static_cast<std::uint16_t>(last)
                                 ? keep
                                 : all;
    }
}

inline int lowest_bit(Leaves leaves) {
#if defined(__GNUC__)
    return __builtin_ctz(leaves);
#else
    int bit = 0;
    while (!(leaves >> bit & 1)) ++bit;
    return bit;
#endif
}

template <typename T>
class ChunkScorer {
public:
    ChunkScorer(const BoostedView& view, Columns<T> x)
        : view_(view),
          x_(x),
          quick_(view, x.d),
          codes_(quick_.columns.size() * chunk_rows),
          has_missing_(quick_.columns.size()),
          sums_(view.n_scores * chunk_rows) {}

    bool fits() const {
        return std::all_of(quick_.thresholds.begin(), quick_.thresholds.end(), [](const auto& t) {
            return t.size() < static_cast<std::size_t>(std::numeric_limits<std::int16_t>::max());
        });
    }

    void add(std::size_t first, std::size_t count, double* scores) {
        set_codes(first, count);
        std::fill(sums_.begin(), sums_.end(), 0.0);
        for (std::size_t t = 0; t < view_.n_trees; ++t)
            add_tree(t, first, count, sums_.data() + t % view_.n_scores * chunk_rows);
        for (std::size_t c = 0; c < view_.n_scores; ++c)
            for (std::size_t i = 0; i < count; ++i)
                scores[(first + i) * view_.n_scores + c] += sums_[c * chunk_rows + i];
    }

private:
    const T* row(std::size_t i) const {
        return x_.data + static_cast<std::ptrdiff_t>(i) * x_.row_stride;
    }

    void set_codes(std::size_t first, std::size_t count) {
        std::fill(has_missing_.begin(), has_missing_.end(), 0);
        for (std::size_t i = 0; i < count; ++i)
            for (std::size_t c = 0; c < quick_.columns.size(); ++c) {
                const std::vector<double>& sorted = quick_.thresholds[c];
                const double value = row(first + i)[quick_.columns[c] * x_.column_stride];
                const bool is_missing = std::isnan(value);
                has_missing_[c] |= is_missing;
                codes_[c * chunk_rows + i] =
                    is_missing ? missing_code
                               : static_cast<std::int16_t>(
                                     std::lower_bound(sorted.begin(), sorted.end(), value) -
                                     sorted.begin());
            }
    }

    void add_tree(std::size_t t, std::size_t first, std::size_t count, double* sums) {
        const QuickTree& tree = quick_.trees[t];
        if (tree.n_splits < 0) {
            for (std::size_t i = 0; i < count; ++i) sums[i] += walk(t, first + i);
            return;
        }
        const QuickSplit* splits = quick_.splits.data() + tree.first_split;
        const float* values = quick_.values.data() + tree.first_value;
        find_leaves(splits, tree.n_splits, codes_.data(), leaves_);
        if (!mark_both_ways(splits, tree.n_splits)) {
            for (std::size_t i = 0; i < count; ++i) sums[i] += values[lowest_bit(leaves_[i])];
            return;
        }
        for (std::size_t i = 0; i < count; ++i)
            sums[i] += both_ways_[i] ? walk(t, first + i) : values[lowest_bit(leaves_[i])];
    }

    // Marks the rows that a missing value sends both ways; false if there is no such split.
    bool mark_both_ways(const QuickSplit* splits, int n_splits) {
        bool any = false;
        for (int s = 0; s < n_splits; ++s) {
            if (splits[s].missing != Missing::both || !has_missing_[splits[s].column]) continue;
            if (!any) std::fill(both_ways_, both_ways_ + chunk_rows, std::uint8_t{0});
            any = true;
            const std::int16_t* code = codes_.data() + splits[s].column * chunk_rows;
            for (std::size_t i = 0; i < chunk_rows; ++i) both_ways_[i] |= code[i] == missing_code;
        }
        return any;
    }

    double walk(std::size_t t, std::size_t i) const {
        return descend(view_, view_.starts[t], 0, row(i), x_.column_stride);
    }

    const BoostedView& view_;
    Columns<T> x_;
    QuickTrees quick_;
    std::vector<std::int16_t> codes_;
    std::vector<std::uint8_t> has_missing_;
    std::vector<double> sums_;
    Leaves leaves_[chunk_rows];
    std::uint8_t both_ways_[chunk_rows];
};

template <typename T>
void walk_rows(const BoostedView& trees, Columns<T> x, double* scores) {
    SignalCheck signals;
    for (std::size_t i = 0; i < x.n; ++i) {
        const T* row = x.data + static_cast<std::ptrdiff_t>(i) * x.row_stride;
        for (std::size_t t = 0; t < trees.n_trees; ++t)
            scores[i * trees.n_scores + t % trees.n_scores] +=
                descend(trees, trees.starts[t], 0, row, x.column_stride);
        signals.add(64 * trees.n_trees);
    }
}

template <typename T>
void add_scores(const BoostedView& trees, Columns<T> x, double* scores) {
    if (x.n < min_rows) return walk_rows(trees, x, scores);
    ChunkScorer<T> scorer(trees, x);
    if (!scorer.fits()) return walk_rows(trees, x, scores);
    SignalCheck signals;
    for (std::size_t first = 0; first < x.n; first += chunk_rows) {
        scorer.add(first, std::min(chunk_rows, x.n - first), scores);
        signals.add(8 * chunk_rows * trees.n_trees);
    }
}

}  // namespace

void add_boosted_scores(const BoostedView& trees, Columns<float> x, double* scores) {
    add_scores(trees, x, scores);
}
void add_boosted_scores(const BoostedView& trees, Columns<double> x, double* scores) {
    add_scores(trees, x, scores);
}

}  // namespace consilience
