"""Threads that stop when the thread that waits for them is interrupted."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import copy_context
from functools import partial
from typing import Any

from consilience._core import StopFlag

__all__ = ["Map", "call_interruptibly", "map_in_threads", "stopping_threads"]

Map = Callable[..., Iterable[Any]]  # map(function, items), or the same on threads

MAX_WAIT_SECONDS = 1.5  # for threads to stop; most do so within some ten milliseconds


@contextmanager
def stopping_threads() -> Iterator[Callable[..., Any]]:
    """Yield ``run``; threads call ``run(function, *args)`` in place of ``function(*args)``.

    Python handles signals in its main thread only, so Ctrl-C would leave the threads it waits for
    at work. If the body of the context raises, KeyboardInterrupt is raised in these threads, in
    compiled loops by a flag, and the error leaves the context when they have ended: an interpreter
    that shuts down while compiled code runs in other threads would crash.
    """
    flag, changed = StopFlag(), threading.Condition()
    running: set[int] = set()
    stopped = False

    def run(function: Callable[..., Any], *args: Any) -> Any:
        thread = threading.get_ident()
        with changed:
            if stopped:
                raise KeyboardInterrupt
            running.add(thread)
        try:
            with flag:
                return function(*args)
        finally:
            while thread in running:  # KeyboardInterrupt may arrive only here
                with suppress(KeyboardInterrupt), changed:
                    running.discard(thread)
                    changed.notify_all()

    try:
        yield run
    except BaseException:
        flag.set()
        with changed:
            stopped = True
            for thread in running:
                _raise_in_thread(thread, KeyboardInterrupt)
            changed.wait_for(lambda: not running, MAX_WAIT_SECONDS)
        raise


def _raise_in_thread(thread: int, error: type[BaseException]) -> None:
    """Have a thread raise an error as soon as it executes Python code again."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))


@contextmanager
def map_in_threads(n_threads: int) -> Iterator[Map]:
    """Yield ``map`` on threads, which stop when the body of the context raises."""
    if n_threads == 1:
        yield map
        return
    with stopping_threads() as run:
        pool = ThreadPoolExecutor(n_threads)
        try:
            yield lambda function, *items: pool.map(partial(run, function), *items)
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
