// Rows down the trees of a forest (see forest.hpp).
//
// Rows are taken in blocks. Each tree is unpacked, so that all of a node lies side by side, and
// eight rows go down at the same time: the reads of one need not wait for those of another. A few
// rows walk the packed arrays themselves, because unpacking would cost more than the walk. Rows
// that lack views are divided at each node instead, all rows that lack the same ones together.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

#include "forest.hpp"
#include "signals.hpp"

namespace consilience {
namespace {

constexpr std::size_t few_rows = 24;  // up to which trees are not unpacked
constexpr std::size_t block_rows = 256;
constexpr std::size_t routed_rows = 1024, routed_cells = std::size_t{1} << 17;
constexpr std::size_t block_cells = std::size_t{1} << 20;  // of a copied block
constexpr int rows_at_once = 8;
constexpr std::size_t walk_work = 32, node_work = 2;

template <typename Threshold>
struct Node {
    Threshold threshold;
    std::uint32_t split;  // 2 * feature + 1 where NaN go left
    std::int32_t child[2];
};

// A block of rows, in: row i at values + i * stride.
struct Block {
    const double* values;
    std::size_t n, stride;

    const double* row(std::size_t i) const { return values + i * stride; }
};

class Votes {
public:
    Votes(const ForestView& forest, double* sums) : f_(forest), sums_(sums) {}

