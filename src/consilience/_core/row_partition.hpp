// The rows of a node side by side, by group; a split divides them in place.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "edges.hpp"

namespace consilience {

using Segments = std::vector<std::size_t>;  // groups + 1 offsets into the rows

// Which codes of a feature go left.
struct CodeRule {
    int bin;
    bool missing_left;

    bool goes_left(int code) const { return code == missing_bin ? missing_left : code <= bin; }
};

// Rows (in/out) of the left child first, the order within each group kept; spare (out) has room
// for the rows of the node and one more. codes: of the feature, 8 apart (in).
inline std::array<Segments, 2> divide_rows(const std::uint8_t* codes, const CodeRule& rule,
                                           const Segments& node, std::uint32_t* rows,
                                           std::uint32_t* spare) {
    std::array<Segments, 2> children;
    std::size_t left = node.front(), n_right = 0;
    children[0].push_back(left);
    children[1].push_back(0);
    for (std::size_t g = 0; g + 1 < node.size(); ++g) {
        for (std::size_t i = node[g]; i < node[g + 1]; ++i) {
            const std::uint32_t row = rows[i];
            const bool goes_left = rule.goes_left(codes[static_cast<std::size_t>(row) * lanes]);
            rows[left] = spare[n_right] = row;
            left += goes_left;
            n_right += !goes_left;
        }
        children[0].push_back(left);
        children[1].push_back(n_right);
    }
    std::copy(spare, spare + n_right, rows + left);
    for (std::size_t& offset : children[1]) offset += left;
    return children;
}

}  // namespace consilience
