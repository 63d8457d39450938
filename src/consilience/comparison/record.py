"""``run.toml``: what was compared and how, enough to repeat the run and rewrite its report."""

from __future__ import annotations

import hashlib
import json
from importlib.metadata import version
from pathlib import Path

import msgspec
from msgspec import Struct

from consilience._atomic_write import write_atomically
from consilience.benchmark.bounds import (
    MAX_FOLDS,
    MAX_REPEATS,
    MAX_ROWS,
    MAX_SEED,
    check_bounds,
    check_n_tasks,
)
from consilience.benchmark.metrics import find_metric
from consilience.benchmark.protocol import Folds, Given
from consilience.methods import METHODS

__all__ = [
    "ColumnGroup",
    "ConflictingSample",
    "CostCurve",
    "DataSummary",
    "ExternalScores",
    "InputFile",
    "LabelSuspect",
    "MixUp",
    "Options",
    "OwnMethod",
    "PatternReliability",
    "Run",
    "SampleMap",
    "TrustSummary",
    "ViewPattern",
    "ViewSummary",
    "read_run",
]

RUN_FILE_NAME = "run.toml"
FEATURE_ROLES = {"number": "numbers", "category": "categories", "date": "dates"}  # and plurals
MAX_NAMED_COLUMNS = 10
MAX_COORDINATE = 1e9


class ViewSummary(Struct, forbid_unknown_fields=True):
    """Summary of a view for the report."""

    name: str
    columns: int
    content: str  # such as "numbers and text"
    text_columns: int = 0
    missing_rows: int = 0
    missing_cells: float = 0.0
    kind: str = "features"


class ViewPattern(Struct, forbid_unknown_fields=True):
    """Number of samples that have exactly these views."""

    views: list[str]
    samples: int


class ColumnGroup(Struct, forbid_unknown_fields=True):
    """Columns of a view (or a file without features) that have the same role."""

    view: str
    role: str  # number, category, date, key, target, groups or left out
    columns: list[str]
    reason: str = ""  # why they are left out


class DataSummary(Struct, forbid_unknown_fields=True):
    """Summary of the data for the report."""

    name: str
    samples: int
    data_hash: str
    classes: list[str]
    counts: list[int]
    views: list[ViewSummary]
    patterns: list[ViewPattern]
    notes: list[str] = []
    groups: int = 0
    columns: list[ColumnGroup] = []
    sample_ids: list[str] = []  # keys of the samples, if there are not too many

    def describe_columns(self) -> dict[str, str]:
        """One line for each view, such as "12 numbers; left out, date: visit"."""
        lines: dict[str, list[str]] = {view.name: [] for view in self.views}
        for view in self.views:
            roles = {group.role for group in self.columns if group.view == view.name}
            if "text" in roles:
                lines[view.name].append(f"{view.columns} words of a text")
            elif not roles & set(FEATURE_ROLES):
                lines[view.name].append(f"{view.columns} columns, {view.content}")
        for group in (group for group in self.columns if group.role != "text"):
            lines.setdefault(group.view, []).append(_describe_group(group))
        return {name: "; ".join(parts) for name, parts in lines.items()}

    @property
    def is_imbalanced(self) -> bool:
        """Whether the rarest class has less than 20 % of the samples.

        With more than three classes, less than 60 % of what it would have in balanced classes.
        """
        return min(self.counts) / sum(self.counts) < min(0.2, 0.6 / len(self.counts))

    @property
    def has_pairwise_views(self) -> bool:
        """Whether some views are kernel or distance matrices."""
        return any(view.kind != "features" for view in self.views)


def _describe_group(group: ColumnGroup) -> str:
    count = len(group.columns)
    if group.role in FEATURE_ROLES:
        return f"{count} {FEATURE_ROLES[group.role] if count > 1 else group.role}"
    more = f" and {count - MAX_NAMED_COLUMNS} more" if count > MAX_NAMED_COLUMNS else ""
    reason = f", {group.reason}" if group.reason else ""
    return f"{group.role}{reason}: {', '.join(group.columns[:MAX_NAMED_COLUMNS])}{more}"


