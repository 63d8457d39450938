"""MωMvC² from blocks of rows: trees on binned blocks, then sums over the votes of all blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from consilience._core.binned import Tree
from consilience._core.exact import add_sums, as_float
from consilience._targets import one_vs_rest_signs
from consilience.distributed._binned_rows import BinnedRows, BinnedTraining
from consilience.distributed._kept import KeptBlocks
from consilience.distributed._trees import TreeSpec, grow_trees
from consilience.vote._two_level import VoteRows
from consilience.vote._voters import (
    CutVoters,
    TreeVoters,
    deepest_params,
    predict_bins,
    random_tree_params,
    voting_depth,
)

__all__ = ["BlockVotes", "fit_block_voters", "predict_blocks", "problem_rows"]


@dataclass(frozen=True, eq=False)
class PredictedRows:
    """Class codes predicted by the voters of each view (n x n_v), and what they are to be."""

    predictions: list[np.ndarray]
    present: list[np.ndarray]
    codes: np.ndarray
    weight: np.ndarray


def as_votes(predictions: np.ndarray, present: np.ndarray, code: int) -> np.ndarray:
    """Votes for class ``code`` from predicted classes: +1, −1, or 0 if the view is missing."""
    return np.where(predictions == code, 1, -1).astype(np.int8) * present[:, None]


def problem_rows(rows: PredictedRows, problem: int, n_classes: int) -> VoteRows:
    """Votes times labels of one binary problem."""
    code = 1 if n_classes == 2 else problem
    signs = one_vs_rest_signs(rows.codes, n_classes)[problem].astype(np.int8)
    views = zip(rows.predictions, rows.present, strict=True)
    return VoteRows([signs[:, None] * as_votes(h, seen, code) for h, seen in views], rows.weight)


def fit_block_voters(
    training: BinnedTraining,
    kinds: Sequence[str],
    seeds: Sequence[int],
    n_classes: int,
    max_depth: int | None,
    min_weight_fraction_leaf: float,
) -> list[Any]:
    """Voters of all views, None where no row has the view; the trees of a kind at the same time."""
    views = np.flatnonzero(training.n_present).tolist()

    def grow(wanted: list[tuple[int, dict[str, Any]]]) -> list[Tree]:
        specs = [
            TreeSpec(v, None, n_classes, params, min_weight_fraction_leaf) for v, params in wanted
        ]
        return grow_trees(training, specs)

    deepest = grow([(v, deepest_params(kinds[v], seeds[v])) for v in views])
    depths = {v: voting_depth(tree, max_depth) for v, tree in zip(views, deepest, strict=True)}
    wanted = [
        (v, random_tree_params(depth, seeds[v]))
        for v in views
        if kinds[v] != "trees"
        for depth in range(1, depths[v] + 1)
    ]
    trees = grow(wanted) if wanted else []
    voters: list[Any] = [None] * len(kinds)
    for v, tree in zip(views, deepest, strict=True):
        own = [t for (u, _), t in zip(wanted, trees, strict=True) if u == v]
        voters[v] = CutVoters(tree, depths[v]) if kinds[v] == "trees" else TreeVoters(own)
    return voters


def predict_blocks(training: BinnedTraining, voters: Sequence[Any]) -> KeptBlocks:
    """Blocks of ``PredictedRows``."""
    return training.blocks.map(predict_rows, [None if v is None else bare(v) for v in voters])


def bare(voters: Any) -> Any:
    """The voters with what predictions of binned rows need, which is sent to all workers."""
    if isinstance(voters, CutVoters):
        return replace(voters, tree=bare_tree(voters.tree))
    return TreeVoters([bare_tree(tree) for tree in voters.trees])


def bare_tree(tree: Tree) -> Tree:
    """The nodes, without what is known of them; the width of ``value`` is the number of classes."""
    nothing = np.empty(0)
    return replace(tree, depth=nothing, gain=nothing, value=tree.value[:0])


def predict_rows(rows: BinnedRows, voters: Sequence[Any]) -> PredictedRows:
    """Predictions of the voters of every view that has some, for a block."""
    fitted = [(view, own) for view, own in zip(rows.views, voters, strict=True) if own is not None]
    n = len(rows.codes)
    return PredictedRows(
        # fewer bytes where the classes are few
        [predict_bins(own, view).astype(np.min_scalar_type(-n_codes(own))) for view, own in fitted],
        [np.ones(n, bool) if view.present is None else view.present for view, _ in fitted],
        rows.codes,
        rows.weight,
    )


def n_codes(voters: Any) -> int:
    """Number of classes that the trees know."""
    tree = voters.tree if isinstance(voters, CutVoters) else voters.trees[0]
    return tree.value.shape[1]


@dataclass(frozen=True, eq=False)
class BlockVotes:
    """The rows of one binary problem in blocks, with the interface of ``VoteRows``."""

    blocks: KeptBlocks
    problem: int
    n_classes: int
    n_rows: int
    sizes: list[int]

    def sum(self, function: Callable[..., list[int]], *args: Any) -> list[float]:
        """Exact sums ``function(rows, *args)``, as floats."""
        parts = self.blocks.collect(sum_votes, self.problem, self.n_classes, function, args)
        return [as_float(total) for total in add_sums(parts)]


def sum_votes(
    rows: PredictedRows, problem: int, n_classes: int, function: Callable, args: tuple
) -> list[int]:
    """Exact sums over a block."""
    return function(problem_rows(rows, problem, n_classes), *args)
