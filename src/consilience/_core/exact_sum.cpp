// Exact sums of doubles (see exact_sum.hpp): significands are added up by sign and exponent, and
// carried now and then.
#include "exact_sum.hpp"

#include <algorithm>
#include <limits>

namespace consilience {
namespace {

constexpr std::size_t block_size = 32;  // of kinds: most blocks are zero

void put(std::vector<std::int64_t>& wide, std::int64_t value, std::size_t offset) {
    const std::size_t limb = offset / 32;
    const int shift = static_cast<int>(offset % 32);
    const std::uint64_t low = (static_cast<std::uint64_t>(value) & 0xffffffffu) << shift;
    // the upper half is signed
    const std::int64_t high = (value >> 32) * (std::int64_t{1} << shift);
    wide[limb] += static_cast<std::int64_t>(low & 0xffffffffu);
    wide[limb + 1] += static_cast<std::int64_t>(low >> 32) + (high & 0xffffffff);
    wide[limb + 2] += high >> 32;
}

void put_all(std::vector<std::int64_t>& wide, const std::vector<std::uint64_t>& pending) {
    for (std::size_t start = 0; start < pending.size(); start += block_size) {
        std::uint64_t any = 0;
        for (std::size_t j = 0; j < block_size; ++j) any |= pending[start + j];
        if (!any) continue;
        for (std::size_t kind = start; kind < start + block_size; ++kind) {
            if (!pending[kind]) continue;
            const std::int64_t sign = kind >> 11 ? -1 : 1;
            // subnormal numbers have the exponent of the least normal ones
            const std::size_t offset = std::max<std::size_t>(kind & 2047, 1) - 1;
            put(wide, sign * static_cast<std::int64_t>(pending[kind] & 0xffffffffu), offset);
            put(wide, sign * static_cast<std::int64_t>(pending[kind] >> 32), offset + 32);
        }
    }
}

}  // namespace

void ExactSum::carry() {
    put_all(wide_, pending_);
    std::fill(pending_.begin(), pending_.end(), 0);
    n_pending_ = 0;
}

std::vector<std::uint32_t> ExactSum::limbs() const {
    std::vector<std::int64_t> wide = wide_;
    put_all(wide, pending_);
    std::vector<std::uint32_t> out(n_limbs);
    std::int64_t carried = 0;
    for (std::size_t k = 0; k < n_limbs; ++k) {
        const std::int64_t sum = wide[k] + carried;
        out[k] = static_cast<std::uint32_t>(sum & 0xffffffff);
        carried = sum >> 32;
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
