#pragma once

#include <cstddef>

namespace consilience {

// products (n x m, row-major, in/out), x_norms (n, in), z_norms (m, in)
void rbf_epilogue(double* products, const double* x_norms, const double* z_norms, std::size_t n,
                  std::size_t m, double gamma);
void rbf_epilogue(float* products, const float* x_norms, const float* z_norms, std::size_t n,
                  std::size_t m, float gamma);

// products (V x n x m, in), x_norms (V x n, in), z_norms (V x m, in), factors and weights (V, in),
// out (n x m, out)
void combined_rbf(const float* products, const float* x_norms, const float* z_norms,
                  const float* factors, const float* weights, std::size_t n_views, std::size_t n,
                  std::size_t m, float width, float* out);

}  // namespace consilience
