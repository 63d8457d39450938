// Sequential minimal optimisation of SVM-2K: two machines whose decisions agree.
//
//   max  Σ (a₁ + a₂) − ε Σ|β| − ½ g₁ᵀK₁g₁ − ½ g₂ᵀK₂g₂,   g₁ = ya₁ − β,  g₂ = ya₂ + β
//   such that  0 ≤ a_vt ≤ C_vt,  |β_t| ≤ D_t,  Σg₁ = Σg₂ = 0
//
// With F_v = y − K_v g_v and b_v the multipliers of the sums, a_v asks for F_v = b_v where it is
// free, and β for F₂ − F₁ ± ε = b₂ − b₁. A direction that keeps both sums and cannot be split has
// two variables of one kind, or one of each kind: a solution is reached when none of these gains.
#pragma once

#include "smo.hpp"

namespace consilience {

// in: y (n), C (2 x n), D (n); in and out: a, F (2 x n), beta (n)
Progress smo_pair(Kernels& kernels, const double* y, const double* C, const double* D,
                  double epsilon, double* a, double* beta, double* F, const Limits& limits);

}  // namespace consilience
