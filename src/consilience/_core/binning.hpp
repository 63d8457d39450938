#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace consilience {

// Least and greatest value of every bin, all features one after the other.
struct BinLimits {
    std::vector<double> least, greatest;
    std::vector<std::int64_t> start{0};
};

// A view of n rows and d columns with strides counted in elements.
template <typename T>
struct Columns {
    const T* data;
    std::size_t n, d;
    std::ptrdiff_t row_stride, column_stride;
};

// bins (out): blocks x n x 8 codes; present (in): n flags or null, absent rows are never read;
// mass (in): n positive numbers with a sum below 2^52, or null for 1 each
BinLimits bin_dense(Columns<float> x, const std::int64_t* mass, const std::uint8_t* present, int limit,
                    std::uint8_t* bins);
BinLimits bin_dense(Columns<double> x, const std::int64_t* mass, const std::uint8_t* present,
                    int limit, std::uint8_t* bins);

// The limits alone, of rows that are all present.
BinLimits find_limits(Columns<float> x, const std::int64_t* mass, int limit);
BinLimits find_limits(Columns<double> x, const std::int64_t* mass, int limit);

// Entries of each column ordered by bin, then row, without those that fall into the zeros' bin.
struct SparseBins {
    BinLimits limits;
    std::vector<std::int64_t> indptr{0}, middle;  // middle: where the entries above zero begin
    std::vector<std::int32_t> rows;
    std::vector<std::uint8_t> codes, zero_bin;
    std::vector<std::uint32_t> outside_in;  // see SparseCodes
};

// A canonical CSC matrix: data and indices (nnz), indptr (d + 1), all in
SparseBins bin_sparse(const double* data, const std::int32_t* indices, const std::int64_t* indptr,
                      std::size_t n, std::size_t d, const std::int64_t* mass,
                      const std::uint8_t* present, int limit);

}  // namespace consilience
