"""Blocks that stay on dask workers; only states and sums are transferred.

The scheduler knows the task graph of the blocks and recomputes those of a lost worker. This is the
only module that imports dask, and it is imported only if the data are dask arrays.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import dask
import dask.array as da
import numpy as np

from consilience.distributed._connection import naming_lost_scheduler
from consilience.distributed._drivers import Arrays, Stream, add_up
from consilience.views import MultiViewData
from consilience.views._lazy import chunk_rows
from consilience.views._storage import is_lazy

__all__ = ["DaskBlocks", "lazy_blocks", "lazy_output", "without_advice_on_size"]

FAN_IN = 8  # number of sums that one task adds up


class DaskBlocks:
    """Blocks kept by the workers of a client.

    Parameters
    ----------
    client : distributed.Client
        Where to compute.
    futures : list of futures
        The blocks.
    """

    def __init__(self, client: Any, futures: list[Any]) -> None:
        self.client, self.futures = client, futures

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(self.futures)

    def map(self, function: Callable, *state: Any, each: list | None = None) -> DaskBlocks:
        """Apply a function to every block; the results stay on the workers."""
        values = [] if each is None else [each]
        with naming_lost_scheduler(self.client):
            futures = self._submit(function, state, self.futures, *values, run=_run_sized)
        return DaskBlocks(self.client, futures)

    def sum(self, function: Callable[..., Arrays], *state: Any) -> Arrays:
        """Sum of the tuples of arrays ``function(block, *state)``, added up in a tree.

        The tree depends on the number of blocks alone, and so does the rounding of the sum.
        """
        with naming_lost_scheduler(self.client):
            parts = self._submit(function, state, self.futures)
            while len(parts) > 1:
                groups = [parts[k : k + FAN_IN] for k in range(0, len(parts), FAN_IN)]
                parts = [self.client.submit(add_up, group, pure=False) for group in groups]
            return tuple(np.array(array) for array in parts[0].result())

    def collect(self, function: Callable, *state: Any, each: list | None = None) -> list:
        """List of the results ``function(block, *state)``.

        With ``each``, ``function(block, *state, value)`` for the blocks whose value is not None.
        """
        futures, values = self.futures, []
        if each is not None:
            selected = [k for k, value in enumerate(each) if value is not None]
            futures, values = [self.futures[k] for k in selected], [[each[k] for k in selected]]
        with naming_lost_scheduler(self.client):
            return self.client.gather(self._submit(function, state, futures, *values))

    def fold(self, function: Callable, states: list) -> list:
        """Carry states through the blocks, in order: ``state = function(block, state)``.

        Each state goes its own way from worker to worker, so that they move at the same time.
        """
        ends = []
        with naming_lost_scheduler(self.client):
            for state in states:
                carried = self.client.submit(_itself, state, pure=False)
                for block in self.futures:
                    carried = self.client.submit(_carry, function, block, carried, pure=False)
                ends.append(carried)
            return self.client.gather(ends)

    def _submit(
        self,
        function: Callable,
        state: tuple,
        futures: list[Any],
        *each: list,
        run: Callable | None = None,
    ) -> list[Any]:
        # as a separate task, the state is sent only once, and again if its worker is lost
        state = self.client.submit(_itself, state, pure=False)
        name, task = f"consilience-{_name(function)}", partial(run or _run, function)
        return self.client.map(task, futures, [state] * len(futures), *each, pure=False, key=name)


def _name(function: Callable) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _itself(state: Any) -> Any:
    return state


def _carry(function: Callable, block: SizedBlock, state: Any) -> Any:
    return function(block.value, state)


def _run(function: Callable, block: SizedBlock, state: tuple, *each: Any) -> Any:
    return function(block.value, *state, *each)


def _run_sized(function: Callable, block: SizedBlock, state: tuple, *each: Any) -> SizedBlock:
    return SizedBlock(function(block.value, *state, *each))


def without_advice_on_size() -> Any:
    """Context in which dask does not tell the user to load what a fit sends to the workers."""
    return dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"})


class SizedBlock:
    """A block that reports its size, so that the scheduler knows the cost of moving it."""

    def __init__(self, value: Any) -> None:
        self.value = value
        buffers: list[pickle.PickleBuffer] = []
        pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
        self.nbytes = sum(buffer.raw().nbytes for buffer in buffers)

    def __sizeof__(self) -> int:
        return self.nbytes


def lazy_blocks(
    data: MultiViewData, y: Any, weight: Any, n_jobs: int | None, groups: Any = None
) -> Any:
    """Driver of blocks (number, container, y, weight) of lazy views, on the client if there is one.

    Without a client, the blocks are computed sequentially on this machine in every pass.
    """
    chunks = row_chunks(data)
    views = {name: _pieces(view, chunks, name) for name, view in data.items()}
    present, y = _pieces(data.present, chunks, "present"), _pieces(y, chunks, "y")
    weight, groups = (
        [None] * len(chunks) if values is None else _pieces(values, chunks, name)
        for values, name in ((weight, "sample_weight"), (groups, "groups"))
    )
    client = _client()
    make = dask.delayed(_make_block if client is None else _make_sized_block, pure=False)
    blocks = [
        make(k, {name: piece[k] for name, piece in views.items()}, present[k], *rest)
        for k, rest in enumerate(zip(y, weight, groups, strict=True))
    ]
    if client is not None:
        return DaskBlocks(client, client.compute(blocks))
    return Stream(lambda: (block.compute() for block in blocks), n_jobs)


def row_chunks(data: MultiViewData) -> tuple[int, ...]:
    """Number of rows of each block."""
    present: Any = data.present
    return present.chunks[0]


def _client() -> Any:
    try:
        from distributed import get_client
    except ImportError:  # dask alone
        return None
    try:
        return get_client()
    except ValueError:
        return None


def _pieces(values: Any, chunks: tuple[int, ...], name: str) -> list[Any]:
    """Delayed blocks of an array; an array in memory is split into chunks first."""
    if not is_lazy(values):
        values = np.asarray(values)
    if values.shape[0] != sum(chunks):
        raise ValueError(f"X has {sum(chunks)} samples, but {name} has {values.shape[0]}")
    return chunk_rows(values, chunks, name).to_delayed().reshape(-1).tolist()


def _make_block(
    number: int, views: dict[str, Any], present: np.ndarray, y: np.ndarray, weight: Any, groups: Any
) -> tuple:
    return number, MultiViewData(views, present=present, groups=groups), y, weight


def _make_sized_block(*parts: Any) -> SizedBlock:
    return SizedBlock(_make_block(*parts))


def lazy_output(model: Any, method: str, data: MultiViewData, shape: tuple, dtype: np.dtype) -> Any:
    """``model.method`` of every block as one dask array; ``shape`` is that of one row's output.

    Blocks are passed individually, because the views differ in width.
    """
    chunks, names = row_chunks(data), data.view_names
    pieces = [_pieces(view, chunks, name) for name, view in data.items()]
    present, model = _pieces(data.present, chunks, "present"), dask.delayed(model, pure=False)
    call = dask.delayed(_predict_block, pure=False)
    parts = [
        da.from_delayed(
            call(model, method, names, [piece[k] for piece in pieces], present[k], shape, dtype),
            shape=(rows, *shape),
            dtype=dtype,
        )
        for k, rows in enumerate(chunks)
    ]
    return da.concatenate(parts)


def _predict_block(
    model: Any,
    method: str,
    names: tuple[str, ...],
    views: list[Any],
    present: np.ndarray,
    shape: tuple,
    dtype: np.dtype,
) -> np.ndarray:
    if len(present) == 0:
        return np.empty((0, *shape), dtype=dtype)
    data = MultiViewData(dict(zip(names, views, strict=True)), present=present)
    return getattr(model, method)(data)
