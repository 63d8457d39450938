"""Penalised logistic and multinomial regression on several views, along a path of λ.

problem      min over B, b of Σ_i w_i [loss(y_i, b + Σ_v η_iv) + ρ/2 Σ_{u<v} |η_iu − η_iv|²]
             + λ (Σ_j l1_j |b_j| + Σ_g (τ_g |B_g| + ridge_g |B_g|²/2)), η_iv = x_iv B_v
given        columns that are standardised over the rows that have the view, and 0 in the others;
             weights w that sum to 1; b_j are the coefficients of a column for all outputs, one
             output (the log-odds of the second class) for two classes, else one for each class
constraints  none, or b ≥ 0 for one output without τ
method       compiled proximal Newton iterations, see ``_core/coordinate_descent.hpp``
references   Friedman, Hastie, Tibshirani, J. Stat. Softw. 33 (2010); Simon, Friedman, Hastie,
             Tibshirani, J. Comput. Graph. Stat. 22 (2013); Ding, Li, Narasimhan, Tibshirani,
             PNAS 119 (2022)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from consilience._core import solve_penalised

__all__ = [
    "PathPoint",
    "PathSolver",
    "Penalty",
    "StandardisedColumns",
    "StandardisedViews",
    "lambda_path",
]

MAX_PASSES = 500
# columns whose variance is at most so many times the square of their mean are constant
CONSTANT_BELOW = 1e-24
# λ so large that all penalised coefficients are 0
ALL_ZERO = 1e100
# an elastic net without l1 part has no finite λ_max: its path starts as if it had this share
LEAST_L1 = 1e-3


class StandardisedViews:
    """Columns of V views, centred and scaled over the rows that have the view.

    Parameters
    ----------
    Xs : list of arrays or CSR arrays of shape (n, d_v)
        Views.
    present : bool array of shape (n, V)
        False where a view is missing; values there are not read.
    weight : array of shape (n,)
        Sample weights.
    scale : bool, default=True
        Whether columns are divided by their standard deviation.
    """

    def __init__(
        self, Xs: Sequence[Any], present: np.ndarray, weight: np.ndarray, *, scale: bool = True
    ) -> None:
        self.weight = np.ascontiguousarray(weight / weight.sum(), dtype=np.float64)
        self.present = np.ascontiguousarray(present.T, dtype=np.uint8)
        self.counts = present.sum(axis=1).astype(np.float64)
        self.widths = [X.shape[1] for X in Xs]
        prepared = [_standardise(X, present[:, v], self.weight, scale) for v, X in enumerate(Xs)]
        self.parts = [parts for parts, _, _ in prepared]
        self.means = [mean for _, mean, _ in prepared]
        self.scales = [scales for _, _, scales in prepared]
        self.norms = np.concatenate(
            [_norms(parts, present[:, v].sum()) for v, parts in enumerate(self.parts)]
        )
        ends = np.cumsum(self.widths)
        self.slices = [slice(e - d, e) for e, d in zip(ends, self.widths, strict=True)]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows, and of columns of all views."""
        return len(self.weight), sum(self.widths)

    def raw_coefficients(self, coef: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Coefficients (d_v x K) for the columns as given, and what a view adds at 0 (K)."""
        coefs, offsets = [], []
        for where, mean, scale in zip(self.slices, self.means, self.scales, strict=True):
            own = coef[where] / scale[:, None]
            coefs.append(own)
            offsets.append(-(mean @ own))
        return coefs, offsets


def _standardise(
    X: Any, is_present: np.ndarray, weight: np.ndarray, scale: bool
) -> tuple[tuple[np.ndarray, ...], np.ndarray, np.ndarray]:
    """Arrays for the compiled solver, column means and scales; constant columns have scale 1."""
    mass = weight * is_present
    mass = mass / max(mass.sum(), np.finfo(float).tiny)
    if sp.issparse(X):
        return _standardise_sparse(X, is_present, mass, scale)
    out = np.array(X, dtype=np.float64, order="F")
    out[~is_present] = 0.0
    mean = mass @ out
    out -= mean
    out[~is_present] = 0.0
    variance = np.einsum("i,ij,ij->j", mass, out, out)
    constant = variance <= CONSTANT_BELOW * (variance + mean**2)
    out[:, constant] = 0.0
    scales = np.where(constant, 1.0, np.sqrt(variance)) if scale else np.ones(len(mean))
    out /= scales
    return (out,), mean, scales


def _standardise_sparse(
    X: Any, is_present: np.ndarray, mass: np.ndarray, scale: bool
) -> tuple[tuple[np.ndarray, ...], np.ndarray, np.ndarray]:
    X = sp.csc_array(sp.diags_array(is_present.astype(np.float64)) @ X)
    X.sum_duplicates()
    X.eliminate_zeros()
    mean = np.asarray(X.T @ mass)
    columns = np.repeat(np.arange(len(mean)), np.diff(X.indptr))
    # full columns, which may be far from 0, are stored as deviations from the mean: sums over
    # values less sums over means would cancel
    is_full = np.diff(X.indptr) == is_present.sum()
    shift = np.where(is_full, 0.0, mean)
    deviation = X.data - mean[columns]
    data = np.where(is_full[columns], deviation, X.data)
    variance = np.bincount(columns, mass[X.indices] * deviation**2, minlength=len(mean))
    zeros = 1.0 - np.bincount(columns, mass[X.indices], minlength=len(mean))
    variance = variance + np.maximum(zeros, 0.0) * shift**2
    constant = variance <= CONSTANT_BELOW * (variance + mean**2)
    scales = np.where(constant, 1.0, np.sqrt(variance)) if scale else np.ones(len(mean))
    factor = np.where(constant, 0.0, 1.0 / scales)  # a constant column is 0 after centring
    indices, indptr = X.indices.astype(np.int32), X.indptr.astype(np.int64)
    return (data * factor[columns], indices, indptr, shift * factor), mean, scales


def _norms(parts: tuple[np.ndarray, ...], n_present: int) -> np.ndarray:
    """Euclidean norms of the standardised columns."""
    if len(parts) == 1:
        return np.sqrt(np.einsum("ij,ij->j", parts[0], parts[0]))
    data, _, indptr, mean = parts
    columns = np.repeat(np.arange(len(mean)), np.diff(indptr))
    stored = np.bincount(columns, (data - mean[columns]) ** 2, minlength=len(mean))
    return np.sqrt(stored + (n_present - np.diff(indptr)) * mean**2)


class StandardisedColumns:
    """Products with the standardised columns of a view, from an entry of ``parts``."""

    def __init__(self, parts: tuple[np.ndarray, ...], present: np.ndarray) -> None:
        self.present = present.astype(np.float64)
        self.mean = parts[3] if len(parts) > 1 else np.zeros(parts[0].shape[1])
        shape = (len(present), len(self.mean))
        self.X: Any = parts[0] if len(parts) == 1 else sp.csc_array(parts[:3], shape=shape)

    def gram(self) -> np.ndarray:
        """XX' (n x n)."""
        product = self.X @ self.X.T
        product = product.toarray() if sp.issparse(product) else product
        cross = np.outer(np.asarray(self.X @ self.mean), self.present)
        square = float(self.mean @ self.mean)
        return product - cross - cross.T + square * np.outer(self.present, self.present)

    def matvec(self, a: np.ndarray) -> np.ndarray:
        """Xa for a vector."""
        return np.asarray(self.X @ a) - (self.mean @ a) * self.present

    def rmatvec(self, A: np.ndarray) -> np.ndarray:
        """X'A for a matrix (n x m)."""
        return np.asarray(self.X.T @ A) - np.outer(self.mean, self.present @ A)


@dataclass(frozen=True, eq=False)
class Penalty:
    """Weights of the penalty; columns of a group follow each other within a view.

    Parameters
    ----------
    starts : int array of shape (n_groups + 1,)
        First column of each group, and the number of columns.
    l1 : array of shape (n_columns,)
        Weights of the norms of the columns' coefficients.
    tau, ridge : arrays of shape (n_groups,)
        Weights of the norms of the groups, and of half their squares.
    """

    starts: np.ndarray
    l1: np.ndarray
    tau: np.ndarray
    ridge: np.ndarray

    def smallest_zero(self, norms: np.ndarray) -> float:
        """Smallest λ for which 0 is optimal, for these norms of gradients at 0."""
        largest = 0.0
        for g, (begin, end) in enumerate(zip(self.starts[:-1], self.starts[1:], strict=True)):
            own, l1 = norms[begin:end], self.l1[begin:end]
            if self.tau[g] > 0:
                largest = max(largest, _group_zero(own, l1, float(self.tau[g])))
                continue
            if self.ridge[g] > 0:
                l1 = np.maximum(l1, LEAST_L1 * self.ridge[g])
            penalised = l1 > 0
            if penalised.any():
                largest = max(largest, float((own[penalised] / l1[penalised]).max()))
        return largest


def _group_zero(norms: np.ndarray, l1: np.ndarray, tau: float) -> float:
    """λ with |(norms − λ l1)₊| = λ τ, from above."""
    low, high = 0.0, float(np.linalg.norm(norms)) / tau
    for _ in range(100):
        middle = 0.5 * (low + high)
        above = np.linalg.norm(np.maximum(norms - middle * l1, 0.0)) > middle * tau
        low, high = (middle, high) if above else (low, middle)
    return high


@dataclass(frozen=True, eq=False)
class PathPoint:
    """Solution at one λ: coefficients of the standardised columns (d x outputs), intercept."""

    lam: float
    coef: np.ndarray
    intercept: np.ndarray
    gap: float
    objective: float
    n_iter: int
    converged: bool


class PathSolver:
    """Solves one problem for descending λ, each solution starting the next.

    Parameters
    ----------
    views : StandardisedViews
        Columns.
    codes : int array of shape (n,)
        Class of each row.
    n_classes : int
        Number of classes K.
    penalty : Penalty
        Weights of the penalty.
    rho : float, default=0
        Weight of the agreement between views.
    non_negative : bool, default=False
        Whether coefficients must not be negative; for two classes.
    tol : float, default=1e-6
        Duality gap to reach, as a share of the loss without any column.
    max_iter : int, default=1000
        Maximum number of Newton iterations for each λ.
    """

    def __init__(
        self,
        views: StandardisedViews,
        codes: np.ndarray,
        n_classes: int,
        penalty: Penalty,
        *,
        rho: float = 0.0,
        non_negative: bool = False,
        tol: float = 1e-6,
        max_iter: int = 1000,
    ) -> None:
        n, d = views.shape
        outputs = 1 if n_classes == 2 else n_classes
        n_views = len(views.parts)
        slots = n_views if rho > 0 and n_views > 1 else 1
        self.views, self.penalty, self.max_iter = views, penalty, max_iter
        self._data = {
            "views": views.parts,
            "present": views.present,
            "weight": views.weight,
            "codes": np.ascontiguousarray(codes, dtype=np.int64),
            "view_counts": views.counts,
            "column_norms": views.norms,
            "group_starts": np.ascontiguousarray(penalty.starts, dtype=np.int64),
            "l1": np.ascontiguousarray(penalty.l1, dtype=np.float64),
            "tau": np.ascontiguousarray(penalty.tau, dtype=np.float64),
            "ridge": np.ascontiguousarray(penalty.ridge, dtype=np.float64),
            "rho": float(rho),
            "non_negative": non_negative,
        }
        self.coef, self.intercept = np.zeros((d, outputs)), np.zeros(outputs)
        self._norms, self._reference = np.zeros(d), np.zeros((slots, outputs, n))
        self._last_lam = 0.0
        prior = np.bincount(codes, views.weight, minlength=n_classes)
        self.null_loss = float(-(prior[prior > 0] * np.log(prior[prior > 0])).sum())
        self.tol = tol * self.null_loss
        self._solve(ALL_ZERO)
        self.lam_max = penalty.smallest_zero(self._norms)
        self._last_lam = max(self.lam_max, np.finfo(float).tiny)

    def _solve(self, lam: float) -> tuple[float, float, int]:
        gap, objective, n_iter, _, self._last_lam = solve_penalised(
            **self._data,
            lam=lam,
            last_lam=self._last_lam,
            coef=self.coef,
            intercept=self.intercept,
            norms=self._norms,
            reference=self._reference,
            tol=self.tol,
            max_iter=self.max_iter,
            max_passes=MAX_PASSES,
        )
        return gap, objective, n_iter

    def solve(self, lam: float) -> PathPoint:
        """Solution at λ, from that of the last call."""
        lam = max(float(lam), np.finfo(float).tiny)
        gap, objective, n_iter = self._solve(lam)
        return PathPoint(
            lam, self.coef.copy(), self.intercept.copy(), gap, objective, n_iter, gap <= self.tol
        )


def lambda_path(largest: float, smallest_share: float, n_lambdas: int) -> np.ndarray:
    """Geometric sequence from the largest λ down to a share of it."""
    return largest * np.geomspace(1.0, smallest_share, n_lambdas)
