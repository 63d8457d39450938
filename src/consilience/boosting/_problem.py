"""Training data and settings of a fit, passed to every round: in memory, or in blocks of rows.

A method talks about its rows only through functions of ``RoundRows``: those that sum (exactly, so
that the sums do not depend on the blocks) and those that update the state of the rows. So the
rounds are the same wherever the rows are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import Any, Protocol

import numpy as np

from consilience._core.binned import RowTarget, Tree
from consilience._core.exact import add_sums, as_float, exact_sums, exact_total
from consilience.boosting._learners import DISTRIBUTION_EXPONENT, tree_seed
from consilience.boosting._rounds import RoundRows
from consilience.distributed._binned_rows import BinnedRows, BinnedTraining
from consilience.distributed._states import BlockState
from consilience.distributed._trees import TreeSpec, grow_trees

__all__ = ["BlockProblem", "BoostingProblem", "Problem"]

# (state, view, *args, out=) -> weights or costs; out is memory for as many numbers as rows, or None
Weigh = Callable[..., np.ndarray]


class Problem(Protocol):
    """What the rounds of a method use."""

    n_classes: int
    n_rounds: int
    random: np.random.RandomState
    prior: np.ndarray

    @property
    def n_views(self) -> int:
        """Number of views."""

    @property
    def total(self) -> float:
        """Sum of the sample weights."""

    @property
    def n(self) -> float:
        """Effective number of rows: the sum of the weights, which count like repeated rows.

        Weights with a sum below the number of rows (e.g. 1) are treated as shares of the rows.
        """

    def start(self, function: Callable[..., dict[str, Any]], *args: Any) -> None:
        """Set the state of the rows to ``function(codes, weight, *args)``."""

    def fit_view(self, v: int, weigh: Weigh, *args: Any) -> Any:
        """Fit a weak learner on one view, with weights ``weigh(state, v, *args)``."""

    def fit_views(self, weigh: Weigh, *args: Any, costs: bool = False) -> Sequence[Any]:
        """Fit a weak learner on every view, with weights (or costs) ``weigh(state, v, *args)``."""

    def sum(self, function: Callable[..., list[int]], *args: Any) -> list[int]:
        """Sums ``function(rows, *args)`` of integers, e.g. exact sums, over all rows."""

    def update(self, function: Callable[..., None], *args: Any) -> None:
        """Update the state of the rows by ``function(rows, *args)``."""


@dataclass(eq=False)
class BoostingProblem:
    """Training rows in memory; see ``Problem``."""

    codes: np.ndarray
    n_classes: int
    weight: np.ndarray
    learners: list[Any]
    n_rounds: int
    random: np.random.RandomState
    prior: np.ndarray
    map_views: Callable[..., Iterable[Any]]
    rows: RoundRows = field(init=False)

    @property
    def n_views(self) -> int:
        """Number of views."""
        return len(self.learners)

    @cached_property
    def total(self) -> float:
        """Sum of the sample weights."""
        return exact_total(self.weight)

    @property
    def n(self) -> float:
        """Effective number of rows."""
        return max(self.total, len(self.weight))

    def start(self, function: Callable[..., dict[str, Any]], *args: Any) -> None:
        """Set the state of the rows."""
        self.resume(function(self.codes, self.weight, *args))

    def resume(self, state: dict[str, Any]) -> None:
        """Continue with the state of an earlier fit."""
        self.rows = RoundRows(self.codes, state)

    def fit_view(self, v: int, weigh: Weigh, *args: Any) -> Any:
        """Fit a weak learner on one view."""
        weight = weigh(self.rows.state, v, *args)
        hypothesis, predictions = self.learners[v].fit(weight, _seeds(self.random, 1)[0])
        self.rows.set_predictions(predictions if u == v else None for u in range(self.n_views))
        return hypothesis

    def fit_views(self, weigh: Weigh, *args: Any, costs: bool = False) -> Sequence[Any]:
        """Fit a weak learner on every view."""
        seeds = _seeds(self.random, self.n_views)

        def fit(v: int) -> tuple[Any, np.ndarray]:
            learner, weight = self.learners[v], weigh(self.rows.state, v, *args)
            return learner.fit_costs(weight, seeds[v]) if costs else learner.fit(weight, seeds[v])

        fitted = list(self.map_views(fit, range(self.n_views)))
        hypotheses, predictions = zip(*fitted, strict=True)
        self.rows.set_predictions(predictions)
        return hypotheses

    def sum(self, function: Callable[..., list[int]], *args: Any) -> list[int]:
        """Sums over all rows."""
        return function(self.rows, *args)

    def update(self, function: Callable[..., None], *args: Any) -> None:
        """Update the state of the rows."""
        function(self.rows, *args)


def _seeds(random: np.random.RandomState, size: int) -> list[int]:
    return random.randint(np.iinfo(np.int32).max, size=size).tolist()


# -- blocks ------------------------------------------------------------------------------------


@dataclass(eq=False)
class BlockProblem:
    """Training rows in blocks, with binned trees as learners; see ``Problem``."""

    training: BinnedTraining
    trees: list[Any]
    n_classes: int
    n_rounds: int
    random: np.random.RandomState
    prior: np.ndarray
    blocks: Any = field(init=False, default=None)
    fitted: RoundTrees = field(init=False)

    @property
    def n_views(self) -> int:
        """Number of views."""
        return len(self.trees)

    @cached_property
    def _size(self) -> tuple[float, int]:
        total, n_rows = add_sums(self.training.blocks.collect(size_of))
        return as_float(total), n_rows

    @property
    def total(self) -> float:
        """Sum of the sample weights."""
        return self._size[0]

    @property
    def n(self) -> float:
        """Effective number of rows."""
        return max(self._size)

    def start(self, function: Callable[..., dict[str, Any]], *args: Any) -> None:
        """Set the state of the rows."""
        self.blocks = self.training.blocks.with_states()
        self.blocks.update(start_rows, function, args)

    def fit_view(self, v: int, weigh: Weigh, *args: Any) -> Any:
        """Fit a weak learner on one view."""
        (tree,) = self._grow([v], weigh, args, costs=False)
        self._set_fitted([tree if u == v else None for u in range(self.n_views)])
        return tree

    def fit_views(self, weigh: Weigh, *args: Any, costs: bool = False) -> Sequence[Any]:
        """Fit a weak learner on every view."""
        trees = self._grow(list(range(self.n_views)), weigh, args, costs)
        self._set_fitted([*trees])
        return trees

    def _set_fitted(self, trees: list[Tree | None]) -> None:
        self.fitted = RoundTrees(next(ROUND_NUMBERS), trees)

    def _grow(self, views: list[int], weigh: Weigh, args: tuple, costs: bool) -> list[Tree]:
        specs = []
        for v, seed in zip(views, _seeds(self.random, len(views)), strict=True):
            tree, n_features = self.trees[v], len(self.training.limits[v][2]) - 1
            params = {**tree.grow_params(n_features, 0.0), "seed": tree_seed(tree, seed)}
            if not costs:
                params["exponent"] = DISTRIBUTION_EXPONENT
            share = 0.0 if costs else tree.min_weight_fraction_leaf
            specs.append(TreeSpec(v, v, self.n_classes, params, share, costs))
        targets = RoundTargets(weigh, args, costs)
        return grow_trees(self.training, specs, targets, self.blocks)

    def sum(self, function: Callable[..., list[int]], *args: Any) -> list[int]:
        """Sums over all rows."""
        return add_sums(self.blocks.collect(sum_rows, self.fitted, function, args))

    def update(self, function: Callable[..., None], *args: Any) -> None:
        """Update the state of the rows."""
        self.blocks.update(update_rows, self.fitted, function, args)


ROUND_NUMBERS = count()


@dataclass(frozen=True, eq=False)
class RoundTrees:
    """The trees of a round, None for views without one; no two rounds have the same number."""

    number: int
    trees: list[Tree | None]


@dataclass(frozen=True)
class RoundTargets:
    """Weights or costs of the rows of a block for the learner of a view."""

    weigh: Weigh
    args: tuple
    costs: bool

    def __call__(self, block: BlockState, v: int) -> RowTarget:
        n_rows = len(block.rows.codes)
        out = block.scratch.setdefault(("weights", v), np.empty(n_rows))
        values = self.weigh(block.state, v, *self.args, out=out)
        return RowTarget(None, None, values) if self.costs else RowTarget(block.rows.codes, values)


def size_of(rows: BinnedRows) -> list[int]:
    """Exact sum of the weights, and the number of rows."""
    return [*exact_sums(rows.weight), len(rows.weight)]


def start_rows(block: BlockState, function: Callable, args: tuple) -> None:
    """Set the state of the rows before the first round."""
    block.state = function(block.rows.codes, block.rows.weight, *args)


def round_rows(block: BlockState, fitted: RoundTrees) -> RoundRows:
    """The rows with the predictions of this round, which the block keeps until the next one.

    The memory of the predictions is used again: it is large, and fresh memory is slow on workers.
    """
    number, rows = block.scratch.get("round", (None, None))
    if number == fitted.number:
        return rows
    outs = block.scratch.setdefault("predictions", [None] * len(fitted.trees))
    for v, (view, tree) in enumerate(zip(block.rows.views, fitted.trees, strict=True)):
        if tree is not None:
            outs[v] = view.predict_or_abstain(tree, outs[v])
    predictions = [None if tree is None else outs[v] for v, tree in enumerate(fitted.trees)]
    rows = RoundRows(block.rows.codes, block.state, predictions)
    block.scratch["round"] = fitted.number, rows
    return rows


def sum_rows(block: BlockState, fitted: RoundTrees, function: Callable, args: tuple) -> list[int]:
    """Sums over a block."""
    return function(round_rows(block, fitted), *args)


def update_rows(block: BlockState, fitted: RoundTrees, function: Callable, args: tuple) -> None:
    """Update the state of a block at the end of a round."""
    function(round_rows(block, fitted), *args)
