#include "smo_rows.hpp"

#include <algorithm>

#include "dispatch.hpp"

namespace consilience {
namespace {

// columns of F that stay in the first cache while the rows stream by
constexpr std::size_t chunk = 2048;

template <typename T>
CONSILIENCE_INLINE void subtract_chunk(const Row* rows, const double* delta, std::size_t m,
                                       std::size_t start, std::size_t end, double* F) {
    const auto at = [&](std::size_t k) { return static_cast<const T*>(rows[k].data); };
    std::size_t k = 0;
    for (; k + 4 <= m; k += 4) {
        const T *a = at(k), *b = at(k + 1), *c = at(k + 2), *d = at(k + 3);
        const double da = delta[k], db = delta[k + 1], dc = delta[k + 2], dd = delta[k + 3];
        for (std::size_t j = start; j < end; ++j)
            F[j] -= (da * a[j] + db * b[j]) + (dc * c[j] + dd * d[j]);
    }
    for (; k < m; ++k) {
        const T* a = at(k);
        const double da = delta[k];
        for (std::size_t j = start; j < end; ++j) F[j] -= da * a[j];
    }
}

CONSILIENCE_CLONES
void subtract(const Row* rows, const double* delta, std::size_t m, std::size_t start,
              std::size_t end, double* F) {
    if (rows[0].single)
        subtract_chunk<float>(rows, delta, m, start, end, F);
    else
        subtract_chunk<double>(rows, delta, m, start, end, F);
}

}  // namespace

void subtract_rows(const std::vector<Row>& rows, const std::vector<double>& delta, std::size_t n,
                   double* F) {
    if (rows.empty()) return;
    for (std::size_t start = 0; start < n; start += chunk)
        subtract(rows.data(), delta.data(), rows.size(), start, std::min(start + chunk, n), F);
}

}  // namespace consilience
