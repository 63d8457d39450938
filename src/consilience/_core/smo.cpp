#include "smo.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "signals.hpp"
#include "smo_scan.hpp"

namespace consilience {
namespace {

constexpr double infinity = HUGE_VAL;
constexpr float unlimited = HUGE_VALF;
constexpr double flat = 1e-12;
// Loops in single precision aim a little below the tolerance, as F is found a little off, ...
constexpr double single_share = 0.98;
// ... and at no less than this share of the gap that they start with.
constexpr double single_digits = 1e-4;

struct Square {
    const double *own, *shared;

    explicit Square(const Coupling& coupling) : own(coupling.own), shared(coupling.shared) {}
    double slope(std::size_t k, double lam, double mu) const {
        return own[k] * lam + shared[k] * mu;
    }
    double curvature(std::size_t k, double) const { return own[k] + shared[k]; }
    double room(std::size_t, double) const { return infinity; }
    // curvature that is left when two views exchange λ and μ stays
    double apart(std::size_t k) const { return 2 * own[k]; }
    static constexpr bool constant_curvature = true;
    bool stiff() const { return shared[0] > 3 * own[0]; }
    // the pair's gain is a parabola: its top
    template <typename Derivative>
    double top(double gap, double cost, double, Derivative) const {
        return gap / cost;
    }
};

struct Logarithm {
    const double* weight;
    double c;

    explicit Logarithm(const Coupling& coupling) : weight(coupling.own), c(coupling.c) {}
    double slope(std::size_t k, double, double mu) const { return 1 / (c - mu / weight[k]); }
    double curvature(std::size_t k, double mu) const {
        const double rise = slope(k, 0, mu);
        return rise * rise / weight[k];
    }
    // short of where the logarithm ends; rounding could step over it
    double room(std::size_t k, double mu) const {
        return (c * weight[k] - mu) * (1 - 1e-10);
    }
    double apart(std::size_t) const { return 0; }
    static constexpr bool constant_curvature = false;
    bool stiff() const { return true; }
    // the zero of the derivative, which falls: Newton steps kept inside a bracket
    template <typename Derivative>
    double top(double gap, double cost, double most, Derivative derivative) const {
        double bend;
        if (derivative(most, bend) >= 0) return most;
        double low = 0, high = most, step = std::min(gap / cost, most / 2);
        for (int tries = 0; tries < 100; ++tries) {
            const double here = derivative(step, bend);
            (here > 0 ? low : high) = step;
            double next = step + here / bend;
            if (!(next > low && next < high)) next = low + (high - low) / 2;
            if (std::abs(next - step) <= 1e-16 * step) break;
            step = next;
        }
        return step;
    }
};

// `Value` is the type of F, the potential's part of which is in double until it is added.
template <typename Potential, typename Value>
class Joint {
public:
    Joint(Kernels& kernels, const double* y, const double* upper, const Coupling& coupling,
          double* lam, const double* F, const double* centre = nullptr)
        : kernels_(kernels),
          n_(kernels.n),
          V_(kernels.views.size()),
          potential_(coupling),
          y_(y),
          mu_(n_, 0.0),
          views_(V_) {
        for (std::size_t v = 0; v < V_; ++v) {
            View& view = views_[v];
            view.lam = lam + v * n_;
            view.upper = upper + v * n_;
            view.F.assign(padded(n_), 0);
            // what is added to all F of a view changes nothing
            const double middle = centre ? centre[v] : 0;
            std::transform(F + v * n_, F + (v + 1) * n_, view.F.begin(),
                           [=](double f) { return static_cast<Value>(f - middle); });
            view.up.assign(padded(n_), -unlimited);
            view.low.assign(padded(n_), unlimited);
            view.diagonal.assign(padded(n_), 1.0f);
            for (std::size_t k = 0; k < n_; ++k) mu_[k] += view.lam[k];
        }
        for (std::size_t v = 0; v < V_; ++v) {
            for (std::size_t k = 0; k < n_; ++k) bound(v, k), weigh(v, k);
            View& view = views_[v];
            view.equal_diagonals =
                Potential::constant_curvature &&
                std::count(view.diagonal.begin(), view.diagonal.begin() + n_, view.diagonal[0]) ==
                    static_cast<std::ptrdiff_t>(n_);
            look(v);
        }
        for (auto& array : apart_) array.resize(padded(n_));
    }

    Progress run(const Limits& limits) {
        return V_ == 1 ? run_alone(limits) : run_all(limits);
    }

