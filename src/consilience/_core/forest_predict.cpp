// Rows down the trees of a forest (see forest.hpp).
//
// Rows are taken in blocks. Each tree is unpacked, so that all of a node lies side by side, and
// eight rows go down at the same time: the reads of one need not wait for those of another. A few
// rows walk the packed arrays themselves, because unpacking would cost more than the walk.
#include <algorithm>
#include <array>
#include <cmath>

#include "forest.hpp"
#include "signals.hpp"

namespace consilience {
namespace {

constexpr std::size_t few_rows = 24;  // up to which trees are not unpacked
constexpr std::size_t block_rows = 256;
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

template <bool MayBeNaN, typename Threshold>
void walk_tree(const std::vector<Node<Threshold>>& nodes, std::int32_t root, const Block& x,
               Votes votes) {
    for (std::size_t first = 0; first < x.n; first += rows_at_once) {
        const int n = static_cast<int>(std::min<std::size_t>(rows_at_once, x.n - first));
        std::array<std::int32_t, rows_at_once> at;
        std::array<const double*, rows_at_once> rows;
        at.fill(root);
        for (int j = 0; j < rows_at_once; ++j) rows[j] = x.row(first + std::min(j, n - 1));
        std::int32_t all_in_leaves = root;
        while (all_in_leaves >= 0) {
            all_in_leaves = -1;
            for (int j = 0; j < rows_at_once; ++j) {
                // those in a leaf stay, without a branch
                const std::int32_t next = next_node<MayBeNaN>(nodes[std::max(at[j], 0)], rows[j]);
                at[j] = at[j] < 0 ? at[j] : next;
                all_in_leaves &= at[j];
            }
        }
        for (int j = 0; j < n; ++j) votes.add(first + j, ~at[j]);
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

// The class shares of the inner nodes: those of the children, weighted. Children follow parents.
template <typename Threshold>
void mix_shares(const ForestView& f, std::size_t tree, const std::vector<Node<Threshold>>& nodes,
                const Votes& votes, std::vector<double>& shares) {
    const int n_classes = f.n_classes;
    shares.resize(nodes.size() * n_classes);
    for (std::size_t i = nodes.size(); i-- > 0;) {
        const double left_share = f.left_share[f.starts[tree] + static_cast<std::int64_t>(i)];
        const double weights[2] = {left_share, 1 - left_share};
        double* own = shares.data() + i * n_classes;
        std::fill(own, own + n_classes, 0.0);
        for (int side = 0; side < 2; ++side) {
            const std::int32_t child = nodes[i].child[side];
            if (child >= 0) {
                const double* of_child =
                    shares.data() + static_cast<std::size_t>(child) * n_classes;
                for (int k = 0; k < n_classes; ++k) own[k] += weights[side] * of_child[k];
            } else if (~child < n_classes) {
                own[~child] += weights[side];
            } else {
                const float* of_leaf = votes.shares(~child);
                for (int k = 0; k < n_classes; ++k) own[k] += weights[side] * of_leaf[k];
            }
        }
    }
}

struct Path {
    std::int32_t node;
    double weight;
};

template <typename Threshold>
class Router {
public:
    Router(const ForestView& forest, const RowViews& views, Votes votes)
        : f_(forest), views_(views), votes_(votes) {}

    // present (x.n x n_views, in)
    void route(std::size_t tree, const Block& x, const std::uint8_t* present) {
        unpack(f_, tree, nodes_);
        mix_shares(f_, tree, nodes_, votes_, shares_);
        const float* left_share = f_.left_share + f_.starts[tree];
        for (std::size_t i = 0; i < x.n; ++i) {
            paths_.assign(1, {f_.roots[tree], 1.0});
            while (!paths_.empty()) {
                const Path path = paths_.back();
                paths_.pop_back();
                follow(path, i, x.row(i), present + i * views_.n_views, left_share);
            }
        }
    }
    std::size_t size() const { return nodes_.size(); }

private:
    // Down to the end of the path; the right one of two children waits on the stack.
    void follow(Path path, std::size_t i, const double* row, const std::uint8_t* present,
                const float* left_share) {
        while (path.node >= 0) {
            const Node<Threshold>& node = nodes_[path.node];
            if (present[views_.view_of_column[node.split >> 1]]) {
                path.node = next_node<true>(node, row);
                continue;
            }
            if (path.weight < views_.min_path_weight) {
                const double* own =
                    shares_.data() + static_cast<std::size_t>(path.node) * f_.n_classes;
                return votes_.add(i, own, path.weight);
            }
            const double left = path.weight * left_share[path.node];
            paths_.push_back({node.child[1], path.weight - left});
            path = {node.child[0], left};
        }
        votes_.add(i, ~path.node, path.weight);
    }

    const ForestView& f_;
    const RowViews& views_;
    Votes votes_;
    std::vector<Node<Threshold>> nodes_;
    std::vector<double> shares_;
    std::vector<Path> paths_;
};

template <typename Threshold>
void route_block(const ForestView& f, const Block& x, const RowViews& views,
                 const std::uint8_t* present, Votes votes, SignalCheck& signals) {
    Router<Threshold> router(f, views, votes);
    for (std::size_t tree = 0; tree < f.n_trees; ++tree) {
        router.route(tree, x, present);
        signals.add((node_work + 2 * f.n_classes) * router.size() + 4 * walk_work * x.n);
    }
}

// -- blocks -------------------------------------------------------------------------------------

void add_block(const ForestView& f, const Block& x, std::size_t d, const RowViews* views,
               const std::uint8_t* present, double* votes, SignalCheck& signals) {
    const Votes sums(f, votes);
    if (views && f.threshold.wide) return route_block<double>(f, x, *views, present, sums, signals);
    if (views) return route_block<float>(f, x, *views, present, sums, signals);
    if (x.n <= few_rows) return walk_packed(f, x, sums, signals);
    const bool may_be_nan = has_nan(x, d);
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

std::size_t copied_rows(std::size_t d) {
    return std::clamp<std::size_t>(block_cells / std::max<std::size_t>(d, 1), 16, block_rows);
}

template <typename T>
void add_dense(const ForestView& f, Columns<T> x, const RowViews* views, double* votes) {
    const std::size_t rows = copied_rows(x.d);
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
    in_blocks(f, x.n, x.d, views, block_rows, votes, [&](std::size_t first, std::size_t n) {
        return Block{x.data + first * stride, n, stride};
    });
}

void add_votes(const ForestView& f, SparseRows x, const RowViews* views, double* votes) {
    const std::size_t rows = copied_rows(x.d);
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
