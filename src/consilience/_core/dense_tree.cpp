// Trees on dense bins.
//
// One level after the other; within a level the feature blocks are the outer loop, so that the
// codes of a block and the histograms of its nodes stay in the cache. The rows of a node lie side
// by side in class order: the inner loop needs no class. Where it pays, the larger of two siblings
// gets its histogram as that of the parent minus that of the smaller one (exact, see problem.hpp).
#include <algorithm>
#include <array>
#include <memory>

#include "grow.hpp"
#include "histogram.hpp"
#include "random.hpp"

namespace consilience {
namespace {

using Buffer = std::shared_ptr<std::vector<std::int64_t>>;

// Rough costs in nanoseconds that decide when subtraction pays: a row entering the eight
// histograms of a block, and a cache line of a stored histogram.
constexpr double row_cost = 4, line_cost = 2;
constexpr std::size_t kept_memory = std::size_t{1} << 27;  // bytes of histograms kept

struct Member {
    std::int32_t node = -1;
    bool active = false;                // searched for a split on this level
    std::vector<std::size_t> segments;  // groups + 1 offsets into the rows
    std::vector<int> channels;          // sums that are not zero everywhere
    std::vector<double> totals;
    std::vector<std::uint8_t> chosen;  // drawn features, empty for all
    Buffer kept;                       // histograms of all blocks, for the children
    Split best;

    std::size_t size() const { return segments.back() - segments.front(); }
};

// Two siblings, or the root alone.
struct Family {
    std::vector<Member> members;
    Buffer parent;
    bool subtract = false;
    int small = 0;
};

class DenseGrower {
public:
    DenseGrower(const std::uint8_t* bins, std::size_t d, const Edges& edges, const Problem& problem,
                const TreeParams& params)
        : bins_(bins), d_(d), n_blocks_((d + lanes - 1) / lanes), edges_(edges), p_(problem),
          params_(params), rows_(problem.rows), spare_(problem.rows.size() + 1),
          scratch_(problem.n_channels() * channel_size), lane_sums_(scan_scratch(problem.n_channels())) {
        for (std::size_t b = 0; b < n_blocks_; ++b) {
            int widest = 0;
            for (std::size_t f = b * lanes; f < std::min(d, (b + 1) * lanes); ++f)
                widest = std::max(widest, edges.bins(f));
            block_bins_.push_back(widest);
        }
    }

    Tree grow() {
        add_node(tree_, p_, 0, root_key(params_.seed), root_totals(p_).data());
        std::vector<Family> level(1);
        level[0].members.push_back(member(0, p_.group_start));
        while (std::any_of(level.begin(), level.end(), has_active)) {
            for (Family& family : level) plan(family);
            for (std::size_t block = 0; block < n_blocks_; ++block)
                for (Family& family : level) search_family(family, block);
            level = next_level(level);
        }
        return std::move(tree_);
    }

private:
    static bool has_active(const Family& family) {
        return std::any_of(family.members.begin(), family.members.end(),
                           [](const Member& m) { return m.active; });
    }

    Member member(std::int32_t node, std::vector<std::size_t> segments) {
        Member m;
        m.node = node;
        m.segments = std::move(segments);
        const std::int64_t* totals = tree_.total(node);
        std::int64_t floor = 0;
        for (std::size_t i = m.segments.front(); p_.cost && i < m.segments.back(); ++i)
            floor += p_.least_cost[rows_[i]];
        m.active = worth_splitting(tree_, p_, params_, node, floor);
        for (int c = 0; c < p_.n_sums; ++c) {
            if (!p_.cost && totals[c] == 0) continue;
            m.channels.push_back(c);
            m.totals.push_back(static_cast<double>(totals[c]));
        }
        if (m.active) m.chosen = draw_features(params_, tree_.key[node], d_);
        return m;
    }

