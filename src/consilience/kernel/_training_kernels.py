"""The kernels of all views between training samples, normalised, and decisions from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from consilience._kernel_views import (
    KernelSpec,
    ViewKernel,
    kernel_against,
    linear_origin,
    present_rows,
)
from consilience._model_types import model_type
from consilience._solvers.kernels import chunks
from consilience.views import MultiViewData

__all__ = ["Training", "TrainingKernel", "ViewMachine"]


@dataclass(eq=False)
class Training:
    """What machines are solved on: samples, their weights and codes, and kernels."""

    data: MultiViewData
    weight: np.ndarray
    codes: np.ndarray
    kernels: list[TrainingKernel]


@dataclass(eq=False)
class TrainingKernel:
    """One view's kernel between all training samples, 0 where one of the two lacks the view.

    "centred" moves the origin to the (weighted) mean of the samples, so that a missing view is
    imputed with its mean; then, as for "trace", the mean of the diagonal becomes 1.
    """

    spec: KernelSpec
    name: str
    matrix: np.ndarray
    rows: np.ndarray
    shares: np.ndarray
    column_means: np.ndarray
    scale: float
    origin: np.ndarray | None = None  # of a linear kernel

    @classmethod
    def from_view(
        cls,
        spec: KernelSpec,
        data: MultiViewData,
        name: str,
        weight: np.ndarray,
        normalize: str | None,
    ) -> TrainingKernel:
        """Compute and normalise."""
        rows = present_rows(data, name)
        origin = linear_origin(spec, data, name, weight, normalize == "centred")
        K = kernel_against(spec, data, name, rows, origin).square_block(data, rows)
        if data.kinds[name] != "features":
            K = (K + K.T) / 2  # symmetric to the last digit
        shares = weight[rows] / weight[rows].sum()
        means = shares @ K if normalize == "centred" else np.zeros(len(rows))
        if normalize == "centred":
            centre = shares @ means
            for part in chunks(len(K), len(K)):  # Python handles signals between the chunks
                K[part] = K[part] - means - means[part, None] + centre
        scale = 1.0
        if normalize is not None:
            trace = shares @ K.diagonal()
            scale = 1 / trace if trace > 1e-12 * np.abs(means).max(initial=1e-300) else 1.0
            K *= scale
        matrix = K
        if len(rows) < len(data):
            matrix = np.zeros((len(data), len(data)))
            matrix[np.ix_(rows, rows)] = K
        return cls(spec, name, np.ascontiguousarray(matrix), rows, shares, means, scale, origin)

    def machine(self, data: MultiViewData, mu: float, duals: np.ndarray) -> ViewMachine:
        """The view's part of the decisions, μ K(·, train) g, from the samples with g ≠ 0.

        For a centred kernel it is Σ_j g_j (k(x, j) − k̄(x) − k̄_j + k̄), k̄(x) being a mean over all
        samples, which drops out where Σ g over the samples that have the view is 0.
        """
        g = duals[:, self.rows].T
        coefs, constant = g, np.zeros(g.shape[1])
        if self.column_means.any():
            sums = g.sum(axis=0)
            sums[np.abs(sums) <= 1e-12 * np.abs(g).sum(axis=0)] = 0.0
            coefs = g - self.shares[:, None] * sums
            constant = sums * (self.shares @ self.column_means) - self.column_means @ g
        used = np.flatnonzero(coefs.any(axis=1))
        factor = mu * self.scale
        kernel = kernel_against(self.spec, data, self.name, self.rows[used], self.origin)
        return ViewMachine(kernel, factor * coefs[used], factor * constant)


@model_type("kernel.ViewMachine")
@dataclass(eq=False)
class ViewMachine:
    """f_v(x) = k_v(x, Z) coefs + constant (n x P); 0 where the view is missing."""

    kernel: ViewKernel
    coefs: np.ndarray
    constant: np.ndarray

    def decide(self, data: MultiViewData) -> np.ndarray:
        """The view's part of the decisions on all rows."""
        out = np.zeros((len(data), len(self.constant)))
        rows = present_rows(data, self.kernel.name)
        if len(rows) and len(self.coefs):
            out[rows] = self.kernel.times(data, rows, self.coefs) + self.constant
        return out
