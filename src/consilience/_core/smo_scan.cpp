#include "smo_scan.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "dispatch.hpp"
#include "lanes.hpp"

namespace consilience {
namespace {

constexpr double infinity = HUGE_VAL;
// least curvature of a pair: kernels need not be positive definite to the last digit
constexpr double flat = 1e-12;

// Lanes of F, of which `values` are a part: the same type, or floats for doubles.
template <typename Value>
CONSILIENCE_INLINE LanesOf<Value> load(const Value* values) {
    return load_lanes(values);
}
template <typename Value>
CONSILIENCE_INLINE std::enable_if_t<std::is_same_v<Value, double>, Lanes> load(const float* values) {
#if defined(__GNUC__)
    // number by number: GCC makes one instruction of this, but many of __builtin_convertvector
    return {Lanes::Half{values[0], values[1], values[2], values[3]},
            Lanes::Half{values[4], values[5], values[6], values[7]}};
#else
    Lanes out;
    for (int j = 0; j < lanes; ++j) out.set(j, values[j]);
    return out;
#endif
}

// Lanes of a row from place k on; after its end they are 0.
template <typename Value, typename T>
CONSILIENCE_INLINE LanesOf<Value> load_row(const T* row, std::size_t k, std::size_t n) {
    constexpr std::size_t width = lanes_of<Value>;
    if (k + width <= n) return load<Value>(row + k);
    T rest[width] = {};
    for (std::size_t j = k; j < n; ++j) rest[j - k] = row[j];
    return load<Value>(static_cast<const T*>(rest));
}

// Rows lie anywhere in memory, and what a CPU fetches ahead on its own ends with a page and begins
// after a few lines: ask for the first bytes of a row at once, then for what comes as much later.
constexpr std::size_t fetched_bytes = 4096, line_bytes = 64;

CONSILIENCE_INLINE void fetch(const void* row, std::size_t offset) {
#if defined(__GNUC__)
    __builtin_prefetch(static_cast<const char*>(row) + offset, 0, 2);
#else
    (void)row, (void)offset;
#endif
}
template <typename T>
CONSILIENCE_INLINE void fetch_start(const T* row, std::size_t n) {
    const std::size_t end = std::min(fetched_bytes, n * sizeof(T));
    for (std::size_t offset = 0; offset < end; offset += line_bytes) fetch(row, offset);
}
CONSILIENCE_INLINE void fetch_ahead(const void* place) {
    fetch(place, fetched_bytes);
}

// Blocks of this many samples: where the largest value is, is looked up in its block only.
constexpr std::size_t block_size = 64 * lanes;

template <typename Wide>
CONSILIENCE_INLINE auto largest(Wide x, int width) {
    auto most = x[0];
    for (int j = 1; j < width; ++j) most = x[j] > most ? x[j] : most;
    return most;
}

// The largest value so far and the start of its block; of equals the first.
template <typename Value>
struct Largest {
    Value most = -infinity;
    std::size_t block = 0;

