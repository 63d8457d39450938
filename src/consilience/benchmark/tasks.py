"""Tasks: one fit of one method on one split of one data set, identified by a hash.

Two tasks have the same hash exactly if everything that determines their result is the same: the
data and its parameters, the estimator with all its settings (and the source code of classes that
belong to neither this package nor scikit-learn), the split, the alterations and the seed. Labels
that only appear in tables, and the place that data are read from, are not part of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from sklearn.pipeline import Pipeline

from consilience.benchmark.estimator_specs import estimator_spec
from consilience.benchmark.protocol import Folds, Given, Official, Split, n_splits
from consilience.methods import METHODS, Method

__all__ = [
    "Condition",
    "Task",
    "build_method",
    "cross_validation",
    "parameter_name",
    "task_hash",
    "with_estimator_spec",
]


# part of every hash; changes when the same task would give another result
ENGINE_VERSION = 2


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
    feature_noise: float = 0.0

    def alterations(self) -> dict[str, Any]:
        """Return the fields that differ from their default."""
        return _non_default_fields(self)

    def __str__(self) -> str:
        return ", ".join(f"{name} = {value:g}" for name, value in self.alterations().items())


class Task(Struct, frozen=True, kw_only=True):
    """One fit, described by plain values; fields at their default are not part of the hash.

    Examples
    --------
    >>> from consilience.benchmark import Task
    >>> from consilience.benchmark.protocol import Folds
    >>> Task(data="digits", method="Late fusion", split=Folds(5, 1), index=0).seed
    0
    """

    data: str
    method: str
    split: Split
    index: int
    seed: int = 0
    data_parameters: dict[str, Any] = {}
    data_source: dict[str, Any] = {}  # where own data of a suite come from
    data_hash: str | None = None  # fingerprint of data in memory
    complete: bool = False  # use only rows that have all views
    sample: int | None = None  # use this many random rows
    positive_class: int | None = None  # index of the class to separate from the rest
    condition: Condition = Condition()
    stratified: bool = False  # whether a training subset keeps the shares of the classes
    settings: dict[str, Any] = {}
    grid: dict[str, list] = {}
    tuning_folds: int = 5
    tuning_metric: str = ""  # that a grid is searched by; empty: accuracy without sample weights
    estimator: Any = None  # specification of what the recipe builds
    whole_groups: bool = False  # whether a hold-out is of groups; only tells fits from older ones
    keep_predictions: bool = False  # store predictions and scores for the test rows
    diagnostics: tuple[str, ...] = ()
    needs_scores: bool = True  # whether metrics of probabilities or decision values are computed
    refit: bool = False  # fit on all rows, and return the model instead of scores
    metric: str = "accuracy"  # of the diagnostics
    positive: str = ""  # name of the positive class; by default, the last of the classes
    dataset_label: str = ""
    method_label: str = ""

    @property
    def repeat(self) -> int:
        """Number of the repetition; all folds of one partition share it."""
        split = self.split
        return self.index // split.n if isinstance(split, Folds | Given) else self.index

    @property
    def method_seed(self) -> int:
        """Seed of the method: the same for all splits, as in cross_val_score.

        Repeats of the splits that come with a data set differ in nothing else, so each has its own.
        """
        is_repeated = isinstance(self.split, Official) and self.split.repeats > 1
        return self.seed + self.index if is_repeated else self.seed

    @property
    def dataset_name(self) -> str:
        """Name of the data set in tables."""
        return self.dataset_label or self.data

    @property
    def method_name(self) -> str:
        """Name of the method in tables."""
        return self.method_label or self.method


UNHASHED_FIELDS = ("data_source", "dataset_label", "method_label")


def task_hash(task: Task) -> str:
    """Hash everything that determines the result of a task."""
    fields = _non_default_fields(task)
    content = {name: value for name, value in fields.items() if name not in UNHASHED_FIELDS}
    content["engine"] = ENGINE_VERSION
    content["condition"] = task.condition.alterations()
    content = msgspec.to_builtins(content)
    content["split"].pop("repeats", None)  # further repeats do not change the first ones ...
    if isinstance(task.split, Official) and task.index:  # ... but give methods other seeds here
        content["method_seed"] = task.method_seed
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


def build_method(
    task: Task, random_state: int | None, methods: Mapping[str, Method] = METHODS
) -> Any:
    """Build a fresh estimator, with the preparation of its views and the settings of the task."""
    estimator = methods[task.method].make_estimator(random_state, tunable=bool(task.grid))
    return apply_settings(estimator, task.settings)


def apply_settings(estimator: Any, settings: Mapping[str, Any]) -> Any:
    """Set parameters by their short names, as in ``parameter_name``."""
    params = {parameter_name(estimator, name): value for name, value in settings.items()}
    return estimator.set_params(**params)


def with_estimator_spec(task: Task, methods: Mapping[str, Method] = METHODS) -> Task:
    """Add to a task the specification of its estimator, which is part of its hash."""
    return replace(task, estimator=estimator_spec(build_method(task, None, methods)))


def cross_validation(
    data: str,
    methods: Iterable[str],
    split: Folds | Given,
    *,
    seed: int = 0,
    data_hash: str | None = None,
    tune: bool = False,
    own_specs: Mapping[str, Any] | None = None,
    keep_predictions: bool = False,
    diagnostics: tuple[str, ...] = (),
    metric: str = "accuracy",
    tuning_metric: str = "",
    positive: str = "",
) -> list[Task]:
    """Return tasks that compare methods on one data set, ordered by fold and then by method.

    ``own_specs`` are the specifications of the estimators of methods that are not registered.
    """
    templates = []
    for name in methods:
        task = Task(
            data=data,
            method=name,
            split=split,
            index=0,
            seed=seed,
            data_hash=data_hash,
            keep_predictions=keep_predictions,
            diagnostics=diagnostics,
            metric=metric,
            positive=positive,
        )
        if own_specs and name in own_specs:
            templates.append(replace(task, estimator=own_specs[name]))
            continue
        grid = {key: list(values) for key, values in METHODS[name].grid.items()} if tune else {}
        tuned = replace(task, grid=grid, tuning_metric=tuning_metric if grid else "")
        templates.append(with_estimator_spec(tuned))
    return [replace(task, index=index) for index in range(n_splits(split)) for task in templates]
