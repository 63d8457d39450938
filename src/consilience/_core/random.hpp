// Counter-based random numbers: a draw depends on its key alone, never on the order of the draws,
// so trees do not change with threads, evaluation order or the depth at which growth stops.
#pragma once

#include <cstdint>

namespace consilience {

// The finaliser of splitmix64 (Steele, Lea and Flood, 2014).
inline std::uint64_t mix(std::uint64_t z) {
    z += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

// The key of a node is a hash of its path from the root.
inline std::uint64_t root_key(std::uint64_t seed) {
    return mix(seed);
}
inline std::uint64_t child_key(std::uint64_t key, bool right) {
    return mix(key + (right ? 2 : 1));
}

// One draw per node and number; `stream` keeps thresholds (by feature) apart from the choice of
// features (by place in the order).
inline std::uint64_t draw(std::uint64_t key, std::uint64_t number, std::uint64_t stream) {
    return mix(key ^ mix(number + (stream << 32)));
}

// Uniform on 0 … n - 1 (n < 2^32), as far as 32 bits can be.
inline std::uint32_t below(std::uint64_t bits, std::uint64_t n) {
    return static_cast<std::uint32_t>(((bits >> 32) * n) >> 32);
}

// Uniform on [0, 1) in steps of 2^-53.
inline double uniform(std::uint64_t bits) {
    return static_cast<double>(bits >> 11) * 0x1p-53;
}

}  // namespace consilience
