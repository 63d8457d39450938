"""Checks of arrays, sparse matrices, random states and the structure of trees."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = [
    "check_array",
    "check_binary_tree",
    "check_length",
    "check_random_state",
    "check_sparse",
    "require",
]

# an array without elements takes no space in a file, whatever its shape
MAX_EMPTY_LENGTH = 2**16
MAX_SPARSE_COLUMNS = 2**31
MT19937_WORDS = 624


def require(condition: Any, message: str) -> None:
    """ValueError unless the condition holds."""
    if not condition:
        raise ValueError(message)


def check_length(array: Any, length: int, name: str) -> None:
    """Check that an array has one dimension of this length."""
    require(isinstance(array, np.ndarray), f"{name} must be an array")
    require(array.shape == (length,), f"{name} must have {length} entries, not {array.shape}")


def check_array(array: np.ndarray) -> None:
    """Check an array of numbers, text or objects."""
    require(array.dtype.kind in "biufcSUOMmV", "arrays must hold numbers or text")
    require(
        array.size > 0 or max(array.shape) <= MAX_EMPTY_LENGTH,
        f"an array of the shape {array.shape} has no elements",
    )


def check_sparse(matrix: Any) -> None:
    """Check the format of a sparse matrix completely; compiled code relies on it."""
    require(matrix.format in ("csr", "csc"), "sparse matrices must be CSR or CSC")
    require(matrix.ndim == 2, "sparse matrices must have two dimensions")
    require(matrix.dtype.kind in "biuf", "sparse matrices must hold numbers")
    require(max(matrix.shape) <= MAX_SPARSE_COLUMNS, f"a sparse matrix is {matrix.shape}")
    indices, indptr = matrix.indices, matrix.indptr
    require(indices.dtype.kind == "i" and indptr.dtype == indices.dtype, "indices must be integers")
    n_rows, n_columns = matrix.shape if matrix.format == "csr" else matrix.shape[::-1]
    require(indptr.shape == (n_rows + 1,) and indptr[0] == 0, "indptr does not fit the shape")
    require((np.diff(indptr) >= 0).all(), "indptr must not decrease")
    n_entries = int(indptr[-1])
    require(indices.shape == matrix.data.shape == (n_entries,), "indptr does not fit the entries")
    if n_entries:
        is_inside = indices.min() >= 0 and indices.max() < n_columns
        require(is_inside, "a sparse matrix has indices beyond its shape")
    # computed again from the entries when it is needed: a file does not decide it
    for flag in ("_has_sorted_indices", "_has_canonical_format"):
        matrix.__dict__.pop(flag, None)
    require(np.isfinite(matrix.data).all(), "a sparse matrix has values that are not finite")


def check_random_state(state: Any) -> None:
    """Check the position in the buffer of a Mersenne twister, which is an index."""
    is_legacy = isinstance(state, np.random.RandomState)
    values = state.get_state(legacy=False) if is_legacy else state.bit_generator.state
    if values["bit_generator"] == "MT19937":
        position = values["state"]["pos"]
        require(0 <= position <= MT19937_WORDS, f"a random state has the position {position}")


def check_binary_tree(left: np.ndarray, right: np.ndarray, is_split: np.ndarray) -> None:
    """Check that every split has two children, which follow it, and every other node one parent.

    So no path through the tree leaves the arrays or goes in circles.
    """
    n_nodes = len(left)
    splits = np.flatnonzero(is_split)
    children = np.concatenate([left[splits], right[splits]]).astype(np.int64)
    parents = np.concatenate([splits, splits])
    is_after = (children > parents) & (children < n_nodes)
    require(is_after.all(), "children in a tree must follow their parents")
    n_parents = np.bincount(children, minlength=n_nodes)
    require(len(children) == n_nodes - 1 and n_parents.max(initial=0) <= 1, "a tree is no tree")