    void copy_gradient(double* F) const {
        for (std::size_t v = 0; v < V_; ++v)
            std::copy_n(views_[v].F.begin(), n_, F + v * n_);
    }

private:
    // One view needs its least F only to know when to stop: the search for a partner tells it.
    Progress run_alone(const Limits& limits) {
        View& view = views_[0];
        for (std::int64_t steps = 0;; ++steps) {
            if (view.ends.most == -infinity) return {steps, 0.0};
            const std::size_t i = view.ends.rising;
            const Partner partner = find_partner(0, i, limits.batch);
            view.ends.least = partner.least;
            const double gap = view.ends.gap();
            if (!(gap > limits.tol) || steps == limits.max_steps)
                return {steps, std::max(gap, 0.0)};
            signals_.add(n_);
            double t;
            const bool moved = take(0, i, partner.j, limits.batch, t);
            view.ends = update_and_rise(view.F.data(), kernels_.row(0, i), kernels_.row(0, partner.j),
                                        t, view.up.data(), n_);
            view.ends.least = partner.least;  // as of the last step, until the next partner
            if (!moved) return {steps, gap};
        }
    }

    Progress run_all(const Limits& limits) {
        std::int64_t steps = 0;
        while (true) {
            std::size_t worst = 0;
            for (std::size_t v = 1; v < V_; ++v)
                if (views_[v].ends.gap() > views_[worst].ends.gap()) worst = v;
            const double gap = views_[worst].ends.gap();
            if (!(gap > limits.tol) || steps == limits.max_steps)
                return {steps, std::max(gap, 0.0)};
            const bool moved = (potential_.stiff() && exchange(worst, limits.batch)) ||
                               step(worst, limits.batch);
            if (!moved) return {steps, gap};
            ++steps;
            signals_.add(n_ * V_);
        }
    }

    struct View {
        double* lam;
        const double* upper;
        std::vector<Value> F;
        std::vector<float> up, low, diagonal;  // bounds 0 or inf; curvatures, to choose partners
        bool equal_diagonals;
        Extremes ends;
    };

    void look(std::size_t v) {
        View& view = views_[v];
        view.ends = scan(view.F.data(), view.up.data(), view.low.data(), n_);
    }

    // where g_k can go: up is 0 or −inf, low 0 or inf
    void bound(std::size_t v, std::size_t k) {
        View& view = views_[v];
        const bool grows = view.lam[k] < view.upper[k], shrinks = view.lam[k] > 0;
        view.up[k] = (y_[k] > 0 ? grows : shrinks) ? 0.0f : -unlimited;
        view.low[k] = (y_[k] > 0 ? shrinks : grows) ? 0.0f : unlimited;
    }
    void weigh(std::size_t v, std::size_t k) {
        const double whole = kernels_.views[v].diagonal[k] + potential_.curvature(k, mu_[k]);
        views_[v].diagonal[k] = static_cast<float>(whole);
    }

    Row row(std::size_t v, std::size_t k, std::size_t batch) {
        const View& view = views_[v];
        if (!kernels_.has(v, k))
            kernels_.fetch(v, likely(kernels_, v, k, view.F.data(), view.up.data(),
                                     view.low.data(), view.ends, batch));
        return kernels_.row(v, k);
    }

    Partner find_partner(std::size_t v, std::size_t i, std::size_t batch) {
        const View& view = views_[v];
        const float* diagonal = view.equal_diagonals ? nullptr : view.diagonal.data();
        return second_order(view.F.data(), row(v, i, batch), diagonal, view.low.data(), view.F[i],
                            view.diagonal[i], n_);
    }

    bool step(std::size_t v, std::size_t batch) {
        View& view = views_[v];
        const std::size_t i = view.ends.rising, j = find_partner(v, i, batch).j;
        double t;
        const bool moved = take(v, i, j, batch, t);
        view.ends = update_and_scan(view.F.data(), kernels_.row(v, i), kernels_.row(v, j), t,
                                    view.up.data(), view.low.data(), n_);
        for (std::size_t u = 0; u < V_; ++u)
            if (u != v) look(u);
        return moved;
    }

    // The best step t of a pair; λ moves, F is left to the caller. False if nothing moved.
    bool take(std::size_t v, std::size_t i, std::size_t j, std::size_t batch, double& t) {
        View& view = views_[v];
        row(v, j, batch);
        const Row row_i = kernels_.row(v, i);  // fetching j may have moved it
        const double gap = static_cast<double>(view.F[i]) - view.F[j], cross = row_i[j];
        // g_i rises and g_j falls by the same
        const double most = std::min(room(view, i, y_[i]), room(view, j, -y_[j]));
        const double* plain = kernels_.views[v].diagonal;
        const double bend = plain[i] + plain[j] - 2 * cross;
        const double cost = std::max(
            bend + potential_.curvature(i, mu_[i]) + potential_.curvature(j, mu_[j]), flat);
        const auto derivative = [&](double t, double& steepness) {
            steepness = std::max(bend + potential_.curvature(i, mu_[i] + y_[i] * t) +
                                     potential_.curvature(j, mu_[j] - y_[j] * t),
                                 flat);
            return gap - bend * t - y_[i] * rise(view, i, y_[i] * t) +
                   y_[j] * rise(view, j, -y_[j] * t);
        };
        t = std::min(potential_.top(gap, cost, most, derivative), most);
        const bool rose = move(v, i, y_[i] * t);
        return move(v, j, -y_[j] * t) || rose;
    }

