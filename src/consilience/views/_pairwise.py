"""Kernel and distance views: matrices whose columns stand for samples.

A slice of rows needs no matching slice of columns. Each column carries the id of its sample, and
whoever fits picks the columns of its own rows, which makes cross-validation of precomputed kernels
an ordinary cut by rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import get_tags

from consilience._model_types import model_type
from consilience.views import _storage as storage

__all__ = [
    "KINDS",
    "PAIRWISE",
    "PairwiseView",
    "Reference",
    "check_ids",
    "check_pairwise",
    "fingerprint",
    "id_array",
    "number_ids",
    "pairwise_view",
]

PAIRWISE = ("kernel", "distance")
KINDS = ("features", *PAIRWISE)
EXAMPLES = {
    "kernel": "SVC(kernel='precomputed')",
    "distance": "KNeighborsClassifier(metric='precomputed')",
}


@model_type("views.Reference")
@dataclass(frozen=True, eq=False)
class Reference:
    """The samples a fitted pairwise view was compared with: the columns to pick at prediction."""

    ids: np.ndarray
    origin: str | None


@dataclass(frozen=True, eq=False)
class PairwiseView:
    """Rows of a kernel or distance matrix, cut lazily: a slice stores row numbers only."""

    matrix: np.ndarray
    rows: np.ndarray | None
    column_ids: np.ndarray

    def take(self, rows: storage.Rows) -> PairwiseView:
        known = np.arange(len(self.matrix)) if self.rows is None else self.rows
        return PairwiseView(self.matrix, known[rows], self.column_ids)

    def values(self, columns: np.ndarray | None = None) -> np.ndarray:
        if columns is None:
            return self.matrix if self.rows is None else self.matrix[self.rows]
        if self.rows is None:
            return self.matrix[:, columns]
        return self.matrix[np.ix_(self.rows, columns)]

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.matrix if self.rows is None else self.rows), self.matrix.shape[1]

    def __reduce__(self) -> tuple:
        # a pickled slice carries its own rows only
        return PairwiseView, (np.ascontiguousarray(self.values()), None, self.column_ids)

    def columns_of(self, ids: np.ndarray, name: str) -> np.ndarray:
        """Column numbers of the samples ``ids``."""
        where = {key: j for j, key in enumerate(self.column_ids.tolist())}
        columns = np.array([where.get(key, -1) for key in ids.tolist()], dtype=np.intp)
        if (columns < 0).any():
            lost = ids[columns < 0]
            raise ValueError(
                f"view {name!r} has no column for {len(lost)} of the {len(ids)} samples seen "
                f"in fit: {storage.format_list(lost)}"
            )
        return columns


def check_ids(parameter: str, ids: Any, n: int) -> np.ndarray:
    """One id for each of n, row numbers by default; read-only."""
    if ids is not None and (isinstance(ids, str) or not isinstance(ids, Iterable)):
        raise TypeError(f"{parameter} must be an array of {n} entries, got {ids!r}")
    array = np.arange(n) if ids is None else id_array(ids)
    if array.ndim != 1 or len(array) != n:
        raise ValueError(f"{parameter} must have {n} entries, got shape {array.shape}")
    if array.dtype.kind not in "biuU":  # these have no empty entries
        check_keys(parameter, array.tolist())
    array.flags.writeable = False
    return array


def check_keys(parameter: str, keys: list[Any]) -> None:
    """Raise an error for entries that tell no samples apart."""
    if any(type(key).__hash__ is None for key in keys):
        raise TypeError(f"{parameter} must have numbers or texts as entries, got {keys[0]!r}")
    empty = [row for row, key in enumerate(keys) if key is None or storage.is_nan(key)]
    if empty:
        rows = f"row {empty[0]}" if len(empty) == 1 else f"rows {storage.format_list(empty)}"
        raise ValueError(
            f"{parameter} is None or NaN in {rows}; fill it in, or leave out such rows"
        )


def id_array(ids: Any) -> np.ndarray:
    """Ids as they are: NumPy would make one type of mixed ones, and numbers of dates."""
    array = np.array(ids) if isinstance(ids, np.ndarray) else None
    if array is None:
        items = list(ids)
        same = len({type(key) for key in items}) == 1 and isinstance(items[0], (int, str))
        array = np.array(items) if same else np.empty(len(items), dtype=object)
        if not same:
            array[:] = items
    if array.dtype.kind == "M":
        array = array.astype("datetime64[us]").astype(object)
    return array


def number_ids(ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Position of the first occurrence of each id, and for every entry the number of its id."""
    keys = ids.tolist()  # np.unique cannot sort ids of several types
    first: dict[Any, int] = {}
    for position, key in enumerate(keys):
        first.setdefault(key, position)
    number = dict(zip(first, range(len(first)), strict=True))
    return (
        np.fromiter(first.values(), np.intp, len(first)),
        np.fromiter((number[key] for key in keys), np.intp, len(keys)),
    )


