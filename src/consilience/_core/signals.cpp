#include "signals.hpp"

#include <nanobind/nanobind.h>

#include <cstdint>

namespace nb = nanobind;

namespace consilience {
namespace {

// Taking the GIL can cost a few milliseconds where other threads run Python.
constexpr std::chrono::milliseconds interval{50};

thread_local const StopFlag* thread_flag = nullptr;

[[noreturn]] void stop() {
    nb::gil_scoped_acquire acquire;
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    throw nb::python_error();
}

// Asked once in each thread. A thread that Python did not start is not the main thread.
bool is_main_thread() {
    thread_local const bool answer = [] {
        nb::gil_scoped_acquire acquire;
        const nb::object threading = nb::module_::import_("threading");
        return nb::cast<std::uint64_t>(threading.attr("get_ident")()) ==
               nb::cast<std::uint64_t>(threading.attr("main_thread")().attr("ident"));
    }();
    return answer;
}

}  // namespace

const StopFlag* StopFlag::enter() const {
    const StopFlag* previous = thread_flag;
    thread_flag = this;
    return previous;
}

void StopFlag::restore(const StopFlag* previous) {
    thread_flag = previous;
}

SignalCheck::SignalCheck() {
    if (thread_flag && thread_flag->is_set()) stop();
}

void SignalCheck::look() {
    work_ = 0;
    if (thread_flag && thread_flag->is_set()) stop();
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < interval) return;
    last_ = now;
    if (!is_main_thread()) return;
    nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace consilience
