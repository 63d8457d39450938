"""Bins of many rows: which rows decide about them, cuts between bins, and their limits.

A view with few rows is binned in one go; of a view with many, or in blocks, some rows give the
cuts, and all rows are then encoded by them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from consilience._core import _core

__all__ = [
    "Cuts",
    "aligned",
    "as_floats",
    "canonical",
    "draw_bin_rows",
    "find_cuts",
    "join_ranges",
    "row_masses",
    "sparse_arrays",
    "splitmix",
]

# bins come from all rows of a view, or from about so many if it has more
MAX_BIN_ROWS = 200_000
GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ divided by the golden ratio, as an odd number


def row_masses(weight: np.ndarray | None, present: np.ndarray | None = None) -> np.ndarray | None:
    """Weights of the present rows as integers, scaled by a power of two and rounded."""
    if weight is None:
        return None
    held = weight if present is None else weight[present]
    if len(held) == 0 or (held == held[0]).all():
        return None
    exponent = 50 - int(np.ceil(np.log2(held.sum())))
    masses = np.maximum(np.rint(np.ldexp(held, exponent)), 1).astype(np.int64)
    if present is None:
        return masses
    out = np.zeros(len(weight), dtype=np.int64)
    out[present] = masses
    return out


class Cuts(NamedTuple):
    """Cuts between the bins of all features, and where those of each feature begin."""

    values: np.ndarray
    start: np.ndarray


def draw_bin_rows(first: int, n_rows: int, n_present: int) -> np.ndarray:
    """Mask of the rows ``first`` … that decide about bins: all, or ``MAX_BIN_ROWS`` of many.

    A row takes part if a hash of its number is small enough, whatever rows are at hand.
    """
    if n_present <= MAX_BIN_ROWS:
        return np.ones(n_rows, dtype=bool)
    return hash_rows(first, n_rows) < np.uint64(MAX_BIN_ROWS * 2**64 // n_present)


def hash_rows(first: int, n_rows: int) -> np.ndarray:
    """Uniform 64-bit numbers of the rows ``first`` …"""
    return splitmix(np.arange(first, first + n_rows, dtype=np.uint64) * GOLDEN)


def splitmix(state: np.ndarray) -> np.ndarray:
    """The number that splitmix64 gives in each of these states (64-bit integers)."""
    z = state + GOLDEN
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def find_cuts(X: Any, weight: np.ndarray | None, max_bins: int) -> Cuts:
    """Cuts between the bins of these rows."""
    masses = row_masses(weight)
    if sp.issparse(X):
        bin_sparse: Any = _core.bin_sparse
        *_, limits = bin_sparse(
            *sparse_arrays(canonical(X, "csc")), X.shape[0], masses, None, max_bins
        )
    else:
        limits = _core.find_limits(as_floats(X), masses, max_bins)
    least, greatest, start = limits
    # between the last bin of a feature and the first of the next there is no cut
    is_inner = np.ones(max(len(least) - 1, 0), dtype=bool)
    ends = start[1:-1] - 1
    is_inner[ends[(ends >= 0) & (ends < len(is_inner))]] = False
    below, above = greatest[:-1][is_inner], least[1:][is_inner]
    middle = below / 2 + above / 2
    values = np.where((middle >= below) & (middle < above), middle, below)
    return Cuts(values, np.r_[0, np.cumsum(np.maximum(np.diff(start) - 1, 0))])


def join_ranges(
    parts: Sequence[tuple[np.ndarray, np.ndarray]], cuts: Cuts
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Limits of all bins from the ranges of the codes in all parts of the rows."""
    least = np.minimum.reduce([part[0] for part in parts])
    greatest = np.maximum.reduce([part[1] for part in parts])
    # only a feature that is NaN in all rows has a code without values
    has_values = least <= greatest
    first = cuts.start[:-1] + np.arange(len(cuts.start) - 1)
    n_bins = np.add.reduceat(has_values, first, dtype=np.int64) if len(first) else first
    return least[has_values], greatest[has_values], np.r_[0, np.cumsum(n_bins)].astype(np.int64)


def as_floats(X: Any) -> np.ndarray:
    """Return ``X`` unchanged if it is float32 or float64, else converted to float64."""
    X = np.asarray(X)
    return X if X.dtype in (np.float32, np.float64) and aligned(X) else X.astype(np.float64)


def aligned(X: np.ndarray) -> bool:
    """Return True for native byte order and strides that are multiples of the item size."""
    whole_strides = all(stride % X.itemsize == 0 for stride in X.strides)
    return X.flags.aligned and X.dtype.isnative and whole_strides


def canonical(X: Any, format: str) -> Any:
    """Convert ``X`` to CSR or CSC with sorted, unique indices; copies only if necessary."""
    out = X.asformat(format)
    if not out.has_canonical_format:
        out = out.copy() if out is X else out
        out.sum_duplicates()
    return out


def sparse_arrays(X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return data, indices and indptr in the dtypes that the compiled code expects."""
    return (
        np.ascontiguousarray(X.data, dtype=np.float64),
        np.ascontiguousarray(X.indices, dtype=np.int32),
        np.ascontiguousarray(X.indptr, dtype=np.int64),
    )
