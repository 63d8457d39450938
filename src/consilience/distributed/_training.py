"""From blocks of rows to checked training blocks: labels, weights, layout, and samples of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.random import sample_without_replacement

from consilience._targets import check_labels, check_weights, class_weights
from consilience.distributed._drivers import Stream
from consilience.distributed._sequence import BlockSequence
from consilience.views import MultiViewData
from consilience.views._input import has_dask_views, read_input, read_lazy
from consilience.views._layout import ViewLayout, check_values
from consilience.views._storage import format_list

__all__ = ["Rows", "Training", "comes_in_blocks", "pick", "predict_lazily", "read_training"]


@dataclass
class Rows:
    """Some training rows: checked views, codes of the classes (labels before), weights."""

    data: MultiViewData
    codes: np.ndarray
    weight: np.ndarray


@dataclass
class Training:
    """Checked training data in blocks.

    Attributes
    ----------
    blocks : driver
        Of ``Rows``.
    sizes : int array of shape (n_blocks,)
        Rows of each block.
    present : int array of shape (n_blocks, V)
        How many rows of each block have which view.
    totals : float array of shape (n_classes,)
        Sum of the weights of each class.
    widths : tuple of V ints
        Columns of each view.
    """

    blocks: Any
    sizes: np.ndarray
    present: np.ndarray
    totals: np.ndarray
    widths: tuple

    @property
    def n(self):
        """Number of rows."""
        return int(self.sizes.sum())

    def map_and_release(self, function, *state):
        """The blocks changed by a function; the rows as they are now are given up."""
        blocks, self.blocks = self.blocks.map(function, *state), None
        return blocks

    def sample(self, size, rng):
        """``Rows`` drawn at random, ``size`` at most and all of them in order if they are fewer.

        A view that hardly any of these rows has gets rows of its own, ``size`` at most.
        """
        drawn = self._fetch(draw(self.sizes, size, rng), None)
        result, is_present = drawn.data.present.sum(axis=0), self.present.sum(axis=0)
        parts = [drawn]
        for v in np.flatnonzero((result < size / 4) & (result < is_present)):
            more = draw(self.present[:, v], min(size, is_present[v]), rng)
            # what was drawn already has this view too: leave it out
            parts[0] = take(parts[0], np.flatnonzero(~parts[0].data.present[:, v]))
            parts.append(self._fetch(more, v))
        return parts[0] if len(parts) == 1 else join([part for part in parts if len(part.codes)])

    def _fetch(self, wanted, view):
        return join(self.blocks.collect(pick, view, each=wanted))


def draw(sizes, size, rng):
    """Positions in each block (None for no position) of rows drawn without replacement."""
    n = int(sizes.sum())
    chosen = np.arange(n)
    if size < n:
        chosen = np.sort(sample_without_replacement(n, size, random_state=rng))
    ends = np.cumsum(sizes)
    parts = np.split(chosen, np.searchsorted(chosen, ends[:-1]))
    starts = ends - sizes
    return [p - start if len(p) else None for p, start in zip(parts, starts, strict=True)]


def pick(rows, view, positions):
    """Rows by position, among those that have the view if one is given."""
    if view is not None:
        positions = np.flatnonzero(rows.data.present[:, view])[positions]
    return take(rows, positions)


def take(rows, positions):
    return Rows(rows.data[positions], rows.codes[positions], rows.weight[positions])


def join(parts):
    """Rows one below the other."""
    first = parts[0].data
    views = {
        name: stack([(part.data[name], part.data.present[:, v].any()) for part in parts])
        for v, name in enumerate(first.view_names)
    }
    present = np.vstack([part.data.present for part in parts])
    codes, weight = (np.concatenate([getattr(p, f) for p in parts]) for f in ("codes", "weight"))
    return Rows(MultiViewData(views, present=present), codes, weight)


def stack(pieces):
    """Matrices one below the other; those that no row has stand in for any storage and dtype."""
    is_present = [X for X, any_present in pieces if any_present] or [X for X, _ in pieces]
    dtype = np.result_type(*(X.dtype for X in is_present))
    if all(sp.issparse(X) for X in is_present):
        return sp.vstack([sp.csr_array(X, dtype=dtype) for X, _ in pieces], format="csr")
    dense = [X.toarray() if sp.issparse(X) else X for X, _ in pieces]
    return np.vstack([X.astype(dtype, copy=False) for X in dense])


# -- reading -----------------------------------------------------------------------------------


def comes_in_blocks(X):
    """True for a BlockSequence and for dask arrays."""
    return isinstance(X, BlockSequence) or has_dask_views(X)


def read_training(estimator, X, y, sample_weight, n_jobs):
    """Checked blocks, with the estimator's layout, classes and prior set."""
    if isinstance(X, BlockSequence):
        if y is not None or sample_weight is not None:
            raise ValueError("the blocks bring y and sample_weight: pass the BlockSequence alone")
        blocks = _stream_of_sequence(estimator, X, n_jobs)
    else:
        blocks = _blocks_of_dask(estimator, X, y, sample_weight, n_jobs)
    result = blocks.collect(summarise_block)
    sizes, present, seen, totals = (list(column) for column in zip(*result, strict=True))
    classes = np.unique(np.concatenate(seen))
    if len(classes) < 2:
        raise ValueError(
            f"{type(estimator).__name__} needs samples of at least 2 classes, but the data have "
            f"{len(classes)} class: {format_list(classes)}"
        )
    total = np.zeros(len(classes))
    for labels, values in zip(seen, totals, strict=True):
        total[np.searchsorted(classes, labels)] += values
    weighted = class_weights(
        getattr(estimator, "class_weight", None), classes, np.arange(len(classes)), total
    )
    estimator.classes_, estimator.class_prior_ = classes, weighted / weighted.sum()
    blocks = blocks.map(encode, classes, weighted / total)
    return Training(blocks, np.array(sizes), np.array(present), weighted, estimator._layout.widths)


