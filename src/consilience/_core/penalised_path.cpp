// One value of lambda of coordinate_descent.hpp: working sets, and the check of all columns.
#include <algorithm>
#include <cmath>

#include "coordinate_descent.hpp"

namespace consilience {
namespace {

class Screening {
public:
    Screening(const PenalisedProblem& problem, const GroupPenalty& penalty, PenalisedState& state,
              SignalCheck& signals)
        : problem_(problem), penalty_(penalty), state_(state), signals_(signals),
          p_(problem.first_columns.back()), C_(problem.rows.outputs), n_(problem.rows.n),
          chosen_(p_, 0), norms_(p_, 0.0) {}

    // Columns that are not 0 or not penalised, and those that the strong rule does not discard.
    void choose_first() {
        const double lam = penalty_.lam;
        const double threshold = std::max(2 * lam - state_.lam, least_threshold * lam);
        each_group([&](std::size_t g, std::size_t begin, std::size_t end) {
            bool is_zero = true;
            for (std::size_t j = begin; j < end; ++j) {
                const double* b = state_.coef + j * C_;
                const bool on = std::any_of(b, b + C_, [](double x) { return x != 0; });
                is_zero = is_zero && !on;
                if (on || penalty_.is_free(j, g)) chosen_[j] = 1;
            }
            if (state_.lam == 0) return;
            if (penalty_.tau[g] > 0 && is_zero &&
                rest(state_.norms, begin, end, threshold) <= threshold * penalty_.tau[g])
                return;
            for (std::size_t j = begin; j < end; ++j)
                if (state_.norms[j] > threshold * penalty_.l1[j]) chosen_[j] = 1;
        });
    }

    // Gradients of all columns that may violate the optimality conditions; the others, whose
    // gradients cannot have changed by enough, stay 0 in norms().
    void check(const std::vector<double>& gradient, const WorkingSet& work) {
        const std::size_t slots = problem_.slots(), size = C_ * n_;
        std::vector<double> moved(slots, 0.0);
        for (std::size_t s = 0; s < slots; ++s) {
            for (std::size_t at = s * size; at < (s + 1) * size; ++at) {
                const double change = gradient[at] - state_.reference[at];
                moved[s] += change * change;
            }
            moved[s] = std::sqrt(moved[s]) * (1 + 1e-12);
        }
        std::fill(norms_.begin(), norms_.end(), 0.0);
        for (std::size_t c = 0; c < work.columns.size(); ++c) norms_[work.columns[c]] = work.norms[c];
        std::vector<std::size_t> open;
        for (std::size_t v = 0; v < problem_.views.size(); ++v)
            for (std::size_t j = problem_.first_columns[v]; j < problem_.first_columns[v + 1]; ++j)
                if (!chosen_[j] &&
                    (state_.lam == 0 ||
                     state_.norms[j] + problem_.column_norms[j] * moved[slots > 1 ? v : 0] >=
                         penalty_.lam * penalty_.l1[j]))
                    open.push_back(j);
        const bool all = state_.lam == 0 || open.size() > p_ / 4;
        if (all) {
            open.clear();
            for (std::size_t j = 0; j < p_; ++j)
                if (!chosen_[j]) open.push_back(j);
        }
        measure(open, gradient);
        if (!all) return;
        std::copy(norms_.begin(), norms_.end(), state_.norms);
        std::copy(gradient.begin(), gradient.end(), state_.reference);
        state_.lam = penalty_.lam;
    }

    // Adds the columns that violate the optimality conditions most; returns how many.
    std::size_t add_violators() {
        std::vector<std::pair<double, std::size_t>> violators;
        std::size_t n_chosen = 0;
        each_group([&](std::size_t g, std::size_t begin, std::size_t end) {
            bool is_zero = true;
            for (std::size_t j = begin; j < end; ++j) {
                n_chosen += chosen_[j];
                is_zero = is_zero && !chosen_[j];
            }
            if (penalty_.tau[g] > 0 && is_zero &&
                rest(norms_.data(), begin, end, penalty_.lam) <= penalty_.lam * penalty_.tau[g])
                return;
            for (std::size_t j = begin; j < end; ++j) {
                const double excess = norms_[j] - penalty_.lam * penalty_.l1[j];
                if (!chosen_[j] && excess > 0) violators.emplace_back(-excess, j);
            }
        });
        const std::size_t most = std::max<std::size_t>(100, 2 * n_chosen);
        if (violators.size() > most) {
            std::nth_element(violators.begin(), violators.begin() + most, violators.end());
            violators.resize(most);
        }
        for (const auto& each : violators) chosen_[each.second] = 1;
        return violators.size();
    }

