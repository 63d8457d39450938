// The inner loops of boosted trees (see boost_tree.hpp).
#include <algorithm>
#include <cstring>

#include "boost_tree.hpp"
#include "dispatch.hpp"
#include "lanes.hpp"

namespace consilience {
namespace {

constexpr std::size_t prefetch_distance = 16;  // rows
constexpr double no_split = -1;  // scores are sums of squares

#if defined(__GNUC__)

typedef Halves<std::uint64_t>::Half UnsignedQuad;

// The halves of the pairs as doubles: 32 bits put below the leading bit of 2^52.
CONSILIENCE_INLINE IntLanes::Half lower_bits(IntLanes::Half pairs) {
    return (pairs & std::int64_t{0xffffffff}) | std::int64_t{0x4330000000000000};
}
CONSILIENCE_INLINE IntLanes::Half upper_bits(IntLanes::Half pairs) {
    const UnsignedQuad upper = reinterpret_cast<UnsignedQuad>(pairs) >> 32;
    const UnsignedQuad bits = (upper ^ std::uint64_t{0x80000000}) | 0x4330000000000000u;
    return reinterpret_cast<IntLanes::Half>(bits);
}
CONSILIENCE_INLINE Lanes hessians(IntLanes pairs) {
    return as_doubles({lower_bits(pairs.low), lower_bits(pairs.high)}) - all_lanes(0x1p52);
}
CONSILIENCE_INLINE Lanes gradients(IntLanes pairs) {
    const IntLanes bits = {upper_bits(pairs.low), upper_bits(pairs.high)};
    return as_doubles(bits) - all_lanes(0x1p52 + 0x1p31);
}

#else

inline Lanes hessians(IntLanes pairs) {
    Lanes out;
    for (int j = 0; j < lanes; ++j) out.set(j, unpack_hessian(pairs[j]));
    return out;
}
inline Lanes gradients(IntLanes pairs) {
    Lanes out;
    for (int j = 0; j < lanes; ++j) out.set(j, unpack_gradient(pairs[j]));
    return out;
}
#endif

struct Best {
    Lanes score, bin, missing_left;
};

CONSILIENCE_INLINE Best scan(const std::int64_t* hist, int n_bins, IntLanes left,
                             std::int64_t total, GradientUnits units, double l2,
                             double min_hessian, double missing_left, Best best) {
    const Lanes G = all_lanes(unpack_gradient(total)), H = all_lanes(unpack_hessian(total)),
                g_unit = all_lanes(units.gradient), h_unit = all_lanes(units.hessian),
                penalty = all_lanes(l2), least = all_lanes(min_hessian), none = all_lanes(0),
                invalid = all_lanes(no_split), direction = all_lanes(missing_left);
    for (int bin = 0; bin < n_bins; ++bin) {
        left = left + load_lanes(hist + bin * lanes);
        const Lanes g = gradients(left), h = hessians(left);
        const Lanes g1 = g * g_unit, h1 = h * h_unit;
        const Lanes g2 = (G - g) * g_unit, h2 = (H - h) * h_unit;
        const Lanes d1 = h1 + penalty, d2 = h2 + penalty;
        Lanes score = (g1 * g1 * d2 + g2 * g2 * d1) / (d1 * d2);
        score = if_not_less(smaller(h1, h2) - least, none, score, invalid);
        best.bin = if_not_less(best.score, score, best.bin, all_lanes(bin));
        best.missing_left = if_not_less(best.score, score, best.missing_left, direction);
        best.score = larger(best.score, score);
    }
    return best;
}

}  // namespace

CONSILIENCE_CLONES
void add_pairs(const std::uint8_t* block, const std::uint32_t* rows, std::size_t n_rows,
               const std::int64_t* pairs, std::int64_t* hist) {
    for (std::size_t p = 0; p < n_rows; ++p) {
        const std::size_t row = rows[p];
#if defined(__GNUC__)
        __builtin_prefetch(block + rows[std::min(p + prefetch_distance, n_rows - 1)] * lanes);
#endif
        const std::int64_t pair = pairs[row];
        std::uint64_t packed;
        std::memcpy(&packed, block + row * lanes, sizeof packed);
        for (int j = 0; j < lanes; ++j) hist[((packed >> (8 * j)) & 255) * lanes + j] += pair;
    }
}

CONSILIENCE_CLONES
void subtract_pairs(std::int64_t* hist, const std::int64_t* other, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) hist[i] -= other[i];
}

CONSILIENCE_CLONES
void scan_pairs(const std::int64_t* hist, int n_bins, std::int64_t total, GradientUnits units,
                const BoostParams& params, SplitScan& out) {
    const std::int64_t zeros[lanes] = {};
    const std::int64_t* missing = hist + n_bins * lanes;
    Best best = {all_lanes(no_split), all_lanes(0), all_lanes(0)};
    best = scan(hist, n_bins, load_lanes(zeros), total, units, params.l2, params.min_hessian,
                0, best);
    if (std::memcmp(missing, zeros, sizeof zeros) != 0)
        best = scan(hist, n_bins, load_lanes(missing), total, units, params.l2,
                    params.min_hessian, 1, best);
    store(best.score, out.score);
    store(best.bin, out.bin);
    store(best.missing_left, out.missing_left);
}

}  // namespace consilience
