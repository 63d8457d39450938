#include "smo_pair.hpp"

#include <algorithm>
#include <cmath>

#include "signals.hpp"
#include "smo_scan.hpp"

namespace consilience {
namespace {

constexpr double infinity = HUGE_VAL;
constexpr double flat = 1e-12;
constexpr std::size_t nobody = static_cast<std::size_t>(-1);

// What a direction does: samples whose a or β rises or falls, by kind (a₁, a₂, β).
struct Direction {
    std::size_t rising[3] = {nobody, nobody, nobody};
    std::size_t falling[3] = {nobody, nobody, nobody};
    double gain = 0;  // derivative of the objective
};

class Pair {
public:
    Pair(Kernels& kernels, const double* y, const double* C, const double* D, double epsilon,
         double* a, double* beta, const double* F)
        : kernels_(kernels), n_(kernels.n), y_(y), D_(D), epsilon_(epsilon), beta_(beta) {
        for (int v = 0; v < 2; ++v) {
            a_[v] = a + v * n_;
            C_[v] = C + v * n_;
        }
        for (int kind = 0; kind < 3; ++kind) {
            Scores& s = scores_[kind];
            s.F.assign(padded(n_), 0.0);
            s.up.assign(padded(n_), -infinity);
            s.low.assign(padded(n_), infinity);
            s.diagonal.assign(padded(n_), 1.0);
            for (std::size_t k = 0; k < n_; ++k) {
                const double one = kernels.views[0].diagonal[k], two = kernels.views[1].diagonal[k];
                s.diagonal[k] = kind == 0 ? one : kind == 1 ? two : one + two;
                if (kind < 2) s.F[k] = F[kind * n_ + k];
                bound(kind, k);
            }
            if (kind < 2) look(kind);
        }
        compare();
    }

    Progress run(const Limits& limits) {
        std::int64_t steps = 0;
        while (true) {
            Direction best = steepest();
            if (!(best.gain > limits.tol) || steps == limits.max_steps)
                return {steps, std::max(best.gain, 0.0)};
            const double gap = best.gain;
            refine(best, limits.batch);
            if (!step(best, limits.batch)) return {steps, gap};
            ++steps;
            signals_.add(3 * n_);
        }
    }

    void copy_gradient(double* F) const {
        for (int v = 0; v < 2; ++v) std::copy_n(scores_[v].F.begin(), n_, F + v * n_);
    }

private:
    struct Scores {
        std::vector<double> F, up, low, diagonal;
        Extremes ends;
    };

    void look(int kind) {
        Scores& s = scores_[kind];
        s.ends = scan(s.F.data(), s.up.data(), s.low.data(), n_);
    }
    void compare() {
        double* difference = scores_[2].F.data();
        const double *one = scores_[0].F.data(), *two = scores_[1].F.data();
        for (std::size_t k = 0; k < n_; ++k) difference[k] = two[k] - one[k];
        look(2);
    }

    // what is added to F for a variable that rises or falls: ∓ε for β, infinity on a bound
    void bound(int kind, std::size_t k) {
        Scores& s = scores_[kind];
        if (kind == 2) {
            s.up[k] = beta_[k] < D_[k] ? (beta_[k] < 0 ? epsilon_ : -epsilon_) : -infinity;
            s.low[k] = beta_[k] > -D_[k] ? (beta_[k] > 0 ? -epsilon_ : epsilon_) : infinity;
            return;
        }
        const bool grows = a_[kind][k] < C_[kind][k], shrinks = a_[kind][k] > 0;
        s.up[k] = (y_[k] > 0 ? grows : shrinks) ? 0.0 : -infinity;
        s.low[k] = (y_[k] > 0 ? shrinks : grows) ? 0.0 : infinity;
    }

    Direction steepest() const {
        Direction best;
        const auto& one = scores_[0].ends;
        const auto& two = scores_[1].ends;
        const auto& both = scores_[2].ends;
        for (int kind = 0; kind < 3; ++kind) {
            const double gain = scores_[kind].ends.gap();
            if (!(gain > best.gain)) continue;
            best = Direction{};
            best.rising[kind] = scores_[kind].ends.rising;
            best.falling[kind] = scores_[kind].ends.falling;
            best.gain = gain;
        }
        const double up = both.most + one.most - two.least;
        if (up > best.gain) {  // β rises, made up for by g₁ that rises and g₂ that falls
            best = Direction{};
            best.rising[2] = both.rising;
            best.rising[0] = one.rising;
            best.falling[1] = two.falling;
            best.gain = up;
        }
        const double down = two.most - one.least - both.least;
        if (down > best.gain) {
            best = Direction{};
            best.falling[2] = both.falling;
            best.falling[0] = one.falling;
            best.rising[1] = two.rising;
            best.gain = down;
        }
        return best;
    }

