// Sequential minimal optimisation of margin problems in several views, on a working set.
//
//   max_λ  Σ_v p_vᵀλ_v − Σ_t ψ_t(λ_t) − ½ Σ_v g_vᵀK_v g_v,   g_vt = y_t λ_vt
//   such that  0 ≤ λ_vt ≤ upper_vt,  Σ_t g_vt = 0 in every view
//
// ψ couples the views of a sample, with μ_t = Σ_v λ_vt:
//   Square     ½ own_t Σ_v λ_vt² + ½ shared_t μ_t²        (0 for hinge losses)
//   Logarithm  −ω_t log(1 − μ_t/(c ω_t))                  (needs μ_t < c ω_t)
//
// The caller keeps λ and F_vt = y_t (p_vt − ∂ψ_t/∂λ_vt) − (K_v g_v)_t of all n samples and names q
// of them, the working set; they are optimised with the others held, then F is brought up to date.
// At the solution max F over those that can rise ≤ b_v ≤ min F over those that can fall.
//
// References: R.-E. Fan, P.-H. Chen, C.-J. Lin, JMLR 6 (2005), the second-order choice of pairs;
// T. Joachims, "Making large-scale SVM learning practical" (1999), working sets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace consilience {

// Rows of a kernel matrix, wherever they lie: row s of `data` has n entries.
struct KernelRows {
    const void* data;
    bool single;  // float32 instead of float64
    std::size_t stride;
    const std::int64_t* slots;  // q: where the rows of the working set lie

    template <typename T>
    const T* row(std::size_t k) const {
        return static_cast<const T*>(data) + static_cast<std::size_t>(slots[k]) * stride;
    }
};

struct WorkingSet {
    std::size_t n, q;
    const std::int64_t* index;  // q: the samples
    std::vector<KernelRows> kernels;
};

struct Coupling {
    const double *own, *shared;  // n
    double c;                    // > 0: Logarithm, with ω = own
};

struct Progress {
    std::int64_t steps;
    double gap;  // largest max F − min F over the views on the working set
};

// in: y (n), upper (V x n); in and out: lam, F (V x n)
Progress smo_joint(const WorkingSet& set, const double* y, const double* upper,
                   const Coupling& coupling, double* lam, double* F, double tol,
                   std::int64_t max_steps);

// K_v of the working set with itself, q x `width` in float64
void gather(const WorkingSet& set, const KernelRows& rows, std::size_t width, double* out);
// F (n) −= Σ_k delta_k K[row k]
void subtract_rows(const WorkingSet& set, const KernelRows& rows, const double* delta, double* F);

}  // namespace consilience