    // Where ψ is stiff in μ, steps of one view are short: g_i of view v rises and g_j falls while
    // the same samples of another view u do the opposite. False if a step of view v gains more.
    bool exchange(std::size_t v, std::size_t batch) {
        View& here = views_[v];
        std::size_t other = V_;
        Extremes best{0, 0, 0, 0};
        for (std::size_t u = 0; u < V_; ++u) {
            if (u == v) continue;
            const View& there = views_[u];
            for (std::size_t k = 0; k < padded(n_); ++k) {
                apart_[0][k] = here.F[k] - there.F[k];
                apart_[1][k] = here.up[k] - there.low[k];
                apart_[2][k] = here.low[k] - there.up[k];
            }
            const Extremes ends = scan(apart_[0].data(), apart_[1].data(), apart_[2].data(), n_);
            if (ends.gap() > best.gap()) best = ends, other = u;
        }
        // an exchange costs no more curvature: it is better where its derivative is
        if (other == V_ || best.gap() < here.ends.gap()) return false;
        const std::size_t i = best.rising, j = best.falling;
        if (i == j) return false;
        View& there = views_[other];
        double bend = potential_.apart(i) + potential_.apart(j);
        for (const std::size_t w : {v, other}) {
            row(w, i, batch);
            row(w, j, batch);
            const double* plain = kernels_.views[w].diagonal;
            bend += plain[i] + plain[j] - 2 * kernels_.row(w, i)[j];
        }
        double t = best.gap() / std::max(bend, flat);
        // λ of view v by `change`, of the other by −change
        const std::pair<std::size_t, double> changes[] = {{i, y_[i]}, {j, -y_[j]}};
        for (const auto& [k, sign] : changes)
            t = std::min(t, sign > 0 ? std::min(here.upper[k] - here.lam[k], there.lam[k])
                                     : std::min(here.lam[k], there.upper[k] - there.lam[k]));
        bool moved = false;
        for (const auto& [k, sign] : changes) {
            // the one that falls first: the sum must not leave its range in between
            const std::size_t falls = sign > 0 ? other : v, rises = sign > 0 ? v : other;
            moved = move(falls, k, -t) || moved;
            moved = move(rises, k, t) || moved;
        }
        here.ends = update_and_scan(here.F.data(), kernels_.row(v, i), kernels_.row(v, j), t,
                                    here.up.data(), here.low.data(), n_);
        there.ends = update_and_scan(there.F.data(), kernels_.row(other, i),
                                     kernels_.row(other, j), -t, there.up.data(),
                                     there.low.data(), n_);
        for (std::size_t w = 0; w < V_; ++w)
            if (w != v && w != other) look(w);
        return moved;
    }

    // how far λ_k can go in a direction
    double room(const View& view, std::size_t k, double direction) const {
        if (direction < 0) return view.lam[k];
        return std::min(view.upper[k] - view.lam[k], potential_.room(k, mu_[k]));
    }
    double rise(const View& view, std::size_t k, double change) const {
        return potential_.slope(k, view.lam[k] + change, mu_[k] + change) -
               potential_.slope(k, view.lam[k], mu_[k]);
    }

    // λ_vk += change, and what ψ adds to F in all views
    bool move(std::size_t v, std::size_t k, double change) {
        View& view = views_[v];
        const double before = view.lam[k], mu = mu_[k];
        const double after = std::min(std::max(before + change, 0.0), view.upper[k]);
        mu_[k] = 0;
        for (std::size_t u = 0; u < V_; ++u) mu_[k] += u == v ? after : views_[u].lam[k];
        for (std::size_t u = 0; u < V_; ++u) {
            const double lam = views_[u].lam[k], now = u == v ? after : lam;
            views_[u].F[k] -=
                y_[k] * (potential_.slope(k, now, mu_[k]) - potential_.slope(k, lam, mu));
        }
        view.lam[k] = after;
        bound(v, k);
        for (std::size_t u = 0; u < V_; ++u) weigh(u, k);
        return after != before;
    }

    Kernels& kernels_;
    std::size_t n_, V_;
    Potential potential_;
    const double* y_;
    std::vector<double> mu_;
    std::vector<View> views_;
    std::vector<Value> apart_[3];
    SignalCheck signals_;
};

// Multipliers, and F in double for loops that keep it in single precision.
template <typename Potential>
class Exact {
public:
    Exact(Kernels& kernels, const double* y, const double* upper, const Coupling& coupling,
          double* lam, double* F)
        : kernels_(kernels),
          n_(kernels.n),
          V_(kernels.views.size()),
          potential_(coupling),
          y_(y),
          upper_(upper),
          lam_(lam),
          F_(F),
          before_(lam, lam + V_ * n_),
          mu_(sums()),
          centre_(V_) {
        look();
    }