class SampleMap(Struct, forbid_unknown_fields=True):
    """Coordinates of samples, by the first two components of the default's kernel."""

    rows: list[int]
    classes: list[int]  # numbers of the classes
    x: list[float]
    y: list[float]


class ExternalScores(Struct, forbid_unknown_fields=True):
    """Scores of the model on files that the comparison did not see."""

    files: list[str]
    samples: int
    metrics: dict[str, float]


class MixUp(Struct, forbid_unknown_fields=True):
    """A sample one of whose views probably belongs to another one."""

    row: int
    q_value: float
    view: str = ""  # empty if there are two, as it cannot be told which is wrong
    partner: int = -1  # row whose view fits best in its place


class LabelSuspect(Struct, forbid_unknown_fields=True):
    """A sample whose label is probably wrong."""

    row: int
    label: int  # numbers of the classes
    predicted: int
    probability: float  # of all classes but the label


class PatternReliability(Struct, forbid_unknown_fields=True):
    """How confident and how often right the model is for left-out samples with these views."""

    views: list[str]
    samples: int
    confidence: float
    accuracy: float


class ConflictingSample(Struct, forbid_unknown_fields=True):
    """A left-out sample whose views contradict each other."""

    row: int
    view: str  # in the strongest conflict with the others
    conflict: float
    p_value: float
    by_view: dict[str, float] = {}  # conflict of each view that the sample has


class CostCurve(Struct, forbid_unknown_fields=True):
    """Accuracy against the cost of views: chosen for each sample, and in a fixed order."""

    costs: dict[str, float]
    cost: list[float]
    accuracy: list[float]
    area: float
    fixed_order: list[str]
    fixed_cost: list[float]
    fixed_accuracy: list[float]
    fixed_area: float
    needs_all_views: bool
    samples: int


