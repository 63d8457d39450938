"""``run.toml``: what was compared and how, enough to repeat the run and rewrite its report."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec
from msgspec import Struct, field

from consilience._atomic_write import write_atomically
from consilience.benchmark.metrics import find_metric
from consilience.benchmark.protocol import Folds, Given
from consilience.comparison._record_checks import check_run
from consilience.comparison._row_weights import RowWeights

__all__ = [
    "DERIVED_OPTIONS",
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
# options that follow from the splits given, which are part of the data's hash
DERIVED_OPTIONS = ("given_train_rows", "given_test_rows")


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
    class_weights: list[float] = []  # sum of the sample weights of each class, if there are any
    tested: RowWeights = field(default_factory=RowWeights)  # empty: all samples, of equal weight

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
    def tested_rows(self) -> RowWeights:
        """Rows that are tested in at least one split."""
        counts = [float(count) for count in self.counts]
        return (
            self.tested
            if self.tested.rows
            else RowWeights(self.samples, self.groups, counts, counts)
        )

    @property
    def class_shares(self) -> list[float]:
        """Share of each class in the samples, which count by their weights."""
        totals = self.class_weights or self.counts
        return [total / sum(totals) for total in totals]

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
    # of splits that are no folds: mean share of test rows, and mean numbers of rows
    given_test_share: float = 0.0
    given_train_rows: float = 0.0
    given_test_rows: float = 0.0
    positive: str = ""  # name of the positive class; by default, the second of two
    allow_partial: bool = False  # whether the best method may be chosen before all splits are run

    @property
    def split(self) -> Folds | Given:
        """The protocol of the engine."""
        return Given(self.cv) if self.splitter else Folds(self.cv, self.repeats)

    @property
    def test_share(self) -> float:
        """Share of the test rows in the rows of a split."""
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
    def tuning_metric(self) -> str:
        """Metric that grids are searched by; empty for plain accuracy, the engine's default."""
        is_plain = self.options.metric == "accuracy" and not self.data.class_weights
        return "" if is_plain or not self.options.tune else self.options.metric

    @property
    def keeps_groups(self) -> bool:
        """Whether groups are never split; unknown of splits that older versions were given."""
        is_checked = not self.options.splitter or bool(self.options.given_train_rows)
        return bool(self.data.groups) and is_checked

    @property
    def train_rows(self) -> float:
        """Mean number of training rows of a split."""
        by_share = self.data.samples * (1 - self.options.test_share)
        return self.options.given_train_rows or by_share

    @property
    def test_rows(self) -> float:
        """Mean number of test rows of a split."""
        return self.options.given_test_rows or self.data.samples * self.options.test_share

    @property
    def metric_title(self) -> str:
        """The metric in words, with its positive class if it has one."""
        name = self.options.metric.replace("_", " ")
        of_class = find_metric(self.options.metric).of_positive_class and self.positive
        return f"{name} ({self.positive})" if of_class else name

    def compute_fingerprint(self) -> str:
        """Digest of everything that determines the results."""
        options = msgspec.to_builtins(msgspec.structs.replace(self.options, allow_partial=False))
        for name in DERIVED_OPTIONS:
            del options[name]
        content = [
            self.version,
            options,
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
        check_run(run)
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}") from None
    return run
