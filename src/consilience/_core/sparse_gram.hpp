#pragma once

#include <cstddef>
#include <cstdint>

namespace consilience {

// A canonical CSR matrix (in): entries of row t are indptr[t] ... indptr[t + 1], columns ascending.
template <typename Index>
struct Csr {
    const double* data;
    const Index* indices;
    const Index* indptr;
};

// out (in/out) += A' diag(weight) B, row r of out at out + r * stride; n rows in A and B.
template <typename I, typename J>
void sparse_gram(const Csr<I>& a, const Csr<J>& b, const double* weight, std::size_t n, double* out,
                 std::size_t stride);

// The upper triangle of the same for B = A.
template <typename I>
void sparse_gram(const Csr<I>& a, const double* weight, std::size_t n, double* out,
                 std::size_t stride);

}  // namespace consilience
