// Gradient boosting of the log loss.
//
// minimises  sum_i w_i log loss(y_i, softmax(F(x_i))), where F adds one tree for each class and
//            round; with two classes, F is the log-odds of the second and there is one tree
// gradients  g = w (p - y),  h = w p (1 - p) K / (K - 1)   (two classes: h = w p (1 - p))
// rounds     until the loss of the rows left out has not fallen for `patience` rounds; the trees
//            after its minimum are dropped
//
// Every round draws a share of the rows, and every tree some blocks of features: all blocks take
// turns, in an order drawn anew once all have been used. Draws depend on the seed alone.
//
// Friedman: Greedy function approximation: a gradient boosting machine (2001); Chen and Guestrin:
// XGBoost (2016); Ke et al.: LightGBM (2017); Shi et al.: Quantized training of gradient boosting
// decision trees (2022).
#include "boost.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "boost_tree.hpp"
#include "dispatch.hpp"
#include "exponential.hpp"
#include "random.hpp"
#include "signals.hpp"

namespace consilience {
namespace {

enum Stream : std::uint64_t { feature_order = 16, row_draw, block_order };

constexpr std::size_t chunk_rows = 64;
constexpr int sum_bits = 30;  // sums of gradients and hessians stay below 2^31

template <typename T>
void shuffle(std::vector<T>& items, std::uint64_t key, std::uint64_t stream) {
    for (std::size_t i = items.size(); i > 1; --i)
        std::swap(items[i - 1], items[below(draw(key, i, stream), i)]);
}

// z (n_scores x chunk_rows, in/out): scores to probabilities, of the second class if n_scores = 1
CONSILIENCE_CLONES
void to_probabilities(double* z, std::size_t n_scores) {
    if (n_scores == 1) {
        for (std::size_t i = 0; i < chunk_rows; ++i) {
            const double e = exp_nonpositive(z[i] < 0 ? z[i] : -z[i]);
            z[i] = (z[i] < 0 ? e : 1.0) / (1.0 + e);
        }
        return;
    }
    double largest[chunk_rows], sums[chunk_rows];
    for (std::size_t i = 0; i < chunk_rows; ++i) {
        largest[i] = z[i];
        sums[i] = 0;
    }
    for (std::size_t c = 1; c < n_scores; ++c)
        for (std::size_t i = 0; i < chunk_rows; ++i)
            largest[i] = largest[i] < z[c * chunk_rows + i] ? z[c * chunk_rows + i] : largest[i];
    for (std::size_t c = 0; c < n_scores; ++c)
        for (std::size_t i = 0; i < chunk_rows; ++i) {
            const double e = exp_nonpositive(z[c * chunk_rows + i] - largest[i]);
            z[c * chunk_rows + i] = e;
            sums[i] += e;
        }
    for (std::size_t c = 0; c < n_scores; ++c)
        for (std::size_t i = 0; i < chunk_rows; ++i) z[c * chunk_rows + i] /= sums[i];
}

// The unit, a power of two, in which numbers with this sum of absolute values are summed.
double unit_for(double sum) {
    int exponent;
    std::frexp(sum, &exponent);
    return std::ldexp(1.0, exponent - sum_bits);
}

// The nearest integer, ties to even.
CONSILIENCE_INLINE std::int64_t nearest(double x) {
    constexpr double magic = 0x1.8p52;
    return bits<std::int64_t>(x + magic) - bits<std::int64_t>(magic);
}

class Booster {
public:
    Booster(const PackedColumns& columns, std::size_t n_features, const Edges& edges,
            const BoostTarget& target, const BoostParams& params)
        : columns_(columns),
          target_(target),
          params_(params),
          n_(columns.n),
          n_scores_(target.n_scores()),
          grower_(columns, edges, params),
          scores_(n_scores_ * n_),
          chunk_(n_scores_ * chunk_rows),
          pairs_(n_) {
        for (std::size_t c = 0; c < n_scores_; ++c)
            std::fill_n(scores_.begin() + c * n_, n_, target.base[c]);
        for (std::size_t i = 0; i < n_; ++i)
            (target.left_out[i] ? left_out_ : training_).push_back(static_cast<std::uint32_t>(i));
        const double share = static_cast<double>(params.max_features) / std::max<double>(1, n_features);
        n_drawn_ = std::min(columns.n_blocks(),
                            static_cast<std::size_t>(std::ceil(share * columns.n_blocks())));
    }

