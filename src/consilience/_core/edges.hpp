// The bins of the features, and the thresholds between them.
//
// A bin is described by the least and the greatest training value in it. A threshold t between
// two bins obeys  greatest(b) <= t < least(b + 1), so `value <= t` and `bin <= b` always agree.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace consilience {

constexpr int lanes = 8;          // features side by side in one block
constexpr int missing_bin = 255;  // reserved for NaN
constexpr int max_bins = 255;     // the others

struct Edges {
    const double* least;        // all features one after the other, in
    const double* greatest;     // same layout, in
    const std::int64_t* start;  // feature f owns [start[f], start[f + 1]), in

    int bins(std::size_t f) const { return static_cast<int>(start[f + 1] - start[f]); }
    double low(std::size_t f, int bin) const { return least[start[f] + bin]; }
    double high(std::size_t f, int bin) const { return greatest[start[f] + bin]; }
};

// scikit-learn's rule: halfway, but never rounded up to the greater value.
inline double midpoint(double below, double above) {
    const double middle = below / 2.0 + above / 2.0;
    return middle >= below && middle < above ? middle : below;
}

// `threshold` moved, if it would cut through a bin, to the gap right of `bin`; `bin` moves to the
// last one at or below the threshold. Bins that the node does not hold may lie in between.
inline double settle(const Edges& edges, std::size_t f, double threshold, int& bin) {
    const int last = edges.bins(f) - 1;
    while (bin < last && edges.high(f, bin + 1) <= threshold) ++bin;
    if (bin == last) return threshold;
    const double above = edges.low(f, bin + 1);
    const bool between = edges.high(f, bin) <= threshold && threshold < above;
    return between ? threshold : midpoint(edges.high(f, bin), above);
}

// How sorted distinct values with these counts share at most `limit` bins: the number of values
// in each bin. One bin per value if they fit, else bins of nearly equal counts; a value that would
// fill a bin starts a new one, so that it does not take its lesser neighbours with it.
inline std::vector<int> share_bins(const std::vector<std::int64_t>& counts, int limit) {
    const std::size_t n_values = counts.size();
    if (n_values <= static_cast<std::size_t>(limit)) return std::vector<int>(n_values, 1);
    std::int64_t remaining = 0, held = 0;
    for (const std::int64_t count : counts) remaining += count;
    std::vector<int> widths;
    int width = 0, bins_left = limit;
    const auto close = [&] {
        widths.push_back(width);
        remaining -= held;
        held = width = 0;
        --bins_left;
    };
    for (std::size_t i = 0; i < n_values; ++i) {
        if (width && bins_left > 1 && counts[i] * bins_left >= remaining) close();
        held += counts[i];
        ++width;
        const bool just_enough = n_values - 1 - i < static_cast<std::size_t>(bins_left);
        if (bins_left > 1 && (held * bins_left >= remaining || just_enough)) close();
    }
    if (width) widths.push_back(width);
    return widths;
}

}  // namespace consilience
