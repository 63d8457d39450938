// Growth of one boosted tree (see boost_tree.hpp).
#include "boost_tree.hpp"

#include <algorithm>
#include <limits>

namespace consilience {
namespace {

constexpr double min_gain = 1e-6;  // below it a gain may be rounding
constexpr std::size_t scan_work = 8;  // nanoseconds for a bin of a block

}  // namespace

BoostGrower::BoostGrower(const PackedColumns& columns, const Edges& edges,
                         const BoostParams& params)
    : columns_(columns), edges_(edges), params_(params) {}

void BoostGrower::grow(std::vector<std::uint32_t>& rows, std::vector<std::uint32_t>& others,
                       const std::int64_t* pairs, GradientUnits units,
                       const std::vector<std::size_t>& blocks, BoostedTrees& trees,
                       double* scores) {
    rows_ = &rows;
    others_ = &others;
    pairs_ = pairs;
    units_ = units;
    if (blocks != blocks_) {
        blocks_ = blocks;
        offsets_.assign(1, 0);
        for (const std::size_t b : blocks)
            offsets_.push_back(offsets_.back() + (columns_.n_bins[b] + 1) * lanes);
    }
    both_ways_.clear();
    nodes_.clear();
    Node root{};
    for (const std::uint32_t row : rows) root.total += pairs[row];
    root.rows = {0, rows.size()};
    root.others = {0, others.size()};
    if (splittable(root)) {
        take_buffer(root);
        fill_histogram(root);
        search(root);
    }
    nodes_.push_back(root);
    for (int n_leaves = 1; n_leaves < params_.max_leaves; ++n_leaves) {
        const std::int32_t leaf = best_leaf();
        if (leaf < 0) break;
        split_leaf(leaf, n_leaves + 1 == params_.max_leaves);
    }
    for (Node& node : nodes_) {
        release_buffer(node);
        if (node.left >= 0) continue;
        const double g = unpack_gradient(node.total) * units_.gradient,
                     h = unpack_hessian(node.total) * units_.hessian;
        node.value = static_cast<float>(-params_.learning_rate * g / (h + params_.l2));
    }
    append(trees);
    add_values(rows, false, scores);
    add_values(others, true, scores);
    for (const auto& [row, node] : both_ways_) scores[row] += expected(node, row);
}

bool BoostGrower::splittable(const Node& node) const {
    return !blocks_.empty() && node.depth < params_.max_depth &&
           unpack_hessian(node.total) * units_.hessian >= 2 * params_.min_hessian;
}

void BoostGrower::take_buffer(Node& node) {
    if (free_.empty()) {
        free_.push_back(static_cast<std::ptrdiff_t>(buffers_.size()));
        buffers_.emplace_back();
    }
    node.hist = free_.back();
    free_.pop_back();
    buffers_[node.hist].assign(offsets_.back(), 0);
}

void BoostGrower::release_buffer(Node& node) {
    if (node.hist >= 0) free_.push_back(node.hist);
    node.hist = -1;
}

void BoostGrower::fill_histogram(Node& node) {
    const std::size_t n_rows = node.rows.second - node.rows.first;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
        add_pairs(columns_.block(blocks_[i]), rows_->data() + node.rows.first, n_rows, pairs_,
                  histogram(node) + offsets_[i]);
        signals_.add(4 * n_rows);
    }
}

// Fills in the node's best split, with gain 0 if there is none.
void BoostGrower::search(Node& node) {
    SplitScan scan;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
        const int n_bins = columns_.n_bins[blocks_[i]];
        scan_pairs(histogram(node) + offsets_[i], n_bins, node.total, units_, params_, scan);
        consider(node, i, scan);
        signals_.add(scan_work * n_bins);
    }
    Split& split = node.split;
    if (split.gain == 0) return;
    const double g = unpack_gradient(node.total) * units_.gradient,
                 h = unpack_hessian(node.total) * units_.hessian;
    split.gain -= g * g / (h + params_.l2);
    if (split.gain < min_gain) {
        split.gain = 0;
        return;
    }
    const std::int64_t* hist = histogram(node) + offsets_[split.block] + split.lane;
    const std::int64_t missing = hist[columns_.n_bins[blocks_[split.block]] * lanes];
    if (split.missing_left > 0) split.left_total = missing;
    for (int bin = 0; bin <= split.bin; ++bin) split.left_total += hist[bin * lanes];
    if (missing == 0)
        split.missing_left = static_cast<float>(unpack_hessian(split.left_total) /
                                                unpack_hessian(node.total));
}

// Keeps the best score so far in `gain`.
void BoostGrower::consider(Node& node, std::size_t block, const SplitScan& scan) {
    Split& split = node.split;
    const std::int32_t* feature = columns_.feature.data();
    for (int j = 0; j < lanes; ++j) {
        if (!(scan.score[j] > 0) || scan.score[j] < split.gain) continue;
        if (scan.score[j] == split.gain &&
            feature[blocks_[block] * lanes + j] > feature[blocks_[split.block] * lanes + split.lane])
            continue;
        split.gain = scan.score[j];
        split.block = block;
        split.lane = j;
        split.bin = static_cast<int>(scan.bin[j]);
        split.missing_left = static_cast<float>(scan.missing_left[j]);
    }
}

std::int32_t BoostGrower::best_leaf() const {
    std::int32_t best = -1;
    for (std::size_t i = 0; i < nodes_.size(); ++i)
        if (nodes_[i].left < 0 && nodes_[i].split.gain > 0 &&
            (best < 0 || nodes_[i].split.gain > nodes_[best].split.gain))
            best = static_cast<std::int32_t>(i);
    return best;
}

