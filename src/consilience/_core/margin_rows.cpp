#include "margin_rows.hpp"

#include <cstring>

#include "dispatch.hpp"
#include "lanes.hpp"
#include "signals.hpp"

namespace consilience {
namespace {

// Lanes of a row from place t on; after its end they are `rest`.
CONSILIENCE_INLINE Lanes load(const double* row, std::size_t t, std::size_t n, double rest = 0.0) {
    if (t + lanes <= n) return load_lanes(row + t);
    Lanes out = all_lanes(rest);
    for (std::size_t j = t; j < n; ++j) out.set(static_cast<int>(j - t), row[j]);
    return out;
}

CONSILIENCE_INLINE void store(Lanes values, double* row, std::size_t t, std::size_t n) {
    if (t + lanes <= n) {
        store(values, row + t);
        return;
    }
    for (std::size_t j = t; j < n; ++j) row[j] = values[static_cast<int>(j - t)];
}

// Some groups of eight, each in a cache line of its own: that is what makes them fast.
class Groups {
   public:
    explicit Groups(std::size_t count) : held_((count + 1) * lanes) {
        const auto place = reinterpret_cast<std::uintptr_t>(held_.data()) / sizeof(double);
        values_ = held_.data() + (lanes - place % lanes) % lanes;
    }
    Groups(const Groups&) = delete;
    CONSILIENCE_INLINE Lanes operator[](std::size_t i) const {
        return load_lanes(values_ + i * lanes);
    }
    CONSILIENCE_INLINE void set(std::size_t i, Lanes x) { store(x, values_ + i * lanes); }
    CONSILIENCE_INLINE void add(std::size_t i, Lanes x) { set(i, (*this)[i] + x); }

   private:
    std::vector<double> held_;
    double* values_;
};

CONSILIENCE_INLINE Lanes absolute(Lanes x) {
    return larger(x, -x);
}

CONSILIENCE_INLINE double total(Lanes x) {
    double out = 0;
    for (int j = 0; j < lanes; ++j) out += x[j];
    return out;
}

CONSILIENCE_INLINE double largest(Lanes x) {
    double out = x[0];
    for (int j = 1; j < lanes; ++j) out = x[j] > out ? x[j] : out;
    return out;
}

// sum_v H_jv z_v.
CONSILIENCE_INLINE Lanes along(const MarginRows& rows, std::size_t j, const Groups& z) {
    Lanes out = all_lanes(0.0);
    for (std::size_t v = 0; v < rows.V; ++v) {
        const double size = rows.H[j * rows.V + v];
        if (size != 0) out += all_lanes(size) * z[v];
    }
    return out;
}

// z += H_j' x.
CONSILIENCE_INLINE void spread(const MarginRows& rows, std::size_t j, Lanes x, Groups& z) {
    for (std::size_t v = 0; v < rows.V; ++v) {
        const double size = rows.H[j * rows.V + v];
        if (size != 0) z.add(v, all_lanes(size) * x);
    }
}

// Eight samples: their s and lambda, and a direction from them, stage by stage.
struct Batch {
    const MarginRows& rows;
    Groups on, s, lam, inverse_s, inverse_m;
    Groups target, ds, dlam, dxi, dz, pull;

    explicit Batch(const MarginRows& r)
        : rows(r), on(r.p), s(r.p), lam(r.p), inverse_s(r.p), inverse_m(r.k), target(r.p), ds(r.p),
          dlam(r.p), dxi(r.k), dz(r.V), pull(r.V) {}

    // After the last sample come copies of a harmless one: s = lambda = 1, nothing imposed.
    CONSILIENCE_INLINE void read(const double* distances, const double* multipliers, std::size_t t) {
        const std::size_t n = rows.n;
        Lanes there = all_lanes(1.0);
        for (std::size_t i = n - t; i < static_cast<std::size_t>(lanes); ++i)
            there.set(static_cast<int>(i), 0.0);
        for (std::size_t k = 0; k < rows.k; ++k) inverse_m.set(k, all_lanes(rows.bend[k]));
        for (std::size_t j = 0; j < rows.p; ++j) {
            const Lanes l = load(multipliers + j * n, t, n, 1.0);
            const Lanes distance = load(distances + j * n, t, n, 1.0);
            const Lanes inverse = all_lanes(1.0) / distance;
            on.set(j, rows.on == nullptr ? there : load(rows.on + j * n, t, n));
            s.set(j, distance);
            lam.set(j, l);
            inverse_s.set(j, inverse);
            inverse_m.add(rows.slot[j], l * inverse);
        }
        for (std::size_t k = 0; k < rows.k; ++k) inverse_m.set(k, all_lanes(1.0) / inverse_m[k]);
    }

