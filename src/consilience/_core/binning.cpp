// Values to bins of at most 255 codes per feature, NaN to its own code.
//
// given    a feature's values; `limit` <= 255
// computes distinct values in order, shared out to bins (edges.hpp), and every value's bin
//
// The values are sorted by their bits: an order-preserving map to unsigned integers, a radix sort
// on the upper 32 bits that carries the row along, and a comparison sort inside the (short) runs
// that agree in those bits. Absent rows and NaN take no part. Where nobody asks for the bins of the
// rows, bits of float32 values are sorted alone.
#include "binning.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "coding.hpp"
#include "edges.hpp"
#include "signals.hpp"

namespace consilience {
namespace {

std::uint32_t upper_bits(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

float from_upper_bits(std::uint32_t bits) {
    bits = bits & 0x80000000u ? bits & 0x7fffffffu : ~bits;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

std::uint32_t upper_bits(double value) {
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    bits = bits & 0x8000000000000000u ? ~bits : bits | 0x8000000000000000u;
    return static_cast<std::uint32_t>(bits >> 32);
}

// Sorts upper bits, or (upper bits << 32 | row) by them: three digits of 11, 11 and 10 bits.
template <typename Item>
void radix_sort(std::vector<Item>& items, std::vector<Item>& spare) {
    constexpr int lowest = 8 * sizeof(Item) - 32, digits = 3, size = 2048;
    constexpr int shifts[digits] = {lowest, lowest + 11, lowest + 22};
    std::uint32_t counts[digits][size] = {};
    for (const Item item : items)
        for (int d = 0; d < digits; ++d) ++counts[d][(item >> shifts[d]) & (size - 1)];
    spare.resize(items.size());
    for (int d = 0; d < digits; ++d) {
        std::uint32_t* count = counts[d];
        if (count[(items[0] >> shifts[d]) & (size - 1)] == items.size()) continue;
        std::uint32_t offset = 0;
        for (int digit = 0; digit < size; ++digit) {
            const std::uint32_t held = count[digit];
            count[digit] = offset;
            offset += held;
        }
        for (const Item item : items)
            spare[count[(item >> shifts[d]) & (size - 1)]++] = item;
        items.swap(spare);
    }
}

template <typename T>
void sort_runs(std::vector<std::uint64_t>& items, const T* values) {
    const auto less = [values](std::uint64_t a, std::uint64_t b) {
        const T x = values[static_cast<std::uint32_t>(a)],
                y = values[static_cast<std::uint32_t>(b)];
        return x < y || (x == y && a < b);
    };
    for (std::size_t i = 0; i < items.size();) {
        std::size_t end = i + 1;
        while (end < items.size() && items[end] >> 32 == items[i] >> 32) ++end;
        if (end - i > 1) std::sort(items.begin() + i, items.begin() + end, less);
        i = end;
    }
}

constexpr std::size_t sort_cost = 32;  // nanoseconds for a value, roughly

// One feature at a time; the buffers are kept from feature to feature.
template <typename T>
class Binner {
public:
    explicit Binner(int limit) : limit_(limit) {}

    // values (n, in): entry i has mass[i], or 1; rows that hold 0 without being listed have the
    // mass `zeros` together. Bins get nearly equal masses. Writes the limits of the bins;
    // afterwards each(entry, bin) visits the entries in order.
    void fit(const T* values, const std::int64_t* mass, const std::uint8_t* skip, std::size_t n,
             std::int64_t zeros, BinLimits& limits) {
        signals_.add(sort_cost * n);
        items_.clear();
        for (std::size_t i = 0; i < n; ++i) {
            if ((skip && skip[i]) || std::isnan(values[i])) continue;
            items_.push_back(static_cast<std::uint64_t>(upper_bits(values[i])) << 32 | i);
        }
        if (items_.size() > 1) {
            radix_sort(items_, spare_);
            if (sizeof(T) > 4) sort_runs(items_, values);
        }
        find_distinct(values, mass, zeros);
        share(limits);
    }

    // The limits alone, of values with equal masses.
    void fit_limits(const float* values, std::size_t n, BinLimits& limits) {
        signals_.add(sort_cost / 2 * n);
        bits_.resize(n);
        std::size_t size = 0;
        for (std::size_t i = 0; i < n; ++i) {
            bits_[size] = upper_bits(values[i]);
            size += !std::isnan(values[i]);
        }
        bits_.resize(size);
        if (size > 1) radix_sort(bits_, spare_bits_);
        start_values();
        for (std::size_t i = 0; i < size; ++i) {
            if (i == 0 || bits_[i] != bits_[i - 1]) start_value(from_upper_bits(bits_[i]), 0);
            ++masses_.back();
        }
        share(limits);
    }

    // The bin of the implicit zeros, or 0 if there is no zero.
    int zero_bin() const {
        std::size_t value = 0;
        for (std::size_t bin = 0; bin < widths_.size(); ++bin)
            for (int i = 0; i < widths_[bin]; ++i)
                if (distinct_[value++] == 0) return static_cast<int>(bin);
        return 0;
    }

    template <typename Visit>
    void each(Visit visit) const {
        std::size_t item = 0, value = 0;
        for (std::size_t bin = 0; bin < widths_.size(); ++bin)
            for (int i = 0; i < widths_[bin]; ++i, ++value)
                for (std::int64_t j = 0; j < stored_[value]; ++j)
                    visit(static_cast<std::uint32_t>(items_[item++]),
                          static_cast<std::uint8_t>(bin));
    }

private:
    void find_distinct(const T* values, const std::int64_t* mass, std::int64_t zeros) {
        start_values();
        bool zeros_placed = zeros == 0;
        for (const std::uint64_t item : items_) {
            const std::uint32_t entry = static_cast<std::uint32_t>(item);
            const double value = values[entry];
            if (!zeros_placed && value >= 0) {
                start_value(0, zeros);
                zeros_placed = true;
            }
            if (distinct_.empty() || distinct_.back() != value) start_value(value, 0);
            masses_.back() += mass ? mass[entry] : 1;
            ++stored_.back();
        }
        if (!zeros_placed) start_value(0, zeros);
    }

    void share(BinLimits& limits) {
        widths_ = share_bins(masses_, limit_);
        std::size_t first = 0;
        for (const int width : widths_) {
            limits.least.push_back(distinct_[first]);
            limits.greatest.push_back(distinct_[first + width - 1]);
            first += width;
        }
        limits.start.push_back(static_cast<std::int64_t>(limits.least.size()));
    }

    void start_values() {
        distinct_.clear();
        masses_.clear();
        stored_.clear();
    }

    void start_value(double value, std::int64_t mass) {
        distinct_.push_back(value);
        masses_.push_back(mass);
        stored_.push_back(0);
    }

    int limit_;
    std::vector<std::uint64_t> items_, spare_;
    std::vector<std::uint32_t> bits_, spare_bits_;
    std::vector<double> distinct_;
    std::vector<std::int64_t> masses_, stored_;  // by value: mass with zeros, listed entries
    std::vector<int> widths_;
    SignalCheck signals_;
};

// visit(feature, values) for every feature. Eight neighbours share a cache line of a row, so they
// are fetched together; adding 0 turns -0 into +0, which the sort would keep apart.
template <typename T, typename Visit>
void each_column(Columns<T> x, const std::uint8_t* skip, Visit visit) {
    std::vector<T> block(lanes * x.n);
    for (std::size_t first = 0; first < x.d; first += lanes) {
        const std::size_t width = std::min<std::size_t>(lanes, x.d - first);
        for (std::size_t i = 0; i < x.n; ++i)
            for (std::size_t j = 0; j < width; ++j)
                block[j * x.n + i] =
                    skip && skip[i]
                        ? T(0)
                        : x.data[static_cast<std::ptrdiff_t>(i) * x.row_stride +
                                 static_cast<std::ptrdiff_t>(first + j) * x.column_stride] +
                              T(0);
        for (std::size_t j = 0; j < width; ++j) visit(first + j, block.data() + j * x.n);
    }
}

template <typename T>
BinLimits bin_columns(Columns<T> x, const std::int64_t* mass, const std::uint8_t* present, int limit,
                      std::uint8_t* bins) {
    BinLimits limits;
    Binner<T> binner(limit);
    std::vector<std::uint8_t> absent(present ? x.n : 0);
    for (std::size_t i = 0; i < absent.size(); ++i) absent[i] = !present[i];
    const std::uint8_t* skip = present ? absent.data() : nullptr;
    std::fill_n(bins, (x.d + lanes - 1) / lanes * lanes * x.n,
                static_cast<std::uint8_t>(missing_bin));
    each_column(x, skip, [&](std::size_t f, const T* values) {
        std::uint8_t* codes = bins + f / lanes * lanes * x.n + f % lanes;
        binner.fit(values, mass, skip, x.n, 0, limits);
        binner.each([&](std::uint32_t row, std::uint8_t bin) { codes[row * lanes] = bin; });
    });
    return limits;
}

template <typename T>
BinLimits limits_of_columns(Columns<T> x, const std::int64_t* mass, int limit) {
    BinLimits limits;
    Binner<T> binner(limit);
    each_column(x, nullptr, [&](std::size_t, const T* values) {
        if constexpr (sizeof(T) == sizeof(float)) {
            if (!mass) return binner.fit_limits(values, x.n, limits);
        }
        binner.fit(values, mass, nullptr, x.n, 0, limits);
    });
    return limits;
}

}  // namespace

// The entries of the last column from both ends towards the zeros, ends of bins marked.
void append_outside_in(SparseBins& out) {
    const std::size_t begin = out.indptr.back(), middle = out.middle.back(), end = out.rows.size();
    const auto append = [&out](std::size_t entry, bool last_of_bin) {
        const std::uint32_t mark = last_of_bin ? 0x80000000u : 0;
        out.outside_in.push_back(static_cast<std::uint32_t>(out.rows[entry]) | mark);
    };
    for (std::size_t e = begin; e < middle; ++e)
        append(e, e + 1 == middle || out.codes[e + 1] != out.codes[e]);
    for (std::size_t e = end; e > middle; --e)
        append(e - 1, e - 1 == middle || out.codes[e - 2] != out.codes[e - 1]);
}

BinLimits bin_dense(Columns<float> x, const std::int64_t* mass, const std::uint8_t* present, int limit,
                    std::uint8_t* bins) {
    return bin_columns(x, mass, present, limit, bins);
}

BinLimits bin_dense(Columns<double> x, const std::int64_t* mass, const std::uint8_t* present, int limit,
                    std::uint8_t* bins) {
    return bin_columns(x, mass, present, limit, bins);
}

BinLimits find_limits(Columns<float> x, const std::int64_t* mass, int limit) {
    return limits_of_columns(x, mass, limit);
}

BinLimits find_limits(Columns<double> x, const std::int64_t* mass, int limit) {
    return limits_of_columns(x, mass, limit);
}

SparseBins bin_sparse(const double* data, const std::int32_t* indices, const std::int64_t* indptr,
                      std::size_t n, std::size_t d, const std::int64_t* mass,
                      const std::uint8_t* present, int limit) {
    SparseBins out;
    Binner<double> binner(limit);
    std::vector<double> values;
    std::vector<std::int32_t> rows;
    std::vector<std::int64_t> masses;
    std::int64_t n_present = 0, mass_present = 0;
    for (std::size_t i = 0; i < n; ++i) {
        if (present && !present[i]) continue;
        ++n_present;
        mass_present += mass ? mass[i] : 1;
    }
    for (std::size_t f = 0; f < d; ++f) {
        values.clear();
        rows.clear();
        masses.clear();
        std::int64_t listed = 0;
        for (std::int64_t e = indptr[f]; e < indptr[f + 1]; ++e) {
            if (data[e] == 0 || (present && !present[indices[e]])) continue;
            values.push_back(data[e]);
            rows.push_back(indices[e]);
            masses.push_back(mass ? mass[indices[e]] : 1);
            listed += masses.back();
        }
        const bool zeros = n_present > static_cast<std::int64_t>(values.size());
        binner.fit(values.data(), masses.data(), nullptr, values.size(),
                   zeros ? mass_present - listed : 0, out.limits);
        const int zero_bin = zeros ? binner.zero_bin() : missing_bin;
        out.zero_bin.push_back(static_cast<std::uint8_t>(zero_bin));
        binner.each([&](std::uint32_t i, std::uint8_t bin) {
            if (bin == zero_bin) return;
            out.rows.push_back(rows[i]);
            out.codes.push_back(bin);
        });
        const auto first = out.codes.begin() + out.indptr.back();
        out.middle.push_back(std::lower_bound(first, out.codes.end(), zero_bin) -
                             out.codes.begin());
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (!std::isnan(values[i])) continue;
            out.rows.push_back(rows[i]);
            out.codes.push_back(missing_bin);
        }
        append_outside_in(out);
        out.indptr.push_back(static_cast<std::int64_t>(out.rows.size()));
    }
    return out;
}

}  // namespace consilience
