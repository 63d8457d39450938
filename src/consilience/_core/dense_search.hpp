// The search for the best split of a node in one block of features, from its histogram.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "histogram.hpp"
#include "tree.hpp"

namespace consilience {

using Buffer = std::shared_ptr<std::vector<std::int64_t>>;

// A node of the level at hand.
struct DenseMember {
    std::int32_t node = -1;
    std::uint64_t key = 0;
    bool active = false;                // searched for a split on this level
    std::vector<std::size_t> segments;  // groups + 1 offsets into the rows
    std::vector<std::int64_t> total;    // sums of all channels
    std::vector<int> channels;          // sums that are not zero everywhere
    std::vector<double> totals;         // of those
    std::vector<std::uint32_t> chosen;  // drawn features, ascending; empty for all
    std::size_t n_seen = 0;             // of the drawn ones, in blocks that were searched
    Buffer kept;                        // histograms of all blocks, for the children
    Split best;

    std::size_t size() const { return segments.back() - segments.front(); }
};

// One bit per feature of a block.
using LaneMask = unsigned;
constexpr LaneMask all_of_block = (1u << lanes) - 1;
inline bool has_lane(LaneMask mask, std::size_t lane) {
    return (mask >> lane) & 1u;
}

class BlockSearch {
public:
    BlockSearch(const std::uint8_t* bins, std::size_t d, const Edges& edges,
                const Problem& problem);

    std::size_t n_blocks() const { return block_bins_.size(); }
    std::size_t histogram_size() const { return p_.n_channels() * channel_size; }

    // hist (out) of the member's rows
    void build(std::int64_t* hist, const DenseMember& m, const std::uint32_t* rows,
               std::size_t block) const;
    // hist (in/out) minus that of the member
    void subtract(std::int64_t* hist, const std::int64_t* small, const DenseMember& m,
                  std::size_t block) const;
    // m.best (in/out) if the block has a better split among the features of the mask
    void search(DenseMember& m, const std::int64_t* hist, std::size_t block, LaneMask mask);
    // the same with one random threshold per feature, straight from the rows
    void search_random(DenseMember& m, const std::uint32_t* rows, std::size_t block, LaneMask mask);
    // the same from a histogram
    void search_random(DenseMember& m, const std::int64_t* hist, std::size_t block, LaneMask mask);
    int block_bins(std::size_t block) const { return block_bins_[block]; }

private:
    bool holds(const std::int64_t* hist, const DenseMember& m, int bin, int lane) const;
    void add_bin(std::vector<std::int64_t>& sums, const DenseMember& m, const std::int64_t* hist,
                 int bin, int lane) const;
    Split locate(const DenseMember& m, const std::int64_t* hist, std::size_t f, double score) const;
    void sum_codes(const DenseMember& m, const std::uint32_t* rows, std::size_t block,
                   const std::uint8_t* to, std::vector<std::int64_t>& sums) const;
    void sum_bins(const DenseMember& m, const std::int64_t* hist, int lane, int last,
                  std::vector<std::int64_t>& sums) const;
    void consider_random(DenseMember& m, std::size_t f, const Cut& cut, bool missing);
    bool heavier_left(const DenseMember& m, const std::vector<std::int64_t>& left) const;

    const std::uint8_t* bins_;
    std::size_t d_;
    const Edges& edges_;
    const Problem& p_;
    std::vector<int> block_bins_;  // the most bins of a feature of the block
    std::vector<unsigned char> scratch_;
    std::vector<std::int64_t> sums_, value_sums_;  // channel x lane; all but NaN
    std::vector<std::int64_t> left_;
};

}  // namespace consilience
