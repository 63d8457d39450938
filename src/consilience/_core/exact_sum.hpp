// Exact sums of doubles: integers in units of 2^-1074, whatever the order of the additions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace consilience {

class ExactSum {
public:
    ExactSum() : pending_(n_kinds, 0), wide_(n_limbs + 4, 0) {}

    // value must be finite; at most 2^31 values
    void add(double value) { add_to(reserve(1), value); }

    // so many significands, of 53 bits, fit into 64 bits
    static constexpr std::size_t max_reserved = 2048;

    // For loops: where to add the next n values, at most max_reserved, by add_to.
    std::uint64_t* reserve(std::size_t n) {
        if (n_pending_ + n > max_reserved) carry();
        n_pending_ += n;
        return pending_.data();
    }
    static void add_to(std::uint64_t* reserved, double value) {
        std::uint64_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        const std::size_t kind = bits >> 52;
        // subnormal numbers have no leading bit
        const std::uint64_t leading = (kind & 2047) != 0;
        reserved[kind] += (bits & 0xfffffffffffffu) | leading << 52;
    }

    // Two's complement, 32 bits each, the lowest first.
    static constexpr std::size_t n_limbs = 70;
    std::vector<std::uint32_t> limbs() const;

    // floor(log2(sum)) + 1 of a positive sum; the lowest int if it is not positive.
    int exponent() const;

private:
    static constexpr std::size_t n_kinds = 4096;

    void carry();

    std::size_t n_pending_ = 0;
    std::vector<std::uint64_t> pending_;  // sums of significands, by sign and exponent
    std::vector<std::int64_t> wide_;      // sums of what was carried, in units of 2^(32 k - 1074)
};

// sums (n_groups, in/out); groups (n, in) or null for one group; negative groups are left out
void add_exactly(const double* values, const std::int32_t* groups, std::size_t n,
                 std::vector<ExactSum>& sums);

}  // namespace consilience
