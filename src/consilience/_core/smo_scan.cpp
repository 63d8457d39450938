#include "smo_scan.hpp"

#include <cmath>
#include <cstdint>

#include "dispatch.hpp"
#include "lanes.hpp"

namespace consilience {
namespace {

constexpr double infinity = HUGE_VAL;
// least curvature of a pair: kernels need not be positive definite to the last digit
constexpr double flat = 1e-12;

CONSILIENCE_INLINE Lanes load(const double* values) {
    Lanes out;
    std::memcpy(&out, values, sizeof out);
    return out;
}

CONSILIENCE_INLINE Lanes first_places() {
    Lanes out = all_lanes(0.0);
    for (int j = 0; j < lanes; ++j) out[j] = j;
    return out;
}

// Largest value and its place by lanes; of equals the first.
struct Largest {
    Lanes value = all_lanes(-infinity), place = all_lanes(0.0);

    CONSILIENCE_INLINE void see(Lanes candidate, Lanes where) {
        place = if_not_less(value, candidate, place, where);
        value = if_not_less(value, candidate, value, candidate);
    }
    CONSILIENCE_INLINE std::size_t best(double& most) const {
        int winner = 0;
        for (int j = 1; j < lanes; ++j)
            if (value[j] > value[winner] ||
                (value[j] == value[winner] && place[j] < place[winner]))
                winner = j;
        most = value[winner];
        return static_cast<std::size_t>(place[winner]);
    }
};

template <bool update>
CONSILIENCE_INLINE Extremes extremes(double* F, const double* row_i, const double* row_j,
                                     double step, const double* up, const double* low,
                                     std::size_t width) {
    const Lanes steps = all_lanes(step), eight = all_lanes(lanes);
    Lanes place = first_places();
    Largest rising, falling;
    for (std::size_t k = 0; k < width; k += lanes) {
        Lanes f = load(F + k);
        if (update) {
            f = f - steps * (load(row_i + k) - load(row_j + k));
            store(f, F + k);
        }
        rising.see(f + load(up + k), place);
        falling.see(-(f + load(low + k)), place);
        place = place + eight;
    }
    Extremes out;
    out.rising = rising.best(out.most);
    out.falling = falling.best(out.least);
    out.least = -out.least;
    return out;
}

}  // namespace

CONSILIENCE_CLONES
Extremes update_and_scan(double* F, const double* row_i, const double* row_j, double step,
                         const double* up, const double* low, std::size_t width) {
    return extremes<true>(F, row_i, row_j, step, up, low, width);
}

CONSILIENCE_CLONES
Extremes scan(const double* F, const double* up, const double* low, std::size_t width) {
    return extremes<false>(const_cast<double*>(F), nullptr, nullptr, 0, up, low, width);
}

CONSILIENCE_CLONES
std::size_t second_order(const double* F, const double* row_i, const double* diagonal,
                         const double* low, double F_i, double diagonal_i, std::size_t width) {
    const Lanes top = all_lanes(F_i), first = all_lanes(diagonal_i), eight = all_lanes(lanes);
    const Lanes none = all_lanes(0.0), two = all_lanes(2.0), least = all_lanes(flat);
    Lanes place = first_places();
    // the best as numerator and denominator: products cost less than quotients
    Lanes best_gain = all_lanes(0.0), best_cost = all_lanes(1.0), best_place = all_lanes(-1.0);
    for (std::size_t k = 0; k < width; k += lanes) {
        // those that cannot fall have low = inf, hence a difference of −inf
        const Lanes raw = top - (load(F + k) + load(low + k));
        const Lanes difference = larger(raw, none);
        const Lanes cost = larger((first + load(diagonal + k)) - two * load(row_i + k), least);
        const Lanes gain = difference * difference;
        const Lanes ours = gain * best_cost, theirs = best_gain * cost;
        best_place = if_not_less(theirs, ours, best_place, place);
        best_gain = if_not_less(theirs, ours, best_gain, gain);
        best_cost = if_not_less(theirs, ours, best_cost, cost);
        place = place + eight;
    }
    int winner = 0;
    for (int j = 1; j < lanes; ++j) {
        const double ours = best_gain[j] * best_cost[winner];
        const double theirs = best_gain[winner] * best_cost[j];
        if (ours > theirs || (ours == theirs && best_place[j] < best_place[winner])) winner = j;
    }
    return static_cast<std::size_t>(best_place[winner] < 0 ? 0 : best_place[winner]);
}

}  // namespace consilience
