// The loops of SMO over all samples. F, up, low and diagonal are padded to whole lanes.
//
// `Value` is the type in which F is kept; rows of float64 ask for double.
#pragma once

#include <cstddef>

#include "edges.hpp"
#include "smo_rows.hpp"

namespace consilience {

inline std::size_t padded(std::size_t n) {
    constexpr std::size_t most = 2 * lanes;  // as many floats lie side by side
    return (n + most - 1) / most * most;
}

struct Extremes {
    std::size_t rising, falling;  // where F is largest of those that can rise, least of those ...
    double most, least;           // ... that can fall; −inf and inf if there are none
    double gap() const { return most - least; }
};

// F −= step (row_i − row_j), then the extremes of F + up (0 or −inf) and F + low (0 or inf). Bounds
// that are nothing else may be float, which is less to read.
template <typename Value, typename Bound>
Extremes update_and_scan(Value* F, Row row_i, Row row_j, double step, const Bound* up,
                         const Bound* low, std::size_t n);

// The same, but only where F + up is largest: what is least comes with the next partner.
template <typename Value, typename Bound>
Extremes update_and_rise(Value* F, Row row_i, Row row_j, double step, const Bound* up,
                         std::size_t n);

// The extremes alone.
template <typename Value, typename Bound>
Extremes scan(const Value* F, const Bound* up, const Bound* low, std::size_t n);

// The partner j that gains most: (F_i − F_j)² / (diagonal_i + diagonal_j − 2 K_ij), F_j < F_i; and
// the least F + low of all. A diagonal that is null is diagonal_i everywhere.
struct Partner {
    std::size_t j;
    double least;
};
template <typename Value, typename Bound>
Partner second_order(const Value* F, Row row_i, const Bound* diagonal, const Bound* low,
                     double F_i, double diagonal_i, std::size_t n);

// k and up to batch − 1 other samples without a row that violate the conditions most: they will
// be asked for next.
template <typename Value, typename Bound>
std::vector<std::int64_t> likely(const Kernels& kernels, std::size_t v, std::size_t k,
                                 const Value* F, const Bound* up, const Bound* low,
                                 const Extremes& ends, std::size_t batch);

// F −= Σ_s change_s row_s, rows of float32.
void subtract_rows(double* F, const std::vector<const float*>& rows,
                   const std::vector<double>& change, std::size_t n);

}  // namespace consilience