def _stream_of_sequence(estimator, X, n_jobs):
    first = next(iter(X.open()), None)
    if first is None:
        raise ValueError("the BlockSequence has no rows")
    _naming_block(first[0], read_input, estimator, first[1], reset=True)
    stream = Stream(X.open, n_jobs)
    return stream.map(
        validate_block,
        lambda data: read_input(estimator, data, reset=False),
        *_kinds_and_name(estimator),
    )


def _blocks_of_dask(estimator, X, y, sample_weight, n_jobs):
    from consilience.distributed._dask import lazy_blocks

    if y is None:
        check_labels(None, 0, type(estimator).__name__)
    data = read_lazy(X, estimator.views)
    if len(data) == 0:
        raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required")
    estimator._layout = layout = ViewLayout.from_data(data)
    estimator.view_names_, estimator.n_views_in_ = list(data.view_names), data.n_views
    estimator.n_features_in_ = data.shape[1]
    estimator.__dict__.pop("feature_names_in_", None)
    blocks = lazy_blocks(data, y, sample_weight, n_jobs)
    return blocks.map(validate_block, layout.align, *_kinds_and_name(estimator))


def _kinds_and_name(estimator):
    return ("features",), type(estimator).__name__


def validate_block(block, read, kinds, method):
    """Rows of a block with labels still as they are; errors name the block."""
    number, X, y, weight = block
    return _naming_block(number, _check, X, y, weight, read, kinds, method)


def _naming_block(number, function, *args, **settings):
    try:
        return function(*args, **settings)
    except (TypeError, ValueError) as error:
        raise type(error)(f"block {number}: {error}") from error


def _check(X, y, weight, read, kinds, method):
    data = check_values(read(X), kinds, method)
    y = check_labels(y, len(data), method)
    weight = np.ones(len(data)) if weight is None else np.asarray(weight, dtype=np.float64)
    if weight.shape != y.shape or weight.any():  # a block may weigh nothing, all of them not
        weight = check_weights(weight, len(data))
    empty = np.flatnonzero(~data.present.any(axis=1))
    if len(empty):
        raise ValueError(
            f"{len(empty)} training rows have no view at all (Input contains NaN everywhere): "
            f"rows {format_list(empty)}; drop them before fit"
        )
    if not weight.all():
        kept = np.flatnonzero(weight)
        data, y, weight = data[kept], y[kept], weight[kept]
    return Rows(data, y, weight)


def summarise_block(rows):
    """Rows, rows that have each view, labels, and weight of each label."""
    labels, codes = np.unique(rows.codes, return_inverse=True)
    weights = np.bincount(codes, weights=rows.weight, minlength=len(labels))
    return len(rows.codes), rows.data.present.sum(axis=0), labels, weights


def encode(rows, classes, factors):
    """Labels to codes, weights times those of the classes."""
    codes = np.searchsorted(classes, rows.codes)
    return Rows(rows.data, codes, rows.weight * factors[codes])


def predict_lazily(model, method, X, shape, dtype):
    """``model.method`` of lazy views, as a dask array; ``shape`` is that of a row."""
    from consilience.distributed._dask import lazy_output

    data = read_lazy(X, model.views)
    _check_layout(model, data)
    return lazy_output(model, method, data, shape, dtype)


def _check_layout(model, data):
    """Tell of a wrong layout at once, not when the blocks are computed."""
    rows = {name: sp.csr_array((1, width)) for name, width in data.widths.items()}
    model._layout.align(MultiViewData(rows))