def pairwise_view(
    name: str, matrix: Any, sample_ids: np.ndarray, column_ids: Mapping[str, Any]
) -> PairwiseView:
    if storage.is_tensor(matrix):
        raise ValueError(
            f"view {name!r}: a kernel or distance view must be two-dimensional, got shape "
            f"{matrix.shape}"
        )
    values = storage.to_numeric(matrix, name)
    if sp.issparse(values):
        raise TypeError(f"view {name!r}: a kernel or distance view must be dense")
    n, m = values.shape
    if name in column_ids:
        ids = check_ids(f"column_ids[{name!r}]", column_ids[name], m)
    elif n == m:
        ids = _square_ids(name, matrix, sample_ids)
    else:
        raise ValueError(
            f"view {name!r} is a kernel or distance of shape {(n, m)}, which is not square; "
            "give column_ids to say which sample each column stands for"
        )
    if len(set(ids.tolist())) != m:
        raise ValueError(f"view {name!r}: the ids of its columns are not unique")
    return PairwiseView(values, None, ids)


def _square_ids(name: str, matrix: Any, sample_ids: np.ndarray) -> np.ndarray:
    """Ids of the columns of a square matrix: the labels of a dataframe, else those of the rows."""
    labels = storage.column_names(matrix)
    ids = sample_ids.tolist()
    if labels is None or labels == list(range(len(ids))):
        return sample_ids
    index = _row_labels(matrix)
    names_of_rows = [ids] if index is None else [index, ids]
    names_of_rows += [[str(label) for label in names] for names in names_of_rows]  # as in files
    for names in names_of_rows:
        id_of_label = dict(zip(names, ids, strict=True))
        if id_of_label.keys() == set(labels):
            return check_ids("column_ids", [id_of_label[label] for label in labels], len(ids))
    unknown = [] if index is None else [label for label in labels if label not in set(index)]
    if unknown:
        raise ValueError(
            f"view {name!r} is a kernel or distance whose columns have other labels than its rows, "
            f"such as {storage.format_list(unknown[:1])}; give column_ids to say which sample "
            "each column stands for"
        )
    return sample_ids


def _row_labels(frame: Any) -> list | None:
    """Labels of the rows of a dataframe; None without an index, or if it numbers positions."""
    index: Any = getattr(frame, "index", None)
    labels = index.tolist() if hasattr(index, "get_indexer") else None
    return None if labels is None or labels == list(range(len(labels))) else labels


def fingerprint(views: Mapping[str, Any]) -> str | None:
    """Tell kernels apart when samples have no ids: shape, diagonal and first row of each."""
    digest = hashlib.blake2b(digest_size=12)
    matrices = [view.matrix for view in views.values() if isinstance(view, PairwiseView)]
    for matrix in matrices:
        digest.update(repr(matrix.shape).encode())
        digest.update(np.ascontiguousarray(matrix.diagonal()).tobytes())
        digest.update(np.ascontiguousarray(matrix[:1]).tobytes())
    return digest.hexdigest() if matrices else None


def check_pairwise(estimator: Any, kind: str, name: str, *, takes: bool | None = None) -> None:
    """Kernel views go to estimators of precomputed kernels, distance views to those of distances.

    ``takes`` says that the estimator takes precomputed matrices where its tags do not.
    """
    pairwise = get_tags(estimator).input_tags.pairwise if takes is None else takes
    method = type(estimator).__name__
    if kind in PAIRWISE and not pairwise:
        raise ValueError(
            f"view {name!r} is a {kind} view, which {method} would read as features; use an "
            f"estimator of precomputed matrices, e.g. {EXAMPLES[kind]}"
        )
    if kind == "features" and pairwise:
        raise ValueError(
            f"view {name!r} holds features, but {method} takes a precomputed matrix; say "
            f"kinds={{{name!r}: 'kernel'}} if it is one"
        )
    wanted = _precomputed_kind(estimator)
    if kind in PAIRWISE and wanted is not None and wanted != kind:
        raise ValueError(
            f"view {name!r} is a {kind} view, but {method} takes a precomputed {wanted}; use e.g. "
            f"{EXAMPLES[kind]}"
        )


def _precomputed_kind(estimator: Any) -> str | None:
    for key, value in estimator.get_params(deep=True).items():
        if isinstance(value, str) and value == "precomputed":
            return "distance" if key.endswith("metric") else "kernel"
    return None
