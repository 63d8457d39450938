"""Suites: data sets × methods × protocol, written as TOML and checked before anything runs.

``load_suite`` reads a shipped suite by name or a file by path.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from consilience.benchmark.problems import dataset_names
from consilience.benchmark.protocol import Official, Split
from consilience.benchmark.recipes import RECIPES
from consilience.benchmark.tasks import Condition, parameter_name
from consilience.benchmark.work import METRICS

__all__ = [
    "DatasetEntry",
    "MethodEntry",
    "PaperResults",
    "Suite",
    "check_known_names",
    "load_suite",
    "parse_suite",
    "suite_names",
]

SUITES = files("consilience.benchmark") / "suites"


class DatasetEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """A data set by name; ``label`` is what tables call it."""

    name: str
    label: str = ""
    parameters: dict[str, Any] = {}
    seeded: bool = False  # the loader draws: a new draw for every repeat
    complete: bool = False  # only the rows that have all views
    sample: int | None = None
    split: Split | None = None  # instead of the protocol's
    optional: bool = False  # left out, with a note, where it is not at hand

    @property
    def title(self) -> str:
        """Label or name."""
        return self.label or self.name


class MethodEntry(Struct, frozen=True, forbid_unknown_fields=True):
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


class ExtraCondition(Condition, frozen=True, forbid_unknown_fields=True):
    """A condition beside the combinations, on all splits or the first ``splits`` of them."""

    splits: int | None = None

    def __post_init__(self) -> None:
        if self.splits is not None and self.splits < 1:
            raise ValueError(f"splits must be at least 1, got {self.splits}")

    @property
    def condition(self) -> Condition:
        """The condition alone."""
        return Condition(*(getattr(self, name) for name in Condition.__struct_fields__))


class Protocol(Struct, frozen=True, forbid_unknown_fields=True):
    """How rows are split and altered; a list stands for all its values, one after the other.

    ``more`` are conditions beside all combinations of these.
    """

    split: Split
    targets: Literal["classes", "one-vs-rest"] = "classes"
    train_size: int | list[int] | None = None
    label_noise: float | list[float] = 0.0
    missing: float | list[float] = 0.0
    junk_views: int | list[int] = 0
    more: list[ExtraCondition] = []
    tuning_folds: int = 5

    def conditions(self) -> list[Condition]:
        """All combinations of the alterations, and what there is beside them."""
        values = [v if isinstance(v, list) else [v] for v in self._alterations()]
        usual = [Condition(*combination) for combination in product(*values)]
        return [*usual, *(further.condition for further in self.more)]

    def conditions_for_split(self, index: int) -> list[Condition]:
        """Those that split number ``index`` is run under."""
        spared = {f.condition for f in self.more if f.splits is not None and index >= f.splits}
        return [condition for condition in self.conditions() if condition not in spared]

    def _alterations(self) -> tuple:
        return self.train_size, self.label_noise, self.missing, self.junk_views


class PaperResults(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the paper reports for one data set: method -> metric -> value or [mean, deviation]."""

    dataset: str
    at: Condition | None = None  # None: the only condition of the suite, or none of them
    results: dict[str, dict[str, float | list[float]]]


class Suite(Struct, frozen=True, forbid_unknown_fields=True):
    """A whole suite."""

    title: str
    protocol: Protocol
    datasets: list[DatasetEntry]
    methods: list[MethodEntry]
    description: str = ""
    reference: str = ""
    seed: int = 0
    metrics: tuple[str, ...] = ("accuracy",)
    test: Literal["rank-sum", "signed-rank", "paired-t"] = "signed-rank"
    significance: float = 0.05
    paper: list[PaperResults] = []
    name: str = ""

    def condition_for(self, entry: PaperResults) -> Condition:
        """The condition that a number of the paper is for."""
        if entry.at is not None:
            return entry.at
        conditions = self.protocol.conditions()
        return conditions[0] if len(conditions) == 1 else Condition()

    def reported(
        self, dataset: str, condition: Condition, method: str, metric: str
    ) -> tuple[float, float | None] | None:
        """The paper's mean and deviation, if it gives them."""
        for entry in self.paper:
            if entry.dataset == dataset and self.condition_for(entry) == condition:
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
    result = re.search(r"Cannot overwrite a value \(at (?:line (\d+)|end of document)", message)
    if not result:
        return message
    lines = text.splitlines()
    last = int(result[1]) if result[1] else len(lines)
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
    for condition, count in Counter(suite.protocol.conditions()).items():
        if count > 1:
            raise ValueError(f"the condition '{condition}' is given twice")
    for choice in suite.datasets:
        official = isinstance(choice.split or suite.protocol.split, Official)
        if official and (choice.complete or choice.sample is not None):
            raise ValueError(f"{choice.title!r}: an official split is one of all rows")
    check_known_names("metric", suite.metrics, METRICS)
    check_known_names("data set", [choice.name for choice in suite.datasets], dataset_names())
    titles = [choice.title for choice in suite.datasets]
    for method in suite.methods:
        check_known_names("method", [method.recipe], RECIPES)
        check_known_names(f"data set of {method.title!r}", method.datasets or [], titles)
        estimator = RECIPES[method.recipe].build(0)
        for key in [*method.settings, *method.grid]:
            parameter_name(estimator, key)
    for entry in suite.paper:
        for metrics in entry.results.values():
            check_known_names("metric", metrics, METRICS)


def _on(method: MethodEntry) -> str:
    return f"{method.title} on {', '.join(method.datasets)}" if method.datasets else method.title


def check_known_names(kind: str, names: Iterable[str], known: Iterable[str]) -> None:
    """An error for the first name that is not known, with those that are."""
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"unknown {kind} {unknown[0]!r}; known are {', '.join(known)}")
