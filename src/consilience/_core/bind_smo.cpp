// The Python face of the SMO kernels.
#include <cmath>

#include "bindings.hpp"
#include "smo.hpp"

namespace consilience {
namespace {

using Writable = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Anything = nb::ndarray<nb::ndim<2>, nb::c_contig, nb::device::cpu, nb::ro>;

// The working set, checked: every row and sample is there.
WorkingSet working_set(const nb::list& stores, const nb::list& slots,
                       const Vector<std::int64_t>& index, std::size_t n) {
    WorkingSet set{n, index.shape(0), index.data(), {}};
    require(stores.size() == slots.size() && stores.size() > 0,
            "stores and slots must have one entry for each view");
    for (std::size_t k = 0; k < set.q; ++k)
        require(index.data()[k] >= 0 && static_cast<std::size_t>(index.data()[k]) < n,
                "index names a sample that is not there");
    for (std::size_t v = 0; v < stores.size(); ++v) {
        const auto store = nb::cast<Anything>(stores[v], false);
        const auto where = nb::cast<Vector<std::int64_t>>(slots[v], false);
        const bool single = store.dtype() == nb::dtype<float>();
        require(single || store.dtype() == nb::dtype<double>(),
                "kernel rows must be float32 or float64");
        require(store.shape(1) == n, "kernel rows must have one entry for each sample");
        require(where.shape(0) == set.q, "slots must have one entry for each sample of index");
        for (std::size_t k = 0; k < set.q; ++k)
            require(where.data()[k] >= 0 &&
                        static_cast<std::size_t>(where.data()[k]) < store.shape(0),
                    "slots names a row that is not there");
        set.kernels.push_back({store.data(), single, n, where.data()});
    }
    return set;
}

nb::tuple joint(const nb::list& stores, const nb::list& slots, Vector<std::int64_t> index,
                Vector<double> y, Matrix<double> upper, Vector<double> own,
                Vector<double> shared, double c, Writable lam, Writable F, double tol,
                std::int64_t max_steps) {
    const std::size_t n = y.shape(0), V = stores.size();
    const WorkingSet set = working_set(stores, slots, index, n);
    require(own.shape(0) == n && shared.shape(0) == n, "own and shared must have n entries");
    require(upper.shape(0) == V && upper.shape(1) == n && lam.shape(0) == V &&
                lam.shape(1) == n && F.shape(0) == V && F.shape(1) == n,
            "upper, lam and F must have one row for each view and one column for each sample");
    require(tol >= 0 && max_steps >= 0, "tol and max_steps must be >= 0");
    const Coupling coupling{own.data(), shared.data(), c};
    Progress progress;
    {
        nb::gil_scoped_release release;
        progress = smo_joint(set, y.data(), upper.data(), coupling, lam.data(), F.data(), tol,
                             max_steps);
    }
    return nb::make_tuple(progress.steps, progress.gap);
}

}  // namespace

void bind_smo(nb::module_& m) {
    using namespace nb::literals;
    // noconvert: a converted copy of an output array would swallow the result
    m.def("smo_joint", &joint, "stores"_a, "slots"_a, nb::arg("index").noconvert(),
          nb::arg("y").noconvert(), nb::arg("upper").noconvert(), nb::arg("own").noconvert(),
          nb::arg("shared").noconvert(), "c"_a, nb::arg("lam").noconvert(),
          nb::arg("F").noconvert(), "tol"_a, "max_steps"_a);
}

}  // namespace consilience