    WorkingSet gather() const {
        WorkingSet work;
        work.starts.push_back(0);
        std::size_t v = 0;
        each_group([&](std::size_t g, std::size_t begin, std::size_t end) {
            while (begin >= problem_.first_columns[v + 1]) ++v;
            for (std::size_t j = begin; j < end; ++j) {
                if (!chosen_[j]) continue;
                work.columns.push_back(j);
                work.views.push_back(v);
                work.own.push_back(j - problem_.first_columns[v]);
                work.l1.push_back(penalty_.l1[j]);
                work.coef.insert(work.coef.end(), state_.coef + j * C_, state_.coef + (j + 1) * C_);
            }
            const auto size = static_cast<std::int64_t>(work.columns.size());
            if (size == work.starts.back()) return;
            work.starts.push_back(size);
            work.tau.push_back(penalty_.tau[g]);
            work.ridge.push_back(penalty_.ridge[g]);
            work.group_views.push_back(v);
        });
        return work;
    }

    void store(const WorkingSet& work) {
        for (std::size_t c = 0; c < work.columns.size(); ++c)
            std::copy_n(&work.coef[c * C_], C_, state_.coef + work.columns[c] * C_);
    }

    const double* norms() const { return norms_.data(); }

private:
    // of lambda, for steps so large that the strong rule would keep every column
    static constexpr double least_threshold = 0.5;

    template <typename Function>
    void each_group(Function function) const {
        for (std::size_t g = 0; g < penalty_.n_groups; ++g)
            function(g, static_cast<std::size_t>(penalty_.starts[g]),
                     static_cast<std::size_t>(penalty_.starts[g + 1]));
    }

    double rest(const double* norms, std::size_t begin, std::size_t end, double lam) const {
        double sum = 0;
        for (std::size_t j = begin; j < end; ++j) {
            const double own = norms[j] - lam * penalty_.l1[j];
            if (own > 0) sum += own * own;
        }
        return std::sqrt(sum);
    }

    void measure(const std::vector<std::size_t>& columns, const std::vector<double>& gradient) {
        std::size_t v = 0, current = problem_.views.size();
        std::vector<double> totals(C_);
        for (const std::size_t j : columns) {
            while (j >= problem_.first_columns[v + 1]) ++v;
            const DesignView& view = problem_.views[v];
            const double* G = gradient.data() + (problem_.slots() > 1 ? v * C_ * n_ : 0);
            if (v != current)
                for (std::size_t k = 0; k < C_; ++k) totals[k] = present_total(view, G + k * n_, n_);
            current = v;
            const std::size_t own = j - problem_.first_columns[v];
            double square = 0, last = 0;
            for (std::size_t k = 0; k < C_; ++k) {
                last = column_dot(view, own, G + k * n_, totals[k], n_);
                square += last * last;
            }
            norms_[j] = penalty_.non_negative && last >= 0 ? 0.0 : std::sqrt(square);
            signals_.add(view.stored(own, n_) * C_);
        }
    }

    const PenalisedProblem& problem_;
    const GroupPenalty& penalty_;
    PenalisedState& state_;
    SignalCheck& signals_;
    std::size_t p_, C_, n_;
    std::vector<std::uint8_t> chosen_;
    std::vector<double> norms_;
};

}  // namespace

Outcome solve_penalised(const PenalisedProblem& problem, const GroupPenalty& penalty,
                        PenalisedState& state, const Limits& limits) {
    SignalCheck signals;
    Screening screening(problem, penalty, state, signals);
    screening.choose_first();
    Outcome outcome{};
    for (;;) {
        WorkingSet work = screening.gather();
        ProximalNewton newton(problem, work, penalty, state.intercept, signals);
        newton.run(limits, outcome.n_iter);
        screening.store(work);
        screening.check(newton.gradient(), work);
        outcome.gap = newton.gap(penalty, screening.norms(), state.coef);
        outcome.objective = newton.objective();
        outcome.n_working = work.columns.size();
        if (outcome.gap <= limits.tol || outcome.n_iter >= limits.max_iter) break;
        if (screening.add_violators() == 0) break;
    }
    return outcome;
}

}  // namespace consilience
