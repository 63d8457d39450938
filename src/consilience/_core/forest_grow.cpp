// Forests grown on columns of bins (see forest.hpp).
//
// The trees are those of dense_tree.cpp with random splits, node by node: draws depend on the path
// to a node alone, and class weights are exact integers. A node reads the bins of one drawn column
// after the other for its rows, which lie side by side in class order. The rows of the fold that a
// tree leaves out go down with the others, so that their leaves are known when the tree is grown.
#include <algorithm>
#include <cmath>
#include <limits>

#include "dispatch.hpp"
#include "forest.hpp"
#include "random.hpp"
#include "signals.hpp"

namespace consilience {
namespace {

constexpr std::uint64_t sampled_rows = 3;  // the stream of draws, beside those of tree.cpp
constexpr std::size_t small_node = 32;     // rows up to which plain loops beat vector code
constexpr std::size_t column_work = 50;  // to draw and score a split

struct Range {
    int first, last;  // least and greatest bin; last < first if there are only NaN
    bool has_missing;
};

CONSILIENCE_CLONES
Range range_of(const std::uint8_t* codes, std::size_t n) {
    std::uint8_t least = 255, greatest = 0, after_greatest_value = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const auto next = static_cast<std::uint8_t>(codes[i] + 1);  // that of NaN is 0
        least = std::min(least, codes[i]);
        greatest = std::max(greatest, codes[i]);
        after_greatest_value = std::max(after_greatest_value, next);
    }
    return {least, after_greatest_value - 1, greatest == missing_bin};
}

CONSILIENCE_CLONES
std::int64_t count_at_most(const std::uint8_t* codes, std::size_t n, std::uint8_t bin) {
    std::uint32_t count = 0;
    for (std::size_t i = 0; i < n; ++i) count += codes[i] <= bin;
    return count;
}

CONSILIENCE_CLONES
std::int64_t weight_at_most(const std::uint8_t* codes, const std::int64_t* weight, std::size_t n,
                            std::uint8_t bin) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += codes[i] <= bin ? weight[i] : 0;
    return sum;
}

// Searches the bins of a feature in two steps, each without a branch: first among every 16th bin.
class CutSearch {
public:
    explicit CutSearch(const Edges& edges, std::size_t d) : edges_(edges), start_{0} {
        for (std::size_t f = 0; f < d; ++f) {
            for (int bin = step - 1; bin < edges.bins(f); bin += step)
                steps_.push_back(edges.high(f, bin));
            start_.push_back(steps_.size());
        }
    }

    // draw_cut of tree.hpp, where the threshold is the number drawn: only that of the best split
    // need be placed
    Cut draw(std::uint64_t key, std::size_t f, int first, int last) const {
        const double drawn = draw_threshold(edges_, key, f, first, last);
        const double* high = edges_.greatest + edges_.start[f];
        const int n_steps = static_cast<int>(start_[f + 1] - start_[f]);
        const int begin = step * count_at_most(steps_.data() + start_[f], n_steps, drawn);
        const int n_rest = std::min(step, edges_.bins(f) - begin);
        const int end = begin + count_at_most(high + begin, n_rest, drawn);
        return {std::max(first, std::min(end, last) - 1), drawn};
    }

private:
    static constexpr int step = 16;

    static int count_at_most(const double* values, int n, double limit) {
        std::int64_t count = 0;
        for (int i = 0; i < n; ++i) count += values[i] <= limit;
        return static_cast<int>(count);
    }

    const Edges& edges_;
    std::vector<double> steps_;
    std::vector<std::size_t> start_;
};

// The rows of one class in a node.
struct Segment {
    int class_code;
    std::size_t begin, end;
    std::int64_t total;

    std::size_t size() const { return end - begin; }
};

struct Part {
    std::size_t begin, end;
    std::size_t size() const { return end - begin; }
};

