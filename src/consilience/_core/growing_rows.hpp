// The rows of one block of data while a tree is grown on all blocks: what they add to the sums of a
// level (see levels.hpp). The targets become integers once a tree, and each level divides the rows
// of the nodes that have been split, so a level costs what it costs in memory. The memory is used
// again by the next tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "grow.hpp"
#include "levels.hpp"
#include "predict.hpp"
#include "row_partition.hpp"

namespace consilience {

// What is wanted of a level, by node: its place in the level or -1, its histogram or -1; in.
struct LevelNodes {
    const std::int32_t *place, *slot;
    std::size_t n_nodes, n_places, n_slots;
};

class GrowingRows {
public:
    // A new tree. codes, weights (n, in), rows (n flags or null, in)
    void start(const std::int32_t* codes, const double* weights, const std::uint8_t* rows,
               std::size_t n, int n_classes, const TreeParams& params);
    // costs (n x n_classes, in)
    void start(const double* costs, const std::uint8_t* rows, std::size_t n, int n_classes,
               const TreeParams& params);

    const Problem& problem() const { return p_; }

    // Brings the rows to the leaves of the tree as it is now, of n_nodes nodes.
    void route(const TreeView& tree, std::size_t n_nodes, const std::uint8_t* bins);
    void route(const TreeView& tree, std::size_t n_nodes, const SparseCodes& entries);

    // Of every node of the level: channels, number of rows, sum of the least costs.
    std::vector<std::int64_t> totals(const LevelNodes& level) const;

    // hist (n_slots x layout.size(), out)
    void histograms(const LevelNodes& level, const HistogramLayout& layout,
                    const std::uint8_t* bins, std::int64_t* hist) const;
    void histograms(const LevelNodes& level, const HistogramLayout& layout,
                    const SparseCodes& entries, std::size_t d, std::int64_t* hist) const;

private:
    void start_root();
    template <typename Visit>
    void for_each_row(std::int32_t node, Visit visit) const;

    Problem p_;
    std::vector<std::int32_t> codes_, leaf_;
    std::vector<std::uint32_t> spare_;
    std::vector<Segments> segments_;  // by node: its rows in p_.rows; empty if it was split
};

}  // namespace consilience
