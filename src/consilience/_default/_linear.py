"""The linear member: one ridge regression for each view, pooled by log-probabilities.

Where views are wide and rows few, a weighted sum of a view's columns is often all that can be
learned from it. Each view has its own penalty, of least error on rows left out, and a factor that
turns its scores into log-probabilities of least log loss. Views that a row lacks contribute
nothing, so that its probabilities are closer to each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize_scalar
from scipy.special import softmax

from consilience._core.threads import Map
from consilience._default._combine import log_sums
from consilience._model_types import model_type
from consilience._solvers.kernel_ridge import RidgeFit, exact_ridge, feature_ridge, kernel_ridge
from consilience.views import MultiViewData

__all__ = ["LinearMember", "fit_linear_member"]

PENALTIES = 10.0 ** np.arange(-1, 3.01, 0.5)  # of kernels with a mean diagonal of 1
TUNING_ROWS = 1000  # rows on which the penalty of a view with more columns is chosen
MAX_KERNEL_ROWS = 5000  # rows that such a view is fitted on
CHUNK_ROWS = 4096
TYPICAL_FACTOR = 5.0  # its logarithm is shrunk towards that of this
LOG_FACTORS = (-3.0, 5.0)


@model_type("default.LinearView")
@dataclass(frozen=True, eq=False)
class LinearView:
    """Scores of one view: mapped rows x coefficients (d x K) + intercept (K)."""

    name: str
    coef: np.ndarray
    intercept: np.ndarray

    def scores(self, X: Any) -> np.ndarray:
        """Log-probabilities up to a constant (n x K) of mapped rows that have the view."""
        return np.asarray(X @ self.coef) + self.intercept


@model_type("default.LinearMember")
@dataclass(frozen=True, eq=False)
class LinearMember:
    """The regressions of the views that have columns, of which ``n_different`` are no copies."""

    views: list[LinearView]
    n_different: float

    def predict(self, data: MultiViewData, mapped: dict[str, Any]) -> np.ndarray:
        """Probabilities (n x K) from the mapped rows of the feature views."""
        scores = {}
        for view in self.views:
            rows = np.flatnonzero(data.present[:, data.view_names.index(view.name)])
            scores[view.name] = rows, view.scores(mapped[view.name][rows])
        return pool_scores(scores, len(data), self.n_different)


def pool_scores(
    scores: dict[str, tuple[np.ndarray, np.ndarray]], n: int, n_different: float
) -> np.ndarray:
    """Softmax of the mean over the views of their scores, given as rows and values."""
    n_classes = next(iter(scores.values()))[1].shape[1]
    total = np.zeros((n, n_classes))
    for rows, values in scores.values():
        total[rows] += values
    return softmax(total / n_different, axis=1)


def fit_linear_member(
    data: MultiViewData,
    mapped: dict[str, Any],
    codes: np.ndarray,
    weight: np.ndarray,
    prior: np.ndarray,
    n_copies: np.ndarray,
    folds: np.ndarray | None = None,
    run: Map = map,
) -> tuple[LinearMember, np.ndarray] | None:
    """Return the member and its left-out probabilities (n x K); None if no view has columns.

    The arguments are those of ``fit_kernel_member``; ``n_copies`` says how many views are the same
    as each view, which share its influence.
    """
    targets = np.eye(len(prior))[codes] - prior

    def fit(name: str) -> tuple[LinearView, np.ndarray, np.ndarray] | None:
        """The view with its rows and their scores when left out."""
        X, v = mapped[name], data.view_names.index(name)
        rows = np.flatnonzero(data.present[:, v])
        if X.shape[1] == 0 or len(rows) < 2:
            return None
        own_folds = None if folds is None else np.unique(folds[rows], return_inverse=True)[1]
        solution = fit_view(X[rows], targets[rows], weight[rows], own_folds)
        if solution is None:
            return None
        coef, intercept, left_out = solution
        intercept, left_out = intercept + prior, left_out + prior
        factor = fit_factor(left_out, codes[rows], weight[rows]) / n_copies[v]
        return LinearView(name, factor * coef, factor * intercept), rows, factor * left_out

    fitted = [solution for solution in run(fit, list(mapped)) if solution is not None]
    views = [view for view, _, _ in fitted]
    scores = {view.name: (rows, left_out) for view, rows, left_out in fitted}
    if not views:
        return None
    own = [data.view_names.index(view.name) for view in views]
    n_different = float((1.0 / n_copies[own]).sum())
    return LinearMember(views, n_different), pool_scores(scores, len(data), n_different)


def fit_view(
    X: Any, targets: np.ndarray, weight: np.ndarray, folds: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Coefficients, intercept and left-out scores of a view; None if its rows do not differ.

    The ridge regression is solved for the coefficients of the columns or of the rows, whichever
    are fewer.
    """
    mean = np.asarray(weight @ X).ravel() / weight.sum()
    scale = float((weight @ _square_norms(X)) / weight.sum() - mean @ mean)
    if scale <= 1e-12 * float(mean @ mean):
        return None
    if X.shape[1] <= X.shape[0]:
        coef, left_out = _fit_columns(X, mean, scale, targets, weight, folds)
    else:
        coef, left_out = _fit_rows(X, mean, scale, targets, weight, folds)
    intercept = coef[-1] - mean @ coef[:-1]
    return coef[:-1], intercept, left_out


