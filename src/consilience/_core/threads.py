"""Threads that stop when the thread that waits for them is interrupted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from consilience._core import StopFlag

__all__ = ["stopping_threads"]


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
