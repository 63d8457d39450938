// Rows of kernel matrices as SMO sees them: in the caller's store, or fetched when first needed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <vector>

namespace consilience {

// n numbers, float32 or float64
struct Row {
    const void* data;
    bool single;

    double operator[](std::size_t k) const {
        return single ? static_cast<const float*>(data)[k] : static_cast<const double*>(data)[k];
    }
};

// One kernel: row t lies in the store at slots[t], or nowhere yet if that is negative.
struct Kernel {
    const void* data;
    bool single;
    std::size_t stride, capacity;  // of the store: numbers of a row, rows
    const std::int64_t* slots;  // n, changed by the caller when it fetches rows
    std::int64_t* used;         // by slot: when its row was last asked for
    const double* diagonal;     // n

    Row row(std::size_t slot) const {
        const std::size_t at = slot * stride;
        return single ? Row{static_cast<const float*>(data) + at, true}
                      : Row{static_cast<const double*>(data) + at, false};
    }
};

// asks the caller for the rows of some samples in one kernel
using Fetch = std::function<void(std::size_t kernel, const std::vector<std::int64_t>& samples)>;

struct Kernels {
    std::size_t n;
    std::vector<Kernel> views;
    Fetch fetch;
    std::int64_t clock = 0;  // goes on where an earlier call stopped

    bool has(std::size_t v, std::size_t t) const { return views[v].slots[t] >= 0; }
    // rows of float32, none of which has to make room for another
    bool single_and_whole() const {
        return std::all_of(views.begin(), views.end(), [this](const Kernel& view) {
            return view.single && view.capacity >= n;
        });
    }
    // the row of a sample, which must be there: a store with room for a batch and two more keeps
    // the rows that are in use
    Row row(std::size_t v, std::size_t t) {
        if (!has(v, t)) throw std::runtime_error("the store of kernel rows is too small");
        const std::size_t slot = static_cast<std::size_t>(views[v].slots[t]);
        views[v].used[slot] = ++clock;
        return views[v].row(slot);
    }
};

}  // namespace consilience
