"""SMVMED from blocks of rows: a start from a sample in memory, then sums over all blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from consilience._solvers.centred_views import CentredViews
from consilience._solvers.coupled_margins import homotopy
from consilience._solvers.coupled_sums import MarginBlock, minimise_sums
from consilience._solvers.water_filling import coupling
from consilience._targets import one_vs_rest_signs
from consilience._training import TrainingRows, check_magnitudes
from consilience.distributed._blocks import BlockTraining
from consilience.margin._base import BinarySolution
from consilience.margin._combine import normalise
from consilience.margin._design import linear_machine, zero_missing
from consilience.margin._machine import Machine

__all__ = ["sample_rows", "solve_blocks"]

# rows of the sample
SAMPLE_ROWS_PER_COLUMN, MIN_SAMPLE_ROWS, MAX_SAMPLE_ROWS = 6, 2000, 20_000


def weighted_sums(rows: TrainingRows) -> tuple[np.ndarray, np.ndarray]:
    """Σ ω x of all columns and Σ ω of every view, over the rows that have it."""
    data, sums = rows.data, []
    check_magnitudes(data)
    for v, name in enumerate(data.view_names):
        X = zero_missing(data[name], data.present[:, v])
        sums.append(np.asarray(X.T @ rows.weight, dtype=np.float64))
    return np.concatenate(sums), rows.weight @ data.present


def centre(rows: TrainingRows, means: Sequence[np.ndarray], n_classes: int) -> MarginBlock:
    """Rows with centred columns and the labels of all problems."""
    data = rows.data
    Xs = [zero_missing(data[name], data.present[:, v]) for v, name in enumerate(data.view_names)]
    signs = one_vs_rest_signs(rows.codes, n_classes).T
    return MarginBlock(CentredViews(Xs, data.present, means), signs, rows.weight)


def initial_theta(
    block: MarginBlock,
    total: float,
    couple: Callable[[float], tuple[float, float]],
    c: float,
    max_iter: int,
) -> np.ndarray:
    """θ of all problems from a sample of the rows, with weights scaled to the total of all."""
    weight = block.weight * (total / block.weight.sum())
    solutions = [
        homotopy(block.views, y, weight, couple, c, tol=1e-3, max_iter=max_iter)
        for y in np.ascontiguousarray(block.signs.T)
    ]
    return np.stack([solution.theta for solution in solutions], axis=1)


def moments(block: MarginBlock, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Σ ω y f, Σ ω f, Σ ω y of every view and problem, over the rows that have it (V x P)."""
    weight = block.weight[:, None] * block.views.present
    f = block.views.matvec(theta) * weight
    signs = block.signs
    fits = np.einsum("kiv,ik->vk", f, signs)
    return fits, f.sum(axis=1).T, weight.T @ signs


def contributions_from_moments(
    fits: np.ndarray, sums: np.ndarray, balance: np.ndarray, mass: np.ndarray
) -> np.ndarray:
    """``view_contributions`` from the moments of the decisions."""
    mean = sums / np.maximum(mass, 1e-300)[:, None]
    return normalise((fits - mean * balance).sum(axis=1))


class BlockDesign:
    """What is known of the columns of all rows: their places in θ, and their means."""

    def __init__(self, training: BlockTraining) -> None:
        sums, self.mass = training.blocks.sum(weighted_sums)
        ends = np.cumsum(training.widths)
        places = zip(ends, training.widths, strict=True)
        self.slices, self.d = [slice(end - d, end) for end, d in places], ends[-1]
        self.means = [sums[w] / max(m, 1e-300) for w, m in zip(self.slices, self.mass, strict=True)]

    def parameters(self, theta: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        """Coefficients of every view (list of V vectors) and intercepts (V,) for raw columns."""
        coefs = [theta[where].copy() for where in self.slices]
        shifts = [mean @ w for mean, w in zip(self.means, coefs, strict=True)]
        return coefs, theta[self.d :] - shifts

    def machine(self, solved: Sequence[Any]) -> tuple[Machine, None, None]:
        """As of ``Design``."""
        return linear_machine(solved), None, None


def sample_rows(training: BlockTraining) -> TrainingRows:
    """The rows that give the start."""
    size = sum(training.widths) + len(training.widths)
    return training.sample(
        max(MIN_SAMPLE_ROWS, min(SAMPLE_ROWS_PER_COLUMN * size, MAX_SAMPLE_ROWS)),
        np.random.RandomState(0),
    )


def solve_blocks(
    training: BlockTraining,
    sample: TrainingRows,
    c: float,
    alpha: float,
    *,
    tol: float,
    max_iter: int,
) -> tuple[BlockDesign, list[BinarySolution], np.ndarray]:
    """The design, the solution of every problem, and the contributions of the views."""
    V, n_classes, design = len(training.widths), len(training.totals), BlockDesign(training)
    start = initial_theta(
        centre(sample, design.means, n_classes),
        training.totals.sum(),
        lambda c: coupling(c, alpha, V),
        c,
        max_iter,
    )
    blocks = training.map_and_release(centre, design.means, n_classes)
    solution = minimise_sums(
        blocks.sum, design.slices, start, *coupling(c, alpha, V), tol=tol, max_iter=max_iter
    )
    solved = [
        BinarySolution.from_theta(design, replace(solution, theta=theta))
        for theta in solution.theta.T
    ]
    fits, sums, balance = blocks.sum(moments, solution.theta)
    return design, solved, contributions_from_moments(fits, sums, balance, design.mass)
