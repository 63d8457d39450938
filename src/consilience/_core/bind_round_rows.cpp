// The Python face of the rounds of boosting (see round_rows.hpp).
#include "round_rows.hpp"

#include "bindings.hpp"

namespace consilience {
namespace {

template <typename T>
using Output = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using OutputMatrix = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

Predicted check_rows(const Vector<std::int32_t>& codes, const Vector<std::int32_t>& predictions,
                     std::size_t n, std::size_t n_classes) {
    require(codes.shape(0) == n && predictions.shape(0) == n,
            "codes and predictions must have one entry per row");
    const auto limit = static_cast<std::int64_t>(n_classes);
    bool fit = true;
    for (std::size_t i = 0; i < n; ++i)
        fit &= (predictions.data()[i] < limit) & (codes.data()[i] >= 0) & (codes.data()[i] < limit);
    require(fit, "codes and predictions must be classes");
    return {codes.data(), predictions.data(), n};
}

CostRows check_costs(const Output<double>& scale, const OutputMatrix& base,
                     const Output<double>& total, const Vector<bool>& mask) {
    const std::size_t n = scale.shape(0);
    require(base.shape(0) == n && total.shape(0) == n && mask.shape(0) == n && base.shape(1) > 0,
            "costs must have one row per row");
    return {scale.data(), base.data(), total.data(), static_cast<int>(base.shape(1))};
}

const std::uint8_t* bytes(const Vector<bool>& mask) {
    return reinterpret_cast<const std::uint8_t*>(mask.data());
}

template <std::size_t N>
nb::object to_limbs(const std::array<ExactSum, N>& sums) {
    std::vector<std::uint32_t> limbs;
    for (const ExactSum& sum : sums) {
        const std::vector<std::uint32_t> one = sum.limbs();
        limbs.insert(limbs.end(), one.begin(), one.end());
    }
    return to_numpy(std::move(limbs), ExactSum::n_limbs);
}

nb::object py_cost_sums(Output<double> scale, OutputMatrix base, Output<double> total,
                        Vector<std::int32_t> codes, Vector<std::int32_t> predictions,
                        Vector<bool> mask) {
    const CostRows costs = check_costs(scale, base, total, mask);
    const Predicted rows = check_rows(codes, predictions, scale.shape(0), base.shape(1));
    CostSums sums;
    {
        nb::gil_scoped_release release;
        add_costs(costs, rows, bytes(mask), sums);
    }
    return to_limbs(sums);
}

void py_update_costs(Output<double> scale, OutputMatrix base, Output<double> total,
                     Vector<std::int32_t> codes, Vector<std::int32_t> predictions,
                     Vector<bool> mask, double shrink, double grow, double rescale_above) {
    const CostRows costs = check_costs(scale, base, total, mask);
    const Predicted rows = check_rows(codes, predictions, scale.shape(0), base.shape(1));
    nb::gil_scoped_release release;
    update_costs(costs, rows, bytes(mask), shrink, grow, rescale_above);
}

nb::object py_vote_sums(Vector<double> w, Vector<std::int32_t> codes,
                        Vector<std::int32_t> predictions) {
    const Predicted rows = check_rows(codes, predictions, w.shape(0), std::size_t{1} << 31);
    VoteSums sums;
    {
        nb::gil_scoped_release release;
        add_votes(w.data(), rows, sums);
    }
    return to_limbs(sums);
}

void py_reweigh(Vector<double> w, Vector<std::int32_t> codes, Vector<std::int32_t> predictions,
                Vector<double> factors, Output<double> out) {
    const Predicted rows = check_rows(codes, predictions, w.shape(0), std::size_t{1} << 31);
    require(factors.shape(0) == 3 && out.shape(0) == rows.n, "factors or out do not fit");
    nb::gil_scoped_release release;
    reweigh(w.data(), rows, factors.data(), out.data());
}

}  // namespace

void bind_round_rows(nb::module_& m) {
    using namespace nb::literals;
    const auto out = [](const char* name) { return nb::arg(name).noconvert(); };
    m.def("cost_sums", &py_cost_sums, out("scale"), out("base"), out("total"), "codes"_a,
          "predictions"_a, "mask"_a);
    m.def("update_costs", &py_update_costs, out("scale"), out("base"), out("total"), "codes"_a,
          "predictions"_a, "mask"_a, "shrink"_a, "grow"_a, "rescale_above"_a);
    m.def("vote_sums", &py_vote_sums, "w"_a, "codes"_a, "predictions"_a);
    m.def("reweigh", &py_reweigh, "w"_a, "codes"_a, "predictions"_a, "factors"_a, out("out"));
}

}  // namespace consilience
