"""Rows that stand for all: the distinct ones if they are few, or the centres of k-means."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import kmeans_plusplus

__all__ = ["distinct_rows", "kmeans_centres", "kmeans_medoids"]

# k-means sees this many rows, or so many for each centre
MAX_ROWS, ROWS_PER_CENTRE = 2000, 20
# more steps improve the centres, but not what is learned from the similarities to them
MAX_STEPS = 10
# entries of a dense piece of a matrix
CHUNK_ENTRIES = 1 << 21


def distinct_rows(X, limit):
    """Numbers of the first rows of each kind, in the order of their values; None if > ``limit``.

    Most data show more than ``limit`` kinds in the first few rows, so little is read.
    """
    step = min(max(2 * limit, 256), max(1, CHUNK_ENTRIES // X.shape[1]))
    kinds, index = np.empty((0, X.shape[1]), dtype=X.dtype), np.empty(0, dtype=np.intp)
    for start in range(0, X.shape[0], step):
        part = X[start : start + step]
        part = part.toarray() if sp.issparse(part) else part
        numbers = np.concatenate([index, np.arange(start, start + len(part))])
        kinds, first = np.unique(np.vstack([kinds, part]), axis=0, return_index=True)
        index = numbers[first]
        if len(index) > limit:
            return None
    return index


def kmeans_centres(X, n_centres, weight, rng):
    """Centres (n_centres x d, dense) of weighted k-means on X, or on a sample of a long X."""
    most = max(MAX_ROWS, ROWS_PER_CENTRE * n_centres)
    if X.shape[0] > most:
        rows = np.sort(rng.choice(X.shape[0], most, replace=False))
        X, weight = X[rows], weight[rows]
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    weight = (weight / weight.mean()).astype(X.dtype)
    centres, _ = kmeans_plusplus(X, n_centres, sample_weight=weight, random_state=rng)
    centres = centres.toarray() if sp.issparse(centres) else centres
    last = None
    for _ in range(MAX_STEPS):
        nearest = nearest_centre(X, centres)
        if last is not None and (nearest == last).all():
            break
        centres, last = means(X, nearest, weight, centres), nearest
    return centres


def nearest_centre(X, centres):
    """argmin_j |x − c_j|² of every row."""
    gaps = X @ centres.T
    gaps *= -2
    gaps += np.einsum("ij,ij->i", centres, centres)
    return gaps.argmin(axis=1)


def means(X, nearest, weight, centres):
    """Weighted means of the rows nearest to each centre; a centre nobody is near to stays."""
    n = X.shape[0]
    mass = np.bincount(nearest, weights=weight, minlength=len(centres))
    share = (weight / mass[nearest]).astype(X.dtype)
    members = sp.csr_array((share, (nearest, np.arange(n))), shape=(len(centres), n))
    out = members @ X
    out = out.toarray() if sp.issparse(out) else out
    return np.where(mass[:, None] > 0, out, centres)


def kmeans_medoids(K, n_medoids, weight, rng):
    """Rows of a similarity between samples that are nearest to the k-means centres of its rows."""
    centres = kmeans_centres(K, n_medoids, weight, rng)
    gaps = np.einsum("ij,ij->i", centres, centres)[:, None] - 2 * centres @ K.T
    gaps += np.einsum("ij,ij->i", K, K)
    taken = []
    for row in gaps:
        row[taken] = np.inf
        taken.append(int(row.argmin()))
    return np.array(taken)
