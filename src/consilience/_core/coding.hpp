// Codes of values by given cuts: value -> number of cuts below it, NaN -> missing_bin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "binning.hpp"

namespace consilience {

// Cuts of all features, ascending: feature f owns [start[f], start[f + 1]), at most 254, in
struct Cuts {
    const double* values;
    const std::int64_t* start;
};

// The least and the greatest value of every code, start[f + 1] - start[f] + 1 of them for a feature,
// infinite for codes without values.
struct CodeRanges {
    std::vector<double> least, greatest;
};

// bins (out): blocks x n x 8 codes; present (in): n flags or null
CodeRanges code_dense(Columns<float> x, const Cuts& cuts, const std::uint8_t* present,
                      std::uint8_t* bins);
CodeRanges code_dense(Columns<double> x, const Cuts& cuts, const std::uint8_t* present,
                      std::uint8_t* bins);

// A canonical CSC matrix; limits of the result stay empty, and zeros always have a bin.
CodeRanges code_sparse(const double* data, const std::int32_t* indices, const std::int64_t* indptr,
                       std::size_t n, std::size_t d, const Cuts& cuts, const std::uint8_t* present,
                       SparseBins& out);

// Entries of the last column from both ends towards the zeros, ends of bins marked.
void append_outside_in(SparseBins& out);

}  // namespace consilience
