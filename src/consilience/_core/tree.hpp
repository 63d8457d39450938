// Greedy trees, grown level by level; shared by the dense and the sparse search.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "edges.hpp"
#include "problem.hpp"
#include "score.hpp"

namespace consilience {

// A split: bins <= `bin` (values <= `threshold`) go left.
struct Split {
    double score = no_score;
    std::int32_t feature = -1;
    int bin = 0;
    double threshold = 0;
    bool missing_left = false;
    std::vector<std::int64_t> left;  // channel sums of the left child
};

// Nodes in breadth-first order; a leaf has feature -1 and no children (-1).
struct Tree {
    std::vector<std::int32_t> feature, left, right, depth, decision;
    std::vector<double> threshold, gain;
    std::vector<std::uint8_t> bin, missing_left;
    std::vector<std::int64_t> totals;  // nodes x channels
    std::vector<std::uint64_t> key;
    int n_channels = 0;

    std::size_t size() const { return feature.size(); }
    const std::int64_t* total(std::size_t node) const { return totals.data() + node * n_channels; }
};

// Appends a leaf and returns its number.
std::int32_t add_node(Tree& tree, const Problem& problem, int depth, std::uint64_t key,
                      const std::int64_t* totals);

// The first node.
void add_root(Tree& tree, const Problem& problem, const TreeParams& params,
              const std::int64_t* totals);

// Makes a leaf an inner node with two new leaves; returns the left one, the right one follows.
std::int32_t split_node(Tree& tree, const Problem& problem, std::int32_t node, const Split& split);

// Whether a split can help: `floor` is the sum of the least costs of the rows (cost only).
bool worth_splitting(const Tree& tree, const Problem& problem, const TreeParams& params,
                     std::int32_t node, std::int64_t floor);

// Sums over a node that decide where unseen NaN go: integer weight (gini) or rows (cost).
std::int64_t mass(const Problem& problem, const std::int64_t* sums);

// The threshold between `bin` and the next bin that the node holds (-1: none, NaN alone go right).
void place_threshold(const Edges& edges, int next_bin, Split& split);

// Where a feature is cut: bins <= `bin`, values <= `threshold`.
struct Cut {
    int bin;
    double threshold;
};

// A number drawn between the least and the greatest value of the bins first < last.
double draw_threshold(const Edges& edges, std::uint64_t key, std::size_t feature, int first,
                      int last);

// The cut after a bin, at the number drawn unless that would cut through a bin.
Cut place_cut(const Edges& edges, std::size_t feature, double drawn, int bin);

// A cut drawn between the bins first < last.
Cut draw_cut(const Edges& edges, std::uint64_t key, std::size_t feature, int first, int last);

// The features in a random order of each node, worked out only as far as it is asked: a shuffle
// that is taken back before the next one, so that a node costs no more than the features it draws.
class FeatureOrder {
public:
    explicit FeatureOrder(std::size_t d);
    bool ended() const { return swaps_.size() == order_.size(); }
    std::uint32_t next();

    // The first `max_features` of the node's order, ascending; none if all take part.
    std::vector<std::uint32_t> draw(const TreeParams& params, std::uint64_t key);

private:
    void start(std::uint64_t key);

    std::uint64_t key_ = 0;
    std::vector<std::uint32_t> order_, swaps_;
};

}  // namespace consilience
