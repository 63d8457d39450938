// How strongly short patterns occur in the rows of a matrix, on average over all places.
//
// given    X (n x d), distances e_1 ... e_D >= 1 between the points of a pattern, biases b_kp
// computes c_kp(t) = sum_{j in p} x(t + (j - 4) e_k) - sum_{j = 0 ... 8} x(t + (j - 4) e_k) / 3
//          for each of the 84 patterns p, the sets of 3 of the 9 points, in lexicographic order;
//          x is 0 beyond the ends of the row;
//          out_ikp = the mean of max(0, c_kp(t) - b_kp) over t = 0 ... d - 1
//
// The sums over t run in sixteen lanes, in a fixed order: every CPU gives the same bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace consilience {

constexpr std::size_t pattern_points = 9;
constexpr std::size_t patterns_per_distance = 84;

// `out` is n x (84 * n_distances).
void local_patterns(const float* X, std::size_t n, std::size_t d, const std::int64_t* distances,
                    std::size_t n_distances, const float* biases, float* out);

}  // namespace consilience
