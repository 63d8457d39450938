"""Sources of kernel rows for SMO: a whole matrix, or rows computed when they are needed.

A source has ``parts``, which the compiled loops read: the store of rows, the slot of every sample's
row (negative if it is not stored), the time of last use of every slot, and the diagonal; and
``fetch``, which computes the rows of some samples.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["BATCH_ROWS", "COMPUTE_ALL_BELOW", "CachedRows", "FullRows"]

# store of rows, slots, times of last use, diagonal
Parts = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]

# number of rows computed together
BATCH_ROWS = 64
# up to so many samples all rows are computed at once, because most of them will be needed
COMPUTE_ALL_BELOW = 1200


class FullRows:
    """A kernel matrix (n x n, float32 or float64), not copied if it is contiguous."""

    def __init__(self, K: np.ndarray) -> None:
        dtype = np.float32 if K.dtype == np.float32 else np.float64
        self.K = np.ascontiguousarray(K, dtype=dtype)
        self.diagonal = self.K.diagonal().astype(np.float64)

    @property
    def parts(self) -> Parts:
        """(store, slots, used, diagonal); ``used`` is new, so that several threads may read."""
        n = len(self.K)
        return self.K, np.arange(n), np.zeros(n, dtype=np.int64), self.diagonal

    def fetch(self, samples: np.ndarray) -> None:
        """Do nothing: all rows are stored."""

    def times(self, g: np.ndarray) -> np.ndarray:
        """K g, from the rows where g is not 0."""
        where = np.flatnonzero(g)
        if 2 * len(where) > len(g):
            return self.K @ g
        return g[where] @ self.K[where]


class CachedRows:
    """Rows computed when they are requested; the least recently used ones are replaced.

    Parameters
    ----------
    compute : function (samples, out)
        Writes the rows of the samples into ``out``.
    diagonal : array of shape (n,)
        Diagonal of the kernel.
    capacity : int
        Maximum number of rows kept.
    dtype : float64 or float32
        Type of the rows.
    """

    def __init__(
        self,
        compute: Callable[[np.ndarray, np.ndarray], Any],
        diagonal: np.ndarray,
        capacity: int,
        dtype: Any,
    ) -> None:
        n = len(diagonal)
        capacity = min(capacity, n)
        self.compute, self.diagonal = compute, np.ascontiguousarray(diagonal, dtype=np.float64)
        self.store = np.empty((capacity, n), dtype=dtype)
        self.slots = np.full(n, -1, dtype=np.int64)
        self.owner = np.full(capacity, -1, dtype=np.int64)
        self.used = np.zeros(capacity, dtype=np.int64)
        self.filled = self.n_computed = 0

    @property
    def parts(self) -> Parts:
        """(store, slots, used, diagonal)."""
        return self.store, self.slots, self.used, self.diagonal

    def fetch(self, samples: np.ndarray) -> None:
        """Compute the missing rows of these samples, of which there are at most ``capacity``."""
        if not self.filled and len(self.store) == len(self.slots) <= COMPUTE_ALL_BELOW:
            samples = np.arange(len(self.slots))
        now = self.used.max(initial=0) + 1
        slots_of_samples = self.slots[samples]
        self.used[slots_of_samples[slots_of_samples >= 0]] = now
        missing = samples[slots_of_samples < 0]
        n_free = min(len(missing), len(self.store) - self.filled)
        places = np.arange(self.filled, self.filled + n_free)
        if n_free < len(missing):
            short = len(missing) - n_free
            oldest = np.argpartition(self.used[: self.filled], short - 1)[:short]
            self.slots[self.owner[oldest]] = -1
            places = np.concatenate([places, oldest])
            block = np.empty((len(missing), self.store.shape[1]), dtype=self.store.dtype)
            self.compute(missing, block)
            self.store[places] = block
        else:
            self.compute(missing, self.store[self.filled : self.filled + n_free])
        self.filled += n_free
        self.n_computed += len(missing)
        self.slots[missing], self.owner[places], self.used[places] = places, missing, now

    def times(self, g: np.ndarray) -> np.ndarray:
        """K g, from the rows where g is not 0."""
        out = np.zeros(len(g))
        where = np.flatnonzero(g)
        for start in range(0, len(where), BATCH_ROWS):
            part = where[start : start + BATCH_ROWS]
            self.fetch(part)
            out += g[part] @ self.store[self.slots[part]]
        return out
