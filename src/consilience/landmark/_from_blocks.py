"""MVL-SVM from blocks of rows: landmarks and imputation from a sample, then sums over blocks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from consilience._solvers.row_sums import Block, InMemoryRows
from consilience._solvers.squared_hinge import minimise_squared_hinge
from consilience._targets import one_vs_rest_signs
from consilience.distributed._blocks import draw
from consilience.landmark import _imputation as imputation
from consilience.landmark import _kmeans as kmeans
from consilience.views import as_multiview
from consilience.views._params import per_view

__all__ = ["StreamedRows", "exact_means", "learn_from_blocks", "sample_size"]


class StreamedRows:
    """Projected blocks as the solver of squared hinge machines sees rows.

    Parameters
    ----------
    blocks : driver
        Of ``InMemoryRows``, which cut a block into pieces of the size that is best for sums.
    sizes : int array
        Rows of each block.
    d, P : int
        Columns and problems.
    total : float
        Sum of the costs.
    """

    def __init__(self, blocks, sizes, d, P, total):
        self.blocks, self.sizes, self.n = blocks, sizes, int(sizes.sum())
        self.d, self.P, self.total = d, P, total

    def sum(self, function, *state):
        """Sum of the tuples of arrays ``function(piece, *state)`` over the pieces of all blocks."""
        return self.blocks.sum(sum_of_pieces, function, *state)

    def problems(self, which):
        """The same rows with some of the problems."""
        blocks = self.blocks.map(InMemoryRows.problems, which)
        return StreamedRows(blocks, self.sizes, self.d, len(which), self.total)

    def sample(self, size, rng):
        """At most ``size`` rows as a block, with costs scaled to the same total."""
        parts = self.blocks.collect(some_rows, each=draw(self.sizes, size, rng))
        X, signs, cost = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("X", "signs", "cost")
        )
        scale = self.total / cost.sum() if size < self.n else 1.0
        return Block(X, signs, cost * scale, parts[0].bias)


def sum_of_pieces(rows, function, *state):
    """Sum of ``function(piece, *state)`` over the pieces of a block."""
    return rows.sum(function, *state) if rows.n else function(rows.whole, *state)


def some_rows(rows, positions):
    """Some rows of a block."""
    block = rows.whole
    return Block(block.X[positions], block.signs[positions], block.cost[positions], block.bias)


def project(rows, projection, imputer, scale, n_classes, intercept):
    """Rows to similarities, labels of all problems and costs."""
    M = imputer(projection(rows.data), projection.present(rows.data))
    signs = np.ascontiguousarray(one_vs_rest_signs(rows.codes, n_classes).T)
    return InMemoryRows(M, signs, rows.weight * scale, intercept=intercept)


def sums_of_columns(rows, projection):
    """Σ ω m of every column and Σ ω of every view, over the rows that have it."""
    M, present = projection(rows.data), projection.present(rows.data)
    out, mass = np.zeros(M.shape[1]), rows.weight @ present
    for v, where in enumerate(projection.slices):
        is_present = present[:, v]
        out[where] = rows.weight[is_present] @ M[is_present, where]
    return out, mass


def sample_size(n_landmarks, landmarks, names):
    """Rows from which landmarks and imputation are found: as many as in memory."""
    sizes = per_view(n_landmarks, names, "n_landmarks")
    most = list(sizes.values())
    if not isinstance(landmarks, str):
        most = [len(as_multiview(landmarks))] * len(names)
    columns = imputation.ROWS_PER_COLUMN * sum(most)
    return max(kmeans.MAX_ROWS, kmeans.ROWS_PER_CENTRE * max(most), imputation.MAX_ROWS, columns)


def exact_means(training, projection, imputer):
    """The imputer with means of all rows in the place of those of the sample."""
    totals, mass = training.blocks.sum(sums_of_columns, projection)
    means = imputer.mean.copy()
    for v, where in enumerate(projection.slices):
        if mass[v] > 0:
            means[where] = totals[where] / mass[v]
    return replace(imputer, mean=means)


def learn_from_blocks(training, projection, imputer, *, C, intercept, **settings):
    """θ of the squared hinge machines, steps, and whether all converged."""
    n_classes, total = len(training.totals), training.totals.sum()
    blocks = training.map_and_release(project, projection, imputer, C / total, n_classes, intercept)
    P, d = 1 if n_classes == 2 else n_classes, projection.slices[-1].stop
    rows = StreamedRows(blocks, training.sizes, d, P, C)
    solution = minimise_squared_hinge(rows, **settings)
    return solution.theta, solution.n_iter, solution.converged
