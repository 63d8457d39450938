"""Views as kernels: similarities of samples to a fixed set of reference samples.

A view holds columns of features, or is itself a kernel or a distance between samples. A
``KernelSpec`` says which kernel a view has; ``resolve_gamma`` turns its gamma into a number, and
``kernel_against`` fixes the reference samples z. The result, a ``FeatureKernel`` or a
``PairwiseKernel``, gives blocks of similarities k(x, z) for rows x of any data, all finite.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from consilience._model_types import model_type
from consilience._parameters import (
    POSITIVE,
    POSITIVE_FACTOR,
    Number,
    PerView,
    StrOptions,
)
from consilience._solvers.kernels import (
    GAMMAS,
    KERNELS,
    KernelAgainst,
    check_symmetric,
    distance_gamma,
    distance_kernel,
    kernel_gamma,
)
from consilience._warnings import warn_user
from consilience.views import MultiViewData
from consilience.views._pairwise import Reference, number_ids
from consilience.views._params import per_view
from consilience.views._storage import first_non_finite, format_list

__all__ = [
    "KERNEL_PARAMETERS",
    "FeatureKernel",
    "KernelSpec",
    "PairwiseKernel",
    "Rows",
    "ViewKernel",
    "check_nonnegative",
    "check_repeated_samples",
    "feature_gamma",
    "kernel_against",
    "kernel_specs",
    "linear_origin",
    "present_rows",
    "raise_similarity_overflow",
    "read_pairwise",
    "read_square",
    "resolve_gamma",
]

Rows = slice | np.ndarray
MAX_SQUARED_OFFSET = 1e10  # of linear kernels, in units of the variance: 1e-6 is rounding
MAX_NEGATIVE_DISTANCE = 1e-9  # by rounding, in units of the largest

# constraints on the parameters that choose the kernels of the views
KERNEL_PARAMETERS: dict[str, list[Any]] = {
    "kernel": [PerView(StrOptions(set(KERNELS)), callable)],
    "gamma": [PerView(POSITIVE_FACTOR, StrOptions(set(GAMMAS)))],
    "degree": [POSITIVE],
    "coef0": [Number(Real, -np.inf, np.inf, closed="neither")],
}


@dataclass(frozen=True)
class KernelSpec:
    """Kernel of one view: its name or a function, and the parameters of scikit-learn's kernels.

    ``gamma`` is a number or one of GAMMAS; once settled, a number, or None for a kernel view.
    """

    kernel: str | Callable
    gamma: Any
    degree: float = 3
    coef0: float = 1.0

    def against(
        self,
        Z: Any,
        dtype: Any = np.float64,
        centre: bool = True,
        origin: np.ndarray | None = None,
    ) -> KernelAgainst:
        """The kernel against the rows Z of a feature view."""
        numbers = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        return KernelAgainst(Z, self.kernel, **numbers, dtype=dtype, centre=centre, origin=origin)


def kernel_specs(
    names: tuple[str, ...], kernel: Any, gamma: Any, degree: float = 3, coef0: float = 1.0
) -> dict[str, KernelSpec]:
    """Kernel of each view from an estimator's parameters, which may be dicts by view."""
    kernels, gammas = per_view(kernel, names, "kernel"), per_view(gamma, names, "gamma")
    return {name: KernelSpec(kernels[name], gammas[name], degree, coef0) for name in names}


@model_type("kernel_views.FeatureKernel")
@dataclass(eq=False)
class FeatureKernel:
    """k(x, z) between the columns of a view and m reference rows."""

    name: str
    against: KernelAgainst

    @property
    def n_references(self) -> int:
        """Number of reference rows."""
        return self.against.n_references

    @property
    def dtype(self) -> np.dtype:
        """Type of the blocks."""
        return self.against.dtype

    def block(self, data: MultiViewData, rows: Rows) -> np.ndarray:
        """k(x, z) for these rows of ``data``, which must have the view; n x m."""
        return self._compute(self.against, data, rows)

    # the kernel of the reference rows with themselves
    square_block = block

    def times(self, data: MultiViewData, rows: Rows, coefs: np.ndarray) -> np.ndarray:
        """k(x, z) @ coefs without storing the whole block."""
        return self._compute(lambda X: self.against.times(X, coefs), data, rows)

    def _compute(self, function: Callable, data: MultiViewData, rows: Rows) -> np.ndarray:
        X = data[self.name][rows]
        if self.against.kernel == "chi2":
            check_nonnegative(X, self.name)
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                values = function(X)
        except ValueError as error:
            error.add_note(f"raised by the kernel of view {self.name!r}")
            raise
        overflow = first_non_finite(values, np.ones(len(values), dtype=bool))
        if overflow is not None:
            raise_similarity_overflow(self.name, np.arange(len(data))[rows][overflow[0]])
        return values


