// Helpers of the Python face: array types, and results handed over to NumPy without a copy.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "binning.hpp"

namespace consilience {

namespace nb = nanobind;

// read-only arrays are welcome everywhere; only outputs are writable
template <typename T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Strided = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
using Codes = nb::ndarray<const std::uint8_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

// A NumPy array that owns the vector; `columns` > 0 makes it two-dimensional.
template <typename T>
nb::object to_numpy(std::vector<T> values, std::size_t columns = 0) {
    auto* held = new std::vector<T>(std::move(values));
    nb::capsule owner(held, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    if (columns == 0)
        return nb::cast(
            nb::ndarray<nb::numpy, T, nb::ndim<1>>(held->data(), {held->size()}, owner));
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<2>>(
        held->data(), {held->size() / columns, columns}, owner));
}

inline void require(bool condition, const char* message) {
    if (!condition) throw std::invalid_argument(message);
}

// A value of a tuple; nb::cast itself would say std::bad_cast, and not of what.
template <typename T>
T read(nb::handle value, const char* what, bool convert = true) {
    T out;
    if (!nb::try_cast<T>(value, out, convert))
        throw nb::type_error((std::string(what) + " has a wrong type, dtype or shape").c_str());
    return out;
}

template <typename T>
Columns<T> columns(const Strided<T>& x) {
    return {x.data(), x.shape(0), x.shape(1), x.stride(0), x.stride(1)};
}

void bind_rbf(nb::module_& m);
void bind_trees(nb::module_& m);
void bind_predict(nb::module_& m);
void bind_levels(nb::module_& m);
void bind_round_rows(nb::module_& m);
void bind_smo(nb::module_& m);
void bind_sparse_gram(nb::module_& m);
void bind_margin_rows(nb::module_& m);
void bind_signals(nb::module_& m);
void bind_forest(nb::module_& m);
void bind_boost(nb::module_& m);
void bind_coordinate_descent(nb::module_& m);

}  // namespace consilience
