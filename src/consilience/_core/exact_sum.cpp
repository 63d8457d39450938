// Exact sums of doubles (see exact_sum.hpp): significands are added up by exponent, and carried
// only at the end.
#include "exact_sum.hpp"

#include <limits>

namespace consilience {

std::vector<std::uint32_t> ExactSum::limbs() const {
    std::vector<std::int64_t> wide(n_limbs + 4, 0);
    const auto put = [&wide](std::int64_t value, std::size_t offset) {
        const std::size_t limb = offset / 32;
        const int shift = static_cast<int>(offset % 32);
        const std::uint64_t low = (static_cast<std::uint64_t>(value) & 0xffffffffu) << shift;
        // the upper half is signed
        const std::int64_t high = (value >> 32) * (std::int64_t{1} << shift);
        wide[limb] += static_cast<std::int64_t>(low & 0xffffffffu);
        wide[limb + 1] += static_cast<std::int64_t>(low >> 32) + (high & 0xffffffff);
        wide[limb + 2] += high >> 32;
    };
    for (std::size_t e = 1; e < n_exponents; ++e) {
        if (low_[e]) put(low_[e], e - 1);
        if (high_[e]) put(high_[e], e - 1 + 32);
    }
    std::vector<std::uint32_t> out(n_limbs);
    std::int64_t carry = 0;
    for (std::size_t k = 0; k < n_limbs; ++k) {
        const std::int64_t sum = wide[k] + carry;
        out[k] = static_cast<std::uint32_t>(sum & 0xffffffff);
        carry = sum >> 32;
    }
    return out;
}

int ExactSum::exponent() const {
    const std::vector<std::uint32_t> sum = limbs();
    constexpr int none = std::numeric_limits<int>::min();
    if (sum.back() >> 31) return none;
    for (std::size_t k = n_limbs; k-- > 0;)
        for (int bit = 32; sum[k] && bit-- > 0;)
            if (sum[k] >> bit & 1) return static_cast<int>(32 * k) + bit + 1 - 1074;
    return none;
}

void add_exactly(const double* values, const std::int32_t* groups, std::size_t n,
                 std::vector<ExactSum>& sums) {
    for (std::size_t i = 0; i < n; ++i) {
        const std::int32_t group = groups ? groups[i] : 0;
        if (group >= 0) sums[group].add(values[i]);
    }
}

}  // namespace consilience
