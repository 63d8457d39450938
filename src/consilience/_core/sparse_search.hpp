// The search for the best split of every node of a level in one sparse column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "grow.hpp"
#include "signals.hpp"
#include "tree.hpp"

namespace consilience {

// A node of the level at hand.
struct SparseMember {
    std::int32_t node = -1;
    std::uint64_t key = 0;
    std::vector<std::int64_t> total;    // sums of all channels
    std::vector<std::uint32_t> chosen;  // drawn features, ascending; empty for all
    Split best;
};

class ColumnSearch {
public:
    // level: the nodes; member_of: the place in the level of each row or -1; both may change
    // between levels, which begin with start_level
    ColumnSearch(const SparseCodes& entries, const Edges& edges, const Problem& problem,
                 bool random_splits, std::vector<SparseMember>& level,
                 const std::vector<std::int32_t>& member_of);

    void start_level();
    // One column for all nodes of the level, or for some of them (their places in it).
    void search(std::size_t f);
    void search(std::size_t f, const std::vector<std::int32_t>& some);

private:
    // What the current column says about one node.
    struct State {
        std::vector<std::int64_t> left, zeros, missing, trial;
        int bin = -1, first = missing_bin, last = -1;
        bool has_zeros = false, has_missing = false;
        std::int64_t column = -1, wanted = -1;
        Split random;
    };

    void search_column(std::size_t f, bool all);
    void add_row(std::vector<std::int64_t>& sums, std::size_t row) const;
    void reset(State& s, std::int32_t a);
    void start(std::int32_t a, std::size_t f);
    void score_best(std::size_t f, std::int64_t begin, std::int64_t end);
    void score_random(std::size_t f, std::int64_t begin, std::int64_t end);
    void add_zeros(std::size_t f, int zero_bin);
    void reach(std::int32_t a, std::size_t f, int bin);
    void consider(std::int32_t a, std::size_t f, int next, const std::vector<std::int64_t>& left,
                  bool missing_left);
    bool heavier_left(std::int32_t a, const std::vector<std::int64_t>& left) const;

    const SparseCodes& entries_;
    const Edges& edges_;
    const Problem& p_;
    bool random_splits_;
    std::vector<SparseMember>& level_;
    const std::vector<std::int32_t>& member_of_;
    std::vector<State> states_;
    std::vector<std::int32_t> touched_;
    std::int64_t column_ = -1;
    SignalCheck signals_;
};

}  // namespace consilience
