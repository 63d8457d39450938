"""``run.toml``: what was compared and how, enough to repeat the run and rewrite its report."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec
from msgspec import Struct

from consilience._atomic_write import write_atomically
from consilience.benchmark.metrics import find_metric
from consilience.benchmark.protocol import Folds, Given

__all__ = [
    "ColumnGroup",
    "DataSummary",
    "InputFile",
    "Options",
    "OwnMethod",
    "Run",
    "ViewPattern",
    "ViewSummary",
    "read_run",
]

RUN_FILE_NAME = "run.toml"
FEATURE_ROLES = {"number": "numbers", "category": "categories", "date": "dates"}  # and plurals
MAX_NAMED_COLUMNS = 10


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

    def describe_columns(self) -> dict[str, str]:
        """One line for each view, such as "12 numbers; left out, date: visit"."""
        lines: dict[str, list[str]] = {view.name: [] for view in self.views}
        for view in self.views:
            if not any(g.view == view.name and g.role in FEATURE_ROLES for g in self.columns):
                lines[view.name].append(f"{view.columns} columns, {view.content}")
        for group in self.columns:
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
    best: str = ""  # method of the model in the same folder
    refit_error: str = ""  # of the best method on all samples
    warnings: list[str] = []
    notes: list[str] = []
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

    def write(self, folder: Path) -> None:
        """Write ``run.toml`` completely or not at all."""
        text = msgspec.toml.encode(self).decode()
        write_atomically(folder / RUN_FILE_NAME, f"# written by consilience compare\n{text}")


def read_run(folder: Path) -> Run:
    """Read ``run.toml`` from the folder of a comparison."""
    path = folder / RUN_FILE_NAME
    try:
        return msgspec.toml.decode(path.read_bytes(), type=Run)
    except FileNotFoundError:
        raise ValueError(f"{folder} contains no comparison: it has no {path.name}") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is damaged: {error}") from None
