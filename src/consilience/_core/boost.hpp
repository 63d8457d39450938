// Gradient-boosted trees for the log loss, on bins (see boost.cpp for the problem).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "edges.hpp"

namespace consilience {

struct BoostParams {
    int max_rounds, patience, max_leaves, max_depth;
    double learning_rate, l2, min_hessian;
    double row_share;          // of the training rows, drawn for each round
    std::size_t max_features;  // about so many features are drawn for each tree
    std::uint64_t seed;
};

// Trees one after the other; children are counted from the root of their tree.
struct BoostedTrees {
    std::vector<std::int32_t> feature, left, right;  // -1 in leaves
    std::vector<double> threshold;                   // values <= threshold go left; NaN in leaves
    std::vector<float> missing_left;                 // share of a missing value that goes left
    std::vector<float> value;                        // what a leaf adds to the score; else 0
    std::vector<std::int64_t> starts{0};

    std::size_t count() const { return starts.size() - 1; }
    void truncate(std::size_t n_trees);
};

// Binned rows for the search: features in random order, eight to a block, constant ones left out.
struct PackedColumns {
    std::size_t n;
    std::vector<std::int32_t> feature;  // block x 8: number of the feature; -1 where there is none
    std::vector<int> n_bins;            // of each block; this is also the code of missing values
    std::vector<std::uint8_t> codes;    // block x n x 8

    std::size_t n_blocks() const { return n_bins.size(); }
    const std::uint8_t* block(std::size_t b) const { return codes.data() + b * n * lanes; }
};

// bins: blocks x n x 8 codes of d features, in
PackedColumns pack_columns(const std::uint8_t* bins, std::size_t n, std::size_t d,
                           const Edges& edges, std::uint64_t seed);

struct BoostTarget {
    const std::int32_t* codes;     // classes (n), in
    const double* weight;          // n, in
    const std::uint8_t* left_out;  // n flags, in: rows that only decide when to stop
    const double* base;            // scores to begin with (n_scores), in
    std::size_t n_classes;

    std::size_t n_scores() const { return n_classes == 2 ? 1 : n_classes; }
};

struct BoostResult {
    BoostedTrees trees;          // n_scores trees for each round
    std::vector<double> scores;  // n_scores x (rows left out), in the order of the rows
    std::vector<double> losses;  // mean log loss of the rows left out after each round
};

BoostResult boost(const std::uint8_t* bins, std::size_t n, std::size_t d, const Edges& edges,
                  const BoostTarget& target, const BoostParams& params);

}  // namespace consilience
