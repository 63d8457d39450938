"""Trees of all kinds as tables of nodes: forests and boosted trees of the default, binned trees."""

from __future__ import annotations

from typing import Any

import numpy as np

from consilience.inspection._tree_paths import TreeTable

__all__ = ["boosted_table", "forest_table", "join_tables", "vote_table"]


def forest_table(forest: Any, scale: float = 1.0) -> TreeTable:
    """Nodes of a forest of the default with their class shares, of which the trees' mean is taken.

    The shares of an inner node follow from those of its children and the training weight that went
    to each.
    """
    n_inner, n_trees = len(forest.feature), len(forest.roots)
    offset = np.repeat(forest.starts[:-1], np.diff(forest.starts))
    left = _absolute(forest.left, offset, n_inner)
    right = _absolute(forest.right, offset, n_inner)
    roots = _absolute(forest.roots, forest.starts[:-1], n_inner)
    value = np.zeros((n_inner + len(forest.leaf_shares), forest.leaf_shares.shape[1]))
    value[n_inner:] = forest.leaf_shares
    for nodes in reversed(_levels(roots, left, right, n_inner)):
        share = forest.left_share[nodes].astype(np.float64)[:, None]
        value[nodes] = share * value[left[nodes]] + (1 - share) * value[right[nodes]]
    leaves = np.arange(n_inner, len(value))
    zeros = np.zeros(len(leaves))
    return TreeTable(
        feature=np.concatenate([forest.feature.astype(np.int64), zeros.astype(np.int64) - 1]),
        threshold=np.concatenate([forest.threshold.astype(np.float64), zeros]),
        left=np.concatenate([left, leaves]),
        right=np.concatenate([right, leaves]),
        missing_left=np.concatenate([forest.missing_left.astype(np.float64), zeros]),
        value=value * (scale / n_trees),
        roots=roots,
    )


def _absolute(child: np.ndarray, offset: np.ndarray, n_inner: int) -> np.ndarray:
    """Numbers of nodes among all inner nodes followed by all leaves."""
    child = child.astype(np.int64)
    return np.where(child >= 0, child + offset, n_inner + ~child)


def _levels(
    roots: np.ndarray, left: np.ndarray, right: np.ndarray, n_inner: int
) -> list[np.ndarray]:
    """Inner nodes of each depth."""
    out, nodes = [], roots[roots < n_inner]
    while len(nodes):
        out.append(nodes)
        nodes = np.concatenate([left[nodes], right[nodes]])
        nodes = nodes[nodes < n_inner]
    return out


def boosted_table(member: Any, n_classes: int, scale: float = 1.0) -> TreeTable:
    """Nodes of the boosted member; the trees add to the scores in turn.

    The score of an inner node is the mean of its children, weighted by the share of missing values
    that goes to each, or equally where all of them go to one side.
    """
    nodes, n_scores = member.nodes, len(member.base)
    is_leaf = nodes["feature"] < 0
    numbers, sizes = np.arange(len(is_leaf)), np.diff(member.starts)
    offset = np.repeat(member.starts[:-1], sizes)
    left = np.where(is_leaf, numbers, nodes["left"] + offset)
    right = np.where(is_leaf, numbers, nodes["right"] + offset)
    share = nodes["missing_left"].astype(np.float64)
    share = np.where((share <= 0) | (share >= 1), 0.5, share)
    score = np.where(is_leaf, nodes["value"], 0.0).astype(np.float64)
    roots = member.starts[:-1]
    for inner in reversed(_inner_levels(roots, left, right, is_leaf)):
        score[inner] = share[inner] * score[left[inner]] + (1 - share[inner]) * score[right[inner]]
    tree_class = np.repeat(np.arange(len(sizes)) % n_scores, sizes)
    return TreeTable(
        feature=nodes["feature"].astype(np.int64),
        threshold=nodes["threshold"].astype(np.float64),
        left=left,
        right=right,
        missing_left=nodes["missing_left"].astype(np.float64),
        value=scale * _centred_scores(score, tree_class, n_scores, n_classes),
        roots=roots,
    )


def _inner_levels(
    roots: np.ndarray, left: np.ndarray, right: np.ndarray, is_leaf: np.ndarray
) -> list[np.ndarray]:
    out, nodes = [], roots[~is_leaf[roots]]
    while len(nodes):
        out.append(nodes)
        nodes = np.concatenate([left[nodes], right[nodes]])
        nodes = nodes[~is_leaf[nodes]]
    return out


def _centred_scores(
    score: np.ndarray, tree_class: np.ndarray, n_scores: int, n_classes: int
) -> np.ndarray:
    """Scores of all classes (n_nodes x K) of mean 0; a single one is that of the second class."""
    if n_scores == 1:
        return score[:, None] * [-0.5, 0.5]
    return score[:, None] * (np.eye(n_classes)[tree_class] - 1 / n_classes)


def vote_table(tree: Any, votes: np.ndarray, depth: int | None = None) -> TreeTable:
    """A binned tree whose nodes vote for the class they decide for.

    ``votes`` (n_classes x K) are the scores that a vote for each class adds; with ``depth`` the
    tree is pruned there.
    """
    is_leaf = tree.feature < 0
    if depth is not None:
        is_leaf = is_leaf | (tree.depth >= depth)
    numbers = np.arange(len(is_leaf))
    return TreeTable(
        feature=np.where(is_leaf, -1, tree.feature).astype(np.int64),
        threshold=np.where(is_leaf, 0.0, tree.threshold),
        left=np.where(is_leaf, numbers, tree.left),
        right=np.where(is_leaf, numbers, tree.right),
        missing_left=tree.missing_left.astype(np.float64),
        value=votes[tree.decision],
        roots=np.zeros(1, dtype=np.int64),
    )


def join_tables(tables: list[TreeTable]) -> TreeTable:
    """The trees of several tables as one."""
    starts = np.cumsum([0, *(len(table.feature) for table in tables)])

    def collect(name: str, shift: bool = False) -> np.ndarray:
        parts = [
            getattr(table, name) + (start if shift else 0)
            for table, start in zip(tables, starts[:-1], strict=True)
        ]
        return np.concatenate(parts)

    return TreeTable(
        feature=collect("feature"),
        threshold=collect("threshold"),
        left=collect("left", shift=True),
        right=collect("right", shift=True),
        missing_left=collect("missing_left"),
        value=collect("value"),
        roots=collect("roots", shift=True),
    )