    double gap() const { return gap_; }
    // of each view the middle between those that have to meet
    const double* centre() const { return centre_.data(); }

    // F after λ has changed, whose rows have all been fetched
    void update() {
        const std::vector<double> mu = sums();
        for (std::size_t v = 0; v < V_; ++v) {
            double *lam = lam_ + v * n_, *before = before_.data() + v * n_, *F = F_ + v * n_;
            std::vector<const float*> rows;
            std::vector<double> change;
            for (std::size_t k = 0; k < n_; ++k) {
                if (lam[k] != before[k]) {
                    rows.push_back(static_cast<const float*>(kernels_.row(v, k).data));
                    change.push_back(y_[k] * (lam[k] - before[k]));
                }
                if (lam[k] != before[k] || mu[k] != mu_[k])
                    F[k] -= y_[k] * (potential_.slope(k, lam[k], mu[k]) -
                                     potential_.slope(k, before[k], mu_[k]));
                before[k] = lam[k];
            }
            subtract_rows(F, rows, change, n_);
        }
        mu_ = mu;
        look();
    }

private:
    std::vector<double> sums() const {
        std::vector<double> mu(n_, 0.0);
        for (std::size_t v = 0; v < V_; ++v)
            for (std::size_t k = 0; k < n_; ++k) mu[k] += lam_[v * n_ + k];
        return mu;
    }
    void look() {
        gap_ = 0;
        for (std::size_t v = 0; v < V_; ++v) {
            double most = -infinity, least = infinity;
            for (std::size_t k = 0; k < n_; ++k) {
                const std::size_t at = v * n_ + k;
                const bool grows = lam_[at] < upper_[at], shrinks = lam_[at] > 0;
                // F of a missing sample may be NaN, which is neither more nor less
                if ((y_[k] > 0 ? grows : shrinks) && F_[at] > most) most = F_[at];
                if ((y_[k] > 0 ? shrinks : grows) && F_[at] < least) least = F_[at];
            }
            gap_ = std::max(gap_, most - least);
            const bool ends = most > -infinity && least < infinity;
            centre_[v] = ends ? least + (most - least) / 2 : 0;
        }
    }

    Kernels& kernels_;
    std::size_t n_, V_;
    Potential potential_;
    const double *y_, *upper_;
    double *lam_, *F_;
    std::vector<double> before_, mu_, centre_;
    double gap_;
};

// Loops in single precision, which read half as much, on F relative to its middle, where those that
// decide are near 0. Where they stop F is made exact, and as a rule they need not start again. They
// give up where rounding decides what they reach.
template <typename Potential>
Progress solve_in_single(Kernels& kernels, const double* y, const double* upper,
                         const Coupling& coupling, double* lam, double* F, const Limits& limits) {
    Exact<Potential> exact(kernels, y, upper, coupling, lam, F);
    Progress all{0, exact.gap()};
    double before = infinity;
    while (all.gap > limits.tol && all.gap <= before / 2 && all.steps < limits.max_steps) {
        before = all.gap;
        Limits part = limits;
        part.tol = std::max(single_share * limits.tol, single_digits * all.gap);
        part.max_steps -= all.steps;
        const Progress progress =
            Joint<Potential, float>(kernels, y, upper, coupling, lam, F, exact.centre()).run(part);
        exact.update();
        all = {all.steps + progress.steps, exact.gap()};
    }
    return all;
}

template <typename Potential>
Progress solve(Kernels& kernels, const double* y, const double* upper, const Coupling& coupling,
               double* lam, double* F, const Limits& limits) {
    Progress first{0, infinity};
    if (kernels.single_and_whole())
        first = solve_in_single<Potential>(kernels, y, upper, coupling, lam, F, limits);
    if (first.gap <= limits.tol) return first;
    Limits rest = limits;
    rest.max_steps -= first.steps;
    Joint<Potential, double> joint(kernels, y, upper, coupling, lam, F);
    const Progress progress = joint.run(rest);
    joint.copy_gradient(F);
    return {first.steps + progress.steps, progress.gap};
}

}  // namespace

Progress smo_joint(Kernels& kernels, const double* y, const double* upper,
                   const Coupling& coupling, double* lam, double* F, const Limits& limits) {
    if (coupling.c > 0)
        return solve<Logarithm>(kernels, y, upper, coupling, lam, F, limits);
    return solve<Square>(kernels, y, upper, coupling, lam, F, limits);
}

}  // namespace consilience
