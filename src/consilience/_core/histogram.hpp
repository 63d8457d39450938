// Histograms of one block of eight features, and the scan for the best split of each.
//
// Layout: channel x bin x lane, 256 x 8 int64 per channel: one cache line holds a bin of all eight
// features, so the scan handles the features of a block side by side.
#pragma once

#include <cstddef>
#include <cstdint>

#include "edges.hpp"

namespace consilience {

constexpr std::size_t bin_rows = 256, channel_size = bin_rows * lanes;

// hist (one channel, in/out) += weight[row] in the bins of the rows, which ascend where they have
// weights; block: n x 8 codes, in
void add_weights(const std::uint8_t* block, const std::uint32_t* rows, std::size_t n_rows,
                 const std::int64_t* weight, std::int64_t* hist);
void add_counts(const std::uint8_t* block, const std::uint32_t* rows, std::size_t n_rows,
                std::int64_t* hist);

// Bins below n_bins and the bin of NaN set to 0, or reduced by another channel's.
void clear_channel(std::int64_t* hist, int n_bins);
void subtract_channel(std::int64_t* hist, const std::int64_t* other, int n_bins);

// What the scan of a node reads.
struct ScanInput {
    const std::int64_t* hist;  // the node's histogram of this block
    const int* channels;       // the sums that are not zero everywhere
    int n_channels;
    const double* totals;  // of those channels
    int n_bins;            // of the block
    bool cost, missing;    // missing: some row of the node is NaN in some lane
    double min_weight, min_count;
    const std::int64_t* counts;  // channel of counts, or null
    double total_count;
};

// best (8, out): the best score of each feature; scratch: scan_scratch(n_channels) bytes
std::size_t scan_scratch(int n_channels);
void scan_best(const ScanInput& in, unsigned char* scratch, double* best);

}  // namespace consilience
