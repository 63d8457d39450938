// Exact sums of doubles: integers in units of 2^-1074, whatever the order of the additions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace consilience {

class ExactSum {
public:
    ExactSum() : low_(n_exponents, 0), high_(n_exponents, 0) {}

    // value must be finite; at most 2^31 values
    void add(double value);

    // Two's complement, 32 bits each, the lowest first.
    static constexpr std::size_t n_limbs = 70;
    std::vector<std::uint32_t> limbs() const;

    // floor(log2(sum)) + 1 of a positive sum; the lowest int if it is not positive.
    int exponent() const;

private:
    static constexpr std::size_t n_exponents = 2048;
    // by exponent: sums of the lower 32 and of the upper 21 bits of the significands
    std::vector<std::int64_t> low_, high_;
};

// sums (n_groups, in/out); groups (n, in) or null for one group; negative groups are left out
void add_exactly(const double* values, const std::int32_t* groups, std::size_t n,
                 std::vector<ExactSum>& sums);

}  // namespace consilience
