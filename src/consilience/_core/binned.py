"""Binned views and the trees grown on them.

``BinnedView`` bins a view once, so that many trees can be grown on it with different labels,
weights or costs and predict its rows from the bins. ``Tree`` consists of NumPy arrays and predicts
raw data, dense or sparse, exactly as it predicts the binned rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from consilience._core import _core
from consilience._model_types import model_type

__all__ = ["MAX_DEPTH", "BinnedView", "Tree"]

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
        count like repeated rows.
    present : bool array of shape (n_rows,), optional
        Rows that have this view. The values of other rows are not read, and trees ignore them.
    max_bins : int, default=255
        Maximum number of bins per feature, not counting NaN.
    """

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
        if self.sparse:
            X = canonical(X, "csc")
            bin_sparse: Any = _core.bin_sparse
            *entries, limits = bin_sparse(
                *sparse_arrays(X), self.n_rows, row_masses(weight), self.present, max_bins
            )
            self._codes: tuple[Any, ...] = (*entries, self.n_rows)
        else:
            bins, limits = _core.bin_dense(as_floats(X), row_masses(weight), self.present, max_bins)
            self._codes = (bins.reshape(-(-self.n_features // 8), self.n_rows, 8),)
        self._limits = limits

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

    def _row_mask(self, rows: np.ndarray | None) -> np.ndarray | None:
        if rows is None:
            return self.present
        rows = np.ascontiguousarray(rows, dtype=bool)
        return rows if self.present is None else rows & self.present

    def apply(self, tree: Tree) -> np.ndarray:
        """Leaf that each row reaches in a tree grown on this view."""
        return self._reach(tree, 0)[:, 0]

    def predict(self, tree: Tree) -> np.ndarray:
        """Class code of each row, predicted by a tree grown on this view."""
        return tree.decision[self.apply(tree)]

    def predict_depths(self, tree: Tree, n_depths: int | None = None) -> np.ndarray:
        """Class codes (n_rows x D) of the rows, predicted by the tree pruned to depths 1 … D."""
        return tree.decision[self._reach(tree, tree._n_depths(n_depths))]

    def _reach(self, tree: Tree, n_depths: int) -> np.ndarray:
        function: Any = _core.apply_sparse_bins if self.sparse else _core.apply_bins
        return function(tree._arrays(), *self._codes, n_depths)


def tree_params(
    n_features: int,
    *,
    max_depth: int = 1,
    min_samples_leaf: int = 1,
    min_weight_leaf: float = 0.0,
    max_features: Any = None,
    splitter: str = "best",
    seed: int = 0,
) -> tuple[int, int, float, int, bool, int]:
    """Parameters of a tree in the order that the compiled code expects.

    ``splitter="random"`` draws one threshold per node and feature; ``max_features`` is the number
    of features drawn per node; all draws depend only on ``seed`` and the path to the node.
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
    )


def row_masses(weight: np.ndarray | None) -> np.ndarray | None:
    """Weights as integers, scaled by a power of two and rounded."""
    if weight is None or (weight == weight[0]).all():
        return None
    exponent = 50 - int(np.ceil(np.log2(weight.sum())))
    return np.maximum(np.rint(np.ldexp(weight, exponent)), 1).astype(np.int64)


def as_floats(X: Any) -> np.ndarray:
    """Return ``X`` unchanged if it is float32 or float64, else converted to float64."""
    X = np.asarray(X)
    return X if X.dtype in (np.float32, np.float64) and aligned(X) else X.astype(np.float64)


def aligned(X: np.ndarray) -> bool:
    """Return True for native byte order and strides that are multiples of the item size."""
    whole_strides = all(stride % X.itemsize == 0 for stride in X.strides)
    return X.flags.aligned and X.dtype.isnative and whole_strides


def canonical(X: Any, format: str) -> Any:
    """Convert ``X`` to CSR or CSC with sorted, unique indices; copies only if necessary."""
    out = X.asformat(format)
    if not out.has_canonical_format:
        out = out.copy() if out is X else out
        out.sum_duplicates()
    return out


def sparse_arrays(X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return data, indices and indptr in the dtypes that the compiled code expects."""
    return (
        np.ascontiguousarray(X.data, dtype=np.float64),
        np.ascontiguousarray(X.indices, dtype=np.int32),
        np.ascontiguousarray(X.indptr, dtype=np.int64),
    )
