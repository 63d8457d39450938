#include "smo.hpp"

#include <algorithm>
#include <cmath>

#include "edges.hpp"
#include "smo_scan.hpp"

namespace consilience {
namespace {

constexpr double infinity = HUGE_VAL;
constexpr double flat = 1e-12;

struct Square {
    std::vector<double> own, shared;

    Square(const WorkingSet& set, const Coupling& coupling) : own(set.q), shared(set.q) {
        for (std::size_t k = 0; k < set.q; ++k) {
            own[k] = coupling.own[set.index[k]];
            shared[k] = coupling.shared[set.index[k]];
        }
    }
    double slope(std::size_t k, double lam, double mu) const {
        return own[k] * lam + shared[k] * mu;
    }
    double curvature(std::size_t k, double) const { return own[k] + shared[k]; }
    double room(std::size_t, double) const { return infinity; }
    // the pair's gain is a parabola: its top
    template <typename Derivative>
    double top(double gap, double cost, double, Derivative) const {
        return gap / cost;
    }
};

struct Logarithm {
    double c;
    std::vector<double> weight;

    Logarithm(const WorkingSet& set, const Coupling& coupling) : c(coupling.c), weight(set.q) {
        for (std::size_t k = 0; k < set.q; ++k) weight[k] = coupling.own[set.index[k]];
    }
    double slope(std::size_t k, double, double mu) const { return 1 / (c - mu / weight[k]); }
    double curvature(std::size_t k, double mu) const {
        const double rise = slope(k, 0, mu);
        return rise * rise / weight[k];
    }
    double room(std::size_t k, double mu) const { return c * weight[k] - mu; }
    // the zero of the derivative, which falls: secants kept inside a bracket
    template <typename Derivative>
    double top(double gap, double cost, double most, Derivative derivative) const {
        double low = 0, at_low = gap, high = most, step = std::min(gap / cost, most / 2);
        double at_high = -infinity;
        for (int tries = 0; tries < 60 && high - low > 1e-15 * high; ++tries) {
            const double here = derivative(step);
            if (here == 0) return step;
            (here > 0 ? low : high) = step;
            (here > 0 ? at_low : at_high) = here;
            const double secant = low + (high - low) * (at_low / (at_low - at_high));
            const bool inside = secant > low && secant < high;
            step = inside && tries % 3 != 2 ? secant : low + (high - low) / 2;
        }
        return step;
    }
};

template <typename Potential>
class Joint {
public:
    Joint(const WorkingSet& set, const double* y_all, const double* upper_all,
          const Coupling& coupling, const double* lam_all, const double* F_all)
        : set_(set),
          V_(set.kernels.size()),
          width_((set.q + lanes - 1) / lanes * lanes),
          potential_(set, coupling),
          y_(set.q),
          mu_(set.q, 0.0),
          views_(V_) {
        for (std::size_t k = 0; k < set.q; ++k) y_[k] = y_all[set.index[k]];
        for (std::size_t v = 0; v < V_; ++v) {
            View& view = views_[v];
            view.K.resize(set.q * width_);
            gather(set, set.kernels[v], width_, view.K.data());
            view.F.assign(width_, 0.0);
            view.up.assign(width_, -infinity);
            view.low.assign(width_, infinity);
            view.diagonal.assign(width_, 1.0);
            view.lam.resize(set.q);
            view.upper.resize(set.q);
            for (std::size_t k = 0; k < set.q; ++k) {
                const std::size_t t = v * set.n + set.index[k];
                view.F[k] = F_all[t];
                view.lam[k] = lam_all[t];
                view.upper[k] = upper_all[t];
                mu_[k] += view.lam[k];
            }
        }
        for (std::size_t v = 0; v < V_; ++v)
            for (std::size_t k = 0; k < set.q; ++k) bound(v, k), weigh(v, k);
        for (View& view : views_)
            view.ends = scan(view.F.data(), view.up.data(), view.low.data(), width_);
    }

    Progress run(double tol, std::int64_t max_steps) {
        std::int64_t steps = 0;
        while (true) {
            std::size_t worst = 0;
            for (std::size_t v = 1; v < V_; ++v)
                if (views_[v].gap() > views_[worst].gap()) worst = v;
            const double gap = views_[worst].gap();
            if (!(gap > tol) || steps == max_steps) return {steps, std::max(gap, 0.0)};
            if (!step(worst)) return {steps, gap};
            ++steps;
        }
    }

