"""Missing blocks of the landmark similarities, filled in from the blocks a row has.

Rows with the same missing views share one linear rule, so the work is done by pattern. Known
blocks stay as they are. Four ways: ``least_squares`` (equation 11: combine landmarks so as to
match the known blocks), ``ridge`` (regression on complete rows), ``em`` (the same from means and
covariances that use the incomplete rows too) and ``mean``.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

__all__ = ["IMPUTATIONS", "Imputer", "expectation_maximisation", "fit_imputer", "least_squares"]

IMPUTATIONS = ("em", "ridge", "least_squares", "mean")
# part of the mean variance that is added to every variance
RIDGE = 1e-2
# EM ends when no covariance changes by more than this part of the largest
MIN_CHANGE, MAX_ROUNDS = 1e-3, 30
# rows, for each column, from which means and covariances are estimated
MAX_ROWS, ROWS_PER_COLUMN = 5000, 5
# complete rows below which a regression on them says nothing
MIN_ROWS = 10


def patterns(present):
    """Pairs of a pattern of present views and the numbers of the rows that have it."""
    kinds, which = np.unique(present, axis=0, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    ends = np.cumsum(np.bincount(which.ravel(), minlength=len(kinds)))
    return list(zip(kinds, np.split(order, ends[:-1]), strict=True))


def columns_of(pattern, slices, width):
    """Mask of the columns that belong to the present views."""
    mask = np.zeros(width, dtype=bool)
    for is_present, where in zip(pattern, slices, strict=True):
        mask[where] = is_present
    return mask


def transfer_by_landmarks(P, known, ridge=0.0):
    """T with m_missing ≈ m_known T, from R = argmin |m_known − R P_known|² (+ ρ|R|²).

    ρ is ``ridge`` times the mean of the diagonal of P_known P_knownᵀ.
    """
    A = P[:, known]
    if ridge == 0:
        return np.linalg.pinv(A) @ P[:, ~known]
    G = A @ A.T
    G[np.diag_indices(len(G))] += ridge_of(G, ridge)
    return A.T @ np.linalg.solve(G, P[:, ~known])


def transfer_by_covariance(S, known, ridge):
    """T with m_missing − μ ≈ (m_known − μ) T, and the covariances of known and missing."""
    cross = S[np.ix_(known, ~known)]
    A = S[np.ix_(known, known)]
    A[np.diag_indices(len(A))] += ridge
    return cho_solve(cho_factor(A, check_finite=False), cross, check_finite=False), cross


def least_squares(M, present, slices, P, *, ridge=0.0):
    """Fill the missing blocks of M by equation 11, for projected landmarks P."""
    out = M.copy()
    for pattern, rows in patterns(present):
        known = columns_of(pattern, slices, M.shape[1])
        if not known.all() and known.any():
            T = transfer_by_landmarks(P, known, ridge)
            out[np.ix_(rows, ~known)] = M[np.ix_(rows, known)] @ T
    return out


def expectation_maximisation(M, present, slices, weight, *, ridge=RIDGE):
    """Mean and covariance of rows with missing blocks under a normal model: (μ, S).

    ``ridge`` times the mean variance is added where a covariance is inverted.
    """
    is_present = np.stack([columns_of(p, slices, M.shape[1]) for p, _ in patterns(present)])
    groups = [rows for _, rows in patterns(present)]
    share = weight / weight.sum()
    mu = observed_means(M, present, slices, weight)
    full = M.copy()
    for known, rows in zip(is_present, groups, strict=True):
        full[np.ix_(rows, ~known)] = mu[~known]
    S = covariance(full, mu, share)
    for _ in range(MAX_ROUNDS if not is_present.all() else 0):
        spread, size = np.zeros_like(S), ridge_of(S, ridge)
        for known, rows in zip(is_present, groups, strict=True):
            if known.all():
                continue
            T, cross = transfer_by_covariance(S, known, size)
            full[np.ix_(rows, ~known)] = mu[~known] + (M[np.ix_(rows, known)] - mu[known]) @ T
            # what the known blocks leave open of the variance of the others
            rest = S[np.ix_(~known, ~known)] - cross.T @ T
            spread[np.ix_(~known, ~known)] += share[rows].sum() * rest
        mu, last = share @ full, S
        S = covariance(full, mu, share) + spread
        if np.abs(S - last).max() <= MIN_CHANGE * np.abs(S).max():
            break
    return mu, S


def observed_means(M, present, slices, weight):
    """Weighted mean of every column over the rows that have it; 0 where none has."""
    mu = np.zeros(M.shape[1])
    for v, where in enumerate(slices):
        rows = present[:, v]
        if rows.any():
            mu[where] = weight[rows] @ M[rows, where] / weight[rows].sum()
    return mu


def covariance(full, mu, share):
    """Weighted covariance about μ."""
    centred = (full - mu) * np.sqrt(share)[:, None]
    return centred.T @ centred


def ridge_of(S, ridge):
    mean = S.diagonal().mean() if len(S) else 0.0
    return ridge * mean if mean > 0 else 1.0


@dataclass
class Imputer:
    """A fitted rule: means and covariance (em, ridge), projected landmarks, or means alone."""

    slices: list
    mean: np.ndarray
    covariance: np.ndarray | None = None
    landmarks: np.ndarray | None = None

    def __call__(self, M, present):
        """M with its missing blocks filled in; M itself if none is missing."""
        if present.all():
            return M
        out = M.copy()
        for pattern, rows in patterns(present):
            known = columns_of(pattern, self.slices, M.shape[1])
            if not known.all():
                out[np.ix_(rows, ~known)] = self._fill(M[np.ix_(rows, known)], known)
        return out

    def _fill(self, values, known):
        if self.landmarks is not None and known.any():
            return values @ transfer_by_landmarks(self.landmarks, known)
        if self.covariance is None or not known.any():
            return np.broadcast_to(self.mean[~known], (len(values), (~known).sum()))
        T, _ = transfer_by_covariance(self.covariance, known, ridge_of(self.covariance, RIDGE))
        return self.mean[~known] + (values - self.mean[known]) @ T


def fit_imputer(M, present, slices, weight, method, *, P=None, rng=None):
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
    method : {"em", "ridge", "least_squares", "mean"}
        How; a method that lacks complete rows gives way to another with a warning.
    P : array of shape (L, p)
        Similarities of complete samples, which equation 11 combines.
    rng : RandomState
        Draws the rows that are looked at where there are very many.

    Returns
    -------
    Imputer
    """
    mean = observed_means(M, present, slices, weight)
    if method == "least_squares" and len(P) == 0:
        method = fall_back("least_squares", 0, "mean")
    if method == "least_squares":
        return Imputer(slices, mean, landmarks=P.astype(np.float64))
    if method == "mean" or len(slices) == 1:
        return Imputer(slices, mean)
    complete = np.flatnonzero(present.all(axis=1))
    if method == "ridge" and len(complete) < min(MIN_ROWS, len(M)):
        method = fall_back("ridge", len(complete), "em")
    rows = complete if method == "ridge" else np.arange(len(M))
    most = max(MAX_ROWS, ROWS_PER_COLUMN * M.shape[1])
    if len(rows) > most:
        rows = np.sort(rng.choice(rows, most, replace=False))
    mu, S = expectation_maximisation(
        M[rows].astype(np.float64), present[rows], slices, weight[rows]
    )
    return Imputer(slices, mu, covariance=S)


def fall_back(method, n_complete, other):
    """Warn that a method has too few complete rows; the method used in its place."""
    warnings.warn(
        f"imputation={method!r} learns from rows that have all views, and only {n_complete} "
        f"training rows have; imputation={other!r} is used",
        UserWarning,
        stacklevel=7,
    )
    return other