    void add(std::size_t row, std::int32_t leaf) {
        double* sums = sums_ + row * f_.n_classes;
        if (leaf < f_.n_classes)
            sums[leaf] += 1;
        else
            for (int k = 0; k < f_.n_classes; ++k) sums[k] += shares(leaf)[k];
    }
    void add(std::size_t row, std::int32_t leaf, double weight) {
        double* sums = sums_ + row * f_.n_classes;
        if (leaf < f_.n_classes)
            sums[leaf] += weight;
        else
            for (int k = 0; k < f_.n_classes; ++k) sums[k] += weight * shares(leaf)[k];
    }
    void add(std::size_t row, const double* node_shares, double weight) {
        double* sums = sums_ + row * f_.n_classes;
        for (int k = 0; k < f_.n_classes; ++k) sums[k] += weight * node_shares[k];
    }
    const float* shares(std::int32_t leaf) const {
        return f_.shares + static_cast<std::size_t>(leaf) * f_.n_classes;
    }

private:
    const ForestView& f_;
    double* sums_;
};

// 1 if a value goes right
template <bool MayBeNaN, typename Threshold>
inline int side(double value, Threshold threshold, std::uint32_t missing_left) {
    if (!MayBeNaN) return !(value <= threshold);
    return !((value <= threshold) | (std::isnan(value) & missing_left));
}

template <typename Threshold>
void unpack(const ForestView& f, std::size_t tree, std::vector<Node<Threshold>>& nodes) {
    const auto begin = static_cast<std::size_t>(f.starts[tree]);
    nodes.resize(static_cast<std::size_t>(f.starts[tree + 1]) - begin);
    for (std::size_t i = 0; i < nodes.size(); ++i)
        nodes[i] = {
            static_cast<Threshold>(f.threshold[begin + i]),
            2 * static_cast<std::uint32_t>(f.feature[begin + i]) + f.missing_left[begin + i],
            {f.left[begin + i], f.right[begin + i]}};
}

// -- all columns present ------------------------------------------------------------------------

template <bool MayBeNaN, typename Threshold>
inline std::int32_t next_node(const Node<Threshold>& node, const double* row) {
    return node.child[side<MayBeNaN>(row[node.split >> 1], node.threshold, node.split & 1)];
}

// Where eight rows end on their way down from a node: a negative child each.
template <bool MayBeNaN, typename Threshold>
std::array<std::int32_t, rows_at_once> walk_rows(
    const std::vector<Node<Threshold>>& nodes, std::int32_t from,
    const std::array<const double*, rows_at_once>& rows) {
    std::array<std::int32_t, rows_at_once> at;
    at.fill(from);
    std::int32_t all_at_end = from;
    while (all_at_end >= 0) {
        all_at_end = -1;
        for (int j = 0; j < rows_at_once; ++j) {
            // those at their end stay, without a branch
            const std::int32_t next = next_node<MayBeNaN>(nodes[std::max(at[j], 0)], rows[j]);
            at[j] = at[j] < 0 ? at[j] : next;
            all_at_end &= at[j];
        }
    }
    return at;
}

template <bool MayBeNaN, typename Threshold>
void walk_tree(const std::vector<Node<Threshold>>& nodes, std::int32_t root, const Block& x,
               Votes votes) {
    std::array<const double*, rows_at_once> rows;
    for (std::size_t first = 0; first < x.n; first += rows_at_once) {
        const int n = static_cast<int>(std::min<std::size_t>(rows_at_once, x.n - first));
        for (int j = 0; j < rows_at_once; ++j) rows[j] = x.row(first + std::min(j, n - 1));
        const auto leaves = walk_rows<MayBeNaN>(nodes, root, rows);
        for (int j = 0; j < n; ++j) votes.add(first + j, ~leaves[j]);
    }
}

template <typename Threshold>
void walk_unpacked(const ForestView& f, const Block& x, bool may_be_nan, Votes votes,
                   SignalCheck& signals) {
    std::vector<Node<Threshold>> nodes;
    for (std::size_t tree = 0; tree < f.n_trees; ++tree) {
        unpack(f, tree, nodes);
        if (may_be_nan)
            walk_tree<true>(nodes, f.roots[tree], x, votes);
        else
            walk_tree<false>(nodes, f.roots[tree], x, votes);
        signals.add(node_work * nodes.size() + walk_work * x.n);
    }
}

void walk_packed(const ForestView& f, const Block& x, Votes votes, SignalCheck& signals) {
    for (std::size_t i = 0; i < x.n; ++i) {
        const double* row = x.row(i);
        for (std::size_t tree = 0; tree < f.n_trees; ++tree) {
            const auto begin = static_cast<std::size_t>(f.starts[tree]);
            std::int32_t at = f.roots[tree];
            while (at >= 0) {
                const std::size_t node = begin + at;
                const bool right =
                    side<true>(row[f.feature[node]], f.threshold[node], f.missing_left[node]);
                at = right ? f.right[node] : f.left[node];
            }
            votes.add(i, ~at);
        }
        signals.add(walk_work * f.n_trees);
    }
}

bool has_nan(const Block& x, std::size_t d) {
    for (std::size_t i = 0; i < x.n; ++i) {
        int n_nan = 0;
        for (std::size_t j = 0; j < d; ++j) n_nan += std::isnan(x.row(i)[j]);
        if (n_nan) return true;
    }
    return false;
}

// -- rows that lack views -----------------------------------------------------------------------

// Rows that lack the same views go down a tree together. The weight with which rows reach a node
// follows from the nodes above it that split on absent columns, so it is the same for all of them.
template <typename Threshold>
class Router {
public:
    // x and present (x.n x n_views): in
    Router(const ForestView& forest, const RowViews& views, const Block& x, bool may_be_nan,
           const std::uint8_t* present, Votes votes)
        : f_(forest),
          views_(views),
          x_(x),
          may_be_nan_(may_be_nan),
          present_(present),
          votes_(votes),
          leaf_shares_(forest.shares, forest.shares + forest.n_leaves * forest.n_classes),
          rows_(x.n) {
        const std::size_t n_views = views.n_views;
        std::iota(rows_.begin(), rows_.end(), std::uint32_t{0});
        std::stable_sort(rows_.begin(), rows_.end(), [=](std::uint32_t i, std::uint32_t j) {
            return std::memcmp(present + i * n_views, present + j * n_views, n_views) < 0;
        });
    }

