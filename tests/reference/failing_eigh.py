"""Eigensolvers that fail to converge at first."""

import numpy as np
import scipy.linalg

from consilience._solvers import eigen


def fail_first(monkeypatch, n_failures):
    """Make the first calls of LAPACK's eigensolvers fail to converge."""
    calls = []

    def eigh(*args, **params):
        calls.append(params.get("driver"))
        if len(calls) <= n_failures:
            raise np.linalg.LinAlgError("no convergence")
        return scipy.linalg.eigh(*args, **params)

    def numpy_eigh(A):
        return eigh(A, driver="evd")

    monkeypatch.setattr(eigen, "eigh", eigh)
    monkeypatch.setattr(eigen, "numpy_eigh", numpy_eigh)
    return calls