@model_type("kernel_views.PairwiseKernel")
@dataclass(eq=False)
class PairwiseKernel:
    """A kernel view, or exp(−γD) of a distance view, in the columns of m reference samples.

    ``gamma`` is None for a kernel view.
    """

    name: str
    reference: Reference
    gamma: float | None

    dtype = np.dtype(np.float64)

    @property
    def n_references(self) -> int:
        """Number of reference samples."""
        return len(self.reference.ids)

    def block(self, data: MultiViewData, rows: Rows) -> np.ndarray:
        """k(x, z) for these rows of ``data``, which must have the view; n x m."""
        return self._similarities(read_pairwise(data, self.name, self.reference, rows))

    def square_block(self, data: MultiViewData, rows: Rows) -> np.ndarray:
        """Like ``block``, for the reference samples themselves; it must be symmetric."""
        return self._similarities(read_square(data, self.name, rows))

    def times(self, data: MultiViewData, rows: Rows, coefs: np.ndarray) -> np.ndarray:
        """k(x, z) @ coefs."""
        return self.block(data, rows) @ coefs

    def _similarities(self, values: np.ndarray) -> np.ndarray:
        if self.gamma is None:
            return values.astype(np.float64, copy=False)
        return distance_kernel(values, self.gamma)


ViewKernel = FeatureKernel | PairwiseKernel


def resolve_gamma(
    spec: KernelSpec, data: MultiViewData, name: str, weight: np.ndarray
) -> KernelSpec:
    """The kernel with gamma as a number, or None for a kernel view, from the rows that have it."""
    rows = present_rows(data, name)
    if data.kinds[name] == "kernel":
        return replace(spec, gamma=None)
    if data.kinds[name] == "features":
        X = data[name] if len(rows) == len(data) else data[name][rows]
        return replace(spec, gamma=feature_gamma(spec.gamma, X, weight[rows], name))
    if not isinstance(spec.gamma, str):
        return spec
    D = read_square(data, name, rows)
    return replace(spec, gamma=distance_gamma(spec.gamma, D, weight[rows]))


def feature_gamma(gamma: float | str, X: Any, weight: np.ndarray, name: str) -> float:
    """Gamma of a feature view as a number, from rows X that all have the view."""
    with np.errstate(over="ignore", divide="ignore"):
        number = kernel_gamma(gamma, X, weight)
    if number == 0 and isinstance(gamma, str):
        raise ValueError(
            f"view {name!r} has values too large for its similarities; scale them, e.g. by "
            "ViewTransformer(StandardScaler())"
        )
    if not np.isfinite(number):
        raise ValueError(
            f"view {name!r} varies so little that gamma overflows; scale its columns, "
            "e.g. by ViewTransformer(StandardScaler())"
        )
    return number


def kernel_against(
    spec: KernelSpec,
    data: MultiViewData,
    name: str,
    samples: np.ndarray,
    origin: np.ndarray | None = None,
) -> ViewKernel:
    """The kernel of a view, gamma settled, against some samples of ``data`` (row numbers)."""
    if data.kinds[name] == "features":
        return FeatureKernel(name, spec.against(data[name][samples], origin=origin))
    return PairwiseKernel(name, data.select([name])[samples].reference(), spec.gamma)


