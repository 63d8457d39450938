#include "gaussian_rows.hpp"

#include <algorithm>
#include <cstring>

#include "dispatch.hpp"
#include "exponential.hpp"
#include "signals.hpp"

namespace consilience {
namespace {

// numbers of the panels that are used for all rows before the next ones
constexpr std::size_t part_size = 1 << 16;

#if defined(__GNUC__)
template <int width>
struct Vector {
    typedef float type __attribute__((vector_size(width * sizeof(float))));
};
#else
template <int width>
struct Vector {
    struct type {
        float at[width];
        friend type operator*(float x, type z) {
            for (float& one : z.at) one *= x;
            return z;
        }
        type& operator+=(type other) {
            for (int j = 0; j < width; ++j) at[j] += other.at[j];
            return *this;
        }
    };
};
#endif

// Products of some rows with the columns of two vectors of a panel.
template <int n_rows, int width>
CONSILIENCE_INLINE void products(const float* const (&x)[n_rows], const float* panel,
                                 std::size_t d, float* out) {
    using Wide = typename Vector<width>::type;
    Wide sums[n_rows][2] = {};
    for (std::size_t k = 0; k < d; ++k) {
        Wide left, right;
        std::memcpy(&left, panel + k * panel_width, sizeof left);
        std::memcpy(&right, panel + k * panel_width + width, sizeof right);
        for (int i = 0; i < n_rows; ++i) {
            sums[i][0] += x[i][k] * left;
            sums[i][1] += x[i][k] * right;
        }
    }
    for (int i = 0; i < n_rows; ++i) {
        std::memcpy(out + i * panel_width, &sums[i][0], sizeof(Wide));
        std::memcpy(out + i * panel_width + width, &sums[i][1], sizeof(Wide));
    }
}

// One tile of the result; of rows that are not there the last one is taken.
template <int n_rows, int width>
CONSILIENCE_INLINE void tile(const float* X, const float* x_norms, std::size_t r, std::size_t i,
                             const float* panel, const float* z_norms, std::size_t n_columns,
                             std::size_t d, float* out, std::size_t stride) {
    const float* x[n_rows];
    for (int a = 0; a < n_rows; ++a) x[a] = X + std::min(i + a, r - 1) * d;
    float norms[panel_width] = {};
    std::copy_n(z_norms, n_columns, norms);
    float all[n_rows][panel_width];
    for (std::size_t start = 0; start < panel_width; start += 2 * width)
        products<n_rows, width>(x, panel + start, d, &all[0][start]);
    for (std::size_t a = 0; a < std::min<std::size_t>(n_rows, r - i); ++a) {
        const float x_norm = x_norms[i + a];
        for (std::size_t j = 0; j < panel_width; ++j) {
            const float distance = x_norm + norms[j] - 2.0f * all[a][j];
            // written so that NaN is not less than zero and survives
            all[a][j] = exp_nonpositive(-(distance < 0.0f ? 0.0f : distance));
        }
        if (n_columns == panel_width)
            std::memcpy(out + (i + a) * stride, all[a], sizeof all[a]);
        else
            std::copy_n(all[a], n_columns, out + (i + a) * stride);
    }
}

// Registers hold the sums of n_rows rows and two vectors of columns, the cache next to the core the
// panels of a part of the columns.
template <int n_rows, int width>
CONSILIENCE_INLINE void rows_in_tiles(const float* X, const float* x_norms, std::size_t r,
                                      const float* packed, const float* z_norms, std::size_t n,
                                      std::size_t d, float* out) {
    SignalCheck signals;
    const std::size_t panel_size = panel_width * std::max<std::size_t>(d, 1);
    const std::size_t part = std::max<std::size_t>(part_size / panel_size, 1) * panel_width;
    for (std::size_t begin = 0; begin < n; begin += part) {
        const std::size_t end = std::min(begin + part, n);
        for (std::size_t i = 0; i < r; i += n_rows) {
            signals.add(n_rows * (end - begin));
            for (std::size_t start = begin; start < end; start += panel_width)
                tile<n_rows, width>(X, x_norms, r, i, packed + start * d, z_norms + start,
                                    std::min(panel_width, n - start), d, out + start, n);
        }
    }
}

#if defined(CONSILIENCE_MANY_CPUS)
// target_clones compile the same tiles for every CPU; these differ.
__attribute__((target("arch=x86-64-v4"))) void rows_with_avx512(
    const float* X, const float* x_norms, std::size_t r, const float* packed,
    const float* z_norms, std::size_t n, std::size_t d, float* out) {
    rows_in_tiles<8, 16>(X, x_norms, r, packed, z_norms, n, d, out);
}
__attribute__((target("arch=x86-64-v3"))) void rows_with_avx2(
    const float* X, const float* x_norms, std::size_t r, const float* packed,
    const float* z_norms, std::size_t n, std::size_t d, float* out) {
    rows_in_tiles<4, 8>(X, x_norms, r, packed, z_norms, n, d, out);
}
#endif

}  // namespace

void pack_panels(const float* Z, std::size_t n, std::size_t d, float* packed) {
    std::fill_n(packed, panels(n) * d * panel_width, 0.0f);
    for (std::size_t j = 0; j < n; ++j) {
        float* column = packed + j / panel_width * panel_width * d + j % panel_width;
        for (std::size_t k = 0; k < d; ++k) column[k * panel_width] = Z[j * d + k];
    }
}

void gaussian_rows(const float* X, const float* x_norms, std::size_t r, const float* packed,
                   const float* z_norms, std::size_t n, std::size_t d, float* out) {
#if defined(CONSILIENCE_MANY_CPUS)
    if (__builtin_cpu_supports("x86-64-v4"))
        return rows_with_avx512(X, x_norms, r, packed, z_norms, n, d, out);
    if (__builtin_cpu_supports("x86-64-v3"))
        return rows_with_avx2(X, x_norms, r, packed, z_norms, n, d, out);
#endif
    rows_in_tiles<2, 4>(X, x_norms, r, packed, z_norms, n, d, out);
}

}  // namespace consilience
