// Passes over the training rows in a round of boosting: exact sums, and new weights or costs.
//
// Predictions are class codes, -1 where a learner abstains. The arithmetic is that of the formulas
// in boosting/_mumbo.py and boosting/_samme.py, operation by operation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "exact_sum.hpp"

namespace consilience {

// codes and predictions (n, in)
struct Predicted {
    const std::int32_t *codes, *predictions;
    std::size_t n;
};

// C(i, l) = scale_i base(i, l); total_i = sum of base(i, l) over l != y_i.
struct CostRows {
    double *scale, *base, *total;  // n, n x n_classes, n
    int n_classes;
};

// Sums of scale_i total_i over the rows of the mask (n flags, in) classified correctly and
// incorrectly and over all others; of C(i, h(i)) over the rows classified incorrectly, in the mask
// and outside. Throws if a value is not finite.
using CostSums = std::array<ExactSum, 5>;
void add_costs(const CostRows& costs, const Predicted& rows, const std::uint8_t* mask,
               CostSums& sums);

// C for f(i, h(i)) += alpha in the rows of the mask: shrink = exp(-alpha), grow = exp(alpha) - 1.
// Rows whose total exceeds `rescale_above` are rescaled to the total 1.
void update_costs(const CostRows& costs, const Predicted& rows, const std::uint8_t* mask,
                  double shrink, double grow, double rescale_above);

// Sums of w (n, in) over the rows classified correctly, incorrectly, and not at all.
using VoteSums = std::array<ExactSum, 3>;
void add_votes(const double* w, const Predicted& rows, VoteSums& sums);

// out (n) = w (n, in) times the factor of the kind of each row; out may be w
void reweigh(const double* w, const Predicted& rows, const double factors[3], double* out);

}  // namespace consilience
