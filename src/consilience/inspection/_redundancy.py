"""Clusters of correlated features, within and across views."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["correlation_clusters", "rank_columns", "standardise_columns"]

BLOCK_COLUMNS = 256  # columns whose correlations with all others are computed at once
TINY = 1e-300


def rank_columns(Z: np.ndarray) -> np.ndarray:
    """Ranks of the values of each column, NaN where they are missing."""
    from scipy.stats import rankdata

    return rankdata(Z, axis=0, nan_policy="omit")


def standardise_columns(Z: np.ndarray) -> np.ndarray:
    """Columns of mean 0 and norm 1; missing cells and constant columns are 0."""
    Z = np.asarray(Z, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        is_missing = np.isnan(Z)
    counts = np.maximum((~is_missing).sum(axis=0), 1)
    Z = np.where(is_missing, 0.0, Z)
    Z = np.where(is_missing, 0.0, Z - Z.sum(axis=0) / counts)
    norms = np.sqrt((Z**2).sum(axis=0))
    largest = np.abs(Z).max(axis=0, initial=0.0)
    is_constant = norms <= 1e-10 * np.maximum(largest, TINY)
    return np.where(is_constant, 0.0, Z / np.where(norms > 0, norms, 1.0))


def correlation_clusters(
    Z: np.ndarray, threshold: float, order: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Cluster of each column, and the representative of each cluster.

    The first column in ``order`` that belongs to no cluster represents a new one, which all columns
    without a cluster join whose correlation with it is at least ``threshold`` in absolute value.

    Parameters
    ----------
    Z : array of shape (n, d)
        Columns from ``standardise_columns``.
    threshold : float
        Minimum absolute correlation with the representative.
    order : int array of shape (d,), optional
        Columns by priority; by default from left to right.
    """
    d = Z.shape[1]
    order = np.arange(d) if order is None else np.asarray(order)
    labels = np.full(d, -1)
    leaders: list[int] = []
    for start in range(0, d, BLOCK_COLUMNS):
        block = order[start : start + BLOCK_COLUMNS]
        block = block[labels[block] < 0]
        free = np.flatnonzero(labels < 0)
        near = np.abs(Z[:, block].T @ Z[:, free]) >= threshold
        for row, column in enumerate(block):
            if labels[column] >= 0:
                continue
            joins = free[near[row]]
            joins = joins[labels[joins] < 0]
            labels[joins] = labels[column] = len(leaders)
            leaders.append(int(column))
    return labels, np.array(leaders, dtype=np.intp)
