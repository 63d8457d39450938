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
        Lanes weight = all_lanes(0), other_weight = weight, squares = weight,
              other_squares = weight;
        const std::int64_t* tile = sums + first * (Two ? 2 : n_channels);
        IntLanes apart[2] = {};
        if (Two) part(load_lanes(tile), load_lanes(tile + lanes), apart[0], apart[1]);
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

Boundaries::Boundaries(const Problem& problem, const std::int64_t* totals)
    : n_channels_(problem.n_sums),
      totals_(totals, totals + n_channels_),
      min_weight_(static_cast<double>(problem.min_weight)),
      score_(no_score),
      sums_(n_channels_ * capacity, 0),
      scores_(capacity, no_score),
      columns_(capacity + lanes, -1) {}

// Scalar on purpose: a vector load of sums that were just stored one by one would wait for them.
#if defined(__GNUC__) && !defined(__clang__)
__attribute__((optimize("no-tree-vectorize")))
#endif
void Boundaries::add(const std::int64_t* sums, std::int32_t column) {
    if (n_channels_ == 2) return add_pair(sums[0], sums[1], column);
    columns_[size_] = column;
    std::int64_t* out = sums_.data() + (size_ / lanes) * lanes * n_channels_ + size_ % lanes;
    for (std::size_t c = 0; c < n_channels_; ++c) out[c * lanes] = sums[c];
    if (++size_ == capacity) flush();
}

// The top bit of an entry marks the last one of its bin: a split lies after it.
void Boundaries::add_two(const std::uint32_t* first, const std::uint32_t* last,
                         const std::int64_t* weight, std::int32_t column) {
    std::int64_t zeros = 0, ones = 0;
    while (first != last) {
        const std::size_t room = capacity - size_, left = last - first;
        const std::uint32_t* stop = first + (left < room ? left : room);
        std::int64_t* out = sums_.data() + 2 * size_;
        for (; first != stop; ++first) {
            const std::size_t row = *first & row_mask;
            zeros += weight[2 * row];
            ones += weight[2 * row + 1];
            out[0] = zeros;
            out[1] = ones;
            out += 2 * (*first >> 31);
        }
        const std::size_t size = (out - sums_.data()) / 2;
        // whole lanes, no loop over the rest: what lies beyond is overwritten
        for (std::size_t i = size_; i < size; i += lanes)
            for (int j = 0; j < lanes; ++j) columns_[i + j] = column;
        size_ = size;
        if (size_ == capacity) flush();
    }
}

void Boundaries::flush() {
    if (size_ == 0) return;
    // the sums that fill up the last lanes are zero: an empty side is never valid
    for (std::size_t i = size_; i % lanes; ++i)
        for (std::size_t c = 0; c < n_channels_; ++c)
            sums_[n_channels_ == 2 ? 2 * i + c
                                   : (i / lanes) * lanes * n_channels_ + c * lanes + i % lanes] = 0;
    const double best =
        score_boundaries(sums_.data(), totals_.data(), static_cast<int>(n_channels_), min_weight_,
                         size_, scores_.data());
    size_ = 0;
    if (!(best > score_)) return;
    score_ = best;
    column_ = columns_[std::find(scores_.begin(), scores_.end(), best) - scores_.begin()];
}

LevelBoundaries::LevelBoundaries(const Problem& problem,
                                 const std::vector<const std::int64_t*>& totals,
                                 const std::vector<std::int32_t>& member_of)
    : p_(problem),
      member_of_(member_of),
      sums_(totals.size() * problem.n_sums, 0),
      last_bin_(totals.size(), -1) {
    for (const std::int64_t* total : totals) nodes_.emplace_back(problem, total);
    const std::size_t width = p_.n_sums == 2 ? 2 : 1;
    weight_.assign(p_.n * width, 0);
    for (std::size_t row = 0; row < p_.n; ++row)
        if (member_of[row] >= 0)
            weight_[row * width + (width == 2 ? p_.codes[row] : 0)] = p_.weight[row];
}

void LevelBoundaries::add(const SparseCodes& entries, std::int32_t column) {
    const std::uint32_t* begin = entries.outside_in + entries.indptr[column];
    const std::uint32_t* middle = entries.outside_in + entries.middle[column];
    const std::uint32_t* end = entries.outside_in + entries.indptr[column + 1];
    signals_.add(2 * static_cast<std::size_t>(end - begin));
    if (nodes_.size() == 1 && p_.n_sums == 2) {
        nodes_[0].add_two(begin, middle, weight_.data(), column);
        nodes_[0].add_two(middle, end, weight_.data(), column);
    } else if (p_.n_sums == 2) {
        collect<true>(begin, middle, column);
        collect<true>(middle, end, column);
    } else {
        collect<false>(begin, middle, column);
        collect<false>(middle, end, column);
    }
}

// A node has a split wherever it meets a new bin, and one after its last entry.
template <bool Two>
void LevelBoundaries::collect(const std::uint32_t* first, const std::uint32_t* last,
                              std::int32_t column) {
    const std::size_t n_channels = Two ? 2 : p_.n_sums;
    const std::int64_t first_bin = bin_;
    met_.clear();
    for (; first != last; ++first) {
        const std::size_t row = *first & row_mask;
        const std::int32_t node = member_of_[row];
        if (node >= 0) {
            std::int64_t* sums = sums_.data() + node * n_channels;
            if (last_bin_[node] != bin_) {
                if (last_bin_[node] >= first_bin) {
                    if (Two)
                        nodes_[node].add_pair(sums[0], sums[1], column);
                    else
                        nodes_[node].add(sums, column);
                } else {
                    met_.push_back(node);
                    std::fill(sums, sums + n_channels, 0);
                }
                last_bin_[node] = bin_;
            }
            if (Two) {
                sums[0] += weight_[2 * row];
                sums[1] += weight_[2 * row + 1];
            } else {
                sums[p_.codes[row]] += weight_[row];
            }
        }
        bin_ += *first >> 31;
    }
    for (const std::int32_t node : met_) nodes_[node].add(sums_.data() + node * n_channels, column);
    ++bin_;
}

std::vector<Boundaries>& LevelBoundaries::finish() {
    for (Boundaries& node : nodes_) node.flush();
    return nodes_;
}

}  // namespace consilience
