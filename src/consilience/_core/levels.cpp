// The splits of a level from the summed histograms of all blocks (see levels.hpp).
#include "levels.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace consilience {

HistogramLayout::HistogramLayout(const Edges& edges, std::size_t d, int n_channels) : offset_{0} {
    for (std::size_t first = 0; first < d; first += lanes) {
        int widest = 0;
        for (std::size_t f = first; f < std::min<std::size_t>(d, first + lanes); ++f)
            widest = std::max(widest, edges.bins(f));
        widest_.push_back(widest);
        offset_.push_back(offset_.back() + n_channels * (widest + 1) * lanes);
    }
}

LevelGrower::LevelGrower(std::vector<double> least, std::vector<double> greatest,
                         std::vector<std::int64_t> start, Problem problem, TreeParams params)
    : least_(std::move(least)),
      greatest_(std::move(greatest)),
      start_(std::move(start)),
      d_(start_.size() - 1),
      p_(std::move(problem)),
      params_(params),
      edges_(edges()),
      layout_(edges_, d_, p_.n_channels()),
      search_(nullptr, d_, edges_, p_),
      features_(d_),
      scratch_(search_.histogram_size()),
      level_(1) {
    level_[0].member.node = 0;
}

std::vector<std::int32_t> LevelGrower::level() const {
    std::vector<std::int32_t> nodes;
    for (const Node& node : level_) nodes.push_back(node.member.node);
    return nodes;
}

std::vector<std::int32_t> LevelGrower::built() const {
    std::vector<std::int32_t> nodes;
    for (const Node& node : level_)
        if (node.sibling < 0) nodes.push_back(node.member.node);
    return nodes;
}

void LevelGrower::start_member(DenseMember& m, std::int32_t node) {
    m.node = node;
    m.key = tree_.key[node];
    m.total.assign(tree_.total(node), tree_.total(node) + p_.n_channels());
    for (int c = 0; c < p_.n_sums; ++c) {
        if (!p_.cost && m.total[c] == 0) continue;
        m.channels.push_back(c);
        m.totals.push_back(static_cast<double>(m.total[c]));
    }
}

void LevelGrower::advance(const std::int64_t* hist, const std::int64_t* totals,
                          std::int64_t few_rows) {
    const std::size_t width = p_.n_channels() + 2;
    if (tree_.size() == 0) {
        add_root(tree_, p_, params_, totals);
        start_member(level_[0].member, 0);
    }
    std::vector<Buffer> held(level_.size());
    std::size_t slot = 0;
    for (std::size_t a = 0; a < level_.size(); ++a)
        if (level_[a].sibling < 0) {
            const std::int64_t* first = hist + slot++ * layout_.size();
            held[a] = std::make_shared<std::vector<std::int64_t>>(first, first + layout_.size());
        }
    std::vector<Node> next;
    for (std::size_t a = 0; a < level_.size(); ++a) {
        DenseMember& m = level_[a].member;
        if (level_[a].sibling >= 0) {
            held[a] = std::move(level_[a].parent);
            const std::vector<std::int64_t>& other = *held[level_[a].sibling];
            for (std::size_t i = 0; i < other.size(); ++i) (*held[a])[i] -= other[i];
        }
        const std::int64_t n_rows = totals[a * width + width - 2],
                           floor = totals[a * width + width - 1];
        m.active = worth_splitting(tree_, p_, params_, m.node, floor);
        if (!m.active) continue;
        if (n_rows <= few_rows) {
            unfinished_.push_back(m.node);
            continue;
        }
        search(m, held[a]->data());
        if (m.best.feature < 0) continue;
        m.kept = held[a];
        const std::int32_t child = split_node(tree_, p_, m.node, m.best);
        if (tree_.depth[child] < params_.max_depth) add_children(m, child, next);
    }
    level_ = std::move(next);
}

// The lighter child is built; whether one of least cost is worth splitting, its rows will tell.
void LevelGrower::add_children(const DenseMember& m, std::int32_t child, std::vector<Node>& next) {
    std::vector<Node> pair(2);
    bool wanted[2];
    for (int side = 0; side < 2; ++side) {
        start_member(pair[side].member, child + side);
        wanted[side] = worth_splitting(tree_, p_, params_, child + side,
                                       std::numeric_limits<std::int64_t>::min());
    }
    const int light = mass(p_, tree_.total(child + 1)) < mass(p_, tree_.total(child));
    if (!wanted[0] && !wanted[1]) return;
    if (wanted[1 - light]) {
        pair[1 - light].sibling = static_cast<int>(next.size()) + light;
        pair[1 - light].parent = m.kept;
    }
    for (int side = 0; side < 2; ++side)
        if (side == light || wanted[1 - light]) next.push_back(std::move(pair[side]));
}

void LevelGrower::search(DenseMember& m, const std::int64_t* hist) {
    const std::vector<std::uint32_t> chosen = features_.draw(params_, m.key);
    std::vector<LaneMask> masks(layout_.n_blocks(), chosen.empty() ? all_of_block : 0);
    for (const std::uint32_t f : chosen) masks[f / lanes] |= 1u << f % lanes;
    for (std::size_t block = 0; block < masks.size(); ++block)
        if (masks[block]) search_block(m, hist, block, masks[block]);
    while (!chosen.empty() && m.best.feature < 0 && !features_.ended()) {
        const std::uint32_t f = features_.next();
        search_block(m, hist, f / lanes, 1u << f % lanes);
    }
}

void LevelGrower::search_block(DenseMember& m, const std::int64_t* hist, std::size_t block,
                               LaneMask mask) {
    const std::size_t width = layout_.channel(block);
    for (int c = 0; c < p_.n_channels(); ++c) {
        const std::int64_t* from = hist + layout_.offset(block) + c * width;
        std::int64_t* to = scratch_.data() + c * channel_size;
        std::copy(from, from + width - lanes, to);
        std::copy(from + width - lanes, from + width, to + missing_bin * lanes);
    }
    if (params_.random_splits)
        search_.search_random(m, static_cast<const std::int64_t*>(scratch_.data()), block, mask);
    else
        search_.search(m, scratch_.data(), block, mask);
}

}  // namespace consilience
