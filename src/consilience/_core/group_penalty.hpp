// The penalty of sparse-group problems, its proximal step and its conjugate.
//
// penalty  sum_j l1_j |b_j| + sum_g (tau_g |B_g| + ridge_g |B_g|^2 / 2), with b_j the coefficients
//          of column j for all outputs and B_g those of all columns of group g
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace consilience {

struct GroupPenalty {
    std::size_t n_groups;
    const std::int64_t* starts;  // columns of group g are starts[g] ... starts[g + 1]
    const double* l1;            // one for each column
    const double* tau;           // one for each group
    const double* ridge;         // one for each group
    double lam;                  // multiplies all of them
    bool non_negative;           // coefficients must be >= 0 (one output only)

    bool is_free(std::size_t j, std::size_t g) const {
        return l1[j] == 0 && tau[g] == 0 && ridge[g] == 0;
    }
};

// The t >= 0 of least a t^2 / 2 - u t + l1 t + tau sqrt(t^2 + rest^2).
double radial_step(double u, double a, double l1, double tau, double rest);

// Value of the penalty at coefficients (columns x outputs).
double penalty_value(const GroupPenalty& penalty, const double* coef, std::size_t outputs);

// Largest factor <= 1 by which a dual point with these norms of gradients becomes feasible.
double dual_factor(const GroupPenalty& penalty, const double* norms);

// Conjugate of the penalty at factor x gradients, plus norm (|b_j| + 1) for unpenalised columns.
double conjugate_value(const GroupPenalty& penalty, const double* norms, double factor,
                       const double* coef, std::size_t outputs);

}  // namespace consilience
