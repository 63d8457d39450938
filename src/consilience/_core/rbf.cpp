// The last step of a Gaussian kernel matrix, in place.
//
// given    P (n x m) = X Z', the norms |x_i|^2 and |z_j|^2, gamma >= 0
// computes P_ij <- exp(-gamma * max(0, |x_i|^2 + |z_j|^2 - 2 P_ij))
#include "rbf.hpp"

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

}  // namespace consilience
