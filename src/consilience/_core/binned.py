"""Binned views and the trees grown on them.

``BinnedView`` bins a view once, so that many trees can be grown on it with different labels,
weights or costs and predict its rows from the bins. ``Tree`` consists of NumPy arrays and predicts
raw data, dense or sparse, exactly as it predicts the binned rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from consilience._core import _core
from consilience._core import cuts as cuts_of_rows
from consilience._core._core import GrowingRows
from consilience._core.cuts import (
    Cuts,
    as_floats,
    canonical,
    draw_bin_rows,
    find_cuts,
    join_ranges,
    row_masses,
    sparse_arrays,
)
from consilience._model_types import model_type

__all__ = ["MAX_DEPTH", "BinnedView", "GrowingRows", "RowTarget", "Tree"]

MAX_DEPTH = 30
MISSING_BIN = 255


@model_type("core.Tree")
@dataclass(frozen=True, eq=False)
class Tree:
    """A fitted tree: arrays over nodes in breadth-first order, so parents precede children.

    Attributes
    ----------
    feature : int32 array
        Feature that a node splits on; −1 in leaves.
    threshold : float64 array
        Values at or below it go left; NaN in leaves, infinite where only NaN goes right.
    left, right : int32 arrays
        Children; −1 in leaves.
    bin : uint8 array
        Bins at or below it go left: the same split on the binned training rows.
    missing_left : uint8 array
        1 where NaN goes left.
    depth : int32 array
        Depth of the node; the root has 0.
    decision : int32 array
        Class code predicted by the node, if the tree is pruned there.
    gain : float64 array
        Decrease of impurity or cost by the split, in units of weight.
    value : float64 array of shape (n_nodes, n_classes)
        Class weights, or class costs relative to those of class 0.
    """

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    bin: np.ndarray
    missing_left: np.ndarray
    depth: np.ndarray
    decision: np.ndarray
    gain: np.ndarray
    value: np.ndarray

    @property
    def max_depth(self) -> int:
        """Depth of the deepest leaf."""
        return int(self.depth[-1])

    def apply(self, X: Any) -> np.ndarray:
        """Leaf that each row of ``X`` reaches; ``X`` is a dense array, CSR or CSC matrix."""
        return self._reach(X, 0)[:, 0]

    def predict(self, X: Any) -> np.ndarray:
        """Class code of each row of ``X``."""
        return self.decision[self.apply(X)]

    def predict_depths(self, X: Any, n_depths: int | None = None) -> np.ndarray:
        """Class codes (n x D) of the tree pruned to depths 1 … D, by default its own depth."""
        return self.decision[self._reach(X, self._n_depths(n_depths))]

    def _n_depths(self, n_depths: int | None) -> int:
        if n_depths is None:
            return max(1, self.max_depth)
        if n_depths < 1:
            raise ValueError(f"n_depths must be at least 1, got {n_depths}")
        return n_depths

    def _arrays(self) -> tuple[np.ndarray, ...]:
        return (
            self.feature, self.threshold, self.left, self.right, self.bin, self.missing_left,
        )  # fmt: skip

    def _reach(self, X: Any, n_depths: int) -> np.ndarray:
        if sp.issparse(X):
            X = canonical(X, "csr")
            apply_csr: Any = _core.apply_csr
            return apply_csr(self._arrays(), *sparse_arrays(X), n_depths)
        return _core.apply_dense(self._arrays(), as_floats(X), n_depths)


class BinnedView:
    """A binned view, on which trees can be grown and applied.

    Parameters
    ----------
    X : array or CSR/CSC matrix of shape (n_rows, n_features)
        Numbers of any dtype and memory layout; NaN has its own bin.
    weight : array of shape (n_rows,), optional
        Bins have nearly equal weights if a feature has more distinct values than bins; weights
        count like repeated rows. Of a view with more than 200 000 rows, about so many decide where
        bins begin; which ones depends on their number alone (``draw_bin_rows``).
    present : bool array of shape (n_rows,), optional
        Rows that have this view. The values of other rows are not read, and trees ignore them.
    max_bins : int, default=255
        Maximum number of bins per feature, not counting NaN.
    """

    _codes: tuple[Any, ...]
    _limits: Any

    def __init__(
        self,
        X: Any,
        *,
        weight: np.ndarray | None = None,
        present: np.ndarray | None = None,
        max_bins: int = 255,
    ) -> None:
        self.n_rows, self.n_features = X.shape
        self.present = None if present is None else np.ascontiguousarray(present, dtype=bool)
        self.sparse = sp.issparse(X)
        n_present = self.n_rows if self.present is None else int(self.present.sum())
        if n_present > cuts_of_rows.MAX_BIN_ROWS:
            rows = draw_bin_rows(0, self.n_rows, n_present)
            rows = np.flatnonzero(rows if self.present is None else rows & self.present)
            sample = X.tocsr()[rows] if self.sparse else X[rows]
            cuts = find_cuts(sample, None if weight is None else weight[rows], max_bins)
            self._limits = join_ranges([self._encode(X, cuts)], cuts)
        elif self.sparse:
            X = canonical(X, "csc")
            bin_sparse: Any = _core.bin_sparse
            *entries, self._limits = bin_sparse(
                *sparse_arrays(X),
                self.n_rows,
                row_masses(weight, self.present),
                self.present,
                max_bins,
            )
            self._codes = (*entries, self.n_rows)
        else:
            bins, self._limits = _core.bin_dense(
                as_floats(X), row_masses(weight, self.present), self.present, max_bins
            )
            self._codes = (bins.reshape(-(-self.n_features // 8), self.n_rows, 8),)

    @classmethod
    def from_cuts(
        cls, X: Any, present: np.ndarray | None, cuts: Cuts
    ) -> tuple[BinnedView, tuple[np.ndarray, np.ndarray]]:
        """A view of some rows with given cuts, and the range of the values of each code.

        ``join_ranges`` of all rows gives the limits, which the view does not have.
        """
        view = cls.__new__(cls)
        view.n_rows, view.n_features = X.shape
        view.present = None if present is None else np.ascontiguousarray(present, dtype=bool)
        view.sparse = sp.issparse(X)
        return view, view._encode(X, cuts)

    def _encode(self, X: Any, cuts: Cuts) -> tuple[np.ndarray, np.ndarray]:
        """Set the codes by given cuts; return the least and the greatest value of each."""
        if self.sparse:
            code_sparse: Any = _core.code_sparse
            *entries, least, greatest = code_sparse(
                *sparse_arrays(canonical(X, "csc")), self.n_rows, *cuts, self.present
            )
            self._codes = (*entries, self.n_rows)
        else:
            bins, least, greatest = _core.code_dense(as_floats(X), *cuts, self.present)
            self._codes = (bins.reshape(-(-self.n_features // 8), self.n_rows, 8),)
        return least, greatest

    @property
    def limits(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Minimum and maximum of every bin, and the first bin of each feature."""
        return self._limits

    def dense_codes(self) -> np.ndarray:
        """Bins of all cells (blocks x n_rows x 8 features); 255 where values are missing."""
        if not self.sparse:
            return self._codes[0]
        indptr, _, rows, entry_codes, zero_bin, *_ = self._codes
        shape = (-(-self.n_features // 8), self.n_rows, 8)
        codes = np.full(shape, MISSING_BIN, dtype=np.uint8)
        features = np.arange(self.n_features)
        codes[features // 8, :, features % 8] = zero_bin[:, None]
        column = np.repeat(features, np.diff(indptr))
        codes[column // 8, rows, column % 8] = entry_codes
        if self.present is not None:
            codes[:, ~self.present] = MISSING_BIN
        return codes

    @property
    def n_bins(self) -> np.ndarray:
        """Number of bins of each feature, not counting NaN."""
        return np.diff(self._limits[2])

    def forest_grower(self, max_cells: int) -> Callable[..., tuple[np.ndarray, ...]]:
        """Return ``_core.grow_trees`` on dense columns of bins, if these have at most so many cells
        or the view is dense, else ``_core.grow_sparse_trees`` on the entries.

        The arguments that describe the columns are bound. The view need not be kept.
        """
        if self.sparse and self.n_rows * self.n_features > max_cells:
            return partial(_core.grow_sparse_trees, *self._codes, *self._limits)
        return partial(_core.grow_trees, self._column_codes(), *self._limits)

    def _column_codes(self) -> np.ndarray:
        """Bins (n_features x n_rows, uint8) of the columns; 255 is that of NaN."""
        if not self.sparse:
            (blocks,) = self._codes
            columns = np.ascontiguousarray(blocks.transpose(0, 2, 1))
            return columns.reshape(-1, self.n_rows)[: self.n_features]
        indptr, _, rows, entry_codes, zero_bin, *_ = self._codes
        columns = np.repeat(zero_bin[:, None], self.n_rows, axis=1)
        features = np.repeat(np.arange(self.n_features), np.diff(indptr))
        columns[features, rows] = entry_codes
        return columns

    def grow(
        self,
        codes: np.ndarray,
        weight: np.ndarray,
        *,
        n_classes: int,
        rows: np.ndarray | None = None,
        **params: Any,
    ) -> Tree:
        """Grow a tree with the Gini criterion.

        Parameters
        ----------
        codes : int array of shape (n_rows,)
            Classes 0 … n_classes − 1.
        weight : array of shape (n_rows,)
            Weights >= 0; rows with weight 0 are ignored.
        n_classes : int
            Number of classes.
        rows : bool array of shape (n_rows,), optional
            Rows to use; by default all that have the view.
        **params
            See ``tree_params``.
        """
        codes = np.ascontiguousarray(codes, dtype=np.int32)
        weight = np.ascontiguousarray(weight, dtype=np.float64)
        return self._grow(codes, weight, None, rows, n_classes, params)

    def grow_cost(
        self, costs: np.ndarray, *, rows: np.ndarray | None = None, **params: Any
    ) -> Tree:
        """Grow a tree that minimises the total cost of its predictions.

        A leaf predicts the class with the lowest sum of ``costs`` (n_rows x n_classes), and a split
        maximises the decrease of that sum. The other parameters are those of ``grow``.
        """
        costs = np.ascontiguousarray(costs, dtype=np.float64)
        return self._grow(None, None, costs, rows, costs.shape[1], params)

    def _grow(
        self,
        codes: np.ndarray | None,
        weight: np.ndarray | None,
        costs: np.ndarray | None,
        rows: np.ndarray | None,
        n_classes: int,
        params: dict[str, Any],
    ) -> Tree:
        rows = self._row_mask(rows)
        settings = tree_params(self.n_features, **params)
        function: Any = _core.grow_sparse if self.sparse else _core.grow_dense
        arrays = function(
            *self._codes, *self._limits, codes, weight, costs, rows, n_classes, settings
        )
        return Tree(*arrays)

    def start_growing(
        self, rows: GrowingRows, target: RowTarget, n_classes: int, params: dict[str, Any]
    ) -> None:
        """Set what a tree is grown for on these rows and others; see ``level_sums``."""
        settings = tree_params(self.n_features, **params)
        rows.start(self.n_rows, self.n_features, *target, self.present, n_classes, settings)

    def level_sums(
        self,
        rows: GrowingRows,
        tree: tuple[np.ndarray, ...],
        summed: np.ndarray,
        built: np.ndarray,
        first_bins: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """What these rows add to the sums and histograms of one level of a growing tree.

        Parameters
        ----------
        rows : GrowingRows
            Where the rows are in the tree: set by ``start_growing``, and by this for earlier
            levels, if these were computed.
        tree : tuple of arrays
            The tree grown so far, as of ``LevelGrower.arrays``.
        summed, built : int arrays
            Nodes of the level whose sums, and those whose histograms are wanted.
        first_bins : int array of shape (n_features + 1,)
            First bin of each feature.
        """
        place, slot = np.full((2, len(tree[0])), -1, dtype=np.int32)
        place[summed], slot[built] = np.arange(len(summed)), np.arange(len(built))
        function: Any = rows.sparse_level if self.sparse else rows.dense_level
        return function(*self._codes, tree, first_bins, place, slot, len(summed), len(built))

    def _leaves(self, tree: tuple[np.ndarray, ...]) -> np.ndarray:
        function: Any = _core.apply_sparse_bins if self.sparse else _core.apply_bins
        return np.ascontiguousarray(function(tree[:6], *self._codes, 0)[:, 0])

    def rows_in(self, tree: tuple[np.ndarray, ...], nodes: np.ndarray) -> np.ndarray:
        """Rows that reach one of these leaves, and have the view; and their leaves."""
        leaves = self._leaves(tree)
        mask = np.isin(leaves, nodes)
        rows = np.flatnonzero(mask if self.present is None else mask & self.present)
        return np.stack([rows, leaves[rows]])

    def take(self, rows: np.ndarray) -> BinnedView:
        """Some rows, all of which must have the view."""
        part = BinnedView.__new__(BinnedView)
        part.n_rows, part.n_features = len(rows), self.n_features
        part.present, part.sparse = None, self.sparse
        if not self.sparse:
            part._codes = (np.ascontiguousarray(self._codes[0][:, rows]),)
            return part
        number = np.full(self.n_rows, -1, dtype=np.int32)
        number[rows] = np.arange(len(rows))
        column, codes, old, zero_bin = self._entries()
        held = number[old] >= 0
        part._set_entries(column[held], codes[held], number[old[held]], zero_bin)
        return part

    def in_order(self, order: np.ndarray) -> BinnedView:
        """All rows of a dense view in another order."""
        view = BinnedView.__new__(BinnedView)
        view.n_rows, view.n_features, view.sparse = self.n_rows, self.n_features, False
        view.present = None if self.present is None else self.present[order]
        view._codes, view._limits = (self._codes[0].take(order, axis=1),), self._limits
        return view

    def _entries(self) -> tuple[np.ndarray, ...]:
        """Column, code and row of all entries, and the bins of zero."""
        indptr, _, rows, codes, zero_bin, *_ = self._codes
        return np.repeat(np.arange(self.n_features), np.diff(indptr)), codes, rows, zero_bin

    def _set_entries(
        self, column: np.ndarray, codes: np.ndarray, rows: np.ndarray, zero_bin: np.ndarray
    ) -> None:
        order = np.lexsort((rows, codes, column))
        column, codes, rows = column[order], codes[order], rows[order].astype(np.int32)
        counts = np.bincount(column, minlength=self.n_features)
        indptr = np.r_[0, np.cumsum(counts)].astype(np.int64)
        is_below = codes < zero_bin[column]
        n_below = np.bincount(column, weights=is_below, minlength=self.n_features)
        middle = indptr[:-1] + n_below.astype(np.int64)
        # from both ends towards the zeros, the last entry of each bin marked
        entry = np.arange(len(rows))
        changes = (np.diff(codes) != 0) | (np.diff(column) != 0)
        ends_bin, starts_bin = np.r_[changes, True][: len(rows)], np.r_[True, changes][: len(rows)]
        last = np.where(
            is_below,
            ends_bin | (entry + 1 == middle[column]),
            starts_bin | (entry == middle[column]),
        )
        at = np.where(is_below, entry, middle[column] + indptr[column + 1] - 1 - entry)
        outside_in = np.empty(len(rows), dtype=np.uint32)
        outside_in[at] = rows.astype(np.uint32) | np.where(last, np.uint32(2**31), np.uint32(0))
        self._codes = (indptr, middle, rows, codes, zero_bin, outside_in, self.n_rows)

    @staticmethod
    def concatenate(views: Sequence[BinnedView], limits: Any) -> BinnedView:
        """Rows of several views with the same cuts, and the limits of all rows."""
        out = BinnedView.__new__(BinnedView)
        out.n_rows, out.n_features = sum(view.n_rows for view in views), views[0].n_features
        out._limits, out.present = limits, None
        if any(view.present is not None for view in views):
            masks = [np.ones(v.n_rows, bool) if v.present is None else v.present for v in views]
            out.present = np.concatenate(masks)
        out.sparse = all(view.sparse for view in views)
        if len(views) == 1:
            out._codes = views[0]._codes
            return out
        if not out.sparse:
            out._codes = (np.concatenate([view.dense_codes() for view in views], axis=1),)
            return out
        starts = np.cumsum([0, *(view.n_rows for view in views)])
        parts = [view._entries() for view in views]
        rows = [part[2] + start for part, start in zip(parts, starts, strict=False)]
        column, codes = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
        out._set_entries(column, codes, np.concatenate(rows), parts[0][3])
        return out

    def _row_mask(self, rows: np.ndarray | None) -> np.ndarray | None:
        if rows is None:
            return self.present
        rows = np.ascontiguousarray(rows, dtype=bool)
        return rows if self.present is None else rows & self.present

    def apply(self, tree: Tree) -> np.ndarray:
        """Leaf that each row reaches in a tree grown on this view."""
        return self._reach(tree, 0)[:, 0]

    def predict(self, tree: Tree, out: np.ndarray | None = None) -> np.ndarray:
        """Class code of each row, predicted by a tree grown on this view."""
        if out is None:
            out = np.empty(self.n_rows, dtype=np.int32)
        if self.sparse:
            out[:] = tree.decision[self.apply(tree)]
        else:
            _core.predict_bins(tree._arrays(), tree.decision, self._codes[0], out)
        return out

    def predict_or_abstain(self, tree: Tree, out: np.ndarray | None = None) -> np.ndarray:
        """``predict``, but −1 where the view is missing."""
        out = self.predict(tree, out)
        if self.present is not None:
            np.copyto(out, -1, where=~self.present)
        return out

    def predict_depths(self, tree: Tree, n_depths: int | None = None) -> np.ndarray:
        """Class codes (n_rows x D) of the rows, predicted by the tree pruned to depths 1 … D."""
        return tree.decision[self._reach(tree, tree._n_depths(n_depths))]

    def _reach(self, tree: Tree, n_depths: int) -> np.ndarray:
        function: Any = _core.apply_sparse_bins if self.sparse else _core.apply_bins
        return function(tree._arrays(), *self._codes, n_depths)


class RowTarget(NamedTuple):
    """What trees are grown for: codes and weights, or costs; see ``BinnedView.grow``."""

    codes: np.ndarray | None = None
    weight: np.ndarray | None = None
    costs: np.ndarray | None = None


def tree_params(
    n_features: int,
    *,
    max_depth: int = 1,
    min_samples_leaf: int = 1,
    min_weight_leaf: float = 0.0,
    max_features: Any = None,
    splitter: str = "best",
    seed: int = 0,
    exponent: int | None = None,
    key: int | None = None,
    depth: int = 0,
) -> tuple[Any, ...]:
    """Parameters of a tree in the order that the compiled code expects.

    ``splitter="random"`` draws one threshold per node and feature; ``max_features`` is the number
    of features drawn per node; all draws depend only on ``seed`` and the path to the node. For rows
    that are only a part of those of a tree, ``exponent`` is that of all its rows (see
    ``weight_exponent``), and ``key`` and ``depth`` are those of the node that has the rows.
    """
    if splitter not in ("best", "random"):
        raise ValueError(f"splitter must be 'best' or 'random', got {splitter!r}")
    if not 0 <= max_depth <= MAX_DEPTH:
        raise ValueError(f"max_depth must be in [0, {MAX_DEPTH}], got {max_depth}")
    max_features = n_features if max_features is None else max_features
    return (
        int(max_depth),
        int(min_samples_leaf),
        float(min_weight_leaf),
        int(max_features),
        splitter == "random",
        int(seed) % 2**64,
        exponent,
        key,
        depth,
    )
