// The two loops of SMO over a working set, padded to whole lanes.
#pragma once

#include <cstddef>

namespace consilience {

struct Extremes {
    std::size_t rising, falling;  // where F is largest among those that can rise, least among ...
    double most, least;
};

// F −= step (K_i − K_j), then the extremes of F + up (0 or −inf) and F + low (0 or inf).
Extremes update_and_scan(double* F, const double* row_i, const double* row_j, double step,
                         const double* up, const double* low, std::size_t width);

// The extremes alone.
Extremes scan(const double* F, const double* up, const double* low, std::size_t width);

// The partner j that gains most: (F_i − F_j)² / (diagonal_i + diagonal_j − 2 K_ij), F_j < F_i.
std::size_t second_order(const double* F, const double* row_i, const double* diagonal,
                         const double* low, double F_i, double diagonal_i, std::size_t width);

}  // namespace consilience
