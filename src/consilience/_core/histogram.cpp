// The two inner loops of dense trees (see histogram.hpp).
//
// Everything is an exact integer below 2^51, so the scan may turn sums to double, and the order of
// the additions is free. The scores are those of score.hpp, operation by operation.
#include "histogram.hpp"

#include <cstring>

#include "dispatch.hpp"
#include "score.hpp"

namespace consilience {
namespace {

// Eight codes are read at once and taken apart by shifts.
template <typename Weight>
CONSILIENCE_INLINE void accumulate(const std::uint8_t* block, const std::uint32_t* rows,
                                   std::size_t n_rows, Weight weight, std::int64_t* hist) {
    for (std::size_t p = 0; p < n_rows; ++p) {
        const std::size_t row = rows[p];
        const std::uint8_t* codes = block + row * lanes;
        const std::int64_t w = weight(row);
        std::uint64_t packed;
        std::memcpy(&packed, codes, sizeof packed);
        for (int j = 0; j < lanes; ++j) hist[((packed >> (8 * j)) & 255) * lanes + j] += w;
    }
}

// Exact for |value| < 2^51: the low bits of 1.5 * 2^52 + value, in vector code on every CPU.
CONSILIENCE_INLINE double to_double(std::int64_t value) {
    const std::uint64_t bits = static_cast<std::uint64_t>(value) + 0x4338000000000000u;
    double shifted;
    std::memcpy(&shifted, &bits, sizeof shifted);
    return shifted - 0x1.8p52;
}

struct Lanes {
    double value[lanes];
};

// N > 0 fixes the number of channels, so that the sums stay in registers.
template <int N, bool Cost, bool Counted>
CONSILIENCE_INLINE void scan(const ScanInput& in, bool missing_left, Lanes* left, double* best) {
    const int n_channels = N ? N : in.n_channels;
    Lanes fixed[N ? N : 1], count = {};
    Lanes* sums = N ? fixed : left;
    for (int c = 0; c < n_channels; ++c) {
        const std::int64_t* missing =
            in.hist + in.channels[c] * channel_size + missing_bin * lanes;
        for (int j = 0; j < lanes; ++j) sums[c].value[j] = missing_left ? to_double(missing[j]) : 0;
    }
    if (Counted && missing_left)
        for (int j = 0; j < lanes; ++j)
            count.value[j] = to_double(in.counts[missing_bin * lanes + j]);
    for (int bin = 0; bin < in.n_bins; ++bin) {
        Lanes weight_left = {}, weight_right = {}, squares_left = {}, squares_right = {};
        for (int c = 0; c < n_channels; ++c) {
            const std::int64_t* held = in.hist + in.channels[c] * channel_size + bin * lanes;
            const double total = in.totals[c];
            for (int j = 0; j < lanes; ++j) {
                const double l = sums[c].value[j] + to_double(held[j]), r = total - l;
                sums[c].value[j] = l;
                if (Cost) {  // the least sums take the place of the squares
                    squares_left.value[j] = l < squares_left.value[j] ? l : squares_left.value[j];
                    squares_right.value[j] = r < squares_right.value[j] ? r : squares_right.value[j];
                } else {
                    weight_left.value[j] += l;
                    weight_right.value[j] += r;
                    squares_left.value[j] += l * l;
                    squares_right.value[j] += r * r;
                }
            }
        }
        for (int j = 0; j < lanes; ++j) {
            const double l = weight_left.value[j], r = weight_right.value[j];
            bool valid = Cost || ((l >= in.min_weight) & (r >= in.min_weight));
            if (Counted) {
                const double n = count.value[j] + to_double(in.counts[bin * lanes + j]);
                count.value[j] = n;
                valid = valid & (n >= in.min_count) & (in.total_count - n >= in.min_count);
            }
            const double score =
                Cost ? -(squares_left.value[j] + squares_right.value[j])
                     : (squares_left.value[j] * r + squares_right.value[j] * l) / (l * r);
            best[j] = valid & (score > best[j]) ? score : best[j];
        }
    }
}

template <int N, bool Cost, bool Counted>
CONSILIENCE_INLINE void scan_directions(const ScanInput& in, Lanes* left, double* best) {
    double found[lanes];
    for (int j = 0; j < lanes; ++j) found[j] = no_score;
    scan<N, Cost, Counted>(in, false, left, found);
    if (in.missing) scan<N, Cost, Counted>(in, true, left, found);
    for (int j = 0; j < lanes; ++j) best[j] = found[j];
}

}  // namespace

CONSILIENCE_CLONES
void add_weights(const std::uint8_t* block, const std::uint32_t* rows, std::size_t n_rows,
                 const std::int64_t* weight, std::int64_t* hist) {
    accumulate(block, rows, n_rows, [weight](std::size_t row) { return weight[row]; }, hist);
}

CONSILIENCE_CLONES
void add_counts(const std::uint8_t* block, const std::uint32_t* rows, std::size_t n_rows,
                std::int64_t* hist) {
    accumulate(block, rows, n_rows, [](std::size_t) { return std::int64_t{1}; }, hist);
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

CONSILIENCE_CLONES
void scan_best(const ScanInput& in, double* scratch, double* best) {
    Lanes* left = reinterpret_cast<Lanes*>(scratch);
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