    // Which histograms are subtracted, and which are kept for the next level.
    void plan(Family& family) {
        const double visits = (p_.cost ? p_.n_sums : 1) + (p_.counted ? 1 : 0);
        const double lines = line_cost * bin_rows;
        if (family.members.size() == 2 && family.parent) {
            const std::size_t sizes[2] = {family.members[0].size(), family.members[1].size()};
            family.small = sizes[1] < sizes[0];
            const Member &small = family.members[family.small], &large = family.members[1 - family.small];
            const double saved = visits * row_cost * static_cast<double>(large.size());
            const double spent =
                lines * static_cast<double>(small.channels.size() + p_.counted) +
                (small.active ? 0 : visits * row_cost * static_cast<double>(small.size()));
            family.subtract = large.active && saved > spent;
        }
        for (std::size_t i = 0; i < family.members.size(); ++i) {
            Member& m = family.members[i];
            const bool inherits = family.subtract && static_cast<int>(i) != family.small;
            const double half = static_cast<double>(m.size()) / 2;
            const bool pays = visits * row_cost * half >
                              2 * lines * static_cast<double>(m.channels.size() + p_.counted);
            const std::size_t size = n_blocks_ * p_.n_channels() * channel_size;
            if (inherits)
                m.kept = family.parent;
            else if (m.active && m.chosen.empty() && pays && tree_.depth[m.node] + 1 < params_.max_depth &&
                     (n_kept_ + 1) * size * sizeof(std::int64_t) <= kept_memory)
                m.kept = new_buffer(size);
        }
    }

    Buffer new_buffer(std::size_t size) {
        ++n_kept_;
        return Buffer(new std::vector<std::int64_t>(size), [this](std::vector<std::int64_t>* held) {
            --n_kept_;
            delete held;
        });
    }

    void search_family(Family& family, std::size_t block) {
        for (std::size_t i = 0; i < family.members.size(); ++i) {
            // the smaller one first: the larger one needs its histogram
            Member& m = family.members[family.subtract ? (i ? 1 - family.small : family.small) : i];
            const bool large = family.subtract && i == 1, needed = family.subtract && i == 0;
            if (!m.active && !needed) continue;
            if (!m.chosen.empty() && !any_chosen(m, block)) continue;
            std::int64_t* hist = m.kept ? m.kept->data() + block * p_.n_channels() * channel_size
                                        : scratch_.data();
            if (large) {
                const Member& small = family.members[family.small];
                subtract(hist, small.kept ? small.kept->data() + block * p_.n_channels() * channel_size
                                          : scratch_.data(), small, block);
            } else {
                build(hist, m, block);
            }
            if (m.active) search(m, hist, block);
        }
    }

    bool any_chosen(const Member& m, std::size_t block) const {
        const auto begin = m.chosen.begin() + block * lanes;
        const auto end = m.chosen.begin() + std::min(d_, (block + 1) * lanes);
        return std::any_of(begin, end, [](std::uint8_t flag) { return flag != 0; });
    }

    void build(std::int64_t* hist, const Member& m, std::size_t block) const {
        const std::uint8_t* codes = bins_ + block * p_.n * lanes;
        const std::uint32_t* rows = rows_.data();
        for (const int c : m.channels) {
            clear_channel(hist + c * channel_size, block_bins_[block]);
            const int group = p_.cost ? 0 : c;
            const std::size_t first = m.segments[group], n_rows = m.segments[group + 1] - first;
            const std::int64_t* weight = p_.weight.data() + (p_.cost ? c * p_.n : 0);
            add_weights(codes, rows + first, n_rows, weight, hist + c * channel_size);
        }
        if (!p_.counted) return;
        std::int64_t* counts = hist + p_.n_sums * channel_size;
        clear_channel(counts, block_bins_[block]);
        add_counts(codes, rows + m.segments.front(), m.size(), counts);
    }

    void subtract(std::int64_t* hist, const std::int64_t* small, const Member& m,
                  std::size_t block) const {
        for (const int c : m.channels)
            subtract_channel(hist + c * channel_size, small + c * channel_size, block_bins_[block]);
        const std::size_t counts = p_.n_sums * channel_size;
        if (p_.counted) subtract_channel(hist + counts, small + counts, block_bins_[block]);
    }