// A node: its segments and left-out rows (where they are in the arrays of the grower).
struct Node {
    std::uint64_t key;
    int depth;
    Part segments, left_out;
};

struct RandomSplit {
    double score = no_score;
    std::size_t feature = 0;
    Cut cut{};
    bool missing_left = false;
    bool exists() const { return score > no_score; }
};

class ForestGrower {
public:
    ForestGrower(const ForestProblem& problem, const TreeParams& params, std::int32_t* leaves)
        : p_(problem),
          params_(params),
          cuts_(problem.edges, problem.d),
          features_(problem.d),
          is_kept_(problem.n),
          spare_(problem.n),
          codes_(problem.n),
          class_totals_(problem.n_classes),
          leaves_(leaves) {
        out_.n_classes = problem.n_classes;
    }

    void grow(std::uint64_t seed, int fold) {
        p_.sample.draw(seed, fold, is_kept_);
        left_out_.clear();
        for (std::size_t i = 0; i < p_.n; ++i)
            if (p_.sample.folds[i] == fold) left_out_.push_back(static_cast<std::uint32_t>(i));
        Problem problem =
            weighted_problem(p_.y, p_.weight, is_kept_.data(), p_.n, p_.n_classes, params_);
        rows_ = std::move(problem.rows);
        weight_ = std::move(problem.weight);
        unit_weight_ = rows_.empty() ? 0 : weight_[rows_[0]];
        const auto differs = [&](std::uint32_t row) { return weight_[row] != unit_weight_; };
        is_weighted_ = std::any_of(rows_.begin(), rows_.end(), differs);
        node_weight_.resize(is_weighted_ ? rows_.size() : 0);
        segments_.clear();
        for (int k = 0; k < p_.n_classes; ++k)
            add_segment(k, problem.group_start[k], problem.group_start[k + 1]);
        out_.finish(grow_node({root_key(seed), 0, {0, segments_.size()}, {0, left_out_.size()}}));
    }

    GrownTrees take() { return std::move(out_); }

private:
    void add_segment(int class_code, std::size_t begin, std::size_t end) {
        if (begin == end) return;
        std::int64_t total = 0;
        for (std::size_t i = begin; is_weighted_ && i < end; ++i) total += weight_[rows_[i]];
        if (!is_weighted_) total = static_cast<std::int64_t>(end - begin) * unit_weight_;
        segments_.push_back({class_code, begin, end, total});
    }

    Part rows_of(const Node& node) const {
        return {segments_[node.segments.begin].begin, segments_[node.segments.end - 1].end};
    }

    std::int64_t total_of(Part segments) const {
        std::int64_t total = 0;
        for (std::size_t s = segments.begin; s < segments.end; ++s) total += segments_[s].total;
        return total;
    }

    // Returns the number of the node, or that of its leaf.
    std::int32_t grow_node(const Node& node) {
        if (node.depth >= params_.max_depth || node.segments.size() < 2) return make_leaf(node);
        const RandomSplit split = find_split(node);
        if (!split.exists()) return make_leaf(node);
        const std::size_t held = segments_.size();
        const Part left = {held, divide(node, split)}, right = {left.end, segments_.size()};
        const std::size_t middle = divide_left_out(node.left_out, split);
        const Cut cut = place_cut(p_.edges, split.feature, split.cut.threshold, split.cut.bin);
        const double share =
            static_cast<double>(total_of(left)) / static_cast<double>(total_of(node.segments));
        const std::int32_t number = out_.add(
            split.feature, to_single(p_.edges, split.feature, cut), split.missing_left, share);
        const int depth = node.depth + 1;
        const std::int32_t left_child = grow_node(
            {child_key(node.key, false), depth, left, {node.left_out.begin, middle}});
        const std::int32_t right_child =
            grow_node({child_key(node.key, true), depth, right, {middle, node.left_out.end}});
        segments_.resize(held);
        out_.set_children(number, left_child, right_child);
        return number;
    }

