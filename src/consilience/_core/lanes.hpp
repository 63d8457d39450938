// Numbers side by side, in the vector registers of whatever CPU runs: eight doubles or integers of
// 64 bits, or sixteen floats.
//
// GCC and Clang keep them as two vectors of 256 bits, what AVX2 has registers for. Wider ones would
// be held in memory there, and GCC takes comparisons of vectors that are too wide apart, lane by
// lane. Compilers without vector types get plain loops. Every operation is done lane by lane, so
// results do not differ.
#pragma once

#include <cstdint>
#include <cstring>

#include "dispatch.hpp"
#include "edges.hpp"

namespace consilience {

// how many numbers of a type lie side by side
template <typename T>
constexpr int lanes_of = static_cast<int>(lanes * sizeof(double) / sizeof(T));

#if defined(__GNUC__)

// Vectors of half as many, one after the other.
template <typename T>
struct Halves {
    static constexpr int half = lanes_of<T> / 2;
    typedef T Half __attribute__((vector_size(half * sizeof(T))));
    Half low, high;

    T operator[](int j) const { return j < half ? low[j] : high[j - half]; }
    void set(int j, T value) {
        if (j < half)
            low[j] = value;
        else
            high[j - half] = value;
    }
};
template <typename T>
using LanesOf = Halves<T>;

// Half by half: GCC copies a struct in pieces, which a vector load would wait for.
template <typename T>
CONSILIENCE_INLINE Halves<T> load_lanes(const T* values) {
    Halves<T> out;
    std::memcpy(&out.low, values, sizeof out.low);
    std::memcpy(&out.high, values + Halves<T>::half, sizeof out.high);
    return out;
}
template <typename T>
CONSILIENCE_INLINE void store(Halves<T> values, T* out) {
    std::memcpy(out, &values.low, sizeof values.low);
    std::memcpy(out + Halves<T>::half, &values.high, sizeof values.high);
}

using Lanes = Halves<double>;
using IntLanes = Halves<std::int64_t>;

template <typename T>
CONSILIENCE_INLINE Halves<T> everywhere(T value) {
    return {typename Halves<T>::Half{} + value, typename Halves<T>::Half{} + value};
}
template <typename T>
CONSILIENCE_INLINE Halves<T> operator+(Halves<T> a, Halves<T> b) {
    return {a.low + b.low, a.high + b.high};
}
template <typename T>
CONSILIENCE_INLINE Halves<T> operator-(Halves<T> a, Halves<T> b) {
    return {a.low - b.low, a.high - b.high};
}
template <typename T>
CONSILIENCE_INLINE Halves<T> operator*(Halves<T> a, Halves<T> b) {
    return {a.low * b.low, a.high * b.high};
}
template <typename T>
CONSILIENCE_INLINE Halves<T> operator/(Halves<T> a, Halves<T> b) {
    return {a.low / b.low, a.high / b.high};
}
template <typename T>
CONSILIENCE_INLINE Halves<T> operator-(Halves<T> a) {
    return {-a.low, -a.high};
}
CONSILIENCE_INLINE Lanes& operator+=(Lanes& a, Lanes b) {
    return a = a + b;
}
CONSILIENCE_INLINE IntLanes operator+(IntLanes a, std::int64_t b) {
    return {a.low + b, a.high + b};
}
// Comparison and choice in one expression: GCC takes masks on their own apart, lane by lane.
template <typename T>
CONSILIENCE_INLINE Halves<T> if_not_less(Halves<T> a, Halves<T> b, Halves<T> yes, Halves<T> no) {
    return {a.low >= b.low ? yes.low : no.low, a.high >= b.high ? yes.high : no.high};
}
template <typename T>
CONSILIENCE_INLINE Halves<T> if_less(Halves<T> a, Halves<T> b, Halves<T> yes, Halves<T> no) {
    return {a.low < b.low ? yes.low : no.low, a.high < b.high ? yes.high : no.high};
}
CONSILIENCE_INLINE Lanes as_doubles(IntLanes bits) {
    return {reinterpret_cast<Lanes::Half>(bits.low), reinterpret_cast<Lanes::Half>(bits.high)};
}

// The even and the odd places of sixteen numbers.
CONSILIENCE_INLINE void part(IntLanes a, IntLanes b, IntLanes& even, IntLanes& odd) {
#if defined(__clang__)
    even = {__builtin_shufflevector(a.low, a.high, 0, 2, 4, 6),
            __builtin_shufflevector(b.low, b.high, 0, 2, 4, 6)};
    odd = {__builtin_shufflevector(a.low, a.high, 1, 3, 5, 7),
           __builtin_shufflevector(b.low, b.high, 1, 3, 5, 7)};
#else
    const IntLanes::Half evens = {0, 2, 4, 6}, odds = {1, 3, 5, 7};
    even = {__builtin_shuffle(a.low, a.high, evens), __builtin_shuffle(b.low, b.high, evens)};
    odd = {__builtin_shuffle(a.low, a.high, odds), __builtin_shuffle(b.low, b.high, odds)};
#endif
}

#else

template <typename T>
struct Numbers {
    T at[lanes_of<T>];
    T operator[](int j) const { return at[j]; }
    void set(int j, T value) { at[j] = value; }
};
template <typename T>
using LanesOf = Numbers<T>;

template <typename T>
inline Numbers<T> load_lanes(const T* values) {
    Numbers<T> out;
    std::memcpy(&out, values, sizeof out);
    return out;
}
template <typename T>
inline void store(Numbers<T> values, T* out) {
    std::memcpy(out, &values, sizeof values);
}
using Lanes = Numbers<double>;
using IntLanes = Numbers<std::int64_t>;

template <typename T, typename F>
inline Numbers<T> each_lane(const Numbers<T>& a, const Numbers<T>& b, F f) {
    Numbers<T> out;
    for (int j = 0; j < lanes_of<T>; ++j) out.at[j] = f(a.at[j], b.at[j]);
    return out;
}
template <typename T>
inline Numbers<T> everywhere(T value) {
    Numbers<T> out;
    for (T& one : out.at) one = value;
    return out;
}
template <typename T>
inline Numbers<T> operator+(Numbers<T> a, Numbers<T> b) {
    return each_lane(a, b, [](T x, T y) { return x + y; });
}
template <typename T>
inline Numbers<T> operator-(Numbers<T> a, Numbers<T> b) {
    return each_lane(a, b, [](T x, T y) { return x - y; });
}
template <typename T>
inline Numbers<T> operator*(Numbers<T> a, Numbers<T> b) {
    return each_lane(a, b, [](T x, T y) { return x * y; });
}
template <typename T>
inline Numbers<T> operator/(Numbers<T> a, Numbers<T> b) {
    return each_lane(a, b, [](T x, T y) { return x / y; });
}
template <typename T>
inline Numbers<T> operator-(Numbers<T> a) {
    return everywhere(T(-0.0)) - a;
}
inline Lanes& operator+=(Lanes& a, Lanes b) {
    return a = a + b;
}
inline IntLanes operator+(IntLanes a, std::int64_t b) {
    for (int j = 0; j < lanes; ++j) a.at[j] += b;
    return a;
}
template <typename T>
inline Numbers<T> if_not_less(Numbers<T> a, Numbers<T> b, Numbers<T> yes, Numbers<T> no) {
    for (int j = 0; j < lanes_of<T>; ++j) no.at[j] = a.at[j] >= b.at[j] ? yes.at[j] : no.at[j];
    return no;
}
template <typename T>
inline Numbers<T> if_less(Numbers<T> a, Numbers<T> b, Numbers<T> yes, Numbers<T> no) {
    for (int j = 0; j < lanes_of<T>; ++j) no.at[j] = a.at[j] < b.at[j] ? yes.at[j] : no.at[j];
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

CONSILIENCE_INLINE Lanes all_lanes(double value) {
    return everywhere(value);
}

// Integers below 2^51 as doubles, exactly: the low bits of 1.5 * 2^52 + value. A cast would do
// the same, but many CPUs have no vector instruction for it.
CONSILIENCE_INLINE Lanes to_doubles(IntLanes values) {
    return as_doubles(values + std::int64_t{0x4338000000000000}) - all_lanes(0x1.8p52);
}

CONSILIENCE_INLINE Lanes load(const std::int64_t* values) {
    return to_doubles(load_lanes(values));
}

template <typename T>
CONSILIENCE_INLINE LanesOf<T> larger(LanesOf<T> a, LanesOf<T> b) {
    return if_not_less(a, b, a, b);
}
template <typename T>
CONSILIENCE_INLINE LanesOf<T> smaller(LanesOf<T> a, LanesOf<T> b) {
    return if_not_less(a, b, b, a);
}
// The same in one instruction, but `bound` where `a` is NaN.
template <typename T>
CONSILIENCE_INLINE LanesOf<T> at_least(LanesOf<T> bound, LanesOf<T> a) {
    return if_less(bound, a, a, bound);
}
template <typename T>
CONSILIENCE_INLINE LanesOf<T> at_most(LanesOf<T> bound, LanesOf<T> a) {
    return if_less(a, bound, a, bound);
}

}  // namespace consilience
