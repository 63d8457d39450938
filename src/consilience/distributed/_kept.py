"""Blocks that keep what was computed for them: on dask workers, or in temporary files.

Row states of iterative methods stay with their blocks here. Blocks of several drivers can be
joined, so that a pass gets the constant part of a block (bins) and the varying one (row states).
"""

from __future__ import annotations

import pickle
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

from consilience.distributed._connection import naming_lost_scheduler
from consilience.distributed._drivers import Arrays, Stream, add_up, gather_in_turn
from consilience.distributed._states import BlockStates, FileStates, WorkerStates

__all__ = ["KeptBlocks", "keep"]

FAN_IN = 8  # number of sums that one task adds up
MAX_INLINE_BYTES = 2**20  # of the states that the tasks of a pass bring along


class KeptBlocks(Protocol):
    """Blocks whose values are computed once; functions must not change their arguments."""

    def map(self, function: Callable, *state: Any) -> KeptBlocks:
        """Blocks of the results ``function(block, *state)``."""

    def with_states(self) -> BlockStates:
        """The blocks with states, which are None at first."""

    def sum(self, function: Callable[..., Arrays], *state: Any) -> Arrays:
        """Sum of the tuples of arrays ``function(block, *state)``."""

    def collect(self, function: Callable, *state: Any) -> list:
        """List of the results ``function(block, *state)``."""

    def merge(self, function: Callable) -> KeptBlocks:
        """Fewer blocks ``function([block, …])``, where every pass over a block has its price."""

    def gather(
        self, split: Callable, merge: Callable, run: Callable, groups: list, tasks: list[list]
    ) -> list[list]:
        """Bring parts of all blocks together, and compute on them.

        For every group and each of its tasks: ``run(merge([split(block, group), …]), task)``.
        """


def keep(blocks: Any) -> KeptBlocks:
    """Compute the blocks of a driver, and keep them where they are computed."""
    if isinstance(blocks, Stream):
        return FileBlocks.from_values(blocks.each())
    return WorkerBlocks(blocks.client, [blocks.futures])


# -- files -------------------------------------------------------------------------------------


