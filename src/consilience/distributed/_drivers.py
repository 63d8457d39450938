"""Drivers of blocks, which are read again in every pass (``Stream``) or stored on dask workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

import numpy as np
from joblib import Parallel, delayed

from consilience._core.threads import stopping_threads

__all__ = ["Driver", "Stream", "add_up", "gather_in_turn"]

Arrays = tuple[np.ndarray, ...]


class Driver(Protocol):
    """Blocks in any location; solvers only use ``sum``."""

    def map(self, function: Callable, *state: Any, each: list | None = None) -> Driver:
        """Apply a function to every block; the blocks stay where they are.

        With ``each``, a list over the blocks, ``function(block, *state, value)``.
        """

    def sum(self, function: Callable[..., Arrays], *state: Any) -> Arrays:
        """Sum of the tuples of arrays ``function(block, *state)`` over the blocks."""

    def collect(self, function: Callable, *state: Any, each: list | None = None) -> list:
        """List of the results ``function(block, *state)``.

        With ``each``, ``function(block, *state, value)`` for the blocks whose value is not None.
        """

    def fold(self, function: Callable, states: list) -> list:
        """Carry states through the blocks, in order: ``state = function(block, state)``.

        The states do not see each other; ``function`` must not change its arguments.
        """


def add_up(parts: Iterable[Arrays]) -> Arrays:
    """Sum of tuples of arrays, in order."""
    total: Arrays | None = None
    for part in parts:
        if total is None:
            # copied, because the arrays may be used elsewhere
            total = tuple(array.copy() for array in part)
            continue
        for sum_, array in zip(total, part, strict=True):
            sum_ += array
    assert total is not None, "there must be at least one block"
    return total


class Stream:
    """Blocks of an iterator that is opened anew for every pass, processed by a chain of functions.

    Parameters
    ----------
    open : function
        Returns an iterator over the blocks.
    n_jobs : int or None
        Number of threads, and of blocks in memory at the same time.
    """

    def __init__(
        self,
        open: Callable[[], Iterator],
        n_jobs: int | None = None,
        stages: tuple[tuple[Callable, tuple, list | None], ...] = (),
    ) -> None:
        self.open, self.n_jobs, self.stages = open, n_jobs, stages
        self.n_blocks: int | None = None

    def map(self, function: Callable, *state: Any, each: list | None = None) -> Stream:
        """Apply a function to every block, each time it is read."""
        changed = Stream(self.open, self.n_jobs, (*self.stages, (function, state, each)))
        changed.n_blocks = self.n_blocks
        return changed

    def sum(self, function: Callable[..., Arrays], *state: Any) -> Arrays:
        """Sum of the tuples of arrays ``function(block, *state)``, in order."""
        return add_up(self._results(function, state, None))

    def collect(self, function: Callable, *state: Any, each: list | None = None) -> list:
        """List of the results ``function(block, *state)``.

        With ``each``, ``function(block, *state, value)`` for the blocks whose value is not None.
        """
        return list(self._results(function, state, each))

    def each(self) -> Iterator:
        """Iterate over the blocks."""
        return self._results(_itself, (), None)

    def fold(self, function: Callable, states: list) -> list:
        """Carry states through the blocks, in order: ``state = function(block, state)``."""
        for number, block, _ in self._inputs(None):
            rows = self._run(number, block, _itself, ())
            states = [function(rows, state) for state in states]
        return states

    def _results(self, function: Callable, state: tuple, each: list | None) -> Iterator:
        if self.n_jobs in (None, 1):
            for number, block, value in self._inputs(each):
                yield self._run(number, block, function, (*state, *value))
            return
        run = Parallel(
            self.n_jobs, require="sharedmem", return_as="generator", pre_dispatch="n_jobs"
        )
        with stopping_threads() as call:
            yield from run(
                delayed(call)(self._run, number, block, function, (*state, *value))
                for number, block, value in self._inputs(each)
            )

    def _inputs(self, each: list | None) -> Iterator[tuple[int, Any, tuple]]:
        number = -1
        for number, block in enumerate(self.open()):
            if each is None:
                yield number, block, ()
            elif number < len(each) and each[number] is not None:
                yield number, block, (each[number],)
        if self.n_blocks is not None and number + 1 != self.n_blocks:
            raise ValueError(
                f"every pass over the data must yield the same blocks, but the first had "
                f"{self.n_blocks} and this one has {number + 1}"
            )
        self.n_blocks = number + 1

    def _run(self, number: int, block: Any, function: Callable, state: tuple) -> Any:
        for process, settings, each in self.stages:
            block = process(block, *settings, *(() if each is None else (each[number],)))
        return function(block, *state)


def _itself(block: Any) -> Any:
    return block


def gather_in_turn(
    collect: Callable[..., list],
    split: Callable,
    merge: Callable,
    run: Callable,
    groups: list,
    tasks: list[list],
) -> list[list]:
    """Results of the tasks of each group, with the parts of one group in memory at a time."""
    out = []
    for group, own in zip(groups, tasks, strict=True):
        merged = merge(collect(split, group))
        out.append([run(merged, task) for task in own])
        del merged
    return out
