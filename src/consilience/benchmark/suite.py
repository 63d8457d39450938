"""Suites: data sets × methods × protocol, written as TOML and checked before anything runs.

``load_suite`` reads a shipped suite by name or a file by path; ``plan`` makes its tasks.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from consilience.benchmark.problems import GENERATORS, Problems, known_names
from consilience.benchmark.protocol import Official, Split, n_splits
from consilience.benchmark.recipes import RECIPES
from consilience.benchmark.tasks import Condition, Task, described, parameter_name
from consilience.benchmark.work import METRICS
from consilience.datasets import DATASETS, DatasetError

__all__ = [
    "DataChoice",
    "MethodChoice",
    "Reported",
    "Suite",
    "load_suite",
    "plan",
    "select",
    "suite_names",
]

SUITES = files("consilience.benchmark") / "suites"


class DataChoice(Struct, frozen=True, forbid_unknown_fields=True):
    """A data set by name; ``label`` is what tables call it."""

    name: str
    label: str = ""
    parameters: dict[str, Any] = {}
    seeded: bool = False  # the loader draws: a new draw for every repeat
    sample: int | None = None
    split: Split | None = None  # instead of the protocol's
    optional: bool = False  # left out, with a note, where it is not at hand

    @property
    def title(self) -> str:
        """Label or name."""
        return self.label or self.name


class MethodChoice(Struct, frozen=True, forbid_unknown_fields=True):
    """A recipe with settings of its own and, to be tuned, a grid; for all data sets or some."""

    recipe: str
    label: str = ""
    settings: dict[str, Any] = {}
    grid: dict[str, list] = {}
    datasets: list[str] | None = None

    @property
    def title(self) -> str:
        """Label or recipe."""
        return self.label or self.recipe

    def applies(self, dataset: str) -> bool:
        """Whether it is for this data set."""
        return self.datasets is None or dataset in self.datasets


class Protocol(Struct, frozen=True, forbid_unknown_fields=True):
    """How rows are split and altered; a list stands for all its values, one after the other."""

    split: Split
    targets: Literal["classes", "one-vs-rest"] = "classes"
    train_size: int | list[int] | None = None
    label_noise: float | list[float] = 0.0
    missing: float | list[float] = 0.0
    tuning_folds: int = 5

    def conditions(self) -> list[Condition]:
        """All combinations of the alterations."""
        values = [v if isinstance(v, list) else [v] for v in self._alterations()]
        return [Condition(*combination) for combination in product(*values)]

    def _alterations(self) -> tuple:
        return self.train_size, self.label_noise, self.missing


class Reported(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the paper reports for one data set: method -> metric -> value or [mean, deviation]."""

    dataset: str
    at: Condition = Condition()
    results: dict[str, dict[str, float | list[float]]]


class Suite(Struct, frozen=True, forbid_unknown_fields=True):
    """A whole suite."""

    title: str
    protocol: Protocol
    datasets: list[DataChoice]
    methods: list[MethodChoice]
    description: str = ""
    reference: str = ""
    seed: int = 0
    metrics: tuple[str, ...] = ("accuracy",)
    test: Literal["rank-sum", "signed-rank", "paired-t"] = "signed-rank"
    significance: float = 0.05
    paper: list[Reported] = []
    name: str = ""

    def reported(
        self, dataset: str, condition: Condition, method: str, metric: str
    ) -> tuple[float, float | None] | None:
        """The paper's mean and deviation, if it gives them."""
        for entry in self.paper:
            if entry.dataset == dataset and entry.at == condition:
                value = entry.results.get(method, {}).get(metric)
                if value is not None:
                    pair = value if isinstance(value, list) else [value]
                    return pair[0], pair[1] if len(pair) > 1 else None
        return None


def suite_names() -> list[str]:
    """Names of the suites that come with the package."""
    return sorted(path.name.removesuffix(".toml") for path in SUITES.iterdir())


def load_suite(name: str | Path) -> Suite:
    """A shipped suite by name, or one of your own by the path of its file (``….toml``)."""
    if str(name).endswith(".toml"):
        path = Path(name)
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise ValueError(f"there is no file {path}") from None
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"{path} cannot be read: {error}") from None
        stem = path.stem
    else:
        if name not in suite_names():
            raise ValueError(
                f"unknown suite {str(name)!r}; known are {', '.join(suite_names())}, "
                "or give the path of a .toml file"
            )
        text, stem = (SUITES / f"{name}.toml").read_text(encoding="utf-8"), str(name)
    return parse_suite(text, stem)


def parse_suite(text: str, name: str) -> Suite:
    """Typed and checked; an error names the suite and the key."""
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"suite {name!r}: {_syntax(text, str(error))}") from None
    try:
        suite = msgspec.convert({**raw, "name": name}, type=Suite)
        _check(suite)
    except (msgspec.ValidationError, ValueError) as error:
        raise ValueError(f"suite {name!r}: {error}") from None
    return suite


