// Rows of kernel matrices: cut to the working set, and added up.
#include <algorithm>

#include "dispatch.hpp"
#include "smo.hpp"

namespace consilience {
namespace {

// columns of F that stay in the first cache while the rows stream by
constexpr std::size_t chunk = 2048;

template <typename T>
void gather_rows(const WorkingSet& set, const KernelRows& rows, std::size_t width, double* out) {
    for (std::size_t k = 0; k < set.q; ++k) {
        const T* row = rows.row<T>(k);
        double* to = out + k * width;
        for (std::size_t j = 0; j < set.q; ++j) to[j] = row[set.index[j]];
        std::fill(to + set.q, to + width, 0.0);
    }
}

template <typename T>
CONSILIENCE_INLINE void subtract_chunk(const T* const* rows, const double* delta, std::size_t m,
                                       std::size_t size, double* F) {
    std::size_t k = 0;
    for (; k + 4 <= m; k += 4) {
        const T *a = rows[k], *b = rows[k + 1], *c = rows[k + 2], *d = rows[k + 3];
        const double da = delta[k], db = delta[k + 1], dc = delta[k + 2], dd = delta[k + 3];
        for (std::size_t j = 0; j < size; ++j)
            F[j] -= (da * a[j] + db * b[j]) + (dc * c[j] + dd * d[j]);
    }
    for (; k < m; ++k) {
        const T* a = rows[k];
        const double da = delta[k];
        for (std::size_t j = 0; j < size; ++j) F[j] -= da * a[j];
    }
}

CONSILIENCE_CLONES
void subtract(const double* const* rows, const double* delta, std::size_t m, std::size_t size,
              double* F) {
    subtract_chunk(rows, delta, m, size, F);
}

CONSILIENCE_CLONES
void subtract(const float* const* rows, const double* delta, std::size_t m, std::size_t size,
              double* F) {
    subtract_chunk(rows, delta, m, size, F);
}

template <typename T>
void subtract_all(const WorkingSet& set, const KernelRows& rows, const double* delta, double* F) {
    std::vector<const T*> moved;
    std::vector<double> by;
    for (std::size_t k = 0; k < set.q; ++k) {
        if (delta[k] == 0) continue;
        moved.push_back(rows.row<T>(k));
        by.push_back(delta[k]);
    }
    for (std::size_t start = 0; start < set.n; start += chunk) {
        subtract(moved.data(), by.data(), by.size(), std::min(chunk, set.n - start), F + start);
        for (auto& row : moved) row += chunk;
    }
}

}  // namespace

void gather(const WorkingSet& set, const KernelRows& rows, std::size_t width, double* out) {
    rows.single ? gather_rows<float>(set, rows, width, out)
                : gather_rows<double>(set, rows, width, out);
}

void subtract_rows(const WorkingSet& set, const KernelRows& rows, const double* delta, double* F) {
    rows.single ? subtract_all<float>(set, rows, delta, F)
                : subtract_all<double>(set, rows, delta, F);
}

}  // namespace consilience
