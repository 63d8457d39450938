"""Clusters of correlated features, within and across views, and what a view adds to the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from consilience.inspection._feature_data import numeric_view
from consilience.inspection._feature_table import FeatureImportance, to_table
from consilience.inspection._line_integrals import to_dense
from consilience.views import MultiViewData, as_multiview
from consilience.views import _storage as storage

__all__ = [
    "FeatureClusters",
    "correlate",
    "correlation_clusters",
    "feature_clusters",
    "feature_matrix",
    "standardise_columns",
]

BLOCK_COLUMNS = 256  # columns whose correlations with all others are computed at once
TINY = 1e-300
MIN_COMMON_ROWS = 10  # of two columns with missing cells; the correlation of fewer is mostly noise
MIN_SQUARES = 1e-20  # products of variances, of columns of norm 1, below it are rounding errors


def standardise_columns(Z: np.ndarray) -> np.ndarray:
    """Columns of mean 0 and norm 1; constant columns are 0, and missing cells stay NaN."""
    Z = np.asarray(Z, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        is_missing = np.isnan(Z)
    counts = np.maximum((~is_missing).sum(axis=0), 1)
    Z = np.where(is_missing, 0.0, Z)
    Z = np.where(is_missing, 0.0, Z - Z.sum(axis=0) / counts)
    norms = np.sqrt((Z**2).sum(axis=0))
    largest = np.abs(Z).max(axis=0, initial=0.0)
    is_constant = norms <= 1e-10 * np.maximum(largest, TINY)
    Z = np.where(is_constant, 0.0, Z / np.where(norms > 0, norms, 1.0))
    return np.where(is_missing, np.nan, Z)


def correlate(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Correlations (a x b) of columns from ``standardise_columns``, over the rows that both have.

    They are 0 if these are too few, or if one of the columns is constant there.
    """
    a, b = ~np.isnan(A), ~np.isnan(B)
    if a.all() and b.all():
        return A.T @ B
    A, B, a, b = np.where(a, A, 0.0), np.where(b, B, 0.0), a.astype(float), b.astype(float)
    counts = a.T @ b
    sums_a, sums_b = A.T @ b, a.T @ B
    n = np.maximum(counts, 1.0)
    squares = ((A**2).T @ b - sums_a**2 / n) * (a.T @ B**2 - sums_b**2 / n)
    is_known = (counts >= MIN_COMMON_ROWS) & (squares > MIN_SQUARES)
    norms = np.sqrt(np.where(is_known, squares, 1.0))
    return np.where(is_known, (A.T @ B - sums_a * sums_b / n) / norms, 0.0)


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
        near = np.abs(correlate(Z[:, block], Z[:, free])) >= threshold
        for row, column in enumerate(block):
            if labels[column] >= 0:
                continue
            joins = free[near[row]]
            joins = joins[labels[joins] < 0]
            labels[joins] = labels[column] = len(leaders)
            leaders.append(int(column))
    return labels, np.array(leaders, dtype=np.intp)


@dataclass(frozen=True, eq=False)
class FeatureClusters:
    """Clusters of correlated features.

    Attributes
    ----------
    view, feature : ndarrays of shape (n_features,)
        View and name of each feature, in the order of the importance.
    cluster : int ndarray of shape (n_features,)
        Cluster of each feature; the cluster of the most important feature is 0.
    is_representative : bool ndarray of shape (n_features,)
        True for the most important feature of each cluster.
    correlation : ndarray of shape (n_features,)
        Correlation with the representative of the cluster, over the samples that have both.
    unique_share : ndarray of shape (n_features,)
        Share of the feature's variance that the features of the other views do not explain
        linearly, as far as the number of samples allows to say; 1 if there is only one view.

    Examples
    --------
    >>> from consilience.datasets import make_multiview_classification
    >>> from consilience.fusion import LateFusionClassifier
    >>> from consilience.inspection import feature_clusters, feature_importance
    >>> data, y = make_multiview_classification(60, n_views=2, n_features=3, random_state=0)
    >>> importance = feature_importance(LateFusionClassifier(), data, y, cv=2)
    >>> clusters = feature_clusters(importance, data)
    >>> bool(clusters.is_representative.sum() == len(set(clusters.cluster)))
    True
    """

    view: np.ndarray
    feature: np.ndarray
    cluster: np.ndarray
    is_representative: np.ndarray
    correlation: np.ndarray
    unique_share: np.ndarray

    def to_frame(self) -> Any:
        """Return a pandas DataFrame, or a list of dicts if pandas is not installed.

        Returns
        -------
        DataFrame
            One row for each feature.
        """
        names = ("view", "feature", "cluster", "is_representative", "correlation", "unique_share")
        return to_table({name: getattr(self, name) for name in names})


