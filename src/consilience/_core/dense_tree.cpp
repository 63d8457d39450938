// Trees on dense bins.
//
// One level after the other; within a level the feature blocks are the outer loop, so that the
// codes of a block and the histograms of its nodes stay in the cache. The rows of a node lie side
// by side in class order: the inner loop needs no class. Where it pays, the larger of two siblings
// gets its histogram as that of the parent minus that of the smaller one (exact, see problem.hpp).
#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

#include "dense_search.hpp"
#include "grow.hpp"
#include "random.hpp"
#include "row_partition.hpp"
#include "signals.hpp"

namespace consilience {
namespace {

// Rough costs in nanoseconds that decide when subtraction pays: a row entering the eight
// histograms of a block, and a cache line of a stored histogram.
constexpr std::size_t row_cost = 4, line_cost = 2;
constexpr std::size_t node_work = 1000;  // to search the histogram of a node
constexpr std::size_t kept_memory = std::size_t{1} << 27;  // bytes of histograms kept
// The rows of a node lie scattered. When nodes have this many on average, the codes are copied in the
// order of the nodes, so that those of a node fit into the cache; and again when they have become
// smaller by this factor, if so many levels may follow.
constexpr std::size_t most_copied_rows = 1 << 14, least_copied_rows = 1 << 10, copy_factor = 16;
constexpr std::size_t levels_to_copy = 4;
constexpr std::size_t copied_memory = std::size_t{1} << 28;  // bytes of a copy

// Two siblings, or the root alone.
struct Family {
    std::vector<DenseMember> members;
    Buffer parent;
    bool subtract = false;
    int small = 0;
};

class DenseGrower {
public:
    DenseGrower(const std::uint8_t* bins, std::size_t d, const Edges& edges, const Problem& problem,
                const TreeParams& params)
        : bins_(bins),
          d_(d),
          edges_(edges),
          problem_(&problem),
          params_(params),
          search_(std::in_place, bins, d, edges, problem),
          features_(d),
          rows_(problem.rows),
          spare_(problem.rows.size() + 1),
          scratch_(search_->histogram_size()) {}

    Tree grow() {
        add_root(tree_, problem(), params_, root_totals(problem()).data());
        std::vector<Family> level(1);
        level[0].members.push_back(member(0, problem().group_start));
        while (std::any_of(level.begin(), level.end(), has_active)) {
            if (copy_pays(level)) copy_in_order();
            for (Family& family : level) plan(family);
            search_level(level);
            level = next_level(level);
        }
        return std::move(tree_);
    }

private:
    static bool has_active(const Family& family) {
        return std::any_of(family.members.begin(), family.members.end(),
                           [](const DenseMember& m) { return m.active; });
    }

    const Problem& problem() const { return *problem_; }

    bool copy_pays(const std::vector<Family>& level) const {
        const std::size_t n = rows_.size(), depth = tree_.depth[level[0].members[0].node];
        return copied_rows_ >= least_copied_rows && n > 2 * copied_rows_ &&
               2 * level.size() * copied_rows_ >= n &&
               depth + levels_to_copy <= static_cast<std::size_t>(params_.max_depth) &&
               n * search_->n_blocks() * lanes <= copied_memory;
    }

    // Rows are numbered by their place among the nodes from now on.
    void copy_in_order() {
        const std::size_t n = rows_.size();
        std::vector<std::uint8_t> codes(n * search_->n_blocks() * lanes);
        for (std::size_t block = 0; block < search_->n_blocks(); ++block) {
            signals_.add(row_cost * n);
            const std::uint8_t* from = bins_ + block * problem().n * lanes;
            std::uint8_t* to = codes.data() + block * n * lanes;
            for (std::size_t i = 0; i < n; ++i)
                std::memcpy(to + i * lanes, from + std::size_t{rows_[i]} * lanes, lanes);
        }
        copied_problem_ = take_rows(problem(), rows_);
        copied_codes_ = std::move(codes);
        problem_ = &copied_problem_, bins_ = copied_codes_.data();
        search_.emplace(bins_, d_, edges_, problem());
        std::iota(rows_.begin(), rows_.end(), 0u);
        copied_rows_ /= copy_factor;
    }

