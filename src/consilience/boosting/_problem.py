"""Training data and settings of a fit, passed to every round: in memory, or in blocks of rows.

A method talks about its rows only through functions of ``RoundRows``: those that sum (exactly, so
that the sums do not depend on the blocks) and those that update the state of the rows. So the
rounds are the same wherever the rows are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from consilience._core.binned import RowTarget, Tree
from consilience._core.exact import add_sums, as_float, exact_sums, exact_total
from consilience.boosting._learners import DISTRIBUTION_EXPONENT, tree_seed
from consilience.boosting._rounds import RoundRows
from consilience.distributed._binned_rows import BinnedRows, BinnedTraining
from consilience.distributed._trees import TreeSpec, grow_trees

__all__ = ["BlockProblem", "BoostingProblem", "Problem"]

# (state, view, *args) -> weights or costs
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
        self.rows.predictions = [predictions if u == v else None for u in range(self.n_views)]
        return hypothesis

    def fit_views(self, weigh: Weigh, *args: Any, costs: bool = False) -> Sequence[Any]:
        """Fit a weak learner on every view."""
        seeds = _seeds(self.random, self.n_views)

        def fit(v: int) -> tuple[Any, np.ndarray]:
            learner, weight = self.learners[v], weigh(self.rows.state, v, *args)
            return learner.fit_costs(weight, seeds[v]) if costs else learner.fit(weight, seeds[v])

        fitted = list(self.map_views(fit, range(self.n_views)))
        hypotheses, self.rows.predictions = zip(*fitted, strict=True)
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
    state: Any = field(init=False, default=None)
    hypotheses: list[Tree | None] = field(init=False, default_factory=list)

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
        self.state = self.training.blocks.map(start_rows, function, args)

    def fit_view(self, v: int, weigh: Weigh, *args: Any) -> Any:
        """Fit a weak learner on one view."""
        (tree,) = self._grow([v], weigh, args, costs=False)
        self.hypotheses = [tree if u == v else None for u in range(self.n_views)]
        return tree

    def fit_views(self, weigh: Weigh, *args: Any, costs: bool = False) -> Sequence[Any]:
        """Fit a weak learner on every view."""
        self.hypotheses = [*self._grow(list(range(self.n_views)), weigh, args, costs)]
        return self.hypotheses

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
        return grow_trees(self.training, specs, targets, self._blocks())

    def _blocks(self) -> Any:
        return self.training.blocks.join(self.state)

    def sum(self, function: Callable[..., list[int]], *args: Any) -> list[int]:
        """Sums over all rows."""
        return add_sums(self._blocks().collect(sum_rows, self.hypotheses, function, args))

    def update(self, function: Callable[..., None], *args: Any) -> None:
        """Update the state of the rows."""
        self.state = self._blocks().map(update_rows, self.hypotheses, function, args)


@dataclass(frozen=True)
class RoundTargets:
    """Weights or costs of the rows of a block for the learner of a view."""

    weigh: Weigh
    args: tuple
    costs: bool

    def __call__(self, block: tuple[BinnedRows, dict[str, Any]], v: int) -> RowTarget:
        rows, state = block
        values = self.weigh(state, v, *self.args)
        return RowTarget(None, None, values) if self.costs else RowTarget(rows.codes, values)


def size_of(rows: BinnedRows) -> list[int]:
    """Exact sum of the weights, and the number of rows."""
    return [*exact_sums(rows.weight), len(rows.weight)]


def start_rows(rows: BinnedRows, function: Callable, args: tuple) -> dict[str, Any]:
    """State of the rows before the first round."""
    return function(rows.codes, rows.weight, *args)


def round_rows(
    block: tuple[BinnedRows, dict[str, Any]], hypotheses: Sequence[Tree | None]
) -> RoundRows:
    """The rows with the predictions of this round."""
    rows, state = block
    predictions = [
        None if tree is None else predict_view(view, tree)
        for view, tree in zip(rows.views, hypotheses, strict=True)
    ]
    return RoundRows(rows.codes, state, predictions)


def predict_view(view: Any, tree: Tree) -> np.ndarray:
    """Class codes, −1 where the view is missing."""
    predictions = view.predict(tree)
    return predictions if view.present is None else np.where(view.present, predictions, -1)


def sum_rows(block: Any, hypotheses: Any, function: Callable, args: tuple) -> list[int]:
    """Sums over a block."""
    return function(round_rows(block, hypotheses), *args)


def update_rows(block: Any, hypotheses: Any, function: Callable, args: tuple) -> dict[str, Any]:
    """A new state of a block: blocks are never changed, as a lost one may be computed again."""
    rows = round_rows(block, hypotheses)
    rows.state = copy_state(rows.state)
    function(rows, *args)
    return rows.state


def copy_state(state: Any) -> Any:
    """A copy of the state of rows: dicts and lists of objects with a method ``copy``."""
    if isinstance(state, dict):
        return {name: copy_state(value) for name, value in state.items()}
    return [copy_state(value) for value in state] if isinstance(state, list) else state.copy()