    std::int32_t make_leaf(const Node& node) {
        std::fill(class_totals_.begin(), class_totals_.end(), 0);
        for (std::size_t s = node.segments.begin; s < node.segments.end; ++s)
            class_totals_[segments_[s].class_code] = segments_[s].total;
        const std::int32_t leaf = out_.leaf(class_totals_);
        for (std::size_t i = node.left_out.begin; i < node.left_out.end; ++i)
            leaves_[left_out_[i]] = ~leaf;
        return leaf;
    }

    // The best of the drawn columns; if none of them can be split, the first of the others, in
    // random order, that can.
    RandomSplit find_split(const Node& node) {
        const Part rows = rows_of(node);
        for (std::size_t i = rows.begin; is_weighted_ && i < rows.end; ++i)
            node_weight_[i - rows.begin] = weight_[rows_[i]];
        total_ = total_of(node.segments);
        left_.resize(node.segments.size());
        RandomSplit best;
        const std::vector<std::uint32_t> drawn = features_.draw(params_, node.key);
        if (drawn.empty())
            for (std::size_t f = 0; f < p_.d; ++f) consider(node, rows, f, best);
        for (const std::uint32_t f : drawn) consider(node, rows, f, best);
        while (!best.exists() && !drawn.empty() && !features_.ended())
            consider(node, rows, features_.next(), best);
        return best;
    }

    Range read_codes(Part rows, std::size_t f) {
        const std::uint8_t* column = p_.codes + f * p_.n;
        const std::uint32_t* at = rows_.data() + rows.begin;
        std::uint8_t* codes = codes_.data();
        const std::size_t n = rows.size();
        signals_.add(column_work + n);
        if (n > small_node) {
            for (std::size_t i = 0; i < n; ++i) codes[i] = column[at[i]];
            return range_of(codes, n);
        }
        Range range = {missing_bin, -1, false};
        for (std::size_t i = 0; i < n; ++i) {
            const int code = codes[i] = column[at[i]];
            range.first = std::min(range.first, code);
            range.last = std::max(range.last, code == missing_bin ? -1 : code);
            range.has_missing |= code == missing_bin;
        }
        return range;
    }

    // The class weight of a segment at or below a bin.
    std::int64_t sum_at_most(const Segment& segment, std::size_t begin, int bin) const {
        const std::uint8_t* codes = codes_.data() + (segment.begin - begin);
        const std::size_t n = segment.size();
        const auto last = static_cast<std::uint8_t>(bin);
        if (is_weighted_)
            return weight_at_most(codes, node_weight_.data() + (segment.begin - begin), n, last);
        std::int64_t count = 0;
        if (n > small_node)
            count = count_at_most(codes, n, last);
        else
            for (std::size_t i = 0; i < n; ++i) count += codes[i] <= last;
        return count * unit_weight_;
    }

    // best (in/out), if one random threshold on column f is better; NaN go right, then left.
    void consider(const Node& node, Part rows, std::size_t f, RandomSplit& best) {
        const Range range = read_codes(rows, f);
        if (range.first >= range.last) return;
        const Cut cut = cuts_.draw(node.key, f, range.first, range.last);
        const Segment* segments = segments_.data() + node.segments.begin;
        for (std::size_t s = 0; s < left_.size(); ++s)
            left_[s] = sum_at_most(segments[s], rows.begin, cut.bin);
        for (int go_left = 0; go_left <= (range.has_missing ? 1 : 0); ++go_left) {
            for (std::size_t s = 0; go_left && s < left_.size(); ++s)
                left_[s] +=
                    segments[s].total - sum_at_most(segments[s], rows.begin, missing_bin - 1);
            const double score = score_of(segments);
            if (!(score > best.score)) continue;
            std::int64_t left = 0;
            for (const std::int64_t sum : left_) left += sum;
            best = {score, f, cut, range.has_missing ? go_left == 1 : 2 * left > total_};
        }
    }

