"""One BLAS thread while an estimator works, and all of them for products that are worth it.

The solvers make many small products. BLAS threads that wait for the next one spin, which can cost
more than the products themselves, so ``fit`` and the prediction methods run with one thread. The
number of threads belongs to the process, and threadpoolctl lets a single thread control it. So the
first thread that works lowers it and restores it when it is done; the others leave it alone.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["one_blas_thread", "threads_for_product"]

# a product of fewer operations gains nothing from threads: they cost more than 1.2 times as much
MIN_THREADED_FLOPS = 4e9

_lock = threading.Lock()
_working: Counter[int] = Counter()  # contexts by thread
_owner: int | None = None  # the thread that lowered the number of threads
_threads_before: list[int] = []


@cache
def _libraries() -> list[Any]:
    """The BLAS libraries of the process: finding them takes some 10 ms, setting them 10 µs."""
    import scipy.linalg.blas  # noqa: F401  (has a library of its own)

    return ThreadpoolController().select(user_api="blas").lib_controllers


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread; contexts may be nested, and several threads may have them."""
    global _owner
    me = threading.get_ident()
    with _lock:
        _working[me] += 1
        if _owner is None:
            _owner = me
            _threads_before[:] = [library.get_num_threads() for library in _libraries()]
            _set_threads([1] * len(_threads_before))
    try:
        yield
    finally:
        with _lock:
            _working[me] -= 1
            if not _working[me]:
                del _working[me]
                if _owner == me:
                    _owner = None
                    _set_threads(_threads_before)


def threads_for_product(n: int, m: int, d: int) -> AbstractContextManager[None]:
    """Context for a product of n x d and d x m: with the user's BLAS threads if it is large."""
    return _all_blas_threads() if 2.0 * n * m * d >= MIN_THREADED_FLOPS else nullcontext()


@contextmanager
def _all_blas_threads() -> Iterator[None]:
    """Lift the limit, unless other threads work, or this one works for another."""
    with _lock:
        alone = list(_working) == [_owner] == [threading.get_ident()]
        if alone:
            _set_threads(_threads_before)
    try:
        yield
    finally:
        with _lock:
            if alone:
                _set_threads([1] * len(_threads_before))


def _set_threads(counts: list[int]) -> None:
    for library, count in zip(_libraries(), counts, strict=True):
        if library.get_num_threads() != count:
            library.set_num_threads(count)
