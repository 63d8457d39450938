// The parts of growing a tree that do not depend on how the bins are stored.
#include "tree.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "random.hpp"

namespace consilience {
namespace {

enum Stream : std::uint64_t { thresholds = 1, features = 2 };

// The class with the largest weight or the least cost, the lowest on ties.
std::int32_t decide(const Problem& p, const std::int64_t* totals) {
    std::int32_t best = 0;
    if (p.cost) {
        std::int64_t least = 0;
        for (int k = 1; k < p.n_classes; ++k)
            if (totals[k - 1] < least) least = totals[k - 1], best = k;
        return best;
    }
    for (int k = 1; k < p.n_classes; ++k)
        if (totals[k] > totals[best]) best = k;
    return best;
}

}  // namespace

std::int32_t add_node(Tree& tree, const Problem& problem, int depth, std::uint64_t key,
                      const std::int64_t* totals) {
    tree.feature.push_back(-1);
    tree.left.push_back(-1);
    tree.right.push_back(-1);
    tree.depth.push_back(depth);
    tree.threshold.push_back(std::numeric_limits<double>::quiet_NaN());
    tree.gain.push_back(0);
    tree.bin.push_back(0);
    tree.missing_left.push_back(0);
    tree.key.push_back(key);
    tree.n_channels = problem.n_channels();
    tree.totals.insert(tree.totals.end(), totals, totals + tree.n_channels);
    tree.decision.push_back(decide(problem, totals));
    return static_cast<std::int32_t>(tree.size()) - 1;
}

void add_root(Tree& tree, const Problem& problem, const TreeParams& params,
              const std::int64_t* totals) {
    const std::uint64_t key = params.key ? *params.key : root_key(params.seed);
    add_node(tree, problem, params.depth, key, totals);
}

std::int32_t split_node(Tree& tree, const Problem& problem, std::int32_t node, const Split& split) {
    const std::vector<std::int64_t> total(tree.total(node), tree.total(node) + tree.n_channels);
    const int depth = tree.depth[node] + 1;
    const std::uint64_t key = tree.key[node];
    std::vector<std::int64_t> right(total);
    for (int c = 0; c < tree.n_channels; ++c) right[c] -= split.left[c];
    tree.feature[node] = split.feature;
    tree.threshold[node] = split.threshold;
    tree.bin[node] = static_cast<std::uint8_t>(split.bin);
    tree.missing_left[node] = split.missing_left;
    const double gain = split.score - node_score(problem, total.data());
    tree.gain[node] = std::ldexp(std::max(gain, 0.0), -problem.exponent);
    const std::int32_t child =
        add_node(tree, problem, depth, child_key(key, false), split.left.data());
    tree.left[node] = child;
    tree.right[node] = add_node(tree, problem, depth, child_key(key, true), right.data());
    return child;
}

bool worth_splitting(const Tree& tree, const Problem& problem, const TreeParams& params,
                     std::int32_t node, std::int64_t floor) {
    const std::int64_t* totals = tree.total(node);
    if (tree.depth[node] >= params.max_depth) return false;
    if (problem.counted && totals[problem.n_sums] < 2 * problem.min_count) return false;
    if (problem.cost) return -node_score(problem, totals) > static_cast<double>(floor);
    const auto held = [](std::int64_t total) { return total > 0; };
    return std::count_if(totals, totals + problem.n_sums, held) > 1;
}

std::int64_t mass(const Problem& problem, const std::int64_t* sums) {
    if (problem.cost) return sums[problem.n_sums];
    return std::accumulate(sums, sums + problem.n_sums, std::int64_t{0});
}

void place_threshold(const Edges& edges, int next_bin, Split& split) {
    if (next_bin < 0) {
        split.bin = std::max(edges.bins(split.feature) - 1, 0);
        split.threshold = std::numeric_limits<double>::infinity();
        return;
    }
    const double middle =
        midpoint(edges.high(split.feature, split.bin), edges.low(split.feature, next_bin));
    split.threshold = settle(edges, split.feature, middle, split.bin);
}

double draw_threshold(const Edges& edges, std::uint64_t key, std::size_t f, int first, int last) {
    const double u = uniform(draw(key, f, thresholds));
    return edges.low(f, first) * (1 - u) + edges.high(f, last) * u;
}

Cut place_cut(const Edges& edges, std::size_t f, double drawn, int bin) {
    const double below = edges.high(f, bin), above = edges.low(f, bin + 1);
    return {bin, below <= drawn && drawn < above ? drawn : midpoint(below, above)};
}

Cut draw_cut(const Edges& edges, std::uint64_t key, std::size_t f, int first, int last) {
    const double drawn = draw_threshold(edges, key, f, first, last);
    int bin = first;
    while (bin + 1 < last && edges.high(f, bin + 1) <= drawn) ++bin;
    return place_cut(edges, f, drawn, bin);
}

FeatureOrder::FeatureOrder(std::size_t d) : order_(d) {
    std::iota(order_.begin(), order_.end(), 0u);
}

void FeatureOrder::start(std::uint64_t key) {
    for (; !swaps_.empty(); swaps_.pop_back())
        std::swap(order_[swaps_.size() - 1], order_[swaps_.back()]);
    key_ = key;
}

std::uint32_t FeatureOrder::next() {
    const std::size_t i = swaps_.size();
    const std::uint64_t bits = consilience::draw(key_, i, features);
    const std::uint32_t j = static_cast<std::uint32_t>(i) + below(bits, order_.size() - i);
    std::swap(order_[i], order_[j]);
    swaps_.push_back(j);
    return order_[i];
}

std::vector<std::uint32_t> FeatureOrder::draw(const TreeParams& params, std::uint64_t key) {
    if (params.max_features >= order_.size()) return {};
    start(key);
    std::vector<std::uint32_t> chosen(params.max_features);
    for (std::uint32_t& f : chosen) f = next();
    std::sort(chosen.begin(), chosen.end());
    return chosen;
}

}  // namespace consilience