    // split_score of score.hpp for the classes that the node holds: the others add zeros
    double score_of(const Segment* segments) const {
        double weight_left = 0, weight_right = 0, squares_left = 0, squares_right = 0;
        for (std::size_t s = 0; s < left_.size(); ++s) {
            const double l = static_cast<double>(left_[s]),
                         r = static_cast<double>(segments[s].total) - l;
            weight_left += l;
            weight_right += r;
            squares_left += l * l;
            squares_right += r * r;
        }
        return (squares_left * weight_right + squares_right * weight_left) /
               (weight_left * weight_right);
    }

    static bool goes_left(int code, const RandomSplit& split) {
        return (code <= split.cut.bin) | ((code == missing_bin) & split.missing_left);
    }

    // Moves the rows of the left child to the front, the order within each class kept, and appends
    // the segments of both children; returns where those of the right child begin.
    std::size_t divide(const Node& node, const RandomSplit& split) {
        const std::uint8_t* column = p_.codes + split.feature * p_.n;
        const Part rows = rows_of(node);
        std::size_t to = rows.begin, n_right = 0;
        bounds_.clear();
        for (std::size_t s = node.segments.begin; s < node.segments.end; ++s) {
            for (std::size_t i = segments_[s].begin; i < segments_[s].end; ++i) {
                const std::uint32_t row = rows_[i];
                const bool left = goes_left(column[row], split);
                rows_[to] = spare_[n_right] = row;
                to += left;
                n_right += !left;
            }
            bounds_.push_back({to, n_right});
        }
        std::copy(spare_.begin(), spare_.begin() + n_right, rows_.begin() + to);
        std::size_t begin = rows.begin;
        for (std::size_t s = 0; s < bounds_.size(); begin = bounds_[s++].begin)
            add_segment(segments_[node.segments.begin + s].class_code, begin, bounds_[s].begin);
        const std::size_t middle = segments_.size();
        begin = to;
        for (std::size_t s = 0; s < bounds_.size(); begin = to + bounds_[s++].end)
            add_segment(segments_[node.segments.begin + s].class_code, begin, to + bounds_[s].end);
        return middle;
    }

    // The same for the rows left out; returns where those of the right child begin.
    std::size_t divide_left_out(Part part, const RandomSplit& split) {
        const std::uint8_t* column = p_.codes + split.feature * p_.n;
        const auto middle = std::partition(
            left_out_.begin() + part.begin, left_out_.begin() + part.end,
            [&](std::uint32_t row) { return goes_left(column[row], split); });
        return middle - left_out_.begin();
    }

    const ForestProblem& p_;
    const TreeParams& params_;
    CutSearch cuts_;
    FeatureOrder features_;
    std::vector<std::uint8_t> is_kept_;
    std::vector<std::uint32_t> rows_, spare_, left_out_;
    std::vector<std::int64_t> weight_, node_weight_;  // of all rows; of the rows of a node
    std::int64_t unit_weight_ = 0;  // of all rows, unless they are weighted
    bool is_weighted_ = false;
    std::vector<Segment> segments_;  // those of the nodes on the path to the node at hand
    std::vector<Part> bounds_;
    std::vector<std::uint8_t> codes_;  // of the rows of a node
    std::vector<std::int64_t> left_;   // class weights of a left child, by segment
    std::int64_t total_ = 0;
    std::vector<std::int64_t> class_totals_;
    std::int32_t* leaves_;
    SignalCheck signals_;
    GrownTrees out_;
};

}  // namespace

void RowSample::draw(std::uint64_t seed, int fold, std::vector<std::uint8_t>& is_kept) const {
    const std::uint64_t key = root_key(seed);
    for (std::size_t i = 0; i < is_kept.size(); ++i)
        is_kept[i] = folds[i] != fold &&
                     (share >= 1 || uniform(consilience::draw(key, i, sampled_rows)) < share);
}