def _fit_columns(
    X: Any,
    mean: np.ndarray,
    scale: float,
    targets: np.ndarray,
    weight: np.ndarray,
    folds: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray]:
    root = np.sqrt(scale)

    def blocks() -> Iterator[np.ndarray]:
        for start in range(0, X.shape[0], CHUNK_ROWS):
            block = X[start : start + CHUNK_ROWS]
            block = block.toarray() if sp.issparse(block) else np.asarray(block, dtype=np.float64)
            yield np.column_stack([(block - mean) / root, np.ones(len(block))])

    fit = feature_ridge(blocks, targets, weight, PENALTIES, folds)
    return np.vstack([fit.coef[:-1] / root, fit.coef[-1:]]), fit.left_out


def _fit_rows(
    X: Any,
    mean: np.ndarray,
    scale: float,
    targets: np.ndarray,
    weight: np.ndarray,
    folds: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray]:
    used = slice(0, MAX_KERNEL_ROWS)
    K = _centred_gram(X[used], mean) / scale
    fit = _fit_kernel(K, targets[used], weight[used], None if folds is None else folds[used])
    coef = np.asarray(X[used].T @ fit.coef) - np.outer(mean, fit.coef.sum(axis=0))
    coef = np.vstack([coef / scale, fit.coef.sum(axis=0)])
    if X.shape[0] <= MAX_KERNEL_ROWS:
        return coef, fit.left_out
    rest = X[MAX_KERNEL_ROWS:]
    others = np.asarray(rest @ coef[:-1]) + (coef[-1] - mean @ coef[:-1])
    if folds is not None:
        # the rest of a group must not be predicted by rows of that group
        shift = np.asarray(X[used] @ mean) - mean @ mean
        for fold in np.unique(folds[MAX_KERNEL_ROWS:]):
            kept = np.flatnonzero(folds[used] != fold)
            own = np.flatnonzero(folds[MAX_KERNEL_ROWS:] == fold)
            alpha = exact_ridge(
                K[np.ix_(kept, kept)], targets[kept], weight[kept], fit.penalty
            ).coef
            products = rest[own] @ X[kept].T
            products = products.toarray() if sp.issparse(products) else products
            gram = products - np.asarray(rest[own] @ mean)[:, None] - shift[kept]
            others[own] = (gram / scale + 1.0) @ alpha
    return coef, np.vstack([fit.left_out, others])


def _fit_kernel(
    K: np.ndarray, targets: np.ndarray, weight: np.ndarray, folds: np.ndarray | None
) -> RidgeFit:
    """Ridge regression with the penalty of least left-out error, on a sample of many rows."""
    sample = slice(0, TUNING_ROWS)
    fit = kernel_ridge(
        K[sample, sample],
        targets[sample],
        weight[sample],
        PENALTIES,
        None if folds is None else folds[sample],
    )
    if len(K) <= TUNING_ROWS:
        return fit
    return exact_ridge(K, targets, weight, fit.penalty, folds)


def _centred_gram(X: Any, mean: np.ndarray) -> np.ndarray:
    """(x − mean)·(z − mean) for all pairs of rows."""
    gram = X @ X.T
    gram = gram.toarray() if sp.issparse(gram) else gram
    shift = np.asarray(X @ mean)
    return np.asarray(gram - shift - shift[:, None] + mean @ mean, dtype=np.float64)


def _square_norms(X: Any) -> np.ndarray:
    if sp.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)


def fit_factor(scores: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> float:
    """Factor by which softmax(factor · scores) has the least log loss, slightly shrunk."""
    rows = np.arange(len(codes))
    share = weight / weight.sum()

    def loss(log_factor: float) -> float:
        logits = np.exp(log_factor) * scores
        shrinkage = 0.5 * (log_factor - np.log(TYPICAL_FACTOR)) ** 2 / len(codes)
        return float(share @ (log_sums(logits) - logits[rows, codes]) + shrinkage)

    return float(np.exp(minimize_scalar(loss, bounds=LOG_FACTORS, method="bounded").x))
