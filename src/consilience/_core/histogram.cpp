// The two inner loops of dense trees (see histogram.hpp).
//
// Everything is an exact integer below 2^51, so the scan may turn sums to double, and the order of
// the additions is free. The scores are those of score.hpp, operation by operation.
#include "histogram.hpp"

#include <cstring>

#include "dispatch.hpp"
#include "lanes.hpp"
#include "score.hpp"

namespace consilience {
namespace {

// Eight codes are read at once and taken apart by shifts.
template <typename Row, typename Weight>
CONSILIENCE_INLINE void accumulate(const std::uint8_t* block, Row row_at, std::size_t n_rows,
                                   Weight weight, std::int64_t* hist) {
    for (std::size_t p = 0; p < n_rows; ++p) {
        const std::size_t row = row_at(p);
        const std::uint8_t* codes = block + row * lanes;
        const std::int64_t w = weight(row);
        std::uint64_t packed;
        std::memcpy(&packed, codes, sizeof packed);
        for (int j = 0; j < lanes; ++j) hist[((packed >> (8 * j)) & 255) * lanes + j] += w;
    }
}


// Sums of the channels on the left; N > 0 fixes their number, so that they stay in registers. In
// memory they are plain numbers: GCC copies lanes in pieces, which the next load would wait for.
template <int N>
struct LeftSums {
    Lanes held[N];
    explicit LeftSums(double*) {}
    CONSILIENCE_INLINE Lanes get(int c) const { return held[c]; }
    CONSILIENCE_INLINE void set(int c, Lanes x) { held[c] = x; }
};
template <>
struct LeftSums<0> {
    double* held;
    explicit LeftSums(double* scratch) : held(scratch) {}
    CONSILIENCE_INLINE Lanes get(int c) const { return load_lanes(held + c * lanes); }
    CONSILIENCE_INLINE void set(int c, Lanes x) { store(x, held + c * lanes); }
};

template <int N, bool Cost, bool Counted>
CONSILIENCE_INLINE Lanes scan(const ScanInput& in, bool missing_left, double* left, Lanes best) {
    const int n_channels = N ? N : in.n_channels;
    const Lanes none = all_lanes(0), min_weight = all_lanes(in.min_weight),
                min_count = all_lanes(in.min_count), total_count = all_lanes(in.total_count),
                invalid = all_lanes(no_score);
    Lanes count = none;
    LeftSums<N> sums(left);
    for (int c = 0; c < n_channels; ++c) {
        const std::int64_t* held = in.hist + in.channels[c] * channel_size;
        sums.set(c, missing_left ? load(held + missing_bin * lanes) : none);
    }
    if (Counted && missing_left) count = load(in.counts + missing_bin * lanes);
    for (int bin = 0; bin < in.n_bins; ++bin) {
        // for costs the least sums take the place of the squares
        Lanes weight_left = none, weight_right = none, squares_left = none, squares_right = none;
        for (int c = 0; c < n_channels; ++c) {
            const Lanes l =
                sums.get(c) + load(in.hist + in.channels[c] * channel_size + bin * lanes);
            const Lanes r = all_lanes(in.totals[c]) - l;
            sums.set(c, l);
            if (Cost) {
                squares_left = smaller(l, squares_left);
                squares_right = smaller(r, squares_right);
            } else {
                weight_left += l;
                weight_right += r;
                squares_left += l * l;
                squares_right += r * r;
            }
        }
        // how far the smaller side is above the least allowed; one comparison in the end
        Lanes score, slack;
        if (Cost) {
            score = -(squares_left + squares_right);
        } else {
            score = (squares_left * weight_right + squares_right * weight_left) /
                    (weight_left * weight_right);
            slack = smaller(weight_left, weight_right) - min_weight;
        }
        if (Counted) {
            count += load(in.counts + bin * lanes);
            const Lanes count_slack = smaller(count, total_count - count) - min_count;
            slack = Cost ? count_slack : smaller(slack, count_slack);
        }
        score = if_not_less(slack, none, score, invalid);
        best = larger(best, score);
    }
    return best;
}

template <int N, bool Cost, bool Counted>
CONSILIENCE_INLINE void scan_directions(const ScanInput& in, double* left, double* best) {
    Lanes found = scan<N, Cost, Counted>(in, false, left, all_lanes(no_score));
    if (in.missing) found = scan<N, Cost, Counted>(in, true, left, found);
    store(found, best);
}

}  // namespace

CONSILIENCE_CLONES
void add_weights(const std::uint8_t* block, const std::uint32_t* rows, std::size_t n_rows,
                 const std::int64_t* weight, std::int64_t* hist) {
    const auto weight_of = [weight](std::size_t row) { return weight[row]; };
    // rows that ascend and are as many as lie between the first and the last need not be read
    if (n_rows > 0 && rows[n_rows - 1] - rows[0] == n_rows - 1) {
        const std::size_t first = rows[0];
        accumulate(block, [first](std::size_t p) { return first + p; }, n_rows, weight_of, hist);
    } else {
        accumulate(block, [rows](std::size_t p) { return rows[p]; }, n_rows, weight_of, hist);
    }
}

CONSILIENCE_CLONES
void add_counts(const std::uint8_t* block, const std::uint32_t* rows, std::size_t n_rows,
                std::int64_t* hist) {
    accumulate(block, [rows](std::size_t p) { return rows[p]; }, n_rows,
               [](std::size_t) { return std::int64_t{1}; }, hist);
}

void clear_channel(std::int64_t* hist, int n_bins) {
    std::memset(hist, 0, sizeof(std::int64_t) * lanes * n_bins);
    std::memset(hist + missing_bin * lanes, 0, sizeof(std::int64_t) * lanes);
}

CONSILIENCE_CLONES
void subtract_channel(std::int64_t* hist, const std::int64_t* other, int n_bins) {
    for (int i = 0; i < n_bins * lanes; ++i) hist[i] -= other[i];
    const int missing = missing_bin * lanes;
    for (int i = missing; i < missing + lanes; ++i) hist[i] -= other[i];
}

std::size_t scan_scratch(int n_channels) {
    return (static_cast<std::size_t>(n_channels) + 1) * sizeof(Lanes);
}

CONSILIENCE_CLONES
void scan_best(const ScanInput& in, unsigned char* scratch, double* best) {
    const std::size_t skip = -reinterpret_cast<std::uintptr_t>(scratch) % sizeof(Lanes);
    double* left = reinterpret_cast<double*>(scratch + skip);
    if (in.cost)
        scan_directions<0, true, true>(in, left, best);
    else if (in.counts)
        scan_directions<0, false, true>(in, left, best);
    else if (in.n_channels == 2)
        scan_directions<2, false, false>(in, left, best);
    else
        scan_directions<0, false, false>(in, left, best);
}

}  // namespace consilience
