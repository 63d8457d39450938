"""Contributions of columns to the scores of trees, along the paths of rows.

A row's score in a tree is the value of its root plus, for each split on its path, the difference
between the value of the child it goes to and that of the node: these differences are the
contributions of the columns that are split on (A. Saabas, 2014; X. Li et al., "A debiased MDI
feature importance measure for random forests", NeurIPS 2019, show that their covariance with the
labels of rows left out is the impurity decrease without its bias towards noise).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

__all__ = ["TreeTable", "path_agreement", "path_contributions"]

CHUNK_STEPS = 20_000_000  # rows times trees whose paths are followed at once


@dataclass(frozen=True, eq=False)
class TreeTable:
    """Trees as arrays over all their nodes; leaves have ``feature`` −1 and are their own children.

    ``value`` (n_nodes x K) are class scores, and the scores of the trees are added up.
    """

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    missing_left: np.ndarray
    value: np.ndarray
    roots: np.ndarray

    def child_of(self, nodes: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Children that values of the nodes' columns lead to."""
        is_missing = np.isnan(values)
        goes_left = np.where(
            is_missing, self.missing_left[nodes] >= 0.5, values <= self.threshold[nodes]
        )
        return np.where(goes_left, self.left[nodes], self.right[nodes])


def path_steps(
    trees: TreeTable, X: np.ndarray, present: np.ndarray | None = None
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Rows, columns, nodes and children of all splits on the paths of rows, level by level.

    Where ``present`` (n x d) is False the row stops at the split.
    """
    rows = np.repeat(np.arange(len(X)), len(trees.roots))
    nodes = np.tile(trees.roots, len(X))
    while True:
        inner = trees.feature[nodes] >= 0
        rows, nodes = rows[inner], nodes[inner]
        if present is not None:
            has_column = present[rows, trees.feature[nodes]]
            rows, nodes = rows[has_column], nodes[has_column]
        if len(rows) == 0:
            return
        columns = trees.feature[nodes]
        children = trees.child_of(nodes, X[rows, columns])
        yield rows, columns, nodes, children
        nodes = children


def path_contributions(trees: TreeTable, X: np.ndarray) -> np.ndarray:
    """Contributions of few columns to the scores of few rows (n x d x K)."""
    n, d = X.shape
    out = np.zeros((n * d, trees.value.shape[1]))
    for rows, columns, nodes, children in path_steps(trees, X):
        np.add.at(out, rows * d + columns, trees.value[children] - trees.value[nodes])
    return out.reshape(n, d, -1)


def path_agreement(
    trees: TreeTable, X: np.ndarray, targets: np.ndarray, present: np.ndarray | None = None
) -> np.ndarray:
    """Σ_k targets_ik · contribution_ijk of columns j to the scores of rows i (n x d)."""
    n, d = X.shape
    out = np.zeros((n, d))
    chunk_rows = max(1, CHUNK_STEPS // max(len(trees.roots), 1))
    for start in range(0, n, chunk_rows):
        block = slice(start, start + chunk_rows)
        T = targets[block]
        mask = None if present is None else present[block]
        flat = out[block].reshape(-1)
        for rows, columns, nodes, children in path_steps(trees, X[block], mask):
            change = trees.value[children] - trees.value[nodes]
            gains = np.einsum("ik,ik->i", T[rows], change)
            flat += np.bincount(rows * d + columns, weights=gains, minlength=len(flat))
    return out
