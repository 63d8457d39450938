// What one block of rows adds to the histograms of a level (see levels.hpp).
#include <algorithm>

#include "histogram.hpp"
#include "levels.hpp"
#include "signals.hpp"

namespace consilience {
namespace {

template <typename Visit>
void for_each_row(const Problem& p, Visit visit) {
    if (p.cost)
        for (const std::uint32_t i : p.rows) visit(i);
    else
        for (std::size_t i = 0; i < p.n; ++i)
            if (p.weight[i]) visit(i);
}

}  // namespace

std::vector<std::int64_t> level_totals(const LevelRows& rows, const Problem& p) {
    const std::size_t width = p.n_channels() + 2;
    std::vector<std::int64_t> totals(rows.n_places * width, 0);
    if (rows.n_places == 0) return totals;
    for_each_row(p, [&](std::size_t i) {
        const std::int32_t place = rows.place[rows.leaf[i]];
        if (place < 0) return;
        std::int64_t* sums = totals.data() + place * width;
        if (!p.cost) sums[p.codes[i]] += p.weight[i];
        for (int c = 0; p.cost && c < p.n_sums; ++c) sums[c] += p.weight[c * p.n + i];
        if (p.counted) ++sums[p.n_sums];
        ++sums[width - 2];
        if (p.cost) sums[width - 1] += p.least_cost[i];
    });
    return totals;
}

void dense_level(const std::uint8_t* bins, const HistogramLayout& layout, const LevelRows& rows,
                 const Problem& p, std::int64_t* hist) {
    // rows by slot and group, ascending
    const std::size_t n_groups = p.n_groups;
    std::vector<std::int32_t> part(p.n, -1);
    std::vector<std::size_t> ends(rows.n_slots * n_groups + 1, 0);
    for_each_row(p, [&](std::size_t i) {
        const std::int32_t slot = rows.slot[rows.leaf[i]];
        if (slot < 0) return;
        part[i] = slot * p.n_groups + (p.cost ? 0 : p.codes[i]);
        ++ends[part[i] + 1];
    });
    for (std::size_t k = 1; k < ends.size(); ++k) ends[k] += ends[k - 1];
    std::vector<std::size_t> next(ends.begin(), ends.end() - 1);
    std::vector<std::uint32_t> sorted(ends.back());
    for (std::size_t i = 0; i < p.n; ++i)
        if (part[i] >= 0) sorted[next[part[i]]++] = static_cast<std::uint32_t>(i);
    std::vector<std::int64_t> scratch(channel_size);
    SignalCheck signals;
    for (std::size_t block = 0; block < layout.n_blocks(); ++block) {
        const std::uint8_t* codes = bins + block * p.n * lanes;
        const int widest = layout.widest(block);
        const std::size_t width = layout.channel(block);
        for (std::size_t slot = 0; slot < rows.n_slots; ++slot) {
            const std::size_t first = slot * n_groups, last = first + n_groups;
            std::int64_t* out = hist + slot * layout.size() + layout.offset(block);
            signals.add(1000 + 4 * p.n_channels() * (ends[last] - ends[first]));
            for (int c = 0; c < p.n_channels(); ++c) {
                const bool counts = c == p.n_sums;
                const std::size_t begin = first + (p.cost || counts ? 0 : c),
                                  end = p.cost || counts ? last : begin + 1;
                const std::uint32_t* some = sorted.data() + ends[begin];
                const std::size_t n_rows = ends[end] - ends[begin];
                clear_channel(scratch.data(), widest);
                if (counts)
                    add_counts(codes, some, n_rows, scratch.data());
                else
                    add_weights(codes, some, n_rows, p.weight.data() + (p.cost ? c * p.n : 0),
                                scratch.data());
                std::copy(scratch.begin(), scratch.begin() + widest * lanes, out + c * width);
                std::copy(scratch.begin() + missing_bin * lanes, scratch.end(),
                          out + c * width + widest * lanes);
            }
        }
    }
}

// The entries first, then the zeros: what is left of the node's total.
void sparse_level(const SparseCodes& entries, std::size_t d, const HistogramLayout& layout,
                  const LevelRows& rows, const Problem& p, std::int64_t* hist) {
    const int n_channels = p.n_channels();
    std::fill(hist, hist + rows.n_slots * layout.size(), 0);
    std::vector<std::int32_t> slot_of(p.n, -1);
    std::vector<std::int64_t> totals(rows.n_slots * n_channels, 0), seen;
    const auto add = [&](std::size_t row, std::int64_t* sums, std::size_t step) {
        if (!p.cost) sums[p.codes[row] * step] += p.weight[row];
        for (int c = 0; p.cost && c < p.n_sums; ++c) sums[c * step] += p.weight[c * p.n + row];
        if (p.counted) ++sums[p.n_sums * step];
    };
    for_each_row(p, [&](std::size_t row) {
        slot_of[row] = rows.slot[rows.leaf[row]];
        if (slot_of[row] >= 0) add(row, totals.data() + slot_of[row] * n_channels, 1);
    });
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
        for (std::size_t slot = 0; slot < rows.n_slots; ++slot)
            for (int c = 0; c < n_channels; ++c)
                first[slot * layout.size() + c * width + zero_bin * lanes] +=
                    totals[slot * n_channels + c] - seen[slot * n_channels + c];
    }
}

}  // namespace consilience
