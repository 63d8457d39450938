#pragma once

#include "tree.hpp"

namespace consilience {

// bins: blocks x n x 8 codes (in); edges of the d features (in)
Tree grow_dense(const std::uint8_t* bins, std::size_t d, const Edges& edges, const Problem& problem,
                const TreeParams& params);

// Entries of each column by bin (see SparseBins); the rest are zeros in `zero_bin`, all in
constexpr std::uint32_t row_mask = 0x7fffffffu;

struct SparseCodes {
    const std::int64_t* indptr;
    const std::int64_t* middle;  // where the entries above the zeros begin
    const std::int32_t* rows;
    const std::uint8_t* codes;
    const std::uint8_t* zero_bin;
    // the rows again, those above the zeros from the greatest value down; the top bit marks the
    // last entry of a bin
    const std::uint32_t* outside_in;
};
Tree grow_sparse(const SparseCodes& entries, std::size_t d, const Edges& edges,
                 const Problem& problem, const TreeParams& params);

}  // namespace consilience
