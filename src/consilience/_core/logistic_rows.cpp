#include "logistic_rows.hpp"

#include <algorithm>
#include <cmath>

#include "design_columns.hpp"
#include "dispatch.hpp"

namespace consilience {
namespace {

double entropy(double q) {
    return q > 0 ? q * std::log(q) : 0.0;
}

// log(1 + exp(eta)) - y eta, without overflow
double logistic_loss(double eta, bool y) {
    const double signed_eta = y ? -eta : eta;
    return std::max(signed_eta, 0.0) + std::log1p(std::exp(-std::abs(signed_eta)));
}

CONSILIENCE_CLONES
void add_several(std::size_t n, std::size_t outputs, const double* mass, const double* prob,
                 const double* a, const double* delta, double* out, double* mean) {
    std::fill(mean, mean + n, 0.0);
    for (std::size_t k = 0; k < outputs; ++k)
        for (std::size_t i = 0; i < n; ++i) mean[i] += prob[k * n + i] * delta[k];
    for (std::size_t k = 0; k < outputs; ++k)
        for (std::size_t i = 0; i < n; ++i)
            out[k * n + i] += a[i] * (mass[k * n + i] * (delta[k] - mean[i]));
}

}  // namespace

double LogisticRows::evaluate(const double* eta, double* prob) const {
    double loss = 0;
    for (std::size_t i = 0; i < n; ++i) {
        if (outputs == 1) {
            prob[i] = 1.0 / (1.0 + std::exp(-eta[i]));
            loss += weight[i] * logistic_loss(eta[i], codes[i] == 1);
            continue;
        }
        double top = eta[i];
        for (std::size_t k = 1; k < outputs; ++k) top = std::max(top, eta[k * n + i]);
        double sum = 0;
        for (std::size_t k = 0; k < outputs; ++k)
            sum += prob[k * n + i] = std::exp(eta[k * n + i] - top);
        for (std::size_t k = 0; k < outputs; ++k) prob[k * n + i] /= sum;
        loss += weight[i] * (std::log(sum) + top - eta[codes[i] * n + i]);
    }
    return loss;
}

void LogisticRows::residuals(const double* prob, double* out) const {
    for (std::size_t k = 0; k < outputs; ++k) {
        const std::int64_t own = outputs == 1 ? 1 : static_cast<std::int64_t>(k);
        for (std::size_t i = 0; i < n; ++i)
            out[k * n + i] = weight[i] * (prob[k * n + i] - (codes[i] == own ? 1.0 : 0.0));
    }
}

double LogisticRows::conjugate(const double* prob, double factor) const {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
        double own = 0;
        for (std::size_t k = 0; k < outputs; ++k) {
            const std::int64_t target = outputs == 1 ? 1 : static_cast<std::int64_t>(k);
            const double q =
                factor * prob[k * n + i] + (codes[i] == target ? 1.0 - factor : 0.0);
            own += entropy(q);
            if (outputs == 1) own += entropy(1.0 - q);
        }
        sum += weight[i] * own;
    }
    return sum;
}

void Curvature::set(const LogisticRows& rows, const double* p, const std::vector<double>& more) {
    n = rows.n;
    outputs = rows.outputs;
    extra = more;
    mass.resize(outputs * n);
    if (outputs == 1) {
        for (std::size_t i = 0; i < n; ++i)
            mass[i] = rows.weight[i] * p[i] * (1 - p[i]) + (extra.empty() ? 0.0 : extra[i]);
        return;
    }
    prob.assign(p, p + outputs * n);
    diagonal.resize(outputs * n);
    for (std::size_t k = 0; k < outputs; ++k)
        for (std::size_t i = 0; i < n; ++i) {
            mass[k * n + i] = rows.weight[i] * p[k * n + i];
            diagonal[k * n + i] = mass[k * n + i] * (1 - p[k * n + i]);
        }
}

void Curvature::add_dense(const double* a, const double* delta, double* out,
                          double* scratch) const {
    if (outputs == 1) return add_scaled(out, mass.data(), a, delta[0], n);
    add_several(n, outputs, mass.data(), prob.data(), a, delta, out, scratch);
    if (!extra.empty())
        for (std::size_t k = 0; k < outputs; ++k)
            add_scaled(out + k * n, extra.data(), a, delta[k], n);
}

void Curvature::add_sparse(const double* data, const std::int32_t* indices, std::size_t count,
                           const double* delta, double* out) const {
    for (std::size_t e = 0; e < count; ++e) {
        const std::size_t i = static_cast<std::size_t>(indices[e]);
        if (outputs == 1) {
            out[i] += delta[0] * (mass[i] * data[e]);
            continue;
        }
        double mean = 0;
        for (std::size_t k = 0; k < outputs; ++k) mean += prob[k * n + i] * delta[k];
        for (std::size_t k = 0; k < outputs; ++k) {
            const double own = extra.empty() ? 0.0 : extra[i] * delta[k];
            out[k * n + i] += data[e] * (mass[k * n + i] * (delta[k] - mean) + own);
        }
    }
}

void Curvature::add_direction(const double* direction, double* out, double* mean) const {
    if (outputs == 1) {
        for (std::size_t i = 0; i < n; ++i)
            out[i] += (mass[i] - (extra.empty() ? 0.0 : extra[i])) * direction[i];
        return;
    }
    std::fill(mean, mean + n, 0.0);
    for (std::size_t k = 0; k < outputs; ++k)
        for (std::size_t i = 0; i < n; ++i) mean[i] += prob[k * n + i] * direction[k * n + i];
    for (std::size_t k = 0; k < outputs; ++k)
        for (std::size_t i = 0; i < n; ++i)
            out[k * n + i] += mass[k * n + i] * (direction[k * n + i] - mean[i]);
}

void Curvature::add_row(std::size_t i, double factor, double* matrix) const {
    if (outputs == 1) {
        matrix[0] += factor * mass[i];
        return;
    }
    for (std::size_t k = 0; k < outputs; ++k) {
        const double scaled = factor * mass[k * n + i];
        for (std::size_t l = 0; l < outputs; ++l) matrix[k * outputs + l] -= scaled * prob[l * n + i];
        matrix[k * outputs + k] += scaled + (extra.empty() ? 0.0 : factor * extra[i]);
    }
}

double Curvature::bound(const double* squares, double extra_square) const {
    if (outputs == 1) return squares[0];
    // row sums of the absolute values of diag(p) - pp' are 2 p (1 - p)
    return 2 * *std::max_element(squares, squares + outputs) + extra_square;
}

}  // namespace consilience