    CONSILIENCE_INLINE void set_target(const Stage& stage, double low, double high) {
        for (std::size_t j = 0; j < rows.p; ++j) {
            const Lanes goal = all_lanes(stage.goal[j]);
            Lanes out;
            if (stage.target == Target::centred) {
                const Lanes aim = all_lanes(stage.aim), most = all_lanes(high) * goal;
                const Lanes product = (lam[j] + aim * dlam[j]) * (s[j] + aim * ds[j]);
                const Lanes inside = smaller(larger(product, all_lanes(low) * goal), most);
                out = target[j] + larger(inside - product, -most);
            } else {
                out = goal - lam[j] * s[j];
                if (stage.target == Target::second) out = out - dlam[j] * ds[j];
            }
            target.set(j, on[j] * out);
        }
    }

    // dxi, ds and dlambda from the target and dz.
    CONSILIENCE_INLINE void follow(const double* values, std::size_t t) {
        for (std::size_t v = 0; v < rows.V; ++v) dz.set(v, load(values + v * rows.n, t, rows.n));
        for (std::size_t k = 0; k < rows.k; ++k) dxi.set(k, all_lanes(0.0));
        for (std::size_t j = 0; j < rows.p; ++j) {
            const Lanes moved = along(rows, j, dz);
            ds.set(j, moved);
            dxi.add(rows.slot[j], inverse_s[j] * (target[j] - lam[j] * moved));
        }
        for (std::size_t k = 0; k < rows.k; ++k) dxi.set(k, dxi[k] * inverse_m[k]);
        for (std::size_t j = 0; j < rows.p; ++j) {
            const Lanes d = on[j] * (ds[j] + dxi[rows.slot[j]]);
            ds.set(j, d);
            dlam.set(j, inverse_s[j] * (target[j] - lam[j] * d));
        }
    }

    // All stages but, if it is only to be prepared, the last one's way.
    CONSILIENCE_INLINE void walk(const Direction& direction, std::size_t t, bool prepare) {
        const std::size_t count = direction.stages.size(), size = rows.V * rows.n;
        for (std::size_t q = 0; q < count; ++q) {
            set_target(direction.stages[q], direction.low, direction.high);
            if (!prepare || q + 1 < count) follow(direction.dz + q * size, t);
        }
    }

