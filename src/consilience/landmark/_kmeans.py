"""Representative rows: the distinct ones if there are few of them, or the centres of k-means."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import kmeans_plusplus
from sklearn.utils.extmath import row_norms

__all__ = ["distinct_rows", "kmeans_centres", "kmeans_medoids"]

# k-means runs on a sample of so many rows, or so many for each centre if that is more
MAX_ROWS, ROWS_PER_CENTRE = 2000, 20
# more iterations improve the centres, but not what is learned from the similarities to them
MAX_ITER = 10
# entries of a dense piece of a sparse matrix
CHUNK_ENTRIES = 1 << 21


def distinct_rows(X: Any, limit: int) -> np.ndarray | None:
    """Positions of the distinct rows, in the order of their values; None if > ``limit``.

    Most data have more than ``limit`` distinct rows among the first few, so little is read.
    """
    step = min(max(2 * limit, 256), max(1, CHUNK_ENTRIES // X.shape[1]))
    distinct, index = np.empty((0, X.shape[1]), dtype=X.dtype), np.empty(0, dtype=np.intp)
    for start in range(0, X.shape[0], step):
        part = X[start : start + step]
        part = part.toarray() if sp.issparse(part) else part
        positions = np.concatenate([index, np.arange(start, start + len(part))])
        distinct, first = np.unique(np.vstack([distinct, part]), axis=0, return_index=True)
        index = positions[first]
        if len(index) > limit:
            return None
    return index


def kmeans_centres(
    X: Any, n_centres: int, weight: np.ndarray, rng: np.random.RandomState
) -> np.ndarray:
    """Centres (n_centres x d, dense) of weighted k-means on X, or on a sample of a long X.

    As fast as scikit-learn's ``KMeans`` with the same start, but without its sums over OpenMP
    threads, whose last digits depend on the number of threads, and without warnings of repeated
    rows.
    """
    max_rows = max(MAX_ROWS, ROWS_PER_CENTRE * n_centres)
    if X.shape[0] > max_rows:
        rows = np.sort(rng.choice(X.shape[0], max_rows, replace=False))
        X, weight = X[rows], weight[rows]
    # in float32, distances between rows far from the origin would be rounding errors
    X = X.astype(np.float64, copy=False)
    weight = weight / weight.mean()
    centres, _ = kmeans_plusplus(X, n_centres, sample_weight=weight, random_state=rng)
    centres = centres.toarray() if sp.issparse(centres) else centres
    previous = None
    for _ in range(MAX_ITER):
        labels = nearest_centre(X, centres)
        if previous is not None and (labels == previous).all():
            break
        centres, previous = cluster_means(X, labels, weight, centres), labels
    return centres


def nearest_centre(X: Any, centres: np.ndarray) -> np.ndarray:
    """argmin_j |x − c_j|² of every row."""
    distances = X @ centres.T
    distances *= -2
    distances += row_norms(centres, squared=True)
    return distances.argmin(axis=1)


def cluster_means(
    X: Any, labels: np.ndarray, weight: np.ndarray, centres: np.ndarray
) -> np.ndarray:
    """Weighted means of the rows of each cluster; the centre of an empty cluster stays."""
    n = X.shape[0]
    mass = np.bincount(labels, weights=weight, minlength=len(centres))
    members = sp.csr_array((weight / mass[labels], (labels, np.arange(n))), shape=(len(centres), n))
    out = members @ X
    out = out.toarray() if sp.issparse(out) else out
    return np.where(mass[:, None] > 0, out, centres)


def kmeans_medoids(
    K: np.ndarray, n_medoids: int, weight: np.ndarray, rng: np.random.RandomState
) -> np.ndarray:
    """Positions of the rows of a similarity matrix nearest to the k-means centres of its rows."""
    centres = kmeans_centres(K, n_medoids, weight, rng)
    distances = row_norms(centres, squared=True)[:, None] - 2 * centres @ K.T
    distances += row_norms(K, squared=True)
    taken: list[int] = []
    for row in distances:
        row[taken] = np.inf
        taken.append(int(row.argmin()))
    return np.array(taken)
