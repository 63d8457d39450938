"""Problems: the data sets that tasks use, loaded by name, from files or functions, or in memory.

A worker keeps the last problem it loaded, since tasks on the same data follow one another.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import joblib
import narwhals as nw
import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from consilience.datasets import DATASETS, make_multiview_classification
from consilience.tables import FileArgument, parse_files, read_tables
from consilience.views import MultiViewData, as_multiview

__all__ = [
    "GENERATORS",
    "Problem",
    "ProblemCache",
    "ProblemFiles",
    "append_rows",
    "dataset_names",
    "load_source",
    "make_disturbed_views",
]


@dataclass(frozen=True)
class Problem:
    """Views and labels, with the weights, groups and given splits that a protocol may need.

    The groups are also those of the views, so that they reach the inner folds of the methods.

    Examples
    --------
    >>> from consilience.benchmark import Problem
    >>> from consilience.datasets import make_multiview_classification
    >>> Problem(*make_multiview_classification(20, random_state=0)).data.n_views
    3
    """

    data: MultiViewData
    target: np.ndarray
    groups: np.ndarray | None = None
    notes: tuple[str, ...] = ()  # on the files
    splits: Mapping[str, Mapping[str, np.ndarray]] = field(default_factory=dict)
    sample_weight: np.ndarray | None = None
    unlabelled: MultiViewData | None = None  # further rows, for methods that learn from them

    def __post_init__(self) -> None:
        if self.groups is None:
            object.__setattr__(self, "groups", self.data.groups)
        else:
            object.__setattr__(self, "data", self.data.with_groups(self.groups))

    def fingerprint(self) -> str:
        """Hash all contents; the hash is part of the identity of tasks on data in memory."""
        views = list(self.data.items())  # their order breaks ties
        parts = (views, self.data.present, self.data.kinds, self.data.sample_ids, self.target)
        content: tuple[Any, ...] = (*parts, self.groups, dict(self.splits), self.sample_weight)
        if self.unlabelled is not None:
            content += (list(self.unlabelled.items()), self.unlabelled.present)
        return joblib.hash(content)


@dataclass(frozen=True)
class ProblemFiles:
    """A problem that each worker reads from files, and the fingerprint that it must have."""

    files: tuple[FileArgument, ...]
    options: Mapping[str, Any]  # of ``read_tables``
    fingerprint: str

    def are_readable(self) -> bool:
        """Whether all files can be read on this machine."""
        return all(os.access(file.path, os.R_OK) for file in self.files)

    def load(self) -> Problem:
        """Read the files; an error if they differ from those that the study was planned on."""
        joined = read_tables(list(self.files), **self.options)
        problem = Problem(
            joined.data, joined.target, groups=joined.groups, unlabelled=joined.unlabelled
        )
        if problem.fingerprint() != self.fingerprint:
            names = ", ".join(str(file.path) for file in self.files)
            raise ValueError(f"the files on this worker are not those of the study: {names}")
        return problem


def append_rows(data: MultiViewData, more: MultiViewData) -> MultiViewData:
    """Rows of two containers of the same views."""
    views = {name: _append(view, more[name]) for name, view in data.items()}
    return MultiViewData(views, present=np.concatenate([data.present, more.present]))


def _append(view: Any, more: Any) -> Any:
    if sp.issparse(view):
        return sp.csr_array(sp.vstack([view, more], format="csr"))
    if hasattr(view, "columns"):
        frames = [nw.from_native(part, eager_only=True) for part in (view, more)]
        return nw.concat(frames, how="vertical").to_native()
    return np.concatenate([view, more])


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
    """Problems by name and parameters: those given by name first, then the last one loaded."""

    def __init__(self, given: Mapping[str, Problem | ProblemFiles] | None = None) -> None:
        self.given = dict(given or {})
        self._last: tuple[Any, Problem] | None = None

    def get(
        self, name: str, parameters: Mapping[str, Any], source: Mapping[str, Any] | None = None
    ) -> Problem:
        """Return a problem, loading it unless it is in memory."""
        if name in self.given:
            problem = self.given[name]
            if isinstance(problem, ProblemFiles):
                self.given[name] = problem = problem.load()
            return problem
        key = (name, sorted(parameters.items()), source)
        if self._last is None or self._last[0] != key:
            self._last = None  # never hold two large data sets at once
            self._last = key, load_source(source, parameters) if source else _load(name, parameters)
        return self._last[1]


def load_source(source: Mapping[str, Any], parameters: Mapping[str, Any]) -> Problem:
    """Load own data: ``{"files": [...], "target": ...}`` or ``{"loader": "module:function"}``."""
    if "files" in source:
        options = {key: value for key, value in source.items() if key != "files"}
        joined = read_tables(parse_files(source["files"]), **options)
        return Problem(joined.data, joined.target, groups=joined.groups, notes=tuple(joined.notes))
    return _call_loader(source["loader"], parameters)


def _call_loader(name: str, parameters: Mapping[str, Any]) -> Problem:
    """Call a function that returns a Bunch or a pair of views and labels."""
    module_name, _, attribute = name.partition(":")
    try:
        function = getattr(importlib.import_module(module_name), attribute)
    except Exception as error:
        raise ValueError(
            f"the loader {name!r} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    result = function(**parameters)
    if isinstance(result, tuple) and len(result) == 2:
        return Problem(as_multiview(result[0]), np.asarray(result[1]))
    lacking = [key for key in ("data", "target") if not hasattr(result, key)]
    if lacking:
        raise ValueError(
            f"the loader {name!r} must return a Bunch with data and target, or the pair of them, "
            f"but {lacking[0]!r} is missing in its {type(result).__name__}"
        )
    groups, weight = getattr(result, "groups", None), getattr(result, "sample_weight", None)
    return Problem(
        as_multiview(result.data),
        np.asarray(result.target),
        groups=None if groups is None else np.asarray(groups),
        splits=getattr(result, "splits", None) or {},
        sample_weight=None if weight is None else np.asarray(weight, dtype=np.float64),
    )


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
