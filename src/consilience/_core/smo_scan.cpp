#include "smo_scan.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "dispatch.hpp"
#include "lanes.hpp"

namespace consilience {
namespace {

constexpr double infinity = HUGE_VAL;
// least curvature of a pair: kernels need not be positive definite to the last digit
constexpr double flat = 1e-12;

CONSILIENCE_INLINE Lanes load(const double* values) {
    return load_lanes(values);
}

CONSILIENCE_INLINE Lanes load(const float* values) {
#if defined(__GNUC__)
    // number by number: GCC makes one instruction of this, but many of __builtin_convertvector
    return {Lanes::Quad{values[0], values[1], values[2], values[3]},
            Lanes::Quad{values[4], values[5], values[6], values[7]}};
#else
    Lanes out;
    for (int j = 0; j < lanes; ++j) out.set(j, values[j]);
    return out;
#endif
}

// Lanes of a row from place k on; after its end they are 0.
template <typename T>
CONSILIENCE_INLINE Lanes load_row(const T* row, std::size_t k, std::size_t n) {
    if (k + lanes <= n) return load(row + k);
    T rest[lanes] = {};
    for (std::size_t j = k; j < n; ++j) rest[j - k] = row[j];
    return load(rest);
}

// Rows lie anywhere in memory, and what a CPU fetches ahead on its own ends with a page: ask for
// what comes this many bytes later.
CONSILIENCE_INLINE void fetch_ahead(const void* place) {
#if defined(__GNUC__)
    __builtin_prefetch(static_cast<const char*>(place) + 1024);
#else
    (void)place;
#endif
}

// Blocks of this many samples: where the largest value is, is looked up in its block only.
constexpr std::size_t block_size = 64 * lanes;

CONSILIENCE_INLINE double largest(Lanes x) {
    double most = x[0];
    for (int j = 1; j < lanes; ++j) most = x[j] > most ? x[j] : most;
    return most;
}

// The largest value so far and the start of its block; of equals the first.
struct Largest {
    double most = -infinity;
    std::size_t block = 0;

    CONSILIENCE_INLINE void see(Lanes of_block, std::size_t start) {
        const double value = largest(of_block);
        if (value > most) most = value, block = start;
    }
    // value(k) is what was seen of sample k
    template <typename Value>
    CONSILIENCE_INLINE std::size_t place(std::size_t n, Value value) const {
        const std::size_t end = std::min(block + block_size, n);
        for (std::size_t k = block; k < end; ++k)
            if (value(k) == most) return k;
        return 0;
    }
};

template <bool update, bool both, typename T, typename Bound>
CONSILIENCE_INLINE Extremes extremes(double* F, const T* row_i, const T* row_j, double step,
                                     const Bound* up, const Bound* low, std::size_t n) {
    const Lanes steps = all_lanes(step);
    Largest rising, falling;
    for (std::size_t start = 0; start < n; start += block_size) {
        const std::size_t end = std::min(start + block_size, n);
        Lanes most = all_lanes(-infinity), least = all_lanes(infinity);
        for (std::size_t k = start; k < end; k += lanes) {
            Lanes f = load(F + k);
            if (update) {
                fetch_ahead(row_j + k);
                f = f - steps * (load_row(row_i, k, n) - load_row(row_j, k, n));
                store(f, F + k);
            }
            most = at_least(most, f + load(up + k));
            if (both) least = at_most(least, f + load(low + k));
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

template <bool equal_diagonals, typename T, typename Bound>
CONSILIENCE_INLINE Partner best_partner(const double* F, const T* row_i, const Bound* diagonal,
                                        const Bound* low, double F_i, double diagonal_i,
                                        std::size_t n) {
    const Lanes top = all_lanes(F_i), first = all_lanes(diagonal_i), twice = first + first;
    const Lanes none = all_lanes(0.0), two = all_lanes(2.0), least = all_lanes(flat);
    double start = 0;  // k; of the best ones, too: which lane they are in is known
    // the best as numerator and denominator: products cost less than quotients
    Lanes best_gain = all_lanes(0.0), best_cost = all_lanes(1.0), best_start = all_lanes(-lanes);
    Lanes bottom = all_lanes(infinity);
    for (std::size_t k = 0; k < n; k += lanes) {
        fetch_ahead(row_i + k);
        // those that cannot fall have low = inf, hence a difference of −inf
        const Lanes f = load(F + k) + load(low + k), difference = at_least(none, top - f);
        bottom = at_most(bottom, f);
        const Lanes both = equal_diagonals ? twice : first + load(diagonal + k);
        // rows of missing samples may be NaN
        const Lanes cost = at_least(least, both - two * load_row(row_i, k, n));
        const Lanes gain = difference * difference;
        const Lanes ours = gain * best_cost, theirs = best_gain * cost;
        best_start = if_not_less(theirs, ours, best_start, all_lanes(start));
        best_gain = if_not_less(theirs, ours, best_gain, gain);
        best_cost = if_not_less(theirs, ours, best_cost, cost);
        start += lanes;
    }
    int winner = 0;
    for (int j = 1; j < lanes; ++j) {
        const double ours = best_gain[j] * best_cost[winner];
        const double theirs = best_gain[winner] * best_cost[j];
        // of equals the first; a lane that found nothing has -lanes
        if (ours > theirs || (ours == theirs && best_start[j] < best_start[winner])) winner = j;
    }
    double lowest = bottom[0];
    for (int j = 1; j < lanes; ++j) lowest = std::min(lowest, bottom[j]);
    const double place = best_start[winner] + winner;
    return {static_cast<std::size_t>(place < 0 ? 0 : place), lowest};
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

template <typename Bound>
std::vector<std::int64_t> likely(const Kernels& kernels, std::size_t v, std::size_t k,
                                 const double* F, const Bound* up, const Bound* low,
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

template std::vector<std::int64_t> likely(const Kernels&, std::size_t, std::size_t, const double*,
                                          const float*, const float*, const Extremes&, std::size_t);
template std::vector<std::int64_t> likely(const Kernels&, std::size_t, std::size_t, const double*,
                                          const double*, const double*, const Extremes&,
                                          std::size_t);

}  // namespace consilience
