// Eight numbers side by side, in the vector registers of whatever CPU runs.
//
// GCC and Clang keep them as two vectors of four, what AVX2 has registers for. A vector of eight
// would be held in memory there, and GCC takes comparisons of vectors that are too wide apart, lane
// by lane. Compilers without vector types get plain loops. Every operation is done lane by lane, so
// results do not differ.
#pragma once

#include <cstdint>
#include <cstring>

#include "dispatch.hpp"
#include "edges.hpp"

namespace consilience {

#if defined(__GNUC__)

// Vectors of four, one after the other.
template <typename T>
struct Halves {
    typedef T Quad __attribute__((vector_size(lanes / 2 * sizeof(T))));
    Quad low, high;

    T operator[](int j) const { return j < lanes / 2 ? low[j] : high[j - lanes / 2]; }
    void set(int j, T value) {
        if (j < lanes / 2)
            low[j] = value;
        else
            high[j - lanes / 2] = value;
    }
};
// Quad by quad: GCC copies a struct in pieces, which a vector load would wait for.
template <typename T>
CONSILIENCE_INLINE Halves<T> load_lanes(const T* values) {
    Halves<T> out;
    std::memcpy(&out.low, values, sizeof out.low);
    std::memcpy(&out.high, values + lanes / 2, sizeof out.high);
    return out;
}
template <typename T>
CONSILIENCE_INLINE void store(Halves<T> values, T* out) {
    std::memcpy(out, &values.low, sizeof values.low);
    std::memcpy(out + lanes / 2, &values.high, sizeof values.high);
}

using Lanes = Halves<double>;
using IntLanes = Halves<std::int64_t>;

CONSILIENCE_INLINE Lanes all_lanes(double value) {
    return {Lanes::Quad{} + value, Lanes::Quad{} + value};
}
CONSILIENCE_INLINE Lanes operator+(Lanes a, Lanes b) {
    return {a.low + b.low, a.high + b.high};
}
CONSILIENCE_INLINE Lanes operator-(Lanes a, Lanes b) {
    return {a.low - b.low, a.high - b.high};
}
CONSILIENCE_INLINE Lanes operator*(Lanes a, Lanes b) {
    return {a.low * b.low, a.high * b.high};
}
CONSILIENCE_INLINE Lanes operator/(Lanes a, Lanes b) {
    return {a.low / b.low, a.high / b.high};
}
CONSILIENCE_INLINE Lanes operator-(Lanes a) {
    return {-a.low, -a.high};
}
CONSILIENCE_INLINE Lanes& operator+=(Lanes& a, Lanes b) {
    return a = a + b;
}
CONSILIENCE_INLINE IntLanes operator+(IntLanes a, IntLanes b) {
    return {a.low + b.low, a.high + b.high};
}
CONSILIENCE_INLINE IntLanes operator+(IntLanes a, std::int64_t b) {
    return {a.low + b, a.high + b};
}
// Comparison and choice in one expression: GCC takes masks on their own apart, lane by lane.
CONSILIENCE_INLINE Lanes if_not_less(Lanes a, Lanes b, Lanes yes, Lanes no) {
    return {a.low >= b.low ? yes.low : no.low, a.high >= b.high ? yes.high : no.high};
}
CONSILIENCE_INLINE Lanes if_less(Lanes a, Lanes b, Lanes yes, Lanes no) {
    return {a.low < b.low ? yes.low : no.low, a.high < b.high ? yes.high : no.high};
}
CONSILIENCE_INLINE Lanes as_doubles(IntLanes bits) {
    return {reinterpret_cast<Lanes::Quad>(bits.low), reinterpret_cast<Lanes::Quad>(bits.high)};
}

// The even and the odd places of sixteen numbers.
CONSILIENCE_INLINE void part(IntLanes a, IntLanes b, IntLanes& even, IntLanes& odd) {
#if defined(__clang__)
    even = {__builtin_shufflevector(a.low, a.high, 0, 2, 4, 6),
            __builtin_shufflevector(b.low, b.high, 0, 2, 4, 6)};
    odd = {__builtin_shufflevector(a.low, a.high, 1, 3, 5, 7),
           __builtin_shufflevector(b.low, b.high, 1, 3, 5, 7)};
#else
    const IntLanes::Quad evens = {0, 2, 4, 6}, odds = {1, 3, 5, 7};
    even = {__builtin_shuffle(a.low, a.high, evens), __builtin_shuffle(b.low, b.high, evens)};
    odd = {__builtin_shuffle(a.low, a.high, odds), __builtin_shuffle(b.low, b.high, odds)};
#endif
}

#else

template <typename T>
struct Eight {
    T at[lanes];
    T operator[](int j) const { return at[j]; }
    void set(int j, T value) { at[j] = value; }
};
template <typename T>
inline Eight<T> load_lanes(const T* values) {
    Eight<T> out;
    std::memcpy(&out, values, sizeof out);
    return out;
}
template <typename T>
inline void store(Eight<T> values, T* out) {
    std::memcpy(out, &values, sizeof values);
}
using Lanes = Eight<double>;
using IntLanes = Eight<std::int64_t>;

template <typename R, typename T, typename F>
inline R each_lane(const T& a, const T& b, F f) {
    R out;
    for (int j = 0; j < lanes; ++j) out.at[j] = f(a.at[j], b.at[j]);
    return out;
}
inline Lanes all_lanes(double value) {
    Lanes out;
    for (int j = 0; j < lanes; ++j) out.at[j] = value;
    return out;
}
inline Lanes operator+(Lanes a, Lanes b) {
    return each_lane<Lanes>(a, b, [](double x, double y) { return x + y; });
}
inline Lanes operator-(Lanes a, Lanes b) {
    return each_lane<Lanes>(a, b, [](double x, double y) { return x - y; });
}
inline Lanes operator*(Lanes a, Lanes b) {
    return each_lane<Lanes>(a, b, [](double x, double y) { return x * y; });
}
inline Lanes operator/(Lanes a, Lanes b) {
    return each_lane<Lanes>(a, b, [](double x, double y) { return x / y; });
}
inline Lanes operator-(Lanes a) {
    return all_lanes(-0.0) - a;
}
inline Lanes& operator+=(Lanes& a, Lanes b) {
    return a = a + b;
}
inline IntLanes operator+(IntLanes a, IntLanes b) {
    for (int j = 0; j < lanes; ++j) a.at[j] += b.at[j];
    return a;
}
inline IntLanes operator+(IntLanes a, std::int64_t b) {
    for (int j = 0; j < lanes; ++j) a.at[j] += b;
    return a;
}
inline Lanes if_not_less(Lanes a, Lanes b, Lanes yes, Lanes no) {
    for (int j = 0; j < lanes; ++j) no.at[j] = a.at[j] >= b.at[j] ? yes.at[j] : no.at[j];
    return no;
}
inline Lanes if_less(Lanes a, Lanes b, Lanes yes, Lanes no) {
    for (int j = 0; j < lanes; ++j) no.at[j] = a.at[j] < b.at[j] ? yes.at[j] : no.at[j];
    return no;
}
inline Lanes as_doubles(IntLanes bits) {
    Lanes out;
    std::memcpy(&out, &bits, sizeof out);
    return out;
}
inline void part(IntLanes a, IntLanes b, IntLanes& even, IntLanes& odd) {
    for (int j = 0; j < lanes; ++j) {
        even.at[j] = j < lanes / 2 ? a.at[2 * j] : b.at[2 * j - lanes];
        odd.at[j] = j < lanes / 2 ? a.at[2 * j + 1] : b.at[2 * j + 1 - lanes];
    }
}

#endif

// Integers below 2^51 as doubles, exactly: the low bits of 1.5 * 2^52 + value. A cast would do
// the same, but many CPUs have no vector instruction for it.
CONSILIENCE_INLINE Lanes to_doubles(IntLanes values) {
    return as_doubles(values + std::int64_t{0x4338000000000000}) - all_lanes(0x1.8p52);
}

CONSILIENCE_INLINE Lanes load(const std::int64_t* values) {
    return to_doubles(load_lanes(values));
}

CONSILIENCE_INLINE Lanes larger(Lanes a, Lanes b) {
    return if_not_less(a, b, a, b);
}
CONSILIENCE_INLINE Lanes smaller(Lanes a, Lanes b) {
    return if_not_less(a, b, b, a);
}
// The same in one instruction, but `bound` where `a` is NaN.
CONSILIENCE_INLINE Lanes at_least(Lanes bound, Lanes a) {
    return if_less(bound, a, a, bound);
}
CONSILIENCE_INLINE Lanes at_most(Lanes bound, Lanes a) {
    return if_less(a, bound, a, bound);
}

}  // namespace consilience
