// The arrays of a tree as Python has them. They are checked: they may come from a file.
#pragma once

#include <algorithm>

#include "bindings.hpp"
#include "predict.hpp"

namespace consilience {

// feature, threshold, left, right, bin, missing_left of a tree
struct TreeArrays {
    Vector<std::int32_t> feature;
    Vector<double> threshold;
    Vector<std::int32_t> left, right;
    Vector<std::uint8_t> bin, missing_left;
    std::size_t n_features = 0;  // at least so many

    static nb::object item(const nb::tuple& t, std::size_t i) {
        require(nb::len(t) == 6, "a tree has 6 arrays");
        return t[i];
    }

    explicit TreeArrays(const nb::tuple& t)
        : feature(read<Vector<std::int32_t>>(item(t, 0), "feature of a tree")),
          threshold(read<Vector<double>>(item(t, 1), "threshold of a tree")),
          left(read<Vector<std::int32_t>>(item(t, 2), "left of a tree")),
          right(read<Vector<std::int32_t>>(item(t, 3), "right of a tree")),
          bin(read<Vector<std::uint8_t>>(item(t, 4), "bin of a tree")),
          missing_left(read<Vector<std::uint8_t>>(item(t, 5), "missing_left of a tree")) {
        const std::size_t size = feature.shape(0);
        require(size > 0 && threshold.shape(0) == size && left.shape(0) == size &&
                    right.shape(0) == size && bin.shape(0) == size && missing_left.shape(0) == size,
                "the arrays of a tree must have the same length");
        // children follow their parents, so no walk can leave the arrays or go in circles
        const auto n_nodes = static_cast<std::int32_t>(size);
        for (std::int32_t i = 0; i < n_nodes; ++i) {
            if (feature.data()[i] < 0) continue;
            const std::int32_t l = left.data()[i], r = right.data()[i];
            require(l > i && l < n_nodes && r > i && r < n_nodes, "not a tree");
            n_features = std::max(n_features, static_cast<std::size_t>(feature.data()[i]) + 1);
        }
    }
    std::size_t size() const { return feature.shape(0); }
    void require_features(std::size_t d) const {
        require(d >= n_features, "the data have fewer features than the tree was grown on");
    }
    TreeView view() const {
        return {feature.data(),   left.data(), right.data(),
                threshold.data(), bin.data(),  missing_left.data()};
    }
};

}  // namespace consilience
