// Trees on sparse columns, level by level: only stored entries are visited, the zeros of a node
// are what is left.
#include <algorithm>
#include <utility>

#include "boundaries.hpp"
#include "grow.hpp"
#include "random.hpp"
#include "signals.hpp"
#include "sparse_search.hpp"

namespace consilience {
namespace {

constexpr std::size_t most_at_once = 256;  // nodes of a level with buffers of their own

class SparseGrower {
public:
    SparseGrower(const SparseCodes& entries, std::size_t d, const Edges& edges,
                 const Problem& problem, const TreeParams& params)
        : entries_(entries),
          d_(d),
          p_(problem),
          params_(params),
          member_of_(problem.n, -1),
          side_(problem.n, 0),
          search_(entries, edges, problem, params.random_splits, level_, member_of_),
          features_(d) {}

    Tree grow() {
        add_root(tree_, p_, params_, root_totals(p_).data());
        std::int64_t floor = 0;
        for (const std::uint32_t row : p_.rows) floor += p_.cost ? p_.least_cost[row] : 0;
        join(0, floor);
        if (!level_.empty())
            for (const std::uint32_t row : p_.rows) member_of_[row] = 0;
        while (!level_.empty()) {
            search_.start_level();
            search_level();
            for (std::size_t a = 0; a < level_.size(); ++a)
                if (level_[a].best.feature < 0 && !level_[a].chosen.empty()) try_others(a);
            advance_level();
        }
        return std::move(tree_);
    }

private:
    // Puts a node on the next level if a split can help; returns its place there or -1.
    std::int32_t join(std::int32_t node, std::int64_t floor) {
        if (!worth_splitting(tree_, p_, params_, node, floor)) return -1;
        SparseMember m;
        m.node = node;
        m.key = tree_.key[node];
        m.total.assign(tree_.total(node), tree_.total(node) + p_.n_channels());
        m.chosen = features_.draw(params_, m.key);
        level_.push_back(std::move(m));
        return static_cast<std::int32_t>(level_.size()) - 1;
    }

    // Plain gini needs only the best score of each column; the split itself is then looked up in
    // the column that has it.
    void search_level() {
        if (params_.max_features < d_) return search_drawn();
        if (p_.counted || params_.random_splits || level_.size() > most_at_once) {
            for (std::size_t f = 0; f < d_; ++f) search_.search(f);
            return;
        }
        std::vector<const std::int64_t*> totals;
        for (const SparseMember& m : level_) totals.push_back(m.total.data());
        LevelBoundaries boundaries(p_, totals, member_of_);
        for (std::size_t f = 0; f < d_; ++f) {
            const std::int64_t begin = entries_.indptr[f], end = entries_.indptr[f + 1];
            if (begin == end) continue;
            if (entries_.codes[end - 1] == missing_bin)
                search_.search(f);
            else
                boundaries.add(entries_, static_cast<std::int32_t>(f));
        }
        const std::vector<Boundaries>& found = boundaries.finish();
        for (std::size_t a = 0; a < level_.size(); ++a) {
            Split& best = level_[a].best;
            const double score = found[a].score();
            const std::int32_t column = found[a].column();
            if (column < 0 || score < best.score || (score == best.score && best.feature < column))
                continue;
            best = Split{};
            search_.search(column, {static_cast<std::int32_t>(a)});
        }
    }

    // Every column that a node of the level has drawn, for the nodes that have.
    void search_drawn() {
        std::vector<std::pair<std::uint32_t, std::int32_t>> wanted;
        for (std::size_t a = 0; a < level_.size(); ++a)
            for (const std::uint32_t f : level_[a].chosen)
                wanted.emplace_back(f, static_cast<std::int32_t>(a));
        std::sort(wanted.begin(), wanted.end());
        std::vector<std::int32_t> nodes;
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            nodes.push_back(wanted[i].second);
            if (i + 1 < wanted.size() && wanted[i + 1].first == wanted[i].first) continue;
            search_.search(wanted[i].first, nodes);
            nodes.clear();
        }
    }

    // None of the drawn features can be split: the first of the others, in random order, that can.
    void try_others(std::size_t a) {
        features_.draw(params_, level_[a].key);
        while (level_[a].best.feature < 0 && !features_.ended())
            search_.search(features_.next(), {static_cast<std::int32_t>(a)});
    }

    std::size_t n_entries(std::size_t f) const {
        return static_cast<std::size_t>(entries_.indptr[f + 1] - entries_.indptr[f]);
    }

    // Rows move to their child: by the bin of zero first, then the entries say otherwise.
    void advance_level() {
        for (std::size_t row = 0; row < p_.n; ++row) {
            const std::int32_t a = member_of_[row];
            if (a < 0 || level_[a].best.feature < 0) continue;
            const Split& best = level_[a].best;
            const int zero_bin = entries_.zero_bin[best.feature];
            side_[row] = zero_bin > best.bin;
        }
        for (std::size_t a = 0; a < level_.size(); ++a) {
            const Split& best = level_[a].best;
            if (best.feature < 0) continue;
            signals_.add(n_entries(best.feature));
            for (std::int64_t e = entries_.indptr[best.feature];
                 e < entries_.indptr[best.feature + 1]; ++e) {
                const std::size_t row = entries_.rows[e];
                if (member_of_[row] != static_cast<std::int32_t>(a)) continue;
                const int code = entries_.codes[e];
                side_[row] = code == missing_bin ? !best.missing_left : code > best.bin;
            }
        }
        std::vector<std::int64_t> floors(2 * level_.size(), 0);
        for (std::size_t row = 0; p_.cost && row < p_.n; ++row)
            if (member_of_[row] >= 0)
                floors[2 * member_of_[row] + side_[row]] += p_.least_cost[row];
        std::vector<SparseMember> parents;
        parents.swap(level_);
        std::vector<std::int32_t> place(2 * parents.size(), -1);
        for (std::size_t a = 0; a < parents.size(); ++a) {
            if (parents[a].best.feature < 0) continue;
            const std::int32_t child = split_node(tree_, p_, parents[a].node, parents[a].best);
            for (int side = 0; side < 2; ++side)
                place[2 * a + side] = join(child + side, floors[2 * a + side]);
        }
        for (std::size_t row = 0; row < p_.n; ++row)
            if (member_of_[row] >= 0) member_of_[row] = place[2 * member_of_[row] + side_[row]];
    }

    const SparseCodes& entries_;
    std::size_t d_;
    const Problem& p_;
    const TreeParams& params_;
    std::vector<std::int32_t> member_of_;
    std::vector<std::uint8_t> side_;
    std::vector<SparseMember> level_;
    ColumnSearch search_;
    FeatureOrder features_;
    SignalCheck signals_;
    Tree tree_;
};

}  // namespace

Tree grow_sparse(const SparseCodes& entries, std::size_t d, const Edges& edges,
                 const Problem& problem, const TreeParams& params) {
    return SparseGrower(entries, d, edges, problem, params).grow();
}

}  // namespace consilience
