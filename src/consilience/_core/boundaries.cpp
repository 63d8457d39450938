// Scores of many splits at once (see boundaries.hpp); the scores are those of score.hpp.
#include "boundaries.hpp"

#include <algorithm>
#include <cstring>

#include "dispatch.hpp"
#include "lanes.hpp"
#include "score.hpp"

namespace consilience {
namespace {

// Whole lanes are scored: boundaries beyond n must be invalid. Returns the best score.
template <bool Two>
CONSILIENCE_INLINE double score(const std::int64_t* sums, const double* totals, int n_channels,
                                double min_weight, std::size_t n, double* scores) {
    const Lanes none = all_lanes(no_score), least = all_lanes(min_weight);
    Lanes best = none;
    for (std::size_t first = 0; first < n; first += lanes) {
        Lanes weight = all_lanes(0), other_weight = weight, squares = weight, other_squares = weight;
        const std::int64_t* tile = sums + first * (Two ? 2 : n_channels);
        IntLanes apart[2] = {};
        if (Two) part(load_integers(tile), load_integers(tile + lanes), apart[0], apart[1]);
        for (int c = 0; c < (Two ? 2 : n_channels); ++c) {
            const Lanes side = Two ? to_doubles(apart[c]) : load(tile + c * lanes);
            const Lanes other = all_lanes(totals[c]) - side;
            weight += side;
            other_weight += other;
            squares += side * side;
            other_squares += other * other;
        }
        const Lanes value =
            (squares * other_weight + other_squares * weight) / (weight * other_weight);
        const Lanes score = if_not_less(smaller(weight, other_weight), least, value, none);
        store(score, scores + first);
        best = larger(best, score);
    }
    double found = no_score;
    for (int j = 0; j < lanes; ++j) found = best[j] > found ? best[j] : found;
    return found;
}

CONSILIENCE_CLONES
double score_boundaries(const std::int64_t* sums, const double* totals, int n_channels,
                        double min_weight, std::size_t n, double* scores) {
    if (n_channels == 2) return score<true>(sums, totals, n_channels, min_weight, n, scores);
    return score<false>(sums, totals, n_channels, min_weight, n, scores);
}

}  // namespace

Boundaries::Boundaries(const Problem& problem, const std::int64_t* totals,
                       const std::vector<std::int32_t>& member_of)
    : n_channels_(problem.n_sums), codes_(problem.codes), totals_(totals, totals + n_channels_),
      min_weight_(static_cast<double>(problem.min_weight)), sums_(n_channels_ * capacity, 0),
      side_(n_channels_, 0), scores_(capacity, no_score) {
    const std::size_t width = n_channels_ == 2 ? 2 : 1;
    weight_.assign(problem.n * width, 0);
    for (std::size_t row = 0; row < problem.n; ++row)
        if (member_of[row] >= 0)
            weight_[row * width + (width == 2 ? problem.codes[row] : 0)] = problem.weight[row];
}

// The top bit of an entry marks the last one of its bin: a split lies after it.
void Boundaries::collect_two(const std::uint32_t* first, const std::uint32_t* last) {
    std::int64_t zeros = 0, ones = 0;
    std::int64_t* out = sums_.data() + 2 * size_;
    const std::int64_t* weight = weight_.data();
    for (const std::uint32_t* entry = first; entry != last; ++entry) {
        const std::size_t row = *entry & row_mask;
        zeros += weight[2 * row];
        ones += weight[2 * row + 1];
        out[0] = zeros;
        out[1] = ones;
        out += 2 * (*entry >> 31);
    }
    size_ = (out - sums_.data()) / 2;
}

// Scalar on purpose: a vector load of sums that were just stored one by one would wait for them.
#if defined(__GNUC__) && !defined(__clang__)
__attribute__((optimize("no-tree-vectorize")))
#endif
void Boundaries::collect_many(const std::uint32_t* first, const std::uint32_t* last) {
    std::fill(side_.begin(), side_.end(), 0);
    for (const std::uint32_t* entry = first; entry != last; ++entry) {
        const std::size_t row = *entry & row_mask;
        // rows outside the node may have no class
        if (weight_[row]) side_[codes_[row]] += weight_[row];
        if (!(*entry >> 31)) continue;
        std::int64_t* out = sums_.data() + (size_ / lanes) * lanes * n_channels_ + size_ % lanes;
        for (std::size_t c = 0; c < n_channels_; ++c) out[c * lanes] = side_[c];
        ++size_;
    }
}

void Boundaries::add(const SparseCodes& entries, std::int32_t column) {
    const std::uint32_t* begin = entries.outside_in + entries.indptr[column];
    const std::uint32_t* middle = entries.outside_in + entries.middle[column];
    const std::uint32_t* end = entries.outside_in + entries.indptr[column + 1];
    if (n_channels_ == 2) {
        if (begin < middle) collect_two(begin, middle);
        collect_two(middle, end);
    } else {
        if (begin < middle) collect_many(begin, middle);
        collect_many(middle, end);
    }
    ends_.push_back(size_);
    columns_.push_back(column);
}

std::int32_t Boundaries::flush(double least) {
    std::int32_t column = -1;
    if (size_ > 0) {
        // the sums that fill up the last lanes are zero: an empty side is never valid
        for (std::size_t i = size_; i % lanes; ++i)
            for (std::size_t c = 0; c < n_channels_; ++c)
                sums_[n_channels_ == 2 ? 2 * i + c
                                       : (i / lanes) * lanes * n_channels_ + c * lanes + i % lanes] = 0;
        const double best =
            score_boundaries(sums_.data(), totals_.data(), static_cast<int>(n_channels_),
                             min_weight_, size_, scores_.data());
        if (best > least) {
            const std::size_t at = std::find(scores_.begin(), scores_.end(), best) - scores_.begin();
            column = columns_[std::upper_bound(ends_.begin(), ends_.end(), at) - ends_.begin()];
        }
    }
    size_ = 0;
    ends_.clear();
    columns_.clear();
    return column;
}

}  // namespace consilience
