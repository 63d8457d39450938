"""Where the blocks are: made anew in every pass (``Stream``), or kept by dask workers.

A driver has ``map(function, *state)``, the same blocks changed by a function; ``sum(function,
*state)``, the sum over the blocks of the tuples of arrays that a function returns; and
``collect(function, *state, each=...)``, a list of what it returns. Solvers see nothing but ``sum``.
"""

from __future__ import annotations

from joblib import Parallel, delayed

__all__ = ["Stream", "add_up"]


def add_up(parts):
    """Sum of tuples of arrays, in order; None for no parts."""
    total = None
    for part in parts:
        if total is None:
            # not the arrays themselves: they may be in use elsewhere
            total = tuple(array.copy() for array in part)
            continue
        for mine, other in zip(total, part, strict=True):
            mine += other
    return total


class Stream:
    """Blocks from a function that opens an iterator, changed on their way by functions.

    Parameters
    ----------
    open : function
        Returns an iterator over the blocks.
    n_jobs : int or None
        Threads, and blocks in memory.
    """

    def __init__(self, open, n_jobs=None, stages=()):
        self.open, self.n_jobs, self.stages = open, n_jobs, stages
        self.n_blocks = None

    def map(self, function, *state):
        """The blocks changed by a function, each time they are read."""
        changed = Stream(self.open, self.n_jobs, (*self.stages, (function, state)))
        changed.n_blocks = self.n_blocks
        return changed

    def sum(self, function, *state):
        """Sum of the tuples of arrays ``function(block, *state)``, in order."""
        return add_up(self._results(function, state, None))

    def collect(self, function, *state, each=None):
        """The results ``function(block, *state)`` in order.

        With ``each``, ``function(block, *state, value)`` for the blocks whose value is not None.
        """
        return list(self._results(function, state, each))

    def _results(self, function, state, each):
        if self.n_jobs in (None, 1):
            for block, more in self._inputs(each):
                yield self._run(block, function, (*state, *more))
            return
        run = Parallel(
            self.n_jobs, require="sharedmem", return_as="generator", pre_dispatch="n_jobs"
        )
        yield from run(
            delayed(self._run)(block, function, (*state, *more))
            for block, more in self._inputs(each)
        )

    def _inputs(self, each):
        number = -1
        for number, block in enumerate(self.open()):
            if each is None:
                yield block, ()
            elif number < len(each) and each[number] is not None:
                yield block, (each[number],)
        if self.n_blocks is not None and number + 1 != self.n_blocks:
            raise ValueError(
                f"the first pass over the data had {self.n_blocks} blocks and this one has "
                f"{number + 1}: they have to come out the same in every pass"
            )
        self.n_blocks = number + 1

    def _run(self, block, function, state):
        for change, settings in self.stages:
            block = change(block, *settings)
        return function(block, *state)
