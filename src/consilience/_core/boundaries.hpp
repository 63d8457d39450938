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

namespace consilience {

class Boundaries {
public:
    static constexpr std::size_t capacity = 1024;

    // totals of the node (in); its rows are those with member_of >= 0
    Boundaries(const Problem& problem, const std::int64_t* totals,
               const std::vector<std::int32_t>& member_of);

    // Whether a column of so many entries can be added before a flush, or at all.
    bool fits(std::int64_t n_entries) const {
        return size_ + static_cast<std::size_t>(n_entries) <= capacity;
    }
    static bool too_long(std::int64_t n_entries) {
        return static_cast<std::size_t>(n_entries) > capacity;
    }

    void add(const SparseCodes& entries, std::int32_t column);

    // The lowest column with the best score if that exceeds `least`, else -1. Starts anew.
    std::int32_t flush(double least);

private:
    void collect_two(const std::uint32_t* first, const std::uint32_t* last);
    void collect_many(const std::uint32_t* first, const std::uint32_t* last);

    std::size_t n_channels_, size_ = 0;
    const std::int32_t* codes_;
    std::vector<double> totals_;
    double min_weight_;
    std::vector<std::int64_t> weight_;  // n; for two classes n x 2, at the column of the class
    std::vector<std::int64_t> sums_;    // boundary x 2; else (boundary / 8) x channel x 8
    std::vector<std::int64_t> side_;
    std::vector<double> scores_;
    std::vector<std::size_t> ends_;     // the boundaries of each column end here
    std::vector<std::int32_t> columns_;
};

}  // namespace consilience
