"""Suites: data sets × methods × protocol, written in TOML and checked before anything runs.

``load_suite`` reads a bundled suite by name or a file by path. A data set is one of the registered
ones by name, files of tables, or a function that returns a Bunch.
"""

from __future__ import annotations

import hashlib
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

from consilience.benchmark.bounds import MAX_FOLDS, MAX_ROWS, MAX_SEED, check_bounds
from consilience.benchmark.claims import Claim
from consilience.benchmark.metrics import METRICS, find_metric, needs_scores
from consilience.benchmark.problems import dataset_names
from consilience.benchmark.protocol import Official, Split
from consilience.benchmark.suite_curves import Curve
from consilience.benchmark.tasks import Condition, parameter_name
from consilience.methods import METHODS

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
MAX_JUNK_VIEWS = 1000
MAX_FEATURE_NOISE = 1000
SUITE_DIAGNOSTICS = ("staged",)
TABLE_OPTIONS = ("target", "on", "groups", "views", "categorical", "delimiter", "keep")


def _resolve_path(text: str, folder: str) -> str:
    """Make ``path`` or ``view=path`` absolute."""
    view, equals, path = text.partition("=")
    if not equals or "/" in view:
        return str(Path(folder, text).absolute())
    return f"{view}={Path(folder, path).absolute()}"


class DatasetEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """A data set by name; ``label`` is its name in tables.

    Own data have a name of your choice and ``files`` (paths, or view=path, relative to the suite)
    with ``target`` and the other options of tables, or ``loader`` ("module:function").
    """

    name: str
    label: str = ""
    parameters: dict[str, Any] = {}
    seeded: bool = False  # whether the loader is random and draws new data for every repeat
    complete: bool = False  # use only the rows that have all views
    sample: int | None = None  # use this many random rows
    class_shares: Literal["equal", "natural"] = "equal"  # in training subsets of train_size rows
    split: Split | None = None  # overrides that of the protocol
    optional: bool = False  # left out, with a note, if it is not available
    files: list[str] = []
    target: str | None = None
    on: str | None = None
    groups: str | None = None
    views: str | None = None
    categorical: list[str] = []
    delimiter: str | None = None
    keep: list[str] = []
    loader: str | None = None

    @property
    def is_own(self) -> bool:
        """Whether the data come from files or a function of the user."""
        return bool(self.files) or self.loader is not None

    def source(self, folder: str) -> dict[str, Any]:
        """Where own data come from, with paths relative to ``folder``; empty for other data."""
        if self.loader is not None:
            return {"loader": self.loader}
        if not self.files:
            return {}
        given = {name: getattr(self, name) for name in TABLE_OPTIONS if getattr(self, name)}
        return {"files": [_resolve_path(text, folder) for text in self.files], **given}

    @property
    def title(self) -> str:
        """The label, or the name if there is none."""
        return self.label or self.name


class MethodEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """A method with settings and optionally a tuning grid, for all data sets or some.

    ``recipe`` is its name, or ``module:Class`` for your own.
    """

    recipe: str
    label: str = ""
    settings: dict[str, Any] = {}
    grid: dict[str, list] = {}
    datasets: list[str] | None = None
    diagnostics: tuple[str, ...] = ()  # stored with the results, such as scores after each round

    @property
    def title(self) -> str:
        """The label, or the name of the recipe if there is none."""
        return self.label or self.recipe

    def applies_to(self, dataset: str) -> bool:
        """Whether the method is run on this data set."""
        return self.datasets is None or dataset in self.datasets


class ExtraCondition(Condition, frozen=True, forbid_unknown_fields=True):
    """A condition in addition to the combinations, for all splits or the first ``splits``."""

    splits: int | None = None

    def __post_init__(self) -> None:
        if self.splits is not None:
            check_bounds("splits", self.splits, 1, MAX_FOLDS)

    @property
    def condition(self) -> Condition:
        """The condition alone."""
        return Condition(*(getattr(self, name) for name in Condition.__struct_fields__))


