"""Choice of the landmarks of one view: candidates among the training rows that have it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from consilience._kernel_views import (
    FeatureKernel,
    KernelSpec,
    ViewKernel,
    feature_gamma,
    kernel_against,
    present_rows,
    raise_similarity_overflow,
    read_square,
    resolve_gamma,
)
from consilience.landmark._kmeans import distinct_rows, kmeans_centres, kmeans_medoids
from consilience.views import MultiViewData
from consilience.views._pairwise import number_ids

__all__ = ["FeatureLandmarks", "PairwiseLandmarks", "choose_landmarks", "view_landmarks"]


class FeatureLandmarks:
    """Landmarks of a feature view: rows of numbers, which need not be samples."""

    def __init__(
        self, spec: KernelSpec, data: MultiViewData, name: str, weight: np.ndarray
    ) -> None:
        self.name, self.rows = name, present_rows(data, name)
        self.may_be_drawn = self.rows
        self.X = data[name] if len(self.rows) == len(data) else data[name][self.rows]
        self.weight = weight[self.rows]
        self._check_magnitude()
        self.spec = replace(spec, gamma=feature_gamma(spec.gamma, self.X, self.weight, name))

    def all_candidates(self, limit: int) -> np.ndarray | None:
        """Positions of the distinct rows, None if there are more than ``limit``."""
        return distinct_rows(self.X, limit)

    def centres(self, n_landmarks: int, rng: np.random.RandomState) -> np.ndarray:
        """Centres of k-means, n_landmarks x d."""
        return kmeans_centres(self.X, n_landmarks, self.weight, rng)

    def kernel_against(self, landmarks: np.ndarray) -> ViewKernel:
        """Similarities to landmarks, given as rows or as positions."""
        Z: Any = self.X[landmarks] if landmarks.ndim == 1 else landmarks
        # sparse rows stay sparse only if nothing is subtracted from them; float32 would not be
        # enough for distances far from the origin
        centre = not sp.issparse(self.X)
        dtype = np.float32 if centre and self.X.dtype == np.float32 else np.float64
        Z = np.asarray(Z.toarray() if sp.issparse(Z) else Z, dtype=dtype)
        return FeatureKernel(self.name, self.spec.against(Z, dtype, centre))

    def kernel_against_samples(self, samples: MultiViewData) -> ViewKernel:
        """Similarities to all samples of a container."""
        Z = samples[self.name]
        return self.kernel_against(Z.toarray() if sp.issparse(Z) else Z)

    def _check_magnitude(self) -> None:
        """Squared distances must not overflow."""
        values = self.X.data if sp.issparse(self.X) else self.X
        if values.dtype.kind != "f" or values.size == 0:
            return
        dtype = np.float32 if values.dtype == np.float32 else np.float64  # of the distances
        largest = np.sqrt(np.finfo(dtype).max / self.X.shape[1]) / 4
        if max(values.max(), -values.min()) <= largest:
            return
        place = np.flatnonzero(np.abs(values).ravel() > largest)[0]
        if sp.issparse(self.X):
            row = np.searchsorted(self.X.indptr, place, side="right") - 1
        else:
            row = place // self.X.shape[1]
        raise_similarity_overflow(self.name, self.rows[row])


class PairwiseLandmarks:
    """Landmarks of a kernel or distance view: samples, known by their columns."""

    def __init__(
        self, spec: KernelSpec, data: MultiViewData, name: str, weight: np.ndarray
    ) -> None:
        self.data, self.name, self.rows = data, name, present_rows(data, name)
        read_square(data, name, self.rows)  # checks it
        self.spec = resolve_gamma(spec, data, name, weight)
        # rows of the same id have the same column
        self.distinct, number = number_ids(data.sample_ids[self.rows])
        self.weight = np.bincount(number, weight[self.rows])
        self.may_be_drawn = self.rows[self.distinct]

    def all_candidates(self, limit: int) -> np.ndarray | None:
        """Positions of the distinct samples, None if there are more than ``limit``."""
        return self.distinct if len(self.distinct) <= limit else None

    def centres(self, n_landmarks: int, rng: np.random.RandomState) -> np.ndarray:
        """Positions of the samples nearest to the centres of k-means."""
        K = self.kernel_against(self.distinct).block(self.data, self.may_be_drawn)
        return self.distinct[kmeans_medoids(K, n_landmarks, self.weight, rng)]

    def kernel_against(self, landmarks: np.ndarray) -> ViewKernel:
        """Similarities to landmarks, given as positions."""
        return kernel_against(self.spec, self.data, self.name, self.rows[landmarks])

    def kernel_against_samples(self, samples: MultiViewData) -> ViewKernel:
        """Similarities to all samples of a container."""
        return kernel_against(self.spec, samples, self.name, np.arange(len(samples)))


def view_landmarks(
    spec: KernelSpec, data: MultiViewData, name: str, weight: np.ndarray
) -> FeatureLandmarks | PairwiseLandmarks:
    """The class above for the kind of the view."""
    kind = FeatureLandmarks if data.kinds[name] == "features" else PairwiseLandmarks
    return kind(spec, data, name, weight)


def choose_landmarks(
    view: FeatureLandmarks | PairwiseLandmarks,
    n_landmarks: int,
    how: str,
    order: np.ndarray,
    seed: int,
) -> ViewKernel:
    """Similarities of one view to its landmarks: "kmeans" centres, or the first of ``order``."""
    landmarks: Any = view.all_candidates(n_landmarks)
    if landmarks is None and how == "kmeans":
        landmarks = view.centres(n_landmarks, np.random.RandomState(seed))
    elif landmarks is None:
        drawn = order[np.isin(order, view.may_be_drawn)][:n_landmarks]
        landmarks = np.searchsorted(view.rows, drawn)
    return view.kernel_against(landmarks)
