// The Python face of StopFlag: a context manager that makes the flag that of the calling thread.
#include <vector>

#include "bindings.hpp"
#include "signals.hpp"

namespace consilience {
namespace {

// what the flags entered in this thread have replaced
thread_local std::vector<const StopFlag*> replaced;

}  // namespace

void bind_signals(nb::module_& m) {
    nb::class_<StopFlag>(m, "StopFlag")
        .def(nb::init<>())
        .def("set", &StopFlag::set)
        .def("__enter__", [](const StopFlag& flag) { replaced.push_back(flag.enter()); })
        .def("__exit__", [](const StopFlag&, nb::args) {
            require(!replaced.empty(), "the flag was not entered in this thread");
            StopFlag::restore(replaced.back());
            replaced.pop_back();
        });
}

}  // namespace consilience
