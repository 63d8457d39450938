"""Sources of kernel rows for SMO: a matrix that is there, or rows computed when they are needed.

A source has ``parts``, what the compiled loops read: the store of rows, the slot of every sample's
row (negative if it has none yet), a clock of use by slot, and the diagonal; and ``fetch``.
"""

from __future__ import annotations

import numpy as np

__all__ = ["BATCH_ROWS", "COMPUTE_ALL_BELOW", "CachedRows", "FullRows"]

# rows computed together; so few samples that all rows are, for most of them will be needed
BATCH_ROWS, COMPUTE_ALL_BELOW = 64, 1200


class FullRows:
    """A kernel matrix (n x n, float32 or float64), not copied if it is contiguous."""

    def __init__(self, K):
        dtype = np.float32 if K.dtype == np.float32 else np.float64
        self.K = np.ascontiguousarray(K, dtype=dtype)
        self.diagonal = self.K.diagonal().astype(np.float64)

    @property
    def parts(self):
        """(store, slots, used, diagonal); the clock is new, so several may read at a time."""
        n = len(self.K)
        return self.K, np.arange(n), np.zeros(n, dtype=np.int64), self.diagonal

    def fetch(self, samples):
        """Nothing is missing."""

    def times(self, g):
        """K g, from the rows where g is not 0."""
        where = np.flatnonzero(g)
        if 2 * len(where) > len(g):
            return self.K @ g
        return g[where] @ self.K[where]


class CachedRows:
    """Rows computed when they are asked for; those not used for longest make room for others.

    Parameters
    ----------
    compute : function (samples, out)
        Writes the rows of the samples into ``out``.
    diagonal : array of shape (n,)
        Diagonal of the kernel.
    capacity : int
        Most rows kept.
    dtype : float64 or float32
        Of the rows.
    """

    def __init__(self, compute, diagonal, capacity, dtype):
        n = len(diagonal)
        capacity = min(capacity, n)
        self.compute, self.diagonal = compute, np.ascontiguousarray(diagonal, dtype=np.float64)
        self.store = np.empty((capacity, n), dtype=dtype)
        self.slots = np.full(n, -1, dtype=np.int64)
        self.owner = np.full(capacity, -1, dtype=np.int64)
        self.used = np.zeros(capacity, dtype=np.int64)
        self.filled = self.n_computed = 0

    @property
    def parts(self):
        """(store, slots, used, diagonal)."""
        return self.store, self.slots, self.used, self.diagonal

    def fetch(self, samples):
        """Bring in the rows of these samples, fewer than there is room for."""
        if not self.filled and len(self.store) == len(self.slots) <= COMPUTE_ALL_BELOW:
            samples = np.arange(len(self.slots))
        now = self.used.max(initial=0) + 1
        found_slots = self.slots[samples]
        self.used[found_slots[found_slots >= 0]] = now
        lacking = samples[found_slots < 0]
        fresh = min(len(lacking), len(self.store) - self.filled)
        places = np.arange(self.filled, self.filled + fresh)
        if fresh < len(lacking):
            short = len(lacking) - fresh
            oldest = np.argpartition(self.used[: self.filled], short - 1)[:short]
            self.slots[self.owner[oldest]] = -1
            places = np.concatenate([places, oldest])
            block = np.empty((len(lacking), self.store.shape[1]), dtype=self.store.dtype)
            self.compute(lacking, block)
            self.store[places] = block
        else:
            self.compute(lacking, self.store[self.filled : self.filled + fresh])
        self.filled += fresh
        self.n_computed += len(lacking)
        self.slots[lacking], self.owner[places], self.used[places] = places, lacking, now

    def times(self, g):
        """K g, from the rows where g is not 0."""
        out = np.zeros(len(g))
        where = np.flatnonzero(g)
        for start in range(0, len(where), BATCH_ROWS):
            part = where[start : start + BATCH_ROWS]
            self.fetch(part)
            out += g[part] @ self.store[self.slots[part]]
        return out
