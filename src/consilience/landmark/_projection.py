"""Similarities of every row to the landmarks of every view.

``find_landmarks`` settles landmarks and kernels on training views; the ``Projection`` it returns
maps views to one matrix, a block of columns for each view, NaN where a row lacks the view.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from sklearn.utils import check_random_state

from consilience._parameters import POSITIVE, POSITIVE_INTEGER, PerView, StrOptions
from consilience._solvers.kernels import (
    GAMMAS,
    KERNELS,
    KernelAgainst,
    chunks,
    distance_gamma,
    distance_kernel,
    kernel_gamma,
)
from consilience.landmark._kmeans import distinct_rows, kmeans_centres, kmeans_medoids
from consilience.views import as_multiview
from consilience.views._layout import ViewLayout, check_values
from consilience.views._pairwise import KINDS, PAIRWISE, Reference
from consilience.views._params import per_view
from consilience.views._storage import format_list

__all__ = ["LANDMARK_PARAMETERS", "Projection", "find_landmarks"]

# constraints on the parameters that choose landmarks and similarities
LANDMARK_PARAMETERS: dict[str, list[Any]] = {
    "n_landmarks": [PerView(POSITIVE_INTEGER)],
    "landmarks": [StrOptions({"kmeans", "random"}), "array-like", "sparse matrix"],
    "kernel": [PerView(StrOptions(set(KERNELS)), callable)],
    "gamma": [PerView(POSITIVE, StrOptions(set(GAMMAS)))],
}


@dataclass
class SamplesAgainst:
    """Columns of a kernel or distance view: those of the samples chosen as landmarks."""

    name: str
    reference: Reference
    gamma: float | None

    @property
    def m(self):
        return len(self.reference.ids)

    def __call__(self, data):
        block = data.against(self.name, self.reference)
        return block if self.gamma is None else distance_kernel(block, self.gamma)


@dataclass
class Projection:
    """Fitted landmarks: for each view its similarities to them, or None if no row had it."""

    names: tuple
    kernels: list
    dtype: Any

    @property
    def slices(self):
        """The columns of each view."""
        sizes = [0 if kernel is None else kernel.m for kernel in self.kernels]
        ends = np.cumsum(sizes).tolist()
        return [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]

    def present(self, data):
        """Which rows have which blocks; views that no training row had are left out."""
        return data.present & np.array([kernel is not None for kernel in self.kernels])

    def __call__(self, data, n_jobs=None):
        """Similarities, n x Σ L_v; NaN where a row lacks a view."""
        out = np.full((len(data), self.slices[-1].stop), np.nan, dtype=self.dtype)
        tasks = (task for v in range(len(self.names)) for task in self._tasks(data, v, out))
        Parallel(n_jobs=n_jobs, require="sharedmem")(delayed(fill)(*task) for task in tasks)
        return out

    def _tasks(self, data, v, out):
        """Arguments of ``fill`` for some rows of the block of a view each."""
        kernel, is_present = self.kernels[v], data.present[:, v]
        if kernel is None or not is_present.any():
            return
        name, where = self.names[v], self.slices[v]
        X = data if isinstance(kernel, SamplesAgainst) else data[name]
        for part in chunks(len(data), kernel.m + data.widths[name]):
            rows = part if is_present[part].all() else part.start + np.flatnonzero(is_present[part])
            yield out[:, where], kernel, X, rows, name


def fill(block, kernel, X, rows, name):
    """block[rows] = similarities of the rows, which have to be finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        try:
            values = kernel(X[rows])
        except ValueError as error:  # e.g. chi2 of negative values
            raise ValueError(f"view {name!r}: {error}") from error
        fine = np.isfinite(values.sum()) or np.isfinite(values).all()
    if not fine:
        raise_too_large(name, np.r_[rows][np.flatnonzero(~np.isfinite(values).all(axis=1))[0]])
    block[rows] = values


def raise_too_large(name, row):
    raise ValueError(
        f"view {name!r} has values too large for its similarities in row {row}; scale them, e.g. "
        "by ViewTransformer(StandardScaler())"
    )


