// Penalised logistic and multinomial regression on several views.
//
// problem     min over B, b of sum_i w_i [loss(y_i, b + sum_v eta_iv) +
//             rho/2 sum_{u<v} |eta_iu - eta_iv|^2] + penalty(B), eta_iv = x_iv B_v, with the
//             agreement over the views that row i has, and the penalty of group_penalty.hpp
// given       standardised columns of the views, weights w that sum to 1
// method      proximal Newton on a working set (strong rules, then the optimality conditions of all
//             columns); its quadratic models are minimised by block coordinate descent, a block
//             being the coefficients of a column for all outputs
// stops       at a duality gap of at most tol
// references  J. Friedman, T. Hastie, R. Tibshirani, J. Stat. Softw. 33 (2010); R. Tibshirani et
//             al., J. R. Stat. Soc. B 74 (2012); N. Simon et al., J. Comput. Graph. Stat. 22 (2013)
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "design_columns.hpp"
#include "group_penalty.hpp"
#include "logistic_rows.hpp"
#include "signals.hpp"

namespace consilience {

struct PenalisedProblem {
    LogisticRows rows;
    std::vector<DesignView> views;
    std::vector<std::size_t> first_columns;  // of each view; the last entry is the number of columns
    const double* view_counts;               // number of views that each row has
    double rho;
    const double* column_norms;  // sqrt(sum_i x_ij^2)

    // With agreement every view has predictions of its own; otherwise only their sum counts.
    std::size_t slots() const { return rho > 0 && views.size() > 1 ? views.size() : 1; }
};

// The columns that may differ from 0, ordered by view and group, and their penalty.
struct WorkingSet {
    std::vector<std::size_t> columns, views, own;  // number overall, view, number in the view
    std::vector<std::int64_t> starts;
    std::vector<double> l1, tau, ridge, coef, norms;
    std::vector<std::size_t> group_views;

    GroupPenalty penalty(const GroupPenalty& whole) const;
};

// All in and out: a call continues from the coefficients of the call before.
struct PenalisedState {
    double* coef;       // columns x outputs
    double* intercept;  // outputs
    double* norms;      // of the gradients at `reference`
    double* reference;  // slots x outputs x n: gradient in the predictions, of the last full pass
    double lam;         // lambda of the last full pass; 0 before the first
};

struct Limits {
    double tol;
    std::int64_t max_iter;    // Newton iterations
    std::int64_t max_passes;  // of coordinate descent in each of them
};

struct Outcome {
    double gap, objective;
    std::int64_t n_iter;
    std::size_t n_working;
};

// Proximal Newton iterations on the working set, whose coefficients are updated.
class ProximalNewton {
public:
    ProximalNewton(const PenalisedProblem& problem, WorkingSet& work, const GroupPenalty& penalty,
                   double* intercept, SignalCheck& signals);

    // Returns the duality gap of the problem restricted to the working set.
    double run(const Limits& limits, std::int64_t& n_iter);

    // Primal value, and gap for norms of gradients of all columns of the problem.
    double objective() const { return loss_ + agreement_ + penalty_value_; }
    double gap(const GroupPenalty& penalty, const double* norms, const double* coef) const;
    const std::vector<double>& gradient() const { return gradient_; }

private:
    void add_predictions(const std::vector<double>& coef, double sign, std::size_t slot,
                         double* out);
    void refresh();
    void polish_intercept();
    bool intercept_step(const double* residual, double* delta);
    double agreement(const double* eta) const;
    double working_gap();
    void find_direction(const Limits& limits);
    double pass(bool active_only);
    double slot_pass(std::size_t slot, bool active_only);
    double update_intercept();
    void begin_view(std::size_t v);
    void end_view(std::size_t v);
    double update_group(std::size_t g, bool active_only);
    double update_column(std::size_t c, double tau, double ridge, double& group_square);
    bool leave_zero(std::size_t g);
    bool back_to_zero(std::size_t g);
    void column_gradient(std::size_t c, double* out);
    void apply(std::size_t c, const double* delta);
    double bound(std::size_t c);
    const double* cross(std::size_t c);
    bool line_search();

    const PenalisedProblem& problem_;
    WorkingSet& work_;
    GroupPenalty penalty_;
    double* intercept_;
    SignalCheck& signals_;
    std::size_t n_, C_, S_;
    double loss_ = 0, agreement_ = 0, penalty_value_ = 0;
    // at the current point: predictions by slot and their sum with the intercept
    std::vector<double> eta_, total_, prob_, residual_, gradient_;
    // the quadratic model: residuals, coefficients, direction by slot, change of the intercept
    Curvature curvature_;
    std::vector<double> extra_, model_, local_, next_, start_, direction_, shift_;
    std::vector<double> intercept_factor_, bounds_, squares_;
    std::vector<double> last_norms_;
    std::vector<std::vector<double>> crosses_;
    double* r_ = nullptr;
    // of the sparse view at hand: its rows as numbers, lazily added centring, sums
    std::vector<double> is_present_, offset_, totals_, block_, masses_;
    std::vector<double> scratch_, small_, other_, trial_;
};

Outcome solve_penalised(const PenalisedProblem& problem, const GroupPenalty& penalty,
                        PenalisedState& state, const Limits& limits);

}  // namespace consilience