class TrustSummary(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Samples to look at, and how far predictions of left-out samples can be trusted."""

    mix_ups: list[MixUp] = []
    mix_up_areas: dict[str, float] = {}  # by view, of right against wrong pairs
    label_suspects: list[LabelSuspect] = []
    n_label_suspects: int = 0  # of which the first are listed
    reference_rows: int = 0  # left-out samples that the rest is based on
    reliability: list[PatternReliability] = []
    conflicts: list[ConflictingSample] = []
    cost_curve: CostCurve | None = None


class FeatureRow(Struct, forbid_unknown_fields=True):
    """One of the most important features of a view for the best method."""

    view: str
    feature: str
    importance: float
    std: float
    frequency: float
    q_value: float
    higher_in: str
    partner: str = ""


class FeatureSummary(Struct, forbid_unknown_fields=True):
    """The most important features, and how many are selected at a false discovery rate."""

    n_features: int
    n_selected: int
    fdr: float
    rows: list[FeatureRow]


class InputFile(Struct, forbid_unknown_fields=True):
    """A file that was read."""

    path: str
    sha256: str


class Options(Struct, forbid_unknown_fields=True):
    """Settings of the comparison."""

    methods: list[str]
    cv: int  # number of splits in each repeat
    repeats: int
    metric: str
    seed: int
    tune: bool
    splitter: str = ""  # where the splits come from, unless they are stratified folds
    given_test_share: float = 0.0  # of the rows, for splits that are no folds
    positive: str = ""  # name of the positive class; by default, the second of two
    allow_partial: bool = False  # whether the best method may be chosen before all splits are run

    @property
    def split(self) -> Folds | Given:
        """The protocol of the engine."""
        return Given(self.cv) if self.splitter else Folds(self.cv, self.repeats)

    @property
    def test_share(self) -> float:
        """Share of the rows in a test set."""
        return self.given_test_share or 1 / self.cv

    @property
    def split_description(self) -> str:
        """The protocol in words."""
        if self.splitter:
            return f"{self.cv} splits of {self.splitter}"
        return f"{self.repeats} × {self.cv}-fold cross-validation"


class OwnMethod(Struct, forbid_unknown_fields=True):
    """A method of the user, which is not among the registered ones."""

    summary: str
    spec: str  # of its estimator, in JSON; part of the identity of its tasks


class Run(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """One comparison."""

    version: str
    command: list[str]
    options: Options
    data: DataSummary
    inputs: list[InputFile] = []
    target: str = ""
    on: str = ""
    single_file: bool = False  # whether --views divided the columns of one file
    own_methods: dict[str, OwnMethod] = {}
    not_applicable: dict[str, str] = {}  # requested methods that cannot be used, with the reason
    left_out: dict[str, str] = {}  # methods that were too slow for the time budget, with the reason
    best: str = ""  # method of the model in the same folder
    refit_error: str = ""  # of the best method on all samples
    warnings: list[str] = []
    notes: list[str] = []
    sample_map: SampleMap | None = None
    external: ExternalScores | None = None
    trust: TrustSummary | None = None
    features: FeatureSummary | None = None
    fingerprint: str = ""  # of what determines the results, also in the model and the report

    @property
    def positive(self) -> str:
        """Name of the positive class; empty if there are not two classes."""
        classes = self.data.classes
        return (self.options.positive or classes[-1]) if len(classes) == 2 else ""

    @property
    def metric_title(self) -> str:
        """The metric in words, with its positive class if it has one."""
        name = self.options.metric.replace("_", " ")
        of_class = find_metric(self.options.metric).of_positive_class and self.positive
        return f"{name} ({self.positive})" if of_class else name

    def compute_fingerprint(self) -> str:
        """Digest of everything that determines the results."""
        content = [
            self.version,
            msgspec.to_builtins(msgspec.structs.replace(self.options, allow_partial=False)),
            [self.data.name, self.data.data_hash, self.data.classes],
            [self.target, self.on],
            {name: own.spec for name, own in self.own_methods.items()},
        ]
        encoded = msgspec.json.encode(content, order="sorted")
        return hashlib.sha256(encoded).hexdigest()[:16]

    def methods_by_reason(self) -> dict[str, list[str]]:
        """Group the methods that are not applicable by the reason."""
        methods: dict[str, list[str]] = {}
        for method, reason in self.not_applicable.items():
            methods.setdefault(reason, []).append(method)
        return methods

    def write(self, folder: Path, *, replace: bool = True) -> None:
        """Write ``run.toml`` completely or not at all."""
        text = f"# written by consilience compare\n{msgspec.toml.encode(self).decode()}"
        write_atomically(folder / RUN_FILE_NAME, text, replace=replace)


def read_run(folder: Path) -> Run:
    """Read ``run.toml`` from the folder of a comparison."""
    path = folder / RUN_FILE_NAME
    try:
        if path.exists() and not path.is_file():  # reading a pipe would never end
            raise ValueError(f"{path} is not a regular file")
        run = msgspec.toml.decode(path.read_bytes(), type=Run)
    except FileNotFoundError:
        raise ValueError(f"{folder} contains no comparison: it has no {path.name}") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is damaged: {error}") from None
    try:
        _check_options(run)
        _check_summary(run.data)
        _check_map(run)
        _check_trust(run)
        _check_fingerprint(run)
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}") from None
    return run


def _check_options(run: Run) -> None:
    """Check the settings, which may have been edited, as those of a new comparison are."""
    options = run.options
    check_bounds("options.cv", options.cv, 1 if options.splitter else 2, MAX_FOLDS)
    check_bounds("options.repeats", options.repeats, 1, MAX_REPEATS)
    check_bounds("options.seed", options.seed, 0, MAX_SEED)
    check_bounds("options.given_test_share", options.given_test_share, 0, 1)
    check_n_tasks(options.cv * options.repeats * len(options.methods))
    find_metric(options.metric, "options.metric")
    if not options.methods:
        raise ValueError("options.methods is empty")
    for name in options.methods:  # module:Class is imported where it is needed
        if name not in METHODS and name not in run.own_methods and ":" not in name:
            raise ValueError(f"options.methods has the unknown method {name!r}")
    if run.best and run.best not in options.methods:
        raise ValueError(f"best is {run.best!r}, which is none of options.methods")
    for name, method in run.own_methods.items():
        try:
            json.loads(method.spec)
        except ValueError:
            raise ValueError(f"own_methods.{name}.spec is not JSON") from None


def _check_fingerprint(run: Run) -> None:
    """Check that no setting was edited; other versions may have other settings."""
    is_same_version = run.version == version("consilience")
    if run.fingerprint and is_same_version and run.compute_fingerprint() != run.fingerprint:
        raise ValueError(f"its settings do not have the fingerprint {run.fingerprint}")


def _check_summary(data: DataSummary) -> None:
    """Check the numbers of the summary, from which tables and sizes of samples are computed."""
    if len(data.counts) != len(data.classes) or len(data.classes) < 2:
        raise ValueError("data.counts must have one number for each of at least two classes")
    for count in data.counts:
        check_bounds("data.counts", count, 1, MAX_ROWS)
    if data.samples != sum(data.counts):
        raise ValueError(f"data.samples must be the sum of data.counts, got {data.samples}")
    if not data.views:
        raise ValueError("data.views is empty")
    check_bounds("data.groups", data.groups, 0, data.samples)
    for view in data.views:
        check_bounds(f"columns of view {view.name!r}", view.columns, 0, MAX_ROWS)
        check_bounds(f"text_columns of view {view.name!r}", view.text_columns, 0, view.columns)
        check_bounds(f"missing_rows of view {view.name!r}", view.missing_rows, 0, data.samples)
        check_bounds(f"missing_cells of view {view.name!r}", view.missing_cells, 0, 1)
    for pattern in data.patterns:
        check_bounds("data.patterns", pattern.samples, 1, data.samples)
    if data.sample_ids and len(data.sample_ids) != data.samples:
        raise ValueError("data.sample_ids must have one name for each sample")


def _check_map(run: Run) -> None:
    """Check that a map has coordinates and a known class for each of its samples."""
    content = run.sample_map
    if content is None:
        return
    lengths = {len(content.rows), len(content.classes), len(content.x), len(content.y)}
    if len(lengths) > 1:
        raise ValueError("sample_map must have as many rows as classes, x and y")
    for row, label in zip(content.rows, content.classes, strict=True):
        check_bounds("sample_map.rows", row, 0, run.data.samples - 1)
        check_bounds("sample_map.classes", label, 0, len(run.data.classes) - 1)
    for value in (*content.x, *content.y):
        check_bounds("sample_map", value, -MAX_COORDINATE, MAX_COORDINATE)


def _check_trust(run: Run) -> None:
    """Check the numbers of samples and classes, and the lengths of curves."""
    content, last = run.trust, run.data.samples - 1
    if content is None:
        return
    rows = [mix_up.row for mix_up in content.mix_ups]
    rows += [suspect.row for suspect in content.label_suspects]
    rows += [sample.row for sample in content.conflicts]
    for row in rows:
        check_bounds("trust: row", row, 0, last)
    for mix_up in content.mix_ups:
        check_bounds("trust.mix_ups: partner", mix_up.partner, -1, last)
    for suspect in content.label_suspects:
        for label in (suspect.label, suspect.predicted):
            check_bounds("trust.label_suspects", label, 0, len(run.data.classes) - 1)
    curve = content.cost_curve
    if curve is not None:
        for cost, accuracy in (
            (curve.cost, curve.accuracy),
            (curve.fixed_cost, curve.fixed_accuracy),
        ):
            if len(cost) != len(accuracy) or len(cost) < 2:
                raise ValueError("trust.cost_curve must have an accuracy for each cost")
            for value in (*cost, *accuracy):
                check_bounds("trust.cost_curve", value, 0, MAX_COORDINATE)