class Protocol(Struct, frozen=True, forbid_unknown_fields=True):
    """How rows are split and altered; every combination of listed values is run.

    ``more`` holds conditions in addition to these combinations.
    """

    split: Split
    targets: Literal["classes", "one-vs-rest"] = "classes"
    train_size: int | list[int] | None = None
    label_noise: float | list[float] = 0.0
    missing: float | list[float] = 0.0
    junk_views: int | list[int] = 0
    feature_noise: float | list[float] = 0.0
    more: list[ExtraCondition] = []
    tuning_folds: int = 5
    tuning_metric: str = ""  # that grids are searched by; empty: accuracy without sample weights

    def conditions(self) -> list[Condition]:
        """Return all combinations of the alterations, followed by the extra conditions."""
        alterations: tuple[Any, ...] = (
            self.train_size,
            self.label_noise,
            self.missing,
            self.junk_views,
            self.feature_noise,
        )
        values = [v if isinstance(v, list) else [v] for v in alterations]
        combinations = [Condition(*combination) for combination in product(*values)]
        return [*combinations, *(extra.condition for extra in self.more)]

    def conditions_for_split(self, index: int) -> list[Condition]:
        """Return the conditions that split number ``index`` is run under."""
        skipped = {e.condition for e in self.more if e.splits is not None and index >= e.splits}
        return [condition for condition in self.conditions() if condition not in skipped]


class PaperResults(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The paper's results on one data set: method -> metric -> value or [mean, deviation]."""

    dataset: str
    at: Condition | None = None  # None: the suite's only condition, else the unaltered data
    results: dict[str, dict[str, float | list[float]]]


class Suite(Struct, frozen=True, forbid_unknown_fields=True):
    """A whole suite.

    Examples
    --------
    >>> from consilience.benchmark import load_suite
    >>> suite = load_suite("overview")
    >>> suite.metrics[0]
    'accuracy'
    """

    title: str
    protocol: Protocol
    datasets: list[DatasetEntry]
    methods: list[MethodEntry]
    description: str = ""
    reference: str = ""
    seed: int = 0
    metrics: tuple[str, ...] = ("accuracy",)
    scores: bool = True  # False: only metrics of labels are computed, which saves a prediction
    test: Literal["rank-sum", "signed-rank", "paired-t"] = "signed-rank"
    significance: float = 0.05
    paper: list[PaperResults] = []
    claims: list[Claim] = []
    curves: list[Curve] = []
    differences: list[str] = []  # from the paper's experiment, and why
    name: str = ""
    folder: str = ""  # that of its file
    sha256: str = ""  # of its file

    def condition_for(self, entry: PaperResults) -> Condition:
        """Return the condition that the paper's results refer to."""
        return self.main_condition if entry.at is None else entry.at

    @property
    def main_condition(self) -> Condition:
        """The only condition of the suite; if there are several, that of unaltered data."""
        conditions = self.protocol.conditions()
        return conditions[0] if len(conditions) == 1 else Condition()

    def paper_result(
        self, dataset: str, condition: Condition, method: str, metric: str
    ) -> tuple[float, float | None] | None:
        """Return the paper's mean and, if given, deviation; None if it reports nothing."""
        for entry in self.paper:
            if entry.dataset == dataset and self.condition_for(entry) == condition:
                value = entry.results.get(method, {}).get(metric)
                if value is not None:
                    pair = value if isinstance(value, list) else [value]
                    return pair[0], pair[1] if len(pair) > 1 else None
        return None


def suite_names() -> list[str]:
    """Names of the bundled suites.

    Examples
    --------
    >>> from consilience.benchmark import suite_names
    >>> "overview" in suite_names()
    True
    """
    return sorted(path.name.removesuffix(".toml") for path in SUITES.iterdir())


def load_suite(name: str | Path) -> Suite:
    """Load a bundled suite by name, or your own by the path of its file (``….toml``).

    Examples
    --------
    >>> from consilience.benchmark import load_suite
    >>> load_suite("omics").title
    'Omics: wide tables, few samples'
    """
    if str(name).endswith(".toml"):
        path = Path(name)
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise ValueError(f"there is no file {path}") from None
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"{path} cannot be read: {error}") from None
        stem, folder = path.stem, str(path.absolute().parent)
    else:
        if name not in suite_names():
            raise ValueError(
                f"unknown suite {str(name)!r}; known are {', '.join(suite_names())}, "
                "or give the path of a .toml file"
            )
        text, stem = (SUITES / f"{name}.toml").read_text(encoding="utf-8"), str(name)
        folder = ""
    return parse_suite(text, stem, folder)