    DenseMember member(std::int32_t node, std::vector<std::size_t> segments) {
        DenseMember m;
        m.node = node;
        m.key = tree_.key[node];
        m.total.assign(tree_.total(node), tree_.total(node) + problem().n_channels());
        m.segments = std::move(segments);
        std::int64_t floor = 0;
        for (std::size_t i = m.segments.front(); problem().cost && i < m.segments.back(); ++i)
            floor += problem().least_cost[rows_[i]];
        m.active = worth_splitting(tree_, problem(), params_, node, floor);
        for (int c = 0; c < problem().n_sums; ++c) {
            if (!problem().cost && m.total[c] == 0) continue;
            m.channels.push_back(c);
            m.totals.push_back(static_cast<double>(m.total[c]));
        }
        if (m.active) m.chosen = features_.draw(params_, m.key);
        return m;
    }

    // Which histograms are subtracted, and which are kept for the next level.
    void plan(Family& family) {
        const double visits = (problem().cost ? problem().n_sums : 1) + (problem().counted ? 1 : 0);
        const double lines = line_cost * bin_rows;
        if (family.members.size() == 2 && family.parent) {
            const std::size_t sizes[2] = {family.members[0].size(), family.members[1].size()};
            family.small = sizes[1] < sizes[0];
            const DenseMember &small = family.members[family.small],
                              &large = family.members[1 - family.small];
            const double saved = visits * row_cost * static_cast<double>(large.size());
            const double spent =
                lines * static_cast<double>(small.channels.size() + problem().counted) +
                (small.active ? 0 : visits * row_cost * static_cast<double>(small.size()));
            family.subtract = large.active && saved > spent;
        }
        for (std::size_t i = 0; i < family.members.size(); ++i) {
            DenseMember& m = family.members[i];
            const bool inherits = family.subtract && static_cast<int>(i) != family.small;
            const double half = static_cast<double>(m.size()) / 2;
            const bool pays = visits * row_cost * half >
                              2 * lines * static_cast<double>(m.channels.size() + problem().counted);
            const std::size_t size = search_->n_blocks() * search_->histogram_size();
            if (inherits)
                m.kept = family.parent;
            else if (m.active && m.chosen.empty() && pays && !params_.random_splits &&
                     tree_.depth[m.node] + 1 < params_.max_depth &&
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

    void search_one(DenseMember& m, std::size_t block, LaneMask mask) {
        signals_.add(node_work + row_cost * m.size());
        if (params_.random_splits) return search_->search_random(m, rows_.data(), block, mask);
        std::int64_t* hist = histogram(m, block);
        search_->build(hist, m, rows_.data(), block);
        search_->search(m, hist, block, mask);
    }

    void search_level(std::vector<Family>& level) {
        if (params_.max_features < d_) return search_drawn(level);
        for (std::size_t block = 0; block < search_->n_blocks(); ++block)
            for (Family& family : level) search_family(family, block);
    }

    // Every block for the nodes that have drawn some of its features.
    void search_drawn(std::vector<Family>& level) {
        std::vector<std::size_t> ends(search_->n_blocks() + 1, 0);
        for_each_drawn(level, [&](DenseMember&, std::size_t block) { ++ends[block + 1]; });
        std::partial_sum(ends.begin(), ends.end(), ends.begin());
        std::vector<DenseMember*> nodes(ends.back());
        const auto put = [&](DenseMember& m, std::size_t block) { nodes[ends[block]++] = &m; };
        for_each_drawn(level, put);
        for (std::size_t block = 0, i = 0; block < search_->n_blocks(); ++block)
            for (; i < ends[block]; ++i) search_one(*nodes[i], block, chosen_in(*nodes[i], block));
    }

    template <typename F>
    static void for_each_drawn(std::vector<Family>& level, F f) {
        for (Family& family : level)
            for (DenseMember& m : family.members)
                for (std::size_t i = 0; i < m.chosen.size(); ++i)
                    if (i == 0 || m.chosen[i] / lanes != m.chosen[i - 1] / lanes)
                        f(m, m.chosen[i] / lanes);
    }

    void search_family(Family& family, std::size_t block) {
        for (std::size_t i = 0; i < family.members.size(); ++i) {
            // the smaller one first: the larger one needs its histogram
            DenseMember& m =
                family.members[family.subtract ? (i ? 1 - family.small : family.small) : i];
            const bool large = family.subtract && i == 1, needed = family.subtract && i == 0;
            if (!m.active && !needed) continue;
            if (!family.subtract) {
                search_one(m, block, all_of_block);
                continue;
            }
            signals_.add(node_work + (large ? 0 : row_cost * m.size()));
            std::int64_t* hist = histogram(m, block);
            if (large) {
                const DenseMember& small = family.members[family.small];
                search_->subtract(hist, histogram(small, block), small, block);
            } else {
                search_->build(hist, m, rows_.data(), block);
            }
            if (m.active) search_->search(m, hist, block, all_of_block);
        }
    }

    // Where the histogram of a block goes: to the kept ones, or to be overwritten by the next.
    std::int64_t* histogram(const DenseMember& m, std::size_t block) {
        return m.kept ? m.kept->data() + block * search_->histogram_size() : scratch_.data();
    }

    // The drawn features of a block; blocks are asked for in order.
    static LaneMask chosen_in(DenseMember& m, std::size_t block) {
        LaneMask mask = 0;
        for (; m.n_seen < m.chosen.size() && m.chosen[m.n_seen] / lanes == block; ++m.n_seen)
            mask |= 1u << m.chosen[m.n_seen] % lanes;
        return mask;
    }

    // None of the drawn features can be split: the first of the others, in random order, that can.
    void try_others(DenseMember& m) {
        features_.draw(params_, m.key);
        while (m.best.feature < 0 && !features_.ended()) {
            const std::uint32_t f = features_.next();
            search_one(m, f / lanes, 1u << f % lanes);
        }
    }

    std::vector<Family> next_level(std::vector<Family>& level) {
        std::vector<Family> next;
        for (Family& family : level)
            for (DenseMember& m : family.members) {
                if (!m.active) continue;
                if (m.best.feature < 0 && !m.chosen.empty()) try_others(m);
                if (m.best.feature < 0) continue;
                const std::int32_t child = split_node(tree_, problem(), m.node, m.best);
                if (tree_.depth[child] >= params_.max_depth) continue;
                next.push_back(divide(m, child));
            }
        return next;
    }

    Family divide(DenseMember& m, std::int32_t child) {
        const std::size_t f = m.best.feature;
        auto segments = divide_rows(bins_ + (f / lanes) * problem().n * lanes + f % lanes,
                                    {m.best.bin, m.best.missing_left}, m.segments, rows_.data(),
                                    spare_.data());
        Family family;
        family.members.push_back(member(child, std::move(segments[0])));
        family.members.push_back(member(child + 1, std::move(segments[1])));
        family.parent = std::move(m.kept);
        return family;
    }

    const std::uint8_t* bins_;
    std::size_t d_;
    const Edges& edges_;
    const Problem* problem_;
    std::vector<std::uint8_t> copied_codes_;
    Problem copied_problem_;
    std::size_t copied_rows_ = most_copied_rows;
    const TreeParams& params_;
    std::optional<BlockSearch> search_;
    FeatureOrder features_;
    std::vector<std::uint32_t> rows_, spare_;
    std::vector<std::int64_t> scratch_;
    std::size_t n_kept_ = 0;
    SignalCheck signals_;
    Tree tree_;
};

}  // namespace

Tree grow_dense(const std::uint8_t* bins, std::size_t d, const Edges& edges, const Problem& problem,
                const TreeParams& params) {
    return DenseGrower(bins, d, edges, problem, params).grow();
}

}  // namespace consilience
