// What a tree is grown for: rows, classes, weights or costs, all as exact integers.
//
// Weights are scaled by a power of two and rounded, so that every sum of them is an integer below
// 2^51. Such sums are exact, in int64 and in double alike: histograms can be subtracted without
// noise, equal splits have equal scores to the last bit, and no result depends on the order of
// the additions.
//
// A row carries `n_sums` channels (and a count if asked for):
//   gini   one channel per class; a row adds its weight to the channel of its class
//   cost   one channel per class but the first: the cost above that of class 0. A constant added
//          to all costs of a row changes no comparison, so class 0 needs no channel
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace consilience {

struct TreeParams {
    int max_depth = 1;
    std::int64_t min_samples_leaf = 1;
    double min_weight_leaf = 0;
    std::size_t max_features = 0;  // of the features, at least 1
    bool random_splits = false;
    std::uint64_t seed = 0;
    // of the rows of all blocks, if these are some of them: integers = round(weights * 2^exponent)
    std::optional<int> exponent;
    // a subtree: the key and the depth of its root
    std::optional<std::uint64_t> key;
    int depth = 0;
};

struct Problem {
    std::size_t n = 0;
    int n_classes = 0, n_sums = 0, n_groups = 0;
    bool cost = false, counted = false;
    int exponent = 0;             // integers = round(weights * 2^exponent)
    std::int64_t min_count = 1;   // rows in a leaf
    std::int64_t min_weight = 1;  // integer weight of a leaf, gini only
    const std::int32_t* codes = nullptr;
    std::vector<std::int64_t> weight;      // n (gini), n_sums x n (cost)
    std::vector<std::int64_t> least_cost;  // n (cost): what a row costs at best
    std::vector<std::uint32_t> rows;       // rows that take part: by group, then ascending
    std::vector<std::size_t> group_start;  // groups are the classes (gini) or all rows (cost)

    int n_channels() const { return n_sums + (counted ? 1 : 0); }
};

// The number whose power of two brings weights, whose exact sum has this exponent, just below 2^50.
int weight_exponent(int exponent_of_total);

// How far the costs of a row (n_classes, in) lie apart from that of class 0; an error if not finite.
double widest_cost(const double* costs, int n_classes);

// codes, weights (n, in), rows (n flags or null, in); rows of zero weight take no part
Problem weighted_problem(const std::int32_t* codes, const double* weights, const std::uint8_t* rows,
                         std::size_t n, int n_classes, const TreeParams& params);

// costs (n x n_classes, in)
Problem cost_problem(const double* costs, const std::uint8_t* rows, std::size_t n, int n_classes,
                     const TreeParams& params);

// The same in place of an older problem, whose memory is used again.
void set_weighted_problem(Problem& problem, const std::int32_t* codes, const double* weights,
                          const std::uint8_t* rows, std::size_t n, int n_classes,
                          const TreeParams& params);
void set_cost_problem(Problem& problem, const double* costs, const std::uint8_t* rows,
                      std::size_t n, int n_classes, const TreeParams& params);

// The weights or costs of some rows, which are numbered anew; they are not grouped.
Problem take_rows(const Problem& problem, const std::vector<std::uint32_t>& rows);

// Sums of all channels over the rows that take part.
std::vector<std::int64_t> root_totals(const Problem& problem);

}  // namespace consilience
