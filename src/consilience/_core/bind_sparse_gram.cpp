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
using Sums = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::size_t stride_of(const Block& out) {
    require(out.stride(1) == 1 && out.stride(0) >= 0, "rows of out must be contiguous");
    return static_cast<std::size_t>(out.stride(0));
}

void check_means(const Vector<double>& mean, const Sums& sums, std::size_t width) {
    require(mean.shape(0) == width && sums.shape(0) == width,
            "means and sums must have an entry for each column");
}

template <typename I, typename J>
double gram_of_two(Vector<double> a_data, Vector<I> a_indices, Vector<I> a_indptr,
                   Vector<double> b_data, Vector<J> b_indices, Vector<J> b_indptr,
                   Vector<double> weight, Vector<double> mean_a, Vector<double> mean_b, Sums sums_a,
                   Sums sums_b, Block out) {
    const std::size_t n = weight.shape(0), p = out.shape(0), q = out.shape(1);
    const std::size_t stride = stride_of(out);
    check_means(mean_a, sums_a, p);
    check_means(mean_b, sums_b, q);
    nb::gil_scoped_release release;
    const auto a = checked(a_data, a_indices, a_indptr, weight, p);
    const auto b = checked(b_data, b_indices, b_indptr, weight, q);
    return sparse_gram(a, b, weight.data(), n, mean_a.data(), p, mean_b.data(), q, sums_a.data(),
                       sums_b.data(), out.data(), stride);
}

template <typename I>
double gram_of_one(Vector<double> data, Vector<I> indices, Vector<I> indptr, Vector<double> weight,
                   Vector<double> mean, Sums sums, Block out) {
    const std::size_t n = weight.shape(0), p = out.shape(0), stride = stride_of(out);
    require(p == out.shape(1), "out must be square");
    check_means(mean, sums, p);
    nb::gil_scoped_release release;
    const auto a = checked(data, indices, indptr, weight, p);
    return sparse_gram(a, weight.data(), n, mean.data(), p, sums.data(), out.data(), stride);
}

template <typename I, typename J>
void define_two(nb::module_& m) {
    const auto array = [](const char* name) { return nb::arg(name).noconvert(); };
    m.def("sparse_gram", &gram_of_two<I, J>, array("a_data"), array("a_indices"), array("a_indptr"),
          array("b_data"), array("b_indices"), array("b_indptr"), array("weight"), array("mean_a"),
          array("mean_b"), array("sums_a"), array("sums_b"), array("out"));
}

template <typename I>
void define_one(nb::module_& m) {
    const auto array = [](const char* name) { return nb::arg(name).noconvert(); };
    m.def("sparse_gram", &gram_of_one<I>, array("data"), array("indices"), array("indptr"),
          array("weight"), array("mean"), array("sums"), array("out"));
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
