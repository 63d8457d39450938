// What one block of rows adds to the sums of a level (see growing_rows.hpp).
#include "growing_rows.hpp"

#include <algorithm>

#include "histogram.hpp"
#include "signals.hpp"

namespace consilience {

void GrowingRows::start(const std::int32_t* codes, const double* weights, const std::uint8_t* rows,
                        std::size_t n, int n_classes, const TreeParams& params) {
    codes_.assign(codes, codes + n);
    set_weighted_problem(p_, codes_.data(), weights, rows, n, n_classes, params);
    start_root();
}

void GrowingRows::start(const double* costs, const std::uint8_t* rows, std::size_t n, int n_classes,
                        const TreeParams& params) {
    set_cost_problem(p_, costs, rows, n, n_classes, params);
    start_root();
}

void GrowingRows::start_root() {
    spare_.resize(p_.rows.size() + 1);
    segments_.assign(1, p_.group_start);
}

void GrowingRows::route(const TreeView& tree, std::size_t n_nodes, const std::uint8_t* bins) {
    segments_.resize(n_nodes);
    SignalCheck signals;
    for (std::size_t node = 0; node < n_nodes; ++node) {
        if (tree.feature[node] < 0 || segments_[node].empty()) continue;
        signals.add(4 * (segments_[node].back() - segments_[node].front()));
        const std::size_t f = tree.feature[node];
        const CodeRule rule = {tree.bin[node], tree.missing_left[node] != 0};
        auto children = divide_rows(bins + (f / lanes) * p_.n * lanes + f % lanes, rule,
                                    segments_[node], p_.rows.data(), spare_.data());
        segments_[node].clear();
        segments_[tree.left[node]] = std::move(children[0]);
        segments_[tree.right[node]] = std::move(children[1]);
    }
}

// From the root, as the entries of a column are read for all nodes at once; rows sorted by leaf.
void GrowingRows::route(const TreeView& tree, std::size_t n_nodes, const SparseCodes& entries) {
    leaf_.resize(p_.n);
    apply_sparse_bins(tree, entries, p_.n, {leaf_.data(), 1, true});
    const std::size_t n_groups = p_.n_groups;
    std::vector<std::size_t> ends(n_nodes * n_groups + 1, 0);
    const auto part = [&](std::uint32_t row) {
        return leaf_[row] * n_groups + (p_.cost ? 0 : p_.codes[row]);
    };
    for (const std::uint32_t row : p_.rows) ++ends[part(row) + 1];
    for (std::size_t k = 1; k < ends.size(); ++k) ends[k] += ends[k - 1];
    segments_.resize(n_nodes);
    for (std::size_t node = 0; node < n_nodes; ++node) {
        segments_[node].clear();
        if (tree.feature[node] < 0)
            segments_[node].assign(ends.begin() + node * n_groups,
                                   ends.begin() + (node + 1) * n_groups + 1);
    }
    for (const std::uint32_t row : p_.rows) spare_[ends[part(row)]++] = row;
    std::copy(spare_.begin(), spare_.end() - 1, p_.rows.begin());
}

template <typename Visit>
void GrowingRows::for_each_row(std::int32_t node, Visit visit) const {
    const Segments& own = segments_[node];
    for (std::size_t g = 0; g + 1 < own.size(); ++g)
        for (std::size_t i = own[g]; i < own[g + 1]; ++i) visit(p_.rows[i], g);
}

std::vector<std::int64_t> GrowingRows::totals(const LevelNodes& level) const {
    const std::size_t width = p_.n_channels() + 2;
    std::vector<std::int64_t> totals(level.n_places * width, 0);
    for (std::size_t node = 0; node < level.n_nodes; ++node) {
        if (level.place[node] < 0) continue;
        std::int64_t* sums = totals.data() + level.place[node] * width;
        for_each_row(static_cast<std::int32_t>(node), [&](std::size_t row, std::size_t group) {
            if (!p_.cost) sums[group] += p_.weight[row];
            for (int c = 0; p_.cost && c < p_.n_sums; ++c) sums[c] += p_.weight[c * p_.n + row];
            if (p_.counted) ++sums[p_.n_sums];
            ++sums[width - 2];
            if (p_.cost) sums[width - 1] += p_.least_cost[row];
        });
    }
    return totals;
}

void GrowingRows::histograms(const LevelNodes& level, const HistogramLayout& layout,
                             const std::uint8_t* bins, std::int64_t* hist) const {
    std::vector<std::int64_t> scratch(channel_size);
    SignalCheck signals;
    for (std::size_t block = 0; block < layout.n_blocks(); ++block) {
        const std::uint8_t* codes = bins + block * p_.n * lanes;
        const int widest = layout.widest(block);
        const std::size_t width = layout.channel(block);
        for (std::size_t node = 0; node < level.n_nodes; ++node) {
            if (level.slot[node] < 0) continue;
            const Segments& own = segments_[node];
            std::int64_t* out = hist + level.slot[node] * layout.size() + layout.offset(block);
            for (int c = 0; c < p_.n_channels(); ++c) {
                clear_channel(scratch.data(), widest);
                if (!own.empty()) {
                    const bool counts = c == p_.n_sums, all = p_.cost || counts;
                    const std::size_t begin = all ? own.front() : own[c],
                                      end = all ? own.back() : own[c + 1];
                    const std::uint32_t* rows = p_.rows.data() + begin;
                    signals.add(1000 + 4 * (end - begin));
                    if (counts)
                        add_counts(codes, rows, end - begin, scratch.data());
                    else
                        add_weights(codes, rows, end - begin,
                                    p_.weight.data() + (p_.cost ? c * p_.n : 0), scratch.data());
                }
                std::copy(scratch.begin(), scratch.begin() + widest * lanes, out + c * width);
                std::copy(scratch.begin() + missing_bin * lanes, scratch.end(),
                          out + c * width + widest * lanes);
            }
        }
    }
}

// The entries first, then the zeros: what is left of the node's total.
void GrowingRows::histograms(const LevelNodes& level, const HistogramLayout& layout,
                             const SparseCodes& entries, std::size_t d, std::int64_t* hist) const {
    const int n_channels = p_.n_channels();
    std::fill(hist, hist + level.n_slots * layout.size(), 0);
    std::vector<std::int32_t> slot_of(p_.n, -1);
    std::vector<std::int64_t> totals(level.n_slots * n_channels, 0), seen;
    const auto add = [&](std::size_t row, std::int64_t* sums, std::size_t step) {
        if (!p_.cost) sums[p_.codes[row] * step] += p_.weight[row];
        for (int c = 0; p_.cost && c < p_.n_sums; ++c) sums[c * step] += p_.weight[c * p_.n + row];
        if (p_.counted) ++sums[p_.n_sums * step];
    };
    for (std::size_t node = 0; node < level.n_nodes; ++node) {
        const std::int32_t slot = level.slot[node];
        if (slot < 0) continue;
        for_each_row(static_cast<std::int32_t>(node), [&](std::size_t row, std::size_t) {
            slot_of[row] = slot;
            add(row, totals.data() + slot * n_channels, 1);
        });
    }
    SignalCheck signals;
    for (std::size_t f = 0; f < d; ++f) {
        const std::size_t block = f / lanes, lane = f % lanes, width = layout.channel(block);
        std::int64_t* first = hist + layout.offset(block) + lane;
        seen.assign(totals.size(), 0);
        signals.add(4 * static_cast<std::size_t>(entries.indptr[f + 1] - entries.indptr[f]));
        for (std::int64_t e = entries.indptr[f]; e < entries.indptr[f + 1]; ++e) {
            const std::size_t row = entries.rows[e];
            if (slot_of[row] < 0) continue;
            const int code = entries.codes[e];
            const int bin = code == missing_bin ? layout.widest(block) : code;
            add(row, first + slot_of[row] * layout.size() + bin * lanes, width);
            add(row, seen.data() + slot_of[row] * n_channels, 1);
        }
        const int zero_bin = std::min<int>(entries.zero_bin[f], layout.widest(block));
        for (std::size_t slot = 0; slot < level.n_slots; ++slot)
            for (int c = 0; c < n_channels; ++c)
                first[slot * layout.size() + c * width + zero_bin * lanes] +=
                    totals[slot * n_channels + c] - seen[slot * n_channels + c];
    }
}

}  // namespace consilience
