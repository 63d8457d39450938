"""Problems: the data sets that tasks work on, by name or given in memory.

A worker keeps the last one it loaded, since tasks on the same data come one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import joblib
import numpy as np
from sklearn.utils import check_random_state

from consilience.datasets import DATASETS, make_multiview_classification
from consilience.views import MultiViewData

__all__ = ["GENERATORS", "Problem", "ProblemCache", "dataset_names", "make_disturbed_views"]


@dataclass(frozen=True)
class Problem:
    """Views and labels, with what a protocol may need beside them.

    ``preprocessor`` is an unfitted transformer that every method gets as its first step, so that
    encoding, scaling and imputation see training rows only.
    """

    data: MultiViewData
    target: np.ndarray
    groups: np.ndarray | None = None
    splits: Mapping[str, Mapping[str, np.ndarray]] = field(default_factory=dict)
    preprocessor: Any = None

    def fingerprint(self) -> str:
        """A hash of everything in it; part of the address of a task on data in memory."""
        views = list(self.data.items())  # their order decides ties
        parts = (views, self.data.present, self.data.kinds, self.data.sample_ids, self.target)
        return joblib.hash((*parts, self.groups, dict(self.splits), self.preprocessor))


def make_disturbed_views(
    n_samples: int = 80,
    *,
    n_views: int = 3,
    n_features: int = 10,
    strength: float = 3.0,
    disturbed: list[float] | float = 0.25,
    random_state: Any = None,
) -> tuple[MultiViewData, np.ndarray]:
    """Two classes; in a share ``disturbed`` of the rows a view shows a sample of the other class.

    The views are disturbed in rows of their own, so each knows some samples that others miss.
    """
    rng = check_random_state(random_state)
    data, y = make_multiview_classification(
        n_samples,
        n_views=n_views,
        n_features=n_features,
        strength=strength,
        redundancy=0.0,
        random_state=rng,
    )
    shares = disturbed if isinstance(disturbed, list) else [disturbed] * n_views
    if len(shares) != n_views:
        raise ValueError(f"disturbed has {len(shares)} entries for {n_views} views")
    views = {}
    for (name, X), share in zip(data.items(), shares, strict=True):
        rows = rng.permutation(n_samples)[: round(share * n_samples)]
        other = [rng.choice(np.flatnonzero(y != y[row])) for row in rows]
        format_list = np.arange(n_samples)
        format_list[rows] = other
        views[name] = X[format_list]
    return MultiViewData(views), y


GENERATORS: dict[str, Callable] = {
    "synthetic": make_multiview_classification,
    "disturbed": make_disturbed_views,
}


def dataset_names() -> list[str]:
    """Names that a suite may give to data: data sets and generators."""
    return [*DATASETS, *GENERATORS]


class ProblemCache:
    """Problems by name and parameters; those in memory go first, the last one loaded is kept."""

    def __init__(self, given: Mapping[str, Problem] | None = None) -> None:
        self.given = dict(given or {})
        self._last: tuple[Any, Problem] | None = None

    def get(self, name: str, parameters: Mapping[str, Any]) -> Problem:
        """The problem, loaded unless it was the last one asked for."""
        if name in self.given:
            return self.given[name]
        key = (name, sorted(parameters.items()))
        if self._last is None or self._last[0] != key:
            self._last = None  # never two large sets at once
            self._last = key, _load(name, parameters)
        return self._last[1]


def _load(name: str, parameters: Mapping[str, Any]) -> Problem:
    if name in GENERATORS:
        data, target = GENERATORS[name](**parameters)
        return Problem(data, target)
    if name not in DATASETS:
        raise ValueError(f"unknown data set {name!r}; known are {', '.join(dataset_names())}")
    dataset = DATASETS[name]
    # what a suite asks for beyond the settings of the name, such as the seed of a random deal
    bunch = dataset.loader(**{**dataset.settings, **parameters})
    return Problem(bunch.data, bunch.target, splits=bunch.splits)