def parse_suite(text: str, name: str, folder: str = "") -> Suite:
    """Parse and check a suite; an error names the suite and the key."""
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"suite {name!r}: {_explain_syntax_error(text, str(error))}") from None
    try:
        given = {**raw, "name": name, "folder": folder, "sha256": file_digest(text)}
        suite = msgspec.convert(given, type=Suite)
        _check(suite)
    except (msgspec.ValidationError, ValueError) as error:
        raise ValueError(f"suite {name!r}: {error}") from None
    return suite


def file_digest(text: str) -> str:
    """SHA-256 of the file of a suite."""
    return hashlib.sha256(text.encode()).hexdigest()


def _explain_syntax_error(text: str, message: str) -> str:
    """Return the parser's message; for a repeated key, one that names the key."""
    match = re.search(r"Cannot overwrite a value \(at (?:line (\d+)|end of document)", message)
    if not match:
        return message
    lines = text.splitlines()
    last_line = int(match[1]) if match[1] else len(lines)
    matches = [re.match(r"\s*([\w.\"'-]+)\s*=", line) for line in lines[:last_line]]
    keys = [key_match[1] if key_match else None for key_match in matches]
    for number in range(last_line - 1, -1, -1):
        key = keys[number]
        if key is not None and key in keys[:number]:
            return f"the key {key!r} is given twice (line {number + 1})"
    return message


def _check_numbers(suite: Suite) -> None:
    """Check that all numbers are within their bounds."""
    check_bounds("seed", suite.seed, 0, MAX_SEED)
    check_bounds("significance", suite.significance, 0, 1)
    check_bounds("tuning_folds", suite.protocol.tuning_folds, 2, MAX_FOLDS)
    for entry in suite.datasets:
        if entry.sample is not None:
            check_bounds(f"sample of {entry.title!r}", entry.sample, 1, MAX_ROWS)
    for condition in suite.protocol.conditions():
        if condition.train_size is not None:
            check_bounds("train_size", condition.train_size, 1, MAX_ROWS)
        check_bounds("label_noise", condition.label_noise, 0, 1)
        check_bounds("missing", condition.missing, 0, 1)
        check_bounds("junk_views", condition.junk_views, 0, MAX_JUNK_VIEWS)
        check_bounds("feature_noise", condition.feature_noise, 0, MAX_FEATURE_NOISE)


