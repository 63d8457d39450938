// Exact sums of doubles: integers in units of 2^-1074, whatever the order of the additions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace consilience {

class ExactSum {
public:
    ExactSum() : low_(n_exponents, 0), high_(n_exponents, 0) {}

    // value must be finite; at most 2^31 values
    void add(double value) {
        std::uint64_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        std::size_t exponent = (bits >> 52) & 2047;
        // subnormal numbers have the exponent of the least normal ones, and no leading bit
        const std::uint64_t significand =
            (bits & 0xfffffffffffffu) | static_cast<std::uint64_t>(exponent != 0) << 52;
        exponent += exponent == 0;
        const std::int64_t sign = bits >> 63 ? -1 : 1;
        low_[exponent] += sign * static_cast<std::int64_t>(significand & 0xffffffffu);
        high_[exponent] += sign * static_cast<std::int64_t>(significand >> 32);
    }

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