void BoostGrower::split_leaf(std::int32_t at, bool is_last) {
    Node left{}, right{};
    Node& parent = nodes_[at];
    divert(at);
    const std::size_t middle = part(*rows_, parent.rows, parent.split);
    const std::size_t other_middle = part(*others_, parent.others, parent.split);
    left.rows = {parent.rows.first, middle};
    right.rows = {middle, parent.rows.second};
    left.others = {parent.others.first, other_middle};
    right.others = {other_middle, parent.others.second};
    left.total = parent.split.left_total;
    right.total = parent.total - left.total;
    left.depth = right.depth = parent.depth + 1;
    parent.left = static_cast<std::int32_t>(nodes_.size());
    if (!is_last) search_children(parent, left, right);
    release_buffer(parent);
    nodes_.push_back(left);
    nodes_.push_back(right);
}

// Histograms of the children: that of the smaller from its rows, the other by subtraction.
void BoostGrower::search_children(Node& parent, Node& left, Node& right) {
    const std::size_t n_left = left.rows.second - left.rows.first,
                      n_right = right.rows.second - right.rows.first;
    Node &small = n_left <= n_right ? left : right, &large = n_left <= n_right ? right : left;
    if (!splittable(small) && !splittable(large)) return;
    take_buffer(small);
    fill_histogram(small);
    if (splittable(large)) {
        std::swap(large.hist, parent.hist);
        subtract_pairs(histogram(large), histogram(small), offsets_.back());
        search(large);
    }
    if (splittable(small)) search(small);
    for (Node* node : {&left, &right})
        if (node->split.gain == 0) release_buffer(*node);
}

// Moves the rows that go left to the front of the range and returns where those on the right begin.
std::size_t BoostGrower::part(std::vector<std::uint32_t>& rows, Range range, const Split& split) {
    const std::size_t block = blocks_[split.block], size = range.second - range.first;
    const std::uint8_t* codes = columns_.block(block) + split.lane;
    std::uint8_t goes_left[256];
    for (int code = 0; code < 256; ++code) goes_left[code] = code <= split.bin;
    goes_left[columns_.n_bins[block]] = split.missing_left >= 0.5f;
    spare_.resize(std::max(spare_.size(), size + 1));
    signals_.add(2 * size);
    std::uint32_t* at = rows.data() + range.first;
    std::size_t n_left = 0, n_right = 0;
    for (std::size_t p = 0; p < size; ++p) {
        const std::uint32_t row = at[p];
        const bool left = goes_left[codes[static_cast<std::size_t>(row) * lanes]];
        at[n_left] = row;
        spare_[n_right] = row;
        n_left += left;
        n_right += !left;
    }
    std::copy(spare_.begin(), spare_.begin() + n_right, at + n_left);
    return range.first + n_left;
}

// Takes the rows that go both ways out of those that only follow, and notes where they left.
void BoostGrower::divert(std::int32_t id) {
    Node& node = nodes_[id];
    const float share = node.split.missing_left;
    if (share <= 0 || share >= 1) return;
    const std::size_t block = blocks_[node.split.block];
    const std::uint8_t* codes = columns_.block(block) + node.split.lane;
    const int missing = columns_.n_bins[block];
    std::uint32_t *first = others_->data() + node.others.first,
                  *last = others_->data() + node.others.second;
    std::uint32_t* end = std::partition(first, last, [=](std::uint32_t row) {
        return codes[static_cast<std::size_t>(row) * lanes] != missing;
    });
    for (std::uint32_t* row = end; row != last; ++row) both_ways_.emplace_back(*row, id);
    node.others.second -= last - end;
}

// Value for a row at a node, where a share of it goes each way.
double BoostGrower::expected(std::int32_t id, std::uint32_t row) const {
    const Node& node = nodes_[id];
    if (node.left < 0) return node.value;
    const std::size_t block = blocks_[node.split.block];
    const int code = columns_.block(block)[static_cast<std::size_t>(row) * lanes + node.split.lane];
    if (code != columns_.n_bins[block]) return expected(node.left + (code > node.split.bin), row);
    const double share = node.split.missing_left;
    if (share <= 0) return expected(node.left + 1, row);
    if (share >= 1) return expected(node.left, row);
    return share * expected(node.left, row) + (1 - share) * expected(node.left + 1, row);
}

void BoostGrower::append(BoostedTrees& trees) const {
    for (const Node& node : nodes_) {
        const bool is_leaf = node.left < 0;
        const Split& split = node.split;
        trees.left.push_back(node.left);
        trees.right.push_back(is_leaf ? -1 : node.left + 1);
        trees.value.push_back(node.value);
        trees.missing_left.push_back(is_leaf ? 0 : split.missing_left);
        if (is_leaf) {
            trees.feature.push_back(-1);
            trees.threshold.push_back(std::numeric_limits<double>::quiet_NaN());
            continue;
        }
        const std::int32_t f = columns_.feature[blocks_[split.block] * lanes + split.lane];
        const bool is_last = split.bin + 1 >= edges_.bins(f);
        trees.feature.push_back(f);
        trees.threshold.push_back(
            is_last ? std::numeric_limits<double>::infinity()
                    : midpoint(edges_.high(f, split.bin), edges_.low(f, split.bin + 1)));
    }
    trees.starts.push_back(static_cast<std::int64_t>(trees.feature.size()));
}

void BoostGrower::add_values(const std::vector<std::uint32_t>& rows, bool others,
                             double* scores) const {
    for (const Node& node : nodes_) {
        if (node.left >= 0) continue;
        const Range range = others ? node.others : node.rows;
        for (std::size_t p = range.first; p < range.second; ++p) scores[rows[p]] += node.value;
    }
}

}  // namespace consilience