class Folder:
    """A temporary folder that is deleted with this object."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="consilience-"))
        self.n_written = 0
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

    def write(self, number: int, value: Any) -> None:
        """Store the value of a block."""
        with open(self.path / str(number), "wb") as file:
            pickle.dump(value, file, protocol=5)
        self.n_written = max(self.n_written, number + 1)

    def read(self, number: int) -> Any:
        """The value of a block."""
        with open(self.path / str(number), "rb") as file:
            return pickle.load(file)  # written above


class FileBlocks:
    """Blocks in temporary files, of which one is in memory at a time."""

    def __init__(self, folder: Folder, n_blocks: int) -> None:
        self.folder, self.n_blocks = folder, n_blocks

    @classmethod
    def from_values(cls, values: Iterator) -> FileBlocks:
        """Store the values of all blocks."""
        folder, n_blocks = Folder(), 0
        for value in values:
            folder.write(n_blocks, value)
            n_blocks += 1
        return cls(folder, n_blocks)

    def map(self, function: Callable, *state: Any) -> FileBlocks:
        """Blocks of the results ``function(block, *state)``."""
        return FileBlocks.from_values(self._results(function, *state))

    def with_states(self) -> FileStates:
        """The blocks with states, in files of their own."""
        return FileStates(self, Folder())

    def sum(self, function: Callable[..., Arrays], *state: Any) -> Arrays:
        """Sum of the tuples of arrays ``function(block, *state)``."""
        return add_up(self._results(function, *state))

    def collect(self, function: Callable, *state: Any) -> list:
        """List of the results ``function(block, *state)``."""
        return list(self._results(function, *state))

    def merge(self, function: Callable) -> FileBlocks:
        """The same blocks: one is in memory at a time."""
        return self

    def gather(
        self, split: Callable, merge: Callable, run: Callable, groups: list, tasks: list[list]
    ) -> list[list]:
        """As of ``KeptBlocks``: one group in memory at a time."""
        return gather_in_turn(self.collect, split, merge, run, groups, tasks)

    def _results(self, function: Callable, *state: Any) -> Iterator:
        for number in range(self.n_blocks):
            yield function(self.folder.read(number), *state)


# -- workers -----------------------------------------------------------------------------------


class WorkerBlocks:
    """Blocks on dask workers; the scheduler recomputes those of a lost worker.

    Parameters
    ----------
    client : distributed.Client
        Where to compute.
    columns : list of lists of futures
        The parts of all blocks; each future holds a ``SizedBlock``.
    """

    def __init__(self, client: Any, columns: list[list[Any]]) -> None:
        self.client, self.columns = client, columns

    def map(self, function: Callable, *state: Any) -> WorkerBlocks:
        """Blocks of the results ``function(block, *state)``."""
        with naming_lost_scheduler(self.client):
            return WorkerBlocks(self.client, [self._submit(function, state, sized=True)])

    def with_states(self) -> WorkerStates:
        """The blocks with states, where the rows are."""
        (futures,) = self.columns
        return WorkerStates(self.client, futures)

    def sum(self, function: Callable[..., Arrays], *state: Any) -> Arrays:
        """Sum of the tuples of arrays ``function(block, *state)``, added up in a tree."""
        with naming_lost_scheduler(self.client):
            parts = self._submit(function, state)
            while len(parts) > 1:
                groups = [parts[k : k + FAN_IN] for k in range(0, len(parts), FAN_IN)]
                parts = [self.client.submit(add_up, group, pure=False) for group in groups]
            return parts[0].result()

    def collect(self, function: Callable, *state: Any) -> list:
        """List of the results ``function(block, *state)``."""
        with naming_lost_scheduler(self.client):
            return self.client.gather(self._submit(function, state))

    def merge(self, function: Callable) -> WorkerBlocks:
        """One block for each thread of the workers, of those that it has."""
        (futures,) = self.columns
        with naming_lost_scheduler(self.client):
            merged = [
                self.client.submit(_merge, function, own, pure=False, **_preferably(address))
                for address, own in self._by_thread(futures)
            ]
            return WorkerBlocks(self.client, [merged])

    def _by_thread(self, futures: list[Any]) -> list[tuple[str, list[Any]]]:
        """The blocks of each thread, and the address of its worker."""
        n_threads = self.client.nthreads()
        held: dict[str, list[Any]] = {}
        where = self.client.who_has(futures)
        for future in futures:
            addresses = where.get(future.key) or ["lost"]
            held.setdefault(min(addresses), []).append(future)
        groups = []
        for address, own in held.items():
            size = -(-len(own) // n_threads.get(address, 1))
            groups += [(address, own[k : k + size]) for k in range(0, len(own), size)]
        return groups

    def gather(
        self, split: Callable, merge: Callable, run: Callable, groups: list, tasks: list[list]
    ) -> list[list]:
        """As of ``KeptBlocks``: the groups are spread over the workers, tasks of one as well.

        Of N workers each gets every Nth task of a group, and a copy of the group's parts.
        """
        out: list[list[Any]] = []
        with naming_lost_scheduler(self.client):
            workers = list(self.client.nthreads())
            for group, own in zip(groups, tasks, strict=True):
                parts = self._submit(split, (group,), sized=True)
                out.append([None] * len(own))
                n_copies = min(len(workers), len(own))
                for k in range(n_copies):
                    place = _preferably(workers[k]) if n_copies > 1 else {}
                    submit = partial(self.client.submit, pure=False, **place)
                    merged = submit(_merge, merge, parts)
                    out[-1][k::n_copies] = [
                        submit(_run, run, task, merged) for task in own[k::n_copies]
                    ]
            return self.client.gather(out)

    def _send(self, held: bytes) -> Any:
        """A future of large bytes."""
        from consilience.distributed._dask import without_advice_on_size

        with without_advice_on_size():
            return self.client.submit(_itself, held, pure=False)

    def _submit(self, function: Callable, state: tuple, sized: bool = False) -> list[Any]:
        n_blocks = len(self.columns[0])
        # as bytes, for the scheduler would look into every list of the state
        held: Any = pickle.dumps(state, protocol=5)
        run, key = partial(_run_on, function, sized), f"consilience-{function.__name__}"
        if len(held) * n_blocks <= MAX_INLINE_BYTES:
            return self.client.map(run, [held] * n_blocks, *self.columns, pure=False, key=key)
        # as a separate task, it is sent only once, and again if its worker is lost; it goes to the
        # blocks, even where it is larger than they are
        held = self._send(held)
        where = self.client.who_has(self.columns[0])
        out = []
        for k, parts in enumerate(zip(*self.columns, strict=True)):
            addresses = where.get(self.columns[0][k].key)
            place = _preferably(min(addresses)) if addresses else {}
            name = f"{key}-{uuid4()}"
            out.append(self.client.submit(run, held, *parts, pure=False, key=name, **place))
        return out


def _preferably(address: str) -> dict[str, Any]:
    """Where to submit a task; other workers step in if this one is lost."""
    return {"workers": address, "allow_other_workers": True}


def _itself(state: bytes) -> bytes:
    return state


def _run_on(function: Callable, sized: bool, held: bytes, *parts: Any) -> Any:
    values, state = [part.value for part in parts], pickle.loads(held)
    return _sized(function(values[0] if len(values) == 1 else tuple(values), *state), sized)


def _run(function: Callable, task: Any, block: Any) -> Any:
    return function(block.value, task)


def _merge(function: Callable, parts: list[Any]) -> Any:
    return _sized(function([part.value for part in parts]), True)


def _sized(value: Any, sized: bool) -> Any:
    from consilience.distributed._dask import SizedBlock

    return SizedBlock(value) if sized else value
