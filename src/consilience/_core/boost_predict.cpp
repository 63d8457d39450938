// Rows down boosted trees (see boost_predict.hpp): the rows of a chunk stay in the cache while they
// pass through the trees one after the other.
#include "boost_predict.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "signals.hpp"

namespace consilience {
namespace {

constexpr std::size_t chunk_rows = 64;

struct Node {
    double threshold;
    std::int32_t feature, left, right;  // children by their place in the array of all nodes
    float missing_left, value;
};

std::vector<Node> flatten(const BoostedView& trees) {
    std::vector<Node> nodes(static_cast<std::size_t>(trees.starts[trees.n_trees]));
    for (std::size_t t = 0; t < trees.n_trees; ++t) {
        const auto start = static_cast<std::int32_t>(trees.starts[t]);
        for (std::int64_t i = start; i < trees.starts[t + 1]; ++i)
            nodes[i] = {trees.threshold[i],     trees.feature[i],
                        start + trees.left[i],  start + trees.right[i],
                        trees.missing_left[i],  trees.value[i]};
    }
    return nodes;
}

// The value for a row at a node; a missing value may send a share of it each way.
template <typename T>
double descend(const Node* nodes, std::int32_t at, const T* row, std::ptrdiff_t stride) {
    for (;;) {
        const Node& node = nodes[at];
        if (node.feature < 0) return node.value;
        const double value = row[node.feature * stride];
        if (std::isnan(value)) {
            const double share = node.missing_left;
            if (share > 0 && share < 1)
                return share * descend(nodes, node.left, row, stride) +
                       (1 - share) * descend(nodes, node.right, row, stride);
            at = share >= 1 ? node.left : node.right;
        } else {
            at = value <= node.threshold ? node.left : node.right;
        }
    }
}

template <typename T>
void add_scores(const BoostedView& trees, Columns<T> x, double* scores) {
    const std::vector<Node> nodes = flatten(trees);
    SignalCheck signals;
    for (std::size_t first = 0; first < x.n; first += chunk_rows) {
        const std::size_t last = std::min(x.n, first + chunk_rows);
        for (std::size_t t = 0; t < trees.n_trees; ++t) {
            const auto root = static_cast<std::int32_t>(trees.starts[t]);
            double* out = scores + t % trees.n_scores;
            for (std::size_t i = first; i < last; ++i)
                out[i * trees.n_scores] +=
                    descend(nodes.data(), root,
                            x.data + static_cast<std::ptrdiff_t>(i) * x.row_stride,
                            x.column_stride);
            signals.add(16 * chunk_rows);
        }
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
