// Weights and costs to integers whose sums are exact (see problem.hpp).
#include "problem.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "exact_sum.hpp"

namespace consilience {
namespace {

constexpr int total_bits = 50;

// round(value * 2^exponent), ties to even, for results below 2^51. Two factors, because 2^exponent
// itself may be too large for a double; adding 1.5 * 2^52 rounds without a call to the C library.
class ToInteger {
public:
    explicit ToInteger(int exponent)
        : first_(std::ldexp(1.0, exponent / 2)),
          second_(std::ldexp(1.0, exponent - exponent / 2)) {}
    std::int64_t operator()(double value) const {
        return static_cast<std::int64_t>((value * first_ * second_ + 0x1.8p52) - 0x1.8p52);
    }

private:
    double first_, second_;
};

void set_min_weight(Problem& p, const TreeParams& params) {
    const double least = std::ceil(std::ldexp(params.min_weight_leaf, p.exponent));
    p.min_weight = static_cast<std::int64_t>(std::min(std::max(least, 1.0), 0x1p52));
}

int exponent_of(const TreeParams& params, const ExactSum& total) {
    return params.exponent ? *params.exponent : weight_exponent(total.exponent());
}

}  // namespace

int weight_exponent(int exponent_of_total) {
    if (exponent_of_total > std::numeric_limits<double>::max_exponent)
        throw std::invalid_argument("the sum of the weights is not finite");
    const bool is_positive = exponent_of_total != std::numeric_limits<int>::min();
    return is_positive ? total_bits - exponent_of_total : 0;
}

double widest_cost(const double* costs, int n_classes) {
    double widest = 0;
    for (int k = 1; k < n_classes; ++k) {
        const double above = std::fabs(costs[k] - costs[0]);
        if (!std::isfinite(above)) throw std::invalid_argument("costs must be finite numbers");
        widest = std::max(widest, above);
    }
    return widest;
}

void set_weighted_problem(Problem& p, const std::int32_t* codes, const double* weights,
                          const std::uint8_t* rows, std::size_t n, int n_classes,
                          const TreeParams& params) {
    p.n = n;
    p.n_classes = p.n_sums = p.n_groups = n_classes;
    p.cost = false;
    p.counted = params.min_samples_leaf > 1;
    p.min_count = params.min_samples_leaf;
    p.codes = codes;
    ExactSum total;
    std::vector<std::size_t> sizes(n_classes + 1, 0);
    for (std::size_t i = 0; i < n; ++i) {
        if ((rows && !rows[i]) || weights[i] == 0) continue;
        if (!(weights[i] > 0)) throw std::invalid_argument("weights must be numbers >= 0");
        if (codes[i] < 0 || codes[i] >= n_classes)
            throw std::invalid_argument("class codes must lie in 0 ... n_classes - 1");
        if (!std::isfinite(weights[i]))
            throw std::invalid_argument("the sum of the weights is not finite");
        if (!params.exponent) total.add(weights[i]);
        ++sizes[codes[i] + 1];
    }
    p.exponent = exponent_of(params, total);
    const ToInteger to_integer(p.exponent);
    for (int k = 0; k < n_classes; ++k) sizes[k + 1] += sizes[k];
    p.group_start = sizes;
    p.rows.resize(sizes[n_classes]);
    p.weight.assign(n, 0);
    for (std::size_t i = 0; i < n; ++i) {
        if ((rows && !rows[i]) || weights[i] == 0) continue;
        // a positive weight never vanishes: its row keeps its place in the node
        p.weight[i] = std::max<std::int64_t>(1, to_integer(weights[i]));
        p.rows[sizes[codes[i]]++] = static_cast<std::uint32_t>(i);
    }
    set_min_weight(p, params);
}

void set_cost_problem(Problem& p, const double* costs, const std::uint8_t* rows, std::size_t n,
                      int n_classes, const TreeParams& params) {
    p.n = n;
    p.n_classes = n_classes;
    p.n_sums = n_classes - 1;
    p.n_groups = 1;
    p.cost = p.counted = true;
    p.min_count = params.min_samples_leaf;
    p.rows.clear();
    ExactSum total;
    for (std::size_t i = 0; i < n; ++i) {
        if (rows && !rows[i]) continue;
        const double widest = widest_cost(costs + i * n_classes, n_classes);
        if (!params.exponent) total.add(widest);
        p.rows.push_back(static_cast<std::uint32_t>(i));
    }
    p.exponent = exponent_of(params, total);
    const ToInteger to_integer(p.exponent);
    p.group_start = {0, p.rows.size()};
    p.weight.assign(n * p.n_sums, 0);
    p.least_cost.assign(n, 0);
    for (const std::uint32_t i : p.rows)
        for (int k = 1; k < n_classes; ++k) {
            const double* row = costs + static_cast<std::size_t>(i) * n_classes;
            const std::int64_t above = to_integer(row[k] - row[0]);
            p.weight[(k - 1) * n + i] = above;
            p.least_cost[i] = std::min(p.least_cost[i], above);
        }
}

Problem weighted_problem(const std::int32_t* codes, const double* weights, const std::uint8_t* rows,
                         std::size_t n, int n_classes, const TreeParams& params) {
    Problem p;
    set_weighted_problem(p, codes, weights, rows, n, n_classes, params);
    return p;
}

Problem cost_problem(const double* costs, const std::uint8_t* rows, std::size_t n, int n_classes,
                     const TreeParams& params) {
    Problem p;
    set_cost_problem(p, costs, rows, n, n_classes, params);
    return p;
}

Problem take_rows(const Problem& problem, const std::vector<std::uint32_t>& rows) {
    Problem part;
    part.n = rows.size();
    part.n_classes = problem.n_classes, part.n_sums = problem.n_sums;
    part.n_groups = problem.n_groups;
    part.cost = problem.cost, part.counted = problem.counted;
    part.exponent = problem.exponent;
    part.min_count = problem.min_count, part.min_weight = problem.min_weight;
    part.weight.reserve(problem.weight.size() / std::max<std::size_t>(problem.n, 1) * part.n);
    for (std::size_t start = 0; start < problem.weight.size(); start += problem.n)
        for (const std::uint32_t row : rows) part.weight.push_back(problem.weight[start + row]);
    part.least_cost.reserve(problem.cost ? part.n : 0);
    for (std::size_t i = 0; i < rows.size() && problem.cost; ++i)
        part.least_cost.push_back(problem.least_cost[rows[i]]);
    return part;
}

std::vector<std::int64_t> root_totals(const Problem& p) {
    std::vector<std::int64_t> totals(p.n_channels(), 0);
    for (const std::uint32_t i : p.rows) {
        if (!p.cost) totals[p.codes[i]] += p.weight[i];
        for (int c = 0; p.cost && c < p.n_sums; ++c) totals[c] += p.weight[c * p.n + i];
    }
    if (p.counted) totals[p.n_sums] = static_cast<std::int64_t>(p.rows.size());
    return totals;
}

}  // namespace consilience