std::int32_t GrownTrees::leaf(const std::vector<std::int64_t>& totals) {
    const auto held = [](std::int64_t total) { return total > 0; };
    const auto first = std::find_if(totals.begin(), totals.end(), held);
    if (std::count_if(totals.begin(), totals.end(), held) == 1)
        return ~static_cast<std::int32_t>(first - totals.begin());
    std::int64_t sum = 0;
    for (const std::int64_t total : totals) sum += total;
    std::vector<double> shares;
    for (const std::int64_t total : totals)
        shares.push_back(sum ? static_cast<double>(total) / static_cast<double>(sum)
                             : 1.0 / n_classes);
    const auto number = static_cast<std::int32_t>(n_classes + mixed_leaves.size());
    const auto [at, is_new] = mixed_leaves.try_emplace(shares, number);
    if (is_new) mixed.insert(mixed.end(), shares.begin(), shares.end());
    return ~at->second;
}

std::int32_t GrownTrees::add(std::size_t f, double threshold_, bool missing_left_,
                             double left_share_) {
    feature.push_back(static_cast<std::int32_t>(f));
    threshold.push_back(threshold_);
    missing_left.push_back(missing_left_);
    left_share.push_back(static_cast<float>(left_share_));
    left.push_back(0);
    right.push_back(0);
    return static_cast<std::int32_t>(feature.size() - 1 - starts.back());
}

void GrownTrees::set_children(std::int32_t node, std::int32_t left_, std::int32_t right_) {
    left[starts.back() + node] = left_;
    right[starts.back() + node] = right_;
}

void GrownTrees::finish(std::int32_t root) {
    roots.push_back(root);
    starts.push_back(static_cast<std::int64_t>(feature.size()));
}

double to_single(const Edges& edges, std::size_t f, const Cut& cut) {
    const double below = edges.high(f, cut.bin), above = edges.low(f, cut.bin + 1);
    const float infinity = std::numeric_limits<float>::infinity();
    float single = static_cast<float>(cut.threshold);
    if (single < below) single = std::nextafter(single, infinity);
    if (single >= above) single = std::nextafter(single, -infinity);
    return below <= single && single < above ? single : cut.threshold;
}

GrownTrees grow_trees(const ForestProblem& problem, TreeParams params, const std::uint64_t* seeds,
                      std::size_t n_trees, std::int32_t* leaves) {
    ForestGrower grower(problem, params, leaves);
    for (std::size_t t = 0; t < n_trees; ++t) grower.grow(seeds[t], static_cast<int>(t));
    return grower.take();
}

void append_tree(GrownTrees& forest, const Tree& tree, const Edges& edges,
                 std::vector<std::int32_t>& leaf_of_node) {
    std::vector<std::int32_t> child(tree.size());
    leaf_of_node.assign(tree.size(), 0);
    for (std::size_t i = 0; i < tree.size(); ++i) {
        const std::int64_t* totals = tree.total(i);
        if (tree.feature[i] < 0) {
            child[i] = forest.leaf({totals, totals + forest.n_classes});
            leaf_of_node[i] = ~child[i];
            continue;
        }
        const std::size_t f = tree.feature[i];
        const Cut cut = {tree.bin[i], tree.threshold[i]};
        double weight = 0, left_weight = 0;
        for (int k = 0; k < forest.n_classes; ++k) {
            weight += static_cast<double>(totals[k]);
            left_weight += static_cast<double>(tree.total(tree.left[i])[k]);
        }
        child[i] = forest.add(f, to_single(edges, f, cut), tree.missing_left[i],
                              left_weight / weight);
    }
    for (std::size_t i = 0; i < tree.size(); ++i)
        if (tree.feature[i] >= 0)
            forest.set_children(child[i], child[tree.left[i]], child[tree.right[i]]);
    forest.finish(child[0]);
}

}  // namespace consilience
