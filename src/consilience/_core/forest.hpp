// Forests of classification trees: grown on columns of bins, several trees in one call, and walked
// by many rows at once.
//
// A forest keeps inner nodes only. A child that is >= 0 is an inner node of the same tree, counted
// from its first one; a child < 0 is leaf ~child, a row of a table of class shares. Leaves are pure
// as a rule, so the table begins with one leaf per class; mixed leaves follow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "binning.hpp"
#include "tree.hpp"

namespace consilience {

// Trees of a forest, in the order in which they were grown.
struct GrownTrees {
    int n_classes = 0;
    std::vector<std::int32_t> feature, left, right;
    std::vector<double> threshold;           // in single precision if that separates the same bins
    std::vector<float> left_share;           // of the training weight of a node
    std::vector<std::uint8_t> missing_left;  // where NaN go
    std::vector<std::int64_t> starts{0};     // the first inner node of each tree, and their number
    std::vector<std::int32_t> roots;         // 0, or < 0 for a tree that is a leaf
    std::vector<double> mixed;               // class shares of the mixed leaves, one row each
    std::map<std::vector<double>, std::int32_t> mixed_leaves;

    // The leaf with these class weights, such as ~2 for a node of class 2 alone.
    std::int32_t leaf(const std::vector<std::int64_t>& totals);
    // Appends an inner node of the tree at hand, whose children are set later; returns its number.
    std::int32_t add(std::size_t f, double threshold, bool missing_left, double left_share);
    void set_children(std::int32_t node, std::int32_t left, std::int32_t right);
    // Ends the tree at hand.
    void finish(std::int32_t root);
};

// The threshold of a cut in single precision, if there is such a number between the same bins.
double to_single(const Edges& edges, std::size_t feature, const Cut& cut);

// Which rows a tree is grown on: those outside its fold, each with probability `share`.
struct RowSample {
    const std::int32_t* folds;  // n, in
    double share;

    // is_kept (n, out)
    void draw(std::uint64_t seed, int fold, std::vector<std::uint8_t>& is_kept) const;
};

// What a forest is grown for: codes (d x n bins), edges of the d features, classes y and weights
// (n), all in.
struct ForestProblem {
    const std::uint8_t* codes;
    std::size_t n, d;
    Edges edges;
    const std::int32_t* y;
    const double* weight;
    RowSample sample;
    int n_classes;
};

// Trees with random splits, tree t on the rows outside fold t. leaves (n, out) is the leaf that the
// rows of the fold reach; rows whose fold has no tree are not written.
GrownTrees grow_trees(const ForestProblem& problem, TreeParams params, const std::uint64_t* seeds,
                      std::size_t n_trees, std::int32_t* leaves);

// A tree that was grown on sparse columns, appended to a forest; leaf_of_node (out) says which leaf
// of the forest each of its leaves became.
void append_tree(GrownTrees& forest, const Tree& tree, const Edges& edges,
                 std::vector<std::int32_t>& leaf_of_node);

// The arrays of a forest, in; `narrow` ones are read where `wide` ones are null.
template <typename Narrow, typename Wide>
struct Either {
    const Narrow* narrow = nullptr;
    const Wide* wide = nullptr;
    Wide operator[](std::size_t i) const { return wide ? wide[i] : static_cast<Wide>(narrow[i]); }
};

struct ForestView {
    Either<std::uint16_t, std::int32_t> feature;
    Either<float, double> threshold;
    Either<std::int16_t, std::int32_t> left, right;
    const std::uint8_t* missing_left;
    const float* left_share;
    const std::int64_t* starts;
    const std::int32_t* roots;
    std::size_t n_trees;
    const float* shares;  // n_leaves x n_classes
    std::size_t n_leaves;
    int n_classes;
};

// Which views the rows have: present (n x n_views flags) and the view of each column, in.
struct RowViews {
    const std::uint8_t* present;
    const std::int32_t* view_of_column;
    std::size_t n_views;
    // a path lighter than this takes the class shares of the node where it meets an absent column
    double min_path_weight;
};

// A CSR matrix: data, indices, indptr (n + 1), all in.
struct SparseRows {
    const double* data;
    const std::int32_t* indices;
    const std::int64_t* indptr;
    std::size_t n, d;
};

// votes (n x n_classes, in/out) plus the class shares of the leaves that the rows reach, summed
// over the trees. Where `views` is not null, rows descend to both children of a node that splits
// on a column they lack, in proportion to the training weight.
void add_votes(const ForestView& forest, Columns<float> x, const RowViews* views, double* votes);
void add_votes(const ForestView& forest, Columns<double> x, const RowViews* views, double* votes);
void add_votes(const ForestView& forest, SparseRows x, const RowViews* views, double* votes);

}  // namespace consilience
