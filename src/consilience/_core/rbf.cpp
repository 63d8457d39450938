// The last step of Gaussian kernel matrices.
//
// rbf_epilogue, in place:
// given    P (n x m) = X Z', the norms |x_i|^2 and |z_j|^2, gamma >= 0
// computes P_ij <- exp(-gamma * max(0, |x_i|^2 + |z_j|^2 - 2 P_ij))
//
// combined_rbf, the mean of a sum of kernels and of their product:
// given    P_v (n x m) and norms of each view v, factors a_v >= 0, weights w_v >= 0 of sum 1, f >= 0
// computes D_v = a_v * max(0, |x|^2 + |z|^2 - 2 P_v),
//          K = (sum_v w_v exp(-f D_v) + exp(-f sum_v w_v D_v)) / 2
#include "rbf.hpp"

#include <algorithm>
#include <vector>

#include "dispatch.hpp"
#include "exponential.hpp"
#include "signals.hpp"

namespace consilience {
namespace {

template <typename T>
CONSILIENCE_INLINE void epilogue(T* products, const T* x_norms, const T* z_norms, std::size_t n,
                                 std::size_t m, T gamma) {
    SignalCheck signals;
    for (std::size_t i = 0; i < n; ++i) {
        signals.add(m);
        T* row = products + i * m;
        const T x_norm = x_norms[i];
        for (std::size_t j = 0; j < m; ++j) {
            const T distance = x_norm + z_norms[j] - T(2) * row[j];
            // written so that NaN is not less than zero and survives
            row[j] = exp_nonpositive(-gamma * (distance < T(0) ? T(0) : distance));
        }
    }
}

}  // namespace

CONSILIENCE_CLONES
void rbf_epilogue(double* products, const double* x_norms, const double* z_norms, std::size_t n,
                  std::size_t m, double gamma) {
    epilogue(products, x_norms, z_norms, n, m, gamma);
}

CONSILIENCE_CLONES
void rbf_epilogue(float* products, const float* x_norms, const float* z_norms, std::size_t n,
                  std::size_t m, float gamma) {
    epilogue(products, x_norms, z_norms, n, m, gamma);
}

// One row at a time, so that what is summed over the views stays in the cache.
CONSILIENCE_CLONES
void combined_rbf(const float* products, const float* x_norms, const float* z_norms,
                  const float* factors, const float* weights, std::size_t n_views, std::size_t n,
                  std::size_t m, float width, float* out) {
    SignalCheck signals;
    std::vector<float> held(m);
    float* total = held.data();
    for (std::size_t i = 0; i < n; ++i) {
        signals.add(m * (n_views + 1));
        float* row = out + i * m;
        std::fill(row, row + m, 0.0f);
        std::fill(total, total + m, 0.0f);
        for (std::size_t v = 0; v < n_views; ++v) {
            const float* product = products + (v * n + i) * m;
            const float* z_norm = z_norms + v * m;
            const float x_norm = x_norms[v * n + i], factor = factors[v], weight = weights[v];
            for (std::size_t j = 0; j < m; ++j) {
                const float distance = x_norm + z_norm[j] - 2.0f * product[j];
                const float scaled = factor * (distance < 0.0f ? 0.0f : distance);
                row[j] += weight * exp_nonpositive(-width * scaled);
                total[j] += weight * scaled;
            }
        }
        for (std::size_t j = 0; j < m; ++j)
            row[j] = 0.5f * (row[j] + exp_nonpositive(-width * total[j]));
    }
}

}  // namespace consilience
