// Passes over the training rows in a round of boosting (see round_rows.hpp). The loops have no
// branches: which rows are classified correctly cannot be foreseen.
#include "round_rows.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace consilience {
namespace {

int vote_kind(const Predicted& rows, std::size_t i) {
    const std::int32_t h = rows.predictions[i];
    return h < 0 ? 2 : h != rows.codes[i];
}

}  // namespace

void add_costs(const CostRows& costs, const Predicted& rows, const std::uint8_t* mask,
               CostSums& sums) {
    bool finite = true;
    for (std::size_t start = 0; start < rows.n; start += ExactSum::max_reserved) {
        const std::size_t end = std::min(start + ExactSum::max_reserved, rows.n);
        std::array<std::uint64_t*, 5> places;
        for (std::size_t k = 0; k < places.size(); ++k) places[k] = sums[k].reserve(end - start);
        for (std::size_t i = start; i < end; ++i) {
            const std::int32_t h = rows.predictions[i];
            const bool wrong = h != rows.codes[i], counts = wrong & (h >= 0);
            const double weight = costs.scale[i] * costs.total[i];
            const double cost =
                costs.scale[i] * costs.base[i * costs.n_classes + (h < 0 ? 0 : h)];
            const double loss = counts ? cost : 0.0;
            finite &= std::isfinite(weight) & std::isfinite(loss);
            ExactSum::add_to(places[mask[i] ? wrong : 2], weight);
            ExactSum::add_to(places[mask[i] ? 3 : 4], loss);
        }
    }
    if (!finite) throw std::invalid_argument("sums need finite numbers");
}

void update_costs(const CostRows& costs, const Predicted& rows, const std::uint8_t* mask,
                  double shrink, double grow, double rescale_above) {
    const std::size_t n_classes = costs.n_classes;
    for (std::size_t i = 0; i < rows.n; ++i) {
        const std::int32_t h = rows.predictions[i];
        const bool right = h == rows.codes[i];
        double& base = costs.base[i * n_classes + (h < 0 ? 0 : h)];
        const double added = mask[i] && !right ? base * grow : 0.0;
        costs.scale[i] *= mask[i] && right ? shrink : 1.0;
        base += added;
        costs.total[i] += added;
        if (!(costs.total[i] > rescale_above) || right || !mask[i]) continue;
        double* row = costs.base + i * n_classes;
        for (std::size_t k = 0; k < n_classes; ++k) row[k] /= costs.total[i];
        costs.scale[i] *= costs.total[i];
        costs.total[i] = 1;
    }
}

void add_votes(const double* w, const Predicted& rows, VoteSums& sums) {
    bool finite = true;
    for (std::size_t i = 0; i < rows.n; ++i) {
        finite &= std::isfinite(w[i]);
        sums[vote_kind(rows, i)].add(w[i]);
    }
    if (!finite) throw std::invalid_argument("sums need finite numbers");
}

void reweigh(const double* w, const Predicted& rows, const double factors[3], double* out) {
    for (std::size_t i = 0; i < rows.n; ++i) out[i] = w[i] * factors[vote_kind(rows, i)];
}

}  // namespace consilience
