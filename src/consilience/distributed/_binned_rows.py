"""Training data in blocks of binned rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from consilience._core.binned import BinnedView
from consilience._core.cuts import Cuts, draw_bin_rows, find_cuts, join_ranges
from consilience._training import TrainingRows
from consilience.distributed._blocks import BlockTraining, stack
from consilience.distributed._drivers import Stream
from consilience.distributed._kept import KeptBlocks, WorkerBlocks, keep

__all__ = ["BinnedRows", "BinnedTraining", "Limits", "bin_blocks"]

Limits = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class BinnedRows:
    """A block of rows: binned views, class codes and weights; ranges of the values of each code."""

    views: list[BinnedView]
    codes: np.ndarray
    weight: np.ndarray
    ranges: list[tuple[np.ndarray, np.ndarray]]


@dataclass(eq=False)
class BinnedTraining:
    """Binned training data.

    Attributes
    ----------
    blocks : KeptBlocks
        Blocks of ``BinnedRows``.
    limits : list of tuples
        Limits of the bins of each view, as of ``BinnedView.limits``.
    n_present : int array of shape (n_views,)
        Number of rows that have each view.
    """

    blocks: KeptBlocks
    limits: list[Limits]
    n_present: np.ndarray


def bin_blocks(training: BlockTraining, max_bins: Sequence[int]) -> BinnedTraining:
    """Bin all views, with the bins of the rows in memory, and release the original rows."""
    n_present = training.present.sum(axis=0)
    cuts = _find_cuts(training, n_present, max_bins)
    blocks = keep(training.map_and_release(encode_block, cuts))
    ranges = zip(*blocks.collect(code_ranges), strict=True)
    limits = [join_ranges(parts, cut) for parts, cut in zip(ranges, cuts, strict=True)]
    return BinnedTraining(blocks.merge(merge_blocks), limits, n_present)


def merge_blocks(parts: Sequence[BinnedRows]) -> BinnedRows:
    """Several blocks as one, in the order of the classes if all views are dense.

    Histograms are built class by class: rows that are read one after the other then lie side by
    side. Trees do not depend on the order of rows.
    """
    columns = zip(*(part.views for part in parts), strict=True)
    views = [BinnedView.concatenate(list(column), None) for column in columns]
    codes = np.concatenate([part.codes for part in parts])
    weight = np.concatenate([part.weight for part in parts])
    if any(view.sparse for view in views):
        return BinnedRows(views, codes, weight, [])
    order = np.argsort(codes, kind="stable")
    return BinnedRows([view.in_order(order) for view in views], codes[order], weight[order], [])


def _find_cuts(
    training: BlockTraining, n_present: np.ndarray, max_bins: Sequence[int]
) -> list[Cuts]:
    starts = training.starts
    groups = list(enumerate(n_present.tolist()))
    if isinstance(training.blocks, Stream):
        parts = training.blocks.collect(bin_rows_of_all, groups, each=starts)
        return [
            merge_bin_rows([part[v] for part in parts]).cuts(limit)
            for v, limit in enumerate(max_bins)
        ]
    numbered = [Numbered(start) for start in starts]
    blocks = WorkerBlocks(training.blocks.client, [training.blocks.futures, numbered])
    result = blocks.gather(
        bin_rows, merge_bin_rows, BinSample.cuts, groups, [[limit] for limit in max_bins]
    )
    return [cuts for (cuts,) in result]


@dataclass(frozen=True)
class Numbered:
    """The number of the first row of a block."""

    value: int


@dataclass(frozen=True, eq=False)
class BinSample:
    """Rows of one view from which its bins come, and whether they are present in this part."""

    X: Any
    weight: np.ndarray

    def cuts(self, max_bins: int) -> Cuts:
        """Cuts between the bins."""
        return find_cuts(self.X, self.weight, max_bins)


def bin_rows_of_all(
    rows: TrainingRows, groups: list[tuple[int, int]], start: int
) -> list[BinSample]:
    """Rows of each view from which its bins come."""
    return [bin_rows((rows, start), group) for group in groups]


def bin_rows(block: tuple[TrainingRows, int], group: tuple[int, int]) -> BinSample:
    """Rows of one view (its number, and the number of rows that have it)."""
    (rows, start), (v, n_present) = block, group
    drawn = draw_bin_rows(start, len(rows.codes), n_present) & rows.data.present[:, v]
    index = np.flatnonzero(drawn)
    X = rows.data[rows.data.view_names[v]]
    return BinSample(X if len(index) == len(drawn) else X[index], rows.weight[index])


def merge_bin_rows(parts: Sequence[BinSample]) -> BinSample:
    """The rows of all blocks, in order."""
    X = stack([(part.X, bool(len(part.weight))) for part in parts])
    return BinSample(X, np.concatenate([part.weight for part in parts]))


def encode_block(rows: TrainingRows, cuts: list[Cuts]) -> BinnedRows:
    """Bin a block of rows."""
    views, ranges = [], []
    for v, name in enumerate(rows.data.view_names):
        present = rows.data.present[:, v]
        view, result = BinnedView.from_cuts(
            rows.data[name], None if present.all() else present, cuts[v]
        )
        views.append(view)
        ranges.append(result)
    return BinnedRows(views, rows.codes.astype(np.int32), rows.weight, ranges)


def code_ranges(rows: BinnedRows) -> list[tuple[np.ndarray, np.ndarray]]:
    """The least and the greatest value of each code, of every view."""
    return rows.ranges
