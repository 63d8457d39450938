"""Threads that stop when the thread that waits for them is interrupted."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import partial
from typing import Any

from consilience._core import StopFlag

__all__ = ["call_interruptibly", "map_in_threads", "stopping_threads"]


@contextmanager
def stopping_threads() -> Iterator[Callable[..., Any]]:
    """Yield ``run``; threads call ``run(function, *args)`` in place of ``function(*args)``.

    Python handles signals in its main thread only, so Ctrl-C would leave the threads it waits for
    in their compiled loops. If the body of the context raises, these loops raise KeyboardInterrupt.
    """
    flag = StopFlag()

    def run(function: Callable[..., Any], *args: Any) -> Any:
        with flag:
            return function(*args)

    try:
        yield run
    except BaseException:
        flag.set()
        raise


@contextmanager
def map_in_threads(n_threads: int) -> Iterator[Callable[..., Iterable[Any]]]:
    """Yield ``map(function, items)`` on threads, which stop when the body of the context raises."""
    if n_threads == 1:
        yield map
        return
    with stopping_threads() as run:
        pool = ThreadPoolExecutor(n_threads)
        try:
            yield lambda function, items: pool.map(partial(run, function), items)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def call_interruptibly(function: Callable[..., Any], *args: Any) -> Any:
    """Return ``function(*args)``, run in another thread, so that Ctrl-C at least ends the wait.

    For calls of NumPy that take seconds and release the GIL, as its linear algebra does; the thread
    is left to itself.
    """
    if threading.current_thread() is not threading.main_thread():
        return function(*args)
    result: list[Any] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            result.append(function(*args))
        except BaseException as error:  # raised again by the caller
            errors.append(error)

    thread = threading.Thread(target=copy_context().run, args=(run,), daemon=True)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return result[0]