def linear_origin(
    spec: KernelSpec, data: MultiViewData, name: str, weight: np.ndarray, is_centred: bool
) -> np.ndarray | None:
    """Mean of the columns of a dense view with a linear kernel, an origin without large products.

    It is for methods that centre the kernel themselves. For others, and for sparse columns, it is
    None, with a warning if so much is lost by rounding that results would not be reliable.
    """
    if spec.kernel != "linear" or data.kinds[name] != "features":
        return None
    rows = present_rows(data, name)
    X, shares = data[name][rows], weight[rows] / weight[rows].sum()
    mean = np.asarray(shares @ X, dtype=np.float64).ravel()
    if is_centred and not sp.issparse(X):
        return mean
    with np.errstate(over="ignore", invalid="ignore"):  # an error of its own
        squares = X.multiply(X) if sp.issparse(X) else np.square(X, dtype=np.float64)
        total, offset = float(np.sum(shares @ squares)), float(mean @ mean)
        is_far = offset > MAX_SQUARED_OFFSET * max(total - offset, 0.0)
    if is_far and (X.max(axis=0) != X.min(axis=0)).sum():
        warn_user(
            f"the columns of view {name!r} are so far from 0, compared with how much they vary, "
            "that their linear kernel is inaccurate; centre them, e.g. by "
            f"ViewTransformer({{{name!r}: StandardScaler()}}, remainder='passthrough')"
        )
    return None


def present_rows(data: MultiViewData, name: str) -> np.ndarray:
    """Numbers of the rows that have the view."""
    return np.flatnonzero(data.present[:, data.view_names.index(name)])


def read_pairwise(
    data: MultiViewData, name: str, reference: Reference, rows: Rows = slice(None)
) -> np.ndarray:
    """Entries of a pairwise view in the columns of ``reference``: finite, and distances >= 0."""
    values = data.select([name])[rows].against(name, reference)
    numbers = np.arange(len(data))[rows]
    if values.dtype.kind != "f":  # truth values cannot be subtracted, and whole numbers overflow
        values = values.astype(np.float64)
    bad = first_non_finite(values, np.ones(len(values), dtype=bool))
    if bad is not None:
        raise ValueError(
            f"Input contains NaN or infinity: view {name!r}, row {numbers[bad[0]]}, in the "
            f"column of sample {format_list([reference.ids[bad[1]]])}"
        )
    if data.kinds[name] == "distance":
        smallest = values.min(initial=0)
        if smallest < -MAX_NEGATIVE_DISTANCE * values.max(initial=0):
            row = numbers[values.min(axis=1).argmin()]
            raise ValueError(f"view {name!r} holds distances, but has {smallest} < 0 in row {row}")
    return values


def read_square(data: MultiViewData, name: str, rows: Rows) -> np.ndarray:
    """Entries of a kernel or distance view between these rows, finite and symmetric."""
    values = read_pairwise(data, name, data.select([name])[rows].reference(), rows)
    check_symmetric(values, name)
    return values


def check_repeated_samples(data: MultiViewData) -> None:
    """Raise an error if rows of the same id differ in a kernel or distance view.

    Such a view has one column for each id, so these rows cannot all be training samples.
    """
    first, number = number_ids(data.sample_ids)
    rows = np.setdiff1d(np.arange(len(data)), first)
    others = first[number[rows]]
    for v, (name, kind) in enumerate(data.kinds.items()):
        if kind == "features" or not len(rows):
            continue
        values, is_present = data[name], data.present[:, v]
        a, b = values[rows], values[others]
        same = ((a == b) | (np.isnan(a) & np.isnan(b))).all(axis=1) | ~is_present[rows]
        bad = rows[~same | (is_present[rows] != is_present[others])]
        if len(bad):
            raise ValueError(
                f"rows {first[number[bad[0]]]} and {bad[0]} have the same sample id "
                f"{format_list(data.sample_ids[bad[:1]])}, but differ in view {name!r}, a {kind} "
                "with one column for each id; give every row an id and a column of its own"
            )


def check_nonnegative(X: Any, name: str) -> None:
    """Raise an error if a view of the chi2 kernel, which compares counts, has negative values."""
    smallest = X.min() if X.shape[0] else 0
    if smallest < 0:
        raise ValueError(
            f"the chi2 kernel needs values >= 0, but view {name!r} has {smallest}; shift the "
            "columns or use another kernel, e.g. 'rbf'"
        )


def raise_similarity_overflow(name: str, row: int) -> None:
    """Raise an error: a similarity of the row is not finite."""
    raise ValueError(
        f"view {name!r} has values too large for its similarities in row {row}; scale them, e.g. "
        "by ViewTransformer(StandardScaler())"
    )
