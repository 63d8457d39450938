// The 84 patterns share the sum over the nine points, and those with the same first two points
// what these add to it (see local_patterns.hpp).
#include "local_patterns.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "dispatch.hpp"
#include "signals.hpp"

namespace consilience {
namespace {

constexpr std::size_t width = 16;  // lanes of the sums

// Sum of max(0, shared + third - bias) over `size` points, a multiple of 16.
CONSILIENCE_INLINE float sum_above(const float* shared, const float* third, std::size_t size,
                                   float bias) {
    float sums[width];
    std::fill(sums, sums + width, 0.0f);
    for (std::size_t t = 0; t < size; t += width)
        for (std::size_t j = 0; j < width; ++j) {
            const float above = shared[t + j] + third[t + j] - bias;
            sums[j] += above > 0.0f ? above : 0.0f;
        }
    for (std::size_t half = width / 2; half > 0; half /= 2)
        for (std::size_t j = 0; j < half; ++j) sums[j] += sums[j + half];
    return sums[0];
}

}  // namespace

CONSILIENCE_CLONES
void local_patterns(const float* X, std::size_t n, std::size_t d, const std::int64_t* distances,
                    std::size_t n_distances, const float* biases, float* out) {
    SignalCheck signals;
    const std::size_t size = (d + width - 1) / width * width;
    std::vector<float> padded, base(size), shared(size);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t k = 0; k < n_distances; ++k) {
            signals.add(size * patterns_per_distance);
            const std::size_t step = static_cast<std::size_t>(distances[k]);
            const std::size_t margin = step * (pattern_points / 2);
            padded.assign(size + 2 * margin, 0.0f);
            std::copy(X + i * d, X + (i + 1) * d, padded.begin() + margin);
            // places after the end of the row add nothing to the sums
            std::fill(base.begin(), base.end(), -std::numeric_limits<float>::infinity());
            std::fill(base.begin(), base.begin() + d, 0.0f);
            const float* points[pattern_points];
            for (std::size_t j = 0; j < pattern_points; ++j) {
                points[j] = padded.data() + j * step;
                for (std::size_t t = 0; t < size; ++t) base[t] -= points[j][t] * (1.0f / 3.0f);
            }
            const float* bias = biases + k * patterns_per_distance;
            for (std::size_t a = 0; a < pattern_points - 2; ++a)
                for (std::size_t b = a + 1; b < pattern_points - 1; ++b) {
                    for (std::size_t t = 0; t < size; ++t)
                        shared[t] = base[t] + (points[a][t] + points[b][t]);
                    for (std::size_t c = b + 1; c < pattern_points; ++c) {
                        const float sum = sum_above(shared.data(), points[c], size, *bias++);
                        *out++ = sum / static_cast<float>(d);
                    }
                }
        }
}

}  // namespace consilience
