// The quadratic models of coordinate_descent.hpp, minimised column by column.
#include "coordinate_descent.hpp"

#include <algorithm>
#include <cmath>

namespace consilience {
namespace {

// a pass that decreases the model by less than this share of what the first pass did is the last;
// the duality gap would be no measure: it is much larger than the distance to the optimum
constexpr double pass_share = 1e-3;
// a group that has shrunk to this share since it was last tested may have to be 0
constexpr double shrinkage_to_test = 0.9;

double norm(const double* b, std::size_t m) {
    double sum = 0;
    for (std::size_t k = 0; k < m; ++k) sum += b[k] * b[k];
    return std::sqrt(sum);
}

}  // namespace

void ProximalNewton::find_direction(const Limits& limits) {
    curvature_.set(problem_.rows, prob_.data(), extra_);
    model_ = residual_;
    next_ = work_.coef;
    direction_.assign(eta_.size(), 0.0);
    std::fill(shift_.begin(), shift_.end(), 0.0);
    bounds_.assign(work_.columns.size(), -1.0);
    crosses_.assign(work_.columns.size(), {});
    last_norms_.assign(work_.tau.size(), HUGE_VAL);
    double enough = 0;
    std::int64_t passes = 0;
    while (passes < limits.max_passes) {
        const double decrease = pass(false);
        if (++passes == 1) enough = pass_share * decrease;
        if (decrease <= enough) break;
        while (passes < limits.max_passes) {
            ++passes;
            if (pass(true) <= enough) break;
        }
    }
    if (S_ > 1) return;  // its directions have been added up slot by slot
    add_predictions(next_, 1.0, 0, direction_.data());
    for (std::size_t at = 0; at < eta_.size(); ++at) direction_[at] -= eta_[at];
}

// One pass over the columns; returns about by how much the model has decreased.
double ProximalNewton::pass(bool active_only) {
    double decrease = 0;
    for (std::size_t s = 0; s < S_; ++s) decrease += slot_pass(s, active_only);
    return decrease + update_intercept();
}

double ProximalNewton::slot_pass(std::size_t slot, bool active_only) {
    r_ = model_.data();
    if (S_ > 1) {
        local_ = model_;
        r_ = local_.data();
        for (std::size_t k = 0; k < C_; ++k)
            for (std::size_t i = 0; i < n_; ++i) {
                double sum = 0;
                for (std::size_t s = 0; s < S_; ++s)
                    sum += eta_[(s * C_ + k) * n_ + i] + direction_[(s * C_ + k) * n_ + i];
                const std::size_t at = (slot * C_ + k) * n_ + i;
                local_[k * n_ + i] += problem_.rows.weight[i] * problem_.rho *
                                      (problem_.view_counts[i] * (eta_[at] + direction_[at]) - sum);
            }
        start_ = next_;
    }
    double decrease = 0;
    for (std::size_t g = 0; g < work_.tau.size();) {
        const std::size_t v = work_.group_views[g];
        if (S_ > 1 && v != slot) {
            ++g;
            continue;
        }
        begin_view(v);
        for (; g < work_.tau.size() && work_.group_views[g] == v; ++g)
            decrease += update_group(g, active_only);
        end_view(v);
    }
    if (S_ > 1) {
        std::vector<double> moved(C_ * n_, 0.0);
        add_predictions(next_, 1.0, slot, moved.data());
        add_predictions(start_, -1.0, slot, moved.data());
        for (std::size_t at = 0; at < moved.size(); ++at) direction_[slot * C_ * n_ + at] += moved[at];
        curvature_.add_direction(moved.data(), model_.data(), scratch_.data());
    }
    return decrease;
}

double ProximalNewton::update_intercept() {
    if (!intercept_step(model_.data(), other_.data())) return 0;
    double decrease = 0;
    for (std::size_t k = 0; k < C_; ++k) {
        double sum = 0;
        for (std::size_t i = 0; i < n_; ++i) sum += model_[k * n_ + i];
        decrease -= 0.5 * sum * other_[k];
        shift_[k] += other_[k];
        std::fill(trial_.begin() + k * n_, trial_.begin() + (k + 1) * n_, other_[k]);
    }
    curvature_.add_direction(trial_.data(), model_.data(), scratch_.data());
    return decrease;
}

// Sparse columns are centred lazily: the residuals are r + Hessian x offset in the rows that have
// the view, so that an update costs as much as the column has entries.
void ProximalNewton::begin_view(std::size_t v) {
    const DesignView& view = problem_.views[v];
    if (view.dense) return;
    std::fill(offset_.begin(), offset_.end(), 0.0);
    std::fill(block_.begin(), block_.end(), 0.0);
    std::fill(masses_.begin(), masses_.end(), 0.0);
    is_present_.assign(view.present, view.present + n_);
    for (std::size_t k = 0; k < C_; ++k) totals_[k] = present_total(view, r_ + k * n_, n_);
    for (std::size_t i = 0; i < n_; ++i) {
        if (!view.present[i]) continue;
        curvature_.add_row(i, 1.0, block_.data());
        for (std::size_t k = 0; k < C_; ++k)
            masses_[k] += C_ == 1 ? curvature_.mass[i] : curvature_.diagonal[k * n_ + i];
        if (!extra_.empty()) masses_[C_] += extra_[i];
    }
}

void ProximalNewton::end_view(std::size_t v) {
    if (!problem_.views[v].dense)
        curvature_.add_dense(is_present_.data(), offset_.data(), r_, scratch_.data());
}

// Sum over the rows of x_ij times the Hessian of the row, for a sparse column.
const double* ProximalNewton::cross(std::size_t c) {
    std::vector<double>& sum = crosses_[c];
    if (sum.empty()) {
        sum.assign(C_ * C_, 0.0);
        const DesignView& view = problem_.views[work_.views[c]];
        for (std::int64_t e = view.indptr[work_.own[c]]; e < view.indptr[work_.own[c] + 1]; ++e)
            curvature_.add_row(static_cast<std::size_t>(view.indices[e]), view.data[e], sum.data());
        signals_.add(view.stored(work_.own[c], n_) * C_ * C_);
    }
    return sum.data();
}

void ProximalNewton::column_gradient(std::size_t c, double* out) {
    const DesignView& view = problem_.views[work_.views[c]];
    const std::size_t j = work_.own[c];
    for (std::size_t k = 0; k < C_; ++k)
        out[k] = column_dot(view, j, r_ + k * n_, totals_[k], n_);
    signals_.add(view.stored(j, n_) * C_);
    if (view.dense || norm(offset_.data(), C_) == 0) return;
    const double* own = cross(c);
    for (std::size_t k = 0; k < C_; ++k)
        for (std::size_t l = 0; l < C_; ++l)
            out[k] += (own[k * C_ + l] - view.mean[j] * block_[k * C_ + l]) * offset_[l];
}

// The coefficients of a column have changed by delta.
void ProximalNewton::apply(std::size_t c, const double* delta) {
    const DesignView& view = problem_.views[work_.views[c]];
    const std::size_t j = work_.own[c];
    signals_.add(3 * view.stored(j, n_) * C_);
    if (view.dense)
        return curvature_.add_dense(view.dense + j * n_, delta, r_, scratch_.data());
    curvature_.add_sparse(view.data + view.indptr[j], view.indices + view.indptr[j],
                          view.stored(j, n_), delta, r_);
    const double* own = cross(c);
    for (std::size_t k = 0; k < C_; ++k) {
        for (std::size_t l = 0; l < C_; ++l) totals_[k] += own[k * C_ + l] * delta[l];
        offset_[k] -= view.mean[j] * delta[k];
    }
}

// Upper bound of the curvature of the model in the coefficients of a column.
double ProximalNewton::bound(std::size_t c) {
    if (bounds_[c] >= 0) return bounds_[c];
    const DesignView& view = problem_.views[work_.views[c]];
    const std::size_t j = work_.own[c];
    const auto square = [&](const double* h, double mass) {
        if (view.dense) return weighted_square(h, view.dense + j * n_, n_);
        double sum = mass * view.mean[j] * view.mean[j];
        for (std::int64_t e = view.indptr[j]; e < view.indptr[j + 1]; ++e)
            sum += h[view.indices[e]] * view.data[e] * (view.data[e] - 2 * view.mean[j]);
        return std::max(sum, 0.0);
    };
    squares_.resize(C_);
    for (std::size_t k = 0; k < C_; ++k)
        squares_[k] = square(C_ == 1 ? curvature_.mass.data() : &curvature_.diagonal[k * n_],
                             view.dense ? 0.0 : masses_[k]);
    const double more = C_ > 1 && !extra_.empty()
                            ? square(extra_.data(), view.dense ? 0.0 : masses_[C_])
                            : 0.0;
    return bounds_[c] = curvature_.bound(squares_.data(), more);
}

double ProximalNewton::update_group(std::size_t g, bool active_only) {
    const std::size_t begin = static_cast<std::size_t>(work_.starts[g]);
    const std::size_t end = static_cast<std::size_t>(work_.starts[g + 1]);
    const double tau = penalty_.lam * penalty_.tau[g], ridge = penalty_.lam * penalty_.ridge[g];
    double decrease = 0, square = 0;
    if (tau > 0) {
        const double before = norm(&next_[begin * C_], (end - begin) * C_);
        if (before == 0 && (active_only || !leave_zero(g))) return 0;
        if (before > 0 && before < shrinkage_to_test * last_norms_[g]) {
            if (last_norms_[g] < HUGE_VAL && back_to_zero(g)) return before * before;
            last_norms_[g] = before;
        }
        const double now = norm(&next_[begin * C_], (end - begin) * C_);
        square = now * now;
    }
    for (std::size_t c = begin; c < end; ++c) {
        if (active_only && norm(&next_[c * C_], C_) == 0) continue;
        decrease += update_column(c, tau, ridge, square);
    }
    return decrease;
}

double ProximalNewton::update_column(std::size_t c, double tau, double ridge, double& square) {
    double* b = &next_[c * C_];
    const double l1 = penalty_.lam * penalty_.l1[c], before = norm(b, C_);
    double* g = small_.data();
    column_gradient(c, g);
    double rest = 0;
    if (tau > 0) {
        rest = square - before * before;
        rest = rest > 1e-12 * square ? std::sqrt(rest) : 0.0;
    }
    if (before == 0 && norm(g, C_) <= l1 + (rest == 0 ? tau : 0.0)) return 0;
    const double L = bound(c);
    if (!(L + ridge > 0)) return 0;
    for (std::size_t k = 0; k < C_; ++k) other_[k] = L * b[k] - g[k];
    const double length = norm(other_.data(), C_);
    double t = radial_step(length, L + ridge, l1, tau, rest);
    if (penalty_.non_negative && other_[0] < 0) t = 0;
    double change = 0;
    for (std::size_t k = 0; k < C_; ++k) {
        const double now = t > 0 ? t * (other_[k] / length) : 0.0;
        other_[k] = now - b[k];
        change += other_[k] * other_[k];
        b[k] = now;
    }
    if (change == 0) return 0;
    square = std::max(0.0, square + t * t - before * before);
    apply(c, other_.data());
    return 0.5 * (L + ridge) * change;
}

// A group at 0 moves along its thresholded gradient if 0 is not optimal; returns whether it moves.
bool ProximalNewton::leave_zero(std::size_t g) {
    const std::size_t begin = static_cast<std::size_t>(work_.starts[g]);
    const std::size_t end = static_cast<std::size_t>(work_.starts[g + 1]);
    std::vector<double> way((end - begin) * C_, 0.0);
    for (std::size_t c = begin; c < end; ++c) {
        column_gradient(c, small_.data());
        const double length = norm(small_.data(), C_), l1 = penalty_.lam * penalty_.l1[c];
        if (length <= l1) continue;
        for (std::size_t k = 0; k < C_; ++k)
            way[(c - begin) * C_ + k] = -small_[k] * (1 - l1 / length);
    }
    const double length = norm(way.data(), way.size()), tau = penalty_.lam * penalty_.tau[g];
    if (length <= tau) return false;
    // the curvature along the way, from the change of the gradient
    double curvature = penalty_.lam * penalty_.ridge[g];
    for (std::size_t c = begin; c < end; ++c) {
        for (std::size_t k = 0; k < C_; ++k) small_[k] = way[(c - begin) * C_ + k] / length;
        if (norm(small_.data(), C_) > 0) apply(c, small_.data());
    }
    double slope = 0;
    for (std::size_t c = begin; c < end; ++c) {
        const double* e = &way[(c - begin) * C_];
        if (norm(e, C_) == 0) continue;
        column_gradient(c, small_.data());
        for (std::size_t k = 0; k < C_; ++k)
            slope += small_[k] * e[k] / length;
        slope += penalty_.lam * penalty_.l1[c] * norm(e, C_) / length;
    }
    curvature += slope + length;  // slope at step 1 less slope at step 0
    const double t = curvature > 0 ? (length - tau) / curvature : 0.0;
    for (std::size_t c = begin; c < end; ++c) {
        const double* e = &way[(c - begin) * C_];
        if (norm(e, C_) == 0) continue;
        for (std::size_t k = 0; k < C_; ++k) {
            next_[c * C_ + k] = t * e[k] / length;
            small_[k] = (t - 1) * e[k] / length;
        }
        apply(c, small_.data());
    }
    return t > 0;
}

// Sets a group to 0 if that is optimal while the others stay; returns whether it does.
bool ProximalNewton::back_to_zero(std::size_t g) {
    const std::size_t begin = static_cast<std::size_t>(work_.starts[g]);
    const std::size_t end = static_cast<std::size_t>(work_.starts[g + 1]);
    for (std::size_t c = begin; c < end; ++c) {
        for (std::size_t k = 0; k < C_; ++k) small_[k] = -next_[c * C_ + k];
        if (norm(small_.data(), C_) > 0) apply(c, small_.data());
    }
    double square = 0;
    for (std::size_t c = begin; c < end; ++c) {
        column_gradient(c, small_.data());
        const double rest = norm(small_.data(), C_) - penalty_.lam * penalty_.l1[c];
        if (rest > 0) square += rest * rest;
    }
    const bool is_zero = std::sqrt(square) <= penalty_.lam * penalty_.tau[g];
    for (std::size_t c = begin; c < end; ++c) {
        if (norm(&next_[c * C_], C_) == 0) continue;
        if (is_zero)
            std::fill_n(&next_[c * C_], C_, 0.0);
        else
            apply(c, &next_[c * C_]);
    }
    return is_zero;
}

}  // namespace consilience
