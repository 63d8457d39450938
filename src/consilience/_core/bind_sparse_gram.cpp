// The Python face of sparse_gram: shapes and column numbers are checked before the loops.
#include "bindings.hpp"
#include "sparse_gram.hpp"

namespace consilience {
namespace {

// Only rows that count are looked at, as in the product itself.
template <typename Index>
Csr<Index> checked(const Vector<double>& data, const Vector<Index>& indices,
                   const Vector<Index>& indptr, const Vector<double>& weight, std::size_t width) {
    const std::size_t n = weight.shape(0);
    const double* mass = weight.data();
    require(indptr.shape(0) == n + 1, "indptr must have one entry more than weight");
    const Index *starts = indptr.data(), *columns = indices.data();
    require(data.shape(0) == indices.shape(0), "data and indices must have the same length");
    for (std::size_t t = 0; t < n; ++t) {
        if (mass[t] == 0) continue;
        require(starts[t] >= 0 && starts[t] <= starts[t + 1] &&
                    static_cast<std::size_t>(starts[t + 1]) <= data.shape(0),
                "indptr does not fit data and indices");
        for (Index i = starts[t]; i < starts[t + 1]; ++i)
            require(columns[i] >= 0 && static_cast<std::size_t>(columns[i]) < width &&
                        (i == starts[t] || columns[i - 1] < columns[i]),
                    "column numbers must ascend within a row and fit the result");
    }
    return {data.data(), columns, starts};
}

using Block = nb::ndarray<double, nb::ndim<2>, nb::device::cpu>;

template <typename I, typename J>
void gram_of_two(Vector<double> a_data, Vector<I> a_indices, Vector<I> a_indptr,
                 Vector<double> b_data, Vector<J> b_indices, Vector<J> b_indptr,
                 Vector<double> weight, Block out) {
    const std::size_t n = weight.shape(0);
    require(out.stride(1) == 1 && out.stride(0) >= 0, "rows of out must be contiguous");
    double* values = out.data();
    const std::size_t stride = static_cast<std::size_t>(out.stride(0));
    nb::gil_scoped_release release;
    const auto a = checked(a_data, a_indices, a_indptr, weight, out.shape(0));
    const auto b = checked(b_data, b_indices, b_indptr, weight, out.shape(1));
    sparse_gram(a, b, weight.data(), n, values, stride);
}

template <typename I>
void gram_of_one(Vector<double> data, Vector<I> indices, Vector<I> indptr, Vector<double> weight,
                 Block out) {
    const std::size_t n = weight.shape(0);
    require(out.stride(1) == 1 && out.stride(0) >= 0, "rows of out must be contiguous");
    require(out.shape(0) == out.shape(1), "out must be square");
    double* values = out.data();
    const std::size_t stride = static_cast<std::size_t>(out.stride(0));
    nb::gil_scoped_release release;
    const auto a = checked(data, indices, indptr, weight, out.shape(0));
    sparse_gram(a, weight.data(), n, values, stride);
}

template <typename I, typename J>
void define_two(nb::module_& m) {
    m.def("sparse_gram", &gram_of_two<I, J>, nb::arg("a_data").noconvert(),
          nb::arg("a_indices").noconvert(), nb::arg("a_indptr").noconvert(),
          nb::arg("b_data").noconvert(), nb::arg("b_indices").noconvert(),
          nb::arg("b_indptr").noconvert(), nb::arg("weight").noconvert(),
          nb::arg("out").noconvert());
}

template <typename I>
void define_one(nb::module_& m) {
    m.def("sparse_gram", &gram_of_one<I>, nb::arg("data").noconvert(),
          nb::arg("indices").noconvert(), nb::arg("indptr").noconvert(),
          nb::arg("weight").noconvert(), nb::arg("out").noconvert());
}

}  // namespace

void bind_sparse_gram(nb::module_& m) {
    using i32 = std::int32_t;
    using i64 = std::int64_t;
    define_one<i32>(m);
    define_one<i64>(m);
    define_two<i32, i32>(m);
    define_two<i32, i64>(m);
    define_two<i64, i32>(m);
    define_two<i64, i64>(m);
}

}  // namespace consilience
