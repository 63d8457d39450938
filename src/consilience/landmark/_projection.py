"""Similarities of every row to the landmarks of every view.

``find_landmarks`` settles landmarks and kernels on training views; the ``Projection`` it returns
maps views to one matrix, a block of columns for each view, NaN where a row lacks the view.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.utils import check_random_state

from consilience._kernel_views import KERNEL_PARAMETERS, Rows, ViewKernel, kernel_specs
from consilience._model_types import model_type
from consilience._parameters import POSITIVE_INTEGER, PerView, StrOptions
from consilience._solvers.kernels import chunks
from consilience._warnings import warn_of_unseen_views
from consilience.landmark._landmarks import choose_landmarks, view_landmarks
from consilience.views import MultiViewData, as_multiview
from consilience.views._layout import ViewLayout, check_values
from consilience.views._pairwise import KINDS
from consilience.views._params import per_view
from consilience.views._storage import format_list

__all__ = ["LANDMARK_PARAMETERS", "Projection", "find_landmarks"]

# constraints on the parameters that choose landmarks and similarities
LANDMARK_PARAMETERS: dict[str, list[Any]] = {
    "n_landmarks": [PerView(POSITIVE_INTEGER)],
    "landmarks": [StrOptions({"kmeans", "random"}), "array-like", "sparse matrix"],
    "kernel": KERNEL_PARAMETERS["kernel"],
    "gamma": KERNEL_PARAMETERS["gamma"],
}


@model_type("landmark.Projection")
@dataclass
class Projection:
    """Fitted landmarks: for each view its similarities to them, or None if no row had it."""

    names: tuple[str, ...]
    kernels: list[ViewKernel | None]
    dtype: np.dtype

    @property
    def slices(self) -> list[slice]:
        """The columns of each view."""
        sizes = [0 if kernel is None else kernel.n_references for kernel in self.kernels]
        ends = np.cumsum(sizes).tolist()
        return [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]

    def present(self, data: MultiViewData) -> np.ndarray:
        """Which rows have which blocks; the block of a view that no training row had is empty.

        An empty block is never missing, so that rows are complete without it.
        """
        return data.present | np.array([kernel is None for kernel in self.kernels])

    def __call__(self, data: MultiViewData, n_jobs: int | None = None) -> np.ndarray:
        """Similarities, n x Σ L_v; NaN where a row lacks a view."""
        slices = self.slices
        out = np.full((len(data), slices[-1].stop), np.nan, dtype=self.dtype)
        tasks = (
            (out[:, where], kernel, data, rows)
            for v, (kernel, where) in enumerate(zip(self.kernels, slices, strict=True))
            if kernel is not None
            for rows in present_chunks(data, v, kernel.n_references)
        )
        Parallel(n_jobs=n_jobs, require="sharedmem")(delayed(fill)(*task) for task in tasks)
        return out


def present_chunks(data: MultiViewData, v: int, n_landmarks: int) -> Iterator[Rows]:
    """The rows that have view v, in pieces whose blocks fit into the cache."""
    is_present, width = data.present[:, v], data.widths[data.view_names[v]]
    if not is_present.any():
        return
    for part in chunks(len(data), n_landmarks + width):
        # a slice copies no rows
        yield part if is_present[part].all() else part.start + np.flatnonzero(is_present[part])


def fill(block: np.ndarray, kernel: ViewKernel, data: MultiViewData, rows: Rows) -> None:
    """block[rows] = similarities of the rows."""
    block[rows] = kernel.block(data, rows)


def find_landmarks(
    data: MultiViewData,
    weight: np.ndarray,
    *,
    n_landmarks: Any,
    landmarks: Any,
    kernel: Any,
    gamma: Any,
    random_state: Any,
    n_jobs: int | None,
) -> tuple[Projection, MultiViewData]:
    """Settle landmarks and kernels on checked training data.

    Returns the projection, and samples with all views that equation 11 combines: the landmarks
    themselves where these are samples. The same seed serves every view, so that the order of
    views does not matter.
    """
    names = data.view_names
    sizes = per_view(n_landmarks, names, "n_landmarks")
    specs = kernel_specs(names, kernel, gamma)
    given = None if isinstance(landmarks, str) else check_landmarks(landmarks, data)
    rng = check_random_state(random_state)
    seed = rng.randint(np.iinfo(np.int32).max)
    is_seen = np.asarray(data.present.any(axis=0))
    seen = [name for v, name in enumerate(names) if is_seen[v]]
    if not seen:
        raise ValueError("no training row has any view, so there are no landmarks")
    # complete samples first, so that landmarks have all views where that is possible
    order = rng.permutation(len(data))
    is_complete = np.asarray(data.present[:, is_seen].all(axis=1))
    order = order[np.argsort(~is_complete[order], kind="stable")]

    def fit_view(name: str) -> ViewKernel:
        view = view_landmarks(specs[name], data, name, weight)
        if given is not None:
            return view.kernel_against_samples(given)
        return choose_landmarks(view, sizes[name], landmarks, order, seed)

    fitted = Parallel(n_jobs=n_jobs, require="sharedmem")(delayed(fit_view)(name) for name in seen)
    warn_of_unseen_views(names, seen, "have no landmarks")
    kernels = dict(zip(seen, fitted, strict=True))
    samples = data[order[: max(sizes.values())]] if given is None else given
    projection = Projection(
        names, [kernels.get(name) for name in names], np.result_type(*(k.dtype for k in fitted))
    )
    return projection, samples[projection.present(samples).all(axis=1)]


def check_landmarks(landmarks: Any, data: MultiViewData) -> MultiViewData:
    """The user's own landmarks as checked views."""
    try:
        given = as_multiview(landmarks)
    except (TypeError, ValueError) as error:
        raise type(error)(f"landmarks: {error}") from error
    lacking = [name for name in data.view_names if name not in given]
    if lacking:
        raise ValueError(f"landmarks lack the views {format_list(lacking)}")
    given = ViewLayout.from_data(data).align(given)
    if not given.present.all():
        raise ValueError("landmarks must have all views")
    return check_values(given, KINDS, "landmarks")