    // λ and F of all samples
    void finish(double* lam_all, double* F_all) const {
        std::vector<double> delta(set_.q), kernel_part(set_.q);
        for (std::size_t v = 0; v < V_; ++v) {
            const View& view = views_[v];
            double *lam = lam_all + v * set_.n, *F = F_all + v * set_.n;
            for (std::size_t k = 0; k < set_.q; ++k) {
                const std::size_t t = set_.index[k];
                delta[k] = y_[k] * (view.lam[k] - lam[t]);
                lam[t] = view.lam[k];
            }
            subtract_rows(set_, set_.kernels[v], delta.data(), F);
            // the working set knows its own, with what ψ adds
            for (std::size_t k = 0; k < set_.q; ++k) F[set_.index[k]] = view.F[k];
        }
    }

private:
    struct View {
        std::vector<double> K, F, up, low, diagonal, lam, upper;
        Extremes ends;
        double gap() const { return ends.most - ends.least; }
    };

    // where g_k can go: up is 0 or −inf, low 0 or inf
    void bound(std::size_t v, std::size_t k) {
        View& view = views_[v];
        const bool grows = view.lam[k] < view.upper[k], shrinks = view.lam[k] > 0;
        view.up[k] = (y_[k] > 0 ? grows : shrinks) ? 0.0 : -infinity;
        view.low[k] = (y_[k] > 0 ? shrinks : grows) ? 0.0 : infinity;
    }
    void weigh(std::size_t v, std::size_t k) {
        views_[v].diagonal[k] = views_[v].K[k * width_ + k] + potential_.curvature(k, mu_[k]);
    }

    bool step(std::size_t v) {
        View& view = views_[v];
        const std::size_t i = view.ends.rising;
        const double* row_i = view.K.data() + i * width_;
        const std::size_t j = second_order(view.F.data(), row_i, view.diagonal.data(),
                                           view.low.data(), view.F[i], view.diagonal[i], width_);
        const double* row_j = view.K.data() + j * width_;
        const double gap = view.F[i] - view.F[j];
        // g_i rises and g_j falls by the same
        const double most = std::min(room(view, i, y_[i]), room(view, j, -y_[j]));
        const double bend = view.K[i * width_ + i] + view.K[j * width_ + j] - 2 * row_i[j];
        const double cost = std::max(view.diagonal[i] + view.diagonal[j] - 2 * row_i[j], flat);
        const auto derivative = [&](double t) {
            return gap - bend * t - y_[i] * rise(view, i, y_[i] * t) +
                   y_[j] * rise(view, j, -y_[j] * t);
        };
        const double t = std::min(potential_.top(gap, cost, most, derivative), most);
        const bool moved = move(v, i, y_[i] * t, t == most) | move(v, j, -y_[j] * t, t == most);
        view.ends = update_and_scan(view.F.data(), row_i, row_j, t, view.up.data(),
                                    view.low.data(), width_);
        for (std::size_t u = 0; u < V_; ++u)
            if (u != v)
                views_[u].ends = scan(views_[u].F.data(), views_[u].up.data(),
                                      views_[u].low.data(), width_);
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

    // λ_vk += change, on the bound if that is reached, and what ψ adds to F in all views
    bool move(std::size_t v, std::size_t k, double change, bool full) {
        View& view = views_[v];
        const double before = view.lam[k], mu = mu_[k];
        double after = std::min(std::max(before + change, 0.0), view.upper[k]);
        // a full step ends on the bound whatever the sum was rounded to
        if (full && change < 0 && before + change <= 1e-15 * before) after = 0;
        mu_[k] = V_ == 1 ? after : std::max(mu + (after - before), after);
        for (std::size_t u = 0; u < V_; ++u) {
            const double lam = views_[u].lam[k], now = u == v ? after : lam;
            views_[u].F[k] -= y_[k] * (potential_.slope(k, now, mu_[k]) -
                                       potential_.slope(k, lam, mu));
        }
        view.lam[k] = after;
        bound(v, k);
        for (std::size_t u = 0; u < V_; ++u) weigh(u, k);
        return after != before;
    }

    const WorkingSet& set_;
    std::size_t V_, width_;
    Potential potential_;
    std::vector<double> y_, mu_;
    std::vector<View> views_;
};

template <typename Potential>
Progress solve(const WorkingSet& set, const double* y, const double* upper,
               const Coupling& coupling, double* lam, double* F, double tol,
               std::int64_t max_steps) {
    Joint<Potential> joint(set, y, upper, coupling, lam, F);
    const Progress progress = joint.run(tol, max_steps);
    joint.finish(lam, F);
    return progress;
}

}  // namespace

Progress smo_joint(const WorkingSet& set, const double* y, const double* upper,
                   const Coupling& coupling, double* lam, double* F, double tol,
                   std::int64_t max_steps) {
    return coupling.c > 0
               ? solve<Logarithm>(set, y, upper, coupling, lam, F, tol, max_steps)
               : solve<Square>(set, y, upper, coupling, lam, F, tol, max_steps);
}

}  // namespace consilience
