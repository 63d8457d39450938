// The parts of growing a tree that do not depend on how the bins are stored.
#include "tree.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
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

void draw_threshold(const Edges& edges, std::uint64_t key, int first, int last, Split& split) {
    const std::size_t f = split.feature;
    const double u = uniform(draw(key, f, thresholds));
    const double drawn = edges.low(f, first) * (1 - u) + edges.high(f, last) * u;
    split.bin = first;
    while (split.bin + 1 < last && edges.high(f, split.bin + 1) <= drawn) ++split.bin;
    const double below = edges.high(f, split.bin), above = edges.low(f, split.bin + 1);
    split.threshold = below <= drawn && drawn < above ? drawn : midpoint(below, above);
}

OtherFeatures::OtherFeatures(std::uint64_t key, const std::vector<std::uint8_t>& chosen) {
    for (std::size_t f = 0; f < chosen.size(); ++f)
        if (!chosen[f]) order_.emplace_back(draw(key, f, features), f);
    std::make_heap(order_.begin(), order_.end(), std::greater<>());
}

std::size_t OtherFeatures::next() {
    std::pop_heap(order_.begin(), order_.end(), std::greater<>());
    const std::size_t f = order_.back().second;
    order_.pop_back();
    return f;
}

std::vector<std::uint8_t> draw_features(const TreeParams& params, std::uint64_t key,
                                        std::size_t d) {
    if (params.max_features >= d) return {};
    // Only the least draws matter: those below a bound that leaves somewhat more than are wanted.
    // Should it leave fewer, which is rare, all are taken.
    const double wanted = static_cast<double>(params.max_features);
    const double share = (wanted + 4 * std::sqrt(wanted) + 4) / static_cast<double>(d);
    std::uint64_t bound = share < 1 ? static_cast<std::uint64_t>(std::ldexp(share, 63)) << 1
                                    : std::numeric_limits<std::uint64_t>::max();
    std::vector<std::pair<std::uint64_t, std::size_t>> order;
    for (;;) {
        order.clear();
        for (std::size_t f = 0; f < d; ++f) {
            const std::uint64_t drawn = draw(key, f, features);
            if (drawn <= bound) order.emplace_back(drawn, f);
        }
        if (order.size() >= params.max_features) break;
        bound = std::numeric_limits<std::uint64_t>::max();
    }
    std::nth_element(order.begin(), order.begin() + (params.max_features - 1), order.end());
    std::vector<std::uint8_t> chosen(d, 0);
    for (std::size_t i = 0; i < params.max_features; ++i) chosen[order[i].second] = 1;
    return chosen;
}

}  // namespace consilience
