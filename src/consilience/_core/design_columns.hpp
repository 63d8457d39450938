// Standardised columns of several views, dense or sparse, for coordinate descent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace consilience {

// One view (in). A dense one is n x width by columns: centred, 0 in rows that lack the view. A
// sparse one is CSC; its columns are understood less `mean`, in the rows that have the view.
struct DesignView {
    const double* dense;  // null if the view is sparse
    const double* data;
    const std::int32_t* indices;
    const std::int64_t* indptr;
    const double* mean;
    const std::uint8_t* present;  // n
    std::size_t width;

    std::size_t stored(std::size_t j, std::size_t n) const {
        return dense ? n : static_cast<std::size_t>(indptr[j + 1] - indptr[j]);
    }
};

// Sum of a_i b_i, in eight running sums whatever the CPU.
double dot(const double* a, const double* b, std::size_t n);
// Sum of m_i a_i^2.
double weighted_square(const double* m, const double* a, std::size_t n);
// out_i += factor m_i a_i
void add_scaled(double* out, const double* m, const double* a, double factor, std::size_t n);
// out_i += factor a_i
void add_column(double* out, const double* a, double factor, std::size_t n);

// Sum of column j times r, for a view; `total` is the sum of r over the rows that have the view.
double column_dot(const DesignView& view, std::size_t j, const double* r, double total,
                  std::size_t n);
// out_i += factor x_ij for the rows that have the view.
void add_view_column(const DesignView& view, std::size_t j, double factor, double* out,
                     std::size_t n);
// Sum of r over the rows that have the view; 0 for dense views, which do not need it.
double present_total(const DesignView& view, const double* r, std::size_t n);

}  // namespace consilience
