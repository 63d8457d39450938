// Trees on rows in blocks: each block sums its histograms, the sums of all blocks decide the splits.
//
// One pass over the blocks per level. All sums are integers (problem.hpp), so the tree is that of
// all rows in one piece, bit for bit, however they are cut into blocks.
//
// Layout of a node's histogram: for each block of eight features, channel x (widest + 1) x 8, where
// `widest` is the largest number of bins of these features and the last row that of NaN.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dense_search.hpp"
#include "grow.hpp"

namespace consilience {

class HistogramLayout {
public:
    HistogramLayout(const Edges& edges, std::size_t d, int n_channels);
    std::size_t n_blocks() const { return widest_.size(); }
    std::size_t size() const { return offset_.back(); }
    std::size_t offset(std::size_t block) const { return offset_[block]; }
    int widest(std::size_t block) const { return widest_[block]; }
    std::size_t channel(std::size_t block) const { return (widest_[block] + 1) * lanes; }

private:
    std::vector<int> widest_;
    std::vector<std::size_t> offset_;
};

// The tree, grown from the sums of all blocks.
class LevelGrower {
public:
    // problem: without rows; the edges are copied
    LevelGrower(std::vector<double> least, std::vector<double> greatest,
                std::vector<std::int64_t> start, Problem problem, TreeParams params);
    LevelGrower(const LevelGrower&) = delete;
    LevelGrower& operator=(const LevelGrower&) = delete;

    // The nodes of the level, and those of them whose histograms are wanted.
    std::vector<std::int32_t> level() const;
    std::vector<std::int32_t> built() const;

    // Splits the nodes of the level: hist and totals as above, summed over the blocks. A node with
    // at most `few_rows` rows stays a leaf, to be finished from its rows.
    void advance(const std::int64_t* hist, const std::int64_t* totals, std::int64_t few_rows);

    const std::vector<std::int32_t>& unfinished() const { return unfinished_; }
    const Tree& tree() const { return tree_; }
    const Problem& problem() const { return p_; }
    std::size_t histogram_size() const { return layout_.size(); }

private:
    // A node of the level; its histogram is built, or that of its parent minus its sibling's.
    struct Node {
        DenseMember member;
        int sibling = -1;  // place in the level of the sibling that is built, or -1
        Buffer parent;
    };

    Edges edges() const { return {least_.data(), greatest_.data(), start_.data()}; }
    void start_member(DenseMember& m, std::int32_t node);
    void search(DenseMember& m, const std::int64_t* hist);
    void search_block(DenseMember& m, const std::int64_t* hist, std::size_t block, LaneMask mask);
    void add_children(const DenseMember& m, std::int32_t child, std::vector<Node>& next);

    std::vector<double> least_, greatest_;
    std::vector<std::int64_t> start_;
    std::size_t d_;
    Problem p_;
    TreeParams params_;
    Edges edges_;
    HistogramLayout layout_;
    BlockSearch search_;
    FeatureOrder features_;
    std::vector<std::int64_t> scratch_;
    std::vector<Node> level_;
    std::vector<std::int32_t> unfinished_;
    Tree tree_;
};

}  // namespace consilience
