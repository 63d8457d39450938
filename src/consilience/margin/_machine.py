"""Fitted margin machines: how every view turns rows into decisions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from consilience._solvers.kernels import KernelAgainst, distance_kernel

__all__ = [
    "FeatureExpansion",
    "KernelSpec",
    "LinearExpansion",
    "Machine",
    "PairwiseExpansion",
    "check_finite",
    "check_nonnegative",
]


@dataclass(frozen=True)
class KernelSpec:
    """Kernel of one view: name or function, gamma (settled in fit), degree, coef0."""

    kernel: Any
    gamma: Any
    degree: float
    coef0: float

    def to(self, Z, dtype=np.float64):
        """The kernel against the rows Z."""
        numbers = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        return KernelAgainst(Z, self.kernel, **numbers, dtype=dtype)


@dataclass(eq=False)
class LinearExpansion:
    """Coefficients of the columns (d x P)."""

    coef: np.ndarray

    def values(self, data, name):
        """Decisions without intercepts, n x P."""
        return data[name] @ self.coef


@dataclass(eq=False)
class FeatureExpansion:
    """Support vectors Z and their coefficients (n_support x P)."""

    spec: KernelSpec
    Z: Any
    coefs: np.ndarray

    def values(self, data, name):
        """Decisions without intercepts, n x P."""
        if self.spec.kernel == "chi2":
            check_nonnegative(data[name], name)
        return self.spec.to(self.Z).times(data[name], self.coefs)


@dataclass(eq=False)
class PairwiseExpansion:
    """Samples that a kernel or distance view is compared with, and their coefficients."""

    gamma: float | None
    reference: Any
    coefs: np.ndarray

    def values(self, data, name):
        """Decisions without intercepts, n x P."""
        K = check_finite(data.against(name, self.reference), name)
        return (K if self.gamma is None else distance_kernel(K, self.gamma)) @ self.coefs


@dataclass(eq=False)
class Machine:
    """Expansions of the views and intercepts (V x P) of P binary problems."""

    expansions: list
    intercepts: np.ndarray

    def decisions(self, data, names):
        """f_v(x) for all rows, views and problems, n x V x P; NaN where a view is missing."""
        out = np.full((len(data), *self.intercepts.shape), np.nan)
        for v, (name, expansion) in enumerate(zip(names, self.expansions, strict=True)):
            rows = np.flatnonzero(data.present[:, data.view_names.index(name)])
            if len(rows) == 0:
                continue
            part = data if len(rows) == len(data) else data.select([name])[rows]
            out[rows, v] = expansion.values(part, name) + self.intercepts[v]
        return out


def check_finite(K, name):
    """A block of a kernel or distance view without NaN or infinity."""
    if not np.isfinite(K).all():
        row, column = np.argwhere(~np.isfinite(K))[0]
        raise ValueError(
            f"Input contains NaN or infinity: view {name!r}, row {row}, column {column}"
        )
    return K


def check_nonnegative(X, name):
    """The chi2 kernel compares counts and shares."""
    least = X.min() if X.shape[0] else 0
    if least < 0:
        raise ValueError(
            f"the chi2 kernel needs values >= 0, but view {name!r} has {least}; shift the columns "
            "or use another kernel, e.g. 'rbf'"
        )
