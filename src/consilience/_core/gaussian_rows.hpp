// Rows of a Gaussian kernel matrix in single precision.
//
// given    X (r x d) and Z (n x d), their squared norms
// computes out_ij = exp(-max(0, |x_i|² + |z_j|² - 2 x_iᵀz_j))
//
// The rows of Z lie in panels of 32: for each panel d times 32 numbers side by side, so that each
// number of x meets 32 of Z. Products stay in registers and small buffers until the exponential has
// been taken, which a product by BLAS would write to memory and read again.
#pragma once

#include <cstddef>

namespace consilience {

constexpr std::size_t panel_width = 32;

inline std::size_t panels(std::size_t n) {
    return (n + panel_width - 1) / panel_width;
}

// packed (panels(n) * d * 32): the last panel is filled up with zeros
void pack_panels(const float* Z, std::size_t n, std::size_t d, float* packed);

void gaussian_rows(const float* X, const float* x_norms, std::size_t r, const float* packed,
                   const float* z_norms, std::size_t n, std::size_t d, float* out);

}  // namespace consilience