class Features:
    """A feature view on the rows that have it, on the way to its landmarks."""

    def __init__(self, data, name, is_present, weight, kernel, gamma):
        X = data[name]
        self.X, self.name, self.is_present = (
            X if len(is_present) == len(data) else X[is_present],
            name,
            is_present,
        )
        self.weight, self.kernel, self.gamma = weight, kernel, gamma

    def centres(self, size, rng):
        """Numbers of rows if they all fit, else k-means centres."""
        distinct = distinct_rows(self.X, size)
        if distinct is not None:
            return distinct
        self._check_magnitude()
        return kmeans_centres(self.X, size, self.weight, rng)

    def _check_magnitude(self):
        """Squares of distances have to be numbers."""
        values = self.X.data if sp.issparse(self.X) else self.X
        if values.dtype.kind != "f" or values.size == 0:
            return
        largest = np.sqrt(np.finfo(values.dtype).max / self.X.shape[1]) / 4
        if max(values.max(), -values.min()) <= largest:
            return
        place = np.flatnonzero(np.abs(values).ravel() > largest)[0]
        if sp.issparse(self.X):
            row = np.searchsorted(self.X.indptr, place, side="right") - 1
        else:
            row = place // self.X.shape[1]
        raise_too_large(self.name, self.is_present[row])

    def all_distinct(self, size):
        """Numbers of the distinct rows, None if they are more than ``size``."""
        return distinct_rows(self.X, size)

    def to(self, landmarks):
        """The similarities to landmarks: rows of their own, or numbers of rows."""
        Z = self.X[landmarks] if landmarks.ndim == 1 else landmarks
        dtype = np.float32 if self.X.dtype == np.float32 else np.float64
        Z = np.asarray(Z.toarray() if sp.issparse(Z) else Z, dtype=dtype)
        gamma = kernel_gamma(self.gamma, self.X, self.weight)
        # sparse rows stay sparse only if nothing is subtracted
        centre = not sp.issparse(self.X)
        return KernelAgainst(Z, self.kernel, gamma=gamma, dtype=dtype, centre=centre)

    def given(self, container):
        """The similarities to the landmarks of a container."""
        Z = container[self.name]
        return self.to(Z.toarray() if sp.issparse(Z) else Z)


class Samples:
    """A kernel or distance view on the rows that have it, on the way to its landmarks."""

    def __init__(self, data, name, is_present, weight, gamma):
        self.part, self.name, self.weight, self.gamma = data[is_present], name, weight, None
        self.everyone = self.part.reference()
        if data.kinds[name] == "distance":
            self.gamma = distance_gamma(gamma, self.part.against(name, self.everyone), weight)

    def centres(self, size, rng):
        """Numbers of all rows if they fit, else of the rows nearest to k-means centres."""
        few = self.all_distinct(size)
        if few is not None:
            return few
        return kmeans_medoids(self.to(np.arange(len(self.part)))(self.part), size, self.weight, rng)

    def all_distinct(self, size):
        """Numbers of all rows, None if they are more than ``size``."""
        return np.arange(len(self.part)) if len(self.part) <= size else None

    def to(self, landmarks):
        """The similarities to samples given by number."""
        reference = Reference(self.everyone.ids[landmarks], self.everyone.origin)
        return SamplesAgainst(self.name, reference, self.gamma)

    def given(self, container):
        """The similarities to the samples of a container."""
        return SamplesAgainst(self.name, container.reference(), self.gamma)


def find_landmarks(data, weight, *, n_landmarks, landmarks, kernel, gamma, random_state, n_jobs):
    """Settle landmarks and kernels on checked training data.

    Returns the projection, and samples with all views that equation 11 combines: the landmarks
    themselves where these are samples. The same seed serves every view, so that the order of
    views does not matter.
    """
    names = data.view_names
    sizes = per_view(n_landmarks, names, "n_landmarks")
    kernels, gammas = per_view(kernel, names, "kernel"), per_view(gamma, names, "gamma")
    given = check_landmarks(landmarks, data)
    rng = check_random_state(random_state)
    seed = rng.randint(np.iinfo(np.int32).max)
    # complete samples first, so that landmarks have all views where that is possible
    order = rng.permutation(len(data))
    order = order[np.argsort(~data.present[order].all(axis=1), kind="stable")]

    def fit(v):
        name, is_present = names[v], np.flatnonzero(data.present[:, v])
        if len(is_present) == 0:
            return None
        if data.kinds[name] in PAIRWISE:
            view = Samples(data, name, is_present, weight[is_present], gammas[name])
        else:
            view = Features(data, name, is_present, weight[is_present], kernels[name], gammas[name])
        if given is not None:
            return view.given(given)
        if landmarks == "kmeans":
            return view.to(view.centres(sizes[name], np.random.RandomState(seed)))
        few = view.all_distinct(sizes[name])
        wanted = order[data.present[order, v]][: sizes[name]]
        return view.to(np.searchsorted(is_present, wanted) if few is None else few)

    solution = Parallel(n_jobs=n_jobs, require="sharedmem")(
        delayed(fit)(v) for v in range(len(names))
    )
    warn_of_unseen_views([name for name, k in zip(names, solution, strict=True) if k is None])
    dtypes = [
        k.dtype if isinstance(k, KernelAgainst) else np.float64 for k in solution if k is not None
    ]
    whole = data[order[: max(sizes.values())]] if given is None else given
    whole = whole[whole.present.all(axis=1)]
    return Projection(names, solution, np.result_type(*dtypes)), whole


def check_landmarks(landmarks, data):
    """None for a known choice, or the user's own landmarks as checked views."""
    if isinstance(landmarks, str):
        return None
    given = as_multiview(landmarks)
    lacking = [name for name in data.view_names if name not in given]
    if lacking:
        raise ValueError(f"landmarks lack the views {format_list(lacking)}")
    given = ViewLayout.from_data(data).align(given)
    if not given.present.all():
        raise ValueError("landmarks must have all views")
    return check_values(given, KINDS, "landmarks")


def warn_of_unseen_views(names):
    if names:
        warnings.warn(
            f"views {format_list(names)} are present in no training row and have no landmarks",
            UserWarning,
            stacklevel=6,
        )