    // two variables of one kind: the partner that gains most for its curvature
    void refine(Direction& d, std::size_t batch) {
        for (int kind = 0; kind < 3; ++kind) {
            const std::size_t i = d.rising[kind];
            if (i == nobody || d.falling[kind] == nobody) continue;
            Scores& s = scores_[kind];
            Row row = kind < 2 ? this->row(kind, i, batch) : sum_of_rows(i, batch);
            const double top = s.F[i] + s.up[i];
            const std::size_t j = second_order(s.F.data(), row, s.diagonal.data(), s.low.data(),
                                               top, s.diagonal[i], n_).j;
            d.falling[kind] = j;
            d.gain = top - (s.F[j] + s.low[j]);
        }
    }

    Row row(int v, std::size_t k, std::size_t batch) {
        const Scores& s = scores_[v];
        if (!kernels_.has(v, k))
            kernels_.fetch(v, likely(kernels_, v, k, s.F.data(), s.up.data(), s.low.data(),
                                     s.ends, batch));
        return kernels_.row(v, k);
    }
    Row sum_of_rows(std::size_t k, std::size_t batch) {
        const Row one = row(0, k, batch), two = row(1, k, batch);
        sum_.resize(n_);
        for (std::size_t t = 0; t < n_; ++t) sum_[t] = one[t] + two[t];
        return {sum_.data(), false};
    }

    bool step(const Direction& d, std::size_t batch) {
        // g of a view rises at `plus` and falls at `minus` by the same; β moves g₁ against it
        std::size_t plus[2], minus[2];
        double most = infinity, bend = 0;
        for (int v = 0; v < 2; ++v) {
            const std::size_t with = v == 0 ? d.falling[2] : d.rising[2];
            const std::size_t against = v == 0 ? d.rising[2] : d.falling[2];
            plus[v] = d.rising[v] != nobody ? d.rising[v] : with;
            minus[v] = d.falling[v] != nobody ? d.falling[v] : against;
            if (plus[v] == minus[v]) continue;
            row(v, plus[v], batch);
            row(v, minus[v], batch);
            const double* diagonal = kernels_.views[v].diagonal;
            bend += diagonal[plus[v]] + diagonal[minus[v]] -
                    2 * kernels_.row(v, plus[v])[minus[v]];
        }
        for (int kind = 0; kind < 3; ++kind) {
            if (d.rising[kind] != nobody) most = std::min(most, room(kind, d.rising[kind], 1));
            if (d.falling[kind] != nobody) most = std::min(most, room(kind, d.falling[kind], -1));
        }
        const double t = std::min(d.gain / std::max(bend, flat), most);
        bool moved = false;
        for (int kind = 0; kind < 3; ++kind) {
            if (d.rising[kind] != nobody) moved = move(kind, d.rising[kind], t) || moved;
            if (d.falling[kind] != nobody) moved = move(kind, d.falling[kind], -t) || moved;
        }
        for (int v = 0; v < 2; ++v) {
            Scores& s = scores_[v];
            if (plus[v] == minus[v])
                look(v);
            else
                s.ends = update_and_scan(s.F.data(), kernels_.row(v, plus[v]),
                                         kernels_.row(v, minus[v]), t, s.up.data(),
                                         s.low.data(), n_);
        }
        compare();
        return moved;
    }

    // how far g (or β) can go in a direction; β stops at 0, where its cost has a kink
    double room(int kind, std::size_t k, double direction) const {
        if (kind == 2) {
            const double ahead = direction * beta_[k];
            return ahead < 0 ? -ahead : D_[k] - ahead;
        }
        return direction * y_[k] > 0 ? C_[kind][k] - a_[kind][k] : a_[kind][k];
    }
    bool move(int kind, std::size_t k, double change) {
        double& value = kind == 2 ? beta_[k] : a_[kind][k];
        const double before = value;
        if (kind == 2)
            value = std::min(std::max(before + change, -D_[k]), D_[k]);
        else
            value = std::min(std::max(before + y_[k] * change, 0.0), C_[kind][k]);
        bound(kind, k);
        return value != before;
    }

    Kernels& kernels_;
    std::size_t n_;
    const double* y_;
    const double* C_[2];
    const double* D_;
    double epsilon_;
    double* a_[2];
    double* beta_;
    Scores scores_[3];
    std::vector<double> sum_;
    SignalCheck signals_;
};

}  // namespace

Progress smo_pair(Kernels& kernels, const double* y, const double* C, const double* D,
                  double epsilon, double* a, double* beta, double* F, const Limits& limits) {
    Pair pair(kernels, y, C, D, epsilon, a, beta, F);
    const Progress progress = pair.run(limits);
    pair.copy_gradient(F);
    return progress;
}

}  // namespace consilience
