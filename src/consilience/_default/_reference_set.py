"""Training rows that later samples are compared with, and distances to them view by view.

A reference set holds the mapped rows of every view (all training rows, or landmarks of them) with
the distance scale of the view. Kernel and distance views are looked up by sample id instead. A view
that a training row lacks is imputed with the mean of the nearest rows that have it; distances to
such a mean follow from distances alone, so this works for every kind of view.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from consilience._kernel_views import read_pairwise
from consilience._model_types import model_type
from consilience._solvers.kernels import square_distances_from_products, square_norms
from consilience.views import MultiViewData
from consilience.views._pairwise import Reference

__all__ = [
    "ReferenceSet",
    "ReferenceView",
    "choose_landmarks",
    "distances_to_references",
    "imputed_distances",
    "make_reference_set",
    "make_reference_view",
]

# rows whose mean replaces a missing view; see docs/results/default-log.md
N_DONORS = 15
TINY = 1e-300


@model_type("default.ReferenceView")
@dataclass(frozen=True, eq=False)
class ReferenceView:
    """One view of the reference set: mapped rows, or the ids of the columns to look up."""

    name: str
    kind: str
    scale: float
    rows: Any = None
    norms: np.ndarray | None = None
    reference: Reference | None = None
    own: np.ndarray | None = None

    def head(self, n_rows: int) -> ReferenceView:
        """The first mapped rows."""
        assert self.norms is not None  # set together with the rows
        return replace(self, rows=self.rows[:n_rows], norms=self.norms[:n_rows])

    def in_single_precision(self) -> ReferenceView:
        """The same view with mapped rows in single precision; kernels and distances as they are."""
        if self.rows is None:
            return self
        rows = self.rows.astype(np.float32)
        return replace(self, rows=rows, norms=square_norms(rows))

    def own_distances(self) -> np.ndarray:
        """Distances between the reference rows that have the view."""
        if self.own is None:
            return square_distances(self.rows, self.rows, self.norms) / self.scale
        return self._scaled(self.own)

    def distances(self, data: MultiViewData, mapped: Any = None) -> np.ndarray:
        """Distances (n x m) of samples, which all have the view, to the reference rows.

        ``mapped`` are the mapped rows of a feature view.
        """
        if self.reference is None:
            mapped = mapped.astype(self.rows.dtype, copy=False)
            D = square_distances(mapped, self.rows, self.norms)
            D /= self.scale
            return D
        return self._scaled(read_pairwise(data, self.name, self.reference))

    def _scaled(self, values: np.ndarray) -> np.ndarray:
        return 1.0 - values / self.scale if self.kind == "kernel" else values / self.scale


@model_type("default.ReferenceSet")
@dataclass(frozen=True, eq=False)
class ReferenceSet:
    """The views, which row has which, and the operators that impute missing ones."""

    views: list[ReferenceView]
    present: np.ndarray
    means: list[Any]
    offsets: list[Any]

    def __len__(self) -> int:
        return len(self.present)

    @property
    def linear(self) -> np.ndarray:
        """True for the views that came as kernels."""
        return np.array([view.kind == "kernel" for view in self.views])

    @property
    def is_plain(self) -> bool:
        """Whether all views have columns and no row lacks any."""
        return all(view.rows is not None for view in self.views) and bool(self.present.all())

    def head(self, n_rows: int) -> ReferenceSet:
        """The set of the first rows, unless missing views are imputed or looked up."""
        if len(self) <= n_rows or not self.is_plain:
            return self
        views = [view.head(n_rows) for view in self.views]
        return ReferenceSet(views, self.present[:n_rows], self.means, self.offsets)

    def in_single_precision(self) -> ReferenceSet:
        """The same set with the mapped rows of feature views in single precision."""
        return replace(self, views=[view.in_single_precision() for view in self.views])

    def impute_distances(self, v: int, distances: np.ndarray) -> np.ndarray:
        """Distances to all rows from those (n x m_v) to the rows that have view v."""
        if self.means[v] is None:
            return distances
        return distances @ self.means[v].T - self.offsets[v]


def choose_landmarks(codes: np.ndarray, limit: int) -> np.ndarray:
    """Indices of ``limit`` rows, stratified by class."""
    order = np.argsort(codes, kind="stable")
    return np.sort(order[np.linspace(0, len(codes) - 1, limit).astype(np.intp)])


def make_reference_view(
    part: MultiViewData,
    name: str,
    mapped: dict[str, Any],
    chosen: np.ndarray,
    n_compared: int,
) -> tuple[ReferenceView, np.ndarray]:
    """View of the reference set, and the distances between rows that have it.

    Only the first ``n_compared`` rows of a feature view are compared with each other.
    """
    is_present = part.present[:, part.view_names.index(name)]
    rows, kind = np.flatnonzero(is_present), part.kinds[name]
    if name in mapped:
        X = mapped[name][chosen[rows]]
        D = square_distances(X[:n_compared], X[:n_compared])
        scale = distance_scale(D)
        return ReferenceView(name, kind, scale, X, square_norms(X)), D / scale
    if len(rows) == 0:
        return ReferenceView(name, kind, 1.0), np.zeros((0, 0))
    held = part[rows]
    reference = held.reference()
    values = read_pairwise(held, name, reference)
    if kind == "kernel":
        scale = max(float(np.abs(values.diagonal()).mean()), TINY)
    else:
        scale = distance_scale(values)
    view = ReferenceView(name, kind, scale, reference=reference, own=values)
    return view, view.own_distances()


def square_distances(A: Any, B: Any, norms: np.ndarray | None = None) -> np.ndarray:
    """|a − b|² for the rows of A (n x d) and B (m x d), dense or sparse; a dense array."""
    norms = square_norms(B) if norms is None else norms
    products = A @ B.T
    products = products.toarray() if sp.issparse(products) else products
    return square_distances_from_products(products, square_norms(A), norms)


def distance_scale(D: np.ndarray) -> float:
    """Median of the distances between different rows, but no less than a tenth of their mean."""
    if len(D) < 2:
        return 1.0
    others = D[~np.eye(len(D), dtype=bool)]
    return max(float(np.median(others)), 0.1 * float(others.mean()), TINY)


def nearest_means(joint: np.ndarray) -> sp.csr_array:
    """Operator (n x m) that takes the mean over the nearest ``N_DONORS`` of m rows."""
    n, m = joint.shape
    k = min(N_DONORS, m)
    nearest = np.argsort(joint, axis=1, kind="stable")[:, :k]
    ends = np.arange(0, n * k + 1, k)
    return sp.csr_array((np.full(n * k, 1.0 / k), nearest.ravel(), ends), shape=(n, m))


def donor_means(joint: np.ndarray, is_present: np.ndarray) -> sp.csr_array | None:
    """Operator (n x m) from the m rows that have a view to all rows, None if nobody lacks it.

    ``joint`` are distances (n x n) over the views that two rows share, infinite where they share
    none; a row that lacks the view becomes the mean of its nearest rows that have it.
    """
    if is_present.all():
        return None
    means = nearest_means(joint[~is_present][:, is_present])
    stacked = sp.vstack([sp.eye_array(int(is_present.sum()), format="csr"), means], format="csr")
    # rows that have the view come first in ``stacked``: back into their order
    place = np.argsort(np.argsort(~is_present, kind="stable"), kind="stable")
    return sp.csr_array(stacked[place])


def joint_distances(
    Ds: Sequence[np.ndarray], present: np.ndarray, view_weights: np.ndarray
) -> np.ndarray:
    """Weighted mean distance over the views that two rows share."""
    n = len(present)
    total, share = np.zeros((n, n)), np.zeros((n, n))
    for v, D in enumerate(Ds):
        rows = np.flatnonzero(present[:, v])
        where = np.ix_(rows, rows)
        total[where] += view_weights[v] * D
        share[where] += view_weights[v]
    with np.errstate(invalid="ignore", divide="ignore"):
        joint = np.where(share > 0, total / share, np.inf)
    np.fill_diagonal(joint, np.inf)
    return joint


def make_reference_set(
    views: list[ReferenceView],
    present: np.ndarray,
    Ds: Sequence[np.ndarray],
    view_weights: np.ndarray,
) -> ReferenceSet:
    """Reference set of the views; ``Ds`` are distances between the rows that have each view."""
    means: list[Any] = [None] * len(views)
    offsets: list[Any] = [None] * len(views)
    if not present.all():
        joint = joint_distances(Ds, present, view_weights)
        for v, D in enumerate(Ds):
            means[v] = donor_means(joint, present[:, v]) if present[:, v].any() else None
            if means[v] is not None:
                offsets[v] = _offsets(means[v], D, views[v].kind)
    return ReferenceSet(views, present, means, offsets)


def _offsets(means: sp.csr_array, D: np.ndarray, kind: str) -> np.ndarray:
    """By how much |x − mean|² is less than the mean of |x − donor|²; nothing for kernels.

    It is half the mean distance among the donors.
    """
    if kind == "kernel":
        return np.zeros(means.shape[0])
    return 0.5 * (means @ D * means.toarray()).sum(axis=1)


def imputed_distances(reference_set: ReferenceSet, v: int, D: np.ndarray) -> np.ndarray:
    """Distances (m x m) between all reference rows from those between rows that have view v."""
    if reference_set.means[v] is None:
        return D
    return (
        reference_set.impute_distances(v, reference_set.means[v] @ D)
        - reference_set.offsets[v][:, None]
    )


def distances_to_references(
    reference_set: ReferenceSet,
    Ds: Sequence[np.ndarray],
    view_weights: np.ndarray,
    data: MultiViewData,
    mapped: dict[str, Any],
) -> list[np.ndarray]:
    """Distances of new rows to all reference rows for every view; missing views are imputed.

    ``Ds`` are the distances between the reference rows that have each view.
    """
    n, m = len(data), len(reference_set)
    if data.present.all() and reference_set.present.all():
        return [view.distances(data, mapped.get(view.name)) for view in reference_set.views]
    total, share = np.zeros((n, m)), np.zeros((n, m))
    known = []
    for v, view in enumerate(reference_set.views):
        rows = np.flatnonzero(data.present[:, v] & (view_weights[v] > 0))
        X = mapped[view.name][rows] if view.name in mapped else None
        E = view.distances(data[rows], X) if len(rows) else np.zeros((0, len(Ds[v])))
        known.append((rows, E))
        where = np.ix_(rows, np.flatnonzero(reference_set.present[:, v]))
        total[where] += view_weights[v] * E
        share[where] += view_weights[v]
    with np.errstate(invalid="ignore", divide="ignore"):
        joint = np.where(share > 0, total / share, np.inf)
    out = []
    for v, (rows, E) in enumerate(known):
        filled = np.empty((n, m))
        filled[rows] = reference_set.impute_distances(v, E)
        lacking = np.setdiff1d(np.arange(n), rows)
        if len(lacking) and view_weights[v]:
            means = nearest_means(joint[lacking][:, reference_set.present[:, v]])
            half = reference_set.impute_distances(v, means @ Ds[v])
            filled[lacking] = half - _offsets(means, Ds[v], reference_set.views[v].kind)[:, None]
        out.append(filled)
    return out
