// Trees on sparse columns: only stored entries are visited, the zeros of a node are what is left.
//
// The entries of a column are ordered by bin. A first pass over them sums what each node of the
// level holds beside zeros; the zeros' share is the node's total minus that. A second pass moves
// through the bins and scores a split whenever a node reaches a new one.
#include <algorithm>

#include "boundaries.hpp"
#include "grow.hpp"
#include "random.hpp"

namespace consilience {
namespace {

constexpr std::size_t most_at_once = 256;  // nodes of a level with buffers of their own

struct Member {
    std::int32_t node = -1;
    std::vector<std::uint8_t> chosen;
    Split best;
};

// What the current column says about one node.
struct State {
    std::vector<std::int64_t> left, zeros, missing, trial;
    int bin = -1, first = missing_bin, last = -1;
    bool has_zeros = false, has_missing = false;
    std::int64_t column = -1;
    Split random;
};

class SparseGrower {
public:
    SparseGrower(const SparseCodes& entries, std::size_t d, const Edges& edges,
                 const Problem& problem, const TreeParams& params)
        : entries_(entries), d_(d), edges_(edges), p_(problem), params_(params),
          member_of_(problem.n, -1), side_(problem.n, 0) {}

    Tree grow() {
        add_node(tree_, p_, 0, root_key(params_.seed), root_totals(p_).data());
        std::int64_t floor = 0;
        for (const std::uint32_t row : p_.rows) floor += p_.cost ? p_.least_cost[row] : 0;
        join(0, floor);
        if (!level_.empty())
            for (const std::uint32_t row : p_.rows) member_of_[row] = 0;
        while (!level_.empty()) {
            prepare_states();
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
        Member m;
        m.node = node;
        m.chosen = draw_features(params_, tree_.key[node], d_);
        level_.push_back(std::move(m));
        return static_cast<std::int32_t>(level_.size()) - 1;
    }

    void prepare_states() {
        states_.assign(level_.size(), State{});
        for (State& s : states_) {
            s.left.resize(p_.n_channels());
            s.zeros.resize(p_.n_channels());
            s.missing.resize(p_.n_channels());
            s.trial.resize(p_.n_channels());
        }
    }

    // Plain gini needs only the best score of each column; the split itself is then looked up in
    // the column that has it.
    void search_level() {
        const bool drawn = std::any_of(level_.begin(), level_.end(),
                                       [](const Member& m) { return !m.chosen.empty(); });
        if (p_.counted || params_.random_splits || drawn || level_.size() > most_at_once) {
            for (std::size_t f = 0; f < d_; ++f) search(f, -1);
            return;
        }
        std::vector<const std::int64_t*> totals;
        for (const Member& m : level_) totals.push_back(tree_.total(m.node));
        LevelBoundaries boundaries(p_, totals, member_of_);
        for (std::size_t f = 0; f < d_; ++f) {
            const std::int64_t begin = entries_.indptr[f], end = entries_.indptr[f + 1];
            if (begin == end) continue;
            if (entries_.codes[end - 1] == missing_bin)
                search(f, -1);
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
            search(column, static_cast<std::int32_t>(a));
        }
    }

    void add_row(std::vector<std::int64_t>& sums, std::size_t row) const {
        if (p_.cost)
            for (int c = 0; c < p_.n_sums; ++c) sums[c] += p_.weight[c * p_.n + row];
        else
            sums[p_.codes[row]] += p_.weight[row];
        if (p_.counted) ++sums[p_.n_sums];
    }

    // One column for all nodes of the level, or for one of them.
    void search(std::size_t f, std::int32_t only) {
        const std::int64_t begin = entries_.indptr[f], end = entries_.indptr[f + 1];
        touched_.clear();
        ++column_;
        for (std::int64_t e = begin; e < end; ++e) {
            const std::size_t row = entries_.rows[e];
            const std::int32_t a = member_of_[row];
            if (a < 0 || (only >= 0 && a != only)) continue;
            State& s = states_[a];
            if (s.column != column_) {
                if (!level_[a].chosen.empty() && !level_[a].chosen[f]) continue;
                reset(s, a);
            }
            const int code = entries_.codes[e];
            add_row(s.left, row);
            if (code == missing_bin) {
                add_row(s.missing, row);
                s.has_missing = true;
            } else {
                s.first = std::min(s.first, code);
                s.last = std::max(s.last, code);
            }
        }
        for (const std::int32_t a : touched_) start(a, f);
        if (touched_.empty()) return;
        if (params_.random_splits)
            score_random(f, begin, end);
        else
            score_best(f, begin, end);
    }

    void reset(State& s, std::int32_t a) {
        s.column = column_;
        s.bin = s.last = -1;
        s.first = missing_bin;
        s.has_missing = false;
        std::fill(s.left.begin(), s.left.end(), 0);
        std::fill(s.missing.begin(), s.missing.end(), 0);
        touched_.push_back(a);
    }

    // The zeros are the rest of the node; for random splits, the threshold is drawn here.
    void start(std::int32_t a, std::size_t f) {
        State& s = states_[a];
        const std::int64_t* total = tree_.total(level_[a].node);
        for (int c = 0; c < p_.n_channels(); ++c) s.zeros[c] = total[c] - s.left[c];
        std::fill(s.left.begin(), s.left.end(), 0);
        s.has_zeros = p_.counted ? s.zeros[p_.n_sums] > 0 : mass(p_, s.zeros.data()) > 0;
        if (!params_.random_splits) return;
        const int zero_bin = entries_.zero_bin[f];
        if (s.has_zeros) {
            s.first = std::min(s.first, zero_bin);
            s.last = std::max(s.last, zero_bin);
        }
        s.random = Split{};
        if (s.first >= s.last) return;
        s.random.feature = static_cast<std::int32_t>(f);
        draw_threshold(edges_, tree_.key[level_[a].node], s.first, s.last, s.random);
    }

    void score_best(std::size_t f, std::int64_t begin, std::int64_t end) {
        const int zero_bin = entries_.zero_bin[f];
        bool zeros_done = false;
        for (std::int64_t e = begin; e < end; ++e) {
            const int code = entries_.codes[e];
            if (!zeros_done && code > zero_bin) {
                add_zeros(f, zero_bin);
                zeros_done = true;
            }
            if (code == missing_bin) break;
            const std::size_t row = entries_.rows[e];
            const std::int32_t a = member_of_[row];
            if (a < 0 || states_[a].column != column_) continue;
            if (states_[a].bin != code) reach(a, f, code);
            add_row(states_[a].left, row);
        }
        if (!zeros_done) add_zeros(f, zero_bin);
        for (const std::int32_t a : touched_)
            if (states_[a].has_missing) reach(a, f, -1);
    }

    void add_zeros(std::size_t f, int zero_bin) {
        for (const std::int32_t a : touched_) {
            State& s = states_[a];
            if (!s.has_zeros) continue;
            reach(a, f, zero_bin);
            for (int c = 0; c < p_.n_channels(); ++c) s.left[c] += s.zeros[c];
        }
    }

    // The node comes to a new bin (-1: past the last): score the split before it.
    void reach(std::int32_t a, std::size_t f, int bin) {
        State& s = states_[a];
        if (s.bin >= 0) {
            consider(a, f, bin, s.left, false);
            if (s.has_missing) {
                for (int c = 0; c < p_.n_channels(); ++c) s.trial[c] = s.left[c] + s.missing[c];
                consider(a, f, bin, s.trial, true);
            }
        }
        s.bin = bin;
    }

    void consider(std::int32_t a, std::size_t f, int next, const std::vector<std::int64_t>& left,
                  bool missing_left) {
        Member& m = level_[a];
        const double score = split_score(p_, left.data(), tree_.total(m.node));
        if (!(score > m.best.score)) return;
        m.best.score = score;
        m.best.feature = static_cast<std::int32_t>(f);
        m.best.bin = states_[a].bin;
        m.best.left = left;
        m.best.missing_left = states_[a].has_missing ? missing_left : heavier_left(m.node, left);
        place_threshold(edges_, next, m.best);
    }

    bool heavier_left(std::int32_t node, const std::vector<std::int64_t>& left) const {
        return 2 * mass(p_, left.data()) > mass(p_, tree_.total(node));
    }

    void score_random(std::size_t f, std::int64_t begin, std::int64_t end) {
        for (std::int64_t e = begin; e < end; ++e) {
            const std::size_t row = entries_.rows[e];
            const std::int32_t a = member_of_[row];
            if (a < 0 || states_[a].column != column_ || states_[a].random.feature < 0) continue;
            if (entries_.codes[e] <= states_[a].random.bin) add_row(states_[a].left, row);
        }
        for (const std::int32_t a : touched_) {
            State& s = states_[a];
            if (s.random.feature < 0) continue;
            if (s.has_zeros && entries_.zero_bin[f] <= s.random.bin)
                for (int c = 0; c < p_.n_channels(); ++c) s.left[c] += s.zeros[c];
            for (int go_left = 0; go_left <= (s.has_missing ? 1 : 0); ++go_left) {
                for (int c = 0; go_left && c < p_.n_channels(); ++c) s.left[c] += s.missing[c];
                s.random.score = split_score(p_, s.left.data(), tree_.total(level_[a].node));
                if (!(s.random.score > level_[a].best.score)) continue;
                s.random.left = s.left;
                s.random.missing_left =
                    s.has_missing ? go_left : heavier_left(level_[a].node, s.left);
                level_[a].best = s.random;
            }
        }
    }

    // None of the drawn features can be split: the first of the others, in random order, that can.
    void try_others(std::size_t a) {
        const std::uint64_t key = tree_.key[level_[a].node];
        std::vector<std::size_t> others;
        for (std::size_t f = 0; f < d_; ++f)
            if (!level_[a].chosen[f]) others.push_back(f);
        std::sort(others.begin(), others.end(),
                  [key](std::size_t x, std::size_t y) { return drawn_before(key, x, y); });
        level_[a].chosen.clear();
        for (const std::size_t f : others) {
            search(f, static_cast<std::int32_t>(a));
            if (level_[a].best.feature >= 0) return;
        }
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
            if (member_of_[row] >= 0) floors[2 * member_of_[row] + side_[row]] += p_.least_cost[row];
        std::vector<Member> parents;
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
    const Edges& edges_;
    const Problem& p_;
    const TreeParams& params_;
    std::vector<std::int32_t> member_of_;
    std::vector<std::uint8_t> side_;
    std::vector<Member> level_;
    std::vector<State> states_;
    std::vector<std::int32_t> touched_;
    std::int64_t column_ = -1;
    Tree tree_;
};

}  // namespace

Tree grow_sparse(const SparseCodes& entries, std::size_t d, const Edges& edges,
                 const Problem& problem, const TreeParams& params) {
    return SparseGrower(entries, d, edges, problem, params).grow();
}

}  // namespace consilience
