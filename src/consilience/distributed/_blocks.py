"""Reading, validation and sampling of training data in blocks.

The first pass over the data validates every block, in the same way as data in memory; later passes
only convert them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.random import sample_without_replacement

from consilience._targets import check_labels, check_weights
from consilience._training import (
    LabelledRows,
    TrainingClasses,
    TrainingRows,
    encode_rows,
    label_totals,
    validate_rows,
)
from consilience.distributed._drivers import Driver, Stream
from consilience.distributed._sequence import BlockSequence
from consilience.views import MultiViewData
from consilience.views._index import check_aligned
from consilience.views._input import (
    has_dask_views,
    read_input,
    read_lazy,
    set_layout,
    set_n_features,
)
from consilience.views._layout import ViewLayout, check_values

__all__ = ["BlockTraining", "comes_in_blocks", "draw", "read_blocks"]

T = TypeVar("T")
Positions = list[np.ndarray | None]


@dataclass
class BlockTraining:
    """Validated training data in blocks.

    Attributes
    ----------
    blocks : driver
        Blocks of ``TrainingRows``.
    sizes : int array of shape (n_blocks,)
        Number of rows of each block.
    present : int array of shape (n_blocks, n_views)
        Number of rows of each block that have each view.
    totals : float array of shape (n_classes,)
        Total weight of each class.
    widths : tuple of int
        Number of columns of each view.
    class_counts : int array of shape (n_classes,)
        Number of rows of each class.
    n_values : int
        Number of values in all views, of sparse ones of those that are stored.
    """

    blocks: Any
    sizes: np.ndarray
    present: np.ndarray
    totals: np.ndarray
    widths: tuple[int, ...]
    class_counts: np.ndarray
    n_values: int

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.sizes.sum())

    @property
    def starts(self) -> list[int]:
        """Number of the first row of each block."""
        return (np.cumsum(self.sizes) - self.sizes).tolist()

    def map_and_release(self, function: Callable, *state: Any, each: list | None = None) -> Driver:
        """Apply a function to the blocks and release the original rows."""
        blocks, self.blocks = self.blocks.map(function, *state, each=each), None
        return blocks

    def sample(self, size: int, rng: np.random.RandomState) -> TrainingRows:
        """Draw at most ``size`` random rows; all rows in order if there are fewer.

        For a view that is present in few of them, up to ``size`` rows with that view are added.
        """
        drawn, _ = self._fetch(draw(self.sizes, size, rng), None)
        n_drawn, n_rows = drawn.data.present.sum(axis=0), self.present.sum(axis=0)
        parts, taken = [drawn], np.empty(0, dtype=np.intp)
        for v in np.flatnonzero((n_drawn < size / 4) & (n_drawn < n_rows)):
            extra = draw(self.present[:, v], min(size, n_rows[v]), rng)
            # rows with this view may be drawn twice, so the previously drawn ones are dropped
            parts[0] = parts[0].take(np.flatnonzero(~parts[0].data.present[:, v]))
            rows, numbers = self._fetch(extra, int(v))
            parts.append(rows.take(np.flatnonzero(~np.isin(numbers, taken))))
            taken = np.union1d(taken, numbers)
        return parts[0] if len(parts) == 1 else join([part for part in parts if len(part.codes)])

    def _fetch(self, positions: Positions, view: int | None) -> tuple[TrainingRows, np.ndarray]:
        """Rows by position, among those that have the view if it is not None, and their numbers."""
        parts, places = zip(*self.blocks.collect(pick, view, each=positions), strict=True)
        starts = [start for start, p in zip(self.starts, positions, strict=True) if p is not None]
        numbers = [start + place for start, place in zip(starts, places, strict=True)]
        return join(parts), np.concatenate(numbers)


def draw(sizes: np.ndarray, size: int, rng: np.random.RandomState) -> Positions:
    """Draw rows without replacement; return their positions in each block (None for none)."""
    n = int(sizes.sum())
    chosen = np.arange(n)
    if size < n:
        chosen = np.sort(sample_without_replacement(n, size, random_state=rng))
    ends = np.cumsum(sizes)
    parts = np.split(chosen, np.searchsorted(chosen, ends[:-1]))
    starts = ends - sizes
    return [p - start if len(p) else None for p, start in zip(parts, starts, strict=True)]


def pick(
    rows: TrainingRows, view: int | None, positions: np.ndarray
) -> tuple[TrainingRows, np.ndarray]:
    """Select rows by position, among those that have the view if it is not None; and which."""
    if view is not None:
        positions = np.flatnonzero(rows.data.present[:, view])[positions]
    return rows.take(positions), positions


def join(parts: Sequence[TrainingRows]) -> TrainingRows:
    """Concatenate rows."""
    first = parts[0].data
    views = {
        name: stack([(part.data[name], bool(part.data.present[:, v].any())) for part in parts])
        for v, name in enumerate(first.view_names)
    }
    present = np.vstack([part.data.present for part in parts])
    codes, weight = (np.concatenate([getattr(p, f) for p in parts]) for f in ("codes", "weight"))
    groups = [part.data.groups for part in parts if part.data.groups is not None]
    data = MultiViewData(
        views,
        present=present,
        groups=np.concatenate(groups) if len(groups) == len(parts) else None,
    )
    return TrainingRows(data, codes, weight)


def stack(pieces: Sequence[tuple[Any, bool]]) -> Any:
    """Stack matrices; those without present rows do not affect the storage and dtype."""
    with_rows = [X for X, any_present in pieces if any_present] or [X for X, _ in pieces]
    dtype = np.result_type(*(X.dtype for X in with_rows))
    if all(sp.issparse(X) for X in with_rows):
        return sp.vstack([sp.csr_array(X, dtype=dtype) for X, _ in pieces], format="csr")
    dense = [X.toarray() if sp.issparse(X) else X for X, _ in pieces]
    return np.vstack([X.astype(dtype, copy=False) for X in dense])


# -- reading -----------------------------------------------------------------------------------


def comes_in_blocks(X: Any) -> bool:
    """Return True for a BlockSequence and for dask arrays."""
    return isinstance(X, BlockSequence) or has_dask_views(X)


@dataclass(frozen=True)
class BlockReader:
    """Converts blocks (number, X, y, sample_weight) to ``LabelledRows``; errors name the block."""

    read: Callable[[Any], MultiViewData]
    kinds: tuple[str, ...]
    method: str
    nan_views: tuple[str, ...] = ()

    def validate(self, block: tuple) -> LabelledRows:
        """Validate a block in the same way as data in memory."""
        return self._naming_block(block, self._validate)

    def convert(self, block: tuple) -> LabelledRows:
        """Convert a block that was validated in an earlier pass."""
        return self._naming_block(block, self._convert)

    def _validate(self, X: Any, y: Any, weight: Any) -> LabelledRows:
        data = check_values(self.read(X), self.kinds, self.method, nan_views=self.nan_views)
        check_aligned(data, y=y, sample_weight=weight)
        y = check_labels(y, len(data), self.method)
        # all weights of a block may be zero, as long as others have positive weights
        if weight is not None and (np.shape(weight) != y.shape or np.any(weight)):
            check_weights(weight, len(data))
        return self._rows(data, y, weight)

    def _convert(self, X: Any, y: Any, weight: Any) -> LabelledRows:
        data = check_values(self.read(X), self.kinds, self.method, check_finite=False)
        return self._rows(data, np.asarray(y).reshape(-1), weight)

    @staticmethod
    def _rows(data: MultiViewData, y: np.ndarray, weight: Any) -> LabelledRows:
        # a number is the weight of every row
        weight = np.full(len(data), 1.0 if weight is None else weight, dtype=np.float64)
        return validate_rows(LabelledRows(data, y, weight), drop_zero_weights=True)

    @staticmethod
    def _naming_block(block: tuple, function: Callable[..., T]) -> T:
        number, *parts = block
        try:
            return function(*parts)
        except (TypeError, ValueError) as error:
            raise type(error)(f"block {number}: {error}") from error


def read_blocks(
    estimator: Any, X: Any, y: Any, sample_weight: Any, groups: Any = None
) -> BlockTraining:
    """Validate all blocks; set the layout, classes and class prior of the estimator."""
    if isinstance(X, BlockSequence):
        check_sequence_alone(y, sample_weight, groups)
        raw, reader = _open_sequence(estimator, X)
    else:
        raw, reader = _open_dask(estimator, X, y, sample_weight, groups)
    return validate_blocks(raw, reader, estimator._set_classes, estimator._layout.widths)


def check_sequence_alone(y: Any, sample_weight: Any, groups: Any = None) -> None:
    """Raise an error for labels, weights or groups beside a BlockSequence."""
    if y is not None or sample_weight is not None:
        raise ValueError(
            "y and sample_weight must not be passed with a BlockSequence, which contains them"
        )
    if groups is not None:
        raise ValueError(
            "groups must not be passed with a BlockSequence; set them in the MultiViewData of "
            "its blocks"
        )


def validate_blocks(
    raw: Any,
    reader: BlockReader,
    set_classes: Callable[[list], TrainingClasses],
    widths: tuple[int, ...],
) -> BlockTraining:
    """Validate all blocks; ``set_classes`` gets the label totals of all of them."""
    validated = raw.map(reader.validate)
    sizes, present, totals, counts, n_values = zip(*validated.collect(summarise), strict=True)
    classes = set_classes(list(totals))
    class_counts = np.zeros(len(classes.classes), dtype=np.int64)
    for (labels, _), count in zip(totals, counts, strict=True):
        class_counts[np.searchsorted(classes.classes, labels)] += count
    # blocks on workers are stored validated; a stream is read again, without a second validation
    rows = raw.map(reader.convert) if isinstance(raw, Stream) else validated
    if isinstance(raw, Stream):
        rows.n_blocks = len(sizes)
    return BlockTraining(
        rows.map(encode_rows, classes),
        np.array(sizes),
        np.array(present),
        classes.totals,
        widths,
        class_counts,
        sum(n_values),
    )


def summarise(
    rows: LabelledRows,
) -> tuple[int, np.ndarray, tuple[np.ndarray, list[int]], np.ndarray, int]:
    """Numbers of rows and of rows that have each view; totals and counts of labels; of values."""
    labels, totals = label_totals(rows)
    known = rows.y[rows.weight > 0]
    counts = np.bincount(np.searchsorted(labels, known), minlength=len(labels))
    n_values = sum(X.nnz if sp.issparse(X) else X.size for _, X in rows.data.items())
    return len(rows.y), rows.data.present.sum(axis=0), (labels, totals), counts, n_values


def _open_sequence(estimator: Any, X: BlockSequence) -> tuple[Stream, BlockReader]:
    first = next(iter(X.open()), None)
    if first is None:
        raise ValueError("the BlockSequence has no rows")
    BlockReader._naming_block(first[:2], lambda views: read_input(estimator, views, reset=True))

    def read(views: Any) -> MultiViewData:
        return read_input(estimator, views, reset=False)

    return Stream(X.open, getattr(estimator, "n_jobs", None)), _make_reader(estimator, read)


def _make_reader(estimator: Any, read: Callable[[Any], MultiViewData]) -> BlockReader:
    nan_views = tuple(estimator._nan_views(estimator.view_names_))
    return BlockReader(read, ("features",), type(estimator).__name__, nan_views)


def _open_dask(
    estimator: Any, X: Any, y: Any, sample_weight: Any, groups: Any
) -> tuple[Any, BlockReader]:
    from consilience.distributed._dask import lazy_blocks

    if y is None:
        check_labels(None, 0, type(estimator).__name__)
    data = read_lazy(X, estimator.views)
    check_aligned(data, y=y, sample_weight=sample_weight, groups=groups)
    if len(data) == 0:
        raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required")
    layout = ViewLayout.from_data(data)
    set_layout(estimator, data, layout)
    set_n_features(estimator, data)
    groups = data.groups if groups is None else groups
    n_jobs = getattr(estimator, "n_jobs", None)
    blocks = lazy_blocks(data, y, sample_weight, n_jobs, groups)
    return blocks, _make_reader(estimator, layout.align)
