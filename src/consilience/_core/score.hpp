// The score of a split, larger is better; the same operations in the same order wherever it is
// computed, so equal splits compare equal.
//
//   gini   sum_k l_k^2 / L + sum_k r_k^2 / R  =  (sum_k l_k^2 R + sum_k r_k^2 L) / (L R)
//   cost   -(min_k l_k + min_k r_k), where class 0 has sum 0
#pragma once

#include <cstdint>
#include <limits>

#include "dispatch.hpp"
#include "problem.hpp"

namespace consilience {

constexpr double no_score = -std::numeric_limits<double>::infinity();

// left, total (channels, in). Returns no_score if a side is too small.
inline double split_score(const Problem& p, const std::int64_t* left, const std::int64_t* total) {
    if (p.counted) {
        const std::int64_t count = left[p.n_sums];
        if (count < p.min_count || total[p.n_sums] - count < p.min_count) return no_score;
    }
    if (p.cost) {
        double least_left = 0, least_right = 0;
        for (int c = 0; c < p.n_sums; ++c) {
            const double l = static_cast<double>(left[c]), r = static_cast<double>(total[c]) - l;
            least_left = l < least_left ? l : least_left;
            least_right = r < least_right ? r : least_right;
        }
        return -(least_left + least_right);
    }
    double weight_left = 0, weight_right = 0, squares_left = 0, squares_right = 0;
    for (int c = 0; c < p.n_sums; ++c) {
        const double l = static_cast<double>(left[c]), r = static_cast<double>(total[c]) - l;
        weight_left += l;
        weight_right += r;
        squares_left += l * l;
        squares_right += r * r;
    }
    const double least = static_cast<double>(p.min_weight);
    if (weight_left < least || weight_right < least) return no_score;
    return (squares_left * weight_right + squares_right * weight_left) /
           (weight_left * weight_right);
}

// The score of the node itself: what a split that changes nothing would reach.
inline double node_score(const Problem& p, const std::int64_t* total) {
    double weight = 0, squares = 0, least = 0;
    for (int c = 0; c < p.n_sums; ++c) {
        const double t = static_cast<double>(total[c]);
        weight += t;
        squares += t * t;
        least = t < least ? t : least;
    }
    return p.cost ? -least : squares / weight;
}

}  // namespace consilience
