// Codes of values by given cuts (see coding.hpp): a search by halves without branches.
#include "coding.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "dispatch.hpp"
#include "edges.hpp"
#include "signals.hpp"

namespace consilience {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

constexpr int fan = 16;  // cuts compared at once, twice

// codes (out): the number of cuts (256, in) below each value; 0 for NaN
CONSILIENCE_CLONES
void find_codes(const double* cuts, const double* values, std::size_t n, std::int32_t* codes) {
    double last[fan];  // of every sixteen cuts
    for (int k = 0; k < fan; ++k) last[k] = cuts[fan * k + fan - 1];
    for (std::size_t i = 0; i < n; ++i) {
        const double value = values[i];
        std::int64_t group = 0, within = 0;
        for (int k = 0; k < fan; ++k) group += last[k] < value;
        const double* some = cuts + fan * group;
        for (int k = 0; k < fan; ++k) within += some[k] < value;
        codes[i] = static_cast<std::int32_t>(fan * group + within);
    }
}

// The cuts of one feature, filled up with infinity.
class CutTable {
public:
    CutTable() : cuts_(256, infinite) {}
    void set(const Cuts& cuts, std::size_t f) {
        double* last = std::copy(cuts.values + cuts.start[f], cuts.values + cuts.start[f + 1],
                                 cuts_.data());
        std::fill(last, cuts_.data() + cuts_.size(), infinite);
    }
    int code(double value) const {
        std::int32_t out;
        find_codes(cuts_.data(), &value, 1, &out);
        return out;
    }
    void code(const double* values, std::size_t n, std::int32_t* out) const {
        find_codes(cuts_.data(), values, n, out);
    }

private:
    std::vector<double> cuts_;
};

CodeRanges empty_ranges(const Cuts& cuts, std::size_t d) {
    const std::size_t n_codes = static_cast<std::size_t>(cuts.start[d]) + d;
    return {std::vector<double>(n_codes, infinite), std::vector<double>(n_codes, -infinite)};
}

void extend(CodeRanges& ranges, std::size_t at, double value) {
    // a branch that is hardly ever taken costs less than a store
    if (value < ranges.least[at]) ranges.least[at] = value;
    if (value > ranges.greatest[at]) ranges.greatest[at] = value;
}

template <typename T>
CodeRanges code_columns(Columns<T> x, const Cuts& cuts, const std::uint8_t* present,
                        std::uint8_t* bins) {
    CodeRanges ranges = empty_ranges(cuts, x.d);
    constexpr std::size_t piece = 1024;  // rows whose values stay in the cache
    std::vector<double> values(lanes * piece);
    std::vector<std::int32_t> found(piece);
    std::vector<CutTable> tables(lanes);
    SignalCheck signals;
    for (std::size_t first = 0; first < x.d; first += lanes) {
        const std::size_t width = std::min<std::size_t>(lanes, x.d - first);
        std::uint8_t* codes = bins + first * x.n;
        std::fill_n(codes, lanes * x.n, static_cast<std::uint8_t>(missing_bin));
        for (std::size_t j = 0; j < width; ++j) tables[j].set(cuts, first + j);
        for (std::size_t begin = 0; begin < x.n; begin += piece) {
            const std::size_t n_rows = std::min(piece, x.n - begin);
            signals.add(8 * lanes * n_rows);
            for (std::size_t i = 0; i < n_rows; ++i) {
                const bool is_present = !present || present[begin + i];
                const T* row = x.data + static_cast<std::ptrdiff_t>(begin + i) * x.row_stride +
                               static_cast<std::ptrdiff_t>(first) * x.column_stride;
                // adding 0 turns -0 into +0
                for (std::size_t j = 0; j < width; ++j)
                    values[j * piece + i] =
                        is_present ? row[static_cast<std::ptrdiff_t>(j) * x.column_stride] + T(0)
                                   : std::numeric_limits<double>::quiet_NaN();
            }
            for (std::size_t j = 0; j < width; ++j) {
                const double* column = values.data() + j * piece;
                const std::size_t at = static_cast<std::size_t>(cuts.start[first + j]) + first + j;
                tables[j].code(column, n_rows, found.data());
                for (std::size_t i = 0; i < n_rows; ++i) {
                    if (std::isnan(column[i])) continue;
                    codes[(begin + i) * lanes + j] = static_cast<std::uint8_t>(found[i]);
                    extend(ranges, at + found[i], column[i]);
                }
            }
        }
    }
    return ranges;
}

}  // namespace

CodeRanges code_dense(Columns<float> x, const Cuts& cuts, const std::uint8_t* present,
                      std::uint8_t* bins) {
    return code_columns(x, cuts, present, bins);
}

CodeRanges code_dense(Columns<double> x, const Cuts& cuts, const std::uint8_t* present,
                      std::uint8_t* bins) {
    return code_columns(x, cuts, present, bins);
}

CodeRanges code_sparse(const double* data, const std::int32_t* indices, const std::int64_t* indptr,
                       std::size_t n, std::size_t d, const Cuts& cuts, const std::uint8_t* present,
                       SparseBins& out) {
    CodeRanges ranges = empty_ranges(cuts, d);
    std::int64_t n_present = 0;
    for (std::size_t i = 0; i < n; ++i) n_present += !present || present[i];
    CutTable table;
    SignalCheck signals;
    std::vector<std::pair<std::uint8_t, std::int32_t>> entries;
    for (std::size_t f = 0; f < d; ++f) {
        const std::size_t first = static_cast<std::size_t>(cuts.start[f]) + f;
        table.set(cuts, f);
        const std::uint8_t zero_bin = static_cast<std::uint8_t>(table.code(0));
        std::int64_t n_entries = 0;
        entries.clear();
        signals.add(30 * static_cast<std::size_t>(indptr[f + 1] - indptr[f]));
        for (std::int64_t e = indptr[f]; e < indptr[f + 1]; ++e) {
            if (data[e] == 0 || (present && !present[indices[e]])) continue;
            ++n_entries;
            std::uint8_t code = missing_bin;
            if (!std::isnan(data[e])) {
                code = static_cast<std::uint8_t>(table.code(data[e]));
                extend(ranges, first + code, data[e]);
            }
            if (code != zero_bin) entries.emplace_back(code, indices[e]);
        }
        if (n_entries < n_present) extend(ranges, first + zero_bin, 0);
        std::sort(entries.begin(), entries.end());
        out.zero_bin.push_back(zero_bin);
        for (const auto& [code, row] : entries) {
            out.rows.push_back(row);
            out.codes.push_back(code);
        }
        const auto column = out.codes.begin() + out.indptr.back();
        out.middle.push_back(std::lower_bound(column, out.codes.end(), zero_bin) -
                             out.codes.begin());
        append_outside_in(out);
        out.indptr.push_back(static_cast<std::int64_t>(out.rows.size()));
    }
    return ranges;
}

}  // namespace consilience
