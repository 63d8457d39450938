"""Fractional routing: votes of a forest for rows that lack some of its columns.

At a split on a column that it lacks, a row descends to both children, with the shares of the
training weight that went there (as in C4.5). A path of small weight ends at such a split and takes
the class shares of that node, which bounds the number of paths whatever the size of the trees.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from consilience._default._forest import Forest

__all__ = ["predict_without_columns"]

MIN_PATH_WEIGHT = 0.2  # lighter paths are not split further; see docs/results/default.md
CHUNK_PATHS = 2**16  # paths that start at once
CHUNK_CELLS = 2**22  # cells of a dense block of rows
GROUP_NODES = 2**18  # nodes of the trees that are descended at once


@dataclass(frozen=True, eq=False)
class TreeGroup:
    """Arrays over the nodes of several trees whose children are numbered within the group."""

    roots: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    children: np.ndarray  # (2, n_nodes): left, right
    missing_left: np.ndarray
    left_share: np.ndarray
    class_shares: np.ndarray


@dataclass(frozen=True, eq=False)
class Paths:
    """Positions of rows in trees; a row that descends to both children has several."""

    row: np.ndarray
    node: np.ndarray
    weight: np.ndarray

    def __len__(self) -> int:
        return len(self.row)

    def select(self, mask: np.ndarray) -> Paths:
        """The paths that the mask keeps."""
        kept = np.flatnonzero(mask)  # taking by numbers is several times as fast as by a mask
        return Paths(self.row[kept], self.node[kept], self.weight[kept])


def predict_without_columns(forest: Forest, X: Any, is_absent: np.ndarray) -> np.ndarray:
    """Mean share of the classes (n x K) over the leaves that the rows reach.

    Parameters
    ----------
    forest : Forest
        Forest grown on all columns.
    X : array or sparse matrix of shape (n, d)
        Rows; the values of absent columns are not used.
    is_absent : bool array of shape (d,)
        Columns that these rows lack.
    """
    X = sp.csr_array(X) if sp.issparse(X) else X
    votes = np.zeros((X.shape[0], forest.shares.shape[1]))
    for group in _tree_groups(forest):
        n_rows = max(1, min(CHUNK_PATHS // len(group.roots), CHUNK_CELLS // X.shape[1]))
        for start in range(0, X.shape[0], n_rows):
            rows = slice(start, start + n_rows)
            block = X[rows].toarray() if sp.issparse(X) else X[rows]
            votes[rows] += _sum_votes(group, block, is_absent)
    return votes / len(forest)


def _tree_groups(forest: Forest) -> Iterator[TreeGroup]:
    first = 0
    while first < len(forest):
        begin = forest.starts[first]
        last = np.searchsorted(forest.starts, begin + GROUP_NODES, side="right") - 1
        last = max(first + 1, int(last))
        starts = forest.starts[first : last + 1] - begin
        where = slice(begin, forest.starts[last])
        nodes = {name: values[where] for name, values in forest.nodes.items()}
        offsets = np.repeat(starts[:-1], np.diff(starts))
        yield TreeGroup(
            roots=starts[:-1].astype(np.int32),
            feature=nodes["feature"],
            threshold=nodes["threshold"],
            children=np.stack([nodes["left"], nodes["right"]]) + offsets.astype(np.int32),
            missing_left=nodes["missing_left"].astype(bool),
            left_share=forest.left_shares[where],
            class_shares=forest.shares[where],
        )
        first = last


def _sum_votes(group: TreeGroup, X: np.ndarray, is_absent: np.ndarray) -> np.ndarray:
    """Sum over the trees of the class shares (n x K) where the paths of each row end."""
    n, n_trees = len(X), len(group.roots)
    paths = Paths(
        row=np.repeat(np.arange(n, dtype=np.int32), n_trees),
        node=np.tile(group.roots, n),
        weight=np.ones(n * n_trees),
    )
    votes = np.zeros((n, group.class_shares.shape[1]))
    while len(paths):
        feature = group.feature[paths.node]
        skips = is_absent[feature]
        ends = (feature < 0) | (skips & (paths.weight < MIN_PATH_WEIGHT))
        votes += _sum_class_shares(group, paths.select(ends), n)
        known = _descend(group, X, paths.select(~(skips | ends)))
        paths = _join(known, *_descend_both(group, paths.select(skips & ~ends)))
    return votes


def _sum_class_shares(group: TreeGroup, paths: Paths, n: int) -> np.ndarray:
    """Sum of the class shares (n x K) of the nodes where paths end, by row."""
    columns = np.arange(len(paths), dtype=np.int32)
    by_row = sp.coo_array((paths.weight, (paths.row, columns)), shape=(n, len(paths)))
    return by_row @ group.class_shares[paths.node]


def _descend(group: TreeGroup, X: np.ndarray, paths: Paths) -> Paths:
    """Paths one level further down, by the values of the rows."""
    value = X[paths.row, group.feature[paths.node]]
    goes_left = value <= group.threshold[paths.node]
    goes_left |= np.isnan(value) & group.missing_left[paths.node]
    child = group.children[np.where(goes_left, 0, 1), paths.node]
    return Paths(paths.row, child, paths.weight)


def _descend_both(group: TreeGroup, paths: Paths) -> tuple[Paths, Paths]:
    """Paths to the left and to the right child, with their shares of the weight."""
    left, right = group.children[:, paths.node]
    left_weight = paths.weight * group.left_share[paths.node]
    return (
        Paths(paths.row, left, left_weight),
        Paths(paths.row, right, paths.weight - left_weight),
    )


def _join(*parts: Paths) -> Paths:
    return Paths(
        np.concatenate([part.row for part in parts]),
        np.concatenate([part.node for part in parts]),
        np.concatenate([part.weight for part in parts]),
    )