    void route(std::size_t tree) {
        unpack(f_, tree, nodes_);
        left_share_ = f_.left_share + f_.starts[tree];
        mix_shares();
        const std::size_t n_views = views_.n_views;
        std::uint32_t* const end = rows_.data() + x_.n;
        for (std::uint32_t *first = rows_.data(), *last = first; first < end; first = last) {
            own_present_ = present_ + *first * n_views;
            while (last < end && !std::memcmp(own_present_, present_ + *last * n_views, n_views))
                ++last;
            if (may_be_nan_)
                descend<true>(first, last, f_.roots[tree], 1.0);
            else
                descend<false>(first, last, f_.roots[tree], 1.0);
        }
    }
    std::size_t size() const { return nodes_.size(); }

private:
    // The class shares of the inner nodes: those of the children, which follow them, weighted.
    void mix_shares() {
        const int n_classes = f_.n_classes;
        shares_.resize(nodes_.size() * n_classes);
        for (std::size_t i = nodes_.size(); i-- > 0;) {
            const double left_share = left_share_[i];
            const double* left = shares_of(nodes_[i].child[0]);
            const double* right = shares_of(nodes_[i].child[1]);
            double* own = shares_.data() + i * n_classes;
            for (int k = 0; k < n_classes; ++k)
                own[k] = left_share * left[k] + (1 - left_share) * right[k];
        }
    }
    const double* shares_of(std::int32_t child) const {
        const double* table = child >= 0 ? shares_.data() : leaf_shares_.data();
        return table + static_cast<std::size_t>(child >= 0 ? child : ~child) * f_.n_classes;
    }

    // These rows, which come to this child with this weight, go on to the leaves. They stay in
    // their place, in another order. Recursion takes the smaller part, so it is never deep.
    template <bool MayBeNaN>
    void descend(std::uint32_t* first, std::uint32_t* last, std::int32_t child, double weight) {
        while (child >= 0 && first < last) {
            const Node<Threshold>& node = nodes_[child];
            if (own_present_[views_.view_of_column[node.split >> 1]]) {
                std::uint32_t* const middle = partition<MayBeNaN>(first, last, node);
                if (middle - first < last - middle) {
                    descend<MayBeNaN>(first, middle, node.child[0], weight);
                    first = middle;
                    child = node.child[1];
                } else {
                    descend<MayBeNaN>(middle, last, node.child[1], weight);
                    last = middle;
                    child = node.child[0];
                }
            } else if (weight < views_.min_path_weight) {
                break;
            } else {
                const double left = weight * left_share_[child], right = weight - left;
                if (left < right) {
                    descend<MayBeNaN>(first, last, node.child[0], left);
                    child = node.child[1];
                    weight = right;
                } else {
                    descend<MayBeNaN>(first, last, node.child[1], right);
                    child = node.child[0];
                    weight = left;
                }
            }
        }
        for (; first < last; ++first) {
            if (child >= 0)
                votes_.add(*first, shares_of(child), weight);
            else
                votes_.add(*first, ~child, weight);
        }
    }

    // Moves the rows that go left before the others; returns the first of these.
    template <bool MayBeNaN>
    std::uint32_t* partition(std::uint32_t* first, std::uint32_t* last,
                             const Node<Threshold>& node) const {
        const std::size_t column = node.split >> 1;
        for (std::uint32_t* at = first; at < last; ++at) {  // without a branch
            const std::uint32_t row = *at;
            const int right = side<MayBeNaN>(x_.row(row)[column], node.threshold, node.split & 1);
            *at = *first;
            *first = row;
            first += 1 - right;
        }
        return first;
    }

