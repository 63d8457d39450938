"""MVL-SVM from blocks of rows: landmarks and imputation from a sample, then sums over blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from consilience._solvers.row_sums import Block, InMemoryRows
from consilience._solvers.squared_hinge import minimise_squared_hinge
from consilience._targets import one_vs_rest_signs
from consilience.distributed._blocks import draw
from consilience.landmark import _imputation as imputation
from consilience.landmark import _kmeans as kmeans
from consilience.landmark._projection import Projection
from consilience.views import as_multiview
from consilience.views._params import per_view

__all__ = ["StreamedRows", "exact_means", "learn_from_blocks", "sample_size"]


class StreamedRows:
    """Projected blocks with the interface that the solver of squared hinge machines expects.

    Parameters
    ----------
    blocks : driver
        Runs functions on blocks, each an ``InMemoryRows``, which sums over smaller pieces.
    sizes : int array
        Number of rows of each block.
    d, P : int
        Number of columns and of binary problems.
    total : float
        Sum of the costs.
    """

    def __init__(self, blocks: Any, sizes: np.ndarray, d: int, P: int, total: float) -> None:
        self.blocks, self.sizes, self.n = blocks, sizes, int(sizes.sum())
        self.d, self.P, self.total = d, P, total

    def sum(self, function: Callable, *state: Any) -> Any:
        """Sum of the tuples of arrays ``function(piece, *state)`` over the pieces of all blocks."""
        return self.blocks.sum(sum_of_pieces, function, *state)

    def problems(self, which: np.ndarray) -> StreamedRows:
        """The same rows with some of the problems."""
        blocks = self.blocks.map(InMemoryRows.problems, which)
        return StreamedRows(blocks, self.sizes, self.d, len(which), self.total)

    def sample(self, size: int, rng: np.random.RandomState) -> Block:
        """At most ``size`` rows as a block, with costs scaled to the same total."""
        parts = self.blocks.collect(take_rows, each=draw(self.sizes, size, rng))
        X, signs, cost = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("X", "signs", "cost")
        )
        scale = self.total / cost.sum() if size < self.n else 1.0
        return Block(X, signs, cost * scale, parts[0].bias)


def sum_of_pieces(rows: InMemoryRows, function: Callable, *state: Any) -> Any:
    """Sum of ``function(piece, *state)`` over the pieces of a block."""
    return rows.sum(function, *state) if rows.n else function(rows.whole, *state)


def take_rows(rows: InMemoryRows, positions: np.ndarray) -> Block:
    """Some rows of a block."""
    block = rows.whole
    return Block(block.X[positions], block.signs[positions], block.cost[positions], block.bias)


def project(
    rows: Any,
    projection: Projection,
    imputer: imputation.Imputer,
    cost_scale: float,
    n_classes: int,
    intercept: bool,
) -> InMemoryRows:
    """Similarities, labels of all problems and costs of a block of training rows."""
    M = imputer(projection(rows.data), projection.present(rows.data))
    signs = np.ascontiguousarray(one_vs_rest_signs(rows.codes, n_classes).T)
    return InMemoryRows(M, signs, rows.weight * cost_scale, intercept=intercept)


def sums_of_columns(rows: Any, projection: Projection) -> tuple[np.ndarray, np.ndarray]:
    """Σ ω m of every column and Σ ω of every view, over the rows that have it."""
    M, present = projection(rows.data), projection.present(rows.data)
    out, mass = np.zeros(M.shape[1]), rows.weight @ present
    for v, where in enumerate(projection.slices):
        is_present = present[:, v]
        out[where] = rows.weight[is_present] @ M[is_present, where]
    return out, mass


def sample_size(n_landmarks: Any, landmarks: Any, names: tuple[str, ...]) -> int:
    """Number of rows that landmarks and imputation are fitted on: as many as in memory."""
    sizes = list(per_view(n_landmarks, names, "n_landmarks").values())
    if not isinstance(landmarks, str):
        sizes = [len(as_multiview(landmarks))] * len(names)
    for_kmeans = max(kmeans.MAX_ROWS, kmeans.ROWS_PER_CENTRE * max(sizes))
    for_imputation = max(imputation.MAX_ROWS, imputation.ROWS_PER_COLUMN * sum(sizes))
    return max(for_kmeans, for_imputation)


def exact_means(
    training: Any, projection: Projection, imputer: imputation.Imputer
) -> imputation.Imputer:
    """The imputer with the means of all rows instead of those of the sample."""
    totals, mass = training.blocks.sum(sums_of_columns, projection)
    means = imputer.mean.copy()
    for v, where in enumerate(projection.slices):
        if mass[v] > 0:
            means[where] = totals[where] / mass[v]
    return replace(imputer, mean=means)


def learn_from_blocks(
    training: Any,
    projection: Projection,
    imputer: imputation.Imputer,
    *,
    C: float,
    intercept: bool,
    **settings: Any,
) -> tuple[np.ndarray, int, bool]:
    """θ of the squared hinge machines, number of iterations, and whether all converged."""
    n_classes, total = len(training.totals), training.totals.sum()
    blocks = training.map_and_release(project, projection, imputer, C / total, n_classes, intercept)
    P, d = 1 if n_classes == 2 else n_classes, projection.slices[-1].stop
    rows = StreamedRows(blocks, training.sizes, d, P, C)
    solution = minimise_squared_hinge(rows, **settings)
    return solution.theta, solution.n_iter, solution.converged
