// Weighted products of sparse rows, added up in a dense matrix.
//
// given    A (n x p), B (n x q) by rows, weights w_t
// computes out_ij <- out_ij + sum_t w_t A_ti B_tj
//
// Rows of weight 0 cost nothing, so a Newton step pays for its active samples only; a product of
// sparse matrices would build the result as a sparse matrix first.
#include "sparse_gram.hpp"

namespace consilience {

template <typename I, typename J>
void sparse_gram(const Csr<I>& a, const Csr<J>& b, const double* weight, std::size_t n, double* out,
                 std::size_t stride) {
    for (std::size_t t = 0; t < n; ++t) {
        if (weight[t] == 0) continue;
        for (I i = a.indptr[t]; i < a.indptr[t + 1]; ++i) {
            const double scaled = weight[t] * a.data[i];
            double* row = out + static_cast<std::size_t>(a.indices[i]) * stride;
            for (J j = b.indptr[t]; j < b.indptr[t + 1]; ++j) row[b.indices[j]] += scaled * b.data[j];
        }
    }
}

template <typename I>
void sparse_gram(const Csr<I>& a, const double* weight, std::size_t n, double* out,
                 std::size_t stride) {
    for (std::size_t t = 0; t < n; ++t) {
        if (weight[t] == 0) continue;
        for (I i = a.indptr[t]; i < a.indptr[t + 1]; ++i) {
            const double scaled = weight[t] * a.data[i];
            double* row = out + static_cast<std::size_t>(a.indices[i]) * stride;
            // columns ascend: what follows i lies in the upper triangle
            for (I j = i; j < a.indptr[t + 1]; ++j) row[a.indices[j]] += scaled * a.data[j];
        }
    }
}

using i32 = std::int32_t;
using i64 = std::int64_t;
#define CONSILIENCE_GRAM(I, J)                                                                      \
    template void sparse_gram(const Csr<I>&, const Csr<J>&, const double*, std::size_t, double*, \
                              std::size_t);
CONSILIENCE_GRAM(i32, i32)
CONSILIENCE_GRAM(i32, i64)
CONSILIENCE_GRAM(i64, i32)
CONSILIENCE_GRAM(i64, i64)
#undef CONSILIENCE_GRAM
template void sparse_gram(const Csr<i32>&, const double*, std::size_t, double*, std::size_t);
template void sparse_gram(const Csr<i64>&, const double*, std::size_t, double*, std::size_t);

}  // namespace consilience
