// Eight numbers side by side, in the vector registers of whatever CPU runs.
//
// GCC and Clang split these types over smaller registers where a CPU has no wider ones; compilers
// without them get plain loops. Every operation is done lane by lane, so results do not differ.
#pragma once

#include <cstdint>
#include <cstring>

#include "dispatch.hpp"
#include "edges.hpp"

namespace consilience {

#if defined(__GNUC__)

typedef double Lanes __attribute__((vector_size(lanes * 8)));
typedef std::int64_t IntLanes __attribute__((vector_size(lanes * 8)));

CONSILIENCE_INLINE Lanes all_lanes(double value) { return Lanes{} + value; }
CONSILIENCE_INLINE Lanes choose(IntLanes mask, Lanes yes, Lanes no) { return mask ? yes : no; }
CONSILIENCE_INLINE IntLanes not_less(Lanes a, Lanes b) { return a >= b; }
CONSILIENCE_INLINE Lanes as_doubles(IntLanes bits) { return reinterpret_cast<Lanes>(bits); }

#else

template <typename T>
struct Eight {
    T at[lanes];
    T operator[](int j) const { return at[j]; }
    T& operator[](int j) { return at[j]; }
};
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
inline Lanes operator-(Lanes a) { return all_lanes(-0.0) - a; }
inline Lanes& operator+=(Lanes& a, Lanes b) { return a = a + b; }
inline IntLanes operator+(IntLanes a, std::int64_t b) {
    for (int j = 0; j < lanes; ++j) a.at[j] += b;
    return a;
}
inline IntLanes operator&(IntLanes a, IntLanes b) {
    return each_lane<IntLanes>(a, b, [](std::int64_t x, std::int64_t y) { return x & y; });
}
inline IntLanes not_less(Lanes a, Lanes b) {
    return each_lane<IntLanes>(a, b, [](double x, double y) -> std::int64_t { return -(x >= y); });
}
inline Lanes choose(IntLanes mask, Lanes yes, Lanes no) {
    for (int j = 0; j < lanes; ++j) no.at[j] = mask.at[j] ? yes.at[j] : no.at[j];
    return no;
}
inline Lanes as_doubles(IntLanes bits) {
    Lanes out;
    std::memcpy(&out, &bits, sizeof out);
    return out;
}

#endif

// Integers below 2^51 as doubles, exactly: the low bits of 1.5 * 2^52 + value. A cast would do
// the same, but many CPUs have no vector instruction for it.
CONSILIENCE_INLINE Lanes load(const std::int64_t* values) {
    IntLanes bits;
    std::memcpy(&bits, values, sizeof bits);
    return as_doubles(bits + std::int64_t{0x4338000000000000}) - all_lanes(0x1.8p52);
}

CONSILIENCE_INLINE void store(Lanes values, double* out) { std::memcpy(out, &values, sizeof values); }

// The larger one; `b` where `a` is not a number.
CONSILIENCE_INLINE Lanes larger(Lanes a, Lanes b) { return choose(not_less(b, a), b, a); }
CONSILIENCE_INLINE Lanes smaller(Lanes a, Lanes b) { return choose(not_less(a, b), b, a); }

}  // namespace consilience