    bool holds(const std::int64_t* hist, const Member& m, int bin, int lane) const {
        if (p_.counted) return hist[p_.n_sums * channel_size + bin * lanes + lane] > 0;
        return std::any_of(m.channels.begin(), m.channels.end(), [&](int c) {
            return hist[c * channel_size + bin * lanes + lane] > 0;
        });
    }

    void search(Member& m, const std::int64_t* hist, std::size_t block) {
        const int width = static_cast<int>(std::min<std::size_t>(lanes, d_ - block * lanes));
        bool missing = false;
        for (int j = 0; j < width; ++j) missing = missing || holds(hist, m, missing_bin, j);
        double scores[lanes];
        if (!params_.random_splits) {
            const std::int64_t* counts = p_.counted ? hist + p_.n_sums * channel_size : nullptr;
            const double total_count =
                p_.counted ? static_cast<double>(tree_.total(m.node)[p_.n_sums]) : 0;
            const ScanInput in = {hist, m.channels.data(), static_cast<int>(m.channels.size()),
                                  m.totals.data(), block_bins_[block], p_.cost, missing,
                                  static_cast<double>(p_.min_weight),
                                  static_cast<double>(p_.min_count), counts, total_count};
            scan_best(in, lane_sums_.data(), scores);
        }
        for (int j = 0; j < width; ++j) {
            const std::size_t f = block * lanes + j;
            if (!m.chosen.empty() && !m.chosen[f]) continue;
            if (params_.random_splits)
                consider_random(m, hist, f);
            else if (scores[j] > m.best.score)
                m.best = locate(m, hist, f, scores[j]);
        }
    }

    // The first split of feature f with this score: lowest bin, then NaN to the right.
    Split locate(const Member& m, const std::int64_t* hist, std::size_t f, double score) const {
        const int lane = static_cast<int>(f % lanes), n_bins = edges_.bins(f);
        const bool missing = holds(hist, m, missing_bin, lane);
        Split split;
        split.score = score;
        split.feature = static_cast<std::int32_t>(f);
        std::vector<std::int64_t> left(p_.n_channels(), 0);
        for (int bin = 0; bin < n_bins; ++bin) {
            if (!holds(hist, m, bin, lane)) continue;
            add_bin(left, m, hist, bin, lane);
            for (int go_left = 0; go_left <= (missing ? 1 : 0); ++go_left) {
                split.left = left;
                if (go_left) add_bin(split.left, m, hist, missing_bin, lane);
                if (split_score(p_, split.left.data(), tree_.total(m.node)) != score) continue;
                split.bin = bin;
                int next = bin + 1;
                while (next < n_bins && !holds(hist, m, next, lane)) ++next;
                place_threshold(edges_, next < n_bins ? next : -1, split);
                split.missing_left = missing ? go_left : heavier_left(m, split);
                return split;
            }
        }
        return split;  // not reached: the score was found among these
    }

    void add_bin(std::vector<std::int64_t>& sums, const Member& m, const std::int64_t* hist, int bin,
                 int lane) const {
        for (const int c : m.channels) sums[c] += hist[c * channel_size + bin * lanes + lane];
        if (p_.counted) sums[p_.n_sums] += hist[p_.n_sums * channel_size + bin * lanes + lane];
    }

    bool heavier_left(const Member& m, const Split& split) const {
        return 2 * mass(p_, split.left.data()) > mass(p_, tree_.total(m.node));
    }

