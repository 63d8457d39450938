"""How far the hot kernels are from what this machine can do, one thread.

For each kernel: bytes that it has to move and operations that it has to do; the least time that
these take at this machine's triad bandwidth (measured on arrays as large as the kernel's working
set) and at its rate of matrix products; and the share of that bound which the kernel reaches. A
bound says nothing about dependencies: scattered additions (sparse Gram matrices, histograms)
cannot reach it.

    python benchmarks/roofline.py [--quick]
"""

import sys
from dataclasses import dataclass
from functools import cache

import numpy as np
import scipy.sparse as sp
from _timing import least
from scipy.linalg.blas import daxpy
from threadpoolctl import threadpool_limits

from consilience._core import MarginRows, MarginWay, rbf_epilogue
from consilience._core.binned import BinnedView
from consilience._solvers.centred_views import CentredViews
from consilience._solvers.kernel_rows import CachedRows
from consilience._solvers.kernels import KernelAgainst
from consilience._solvers.smo import solve_hinge
from consilience.margin._svm2k import SIGNS, SLOTS


@dataclass
class Kernel:
    """Seconds of one call; bytes, operations and working set (bytes) of it."""

    name: str
    seconds: float
    moved: float
    flops: float
    working_set: float
    single: bool = False  # float32


@cache
def triad(kilobytes, repeat=9):
    """Bytes per second of y += a x: two reads and a write."""
    n = max(1024, kilobytes * 1024 // 16)
    x, y = np.ones(n), np.zeros(n)
    times = max(1, 4_000_000 // n)

    def work():
        for _ in range(times):
            daxpy(x, y, a=1e-9)

    return 24 * n * times / least(work, repeat)


@cache
def gemm(single, n=1200, repeat=5):
    """Operations per second of a matrix product."""
    A = np.ones((n, n), dtype=np.float32 if single else np.float64)
    return 2 * n**3 / least(lambda: A @ A, repeat)


def smo(n, repeat):
    """Pair steps of a hinge machine in single precision; the rows are there: only steps count."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((n, 20)), np.where(rng.random(n) < 0.5, -1.0, 1.0)
    kernel = KernelAgainst(X, "rbf", gamma=0.02, dtype=np.float32)
    rows = CachedRows(lambda which, out: kernel(X[which], out=out), np.ones(n), n, np.float32)
    rows.fetch(np.arange(n))
    steps = 2000
    seconds = least(lambda: solve_hinge(rows, y, 10.0, tol=1e-9, max_iter=steps), repeat) / steps
    # F is read twice and written once, three reads of rows, two of bounds
    moved, held = n * (12 + 12 + 8), n * (4 + 12 + 8)
    return Kernel(f"SMO step, n = {n}", seconds, moved, 16 * n, held, single=True)


def rbf(n, d, repeat):
    """64 rows of a Gaussian kernel, and the part after the product."""
    X = np.random.default_rng(0).standard_normal((n, d)).astype(np.float32)
    write = KernelAgainst(X, "rbf", gamma=0.02, dtype=np.float32).own_rows()
    samples, out = np.arange(64), np.empty((64, n), dtype=np.float32)
    seconds = least(lambda: write(samples, out), repeat)
    entries, norms = 64 * n, np.ones(n, dtype=np.float32)
    yield Kernel(
        f"RBF rows, 64 x {n}, {d} columns", seconds, 4 * entries, entries * (2 * d + 24),
        4 * entries, single=True,
    )  # fmt: skip
    seconds = least(lambda: rbf_epilogue(out, norms[:64], norms, 0.0), repeat)
    yield Kernel("  its exponentials", seconds, 8 * entries, 24 * entries, 4 * entries, True)


def gram(n, d, repeat):
    """Weighted Gram matrices of a Newton step: dense, and CSR with 4 % of the entries."""
    rng = np.random.default_rng(0)
    weights, present = rng.random(n), np.ones((n, 1), dtype=bool)
    views = CentredViews([rng.standard_normal((n, d))], present)
    seconds = least(lambda: views.gram(lambda u, v: weights), repeat)
    moved = 8 * (3 * n * d + d * d)  # read, scale, write
    yield Kernel(f"dense Gram, {n} x {d}", seconds, moved, n * d * (d + 1), 8 * n * d)
    X = sp.random_array((n, d), density=0.04, format="csr", rng=rng)
    views = CentredViews([X], present)
    seconds = least(lambda: views.gram(lambda u, v: weights), repeat)
    counts = np.diff(X.indptr).astype(float)
    pairs = float((counts * (counts + 1) / 2).sum())
    yield Kernel(f"CSR Gram, {n} x {d}, 4 %", seconds, 24 * pairs, 2 * pairs, 8 * d * d)


def products(n, d, repeat):
    """X w and Xᵀ r of a CSR view."""
    X = sp.random_array((n, d), density=0.04, format="csr", rng=np.random.default_rng(0))
    views = CentredViews([X], np.ones((n, 1), dtype=bool))
    theta, R = np.ones(d + 1), np.ones((n, 1))
    for name, work in (("X w", lambda: views.matvec(theta)), ("Xᵀr", lambda: views.rmatvec(R))):
        yield Kernel(
            f"CSR {name}, {n} x {d}", least(work, repeat), 12 * X.nnz, 2 * X.nnz, 12 * X.nnz
        )


def margin_rows(n, repeat):
    """What one stage of an interior point step of SVM-2K does to the samples."""
    p, k, V = len(SLOTS), 3, 2
    rows = MarginRows(
        SLOTS.astype(np.int64), SIGNS, np.zeros(p), np.ones(k), np.zeros(k), np.ones(n), np.ones(n),
        None,
    )  # fmt: skip
    s, lam, R = np.ones((p, n)), np.ones((p, n)), np.empty((V, n))
    dz = np.full((2, V, n), 0.01)

    def work():
        way = MarginWay(rows, s, lam, 0.1, 10.0)
        way.add("plain", np.zeros(p))
        way.reduce(dz, R)
        way.reach(dz)

    moved = 8 * n * (2 * 2 * p + 2 * V + 3)  # s and lambda twice; R, dz, labels and weights
    flops = n * (p * (1 + 3 + 6) + p * (1 + 3 + 12))  # a quotient counts as one
    return Kernel(f"IPM rows of SVM-2K, n = {n}", least(work, repeat), moved, flops, 16 * n * p)


def trees(n, d, repeat):
    """Stumps on bins: one addition to a histogram for each row and column."""
    rng = np.random.default_rng(0)
    X, weight = rng.standard_normal((n, d)).astype(np.float32), rng.exponential(size=n)
    view = BinnedView(X)
    for K in (2, 10):
        codes = rng.integers(0, K, n).astype(np.int32)
        seconds = least(lambda c=codes, K=K: view.grow(c, weight, n_classes=K, max_depth=1), repeat)
        # a code, and a sum that is read and written
        name = f"stump, {n} x {d}, {K} classes"
        yield Kernel(name, seconds, n * d * 17, n * d, 8 * 8 * 256)


def show(kernel):
    bandwidth = triad(max(16, int(kernel.working_set) // 1024))
    by_bytes, by_flops = kernel.moved / bandwidth, kernel.flops / gemm(kernel.single)
    share = 100 * max(by_bytes, by_flops) / kernel.seconds
    limit = "bytes" if by_bytes > by_flops else "flops"
    rates = [amount / kernel.seconds / 1e9 for amount in (kernel.moved, kernel.flops)]
    print(
        f"{kernel.name:<36} {1e6 * kernel.seconds:10.1f} µs {rates[0]:7.1f} GB/s "
        f"{rates[1]:7.1f} Gflop/s  {share:4.0f} % of {limit}",
        flush=True,
    )


def main():
    quick = "--quick" in sys.argv
    n, repeat = (2000, 2) if quick else (20_000, 9)
    with threadpool_limits(1):
        sizes = (64, 512) if quick else (64, 512, 8192, 131_072)
        for kilobytes in sizes:
            print(f"triad, {kilobytes:>7} KiB {triad(kilobytes) / 1e9:26.1f} GB/s")
        for single in (False, True):
            print(f"GEMM, float{32 if single else 64} {gemm(single) / 1e9:27.1f} Gflop/s")
        for size in {n // 4, n // 2}:
            show(smo(size, 2 if quick else 3))
        for kernel in rbf(n, 50, repeat):
            show(kernel)
        for kernel in gram(n, 200, repeat):
            show(kernel)
        for kernel in products(n, 200, repeat):
            show(kernel)
        show(margin_rows(n, repeat))
        for kernel in trees(n // 2, 196, repeat):
            show(kernel)


if __name__ == "__main__":
    main()
