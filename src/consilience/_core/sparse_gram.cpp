// Weighted products of sparse rows less their means, added up in a dense matrix.
//
// given    A (n x p), B (n x q) by rows, means a_i and b_j, weights w_t
// computes out_ij <- out_ij + sum_t w_t (A_ti - a_i)(B_tj - b_j)
//          sums of w_t (A_ti - a_i) and w_t (B_tj - b_j)
//
// Rows of weight 0 cost nothing, so a Newton step pays for its active samples only; a product of
// sparse matrices would build the result as a sparse matrix first. The means are taken off at the
// end: sum w A'B - a (sum w B) - (sum w (A - a)) b.
#include "sparse_gram.hpp"

#include <algorithm>

#include "signals.hpp"

namespace consilience {
namespace {

template <typename I>
inline std::size_t row_size(const Csr<I>& a, std::size_t t) {
    return static_cast<std::size_t>(a.indptr[t + 1] - a.indptr[t]);
}

template <typename I>
inline void add_row(const Csr<I>& a, std::size_t t, double weight, double* sums) {
    for (I i = a.indptr[t]; i < a.indptr[t + 1]; ++i) sums[a.indices[i]] += weight * a.data[i];
}

void subtract_means(const double* mean_a, std::size_t p, const double* mean_b, std::size_t q,
                    double total, double* sums_a, double* sums_b, bool triangle, double* out,
                    std::size_t stride) {
    for (std::size_t i = 0; i < p; ++i) {
        const double own = mean_a[i], left = sums_a[i] - total * own;
        double* row = out + i * stride;
        for (std::size_t j = triangle ? i : 0; j < q; ++j)
            row[j] -= own * sums_b[j] + left * mean_b[j];
    }
    for (std::size_t i = 0; i < p; ++i) sums_a[i] -= total * mean_a[i];
    if (sums_a == sums_b) return;
    for (std::size_t j = 0; j < q; ++j) sums_b[j] -= total * mean_b[j];
}

}  // namespace

template <typename I, typename J>
double sparse_gram(const Csr<I>& a, const Csr<J>& b, const double* weight, std::size_t n,
                   const double* mean_a, std::size_t p, const double* mean_b, std::size_t q,
                   double* sums_a, double* sums_b, double* out, std::size_t stride) {
    SignalCheck signals;
    double total = 0;
    std::fill(sums_a, sums_a + p, 0.0);
    std::fill(sums_b, sums_b + q, 0.0);
    for (std::size_t t = 0; t < n; ++t) {
        if (weight[t] == 0) continue;
        total += weight[t];
        signals.add(row_size(a, t) * row_size(b, t));
        add_row(b, t, weight[t], sums_b);
        for (I i = a.indptr[t]; i < a.indptr[t + 1]; ++i) {
            const double scaled = weight[t] * a.data[i];
            sums_a[a.indices[i]] += scaled;
            double* row = out + static_cast<std::size_t>(a.indices[i]) * stride;
            for (J j = b.indptr[t]; j < b.indptr[t + 1]; ++j) row[b.indices[j]] += scaled * b.data[j];
        }
    }
    subtract_means(mean_a, p, mean_b, q, total, sums_a, sums_b, false, out, stride);
    return total;
}

template <typename I>
double sparse_gram(const Csr<I>& a, const double* weight, std::size_t n, const double* mean,
                   std::size_t p, double* sums, double* out, std::size_t stride) {
    SignalCheck signals;
    double total = 0;
    std::fill(sums, sums + p, 0.0);
    for (std::size_t t = 0; t < n; ++t) {
        if (weight[t] == 0) continue;
        total += weight[t];
        signals.add(row_size(a, t) * row_size(a, t) / 2);
        for (I i = a.indptr[t]; i < a.indptr[t + 1]; ++i) {
            const double scaled = weight[t] * a.data[i];
            sums[a.indices[i]] += scaled;
            double* row = out + static_cast<std::size_t>(a.indices[i]) * stride;
            // columns ascend: what follows i lies in the upper triangle
            for (I j = i; j < a.indptr[t + 1]; ++j) row[a.indices[j]] += scaled * a.data[j];
        }
    }
    subtract_means(mean, p, mean, p, total, sums, sums, true, out, stride);
    return total;
}

using i32 = std::int32_t;
using i64 = std::int64_t;
#define CONSILIENCE_GRAM(I, J)                                                                   \
    template double sparse_gram(const Csr<I>&, const Csr<J>&, const double*, std::size_t,         \
                                const double*, std::size_t, const double*, std::size_t, double*, \
                                double*, double*, std::size_t);
CONSILIENCE_GRAM(i32, i32)
CONSILIENCE_GRAM(i32, i64)
CONSILIENCE_GRAM(i64, i32)
CONSILIENCE_GRAM(i64, i64)
#undef CONSILIENCE_GRAM
template double sparse_gram(const Csr<i32>&, const double*, std::size_t, const double*,
                            std::size_t, double*, double*, std::size_t);
template double sparse_gram(const Csr<i64>&, const double*, std::size_t, const double*,
                            std::size_t, double*, double*, std::size_t);

}  // namespace consilience
