// The Python face of the SMO kernels.
#include <algorithm>
#include <cmath>

#include "bindings.hpp"
#include "smo_pair.hpp"

namespace consilience {
namespace {

using Writable = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Changed = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Counter = nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Anything = nb::ndarray<nb::ndim<2>, nb::c_contig, nb::device::cpu, nb::ro>;

// A kernel from (store, slots, used, diagonal). The tuple keeps the arrays alive.
Kernel kernel(const nb::tuple& parts, std::size_t n) {
    require(parts.size() == 4, "a kernel is (store, slots, used, diagonal)");
    const auto store = read<Anything>(parts[0], "the store of a kernel", false);
    const auto slots = read<Vector<std::int64_t>>(parts[1], "slots", false);
    const auto used = read<Counter>(parts[2], "used", false);
    const auto diagonal = read<Vector<double>>(parts[3], "the diagonal of a kernel", false);
    const bool single = store.dtype() == nb::dtype<float>();
    require(single || store.dtype() == nb::dtype<double>(),
            "kernel rows must be float32 or float64");
    require(store.shape(1) == n && slots.shape(0) == n && diagonal.shape(0) == n,
            "kernel rows, slots and diagonals must have one entry for each sample");
    require(used.shape(0) == store.shape(0), "used must have one entry for each row of the store");
    for (std::size_t t = 0; t < n; ++t)
        require(slots.data()[t] < static_cast<std::int64_t>(store.shape(0)),
                "slots names a row that is not there");
    return {store.data(), single, n, store.shape(0), slots.data(), used.data(), diagonal.data()};
}

// The kernels of all views, with rows brought in by `fetch(view, samples)` where they are missing.
class PythonKernels {
public:
    PythonKernels(const nb::list& parts, std::size_t n, nb::object fetch)
        : parts_(parts), fetch_(std::move(fetch)), kernels{n, {}, {}} {
        require(parts.size() > 0, "at least one kernel is needed");
        for (std::size_t v = 0; v < parts.size(); ++v) {
            kernels.views.push_back(kernel(part(v), n));
            const auto used = read<Counter>(part(v)[2], "used", false);
            for (std::size_t s = 0; s < used.shape(0); ++s)
                kernels.clock = std::max(kernels.clock, used.data()[s]);
        }
        kernels.fetch = [this](std::size_t v, const std::vector<std::int64_t>& samples) {
            nb::gil_scoped_acquire acquire;
            fetch_(v, to_numpy(samples));
            const auto size = static_cast<std::int64_t>(
                nb::cast<Anything>(part(v)[0], false).shape(0));
            const Kernel& view = kernels.views[v];
            for (const std::int64_t t : samples) {
                require(view.slots[t] >= 0 && view.slots[t] < size,
                        "fetch did not bring the rows it was asked for");
                // whoever fetches may move the clock on
                kernels.clock = std::max(kernels.clock, view.used[view.slots[t]]);
            }
        };
    }
    PythonKernels(const PythonKernels&) = delete;
    PythonKernels& operator=(const PythonKernels&) = delete;

private:
    nb::tuple part(std::size_t v) const { return read<nb::tuple>(parts_[v], "a kernel", false); }

    nb::list parts_;
    nb::object fetch_;

public:
    Kernels kernels;
};

void require_problem(const Matrix<double>& upper, const Vector<double>& own,
                     const Vector<double>& shared, const Writable& lam, const Writable& F,
                     std::size_t V, std::size_t n) {
    require(own.shape(0) == n && shared.shape(0) == n, "own and shared must have n entries");
    require(upper.shape(0) == V && upper.shape(1) == n && lam.shape(0) == V &&
                lam.shape(1) == n && F.shape(0) == V && F.shape(1) == n,
            "upper, lam and F must have one row for each view and one column for each sample");
}

nb::tuple joint(const nb::list& parts, nb::object fetch, Vector<double> y, Matrix<double> upper,
                Vector<double> own, Vector<double> shared, double c, Writable lam, Writable F,
                double tol, std::int64_t max_steps, std::size_t batch) {
    const std::size_t n = y.shape(0);
    PythonKernels held(parts, n, std::move(fetch));
    require_problem(upper, own, shared, lam, F, parts.size(), n);
    require(batch > 0, "batch must be > 0");
    Progress progress;
    {
        nb::gil_scoped_release release;
        progress = smo_joint(held.kernels, y.data(), upper.data(),
                             {own.data(), shared.data(), c}, lam.data(), F.data(),
                             {tol, max_steps, batch});
    }
    return nb::make_tuple(progress.steps, progress.gap);
}

nb::tuple pair(const nb::list& parts, nb::object fetch, Vector<double> y, Matrix<double> C,
               Vector<double> D, double epsilon, Writable a, Changed beta, Writable F, double tol,
               std::int64_t max_steps, std::size_t batch) {
    const std::size_t n = y.shape(0);
    PythonKernels held(parts, n, std::move(fetch));
    require(parts.size() == 2, "a pair has two kernels");
    require(D.shape(0) == n && beta.shape(0) == n, "D and beta must have n entries");
    require(C.shape(0) == 2 && C.shape(1) == n && a.shape(0) == 2 && a.shape(1) == n &&
                F.shape(0) == 2 && F.shape(1) == n,
            "C, a and F must have two rows and one column for each sample");
    require(batch > 0, "batch must be > 0");
    Progress progress;
    {
        nb::gil_scoped_release release;
        progress = smo_pair(held.kernels, y.data(), C.data(), D.data(), epsilon, a.data(),
                            beta.data(), F.data(), {tol, max_steps, batch});
    }
    return nb::make_tuple(progress.steps, progress.gap);
}

}  // namespace

void bind_smo(nb::module_& m) {
    using namespace nb::literals;
    // noconvert: a converted copy of an output array would swallow the result
    m.def("smo_joint", &joint, "kernels"_a, "fetch"_a.none(), nb::arg("y").noconvert(),
          nb::arg("upper").noconvert(), nb::arg("own").noconvert(),
          nb::arg("shared").noconvert(), "c"_a, nb::arg("lam").noconvert(),
          nb::arg("F").noconvert(), "tol"_a, "max_steps"_a, "batch"_a);
    m.def("smo_pair", &pair, "kernels"_a, "fetch"_a.none(), nb::arg("y").noconvert(),
          nb::arg("C").noconvert(), nb::arg("D").noconvert(), "epsilon"_a,
          nb::arg("a").noconvert(), nb::arg("beta").noconvert(), nb::arg("F").noconvert(),
          "tol"_a, "max_steps"_a, "batch"_a);
}

}  // namespace consilience
