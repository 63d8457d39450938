// Ctrl-C in long loops: Python notes a signal at once but handles it only between bytecodes, that
// is, after the kernel has returned. A loop that can run longer than some ten milliseconds
// therefore owns a SignalCheck and tells it how much work it has done.
//
// Python handles signals in its main thread only. Kernels that run in other threads, on behalf of
// the main thread, stop when the StopFlag of their thread is set.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>

namespace consilience {

class StopFlag {
public:
    void set() { stopped_.store(true, std::memory_order_relaxed); }
    bool is_set() const { return stopped_.load(std::memory_order_relaxed); }

    // Makes this the flag of the calling thread; returns the one it replaces, to be restored.
    const StopFlag* enter() const;
    static void restore(const StopFlag* previous);

private:
    std::atomic<bool> stopped_{false};
};

class SignalCheck {
public:
    // Throws KeyboardInterrupt if the flag of this thread is set.
    SignalCheck();

    // Adds the elementary operations (about 1 ns each) that the loop has just done. Throws what
    // the signal handler raised, usually KeyboardInterrupt.
    void add(std::size_t work) {
        work_ += work;
        if (work_ >= work_per_look) look();
    }

private:
    static constexpr std::size_t work_per_look = std::size_t{1} << 20;

    void look();

    std::size_t work_ = 0;
    std::chrono::steady_clock::time_point last_{};
};

}  // namespace consilience
