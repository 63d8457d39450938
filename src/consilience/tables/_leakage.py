"""Hints at leakage: columns that contain the target, name groups, or occur in two views."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.tree import DecisionTreeClassifier

from consilience.views import MultiViewData
from consilience.views import _storage as storage

__all__ = ["is_grave", "leakage_notes", "names_groups"]

MAX_COLUMNS = 5000  # columns inspected in each view
MAX_ROWS = 5000
MAX_CROSS_VALIDATED = 20  # most suspicious columns
MAX_BINS = 32
MAX_NAMED_COLUMNS = 5
N_FOLDS = 3
MIN_ROWS = 30  # fewer rows are told apart by chance
MIN_SCORE = 0.99  # balanced accuracy of a column that tells the classes apart
MIN_GROUPS = 10  # repeated values of a column that may name groups
MIN_PURE_SHARE = 0.95  # of these values, with rows of one class only
MIN_PURE_EXCESS = 5  # such values above what chance would give

COPY = "is a copy of the target: each value means one class"
GROUPS = (
    "has one class for each of its values; if it identifies patients or the like, use it as "
    "groups, not as a feature"
)


@dataclass(frozen=True, eq=False)
class _Column:
    view: str
    name: str
    values: np.ndarray  # floats, NaN where missing; categories are numbered

    @property
    def is_known(self) -> np.ndarray:
        return ~np.isnan(self.values)

    @property
    def varies(self) -> bool:
        known = self.values[self.is_known]
        return bool(len(known) and (known != known[0]).any())

    def __str__(self) -> str:
        return f"{self.name!r} of view {self.view!r}"


def leakage_notes(
    data: MultiViewData, y: np.ndarray, names: Mapping[str, Sequence[str] | None] | None = None
) -> list[str]:
    """Name columns that contain the target or name groups, columns in two views, constant views.

    Parameters
    ----------
    data : MultiViewData
        The samples.
    y : ndarray of shape (n_samples,)
        Their labels.
    names : dict of view -> list of str, optional
        Names of the columns of views that are arrays; by default they are numbered.

    Returns
    -------
    list of str
    """
    if len(data) > MAX_ROWS:
        rows = np.sort(np.random.default_rng(0).permutation(len(data))[:MAX_ROWS])
        data, y = data[rows], y[rows]
    labels = np.unique(y, return_inverse=True)[1]
    columns = [column for column in _columns(data, names or {}) if column.varies]
    copies = [column for column in columns if _is_copy(column, labels)]
    telling = _telling_columns([c for c in columns if c not in copies], labels)
    named = [*copies, *telling]
    groups = [] if data.groups is not None else _group_columns(columns, labels, named)
    varying = {column.view for column in columns}
    constant = [n for n in data.view_names if _is_inspected(data, n) and n not in varying]
    return [
        *_name_columns(copies, COPY),
        *_name_columns(telling, "alone tells the classes apart; is it known before the label?"),
        *_name_columns(groups, GROUPS),
        *_name_duplicates(columns),
        *(f"view {name!r} is constant and contains no information" for name in constant),
    ]


def is_grave(note: str) -> bool:
    """Whether scores are false for certain if the note is right."""
    return note.endswith((COPY, GROUPS))


def _name_columns(columns: list[_Column], text: str) -> list[str]:
    rest = len(columns) - MAX_NAMED_COLUMNS
    notes = [f"{column} {text}" for column in columns[:MAX_NAMED_COLUMNS]]
    return notes + ([f"and so do {rest} more columns"] if rest > 0 else [])


def _name_duplicates(columns: list[_Column]) -> list[str]:
    """Name columns that occur in several views."""
    first: dict[bytes, _Column] = {}
    pairs = []
    for column in columns:
        same = first.setdefault(hashlib.sha256(column.values.tobytes()).digest(), column)
        if same.view != column.view:
            pairs.append(f"{same} and {column}")
    if not pairs:
        return []
    rest = len(pairs) - MAX_NAMED_COLUMNS
    more = f"; and {rest} more" if rest > 0 else ""
    return [f"equal columns in two views: {'; '.join(pairs[:MAX_NAMED_COLUMNS])}{more}"]


def _telling_columns(columns: list[_Column], labels: np.ndarray) -> list[_Column]:
    """Columns that tell the classes apart, from the most suspicious ones."""
    scores = [_binned_score(column.values, labels) for column in columns]
    order = np.argsort(scores, kind="stable")[::-1][:MAX_CROSS_VALIDATED]
    return [columns[i] for i in order if scores[i] >= MIN_SCORE and _tells(columns[i], labels)]


def _group_columns(
    columns: list[_Column], labels: np.ndarray, named: list[_Column]
) -> list[_Column]:
    """Columns whose values repeat within one class only, as ids of patients do."""
    return [column for column in columns if column not in named and _names_groups(column, labels)]


def names_groups(cells: Sequence[str | None], y: np.ndarray) -> bool:
    """Whether the cells of a column repeat within one class only, as ids of patients do."""
    labels = np.unique(y, return_inverse=True)[1]
    return _names_groups(_Column("", "", _number_cells(cells)), labels)


def _names_groups(column: _Column, labels: np.ndarray) -> bool:
    known = column.is_known
    values, y = column.values[known], labels[known]
    if (values != np.floor(values)).any():
        return False
    codes, sizes = np.unique(values, return_inverse=True, return_counts=True)[1:]
    repeated = sizes > 1
    if repeated.sum() < MIN_GROUPS:
        return False
    n_classes = labels.max() + 1
    table = np.bincount(codes * n_classes + y, minlength=len(sizes) * n_classes)
    is_pure = table.reshape(-1, n_classes).max(axis=1) == sizes
    shares = np.bincount(y) / len(y)
    n_pure, by_chance = is_pure[repeated].sum(), (shares[:, None] ** sizes[repeated]).sum()
    return bool(n_pure >= MIN_PURE_SHARE * repeated.sum() and n_pure - by_chance >= MIN_PURE_EXCESS)


def _is_inspected(data: MultiViewData, name: str) -> bool:
    view = data[name]
    is_table = storage.is_dataframe(view) or sp.issparse(view) or getattr(view, "ndim", 0) == 2
    return data.kinds[name] == "features" and is_table


def _columns(data: MultiViewData, names: Mapping[str, Sequence[str] | None]) -> Iterator[_Column]:
    """Columns as numbers, without the rows in which the view is missing; categories as codes."""
    for v, name in enumerate(data.view_names):
        if not _is_inspected(data, name):
            continue
        view, absent = data[name], ~data.present[:, v]
        view = sp.csc_array(view) if sp.issparse(view) else view
        for j in range(min(storage.n_columns(view), MAX_COLUMNS)):
            title, codes = _column(view, j)
            given = names.get(name)
            title = title if given is None else given[j]
            codes = np.where(absent, np.nan, codes)
            yield _Column(name, title, codes + 0.0)  # -0.0 equals 0.0


def _column(view: Any, j: int) -> tuple[str, np.ndarray]:
    if sp.issparse(view):
        return str(j), view[:, [j]].toarray().ravel().astype(np.float64)
    if not storage.is_dataframe(view):
        return str(j), np.asarray(view[:, j], dtype=np.float64)
    column = nw.from_native(view, eager_only=True)[:, j]
    numbers = storage.column_to_numeric(column, column.dtype)
    if numbers is not None:
        return str(column.name), np.asarray(numbers, dtype=np.float64)
    cells = zip(column.to_list(), column.is_null().to_list(), strict=True)
    return str(column.name), _number_cells([None if empty else cell for cell, empty in cells])


def _number_cells(cells: Sequence[Any]) -> np.ndarray:
    """Numbers of the different cells as floats, NaN where they are empty."""
    code_of = {cell: k for k, cell in enumerate(dict.fromkeys(cells)) if cell is not None}
    return np.array([code_of.get(cell, np.nan) for cell in cells], dtype=np.float64)


def _is_copy(column: _Column, labels: np.ndarray) -> bool:
    """Whether each value belongs to one class and each class to one value."""
    known = column.is_known
    values = column.values[known]
    n_classes = labels.max() + 1
    distinct = np.unique(values)
    if len(distinct) != n_classes:
        return False
    codes = np.searchsorted(distinct, values)
    n_pairs = len(np.unique(codes * n_classes + labels[known]))
    return bool(n_pairs == n_classes == len(np.unique(labels[known])))


def _binned_score(values: np.ndarray, labels: np.ndarray) -> float:
    """Balanced accuracy of the majority class in bins of the values, an upper estimate."""
    known = np.flatnonzero(~np.isnan(values))
    if len(known) < max(MIN_ROWS, len(values) / 2):
        return 0.0
    values, labels = values[known], labels[known]
    counts = np.bincount(labels)
    n_classes = len(counts)
    n_bins = min(MAX_BINS, len(known) // 10)
    ranks = np.arange(1, n_bins) * len(known) // n_bins
    bins = np.searchsorted(np.sort(values)[ranks], values, side="right")
    table = np.bincount(bins * n_classes + labels, minlength=n_bins * n_classes)
    shares = table.reshape(n_bins, n_classes) / np.maximum(counts, 1)
    recalls = shares.max(axis=1).sum() / n_classes
    # at the boundary between two classes, the smaller part of a bin is counted as an error
    smallest = counts[counts > 0].min()
    return float(recalls + (n_classes - 1) * len(known) / n_bins / 2 / smallest / n_classes)


def _tells(column: _Column, labels: np.ndarray) -> bool:
    """Whether a small tree on the column alone predicts the classes out of fold."""
    known = column.is_known
    y = labels[known]
    counts = np.bincount(y, minlength=labels.max() + 1)
    if counts.min() < N_FOLDS:
        return False
    tree = DecisionTreeClassifier(max_leaf_nodes=2 * len(counts), random_state=0)
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    y_pred = cross_val_predict(tree, column.values[known, None], y, cv=folds)
    return bool(balanced_accuracy_score(y, y_pred) >= MIN_SCORE)
