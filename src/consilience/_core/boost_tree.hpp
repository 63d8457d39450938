// One boosted tree: the leaf with the largest gain is split next.
//
// given    gradients g and hessians h of the rows, as integers in units that are powers of two
// gain     of a split of a node with sums G, H into G1, H1 and G2, H2:
//          G1^2 / (H1 + l2) + G2^2 / (H2 + l2) - G^2 / (H + l2), where H1, H2 >= min_hessian
// leaf     -learning_rate G / (H + l2)
//
// A gradient and a hessian share 64 bits, g in the upper half, so that one addition sums both. The
// sums are exact: their order is free, and a node minus one child is the other child. Ties go to
// the feature with the lowest number, its lowest threshold, and missing values on the right.
// Where no missing value reaches a split in training, later ones go both ways, in proportion to
// the hessians.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "boost.hpp"
#include "signals.hpp"

namespace consilience {

// Units of the integers.
struct GradientUnits {
    double gradient, hessian;
};

inline std::int64_t pack_pair(std::int64_t gradient, std::int64_t hessian) {
    return gradient * (std::int64_t{1} << 32) + hessian;
}
inline double unpack_gradient(std::int64_t pair) {
    return static_cast<double>(pair >> 32);
}
inline double unpack_hessian(std::int64_t pair) {
    return static_cast<double>(pair & 0xffffffff);
}

struct SplitScan {
    double score[lanes], bin[lanes], missing_left[lanes];
};

// hist (bins x 8, in/out) += pairs[row] in the bins of the rows; block: n x 8 codes, in
void add_pairs(const std::uint8_t* block, const std::uint32_t* rows, std::size_t n_rows,
               const std::int64_t* pairs, std::int64_t* hist);
void subtract_pairs(std::int64_t* hist, const std::int64_t* other, std::size_t size);
// The best split of each of eight features; hist: (n_bins + 1) x 8, the last for missing values
void scan_pairs(const std::int64_t* hist, int n_bins, std::int64_t total, GradientUnits units,
                const BoostParams& params, SplitScan& best);

class BoostGrower {
public:
    BoostGrower(const PackedColumns& columns, const Edges& edges, const BoostParams& params);

    // Appends a tree to `trees` and adds it to the scores (n, in/out) of both lists of rows.
    // rows: those to grow on; others: those that only follow; both are reordered
    // pairs: gradients and hessians by row, in; blocks: those drawn for this tree, in
    void grow(std::vector<std::uint32_t>& rows, std::vector<std::uint32_t>& others,
              const std::int64_t* pairs, GradientUnits units, const std::vector<std::size_t>& blocks,
              BoostedTrees& trees, double* scores);

private:
    using Range = std::pair<std::size_t, std::size_t>;
    struct Split {
        double gain = 0;
        std::size_t block = 0;  // in the list of those drawn
        int lane = 0, bin = 0;
        float missing_left = 0;
        std::int64_t left_total = 0;
    };
    struct Node {
        std::int64_t total;
        Range rows, others;
        int depth;
        std::int32_t left = -1;
        std::ptrdiff_t hist = -1;  // number of its buffer
        Split split;
        float value = 0;
    };

    bool splittable(const Node& node) const;
    std::int64_t* histogram(const Node& node) { return buffers_[node.hist].data(); }
    void take_buffer(Node& node);
    void release_buffer(Node& node);
    void fill_histogram(Node& node);
    void search(Node& node);
    void consider(Node& node, std::size_t block, const SplitScan& scan);
    std::int32_t best_leaf() const;
    void split_leaf(std::int32_t at, bool is_last);
    void search_children(Node& parent, Node& left, Node& right);
    std::size_t part(std::vector<std::uint32_t>& rows, Range range, const Split& split);
    void divert(std::int32_t id);
    double expected(std::int32_t id, std::uint32_t row) const;
    void append(BoostedTrees& trees) const;
    void add_values(const std::vector<std::uint32_t>& rows, bool others, double* scores) const;

    const PackedColumns& columns_;
    const Edges& edges_;
    const BoostParams& params_;
    SignalCheck signals_;

    // the tree at hand
    std::vector<std::uint32_t>*rows_ = nullptr, *others_ = nullptr;
    const std::int64_t* pairs_ = nullptr;
    GradientUnits units_{};
    std::vector<std::size_t> blocks_, offsets_;  // of the blocks in a histogram
    std::vector<Node> nodes_;
    std::vector<std::pair<std::uint32_t, std::int32_t>> both_ways_;  // row, node

    std::vector<std::vector<std::int64_t>> buffers_;
    std::vector<std::ptrdiff_t> free_;
    std::vector<std::uint32_t> spare_;
};

}  // namespace consilience
