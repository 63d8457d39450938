// The search for the best split in one sparse column (see sparse_search.hpp).
//
// The entries of a column are ordered by bin. A first pass over them sums what each node of the
// level holds beside zeros; the zeros' share is the node's total minus that. A second pass moves
// through the bins and scores a split whenever a node reaches a new one.
#include "sparse_search.hpp"

#include <algorithm>

namespace consilience {

ColumnSearch::ColumnSearch(const SparseCodes& entries, const Edges& edges, const Problem& problem,
                           bool random_splits, std::vector<SparseMember>& level,
                           const std::vector<std::int32_t>& member_of)
    : entries_(entries),
      edges_(edges),
      p_(problem),
      random_splits_(random_splits),
      level_(level),
      member_of_(member_of) {}

void ColumnSearch::start_level() {
    states_.assign(level_.size(), State{});
    for (State& s : states_) {
        s.left.resize(p_.n_channels());
        s.zeros.resize(p_.n_channels());
        s.missing.resize(p_.n_channels());
        s.trial.resize(p_.n_channels());
    }
}

void ColumnSearch::add_row(std::vector<std::int64_t>& sums, std::size_t row) const {
    if (p_.cost)
        for (int c = 0; c < p_.n_sums; ++c) sums[c] += p_.weight[c * p_.n + row];
    else
        sums[p_.codes[row]] += p_.weight[row];
    if (p_.counted) ++sums[p_.n_sums];
}

void ColumnSearch::search(std::size_t f) {
    ++column_;
    search_column(f, true);
}

void ColumnSearch::search(std::size_t f, const std::vector<std::int32_t>& some) {
    ++column_;
    for (const std::int32_t a : some) states_[a].wanted = column_;
    search_column(f, false);
}

void ColumnSearch::search_column(std::size_t f, bool all) {
    const std::int64_t begin = entries_.indptr[f], end = entries_.indptr[f + 1];
    signals_.add(4 * static_cast<std::size_t>(end - begin));
    touched_.clear();
    for (std::int64_t e = begin; e < end; ++e) {
        const std::size_t row = entries_.rows[e];
        const std::int32_t a = member_of_[row];
        if (a < 0) continue;
        State& s = states_[a];
        if (!all && s.wanted != column_) continue;
        if (s.column != column_) reset(s, a);
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
    if (random_splits_)
        score_random(f, begin, end);
    else
        score_best(f, begin, end);
}

void ColumnSearch::reset(State& s, std::int32_t a) {
    s.column = column_;
    s.bin = s.last = -1;
    s.first = missing_bin;
    s.has_missing = false;
    std::fill(s.left.begin(), s.left.end(), 0);
    std::fill(s.missing.begin(), s.missing.end(), 0);
    touched_.push_back(a);
}

// The zeros are the rest of the node; for random splits, the threshold is drawn here.
void ColumnSearch::start(std::int32_t a, std::size_t f) {
    State& s = states_[a];
    const std::int64_t* total = level_[a].total.data();
    for (int c = 0; c < p_.n_channels(); ++c) s.zeros[c] = total[c] - s.left[c];
    std::fill(s.left.begin(), s.left.end(), 0);
    s.has_zeros = p_.counted ? s.zeros[p_.n_sums] > 0 : mass(p_, s.zeros.data()) > 0;
    if (!random_splits_) return;
    const int zero_bin = entries_.zero_bin[f];
    if (s.has_zeros) {
        s.first = std::min(s.first, zero_bin);
        s.last = std::max(s.last, zero_bin);
    }
    s.random = Split{};
    if (s.first >= s.last) return;
    s.random.feature = static_cast<std::int32_t>(f);
    const Cut cut = draw_cut(edges_, level_[a].key, f, s.first, s.last);
    s.random.bin = cut.bin;
    s.random.threshold = cut.threshold;
}

void ColumnSearch::score_best(std::size_t f, std::int64_t begin, std::int64_t end) {
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

void ColumnSearch::add_zeros(std::size_t f, int zero_bin) {
    for (const std::int32_t a : touched_) {
        State& s = states_[a];
        if (!s.has_zeros) continue;
        reach(a, f, zero_bin);
        for (int c = 0; c < p_.n_channels(); ++c) s.left[c] += s.zeros[c];
    }
}

// The node comes to a new bin (-1: past the last): score the split before it.
void ColumnSearch::reach(std::int32_t a, std::size_t f, int bin) {
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

void ColumnSearch::consider(std::int32_t a, std::size_t f, int next,
                            const std::vector<std::int64_t>& left, bool missing_left) {
    SparseMember& m = level_[a];
    const double score = split_score(p_, left.data(), m.total.data());
    if (!(score > m.best.score)) return;
    m.best.score = score;
    m.best.feature = static_cast<std::int32_t>(f);
    m.best.bin = states_[a].bin;
    m.best.left = left;
    m.best.missing_left = states_[a].has_missing ? missing_left : heavier_left(a, left);
    place_threshold(edges_, next, m.best);
}

bool ColumnSearch::heavier_left(std::int32_t a, const std::vector<std::int64_t>& left) const {
    return 2 * mass(p_, left.data()) > mass(p_, level_[a].total.data());
}

void ColumnSearch::score_random(std::size_t f, std::int64_t begin, std::int64_t end) {
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
            s.random.score = split_score(p_, s.left.data(), level_[a].total.data());
            if (!(s.random.score > level_[a].best.score)) continue;
            s.random.left = s.left;
            s.random.missing_left = s.has_missing ? go_left : heavier_left(a, s.left);
            level_[a].best = s.random;
        }
    }
}

}  // namespace consilience
