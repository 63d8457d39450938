"""Fitted margin machines: how every view turns rows into decisions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from consilience._kernel_views import KernelSpec, Rows, ViewKernel
from consilience._model_types import model_type
from consilience.views import MultiViewData

__all__ = ["Expansion", "KernelExpansion", "KernelSpec", "LinearExpansion", "Machine"]


@model_type("margin.LinearExpansion")
@dataclass(eq=False)
class LinearExpansion:
    """Coefficients of the columns (d x P)."""

    coef: np.ndarray

    def values(self, data: MultiViewData, name: str, rows: Rows) -> np.ndarray:
        """Decisions without intercepts, n x P."""
        # SciPy copies a sparse matrix for a slice of all rows, and has no fast path for one column
        X = data[name] if isinstance(rows, slice) else data[name][rows]
        return (X @ self.coef[:, 0])[:, None] if self.coef.shape[1] == 1 else X @ self.coef


@model_type("margin.KernelExpansion")
@dataclass(eq=False)
class KernelExpansion:
    """Kernel against the support vectors and their coefficients (n_support x P)."""

    kernel: ViewKernel
    coefs: np.ndarray

    def values(self, data: MultiViewData, name: str, rows: Rows) -> np.ndarray:
        """Decisions without intercepts, n x P."""
        return self.kernel.times(data, rows, self.coefs)


Expansion = LinearExpansion | KernelExpansion


@model_type("margin.Machine")
@dataclass(eq=False)
class Machine:
    """Expansions of the views and intercepts (V x P) of P binary problems."""

    expansions: list[Expansion]
    intercepts: np.ndarray

    def decisions(self, data: MultiViewData, names: list[str]) -> np.ndarray:
        """f_v(x) for all rows, views and problems, n x V x P; NaN where a view is missing."""
        out = np.full((len(data), *self.intercepts.shape), np.nan)
        for v, (name, expansion) in enumerate(zip(names, self.expansions, strict=True)):
            is_present = data.present[:, data.view_names.index(name)]
            if is_present.any():
                rows = slice(None) if is_present.all() else np.flatnonzero(is_present)
                out[rows, v] = expansion.values(data, name, rows) + self.intercepts[v]
        return out