    const ForestView& f_;
    const RowViews& views_;
    const Block x_;
    const bool may_be_nan_;
    const std::uint8_t* present_;
    Votes votes_;
    std::vector<double> leaf_shares_;
    std::vector<std::uint32_t> rows_;  // those with the same views side by side
    // of a tree
    std::vector<Node<Threshold>> nodes_;
    std::vector<double> shares_;
    const float* left_share_ = nullptr;
    const std::uint8_t* own_present_ = nullptr;  // the views of the rows on their way
};

template <typename Threshold>
void route_block(const ForestView& f, const Block& x, bool may_be_nan, const RowViews& views,
                 const std::uint8_t* present, Votes votes, SignalCheck& signals) {
    Router<Threshold> router(f, views, x, may_be_nan, present, votes);
    for (std::size_t tree = 0; tree < f.n_trees; ++tree) {
        router.route(tree);
        signals.add((node_work + 2 * f.n_classes) * router.size() + 4 * walk_work * x.n);
    }
}

// -- blocks -------------------------------------------------------------------------------------

void add_block(const ForestView& f, const Block& x, std::size_t d, const RowViews* views,
               const std::uint8_t* present, double* votes, SignalCheck& signals) {
    const Votes sums(f, votes);
    if (!views && x.n <= few_rows) return walk_packed(f, x, sums, signals);
    const bool may_be_nan = has_nan(x, d);
    if (views && f.threshold.wide)
        return route_block<double>(f, x, may_be_nan, *views, present, sums, signals);
    if (views) return route_block<float>(f, x, may_be_nan, *views, present, sums, signals);
    if (f.threshold.wide) return walk_unpacked<double>(f, x, may_be_nan, sums, signals);
    walk_unpacked<float>(f, x, may_be_nan, sums, signals);
}

// fill(first, n) returns the rows first ... first + n - 1.
template <typename Fill>
void in_blocks(const ForestView& f, std::size_t n, std::size_t d, const RowViews* views,
               std::size_t rows, double* votes, Fill fill) {
    SignalCheck signals;
    for (std::size_t first = 0; first < n; first += rows) {
        const Block block = fill(first, std::min(rows, n - first));
        const std::uint8_t* present = views ? views->present + first * views->n_views : nullptr;
        add_block(f, block, d, views, present, votes + first * f.n_classes, signals);
    }
}

// Rows that lack views are taken in larger blocks, as trees are prepared for their views first.
std::size_t rows_of_block(std::size_t d, const RowViews* views) {
    if (!views) return block_rows;
    return std::clamp<std::size_t>(routed_cells / std::max<std::size_t>(d, 1), block_rows,
                                   routed_rows);
}

std::size_t copied_rows(std::size_t d, const RowViews* views) {
    return std::clamp<std::size_t>(block_cells / std::max<std::size_t>(d, 1), 16,
                                   rows_of_block(d, views));
}

template <typename T>
void add_dense(const ForestView& f, Columns<T> x, const RowViews* views, double* votes) {
    const std::size_t rows = copied_rows(x.d, views);
    std::vector<double> buffer(std::min(rows, x.n) * x.d);
    in_blocks(f, x.n, x.d, views, rows, votes, [&](std::size_t first, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) {
            const T* row = x.data + static_cast<std::ptrdiff_t>(first + i) * x.row_stride;
            double* to = buffer.data() + i * x.d;
            for (std::size_t j = 0; j < x.d; ++j)
                to[j] = row[static_cast<std::ptrdiff_t>(j) * x.column_stride];
        }
        return Block{buffer.data(), n, x.d};
    });
}

}  // namespace

void add_votes(const ForestView& f, Columns<float> x, const RowViews* views, double* votes) {
    add_dense(f, x, views, votes);
}

void add_votes(const ForestView& f, Columns<double> x, const RowViews* views, double* votes) {
    if (x.column_stride != 1 || x.row_stride < 0) return add_dense(f, x, views, votes);
    const auto stride = static_cast<std::size_t>(x.row_stride);
    const std::size_t rows = rows_of_block(x.d, views);
    in_blocks(f, x.n, x.d, views, rows, votes, [&](std::size_t first, std::size_t n) {
        return Block{x.data + first * stride, n, stride};
    });
}

void add_votes(const ForestView& f, SparseRows x, const RowViews* views, double* votes) {
    const std::size_t rows = copied_rows(x.d, views);
    std::vector<double> buffer(std::min(rows, x.n) * x.d, 0.0);
    std::size_t old_first = 0, old_n = 0;
    const auto each_entry = [&](std::size_t first, std::size_t n, auto write) {
        for (std::size_t i = 0; i < n; ++i)
            for (std::int64_t e = x.indptr[first + i]; e < x.indptr[first + i + 1]; ++e)
                write(buffer[i * x.d + x.indices[e]], x.data[e]);
    };
    in_blocks(f, x.n, x.d, views, rows, votes, [&](std::size_t first, std::size_t n) {
        each_entry(old_first, old_n, [](double& cell, double) { cell = 0; });
        each_entry(first, n, [](double& cell, double value) { cell = value; });
        old_first = first;
        old_n = n;
        return Block{buffer.data(), n, x.d};
    });
}

}  // namespace consilience
