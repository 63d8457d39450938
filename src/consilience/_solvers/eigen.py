"""Eigendecomposition of symmetric matrices that does not give up.

LAPACK's driver for some of the eigenvectors (``evr``) can fail to converge where many eigenvalues
nearly coincide, for instance in the Gram matrix of texts written from one template. The others
hardly ever do, so they are tried in turn. Where all are wanted NumPy comes first: it has the
fastest driver (``evd``) and releases the GIL.
"""

from __future__ import annotations

import numpy as np
from numpy.linalg import eigh as numpy_eigh
from scipy.linalg import LinAlgError, eigh

from consilience._core.threads import call_interruptibly

__all__ = ["symmetric_eigh"]

FALLBACK_DRIVERS = ("evd", "ev")
LONG_ORDER = 2000  # decompositions of larger matrices take seconds


def symmetric_eigh(A: np.ndarray, n_largest: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvalues in ascending order and eigenvectors of a symmetric, finite matrix.

    Parameters
    ----------
    A : array of shape (n, n)
        Matrix; it is left unchanged.
    n_largest : int, optional
        Compute only so many of the largest eigenvalues; all by default.
    """
    n = len(A)
    k = n if n_largest is None else n_largest
    try:
        if n_largest is not None:
            values, vectors = eigh(A, subset_by_index=(n - k, n - 1), check_finite=False)
        elif n > LONG_ORDER:  # Ctrl-C need not wait for it
            values, vectors = call_interruptibly(numpy_eigh, A)
        else:
            values, vectors = numpy_eigh(A)
        # a failure may also show as missing or undefined results
        if len(values) == k and np.isfinite(values).all() and np.isfinite(vectors).all():
            return values, vectors
    except LinAlgError:
        pass
    return _full_eigh(A, k)


def _full_eigh(A: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Largest k eigenpairs from a full decomposition by the drivers that converge."""
    for driver in FALLBACK_DRIVERS:
        try:
            values, vectors = eigh(A, driver=driver, check_finite=False)
        except LinAlgError:
            continue
        return values[len(A) - k :], vectors[:, len(A) - k :]
    raise LinAlgError(
        f"no eigendecomposition of a matrix of shape {A.shape}: are all entries finite?"
    )
