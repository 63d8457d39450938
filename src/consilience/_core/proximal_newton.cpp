// Newton iterations of coordinate_descent.hpp: the point, its gap, and the line search.
#include <algorithm>
#include <cmath>

#include "coordinate_descent.hpp"

namespace consilience {
namespace {

constexpr double rounding = 1e-15;

// Solves A x = b for a small positive definite matrix, by Cholesky; both are overwritten.
bool solve_small(double* A, double* b, std::size_t m) {
    for (std::size_t k = 0; k < m; ++k) {
        for (std::size_t j = 0; j < k; ++j) {
            const double l = A[k * m + j];
            A[k * m + k] -= l * l;
            for (std::size_t i = k + 1; i < m; ++i) A[i * m + k] -= A[i * m + j] * l;
        }
        if (!(A[k * m + k] > 0)) return false;
        A[k * m + k] = std::sqrt(A[k * m + k]);
        for (std::size_t i = k + 1; i < m; ++i) A[i * m + k] /= A[k * m + k];
    }
    for (std::size_t k = 0; k < m; ++k) {
        for (std::size_t j = 0; j < k; ++j) b[k] -= A[k * m + j] * b[j];
        b[k] /= A[k * m + k];
    }
    for (std::size_t k = m; k-- > 0;) {
        for (std::size_t i = k + 1; i < m; ++i) b[k] -= A[i * m + k] * b[i];
        b[k] /= A[k * m + k];
    }
    return true;
}

}  // namespace

GroupPenalty WorkingSet::penalty(const GroupPenalty& whole) const {
    return {tau.size(), starts.data(), l1.data(), tau.data(), ridge.data(), whole.lam,
            whole.non_negative};
}

ProximalNewton::ProximalNewton(const PenalisedProblem& problem, WorkingSet& work,
                               const GroupPenalty& penalty, double* intercept,
                               SignalCheck& signals)
    : problem_(problem), work_(work), penalty_(work.penalty(penalty)), intercept_(intercept),
      signals_(signals), n_(problem.rows.n), C_(problem.rows.outputs), S_(problem.slots()),
      eta_(S_ * C_ * n_), total_(C_ * n_), prob_(C_ * n_), residual_(C_ * n_),
      gradient_(S_ * C_ * n_), shift_(C_), intercept_factor_(C_ * C_), offset_(C_), totals_(C_),
      block_(C_ * C_), masses_(C_ + 1), scratch_(n_), small_(C_), other_(C_), trial_(C_ * n_) {
    if (S_ > 1) {
        extra_.resize(n_);
        for (std::size_t i = 0; i < n_; ++i)
            extra_[i] = problem.rows.weight[i] * problem.rho * (problem.view_counts[i] - 1);
    }
}

// out (outputs x n) += sign x predictions of a slot from coefficients of the working set
void ProximalNewton::add_predictions(const std::vector<double>& coef, double sign,
                                     std::size_t slot, double* out) {
    for (std::size_t c = 0; c < work_.columns.size(); ++c) {
        if (S_ > 1 && work_.views[c] != slot) continue;
        const DesignView& view = problem_.views[work_.views[c]];
        for (std::size_t k = 0; k < C_; ++k) {
            const double b = coef[c * C_ + k];
            if (b == 0) continue;
            add_view_column(view, work_.own[c], sign * b, out + k * n_, n_);
            signals_.add(n_);
        }
    }
}

double ProximalNewton::run(const Limits& limits, std::int64_t& n_iter) {
    std::fill(eta_.begin(), eta_.end(), 0.0);
    for (std::size_t s = 0; s < S_; ++s) add_predictions(work_.coef, 1.0, s, &eta_[s * C_ * n_]);
    penalty_value_ = penalty_value(penalty_, work_.coef.data(), C_);
    double gap = 0;
    for (;; ++n_iter) {
        refresh();
        gap = working_gap();
        if (gap <= limits.tol || n_iter >= limits.max_iter) break;
        find_direction(limits);
        if (!line_search()) {
            refresh();  // of the point, not of the last trial
            break;
        }
    }
    return gap;
}

// Everything that follows from the predictions: loss, intercept, residuals, gradient.
void ProximalNewton::refresh() {
    for (std::size_t k = 0; k < C_; ++k) {
        double* total = &total_[k * n_];
        std::fill(total, total + n_, intercept_[k]);
        for (std::size_t s = 0; s < S_; ++s)
            for (std::size_t i = 0; i < n_; ++i) total[i] += eta_[(s * C_ + k) * n_ + i];
    }
    polish_intercept();
    agreement_ = agreement(eta_.data());
    for (std::size_t s = 0; s < S_; ++s)
        std::copy(residual_.begin(), residual_.end(), gradient_.begin() + s * C_ * n_);
    if (S_ == 1) return;
    for (std::size_t k = 0; k < C_; ++k)
        for (std::size_t i = 0; i < n_; ++i) {
            const double sum = total_[k * n_ + i] - intercept_[k];
            const double factor = problem_.rows.weight[i] * problem_.rho;
            for (std::size_t s = 0; s < S_; ++s) {
                const std::size_t at = (s * C_ + k) * n_ + i;
                gradient_[at] += factor * (problem_.view_counts[i] * eta_[at] - sum);
            }
        }
}

// delta = -(Hessian of the intercept)^-1 x sums of the residuals; false if there is none.
bool ProximalNewton::intercept_step(const double* residual, double* delta) {
    const LogisticRows& rows = problem_.rows;
    std::vector<double>& H = intercept_factor_;
    std::fill(H.begin(), H.end(), 0.0);
    for (std::size_t i = 0; i < n_; ++i)
        for (std::size_t k = 0; k < C_; ++k) {
            const double p = prob_[k * n_ + i], mass = rows.weight[i] * p;
            H[k * C_ + k] += C_ == 1 ? mass * (1 - p) : mass;
            if (C_ == 1) continue;
            for (std::size_t l = 0; l <= k; ++l) H[k * C_ + l] -= mass * prob_[l * n_ + i];
        }
    double trace = 0;
    for (std::size_t k = 0; k < C_; ++k) trace += H[k * C_ + k];
    if (C_ > 1)  // a constant in all outputs changes nothing: this makes the solution unique
        for (std::size_t k = 0; k < C_; ++k)
            for (std::size_t l = 0; l <= k; ++l) H[k * C_ + l] += trace / C_;
    for (std::size_t k = 0; k < C_; ++k) {
        double sum = 0;
        for (std::size_t i = 0; i < n_; ++i) sum += residual[k * n_ + i];
        delta[k] = -sum;
    }
    return trace > 1e-200 && solve_small(H.data(), delta, C_);
}

// Minimises over the intercept, so that the residuals of each output sum to 0.
void ProximalNewton::polish_intercept() {
    const LogisticRows& rows = problem_.rows;
    loss_ = rows.evaluate(total_.data(), prob_.data());
    rows.residuals(prob_.data(), residual_.data());
    std::vector<double> before = prob_;
    for (int step = 0; step < 50; ++step) {
        double largest = 0;
        for (std::size_t k = 0; k < C_; ++k) {
            double sum = 0;
            for (std::size_t i = 0; i < n_; ++i) sum += residual_[k * n_ + i];
            largest = std::max(largest, std::abs(sum));
        }
        if (largest <= rounding || !intercept_step(residual_.data(), small_.data())) return;
        bool accepted = false;
        for (double t = 1; t > 1e-3 && !accepted; t /= 2) {
            for (std::size_t k = 0; k < C_; ++k)
                for (std::size_t i = 0; i < n_; ++i)
                    trial_[k * n_ + i] = total_[k * n_ + i] + t * small_[k];
            const double loss = rows.evaluate(trial_.data(), prob_.data());
            accepted = loss <= loss_ + rounding * std::abs(loss_);
            if (!accepted) continue;
            loss_ = loss;
            total_.swap(trial_);
            for (std::size_t k = 0; k < C_; ++k) intercept_[k] += t * small_[k];
        }
        if (!accepted) {
            prob_ = before;
            return;
        }
        before = prob_;
        rows.residuals(prob_.data(), residual_.data());
        signals_.add(4 * n_ * C_);
        if (largest <= 1e-13) return;  // the step has squared this
    }
}

double ProximalNewton::agreement(const double* eta) const {
    if (S_ == 1) return 0;
    double sum = 0;
    for (std::size_t k = 0; k < C_; ++k)
        for (std::size_t i = 0; i < n_; ++i) {
            double squares = 0, all = 0;
            for (std::size_t s = 0; s < S_; ++s) {
                const double own = eta[(s * C_ + k) * n_ + i];
                squares += own * own;
                all += own;
            }
            sum += problem_.rows.weight[i] * (problem_.view_counts[i] * squares - all * all);
        }
    return 0.5 * problem_.rho * sum;
}

// P - D at the scaled gradient: D = -sum w loss*(f (p - y)) - f^2 agreement - penalty*(f X'g)
double ProximalNewton::gap(const GroupPenalty& penalty, const double* norms,
                           const double* coef) const {
    const double factor = dual_factor(penalty, norms);
    const double dual = problem_.rows.conjugate(prob_.data(), factor) +
                        factor * factor * agreement_ +
                        conjugate_value(penalty, norms, factor, coef, C_);
    return objective() + dual;
}

double ProximalNewton::working_gap() {
    work_.norms.assign(work_.columns.size(), 0.0);
    std::size_t current = problem_.views.size();
    for (std::size_t c = 0; c < work_.columns.size(); ++c) {
        const std::size_t v = work_.views[c];
        const double* G = &gradient_[S_ > 1 ? v * C_ * n_ : 0];
        const DesignView& view = problem_.views[v];
        if (v != current)
            for (std::size_t k = 0; k < C_; ++k) totals_[k] = present_total(view, G + k * n_, n_);
        current = v;
        double square = 0;
        bool is_negative = true;
        for (std::size_t k = 0; k < C_; ++k) {
            const double g = column_dot(view, work_.own[c], G + k * n_, totals_[k], n_);
            square += g * g;
            is_negative = g < 0;
        }
        // a positive gradient asks for a negative coefficient, which is not allowed
        work_.norms[c] = penalty_.non_negative && !is_negative ? 0.0 : std::sqrt(square);
        signals_.add(view.stored(work_.own[c], n_) * C_);
    }
    return gap(penalty_, work_.norms.data(), work_.coef.data());
}

bool ProximalNewton::line_search() {
    const double before = objective(), next_value = penalty_value(penalty_, next_.data(), C_);
    double slope = next_value - penalty_value_;
    for (std::size_t at = 0; at < eta_.size(); ++at) slope += gradient_[at] * direction_[at];
    for (std::size_t k = 0; k < C_; ++k)
        for (std::size_t i = 0; i < n_; ++i) slope += residual_[k * n_ + i] * shift_[k];
    std::vector<double> eta(eta_.size()), coef(next_.size());
    for (double t = 1; t > 1e-10; t /= 2) {
        for (std::size_t at = 0; at < eta.size(); ++at) eta[at] = eta_[at] + t * direction_[at];
        for (std::size_t k = 0; k < C_; ++k)
            for (std::size_t i = 0; i < n_; ++i) {
                double sum = intercept_[k] + t * shift_[k];
                for (std::size_t s = 0; s < S_; ++s) sum += eta[(s * C_ + k) * n_ + i];
                trial_[k * n_ + i] = sum;
            }
        for (std::size_t at = 0; at < coef.size(); ++at)
            coef[at] = t == 1 ? next_[at] : work_.coef[at] + t * (next_[at] - work_.coef[at]);
        const double loss = problem_.rows.evaluate(trial_.data(), prob_.data());
        const double value = penalty_value(penalty_, coef.data(), C_);
        const double after = loss + agreement(eta.data()) + value;
        signals_.add(8 * n_ * C_ * S_);
        if (!(after <= before + 1e-4 * t * slope + rounding * std::abs(before))) continue;
        eta_ = std::move(eta);
        work_.coef = std::move(coef);
        penalty_value_ = value;
        for (std::size_t k = 0; k < C_; ++k) intercept_[k] += t * shift_[k];
        return true;
    }
    return false;
}

}  // namespace consilience
