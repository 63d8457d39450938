// The sample-wise part of the interior point method for margins with kinks.
//
// Samples t have slack variables xi_k, values z_v, and constraints j with distances
//     s_j = xi_{slot(j)} + sum_v H_jv z_v - h_j  >= 0   and multipliers lambda_j,
// in an objective  sum_t w_t sum_k (slope_k xi_k + bend_k xi_k^2 / 2). The conditions
//     slope + bend xi = sum lambda  (every slack)      and the definition of s
// hold at all iterates, so directions follow from dz alone. They are computed anew in every pass
// over the samples: that is cheaper than to keep them in memory.
//
// Arrays have a row for each constraint (p), slack (k) or view (V) and a column for each sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace consilience {

struct MarginRows {
    std::size_t n, p, k, V;
    const std::int64_t* slot;                                     // (p)
    const double *H, *final, *slope, *bend, *label, *weight;      // (p x V), (p), (k), (k), (n), (n)
    const double* on;  // (p x n), 1 or, where a constraint is not imposed, 0; null: all are

    // A square in the curvature of a sample: ratio_i ratio_j / M (H_i - H_j)(H_i - H_j)' for two
    // constraints of a slot, ratio_i bend / M H_i H_i' for one (then j = p), where
    // ratio = lambda / s and M = bend + sum of the slot's ratios.
    struct Square {
        std::size_t i, j;
        std::vector<double> along;
    };
    std::vector<Square> squares;

    void find_squares();
};

// Stages of a direction: lambda ds + s dlambda = target, where the targets are
//     plain    goal - lambda s
//     second   goal - lambda s - ds dlambda, the last term from the stage before
//     centred  the target before plus what brings the products after a step `aim` of the stage
//              before into [low, high] goal, at most -high goal
// dz of a stage solves the system of theta whose right-hand side is its R.
enum class Target { plain, second, centred };
struct Stage {
    Target target;
    std::vector<double> goal;  // (p)
    double aim;
};
struct Direction {
    std::vector<Stage> stages;
    double low, high;
    const double* dz;  // (stages x V x n); the last may be missing where its R is asked for
};

// w times the curvature of samples in z, D_uv for u <= v (V (V + 1) / 2 x n).
void margin_curvature(const MarginRows& rows, const double* s, const double* lam, double* D);

// R (V x n): y w H' (what the last stage's target makes of lambda at dz = 0).
void margin_reduce(const MarginRows& rows, const double* s, const double* lam,
                   const Direction& direction, double* R);

// The share of the way to the boundary that a step 1 goes, and how the sum of w lambda s over the
// constraints with final product 0 changes by a step t: t linear + t^2 square.
struct MarginWay {
    double reach, linear, square;
};
MarginWay margin_way(const MarginRows& rows, const double* s, const double* lam,
                     const Direction& direction);

// Sums of w lambda s (final product 0), w |q| and w |H' lambda|; largest |q' - sum lambda|, |q'|
// and |lambda s - 1| (final product 1).
struct MarginSizes {
    double gap, loss, mass, slack, slope, off;
};

// A step t of xi, s and lambda (to new_...), and R = y w H' lambda there. Where bend is 0, lambda is
// made to add up to the slope.
MarginSizes margin_move(const MarginRows& rows, const double* xi, const double* s,
                        const double* lam, const Direction& direction, double t, double* new_xi,
                        double* new_s, double* new_lam, double* R);

}  // namespace consilience
