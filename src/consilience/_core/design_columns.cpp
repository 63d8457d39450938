#include "design_columns.hpp"

#include "dispatch.hpp"

namespace consilience {
namespace {

constexpr std::size_t sums = 8;

inline double add_up(const double* s) {
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

}  // namespace

CONSILIENCE_CLONES
double dot(const double* a, const double* b, std::size_t n) {
    double s[sums] = {};
    std::size_t i = 0;
    for (; i + sums <= n; i += sums)
        for (std::size_t l = 0; l < sums; ++l) s[l] += a[i + l] * b[i + l];
    for (std::size_t l = 0; i < n; ++i, ++l) s[l] += a[i] * b[i];
    return add_up(s);
}

CONSILIENCE_CLONES
double weighted_square(const double* m, const double* a, std::size_t n) {
    double s[sums] = {};
    std::size_t i = 0;
    for (; i + sums <= n; i += sums)
        for (std::size_t l = 0; l < sums; ++l) s[l] += m[i + l] * a[i + l] * a[i + l];
    for (std::size_t l = 0; i < n; ++i, ++l) s[l] += m[i] * a[i] * a[i];
    return add_up(s);
}

CONSILIENCE_CLONES
void add_scaled(double* __restrict out, const double* __restrict m, const double* __restrict a,
                double factor, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) out[i] += factor * (m[i] * a[i]);
}

CONSILIENCE_CLONES
void add_column(double* __restrict out, const double* __restrict a, double factor, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) out[i] += factor * a[i];
}

double column_dot(const DesignView& view, std::size_t j, const double* r, double total,
                  std::size_t n) {
    if (view.dense) return dot(view.dense + j * n, r, n);
    double sum = 0;
    for (std::int64_t e = view.indptr[j]; e < view.indptr[j + 1]; ++e)
        sum += view.data[e] * r[view.indices[e]];
    return sum - view.mean[j] * total;
}

void add_view_column(const DesignView& view, std::size_t j, double factor, double* out,
                     std::size_t n) {
    if (view.dense) return add_column(out, view.dense + j * n, factor, n);
    for (std::int64_t e = view.indptr[j]; e < view.indptr[j + 1]; ++e)
        out[view.indices[e]] += factor * view.data[e];
    const double shift = factor * view.mean[j];
    if (shift == 0) return;
    for (std::size_t i = 0; i < n; ++i)
        if (view.present[i]) out[i] -= shift;
}

double present_total(const DesignView& view, const double* r, std::size_t n) {
    if (view.dense) return 0;
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i)
        if (view.present[i]) sum += r[i];
    return sum;
}

}  // namespace consilience
