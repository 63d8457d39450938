"""The same small problem in every form that can carry it through scikit-learn."""

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp
from sklearn.metrics.pairwise import rbf_kernel

from consilience import MultiViewData

WIDTHS = [3, 4]


def problem(n_samples=60, n_classes=2, seed=0):
    """Two dense views of two (or more) classes that are easy to tell apart, and labels."""
    rng = np.random.RandomState(seed)
    y = np.arange(n_samples) % n_classes
    views = [rng.randn(n_samples, d) + 2 * np.eye(n_classes, d)[y] for d in WIDTHS]
    return views, y


def carriers(n_classes=2):
    """Name -> (X, views parameter, True if the views are kernels)."""
    (A, B), _ = problem(n_classes=n_classes)
    stacked = np.hstack([A, B])
    names = [f"c{j}" for j in range(stacked.shape[1])]
    present = np.ones((len(A), 2), dtype=bool)
    present[::7, 0] = present[3::7, 1] = False
    sparse = np.where(np.abs(stacked) > 1, stacked, 0.0)
    return {
        "ndarray": (stacked, WIDTHS, False),
        "csr": (sp.csr_array(sparse), WIDTHS, False),
        "pandas": (
            pd.DataFrame(stacked, columns=names),
            {"a": names[:3], "b": names[3:]},
            False,
        ),
        "polars": (pl.DataFrame(stacked, schema=names), {"a": names[:3], "b": names[3:]}, False),
        "dense container": (MultiViewData({"a": A, "b": B}), None, False),
        "mixed container": (
            MultiViewData({"a": A, "b": sp.csr_array(sparse[:, 3:])}),
            None,
            False,
        ),
        "missing container": (MultiViewData({"a": A, "b": B}, present=present), None, False),
        "kernel container": (
            MultiViewData(
                {"a": rbf_kernel(A), "b": rbf_kernel(B)}, kinds={"a": "kernel", "b": "kernel"}
            ),
            None,
            True,
        ),
    }