def feature_matrix(data: MultiViewData, result: FeatureImportance) -> np.ndarray:
    """Values of the features of a result (n x k), NaN where they are missing."""
    columns = []
    for name, label in zip(result.view, result.column, strict=True):
        X = numeric_view(data, name)
        column = to_dense(X[:, [_column_number(data, name, label)]])[:, 0]
        is_present = data.present[:, data.view_names.index(name)]
        columns.append(np.where(is_present, column, np.nan))
    return np.column_stack(columns)


def _column_number(data: MultiViewData, view: str, label: Any) -> int:
    names = storage.column_names(data[view])
    labels = range(data.widths[view]) if names is None else names
    if label not in labels:
        raise ValueError(f"view {view!r} has no column {label!r}, whose importance was measured")
    return labels.index(label)


def feature_clusters(
    result: FeatureImportance, X: Any, *, k: int | None = 200, min_correlation: float = 0.7
) -> FeatureClusters:
    """Cluster the most important features by their correlation, within and across views.

    The most important feature represents a cluster, which all features join whose correlation with
    it is large enough; then the most important one of the rest, and so on.

    Parameters
    ----------
    result : FeatureImportance
        Importance of the features.
    X : MultiViewData or any multi-view input
        The samples, with the same views and features.
    k : int or None, default=200
        Number of features, the most important ones; None for all.
    min_correlation : float in (0, 1], default=0.7
        Minimum absolute correlation with the representative.

    Returns
    -------
    FeatureClusters

    Examples
    --------
    >>> from consilience.datasets import make_multiview_biomarkers
    >>> from consilience.fusion import LateFusionClassifier
    >>> from consilience.inspection import feature_clusters, feature_importance
    >>> problem = make_multiview_biomarkers(
    ...     150, n_features=[20, 40], n_informative=4, n_copies=4, random_state=0)
    >>> result = feature_importance(LateFusionClassifier(), problem.data, problem.target)
    >>> clusters = feature_clusters(result, problem.data, k=8)
    >>> int(clusters.is_representative.sum())  # the other four are copies
    4
    """
    if not 0 < min_correlation <= 1:
        raise ValueError(f"min_correlation must be in (0, 1], got {min_correlation!r}")
    data = as_multiview(X)
    best = result.top(len(result) if k is None else k)
    Z = standardise_columns(feature_matrix(data, best))
    labels, leaders = correlation_clusters(Z, min_correlation)
    is_representative = np.zeros(len(best), dtype=bool)
    is_representative[leaders] = True
    return FeatureClusters(
        view=best.view,
        feature=best.feature,
        cluster=labels,
        is_representative=is_representative,
        correlation=_with_leaders(Z, labels, leaders),
        unique_share=unique_shares(Z, best.view),
    )


def _with_leaders(Z: np.ndarray, labels: np.ndarray, leaders: np.ndarray) -> np.ndarray:
    """Correlation of each column with the representative of its cluster."""
    out = np.empty(len(labels))
    for cluster, leader in enumerate(leaders):
        own = labels == cluster
        out[own] = correlate(Z[:, [leader]], Z[:, own])[0]
    return out


def unique_shares(Z: np.ndarray, view: np.ndarray) -> np.ndarray:
    """1 − (leave-one-out R² of a ridge regression on the features of the other views).

    Features are regressed over the rows that have them and some feature of another view.
    """
    out = np.ones(Z.shape[1])
    for name in dict.fromkeys(view.tolist()):
        others = Z[:, view != name]
        if others.shape[1] == 0:
            continue
        is_known = ~np.isnan(others).all(axis=1)[:, None] & ~np.isnan(Z[:, view == name])
        masks, which = np.unique(is_known, axis=1, return_inverse=True)
        columns = np.flatnonzero(view == name)
        for pattern, rows in enumerate(masks.T):
            own = columns[which.ravel() == pattern]
            if rows.sum() >= MIN_COMMON_ROWS or rows.all():
                out[own] = _unexplained_shares(Z[np.ix_(rows, own)], others[rows])
    return out


def _unexplained_shares(own: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Shares of the variance of columns that others, 0 where they are missing, do not explain."""
    own, others = (np.nan_to_num(standardise_columns(part)) for part in (own, others))
    K = others @ others.T
    penalty = max(float(np.trace(K)) / len(K), TINY)
    inverse = np.linalg.inv(K + penalty * np.eye(len(K)))
    left_out = (inverse @ own) / inverse.diagonal()[:, None]  # residuals of rows left out
    total = np.maximum((own**2).sum(axis=0), TINY)
    return np.clip((left_out**2).sum(axis=0) / total, 0.0, 1.0)
