// What the Python faces of trees on all rows and on blocks of rows share.
#pragma once

#include <nanobind/stl/optional.h>

#include <cmath>
#include <stdexcept>

#include "bindings.hpp"
#include "tree.hpp"

namespace consilience {

using Flags = std::optional<Vector<bool>>;

inline const std::uint8_t* flags(const Flags& rows, std::size_t n, const char* message) {
    if (!rows) return nullptr;
    require(rows->shape(0) == n, message);
    return reinterpret_cast<const std::uint8_t*>(rows->data());
}

// max_depth, min_samples_leaf, min_weight_leaf, max_features, random_splits, seed; exponent and key
// or None, depth
inline TreeParams read_params(const nb::tuple& values, std::size_t d) {
    require(nb::len(values) == 9, "params must have 9 entries");
    TreeParams p;
    p.max_depth = read<int>(values[0], "max_depth");
    p.min_samples_leaf = read<std::int64_t>(values[1], "min_samples_leaf");
    p.min_weight_leaf = read<double>(values[2], "min_weight_leaf");
    p.max_features = read<std::size_t>(values[3], "max_features");
    p.random_splits = read<bool>(values[4], "random_splits");
    p.seed = read<std::uint64_t>(values[5], "seed");
    if (!values[6].is_none()) p.exponent = read<int>(values[6], "exponent");
    if (!values[7].is_none()) p.key = read<std::uint64_t>(values[7], "key");
    p.depth = read<int>(values[8], "depth");
    require(p.max_depth >= 0 && p.min_samples_leaf >= 1 && p.min_weight_leaf >= 0,
            "max_depth, min_samples_leaf or min_weight_leaf out of range");
    require(p.max_features >= 1 || d == 0, "max_features must be at least 1");
    return p;
}

// The arrays of a tree as in Python: value is nodes x classes.
inline nb::tuple tree_to_numpy(Tree tree, const Problem& p) {
    std::vector<double> value;
    for (std::size_t i = 0; i < tree.size(); ++i) {
        if (p.cost) value.push_back(0);
        for (int c = 0; c < p.n_sums; ++c)
            value.push_back(std::ldexp(static_cast<double>(tree.total(i)[c]), -p.exponent));
    }
    const std::size_t n_classes = p.n_classes;
    return nb::make_tuple(to_numpy(std::move(tree.feature)), to_numpy(std::move(tree.threshold)),
                          to_numpy(std::move(tree.left)), to_numpy(std::move(tree.right)),
                          to_numpy(std::move(tree.bin)), to_numpy(std::move(tree.missing_left)),
                          to_numpy(std::move(tree.depth)), to_numpy(std::move(tree.decision)),
                          to_numpy(std::move(tree.gain)), to_numpy(std::move(value), n_classes));
}

// codes and weights, or costs: one of them is given
struct Target {
    std::optional<Vector<std::int32_t>> codes;
    std::optional<Vector<double>> weights;
    std::optional<Matrix<double>> costs;
    Flags rows;
    int n_classes;
};

// Flags of the rows that take part, or null.
inline const std::uint8_t* check_target(const Target& t, std::size_t n) {
    const std::uint8_t* rows = flags(t.rows, n, "rows must have one flag per row");
    require(t.n_classes >= 1, "n_classes must be at least 1");
    if (t.costs)
        require(
            t.costs->shape(0) == n && t.costs->shape(1) == static_cast<std::size_t>(t.n_classes),
            "costs must have one row per row and one column per class");
    else
        require(t.codes && t.weights && t.codes->shape(0) == n && t.weights->shape(0) == n,
                "codes and weights must have one entry per row");
    return rows;
}

inline Problem make_problem(const Target& t, std::size_t n, const TreeParams& params) {
    const std::uint8_t* rows = check_target(t, n);
    if (t.costs) return cost_problem(t.costs->data(), rows, n, t.n_classes, params);
    return weighted_problem(t.codes->data(), t.weights->data(), rows, n, t.n_classes, params);
}

}  // namespace consilience