    CONSILIENCE_INLINE void write_pull(double* R, std::size_t t) const {
        const Lanes signs = load(rows.label, t, rows.n) * load(rows.weight, t, rows.n);
        for (std::size_t v = 0; v < rows.V; ++v)
            store(signs * pull[v], R + v * rows.n, t, rows.n);
    }
};

}  // namespace

void MarginRows::find_squares() {
    const auto add = [this](std::size_t i, std::size_t j) {
        std::vector<double> difference(V);
        bool any = false;
        for (std::size_t v = 0; v < V; ++v) {
            difference[v] = H[i * V + v] - (j < p ? H[j * V + v] : 0.0);
            any = any || difference[v] != 0;
        }
        if (any) squares.push_back({i, j, difference});
    };
    for (std::size_t i = 0; i < p; ++i) {
        if (bend[slot[i]] != 0) add(i, p);
        for (std::size_t j = i + 1; j < p; ++j)
            if (slot[i] == slot[j]) add(i, j);
    }
}

CONSILIENCE_CLONES
void margin_curvature(const MarginRows& rows, const double* s, const double* lam, double* D) {
    const std::size_t n = rows.n, V = rows.V, pairs = V * (V + 1) / 2;
    Batch batch(rows);
    SignalCheck signals;
    Groups curvature(pairs);
    for (std::size_t t = 0; t < n; t += lanes) {
        signals.add(lanes * rows.p);
        batch.read(s, lam, t);
        for (std::size_t uv = 0; uv < pairs; ++uv) curvature.set(uv, all_lanes(0.0));
        for (const auto& square : rows.squares) {
            const std::size_t i = square.i, j = square.j;
            const std::size_t k = static_cast<std::size_t>(rows.slot[i]);
            const Lanes other = j < rows.p ? batch.lam[j] * batch.inverse_s[j] : all_lanes(rows.bend[k]);
            const Lanes size = batch.lam[i] * batch.inverse_s[i] * (other * batch.inverse_m[k]);
            for (std::size_t u = 0, uv = 0; u < V; ++u)
                for (std::size_t v = u; v < V; ++v, ++uv) {
                    const double both = square.along[u] * square.along[v];
                    if (both != 0) curvature.add(uv, all_lanes(both) * size);
                }
        }
        const Lanes weight = load(rows.weight, t, n);
        for (std::size_t uv = 0; uv < pairs; ++uv) store(weight * curvature[uv], D + uv * n, t, n);
    }
}

CONSILIENCE_CLONES
void margin_reduce(const MarginRows& rows, const double* s, const double* lam,
                   const Direction& direction, double* R) {
    Batch batch(rows);
    SignalCheck signals;
    Groups slack(rows.k);
    for (std::size_t t = 0; t < rows.n; t += lanes) {
        signals.add(lanes * rows.p);
        batch.read(s, lam, t);
        batch.walk(direction, t, true);
        for (std::size_t v = 0; v < rows.V; ++v) batch.pull.set(v, all_lanes(0.0));
        for (std::size_t k = 0; k < rows.k; ++k) slack.set(k, all_lanes(0.0));
        for (std::size_t j = 0; j < rows.p; ++j)
            slack.add(rows.slot[j], batch.inverse_s[j] * batch.target[j]);
        for (std::size_t k = 0; k < rows.k; ++k) slack.set(k, slack[k] * batch.inverse_m[k]);
        for (std::size_t j = 0; j < rows.p; ++j) {
            const Lanes left = batch.target[j] - batch.lam[j] * slack[rows.slot[j]];
            spread(rows, j, batch.inverse_s[j] * left, batch.pull);
        }
        batch.write_pull(R, t);
    }
}

CONSILIENCE_CLONES
MarginWay margin_way(const MarginRows& rows, const double* s, const double* lam,
                     const Direction& direction) {
    Batch batch(rows);
    SignalCheck signals;
    Lanes worst = all_lanes(0.0), linear = worst, square = worst;
    for (std::size_t t = 0; t < rows.n; t += lanes) {
        signals.add(lanes * rows.p);
        batch.read(s, lam, t);
        batch.walk(direction, t, false);
        const Lanes weight = load(rows.weight, t, rows.n);
        for (std::size_t j = 0; j < rows.p; ++j) {
            const Lanes d = batch.ds[j], dl = batch.dlam[j];
            worst = smaller(worst, d * batch.inverse_s[j]);
            // 0 / 0 where a constraint is not imposed: not smaller than anything
            worst = smaller(worst, dl / batch.lam[j]);
            if (rows.final[j] == 0) {
                linear += weight * (batch.lam[j] * d + batch.s[j] * dl);
                square += weight * d * dl;
            }
        }
    }
    return {largest(-worst), total(linear), total(square)};
}

CONSILIENCE_CLONES
MarginSizes margin_move(const MarginRows& rows, const double* xi, const double* s,
                        const double* lam, const Direction& direction, double t, double* new_xi,
                        double* new_s, double* new_lam, double* R) {
    const std::size_t n = rows.n;
    const Lanes step = all_lanes(t);
    const bool moves = !direction.stages.empty();
    Batch batch(rows);
    SignalCheck signals;
    Groups gradient(rows.k), sum(rows.k);
    Lanes gap = all_lanes(0.0), loss = gap, mass = gap, slack = gap, top = gap, off = gap;
    for (std::size_t i = 0; i < n; i += lanes) {
        signals.add(lanes * rows.p);
        batch.read(s, lam, i);
        batch.walk(direction, i, false);
        const Lanes weight = load(rows.weight, i, n), none = all_lanes(0.0);
        // weights are positive, but 0 after the last sample
        const Lanes there = if_not_less(none, weight, none, all_lanes(1.0));
        for (std::size_t k = 0; k < rows.k; ++k) {
            const Lanes slope = all_lanes(rows.slope[k]), bend = all_lanes(rows.bend[k]);
            Lanes x = load(xi + k * n, i, n);
            if (moves) x += step * batch.dxi[k];
            store(x, new_xi + k * n, i, n);
            gradient.set(k, slope + bend * x);
            sum.set(k, none);
            loss += weight * absolute(x * (slope + all_lanes(0.5) * bend * x));
            top = larger(top, there * absolute(gradient[k]));
        }
        for (std::size_t j = 0; j < rows.p; ++j) {
            Lanes distance = batch.s[j], l = batch.lam[j];
            if (moves) {
                distance += step * batch.ds[j];
                l += step * batch.dlam[j];
            }
            store(distance, new_s + j * n, i, n);
            batch.s.set(j, distance);
            batch.lam.set(j, l);
            sum.add(rows.slot[j], l);
        }
        for (std::size_t k = 0; k < rows.k; ++k) {
            slack = larger(slack, there * absolute(gradient[k] - sum[k]));
            // where a slope says what multipliers add up to, no rounding piles up
            sum.set(k, rows.bend[k] == 0 ? gradient[k] / sum[k] : all_lanes(1.0));
        }
        for (std::size_t v = 0; v < rows.V; ++v) batch.pull.set(v, none);
        for (std::size_t j = 0; j < rows.p; ++j) {
            const Lanes distance = batch.s[j], l = batch.lam[j] * sum[rows.slot[j]];
            store(l, new_lam + j * n, i, n);
            spread(rows, j, l, batch.pull);
            if (rows.final[j] == 0)
                gap += weight * l * distance;
            else
                off = larger(off, batch.on[j] * absolute(l * distance - all_lanes(1.0)));
        }
        for (std::size_t v = 0; v < rows.V; ++v) mass += weight * absolute(batch.pull[v]);
        batch.write_pull(R, i);
    }
    return {total(gap), total(loss), total(mass), largest(slack), largest(top), largest(off)};
}

}  // namespace consilience
