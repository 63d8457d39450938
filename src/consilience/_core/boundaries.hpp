// Scores of many splits at once: the sums on one side of each are collected, then scored together.
//
// A split's gini score does not depend on which side is called left, so the splits of a sparse
// column are collected outside in: from the least value up to the zeros, and from the greatest
// value down to them. The zeros themselves are never visited.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "grow.hpp"
#include "signals.hpp"

namespace consilience {

// The splits of one node; keeps the best score and the lowest column that has it.
class Boundaries {
public:
    // totals of the node's classes, in
    Boundaries(const Problem& problem, const std::int64_t* totals);

    // One split: sums of one side, in.
    void add(const std::int64_t* sums, std::int32_t column);
    void add_pair(std::int64_t zeros, std::int64_t ones, std::int32_t column) {
        columns_[size_] = column;
        sums_[2 * size_] = zeros;
        sums_[2 * size_ + 1] = ones;
        if (++size_ == capacity) flush();
    }
    // All splits of the entries [first, last) of a column, of a problem with two classes.
    void add_two(const std::uint32_t* first, const std::uint32_t* last, const std::int64_t* weight,
                 std::int32_t column);
    // Scores what is collected.
    void flush();

    double score() const { return score_; }
    std::int32_t column() const { return column_; }

private:
    static constexpr std::size_t capacity = 512;

    std::size_t n_channels_, size_ = 0;
    std::vector<double> totals_;
    double min_weight_, score_;
    std::int32_t column_ = -1;
    std::vector<std::int64_t> sums_;  // boundary x 2; else (boundary / 8) x channel x 8
    std::vector<double> scores_;
    std::vector<std::int32_t> columns_;
};

// The nodes of one level, side by side in one pass over the entries.
class LevelBoundaries {
public:
    // totals: those of each node; member_of: the node of each row or -1, in
    LevelBoundaries(const Problem& problem, const std::vector<const std::int64_t*>& totals,
                    const std::vector<std::int32_t>& member_of);

    void add(const SparseCodes& entries, std::int32_t column);
    std::vector<Boundaries>& finish();

private:
    template <bool Two>
    void collect(const std::uint32_t* first, const std::uint32_t* last, std::int32_t column);

    const Problem& p_;
    const std::vector<std::int32_t>& member_of_;
    std::vector<std::int64_t> weight_;  // n x 2 for two classes, at the place of the class; else n
    std::vector<Boundaries> nodes_;
    std::vector<std::int64_t> sums_;      // node x class: one side of the column at hand
    std::vector<std::int64_t> last_bin_;  // in which the node was met last; bins are counted on
    std::int64_t bin_ = 0;
    std::vector<std::int32_t> met_;
    SignalCheck signals_;
};

}  // namespace consilience
