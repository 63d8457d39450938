// The search for the best split of a node in one block of features (see dense_search.hpp).
#include "dense_search.hpp"

#include <algorithm>

namespace consilience {

BlockSearch::BlockSearch(const std::uint8_t* bins, std::size_t d, const Edges& edges,
                         const Problem& problem)
    : bins_(bins),
      d_(d),
      edges_(edges),
      p_(problem),
      scratch_(scan_scratch(problem.n_channels())),
      left_(problem.n_channels()) {
    for (std::size_t first = 0; first < d; first += lanes) {
        int widest = 0;
        for (std::size_t f = first; f < std::min(d, first + lanes); ++f)
            widest = std::max(widest, edges.bins(f));
        block_bins_.push_back(widest);
    }
}

void BlockSearch::build(std::int64_t* hist, const DenseMember& m, const std::uint32_t* rows,
                        std::size_t block) const {
    const std::uint8_t* codes = bins_ + block * p_.n * lanes;
    for (const int c : m.channels) {
        clear_channel(hist + c * channel_size, block_bins_[block]);
        const int group = p_.cost ? 0 : c;
        const std::size_t first = m.segments[group], n_rows = m.segments[group + 1] - first;
        const std::int64_t* weight = p_.weight.data() + (p_.cost ? c * p_.n : 0);
        add_weights(codes, rows + first, n_rows, weight, hist + c * channel_size);
    }
    if (!p_.counted) return;
    std::int64_t* counts = hist + p_.n_sums * channel_size;
    clear_channel(counts, block_bins_[block]);
    add_counts(codes, rows + m.segments.front(), m.size(), counts);
}

void BlockSearch::subtract(std::int64_t* hist, const std::int64_t* small, const DenseMember& m,
                           std::size_t block) const {
    for (const int c : m.channels)
        subtract_channel(hist + c * channel_size, small + c * channel_size, block_bins_[block]);
    const std::size_t counts = p_.n_sums * channel_size;
    if (p_.counted) subtract_channel(hist + counts, small + counts, block_bins_[block]);
}

bool BlockSearch::holds(const std::int64_t* hist, const DenseMember& m, int bin, int lane) const {
    if (p_.counted) return hist[p_.n_sums * channel_size + bin * lanes + lane] > 0;
    return std::any_of(m.channels.begin(), m.channels.end(),
                       [&](int c) { return hist[c * channel_size + bin * lanes + lane] > 0; });
}

void BlockSearch::search(DenseMember& m, const std::int64_t* hist, std::size_t block,
                         LaneMask mask) {
    const int width = static_cast<int>(std::min<std::size_t>(lanes, d_ - block * lanes));
    bool missing = false;
    for (int j = 0; j < width; ++j) missing = missing || holds(hist, m, missing_bin, j);
    double scores[lanes];
    const std::int64_t* counts = p_.counted ? hist + p_.n_sums * channel_size : nullptr;
    const double total_count = p_.counted ? static_cast<double>(m.total[p_.n_sums]) : 0;
    const ScanInput in = {hist,
                          m.channels.data(),
                          static_cast<int>(m.channels.size()),
                          m.totals.data(),
                          block_bins_[block],
                          p_.cost,
                          missing,
                          static_cast<double>(p_.min_weight),
                          static_cast<double>(p_.min_count),
                          counts,
                          total_count};
    scan_best(in, scratch_.data(), scores);
    for (int j = 0; j < width; ++j) {
        const std::size_t f = block * lanes + j;
        if (has_lane(mask, j) && scores[j] > m.best.score) m.best = locate(m, hist, f, scores[j]);
    }
}

// The first split of feature f with this score: lowest bin, then NaN to the right.
Split BlockSearch::locate(const DenseMember& m, const std::int64_t* hist, std::size_t f,
                          double score) const {
    const int lane = static_cast<int>(f % lanes), n_bins = edges_.bins(f);
    const bool missing = holds(hist, m, missing_bin, lane);
    Split split;
    split.score = score;
    split.feature = static_cast<std::int32_t>(f);
    std::vector<std::int64_t> left(p_.n_channels(), 0);
    for (int bin = 0; bin < n_bins; ++bin) {
        if (!holds(hist, m, bin, lane)) continue;
        add_bin(left, m, hist, bin, lane);
        for (int go_left = 0; go_left <= (missing ? 1 : 0); ++go_left) {
            split.left = left;
            if (go_left) add_bin(split.left, m, hist, missing_bin, lane);
            if (split_score(p_, split.left.data(), m.total.data()) != score) continue;
            split.bin = bin;
            int next = bin + 1;
            while (next < n_bins && !holds(hist, m, next, lane)) ++next;
            place_threshold(edges_, next < n_bins ? next : -1, split);
            split.missing_left = missing ? go_left : heavier_left(m, split.left);
            return split;
        }
    }
    return split;  // not reached: the score was found among these
}

void BlockSearch::add_bin(std::vector<std::int64_t>& sums, const DenseMember& m,
                          const std::int64_t* hist, int bin, int lane) const {
    for (const int c : m.channels) sums[c] += hist[c * channel_size + bin * lanes + lane];
    if (p_.counted) sums[p_.n_sums] += hist[p_.n_sums * channel_size + bin * lanes + lane];
}

bool BlockSearch::heavier_left(const DenseMember& m, const std::vector<std::int64_t>& left) const {
    return 2 * mass(p_, left.data()) > mass(p_, m.total.data());
}

}  // namespace consilience