    BoostResult run() {
        BoostResult out;
        std::size_t best_round = 0;
        double best_loss = left_out_.empty() ? 0 : loss();
        out.scores = left_out_scores();
        for (int round = 0; round < params_.max_rounds; ++round) {
            if (!add_round(round, out.trees)) break;
            if (left_out_.empty()) {
                best_round = round + 1;
                continue;
            }
            out.losses.push_back(loss());
            if (out.losses.back() < best_loss) {
                best_loss = out.losses.back();
                best_round = round + 1;
                out.scores = left_out_scores();
            }
            if (round + 1 - static_cast<int>(best_round) >= params_.patience) break;
        }
        out.trees.truncate(best_round * n_scores_);
        return out;
    }

private:
    // False if there is nothing left to learn.
    bool add_round(int round, BoostedTrees& trees) {
        draw_rows(round);
        set_gradients();
        bool learns = false;
        for (std::size_t c = 0; c < n_scores_; ++c) {
            const GradientUnits units = set_pairs(c);
            grower_.grow(rows_, others_, pairs_.data(), units, next_blocks(), trees,
                         scores_.data() + c * n_);
            learns |= trees.starts.end()[-1] - trees.starts.end()[-2] > 1;
        }
        return learns;
    }

    void draw_rows(int round) {
        const std::uint64_t key = mix(params_.seed ^ mix(round));
        others_ = left_out_;
        rows_.clear();
        for (const std::uint32_t row : training_) {
            const bool drawn = params_.row_share >= 1 ||
                               uniform(draw(key, row, row_draw)) < params_.row_share;
            (drawn ? rows_ : others_).push_back(row);
        }
        drawn_rows_ = rows_;
    }

    // visit(first, count) for every chunk of the rows, with their probabilities in chunk_.
    template <typename Visit>
    void each_chunk(const std::vector<std::uint32_t>& rows, Visit visit) {
        for (std::size_t first = 0; first < rows.size(); first += chunk_rows) {
            const std::size_t count = std::min(chunk_rows, rows.size() - first);
            for (std::size_t c = 0; c < n_scores_; ++c)
                for (std::size_t i = 0; i < count; ++i)
                    chunk_[c * chunk_rows + i] = scores_[c * n_ + rows[first + i]];
            to_probabilities(chunk_.data(), n_scores_);
            visit(first, count);
            signals_.add(8 * n_scores_ * chunk_rows);
        }
    }

    void set_gradients() {
        const std::size_t n_drawn = rows_.size();
        const double factor =
            n_scores_ == 1 ? 1.0
                           : static_cast<double>(n_scores_) / static_cast<double>(n_scores_ - 1);
        gradients_.resize(n_scores_ * n_drawn);
        hessians_.resize(n_scores_ * n_drawn);
        each_chunk(rows_, [&](std::size_t first, std::size_t count) {
            for (std::size_t c = 0; c < n_scores_; ++c)
                for (std::size_t i = 0; i < count; ++i) {
                    const std::size_t row = rows_[first + i];
                    const std::size_t positive = n_scores_ == 1 ? 1 : c;
                    const bool is_class =
                        static_cast<std::size_t>(target_.codes[row]) == positive;
                    const double p = chunk_[c * chunk_rows + i], w = target_.weight[row];
                    gradients_[c * n_drawn + first + i] = w * (p - (is_class ? 1.0 : 0.0));
                    hessians_[c * n_drawn + first + i] = w * (factor * (p * (1.0 - p)));
                }
        });
    }

    GradientUnits set_pairs(std::size_t c) {
        const std::size_t n_drawn = drawn_rows_.size();
        const double *g = gradients_.data() + c * n_drawn, *h = hessians_.data() + c * n_drawn;
        double g_sum = 0, h_sum = 0;
        for (std::size_t i = 0; i < n_drawn; ++i) {
            g_sum += std::fabs(g[i]);
            h_sum += h[i];
        }
        const GradientUnits units = {unit_for(g_sum), unit_for(h_sum)};
        const double g_scale = 1 / units.gradient, h_scale = 1 / units.hessian;
        for (std::size_t i = 0; i < n_drawn; ++i)
            pairs_[drawn_rows_[i]] = pack_pair(nearest(g[i] * g_scale), nearest(h[i] * h_scale));
        return units;
    }

