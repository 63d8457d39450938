#include "group_penalty.hpp"

#include <algorithm>
#include <cmath>

namespace consilience {
namespace {

double square_norm(const double* b, std::size_t outputs) {
    double sum = 0;
    for (std::size_t k = 0; k < outputs; ++k) sum += b[k] * b[k];
    return sum;
}

// |soft threshold of factor x norms| of a group.
double thresholded(const GroupPenalty& penalty, const double* norms, double factor,
                   std::size_t g) {
    double sum = 0;
    for (std::int64_t j = penalty.starts[g]; j < penalty.starts[g + 1]; ++j) {
        const double rest = factor * norms[j] - penalty.lam * penalty.l1[j];
        if (rest > 0) sum += rest * rest;
    }
    return std::sqrt(sum);
}

double group_factor(const GroupPenalty& penalty, const double* norms, std::size_t g) {
    const double tau = penalty.lam * penalty.tau[g];
    if (thresholded(penalty, norms, 1.0, g) <= tau) return 1.0;
    double low = 0, high = 1;
    for (int step = 0; step < 100 && high - low > 1e-16; ++step) {
        const double middle = 0.5 * (low + high);
        (thresholded(penalty, norms, middle, g) <= tau ? low : high) = middle;
    }
    return low;
}

}  // namespace

double radial_step(double u, double a, double l1, double tau, double rest) {
    const double s = u - l1;
    if (s <= 0 || a <= 0) return 0;
    if (tau == 0) return s / a;
    if (rest == 0) return std::max(0.0, (s - tau) / a);
    // a t + tau t / sqrt(t^2 + rest^2) = s; the left side is concave, so Newton's iterates from a
    // lower bound ascend to the root
    double t = std::max((s - tau) / a, s / (a + tau / rest));
    for (int step = 0; step < 100; ++step) {
        const double root = std::sqrt(t * t + rest * rest);
        const double value = a * t + tau * t / root - s;
        const double slope = a + tau * (rest / root) * (rest / root) / root;
        const double next = t - value / slope;
        if (!(next > t * (1 + 1e-15))) break;
        t = next;
    }
    return t;
}

double penalty_value(const GroupPenalty& penalty, const double* coef, std::size_t outputs) {
    double sum = 0;
    for (std::size_t g = 0; g < penalty.n_groups; ++g) {
        double group = 0;
        for (std::int64_t j = penalty.starts[g]; j < penalty.starts[g + 1]; ++j) {
            const double square = square_norm(coef + j * outputs, outputs);
            if (square == 0) continue;
            sum += penalty.l1[j] * std::sqrt(square);
            group += square;
        }
        sum += penalty.tau[g] * std::sqrt(group) + 0.5 * penalty.ridge[g] * group;
    }
    return penalty.lam * sum;
}

double dual_factor(const GroupPenalty& penalty, const double* norms) {
    double factor = 1;
    for (std::size_t g = 0; g < penalty.n_groups; ++g) {
        if (penalty.ridge[g] > 0) continue;
        if (penalty.tau[g] > 0) {
            factor = std::min(factor, group_factor(penalty, norms, g));
            continue;
        }
        for (std::int64_t j = penalty.starts[g]; j < penalty.starts[g + 1]; ++j) {
            const double bound = penalty.lam * penalty.l1[j];
            if (bound > 0 && norms[j] > bound) factor = std::min(factor, bound / norms[j]);
        }
    }
    return factor;
}

double conjugate_value(const GroupPenalty& penalty, const double* norms, double factor,
                       const double* coef, std::size_t outputs) {
    double sum = 0;
    for (std::size_t g = 0; g < penalty.n_groups; ++g) {
        if (penalty.ridge[g] > 0) {
            const double rest =
                thresholded(penalty, norms, factor, g) - penalty.lam * penalty.tau[g];
            if (rest > 0) sum += 0.5 * rest * rest / (penalty.lam * penalty.ridge[g]);
        } else if (penalty.tau[g] == 0) {
            for (std::int64_t j = penalty.starts[g]; j < penalty.starts[g + 1]; ++j)
                if (penalty.l1[j] == 0)
                    sum += factor * norms[j] *
                           (std::sqrt(square_norm(coef + j * outputs, outputs)) + 1);
        }
    }
    return sum;
}

}  // namespace consilience