def _check(suite: Suite) -> None:
    """Check that names, parameters and metrics exist and that labels are unique."""
    _check_numbers(suite)
    datasets = Counter(entry.title for entry in suite.datasets)
    cells = Counter(
        (method.title, title)
        for method in suite.methods
        for title in dict.fromkeys(datasets if method.datasets is None else method.datasets)
    )
    if not datasets or not suite.methods:
        raise ValueError(f"it has no {'method' if datasets else 'data set'}")
    for title, count in datasets.items():
        if count > 1:
            raise ValueError(f"the data set {title!r} is given twice; use different labels")
    for (method_title, title), count in cells.items():
        if count > 1:
            raise ValueError(
                f"the method {method_title!r} is given twice for data set {title!r}; use different "
                "labels"
            )
    for condition, count in Counter(suite.protocol.conditions()).items():
        if count > 1:
            raise ValueError(f"the condition '{condition}' is given twice")
    for entry in suite.datasets:
        official = isinstance(entry.split or suite.protocol.split, Official)
        if official and (entry.complete or entry.sample is not None):
            raise ValueError(
                f"{entry.title!r}: an official split needs all rows, without complete or sample"
            )
    check_known_names("metric", suite.metrics, METRICS)
    if suite.protocol.tuning_metric:
        find_metric(suite.protocol.tuning_metric, "tuning_metric")
    scored = [name for name in suite.metrics if name in METRICS and needs_scores(name)]
    if scored and not suite.scores:
        raise ValueError(f"the metric {scored[0]!r} needs scores, but scores is false")
    for entry in suite.datasets:
        _check_source(entry)
    titles = [entry.title for entry in suite.datasets]
    for method in suite.methods:
        if ":" not in method.recipe:  # module:Class is imported below
            check_known_names("method", [method.recipe], METHODS)
        check_known_names(f"data set of {method.title!r}", method.datasets or [], titles)
        check_known_names(f"diagnostic of {method.title!r}", method.diagnostics, SUITE_DIAGNOSTICS)
        estimator = METHODS[method.recipe].make_estimator(0)
        for key in [*method.settings, *method.grid]:
            parameter_name(estimator, key)
    _check_claims(suite)
    for paper in suite.paper:
        for metrics in paper.results.values():
            check_known_names("metric", metrics, METRICS)


def _check_claims(suite: Suite) -> None:
    """Check that claims and curves refer to methods, data sets and metrics of the suite."""
    methods = [method.title for method in suite.methods]
    titles = [entry.title for entry in suite.datasets]
    conditions = suite.protocol.conditions()
    for claim in suite.claims:
        named = [claim.method] if claim.method else []
        named += [*(claim.others or []), *(claim.order or [])]
        check_known_names("method of a claim", named, methods)
        check_known_names("data set of a claim", claim.datasets or [], titles)
        check_known_names("metric of a claim", [claim.metric], METRICS)
        for condition in claim.at or []:
            if condition not in conditions:
                raise ValueError(f"no fit has the condition '{condition}' of {claim.text!r}")
    for curve in suite.curves:
        check_known_names("method of a curve", curve.methods or [], methods)
        check_known_names("metric of a curve", [curve.metric], METRICS)
        points = Counter(curve.condition_values(conditions))
        repeated = [x for x, count in points.items() if count > 1]
        if repeated:
            raise ValueError(
                f"the curve {curve.title!r} has several points at {curve.x} = {repeated[0]:g}: "
                "what is fixed must have the same value everywhere"
            )


def _check_source(entry: DatasetEntry) -> None:
    """Check that a data set is known, or has files or a loader and what these need."""
    table_options = [name for name in TABLE_OPTIONS if getattr(entry, name)]
    if not entry.is_own:
        check_known_names("data set", [entry.name], dataset_names())
    elif entry.name in dataset_names():
        raise ValueError(f"{entry.name!r} is a registered data set; give your own another name")
    elif entry.files and entry.loader is not None:
        raise ValueError(f"{entry.title!r} has both files and a loader; give one of them")
    elif entry.files and entry.target is None:
        raise ValueError(f"{entry.title!r} needs target, the column of its files with the labels")
    elif entry.loader is not None and not re.fullmatch(r"[\w.]+:\w+", entry.loader):
        raise ValueError(
            f"{entry.title!r}: loader must be like module:function, got {entry.loader!r}"
        )
    if table_options and not entry.files:
        raise ValueError(f"{entry.title!r} has {table_options[0]!r}, which needs files")
    if entry.files and (entry.parameters or entry.seeded):
        raise ValueError(f"{entry.title!r}: parameters and seeded are for loaders, not for files")


def check_known_names(kind: str, names: Iterable[str], known: Iterable[str]) -> None:
    """Raise a ValueError that lists the known names if any of ``names`` is not among them."""
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"unknown {kind} {unknown[0]!r}; known are {', '.join(known)}")
