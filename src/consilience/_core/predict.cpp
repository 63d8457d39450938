// Rows down a fitted tree (see predict.hpp).
#include "predict.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "signals.hpp"

namespace consilience {
namespace {

// goes_left(node) decides for the row at hand.
template <typename Decide>
inline void descend(const TreeView& tree, Decide goes_left, std::size_t row, Reached out) {
    std::int32_t node = 0;
    if (out.to_leaf) {
        while (tree.feature[node] >= 0) node = goes_left(node) ? tree.left[node] : tree.right[node];
        out.nodes[row] = node;
        return;
    }
    for (int depth = 0; depth < out.n_depths; ++depth) {
        if (tree.feature[node] >= 0) node = goes_left(node) ? tree.left[node] : tree.right[node];
        out.nodes[row * out.n_depths + depth] = node;
    }
}

constexpr std::size_t chunk_rows = 1024;

// apply(first, last) for one chunk of rows after the other
template <typename Apply>
void in_chunks(std::size_t n, Apply apply) {
    SignalCheck signals;
    for (std::size_t first = 0; first < n; first += chunk_rows) {
        apply(first, std::min(n, first + chunk_rows));
        signals.add(64 * chunk_rows);
    }
}

inline bool value_left(const TreeView& tree, std::int32_t node, double value) {
    return std::isnan(value) ? tree.missing_left[node] : value <= tree.threshold[node];
}

inline bool code_left(const TreeView& tree, std::int32_t node, int code) {
    return code == missing_bin ? tree.missing_left[node] : code <= tree.bin[node];
}

template <typename T>
void apply_columns(const TreeView& tree, Columns<T> x, Reached out, std::size_t first,
                   std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
        const T* row = x.data + static_cast<std::ptrdiff_t>(i) * x.row_stride;
        const auto goes_left = [&](std::int32_t node) {
            return value_left(tree, node, row[tree.feature[node] * x.column_stride]);
        };
        descend(tree, goes_left, i, out);
    }
}

int depth_of(const TreeView& tree, std::size_t n_nodes) {
    std::vector<int> depth(n_nodes, 0);  // children follow their parents
    for (std::size_t i = 0; i < n_nodes; ++i)
        if (tree.feature[i] >= 0) depth[tree.left[i]] = depth[tree.right[i]] = depth[i] + 1;
    return n_nodes ? *std::max_element(depth.begin(), depth.end()) : 0;
}

// A node as a step without branches: a leaf leads to itself, and NaN (255) becomes 0 where it goes
// left, below all other codes, which move up by one.
struct Step {
    std::size_t offset;
    std::int32_t child[2];
    std::uint8_t shift;
    int last_left;
};

constexpr int shallow = 8;  // levels up to which all rows make all steps

void apply_shallow(const TreeView& tree, std::size_t n_nodes, int depth, const std::uint8_t* bins,
                   std::size_t n, Reached out) {
    std::vector<Step> steps(n_nodes);
    for (std::size_t i = 0; i < n_nodes; ++i) {
        const bool is_leaf = tree.feature[i] < 0;
        const std::size_t f = is_leaf ? 0 : tree.feature[i];
        const auto self = static_cast<std::int32_t>(i);
        const std::uint8_t shift = tree.missing_left[i] != 0;
        steps[i] = {(f / lanes) * n * lanes + f % lanes,
                    {is_leaf ? self : tree.left[i], is_leaf ? self : tree.right[i]},
                    shift,
                    tree.bin[i] + shift};
    }
    in_chunks(n, [=, &steps](std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; ++i) {
            std::int32_t node = 0;
            for (int k = 0; k < depth; ++k) {
                const Step& step = steps[node];
                const auto code =
                    static_cast<std::uint8_t>(bins[step.offset + i * lanes] + step.shift);
                node = step.child[code > step.last_left];
            }
            out.nodes[i] = node;
        }
    });
}

}  // namespace

void apply_dense(const TreeView& tree, Columns<float> x, Reached out) {
    in_chunks(x.n, [=](std::size_t first, std::size_t last) {
        apply_columns(tree, x, out, first, last);
    });
}
void apply_dense(const TreeView& tree, Columns<double> x, Reached out) {
    in_chunks(x.n, [=](std::size_t first, std::size_t last) {
        apply_columns(tree, x, out, first, last);
    });
}

void apply_csr(const TreeView& tree, const double* data, const std::int32_t* indices,
               const std::int64_t* indptr, std::size_t n, Reached out) {
    in_chunks(n, [=](std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; ++i) {
            const std::int32_t *begin = indices + indptr[i], *end = indices + indptr[i + 1];
            const auto goes_left = [&](std::int32_t node) {
                const std::int32_t* at = std::lower_bound(begin, end, tree.feature[node]);
                const bool stored = at != end && *at == tree.feature[node];
                return value_left(tree, node, stored ? data[at - indices] : 0.0);
            };
            descend(tree, goes_left, i, out);
        }
    });
}

void apply_bins(const TreeView& tree, std::size_t n_nodes, const std::uint8_t* bins, std::size_t n,
                Reached out) {
    const int depth = depth_of(tree, n_nodes);
    if (out.to_leaf && depth <= shallow) return apply_shallow(tree, n_nodes, depth, bins, n, out);
    in_chunks(n, [=](std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; ++i) {
            const auto goes_left = [&](std::int32_t node) {
                const std::size_t f = tree.feature[node];
                return code_left(tree, node, bins[((f / lanes) * n + i) * lanes + f % lanes]);
            };
            descend(tree, goes_left, i, out);
        }
    });
}

// Level by level: the zeros' side for all rows of a node, then the entries of its column.
void apply_sparse_bins(const TreeView& tree, const SparseCodes& entries, std::size_t n,
                       Reached out) {
    std::vector<std::int32_t> at(n, 0), next(n, 0);
    std::vector<std::int32_t> level{0}, below;
    SignalCheck signals;
    for (int depth = 0; out.to_leaf ? !level.empty() : depth < out.n_depths; ++depth) {
        for (std::size_t i = 0; i < n; ++i) {
            const std::int32_t node = at[i], f = tree.feature[node];
            next[i] = f < 0                                        ? node
                      : code_left(tree, node, entries.zero_bin[f]) ? tree.left[node]
                                                                   : tree.right[node];
        }
        below.clear();
        for (const std::int32_t node : level) {
            const std::int32_t f = tree.feature[node];
            if (f < 0) continue;
            signals.add(static_cast<std::size_t>(entries.indptr[f + 1] - entries.indptr[f]));
            for (std::int64_t e = entries.indptr[f]; e < entries.indptr[f + 1]; ++e)
                if (at[entries.rows[e]] == node)
                    next[entries.rows[e]] = code_left(tree, node, entries.codes[e])
                                                ? tree.left[node]
                                                : tree.right[node];
            below.push_back(tree.left[node]);
            below.push_back(tree.right[node]);
        }
        at.swap(next);
        level.swap(below);
        for (std::size_t i = 0; !out.to_leaf && i < n; ++i)
            out.nodes[i * out.n_depths + depth] = at[i];
    }
    for (std::size_t i = 0; out.to_leaf && i < n; ++i) out.nodes[i] = at[i];
}

}  // namespace consilience
