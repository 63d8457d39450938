"""Blocks on dask workers: they stay where they are, only states and sums travel.

What the blocks were made from is known to the scheduler, so those of a lost worker are made again.
Nothing else imports dask, and this module is imported only when data are dask arrays.
"""

from __future__ import annotations

import pickle
from functools import partial

import dask
import dask.array as da
import numpy as np

from consilience.distributed._drivers import Stream, add_up
from consilience.views import MultiViewData
from consilience.views._lazy import cut_rows
from consilience.views._storage import is_lazy

__all__ = ["DaskBlocks", "lazy_blocks", "lazy_output"]

# sums that one task adds up
FAN_IN = 8


class DaskBlocks:
    """Blocks kept by the workers of a client.

    Parameters
    ----------
    client : distributed.Client
        Where to compute.
    futures : list of futures
        The blocks.
    """

    def __init__(self, client, futures):
        self.client, self.futures = client, futures

    @property
    def n_blocks(self):
        """Number of blocks."""
        return len(self.futures)

    def map(self, function, *state):
        """The blocks changed by a function, kept where they are."""
        return DaskBlocks(self.client, self._submit(function, state, self.futures, run=_keep))

    def sum(self, function, *state):
        """Sum of the tuples of arrays ``function(block, *state)``, added up in a tree.

        The tree depends on the number of blocks alone, and so does the rounding of the sum.
        """
        parts = self._submit(function, state, self.futures)
        while len(parts) > 1:
            groups = [parts[k : k + FAN_IN] for k in range(0, len(parts), FAN_IN)]
            parts = [self.client.submit(add_up, group, pure=False) for group in groups]
        return tuple(np.array(array) for array in parts[0].result())

    def collect(self, function, *state, each=None):
        """The results ``function(block, *state)`` in order.

        With ``each``, ``function(block, *state, value)`` for the blocks whose value is not None.
        """
        if each is None:
            return self.client.gather(self._submit(function, state, self.futures))
        wanted = [k for k, value in enumerate(each) if value is not None]
        futures, values = [self.futures[k] for k in wanted], [each[k] for k in wanted]
        return self.client.gather(self._submit(function, state, futures, values))

    def _submit(self, function, state, futures, *each, run=None):
        # as a task of its own the state is sent once, and again if its worker is lost
        state = self.client.submit(_same, state, pure=False)
        name, task = f"consilience-{function.__name__}", partial(run or _run, function)
        return self.client.map(task, futures, [state] * len(futures), *each, pure=False, key=name)


def _same(state):
    return state


def _run(function, block, state, *each):
    return function(block.value, *state, *each)


def _keep(function, block, state):
    return Kept(function(block.value, *state))


class Kept:
    """A block that tells its size: the scheduler has to know that it is not worth moving."""

    def __init__(self, value):
        self.value, buffers = value, []
        pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
        self.nbytes = sum(buffer.raw().nbytes for buffer in buffers)

    def __sizeof__(self):
        return self.nbytes


def lazy_blocks(data, y, weight, n_jobs):
    """A driver of (number, container, y, weight) for lazy views, on the client if there is one.

    Without a client the blocks are computed on this machine, one after another, in every pass.
    """
    cuts = data.present.chunks[0]
    views = {name: _pieces(view, cuts, name) for name, view in data.items()}
    present, y = _pieces(data.present, cuts, "present"), _pieces(y, cuts, "y")
    weight = [None] * len(cuts) if weight is None else _pieces(weight, cuts, "sample_weight")
    client = _client()
    make = dask.delayed(_make_block if client is None else _make_kept, pure=False)
    blocks = [
        make(k, {name: piece[k] for name, piece in views.items()}, present[k], y[k], weight[k])
        for k in range(len(cuts))
    ]
    if client is not None:
        return DaskBlocks(client, client.compute(blocks))
    return Stream(lambda: (block.compute() for block in blocks), n_jobs)


def _client():
    try:
        from distributed import get_client
    except ImportError:  # dask alone
        return None
    try:
        return get_client()
    except ValueError:
        return None


def _pieces(values, cuts, name):
    """Delayed blocks of an array; those of an array in memory are cut here."""
    if not is_lazy(values):
        values = np.asarray(values)
    if values.shape[0] != sum(cuts):
        raise ValueError(f"X has {sum(cuts)} samples, but {name} has {values.shape[0]}")
    return cut_rows(values, cuts, name).to_delayed().reshape(-1).tolist()


def _make_block(number, views, present, y, weight):
    return number, MultiViewData(views, present=present), y, weight


def _make_kept(*parts):
    return Kept(_make_block(*parts))


def lazy_output(model, method, data, shape, dtype):
    """``model.method`` of every block of lazy views as one dask array; ``shape`` is that of a row.

    The views differ in width, so the blocks are joined one by one, not by an operation on arrays.
    """
    cuts, names = data.present.chunks[0], data.view_names
    pieces = [_pieces(view, cuts, name) for name, view in data.items()]
    present, model = _pieces(data.present, cuts, "present"), dask.delayed(model, pure=False)
    call = dask.delayed(_predict_block, pure=False)
    parts = [
        da.from_delayed(
            call(model, method, names, [piece[k] for piece in pieces], present[k], shape, dtype),
            shape=(rows, *shape),
            dtype=dtype,
        )
        for k, rows in enumerate(cuts)
    ]
    return da.concatenate(parts)


def _predict_block(model, method, names, views, present, shape, dtype):
    if len(present) == 0:
        return np.empty((0, *shape), dtype=dtype)
    data = MultiViewData(dict(zip(names, views, strict=True)), present=present)
    return getattr(model, method)(data)
