// The Python face of the sample-wise part of the interior point method: shapes are checked here.
#include "bindings.hpp"
#include "margin_rows.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>

namespace consilience {
namespace {

using In = Matrix<double>;
using Out = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Ways = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

template <typename Array>
void require_shape(const Array& x, std::size_t height, std::size_t n) {
    require(x.shape(0) == height && x.shape(1) == n,
            "an array has the wrong number of rows or samples");
}

// Keeps the arrays that `rows` points into.
class Samples {
   public:
    Samples(Vector<std::int64_t> slot, Matrix<double> H, Vector<double> final, Vector<double> slope,
            Vector<double> bend, Vector<double> label, Vector<double> weight,
            std::optional<Matrix<double>> on)
        : slot_(slot), H_(H), final_(final), slope_(slope), bend_(bend), label_(label),
          weight_(weight), on_(on) {
        const std::size_t n = label.shape(0), p = slot.shape(0), k = slope.shape(0);
        require(weight.shape(0) == n, "label and weight must have the same length");
        require(H.shape(0) == p && final.shape(0) == p,
                "slot, H and final must have an entry for each constraint");
        require(bend.shape(0) == k, "slope and bend must have the same length");
        require(!on || (on->shape(0) == p && on->shape(1) == n), "on must be constraints x samples");
        for (std::size_t j = 0; j < p; ++j)
            require(slot.data()[j] >= 0 && static_cast<std::size_t>(slot.data()[j]) < k,
                    "slot must number slack variables");
        rows = {n, p, k, H.shape(1), slot.data(), H.data(), final.data(), slope.data(), bend.data(),
                label.data(), weight.data(), on ? on->data() : nullptr, {}};
        rows.find_squares();
    }

    void curvature(In s, In lam, Out D) const {
        require_shape(s, rows.p, rows.n);
        require_shape(lam, rows.p, rows.n);
        require_shape(D, rows.V * (rows.V + 1) / 2, rows.n);
        nb::gil_scoped_release release;
        margin_curvature(rows, s.data(), lam.data(), D.data());
    }

    MarginRows rows;

   private:
    Vector<std::int64_t> slot_;
    Matrix<double> H_;
    Vector<double> final_, slope_, bend_, label_, weight_;
    std::optional<Matrix<double>> on_;
};

// A direction from an iterate, built up stage by stage; keeps the arrays it needs.
class Way {
   public:
    Way(const Samples& samples, In s, In lam, double low, double high)
        : rows_(samples.rows), s_(s), lam_(lam), direction_{{}, low, high, nullptr} {
        require_shape(s, rows_.p, rows_.n);
        require_shape(lam, rows_.p, rows_.n);
    }

    void add(const std::string& target, Vector<double> goal, double aim) {
        require(goal.shape(0) == rows_.p, "goal must have an entry for each constraint");
        require(target == "plain" || !direction_.stages.empty(), "the first stage must be plain");
        require(target == "plain" || target == "second" || target == "centred",
                "target must be plain, second or centred");
        const Target kind = target == "plain"    ? Target::plain
                            : target == "second" ? Target::second
                                                 : Target::centred;
        const double* values = goal.data();
        direction_.stages.push_back({kind, {values, values + rows_.p}, aim});
    }

    void pop() {
        require(!direction_.stages.empty(), "there is no stage to take away");
        direction_.stages.pop_back();
    }

    void reduce(Ways dz, Out R) const {
        require(!direction_.stages.empty(), "there is no stage to prepare");
        require_shape(R, rows_.V, rows_.n);
        const Direction direction = with(dz, direction_.stages.size() - 1);
        nb::gil_scoped_release release;
        margin_reduce(rows_, s_.data(), lam_.data(), direction, R.data());
    }

    nb::tuple reach(Ways dz) const {
        const Direction direction = with(dz, direction_.stages.size());
        MarginWay out;
        {
            nb::gil_scoped_release release;
            out = margin_way(rows_, s_.data(), lam_.data(), direction);
        }
        return nb::make_tuple(out.reach, out.linear, out.square);
    }

    nb::tuple move(Ways dz, double t, In xi, Out new_xi, Out new_s, Out new_lam, Out R) const {
        require_shape(xi, rows_.k, rows_.n);
        require_shape(new_xi, rows_.k, rows_.n);
        require_shape(new_s, rows_.p, rows_.n);
        require_shape(new_lam, rows_.p, rows_.n);
        require_shape(R, rows_.V, rows_.n);
        const Direction direction = with(dz, direction_.stages.size());
        MarginSizes out;
        {
            nb::gil_scoped_release release;
            out = margin_move(rows_, xi.data(), s_.data(), lam_.data(), direction, t, new_xi.data(),
                              new_s.data(), new_lam.data(), R.data());
        }
        return nb::make_tuple(out.gap, out.loss, out.mass, out.slack, out.slope, out.off);
    }

   private:
    Direction with(const Ways& dz, std::size_t least) const {
        require(dz.shape(0) >= least && dz.shape(1) == rows_.V && dz.shape(2) == rows_.n,
                "dz must be stages x views x samples");
        Direction out = direction_;
        out.dz = dz.data();
        return out;
    }

    const MarginRows& rows_;
    In s_, lam_;
    Direction direction_;
};

}  // namespace

void bind_margin_rows(nb::module_& m) {
    const auto array = [](const char* name) { return nb::arg(name).noconvert(); };
    nb::class_<Samples>(m, "MarginRows")
        .def(nb::init<Vector<std::int64_t>, Matrix<double>, Vector<double>, Vector<double>,
                      Vector<double>, Vector<double>, Vector<double>,
                      std::optional<Matrix<double>>>(),
             array("slot"), array("H"), array("final"), array("slope"), array("bend"),
             array("label"), array("weight"), array("on").none())
        .def("curvature", &Samples::curvature, array("s"), array("lam"), array("D"));
    nb::class_<Way>(m, "MarginWay")
        .def(nb::init<const Samples&, In, In, double, double>(), nb::keep_alive<1, 2>(),
             nb::arg("rows"), array("s"), array("lam"), nb::arg("low"), nb::arg("high"))
        .def("add", &Way::add, nb::arg("target"), array("goal"), nb::arg("aim") = 1.0)
        .def("pop", &Way::pop)
        .def("reduce", &Way::reduce, array("dz"), array("R"))
        .def("reach", &Way::reach, array("dz"))
        .def("move", &Way::move, array("dz"), nb::arg("t"), array("xi"), array("new_xi"),
             array("new_s"), array("new_lam"), array("R"));
}

}  // namespace consilience
