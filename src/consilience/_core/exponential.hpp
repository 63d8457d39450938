// The exponential of numbers <= 0, in float and double.
//
// It is written out (argument reduction by ln 2, then a Taylor polynomial) because a call to the C
// library's exp keeps a loop from becoming vector code, and differs from CPU to CPU. Error below
// 2 ulp; NaN stays NaN; results under the smallest normal number become 0.
#pragma once

#include <cstdint>
#include <cstring>

#include "dispatch.hpp"

namespace consilience {

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

}  // namespace consilience