    const std::vector<std::size_t>& next_blocks() {
        drawn_blocks_.clear();
        while (drawn_blocks_.size() < n_drawn_) {
            if (queue_.empty()) {
                queue_.resize(columns_.n_blocks());
                std::iota(queue_.begin(), queue_.end(), std::size_t{0});
                shuffle(queue_, mix(params_.seed + n_orders_++), block_order);
            }
            const std::size_t block = queue_.back();
            queue_.pop_back();
            // the end of one order and the start of the next may name the same block
            if (std::find(drawn_blocks_.begin(), drawn_blocks_.end(), block) == drawn_blocks_.end())
                drawn_blocks_.push_back(block);
        }
        return drawn_blocks_;
    }

    double loss() {
        constexpr double least = std::numeric_limits<double>::min();
        double sum = 0, weights = 0;
        each_chunk(left_out_, [&](std::size_t first, std::size_t count) {
            for (std::size_t i = 0; i < count; ++i) {
                const std::size_t row = left_out_[first + i], code = target_.codes[row];
                const double p = n_scores_ > 1 ? chunk_[code * chunk_rows + i]
                                 : code        ? chunk_[i]
                                               : 1 - chunk_[i];
                sum -= target_.weight[row] * std::log(std::max(p, least));
                weights += target_.weight[row];
            }
        });
        return sum / weights;
    }

    std::vector<double> left_out_scores() const {
        std::vector<double> out;
        out.reserve(n_scores_ * left_out_.size());
        for (std::size_t c = 0; c < n_scores_; ++c)
            for (const std::uint32_t row : left_out_) out.push_back(scores_[c * n_ + row]);
        return out;
    }

    const PackedColumns& columns_;
    const BoostTarget& target_;
    const BoostParams& params_;
    std::size_t n_, n_scores_, n_drawn_;
    BoostGrower grower_;
    std::vector<double> scores_, chunk_;         // n_scores x n; n_scores x chunk_rows
    std::vector<double> gradients_, hessians_;   // n_scores x rows drawn
    std::vector<std::int64_t> pairs_;            // by row
    std::vector<std::uint32_t> training_, left_out_, drawn_rows_, rows_, others_;
    std::vector<std::size_t> queue_, drawn_blocks_;
    std::uint64_t n_orders_ = 0;
    SignalCheck signals_;
};

bool is_constant(const std::uint8_t* codes, std::size_t n) {
    for (std::size_t i = 1; i < n; ++i)
        if (codes[i * lanes] != codes[0]) return false;
    return true;
}

}  // namespace

void BoostedTrees::truncate(std::size_t n_trees) {
    starts.resize(n_trees + 1);
    const std::size_t size = static_cast<std::size_t>(starts.back());
    feature.resize(size);
    left.resize(size);
    right.resize(size);
    threshold.resize(size);
    missing_left.resize(size);
    value.resize(size);
}

PackedColumns pack_columns(const std::uint8_t* bins, std::size_t n, std::size_t d,
                           const Edges& edges, std::uint64_t seed) {
    const auto column = [=](std::size_t f) { return bins + (f / lanes) * n * lanes + f % lanes; };
    PackedColumns out;
    out.n = n;
    for (std::size_t f = 0; f < d; ++f)
        if (edges.bins(f) > 0 && !is_constant(column(f), n))
            out.feature.push_back(static_cast<std::int32_t>(f));
    shuffle(out.feature, mix(seed), feature_order);
    const std::size_t n_blocks = (out.feature.size() + lanes - 1) / lanes;
    out.feature.resize(n_blocks * lanes, -1);
    out.codes.resize(n_blocks * n * lanes);
    out.n_bins.assign(n_blocks, 1);
    SignalCheck signals;
    for (std::size_t i = 0; i < n_blocks * lanes; ++i)
        if (out.feature[i] >= 0)
            out.n_bins[i / lanes] = std::max(out.n_bins[i / lanes], edges.bins(out.feature[i]));
    for (std::size_t i = 0; i < n_blocks * lanes; ++i) {
        if (out.feature[i] < 0) continue;
        const std::uint8_t* from = column(out.feature[i]);
        std::uint8_t* to = out.codes.data() + (i / lanes) * n * lanes + i % lanes;
        const auto missing = static_cast<std::uint8_t>(out.n_bins[i / lanes]);
        for (std::size_t row = 0; row < n; ++row) {
            const std::uint8_t code = from[row * lanes];
            to[row * lanes] = code == missing_bin ? missing : code;
        }
        signals.add(4 * n);
    }
    return out;
}

BoostResult boost(const std::uint8_t* bins, std::size_t n, std::size_t d, const Edges& edges,
                  const BoostTarget& target, const BoostParams& params) {
    const PackedColumns columns = pack_columns(bins, n, d, edges, params.seed);
    return Booster(columns, d, edges, target, params).run();
}

}  // namespace consilience
