// Scores of new rows by boosted trees.
#pragma once

#include <cstddef>
#include <cstdint>

#include "binning.hpp"

namespace consilience {

// Trees as in BoostedTrees, all in; tree t adds to score t % n_scores.
struct BoostedView {
    const std::int32_t *feature, *left, *right;
    const double* threshold;
    const float *missing_left, *value;
    const std::int64_t* starts;
    std::size_t n_trees, n_scores;
};

// scores (n x n_scores, in/out) += values of the leaves that the rows reach
void add_boosted_scores(const BoostedView& trees, Columns<float> x, double* scores);
void add_boosted_scores(const BoostedView& trees, Columns<double> x, double* scores);

}  // namespace consilience
