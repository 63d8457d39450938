// The last step of a Gaussian kernel matrix, in place.
//
// given    P (n x m) = X Z', the norms |x_i|^2 and |z_j|^2, gamma >= 0
// computes P_ij <- exp(-gamma * max(0, |x_i|^2 + |z_j|^2 - 2 P_ij))
//
// The exponential is written out (argument reduction by ln 2, then a Taylor polynomial) because
// a call to the C library's exp keeps the loop from becoming vector code. Error below 2 ulp;
// NaN stays NaN; results under the smallest normal number become 0.
#include "rbf.hpp"

#include <cstdint>
#include <cstring>

#include "dispatch.hpp"
#include "signals.hpp"

namespace consilience {
namespace {

template <typename To, typename From>
CONSILIENCE_INLINE To bits(From value) {
    static_assert(sizeof(To) == sizeof(From), "bits keeps the size");
    To out;
    std::memcpy(&out, &value, sizeof(To));
    return out;
}

// exp(x) for x <= 0. Adding `magic` rounds x / ln 2 to an integer k and leaves k in the low bits
// of the sum, from where a shift carries it into the exponent of 2^k.
CONSILIENCE_INLINE double exp_nonpositive(double x) {
    constexpr double lowest = -708.3964, magic = 0x1.8p52;
    const double clipped = x < lowest ? lowest : x;
    const double shifted = clipped * 1.4426950408889634074 + magic;
    const double k = shifted - magic;
    const double r = (clipped - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
    double p = 1.0 / 6227020800.0;
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    const double scale = bits<double>((bits<std::uint64_t>(shifted) + 1023u) << 52);
    return x < lowest ? 0.0 : p * scale;
}

CONSILIENCE_INLINE float exp_nonpositive(float x) {
    constexpr float lowest = -87.3365f, magic = 0x1.8p23f;
    const float clipped = x < lowest ? lowest : x;
    const float shifted = clipped * 1.44269504f + magic;
    const float k = shifted - magic;
    const float r = (clipped - k * 0.693359375f) - k * -2.12194440e-4f;
    float p = 1.0f / 5040.0f;
    p = p * r + 1.0f / 720.0f;
    p = p * r + 1.0f / 120.0f;
    p = p * r + 1.0f / 24.0f;
    p = p * r + 1.0f / 6.0f;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    const float scale = bits<float>((bits<std::uint32_t>(shifted) + 127u) << 23);
    return x < lowest ? 0.0f : p * scale;
}

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
