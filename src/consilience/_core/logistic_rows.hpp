// Logistic and multinomial loss of n rows: probabilities, residuals, curvature and conjugate.
//
// loss      sum_i weight_i (log sum_k exp eta_ik - eta_i,code_i); one output is the log-odds of
//           class 1 against class 0
// matrices  by outputs: entry (k, i) of an outputs x n matrix is at k * n + i
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace consilience {

struct LogisticRows {
    std::size_t n;
    std::size_t outputs;  // 1 for two classes, otherwise the number of classes
    const double* weight;
    const std::int64_t* codes;

    // Loss at eta (in); probabilities (out).
    double evaluate(const double* eta, double* prob) const;
    // weight (prob - target)
    void residuals(const double* prob, double* out) const;
    // Sum of weight x conjugate at factor x (prob - target).
    double conjugate(const double* prob, double factor) const;
};

// Hessian of the loss in the predictions of each row, weight_i (diag(p_i) - p_i p_i'), plus extra_i
// times the identity.
struct Curvature {
    std::size_t n, outputs;
    std::vector<double> mass;      // weight x probability; for one output the whole diagonal
    std::vector<double> prob;      // only used for several outputs
    std::vector<double> diagonal;  // weight p (1 - p), for several outputs
    std::vector<double> extra;     // n, empty if there is none

    void set(const LogisticRows& rows, const double* prob, const std::vector<double>& extra);
    // out += Hessian x (column a_i, the same for all outputs, times delta), all rows.
    void add_dense(const double* a, const double* delta, double* out, double* scratch) const;
    // The same for entries of some rows.
    void add_sparse(const double* data, const std::int32_t* indices, std::size_t count,
                    const double* delta, double* out) const;
    // out += Hessian without extra x direction (outputs x n).
    void add_direction(const double* direction, double* out, double* scratch) const;
    // factor x Hessian of row i, added to a symmetric outputs x outputs matrix.
    void add_row(std::size_t i, double factor, double* matrix) const;
    // Bound of the curvature in the coefficients of a column from its weighted squares.
    double bound(const double* squares, double extra_square) const;
};

}  // namespace consilience
