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

// out (in/out) += (A - mean_a)' diag(weight) (B - mean_b), row r of out at out + r * stride; A is
// n x p, B is n x q. Also the weighted column sums of both, and (returned) the sum of the weights.
template <typename I, typename J>
double sparse_gram(const Csr<I>& a, const Csr<J>& b, const double* weight, std::size_t n,
                   const double* mean_a, std::size_t p, const double* mean_b, std::size_t q,
                   double* sums_a, double* sums_b, double* out, std::size_t stride);

// The upper triangle of the same for B = A.
template <typename I>
double sparse_gram(const Csr<I>& a, const double* weight, std::size_t n, const double* mean,
                   std::size_t p, double* sums, double* out, std::size_t stride);

}  // namespace consilience
