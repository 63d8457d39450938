// Rows down a fitted tree; shared trees are only read, so any number of threads may predict.
#pragma once

#include <cstddef>
#include <cstdint>

#include "binning.hpp"
#include "grow.hpp"

namespace consilience {

// A fitted tree, all in.
struct TreeView {
    const std::int32_t *feature, *left, *right;
    const double* threshold;
    const std::uint8_t *bin, *missing_left;
};

// The node that every row reaches at each depth 1 ... n_depths (a leaf stays), n x n_depths, out;
// n_depths = 1 and `to_leaf` gives the leaf.
struct Reached {
    std::int32_t* nodes;
    int n_depths;
    bool to_leaf;
};

void apply_dense(const TreeView& tree, Columns<float> x, Reached out);
void apply_dense(const TreeView& tree, Columns<double> x, Reached out);

// A CSR matrix with sorted indices without duplicates: data, indices, indptr (n + 1), all in
void apply_csr(const TreeView& tree, const double* data, const std::int32_t* indices,
               const std::int64_t* indptr, std::size_t n, Reached out);

// The binned training rows, dense (blocks x n x 8) or sparse.
void apply_bins(const TreeView& tree, std::size_t n_nodes, const std::uint8_t* bins, std::size_t n,
                Reached out);
void apply_sparse_bins(const TreeView& tree, const SparseCodes& entries, std::size_t n,
                       Reached out);

}  // namespace consilience
