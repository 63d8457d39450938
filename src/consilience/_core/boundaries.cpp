// Scores of many splits at once (see boundaries.hpp); the scores are those of score.hpp.
#include "boundaries.hpp"

#include <algorithm>
#include <cstring>

#include "dispatch.hpp"
#include "lanes.hpp"
#include "score.hpp"

namespace consilience {
namespace {

// sums: channel x Boundaries::capacity. Whole lanes are scored: those beyond n must be invalid.
// Returns the best score.
template <int N>
CONSILIENCE_INLINE double score(const std::int64_t* sums, const double* totals, int n_channels,
                                double min_weight, std::size_t n, double* scores) {
    Lanes best = all_lanes(no_score);
    for (std::size_t first = 0; first < n; first += lanes) {
        Lanes weight = all_lanes(0), other_weight = weight, squares = weight, other_squares = weight;
        for (int c = 0; c < (N ? N : n_channels); ++c) {
            const Lanes side = load(sums + c * Boundaries::capacity + first);
            const Lanes other = all_lanes(totals[c]) - side;
            weight += side;
            other_weight += other;
            squares += side * side;
            other_squares += other * other;
        }
        const auto valid = not_less(weight, all_lanes(min_weight)) &
                           not_less(other_weight, all_lanes(min_weight));
        const Lanes value =
            (squares * other_weight + other_squares * weight) / (weight * other_weight);
        const Lanes score = choose(valid, value, all_lanes(no_score));
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
    if (n_channels == 2) return score<2>(sums, totals, n_channels, min_weight, n, scores);
    return score<0>(sums, totals, n_channels, min_weight, n, scores);
}

}  // namespace

Boundaries::Boundaries(const Problem& problem, const std::int64_t* totals,
                       const std::vector<std::int32_t>& member_of)
    : n_channels_(problem.n_sums), codes_(problem.codes), totals_(totals, totals + n_channels_),
      min_weight_(static_cast<double>(problem.min_weight)), weight_(problem.n, 0),
      sums_(n_channels_ * capacity, 0), side_(n_channels_, 0), scores_(capacity, no_score) {
    for (std::size_t row = 0; row < problem.n; ++row) {
        if (member_of[row] < 0) continue;
        const bool minus = n_channels_ == 2 && problem.codes[row] == 1;
        weight_[row] = minus ? -problem.weight[row] : problem.weight[row];
    }
}

// Entries from `first` up to `stop`, exclusive: a split lies after the last entry of each bin.
void Boundaries::collect_two(const std::int32_t* rows, const std::uint8_t* codes,
                             std::int64_t first, std::int64_t stop, std::int64_t step) {
    std::int64_t both = 0, ones = 0;
    std::int64_t *zeros_out = sums_.data(), *ones_out = sums_.data() + capacity;
    std::size_t size = size_;
    for (std::int64_t e = first; e != stop; e += step) {
        const std::int64_t weight = weight_[rows[e]], sign = weight >> 63;
        both += (weight ^ sign) - sign;
        ones += ((weight ^ sign) - sign) & sign;
        zeros_out[size] = both - ones;
        ones_out[size] = ones;
        size += e + step == stop || codes[e + step] != codes[e];
    }
    size_ = size;
}

void Boundaries::collect_many(const std::int32_t* rows, const std::uint8_t* codes,
                              std::int64_t first, std::int64_t stop, std::int64_t step) {
    std::fill(side_.begin(), side_.end(), 0);
    for (std::int64_t e = first; e != stop; e += step) {
        const std::int64_t weight = weight_[rows[e]];
        // rows outside the node may have no class
        if (weight) side_[codes_[rows[e]]] += weight;
        if (e + step != stop && codes[e + step] == codes[e]) continue;
        for (std::size_t c = 0; c < n_channels_; ++c) sums_[c * capacity + size_] = side_[c];
        ++size_;
    }
}

void Boundaries::add(const std::int32_t* rows, const std::uint8_t* codes, std::int64_t begin,
                     std::int64_t middle, std::int64_t end, std::int32_t column) {
    if (n_channels_ == 2) {
        if (begin < middle) collect_two(rows, codes, begin, middle, 1);
        collect_two(rows, codes, end - 1, middle - 1, -1);
    } else {
        if (begin < middle) collect_many(rows, codes, begin, middle, 1);
        collect_many(rows, codes, end - 1, middle - 1, -1);
    }
    ends_.push_back(size_);
    columns_.push_back(column);
}

std::int32_t Boundaries::flush(double least) {
    std::int32_t column = -1;
    if (size_ > 0) {
        // an empty side is never valid
        for (std::size_t i = size_; i % lanes; ++i)
            for (std::size_t c = 0; c < n_channels_; ++c) sums_[c * capacity + i] = 0;
        const double best = score_boundaries(sums_.data(), totals_.data(),
                                             static_cast<int>(n_channels_), min_weight_, size_,
                                             scores_.data());
        if (best > least) {
            const auto at = std::find(scores_.begin(), scores_.end(), best) - scores_.begin();
            const auto end =
                std::upper_bound(ends_.begin(), ends_.end(), static_cast<std::size_t>(at));
            column = columns_[end - ends_.begin()];
        }
    }
    size_ = 0;
    ends_.clear();
    columns_.clear();
    return column;
}

}  // namespace consilience