    CONSILIENCE_INLINE void see(LanesOf<Value> of_block, std::size_t start) {
        const Value value = largest(of_block, lanes_of<Value>);
        if (value > most) most = value, block = start;
    }
    // value(k) is what was seen of sample k
    template <typename Seen>
    CONSILIENCE_INLINE std::size_t place(std::size_t n, Seen value) const {
        const std::size_t end = std::min(block + block_size, n);
        for (std::size_t k = block; k < end; ++k)
            if (value(k) == most) return k;
        return 0;
    }
};

template <bool update, bool both, typename Value, typename T, typename Bound>
CONSILIENCE_INLINE Extremes extremes(Value* F, const T* row_i, const T* row_j, double step,
                                     const Bound* up, const Bound* low, std::size_t n) {
    using Wide = LanesOf<Value>;
    const Wide steps = everywhere(static_cast<Value>(step));
    Largest<Value> rising, falling;
    if (update) fetch_start(row_j, n);
    for (std::size_t start = 0; start < n; start += block_size) {
        const std::size_t end = std::min(start + block_size, n);
        Wide most = everywhere<Value>(-infinity), least = everywhere<Value>(infinity);
        for (std::size_t k = start; k < end; k += lanes_of<Value>) {
            Wide f = load<Value>(F + k);
            if (update) {
                fetch_ahead(row_j + k);
                f = f - steps * (load_row<Value>(row_i, k, n) - load_row<Value>(row_j, k, n));
                store(f, F + k);
            }
            most = at_least(most, f + load<Value>(up + k));
            if (both) least = at_most(least, f + load<Value>(low + k));
        }
        rising.see(most, start);
        if (both) falling.see(-least, start);
    }
    Extremes out;
    out.most = rising.most;
    out.least = -falling.most;
    out.rising = rising.place(n, [=](std::size_t k) { return F[k] + up[k]; });
    out.falling = both ? falling.place(n, [=](std::size_t k) { return -(F[k] + low[k]); }) : 0;
    return out;
}

template <bool equal_diagonals, typename Value, typename T, typename Bound>
CONSILIENCE_INLINE Partner best_partner(const Value* F, const T* row_i, const Bound* diagonal,
                                        const Bound* low, double F_i, double diagonal_i,
                                        std::size_t n) {
    using Wide = LanesOf<Value>;
    constexpr int width = lanes_of<Value>;
    const Wide top = everywhere(static_cast<Value>(F_i));
    const Wide first = everywhere(static_cast<Value>(diagonal_i)), twice = first + first;
    const Wide none = everywhere<Value>(0), two = everywhere<Value>(2);
    const Wide least = everywhere<Value>(flat);
    Value start = 0;  // k; of the best ones, too: which lane they are in is known
    // the best as numerator and denominator: products cost less than quotients
    Wide best_gain = none, best_cost = everywhere<Value>(1), best_start = everywhere<Value>(-width);
    Wide bottom = everywhere<Value>(infinity);
    fetch_start(row_i, n);
    for (std::size_t k = 0; k < n; k += width) {
        fetch_ahead(row_i + k);
        // those that cannot fall have low = inf, hence a difference of −inf
        const Wide f = load<Value>(F + k) + load<Value>(low + k);
        const Wide difference = at_least(none, top - f);
        bottom = at_most(bottom, f);
        const Wide both = equal_diagonals ? twice : first + load<Value>(diagonal + k);
        // rows of missing samples may be NaN
        const Wide cost = at_least(least, both - two * load_row<Value>(row_i, k, n));
        const Wide gain = difference * difference;
        const Wide ours = gain * best_cost, theirs = best_gain * cost;
        best_start = if_not_less(theirs, ours, best_start, everywhere(start));
        best_gain = if_not_less(theirs, ours, best_gain, gain);
        best_cost = if_not_less(theirs, ours, best_cost, cost);
        start += width;
    }
    int winner = 0;
    for (int j = 1; j < width; ++j) {
        const Value ours = best_gain[j] * best_cost[winner];
        const Value theirs = best_gain[winner] * best_cost[j];
        // of equals the first; a lane that found nothing has −width
        if (ours > theirs || (ours == theirs && best_start[j] < best_start[winner])) winner = j;
    }
    const double place = static_cast<double>(best_start[winner]) + winner;
    return {static_cast<std::size_t>(place < 0 ? 0 : place), -largest(-bottom, width)};
}

const double* doubles(Row row) {
    return static_cast<const double*>(row.data);
}
const float* singles(Row row) {
    return static_cast<const float*>(row.data);
}

}  // namespace

// the compiler clones no templates
#define CONSILIENCE_SCANS(Bound)                                                                    \
    template <>                                                                                     \
    CONSILIENCE_CLONES Extremes update_and_scan(double* F, Row row_i, Row row_j, double step,       \
                                                const Bound* up, const Bound* low, std::size_t n) { \
        if (row_i.single)                                                                           \
            return extremes<true, true>(F, singles(row_i), singles(row_j), step, up, low, n);       \
        return extremes<true, true>(F, doubles(row_i), doubles(row_j), step, up, low, n);           \
    }                                                                                               \
    template <>                                                                                     \
    CONSILIENCE_CLONES Extremes update_and_rise(double* F, Row row_i, Row row_j, double step,       \
                                                const Bound* up, std::size_t n) {                   \
        if (row_i.single)                                                                           \
            return extremes<true, false>(F, singles(row_i), singles(row_j), step, up, up, n);       \
        return extremes<true, false>(F, doubles(row_i), doubles(row_j), step, up, up, n);           \
    }                                                                                               \
    template <>                                                                                     \
    CONSILIENCE_CLONES Extremes scan(const double* F, const Bound* up, const Bound* low,            \
                                     std::size_t n) {                                               \
        return extremes<false, true>(const_cast<double*>(F), F, F, 0, up, low, n);                  \
    }                                                                                               \
    template <>                                                                                     \
    CONSILIENCE_CLONES Partner second_order(const double* F, Row row_i, const Bound* diagonal,      \
                                            const Bound* low, double F_i, double diagonal_i,        \
                                            std::size_t n) {                                        \
        if (diagonal == nullptr)                                                                    \
            return row_i.single                                                                     \
                       ? best_partner<true>(F, singles(row_i), diagonal, low, F_i, diagonal_i, n)   \
                       : best_partner<true>(F, doubles(row_i), diagonal, low, F_i, diagonal_i, n);  \
        return row_i.single                                                                         \
                   ? best_partner<false>(F, singles(row_i), diagonal, low, F_i, diagonal_i, n)      \
                   : best_partner<false>(F, doubles(row_i), diagonal, low, F_i, diagonal_i, n);     \
    }
CONSILIENCE_SCANS(float)
CONSILIENCE_SCANS(double)
#undef CONSILIENCE_SCANS

template <>
CONSILIENCE_CLONES Extremes update_and_scan(float* F, Row row_i, Row row_j, double step,
                                            const float* up, const float* low, std::size_t n) {
    return extremes<true, true>(F, singles(row_i), singles(row_j), step, up, low, n);
}
template <>
CONSILIENCE_CLONES Extremes update_and_rise(float* F, Row row_i, Row row_j, double step,
                                            const float* up, std::size_t n) {
    return extremes<true, false>(F, singles(row_i), singles(row_j), step, up, up, n);
}
template <>
CONSILIENCE_CLONES Extremes scan(const float* F, const float* up, const float* low,
                                 std::size_t n) {
    return extremes<false, true>(const_cast<float*>(F), F, F, 0, up, low, n);
}
template <>
CONSILIENCE_CLONES Partner second_order(const float* F, Row row_i, const float* diagonal,
                                        const float* low, double F_i, double diagonal_i,
                                        std::size_t n) {
    if (diagonal == nullptr)
        return best_partner<true>(F, singles(row_i), diagonal, low, F_i, diagonal_i, n);
    return best_partner<false>(F, singles(row_i), diagonal, low, F_i, diagonal_i, n);
}

// Four rows at a time, so that F is read and written less often.
CONSILIENCE_CLONES
void subtract_rows(double* F, const std::vector<const float*>& rows,
                   const std::vector<double>& change, std::size_t n) {
    std::size_t s = 0;
    for (; s + 4 <= rows.size(); s += 4) {
        const float *a = rows[s], *b = rows[s + 1], *c = rows[s + 2], *d = rows[s + 3];
        const double t = change[s], u = change[s + 1], v = change[s + 2], w = change[s + 3];
        for (std::size_t k = 0; k < n; ++k) F[k] -= (t * a[k] + u * b[k]) + (v * c[k] + w * d[k]);
    }
    for (; s < rows.size(); ++s)
        for (std::size_t k = 0; k < n; ++k) F[k] -= change[s] * rows[s][k];
}

template <typename Value, typename Bound>
std::vector<std::int64_t> likely(const Kernels& kernels, std::size_t v, std::size_t k,
                                 const Value* F, const Bound* up, const Bound* low,
                                 const Extremes& ends, std::size_t batch) {
    std::vector<std::pair<double, std::int64_t>> found;
    for (std::size_t t = 0; t < kernels.n; ++t) {
        if (t == k || kernels.has(v, t)) continue;
        const double excess = std::max(F[t] + up[t] - ends.least, ends.most - F[t] - low[t]);
        if (excess > 0) found.emplace_back(-excess, t);
    }
    if (found.size() > batch - 1) {
        std::nth_element(found.begin(), found.begin() + (batch - 1), found.end());
        found.resize(batch - 1);
    }
    std::vector<std::int64_t> samples{static_cast<std::int64_t>(k)};
    for (const auto& one : found) samples.push_back(one.second);
    std::sort(samples.begin(), samples.end());
    return samples;
}

#define CONSILIENCE_LIKELY(Value, Bound)                                                      \
    template std::vector<std::int64_t> likely(const Kernels&, std::size_t, std::size_t,       \
                                              const Value*, const Bound*, const Bound*,       \
                                              const Extremes&, std::size_t);
CONSILIENCE_LIKELY(float, float)
CONSILIENCE_LIKELY(double, float)
CONSILIENCE_LIKELY(double, double)
#undef CONSILIENCE_LIKELY

}  // namespace consilience
