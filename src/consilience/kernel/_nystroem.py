"""Nyström features: a view's kernel as an inner product of few columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from consilience._kernel_views import ViewKernel, present_rows
from consilience._model_types import model_type
from consilience._solvers.eigen import symmetric_eigh
from consilience.views import MultiViewData

__all__ = ["NystroemMap", "inverse_root"]

# eigenvalues of the landmarks' kernel below this share of the largest are rounding
MIN_RELATIVE_EIGENVALUE = 1e-11


def inverse_root(W: np.ndarray) -> np.ndarray:
    """F with FFᵀ = W⁺ (m x r), from the eigenvalues that are positive."""
    values, vectors = symmetric_eigh(W)
    kept = values > MIN_RELATIVE_EIGENVALUE * max(values[-1], np.finfo(float).tiny)
    return vectors[:, kept] / np.sqrt(values[kept])


@model_type("kernel.NystroemMap")
@dataclass(eq=False)
class NystroemMap:
    """Features U = k(·, Z) F of one view, minus their training mean if there is an intercept."""

    kernel: ViewKernel
    root: np.ndarray
    mean: np.ndarray

    @classmethod
    def from_landmarks(
        cls,
        kernel: ViewKernel,
        data: MultiViewData,
        weight: np.ndarray,
        landmarks: np.ndarray,
        centre: bool,
    ) -> NystroemMap:
        """From the kernel against the landmarks (row numbers of ``data``)."""
        root = inverse_root(kernel.square_block(data, landmarks))
        nystroem = cls(kernel, root, np.zeros(root.shape[1]))
        if centre:
            rows = present_rows(data, kernel.name)
            features = nystroem.features(data)[rows]
            nystroem.mean = np.average(features, axis=0, weights=weight[rows])
        return nystroem

    def features(self, data: MultiViewData) -> np.ndarray:
        """Features of all rows, n x r; 0 where the view is missing."""
        rows = present_rows(data, self.kernel.name)
        out = np.zeros((len(data), self.root.shape[1]))
        if len(rows):
            out[rows] = self.kernel.times(data, rows, self.root) - self.mean
        return out
