// Random splits on dense bins: one threshold per feature needs no histogram, only the range of the
// node's bins and the sums at or below the threshold, for the eight features of a block at once.
#include <algorithm>
#include <cstring>

#include "dense_search.hpp"
#include "dispatch.hpp"
#include "lanes.hpp"

namespace consilience {
namespace {

using Bytes = std::uint8_t[lanes];

#if defined(__GNUC__)

typedef std::uint8_t ByteLanes __attribute__((vector_size(lanes)));

CONSILIENCE_INLINE ByteLanes larger(ByteLanes a, ByteLanes b) {
    return a > b ? a : b;
}
CONSILIENCE_INLINE ByteLanes next(ByteLanes a) {
    return a + 1;
}
CONSILIENCE_INLINE ByteLanes mirrored(ByteLanes a) {
    return ~a;
}
CONSILIENCE_INLINE IntLanes widened(ByteLanes a) {
    // number by number: GCC makes better code of this than of __builtin_convertvector
    return {IntLanes::Half{a[0], a[1], a[2], a[3]}, IntLanes::Half{a[4], a[5], a[6], a[7]}};
}
// w where code <= last, else 0: by the sign of a difference, as GCC takes masks apart
CONSILIENCE_INLINE IntLanes if_at_most(IntLanes code, IntLanes last, std::int64_t w) {
    return {((code.low - last.low - 1) >> 63) & w, ((code.high - last.high - 1) >> 63) & w};
}

#else

using ByteLanes = Eight<std::uint8_t>;

template <typename F>
inline ByteLanes each_byte(ByteLanes a, F f) {
    for (int j = 0; j < lanes; ++j) a.set(j, static_cast<std::uint8_t>(f(a[j], j)));
    return a;
}
inline ByteLanes larger(ByteLanes a, ByteLanes b) {
    return each_byte(a, [&b](int x, int j) { return x > b[j] ? x : b[j]; });
}
inline ByteLanes next(ByteLanes a) {
    return each_byte(a, [](int x, int) { return x + 1; });
}
inline ByteLanes mirrored(ByteLanes a) {
    return each_byte(a, [](int x, int) { return 255 - x; });
}
inline IntLanes widened(ByteLanes a) {
    IntLanes out;
    for (int j = 0; j < lanes; ++j) out.set(j, a[j]);
    return out;
}
inline IntLanes if_at_most(IntLanes code, IntLanes last, std::int64_t w) {
    for (int j = 0; j < lanes; ++j) code.set(j, code[j] <= last[j] ? w : 0);
    return code;
}

#endif

CONSILIENCE_INLINE ByteLanes load_bytes(const std::uint8_t* values) {
    ByteLanes out;
    std::memcpy(&out, values, sizeof out);
    return out;
}

// The least and the greatest code of the rows, and the greatest code below that of NaN plus one
// (0 if there are only NaN), all by one operation: the greatest.
struct Range {
    Bytes mirrored_least, greatest, greatest_value;
};

CONSILIENCE_CLONES
void find_range(const std::uint8_t* block, const std::uint32_t* rows, std::size_t n_rows,
                Range& range) {
    ByteLanes mirrored_least = {}, greatest = {}, greatest_value = {};
    for (std::size_t i = 0; i < n_rows; ++i) {
        const ByteLanes codes = load_bytes(block + static_cast<std::size_t>(rows[i]) * lanes);
        mirrored_least = larger(mirrored_least, mirrored(codes));
        greatest = larger(greatest, codes);
        greatest_value = larger(greatest_value, next(codes));  // 255 becomes 0
    }
    std::memcpy(range.mirrored_least, &mirrored_least, lanes);
    std::memcpy(range.greatest, &greatest, lanes);
    std::memcpy(range.greatest_value, &greatest_value, lanes);
}

// sums (out): weights of the rows whose codes are at most `to`; null weights count the rows
CONSILIENCE_CLONES
void sum_at_most(const std::uint8_t* block, const std::uint32_t* rows, std::size_t n_rows,
                 const std::int64_t* weight, const std::uint8_t* to, std::int64_t* sums) {
    const IntLanes last = widened(load_bytes(to));
    IntLanes total = {};
    for (std::size_t i = 0; i < n_rows; ++i) {
        const std::size_t row = rows[i];
        const IntLanes codes = widened(load_bytes(block + row * lanes));
        total = total + if_at_most(codes, last, weight ? weight[row] : 1);
    }
    store(total, sums);
}

}  // namespace

// sums (channels x 8, out) of the rows whose codes are at most `to`
void BlockSearch::sum_codes(const DenseMember& m, const std::uint32_t* rows, std::size_t block,
                            const std::uint8_t* to, std::vector<std::int64_t>& sums) const {
    const std::uint8_t* codes = bins_ + block * p_.n * lanes;
    sums.assign(p_.n_channels() * lanes, 0);
    for (const int c : m.channels) {
        const int group = p_.cost ? 0 : c;
        const std::int64_t* weight = p_.weight.data() + (p_.cost ? c * p_.n : 0);
        sum_at_most(codes, rows + m.segments[group], m.segments[group + 1] - m.segments[group],
                    weight, to, sums.data() + c * lanes);
    }
    if (p_.counted)
        sum_at_most(codes, rows + m.segments.front(), m.size(), nullptr, to,
                    sums.data() + p_.n_sums * lanes);
}

void BlockSearch::search_random(DenseMember& m, const std::uint32_t* rows, std::size_t block,
                                LaneMask mask) {
    const std::size_t begin = block * lanes, end = std::min(d_, begin + lanes);
    Range range;
    find_range(bins_ + block * p_.n * lanes, rows + m.segments.front(), m.size(), range);
    Bytes to = {};
    Cut cuts[lanes];
    bool missing = false;
    for (std::size_t f = begin; f < end; ++f) {
        const std::size_t j = f - begin;
        const int first = 255 - range.mirrored_least[j], last = range.greatest_value[j] - 1;
        if (first >= last) mask &= ~(1u << j);
        if (!has_lane(mask, j)) continue;
        cuts[j] = draw_cut(edges_, m.key, f, first, last);
        to[j] = static_cast<std::uint8_t>(cuts[j].bin);
        missing = missing || range.greatest[j] == missing_bin;
    }
    if (!mask) return;
    sum_codes(m, rows, block, to, sums_);
    if (missing) {
        std::fill(to, to + lanes, static_cast<std::uint8_t>(missing_bin - 1));
        sum_codes(m, rows, block, to, value_sums_);
    }
    for (std::size_t f = begin; f < end; ++f)
        if (has_lane(mask, f - begin))
            consider_random(m, f, cuts[f - begin], range.greatest[f - begin] == missing_bin);
}

void BlockSearch::sum_bins(const DenseMember& m, const std::int64_t* hist, int lane, int last,
                           std::vector<std::int64_t>& sums) const {
    std::vector<std::int64_t> held(p_.n_channels(), 0);
    for (int bin = 0; bin <= last; ++bin) add_bin(held, m, hist, bin, lane);
    for (int c = 0; c < p_.n_channels(); ++c) sums[c * lanes + lane] = held[c];
}

void BlockSearch::search_random(DenseMember& m, const std::int64_t* hist, std::size_t block,
                                LaneMask mask) {
    const std::size_t begin = block * lanes, end = std::min(d_, begin + lanes);
    sums_.assign(p_.n_channels() * lanes, 0);
    value_sums_.assign(p_.n_channels() * lanes, 0);
    for (std::size_t f = begin; f < end; ++f) {
        const int lane = static_cast<int>(f - begin), n_bins = edges_.bins(f);
        if (!has_lane(mask, lane)) continue;
        int first = 0, last = n_bins - 1;
        while (first < n_bins && !holds(hist, m, first, lane)) ++first;
        while (last >= 0 && !holds(hist, m, last, lane)) --last;
        if (first >= last) continue;
        const Cut cut = draw_cut(edges_, m.key, f, first, last);
        sum_bins(m, hist, lane, cut.bin, sums_);
        sum_bins(m, hist, lane, n_bins - 1, value_sums_);
        consider_random(m, f, cut, holds(hist, m, missing_bin, lane));
    }
}

// The drawn split with NaN on the right and, if there are any, on the left.
void BlockSearch::consider_random(DenseMember& m, std::size_t f, const Cut& cut, bool missing) {
    const std::size_t lane = f % lanes;
    for (int c = 0; c < p_.n_channels(); ++c) left_[c] = sums_[c * lanes + lane];
    for (int go_left = 0; go_left <= (missing ? 1 : 0); ++go_left) {
        for (int c = 0; go_left && c < p_.n_channels(); ++c)
            left_[c] += m.total[c] - value_sums_[c * lanes + lane];
        const double score = split_score(p_, left_.data(), m.total.data());
        if (!(score > m.best.score)) continue;
        m.best.score = score;
        m.best.feature = static_cast<std::int32_t>(f);
        m.best.bin = cut.bin;
        m.best.threshold = cut.threshold;
        m.best.missing_left = missing ? go_left : heavier_left(m, left_);
        m.best.left = left_;
    }
}

}  // namespace consilience