def _syntax(text: str, message: str) -> str:
    """The parser's message, with the key it means where it says only the line."""
    found = re.search(r"Cannot overwrite a value \(at (?:line (\d+)|end of document)", message)
    if not found:
        return message
    lines = text.splitlines()
    last = int(found[1]) if found[1] else len(lines)
    keys = [re.match(r"\s*([\w.\"'-]+)\s*=", line) for line in lines]
    before = [match[1] if match else None for match in keys[:last]]
    for number in range(last - 1, -1, -1):
        key = before[number]
        if key is not None and key in before[:number]:
            return f"the key {key!r} is given twice (line {number + 1})"
    return message


def _check(suite: Suite) -> None:
    """Names, labels, parameters and metrics that do not exist are told before anything runs."""
    for kind, titles in (
        ("data set", [choice.title for choice in suite.datasets]),
        ("method", [_on(method) for method in suite.methods]),
    ):
        if not titles:
            raise ValueError(f"it has no {kind}")
        twice = [title for title, count in Counter(titles).items() if count > 1]
        if twice:
            raise ValueError(f"the {kind} {twice[0]!r} is given twice; give labels that differ")
    _refuse_unknown("metric", suite.metrics, METRICS)
    _refuse_unknown("data set", [choice.name for choice in suite.datasets], known_names())
    titles = [choice.title for choice in suite.datasets]
    for method in suite.methods:
        _refuse_unknown("method", [method.recipe], RECIPES)
        _refuse_unknown(f"data set of {method.title!r}", method.datasets or [], titles)
        estimator = RECIPES[method.recipe].build(0)
        for key in [*method.settings, *method.grid]:
            parameter_name(estimator, key)
    for entry in suite.paper:
        for metrics in entry.results.values():
            _refuse_unknown("metric", metrics, METRICS)


def _on(method: MethodChoice) -> str:
    return f"{method.title} on {', '.join(method.datasets)}" if method.datasets else method.title


def _refuse_unknown(kind: str, names: Iterable[str], known: Iterable[str]) -> None:
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"unknown {kind} {unknown[0]!r}; known are {', '.join(known)}")


def plan(suite: Suite) -> tuple[list[Task], list[str]]:
    """All tasks, those of one split together, and a note for every data set that is left out."""
    tasks, notes, problems = [], [], Problems()
    for choice in suite.datasets:
        if not _is_here(choice):
            if not choice.optional:
                raise DatasetError(
                    f"the data set {choice.name!r} is not on this machine; "
                    f"get it by 'consilience fetch {choice.name}'"
                )
            notes.append(f"{choice.title} is left out: it is not on this machine")
            continue
        tasks += _tasks_on(suite, choice, problems)
    return tasks, notes


def _is_here(choice: DataChoice) -> bool:
    return choice.name in GENERATORS or DATASETS[choice.name].is_here()


def _tasks_on(suite: Suite, choice: DataChoice, problems: Problems) -> list[Task]:
    protocol, split = suite.protocol, choice.split or suite.protocol.split
    official = 1
    positives: list[int | None] = [None]
    if isinstance(split, Official) or protocol.targets == "one-vs-rest":
        problem = problems.get(choice.name, _parameters(choice, suite.seed, 0))
        official = max(1, len(problem.splits))
        if protocol.targets == "one-vs-rest":
            positives = list(range(len(np.unique(problem.target))))
    patterns = [
        described(
            Task(
                data=choice.name,
                method=method.recipe,
                split=split,
                index=0,
                seed=suite.seed,
                sample=choice.sample,
                settings=method.settings,
                grid=method.grid,
                tuning_folds=protocol.tuning_folds,
                dataset_label=choice.label,
                method_label=method.label,
            )
        )
        for method in suite.methods
        if method.applies(choice.title)
    ]
    tasks = []
    for index in range(n_splits(split, official)):
        for condition, positive in product(protocol.conditions(), positives):
            for pattern in patterns:
                task = replace(pattern, index=index, condition=condition, positive=positive)
                drawn = _parameters(choice, suite.seed, task.repeat)
                tasks.append(replace(task, data_parameters=drawn))
    return tasks


def _parameters(choice: DataChoice, seed: int, repeat: int) -> dict[str, Any]:
    """Parameters of the loader; a seeded one draws anew for every repeat."""
    drawn: Mapping[str, Any] = {"random_state": seed + repeat} if choice.seeded else {}
    return {**choice.parameters, **drawn}


def select(tasks: list[Task], only: Iterable[str]) -> list[Task]:
    """The tasks that agree with every key=value; values of the same key are alternatives."""
    wanted: dict[str, set[str]] = {}
    for text in only:
        key, sign, value = text.partition("=")
        if not sign or key not in SELECTORS:
            raise ValueError(f"expected one of {', '.join(SELECTORS)} = value, got {text!r}")
        wanted.setdefault(key, set()).add(value)
    for key, values in wanted.items():
        known = {SELECTORS[key](task) for task in tasks}
        _refuse_unknown(key, sorted(values), sorted(known))
    return [t for t in tasks if all(SELECTORS[k](t) in values for k, values in wanted.items())]


SELECTORS: dict[str, Callable[[Task], str]] = {
    "dataset": lambda task: task.where,
    "method": lambda task: task.who,
    "train_size": lambda task: f"{task.condition.train_size}",
    "label_noise": lambda task: f"{task.condition.label_noise:g}",
    "missing": lambda task: f"{task.condition.missing:g}",
    "split": lambda task: f"{task.index}",
}
