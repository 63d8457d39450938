"""Imputation of missing blocks of landmark similarities from the blocks that a row has.

Rows with the same missing views share one linear rule, so the work is done by pattern. Known
blocks stay as they are. Five methods: ``least_squares`` (equation 11: combine landmarks so as to
match the known blocks), ``ridge`` (regression on complete rows), ``em`` (the same from means and
covariances that use the incomplete rows too), ``mean``, and ``none``, which leaves out incomplete
rows in training and takes no similarities from missing views in prediction.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from consilience._model_types import model_type
from consilience._warnings import warn_user

__all__ = ["IMPUTATIONS", "Imputer", "expectation_maximisation", "fit_imputer", "least_squares"]

IMPUTATIONS = ("em", "ridge", "least_squares", "mean", "none")
# share of the mean variance that is added to every variance
RIDGE = 1e-2
# EM stops when no covariance changes by more than this share of the largest
EM_TOL, EM_MAX_ITER = 1e-3, 30
# means and covariances are estimated from so many rows, or so many for each column if that is more
MAX_ROWS, ROWS_PER_COLUMN = 5000, 5
# all rows are used that have a view which fewer rows have than this share of that number
RARE_SHARE = 0.1
# a regression needs at least so many complete rows
MIN_COMPLETE_ROWS = 10


def patterns(present: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Pairs of a pattern of present views and the numbers of the rows that have it."""
    distinct, which = np.unique(present, axis=0, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    ends = np.cumsum(np.bincount(which.ravel(), minlength=len(distinct)))
    return list(zip(distinct, np.split(order, ends[:-1]), strict=True))


def present_columns(pattern: Iterable[bool], slices: list[slice], width: int) -> np.ndarray:
    """Mask of the columns that belong to the present views."""
    mask = np.zeros(width, dtype=bool)
    for is_present, where in zip(pattern, slices, strict=True):
        mask[where] = is_present
    return mask


def transfer_by_landmarks(P: np.ndarray, known: np.ndarray, ridge: float = 0.0) -> np.ndarray:
    """T with m_missing ≈ m_known T, from R = argmin |m_known − R P_known|² (+ ρ|R|²).

    ρ is ``ridge`` times the mean of the diagonal of P_known P_knownᵀ.
    """
    A = P[:, known]
    if ridge == 0:
        return np.linalg.pinv(A) @ P[:, ~known]
    G = A @ A.T
    G[np.diag_indices(len(G))] += ridge_penalty(G, ridge)
    return A.T @ np.linalg.solve(G, P[:, ~known])


def transfer_by_covariance(
    S: np.ndarray, known: np.ndarray, penalty: float
) -> tuple[np.ndarray, np.ndarray]:
    """T with m_missing − μ ≈ (m_known − μ) T, and the covariances of known and missing."""
    cross = S[np.ix_(known, ~known)]
    A = S[np.ix_(known, known)]
    A[np.diag_indices(len(A))] += penalty
    return cho_solve(cho_factor(A, check_finite=False), cross, check_finite=False), cross


def least_squares(
    M: np.ndarray,
    present: np.ndarray,
    slices: list[slice],
    P: np.ndarray,
    *,
    ridge: float = 0.0,
) -> np.ndarray:
    """Impute the missing blocks of M by equation 11, for projected landmarks P."""
    out = M.copy()
    for pattern, rows in patterns(present):
        known = present_columns(pattern, slices, M.shape[1])
        if not known.all() and known.any():
            T = transfer_by_landmarks(P, known, ridge)
            out[np.ix_(rows, ~known)] = M[np.ix_(rows, known)] @ T
    return out


def expectation_maximisation(
    M: np.ndarray,
    present: np.ndarray,
    slices: list[slice],
    weight: np.ndarray,
    *,
    ridge: float = RIDGE,
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of rows with missing blocks under a normal model: (μ, S).

    ``ridge`` times the mean variance is added where a covariance is inverted.
    """
    groups = [(present_columns(p, slices, M.shape[1]), rows) for p, rows in patterns(present)]
    share = weight / weight.sum()
    mu = observed_means(M, present, slices, weight)
    full = M.copy()
    groups = [(known, rows) for known, rows in groups if not known.all()]
    for known, rows in groups:
        full[np.ix_(rows, ~known)] = mu[~known]
    S = covariance(full, mu, share)
    for _ in range(EM_MAX_ITER if groups else 0):
        conditional, penalty = np.zeros_like(S), ridge_penalty(S, ridge)
        for known, rows in groups:
            T, cross = transfer_by_covariance(S, known, penalty)
            full[np.ix_(rows, ~known)] = mu[~known] + (M[np.ix_(rows, known)] - mu[known]) @ T
            # the variance of the missing blocks that the known ones do not explain
            unexplained = S[np.ix_(~known, ~known)] - cross.T @ T
            conditional[np.ix_(~known, ~known)] += share[rows].sum() * unexplained
        mu, previous = share @ full, S
        S = covariance(full, mu, share) + conditional
        if np.abs(S - previous).max() <= EM_TOL * np.abs(S).max():
            break
    return mu, S


def observed_means(
    M: np.ndarray, present: np.ndarray, slices: list[slice], weight: np.ndarray
) -> np.ndarray:
    """Weighted mean of every column over the rows that have it; 0 where there are none."""
    mu = np.zeros(M.shape[1])
    for v, where in enumerate(slices):
        rows = present[:, v]
        if rows.any():
            mu[where] = weight[rows] @ M[rows, where] / weight[rows].sum()
    return mu


def covariance(full: np.ndarray, mu: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Weighted covariance about μ."""
    centred = (full - mu) * np.sqrt(share)[:, None]
    return centred.T @ centred


def ridge_penalty(S: np.ndarray, ridge: float) -> float:
    """``ridge`` times the mean of the diagonal, or 1 if that is 0."""
    mean = S.diagonal().mean() if len(S) else 0.0
    return ridge * mean if mean > 0 else 1.0


@model_type("landmark.Imputer")
@dataclass
class Imputer:
    """A fitted rule: means and covariance (em, ridge), projected landmarks, or means alone."""

    slices: list[slice]
    mean: np.ndarray
    covariance: np.ndarray | None = None
    landmarks: np.ndarray | None = None

    def __call__(self, M: np.ndarray, present: np.ndarray) -> np.ndarray:
        """M with its missing blocks imputed; M itself if none is missing."""
        if present.all():
            return M
        out = M.copy()
        for pattern, rows in patterns(present):
            known = present_columns(pattern, self.slices, M.shape[1])
            if not known.all():
                out[np.ix_(rows, ~known)] = self._impute(M[np.ix_(rows, known)], known)
        return out

    def _impute(self, values: np.ndarray, known: np.ndarray) -> np.ndarray:
        if self.landmarks is not None and known.any():
            return values @ transfer_by_landmarks(self.landmarks, known)
        if self.covariance is None or not known.any():
            return np.broadcast_to(self.mean[~known], (len(values), (~known).sum()))
        penalty = ridge_penalty(self.covariance, RIDGE)
        T, _ = transfer_by_covariance(self.covariance, known, penalty)
        return self.mean[~known] + (values - self.mean[known]) @ T


def fit_imputer(
    M: np.ndarray,
    present: np.ndarray,
    slices: list[slice],
    weight: np.ndarray,
    method: str,
    *,
    rng: np.random.RandomState,
    P: np.ndarray | None = None,
) -> Imputer:
    """The imputer of a method, from projected training rows.

    Parameters
    ----------
    M : array of shape (n, p)
        Similarities; missing blocks are not read.
    present : bool array of shape (n, V)
        False where a block is missing.
    slices : list of V slices
        The columns of each view.
    weight : array of shape (n,)
        Sample weights.
    method : {"em", "ridge", "least_squares", "mean", "none"}
        A method that lacks complete rows is replaced by another one, with a warning.
    rng : RandomState
        Draws the rows that are used where there are very many.
    P : array of shape (L, p)
        Similarities of complete samples, which equation 11 combines; for "least_squares" only.

    Returns
    -------
    Imputer
    """
    if method == "none":
        return Imputer(slices, np.zeros(M.shape[1]))
    mean = observed_means(M, present, slices, weight)
    if method == "least_squares":
        if P is not None and len(P):
            return Imputer(slices, mean, landmarks=P.astype(np.float64))
        method = fall_back("least_squares", 0, "mean")
    if method == "mean" or len(slices) == 1:
        return Imputer(slices, mean)
    complete = np.flatnonzero(present.all(axis=1))
    if method == "ridge" and len(complete) < min(MIN_COMPLETE_ROWS, len(M)):
        method = fall_back("ridge", len(complete), "em")
    rows = complete if method == "ridge" else np.arange(len(M))
    max_rows = max(MAX_ROWS, ROWS_PER_COLUMN * M.shape[1])
    if len(rows) > max_rows:
        rows, factors = draw_rows(rows, present[rows], max_rows, rng)
        weight = weight.copy()
        weight[rows] *= factors
    mu, S = expectation_maximisation(
        M[rows].astype(np.float64), present[rows], slices, weight[rows]
    )
    return Imputer(slices, mu, covariance=S)


def draw_rows(
    rows: np.ndarray, present: np.ndarray, size: int, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Draw ``size`` of the rows, and all that have a rare view; return factors of their weights."""
    is_rare = present.sum(axis=0) < RARE_SHARE * size
    is_kept = present[:, is_rare].any(axis=1)
    others = rows[~is_kept]
    drawn = rng.choice(others, min(size, len(others)), replace=False)
    chosen = np.concatenate([rows[is_kept], drawn])
    factors = np.repeat([1.0, len(others) / max(len(drawn), 1)], [is_kept.sum(), len(drawn)])
    order = np.argsort(chosen)
    return chosen[order], factors[order]


def fall_back(method: str, n_complete: int, other: str) -> str:
    """Warn that a method has too few complete rows; return the method that replaces it."""
    warn_user(
        f"imputation={method!r} learns from rows that have all views, and only {n_complete} "
        f"training rows have them; imputation={other!r} is used"
    )
    return other