    void consider_random(Member& m, const std::int64_t* hist, std::size_t f) const {
        const int lane = static_cast<int>(f % lanes);
        int first = 0, last = edges_.bins(f) - 1;
        while (first < last && !holds(hist, m, first, lane)) ++first;
        while (first < last && !holds(hist, m, last, lane)) --last;
        if (first >= last) return;
        Split split;
        split.feature = static_cast<std::int32_t>(f);
        draw_threshold(edges_, tree_.key[m.node], first, last, split);
        const bool missing = holds(hist, m, missing_bin, lane);
        split.left.assign(p_.n_channels(), 0);
        for (int bin = first; bin <= split.bin; ++bin) add_bin(split.left, m, hist, bin, lane);
        for (int go_left = 0; go_left <= (missing ? 1 : 0); ++go_left) {
            if (go_left) add_bin(split.left, m, hist, missing_bin, lane);
            split.score = split_score(p_, split.left.data(), tree_.total(m.node));
            split.missing_left = missing ? go_left : heavier_left(m, split);
            if (split.score > m.best.score) m.best = split;
        }
    }

    // None of the drawn features can be split: the first of the others, in random order, that can.
    void try_others(Member& m) {
        const std::uint64_t key = tree_.key[m.node];
        std::vector<std::size_t> others;
        for (std::size_t f = 0; f < d_; ++f)
            if (!m.chosen[f]) others.push_back(f);
        std::sort(others.begin(), others.end(),
                  [key](std::size_t a, std::size_t b) { return drawn_before(key, a, b); });
        for (const std::size_t f : others) {
            std::fill(m.chosen.begin(), m.chosen.end(), std::uint8_t{0});
            m.chosen[f] = 1;
            build(scratch_.data(), m, f / lanes);
            search(m, scratch_.data(), f / lanes);
            if (m.best.feature >= 0) return;
        }
    }

    std::vector<Family> next_level(std::vector<Family>& level) {
        std::vector<Family> next;
        for (Family& family : level)
            for (Member& m : family.members) {
                if (!m.active) continue;
                if (m.best.feature < 0 && !m.chosen.empty()) try_others(m);
                if (m.best.feature < 0) continue;
                const std::int32_t child = split_node(tree_, p_, m.node, m.best);
                if (tree_.depth[child] >= params_.max_depth) continue;
                next.push_back(divide(m, child));
            }
        return next;
    }

    // Rows of the left child first, the order within each class kept.
    Family divide(Member& m, std::int32_t child) {
        const std::size_t f = m.best.feature;
        const std::uint8_t* codes = bins_ + (f / lanes) * p_.n * lanes + f % lanes;
        std::array<std::vector<std::size_t>, 2> segments;
        std::size_t out = m.segments.front();
        for (int side = 0; side < 2; ++side) {
            segments[side].push_back(out);
            for (int g = 0; g < p_.n_groups; ++g) {
                for (std::size_t i = m.segments[g]; i < m.segments[g + 1]; ++i) {
                    const int code = codes[static_cast<std::size_t>(rows_[i]) * lanes];
                    const bool left = code == missing_bin ? m.best.missing_left : code <= m.best.bin;
                    spare_[out] = rows_[i];
                    out += left == (side == 0);
                }
                segments[side].push_back(out);
            }
        }
        std::copy(spare_.begin() + m.segments.front(), spare_.begin() + m.segments.back(),
                  rows_.begin() + m.segments.front());
        Family family;
        family.members.push_back(member(child, segments[0]));
        family.members.push_back(member(child + 1, segments[1]));
        family.parent = std::move(m.kept);
        return family;
    }

    const std::uint8_t* bins_;
    std::size_t d_, n_blocks_;
    const Edges& edges_;
    const Problem& p_;
    const TreeParams& params_;
    std::vector<std::uint32_t> rows_, spare_;
    std::vector<std::int64_t> scratch_;
    std::vector<unsigned char> lane_sums_;
    std::vector<int> block_bins_;
    std::size_t n_kept_ = 0;
    Tree tree_;
};

}  // namespace

Tree grow_dense(const std::uint8_t* bins, std::size_t d, const Edges& edges, const Problem& problem,
                const TreeParams& params) {
    return DenseGrower(bins, d, edges, problem, params).grow();
}

}  // namespace consilience
