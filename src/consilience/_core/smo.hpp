// Sequential minimal optimisation of margin problems in several views.
//
//   max_λ  Σ_v p_vᵀλ_v − Σ_t ψ_t(λ_t) − ½ Σ_v g_vᵀK_v g_v,   g_vt = y_t λ_vt
//   such that  0 ≤ λ_vt ≤ upper_vt,  Σ_t g_vt = 0 in every view
//
// ψ couples the views of a sample, with μ_t = Σ_v λ_vt:
//   Square     ½ own_t Σ_v λ_vt² + ½ shared_t μ_t²        (0 for hinge losses)
//   Logarithm  −ω_t log(1 − μ_t/(c ω_t))                  (needs μ_t < c ω_t)
//
// The caller keeps λ and F_vt = y_t (p_vt − ∂ψ_t/∂λ_vt) − (K_v g_v)_t. At the solution
// max F over those that can rise ≤ b_v ≤ min F over those that can fall: the gap of these is what
// is brought below the tolerance, by steps of two samples in the view where it is largest.
//
// Reference: R.-E. Fan, P.-H. Chen, C.-J. Lin, "Working set selection using second order
// information for training support vector machines", JMLR 6 (2005).
#pragma once

#include <cstddef>
#include <cstdint>

#include "smo_rows.hpp"

namespace consilience {

struct Coupling {
    const double *own, *shared;  // n
    double c;                    // > 0: Logarithm, with ω = own
};

struct Progress {
    std::int64_t steps;
    double gap;
};

struct Limits {
    double tol;
    std::int64_t max_steps;
    std::size_t batch;  // rows to ask for together
};

// in: y (n), upper (V x n); in and out: lam, F (V x n)
Progress smo_joint(Kernels& kernels, const double* y, const double* upper,
                   const Coupling& coupling, double* lam, double* F, const Limits& limits);

}  // namespace consilience
