// Scores of many splits at once: the sums on one side of each are collected, then scored together.
//
// A split's gini score does not depend on which side is called left, so the splits among the
// negative values of a sparse column are collected from below and those among the positive values
// from above; the zeros in between are never visited.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "problem.hpp"

namespace consilience {

class Boundaries {
public:
    static constexpr std::size_t capacity = 1024;

    // totals of the node (in); its rows are those with member_of >= 0
    Boundaries(const Problem& problem, const std::int64_t* totals,
               const std::vector<std::int32_t>& member_of);

    // Whether a column of so many entries can be added before, or at all after, a flush.
    bool fits(std::int64_t n_entries) const {
        return size_ + static_cast<std::size_t>(n_entries) <= capacity;
    }
    static bool too_long(std::int64_t n_entries) {
        return static_cast<std::size_t>(n_entries) > capacity;
    }

    // Adds the splits of a column: entries [begin, middle) lie below zero, [middle, end) above.
    void add(const std::int32_t* rows, const std::uint8_t* codes, std::int64_t begin,
             std::int64_t middle, std::int64_t end, std::int32_t column);

    // The lowest column with the best score if that exceeds `least`, else -1. Starts anew.
    std::int32_t flush(double least);

private:
    void collect_two(const std::int32_t* rows, const std::uint8_t* codes, std::int64_t first,
                     std::int64_t stop, std::int64_t step);
    void collect_many(const std::int32_t* rows, const std::uint8_t* codes, std::int64_t first,
                      std::int64_t stop, std::int64_t step);

    std::size_t n_channels_, size_ = 0;
    const std::int32_t* codes_;
    std::vector<double> totals_;
    double min_weight_;
    std::vector<std::int64_t> weight_;       // of the rows; negative for class 1 of two
    std::vector<std::int64_t> sums_, side_;  // channel x boundary; the running side
    std::vector<double> scores_;
    std::vector<std::size_t> ends_;          // the boundaries of each column end here
    std::vector<std::int32_t> columns_;
};

}  // namespace consilience
