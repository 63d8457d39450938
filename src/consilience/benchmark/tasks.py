"""Tasks: one fit of one method on one split of one data set, identified by a hash.

Two tasks have the same hash exactly if everything that determines their result is the same: the
data and its parameters, the estimator with all its settings, the split, the alterations and the
seed. Labels that only appear in tables are not part of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from consilience.benchmark.protocol import Folds, Split, n_splits
from consilience.benchmark.recipes import RECIPES

__all__ = [
    "Condition",
    "Task",
    "build_method",
    "cross_validation",
    "estimator_spec",
    "parameter_name",
    "task_hash",
    "with_estimator_spec",
]


def _non_default_fields(struct: Struct) -> dict[str, Any]:
    """Fields that differ from their default, so that adding a field does not change old hashes."""
    fields = msgspec.structs.fields(struct)
    values = {field.name: getattr(struct, field.name) for field in fields}
    defaults = {
        f.name: f.default_factory() if callable(f.default_factory) else f.default for f in fields
    }
    return {name: value for name, value in values.items() if value != defaults[name]}


class Condition(Struct, frozen=True, forbid_unknown_fields=True):
    """How the data are altered before a method sees them."""

    train_size: int | None = None
    label_noise: float = 0.0
    missing: float = 0.0
    junk_views: int = 0

    def alterations(self) -> dict[str, Any]:
        """Return the fields that differ from their default."""
        return _non_default_fields(self)

    def __str__(self) -> str:
        return ", ".join(f"{name} = {value:g}" for name, value in self.alterations().items())


class Task(Struct, frozen=True, kw_only=True):
    """One fit, described by plain values; fields at their default are not part of the hash."""

    data: str
    method: str
    split: Split
    index: int
    seed: int = 0
    data_parameters: dict[str, Any] = {}
    data_hash: str | None = None  # fingerprint of data in memory
    complete: bool = False  # use only rows that have all views
    sample: int | None = None  # use this many random rows
    positive_class: int | None = None  # index of the class to separate from the rest
    condition: Condition = Condition()
    settings: dict[str, Any] = {}
    grid: dict[str, list] = {}
    tuning_folds: int = 5
    estimator: Any = None  # specification of what the recipe builds
    keep_predictions: bool = False  # store predictions and scores for the test rows
    diagnostics: tuple[str, ...] = ()
    dataset_label: str = ""
    method_label: str = ""

    @property
    def repeat(self) -> int:
        """Number of the repetition; all folds of one partition share it."""
        return self.index // self.split.n if isinstance(self.split, Folds) else self.index

    @property
    def dataset_name(self) -> str:
        """Name of the data set in tables."""
        return self.dataset_label or self.data

    @property
    def method_name(self) -> str:
        """Name of the method in tables."""
        return self.method_label or self.method


LABEL_FIELDS = ("dataset_label", "method_label")


def task_hash(task: Task) -> str:
    """Hash everything that determines the result of a task."""
    fields = _non_default_fields(task)
    content = {name: value for name, value in fields.items() if name not in LABEL_FIELDS}
    content["condition"] = task.condition.alterations()
    content = msgspec.to_builtins(content)
    del content["split"]["repeats"]  # further repeats do not change the first ones
    encoded = msgspec.json.encode(content, order="sorted")
    return hashlib.sha256(encoded).hexdigest()[:32]


def parameter_name(estimator: Any, name: str) -> str:
    """Full name of a parameter; the last step of a pipeline need not be named."""
    known, prefix, inner = estimator.get_params(), "", estimator
    while prefix + name not in known and isinstance(inner, Pipeline):
        step, inner = inner.steps[-1]
        prefix += f"{step}__"
    if prefix + name not in known:
        own = sorted(n for n in inner.get_params(deep=False))
        raise ValueError(
            f"{type(inner).__name__} has no parameter {name!r}; it has {', '.join(own)}"
        )
    return prefix + name


def build_method(task: Task, seed: int | None) -> Any:
    """Build a fresh estimator with the settings of the task."""
    recipe = RECIPES[task.method]
    build = recipe.build_tunable if task.grid and recipe.build_tunable else recipe.build
    return apply_settings(build(seed), task.settings)


def apply_settings(estimator: Any, settings: Mapping[str, Any]) -> Any:
    """Set parameters by their short names, as in ``parameter_name``."""
    params = {parameter_name(estimator, name): value for name, value in settings.items()}
    return estimator.set_params(**params)


def estimator_spec(value: Any) -> Any:
    """Describe an estimator and all its settings by plain values, the same in every process."""
    if isinstance(value, BaseEstimator):
        params = value.get_params(deep=False)
        class_name = f"{type(value).__module__}.{type(value).__qualname__}"
        return {
            "class": class_name,
            **{name: estimator_spec(v) for name, v in sorted(params.items())},
        }
    if isinstance(value, dict):
        return {str(k): estimator_spec(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [estimator_spec(v) for v in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if callable(value):
        return f"{value.__module__}.{getattr(value, '__qualname__', type(value).__qualname__)}"
    return repr(value)


def with_estimator_spec(task: Task) -> Task:
    """Add to a task the specification of its estimator, which is part of its hash."""
    return replace(task, estimator=estimator_spec(build_method(task, None)))


def cross_validation(
    data: str,
    methods: Iterable[str],
    folds: Folds,
    *,
    seed: int = 0,
    data_hash: str | None = None,
    settings: Mapping[str, dict[str, Any]] | None = None,
    grids: Mapping[str, dict[str, list]] | None = None,
    keep_predictions: bool = False,
    diagnostics: tuple[str, ...] = (),
) -> list[Task]:
    """Return tasks that compare methods on one data set, ordered by fold and then by method."""
    templates = [
        with_estimator_spec(
            Task(
                data=data,
                method=method,
                split=folds,
                index=0,
                seed=seed,
                data_hash=data_hash,
                settings=dict((settings or {}).get(method, {})),
                grid=dict((grids or {}).get(method, {})),
                keep_predictions=keep_predictions,
                diagnostics=diagnostics,
            )
        )
        for method in methods
    ]
    return [replace(task, index=index) for index in range(n_splits(folds)) for task in templates]
