"""Problems: the data sets that tasks use, loaded by name or given in memory.

A worker keeps the last problem it loaded, since tasks on the same data follow one another.
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
    """Views and labels, with the groups and official splits that a protocol may need.

    ``preprocessor`` is an unfitted transformer that becomes the first step of every method, so
    that encoding, scaling and imputation see training rows only.
    """

    data: MultiViewData
    target: np.ndarray
    groups: np.ndarray | None = None
    splits: Mapping[str, Mapping[str, np.ndarray]] = field(default_factory=dict)
    preprocessor: Any = None

    def fingerprint(self) -> str:
        """Hash all contents; the hash is part of the identity of tasks on data in memory."""
        views = list(self.data.items())  # their order breaks ties
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
    """Draw two classes; in a fraction ``disturbed`` of its rows, a view shows the other class.

    Each view is disturbed in different rows, so each classifies some samples that others cannot.
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
    fractions = disturbed if isinstance(disturbed, list) else [disturbed] * n_views
    if len(fractions) != n_views:
        raise ValueError(f"disturbed has {len(fractions)} entries for {n_views} views")
    views = {}
    for (name, X), fraction in zip(data.items(), fractions, strict=True):
        rows = rng.permutation(n_samples)[: round(fraction * n_samples)]
        source_rows = np.arange(n_samples)
        source_rows[rows] = [rng.choice(np.flatnonzero(y != y[row])) for row in rows]
        views[name] = X[source_rows]
    return MultiViewData(views), y


GENERATORS: dict[str, Callable] = {
    "synthetic": make_multiview_classification,
    "disturbed": make_disturbed_views,
}


def dataset_names() -> list[str]:
    """Names of data that a suite may use: data sets and generators."""
    return [*DATASETS, *GENERATORS]


class ProblemCache:
    """Problems by name and parameters: those in memory first, then the last one loaded."""

    def __init__(self, in_memory: Mapping[str, Problem] | None = None) -> None:
        self.in_memory = dict(in_memory or {})
        self._last: tuple[Any, Problem] | None = None

    def get(self, name: str, parameters: Mapping[str, Any]) -> Problem:
        """Return a problem, loading it unless it is in memory."""
        if name in self.in_memory:
            return self.in_memory[name]
        key = (name, sorted(parameters.items()))
        if self._last is None or self._last[0] != key:
            self._last = None  # never hold two large data sets at once
            self._last = key, _load(name, parameters)
        return self._last[1]


def _load(name: str, parameters: Mapping[str, Any]) -> Problem:
    if name in GENERATORS:
        data, target = GENERATORS[name](**parameters)
        return Problem(data, target)
    if name not in DATASETS:
        raise ValueError(f"unknown data set {name!r}; known are {', '.join(dataset_names())}")
    dataset = DATASETS[name]
    # a suite may override the settings, such as the seed of a random assignment of columns
    bunch = dataset.loader(**{**dataset.settings, **parameters})
    return Problem(bunch.data, bunch.target, splits=bunch.splits)
