"""Validated training rows, with labels encoded and weights multiplied by class weights.

The steps ``validate_rows``, ``label_totals`` and ``encode_rows`` are the same for data in memory
and for each block of data in blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from consilience._core.exact import as_float, exact_sums
from consilience._targets import class_factors
from consilience.views import MultiViewData
from consilience.views._storage import format_list

__all__ = [
    "UNLABELLED",
    "LabelledRows",
    "TrainingClasses",
    "TrainingRows",
    "check_magnitudes",
    "encode_rows",
    "find_classes",
    "label_totals",
    "naming_large_values",
    "unique_classes",
    "validate_rows",
    "weigh_classes",
]

MAX_MAGNITUDE = 1e100  # of the values of a view, where sums of squares are taken
UNLABELLED = -1  # code of rows without a label, in semi-supervised methods


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Validated views with the user's labels; ``has_label`` is None if every row has one."""

    data: MultiViewData
    y: np.ndarray
    weight: np.ndarray
    has_label: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Validated views, class codes (``UNLABELLED`` for rows without a label) and weights."""

    data: MultiViewData
    codes: np.ndarray
    weight: np.ndarray

    def take(self, rows: Any) -> TrainingRows:
        """Return a subset of the rows."""
        return TrainingRows(self.data[rows], self.codes[rows], self.weight[rows])


@dataclass(frozen=True, eq=False)
class TrainingClasses:
    """The classes, their class-weight factors, and the total weight of each after applying them."""

    classes: np.ndarray
    factors: np.ndarray
    totals: np.ndarray

    @property
    def prior(self) -> np.ndarray:
        """Share of each class in the summed weights."""
        return self.totals / self.totals.sum()


def check_magnitudes(data: MultiViewData) -> None:
    """Raise an error that names the view and row of values whose squares could overflow."""
    for name, is_present in zip(data.view_names, data.present.T, strict=True):
        X = data[name]
        values = X.data if sp.issparse(X) else X
        if values.size == 0 or _largest(values) <= MAX_MAGNITUDE:
            continue
        size = abs(X).max(axis=1)
        size = size.toarray().ravel() if sp.issparse(size) else size
        is_large = (size.astype(np.float64) > MAX_MAGNITUDE) & np.isfinite(size)
        for row in np.flatnonzero(is_present & is_large)[:1]:
            raise ValueError(
                f"view {name!r} has values too large, up to {size[row]:.1e} in row {row}; scale "
                "them, e.g. by ViewTransformer(MaxAbsScaler())"
            )


def _largest(values: np.ndarray) -> float:
    """Largest absolute value; Python numbers compare without overflow, whatever the dtype."""
    return max(float(np.nanmax(values)), -float(np.nanmin(values)))


@contextmanager
def naming_large_values(data: MultiViewData) -> Iterator[None]:
    """Replace a ValueError of the body by that of ``check_magnitudes``, if it has one."""
    try:
        yield
    except ValueError:
        check_magnitudes(data)
        raise


def validate_rows(rows: LabelledRows, drop_zero_weights: bool) -> LabelledRows:
    """Check that every row has a view, and optionally drop rows with weight 0."""
    empty = np.flatnonzero(~rows.data.present.any(axis=1))
    if len(empty):
        raise ValueError(
            f"{len(empty)} training rows have no view at all (Input contains NaN everywhere): "
            f"rows {format_list(empty)}; drop them before fit"
        )
    if not drop_zero_weights or rows.weight.all():
        return rows
    index = np.flatnonzero(rows.weight)
    has_label = None if rows.has_label is None else rows.has_label[index]
    return LabelledRows(rows.data[index], rows.y[index], rows.weight[index], has_label)


def label_totals(rows: LabelledRows) -> tuple[np.ndarray, list[int]]:
    """Unique labels of the rows with positive weight, and the total weight of each (exact sums)."""
    mask = rows.weight > 0
    if rows.has_label is not None:
        mask &= rows.has_label
    labels, codes = np.unique(rows.y[mask], return_inverse=True)
    return labels, exact_sums(rows.weight[mask], codes, len(labels))


def find_classes(
    parts: Sequence[tuple[np.ndarray, list[int]]], class_weight: Any, method: str
) -> TrainingClasses:
    """Classes of all parts of the data, at least two, and their class weights.

    ``parts`` are results of ``label_totals``, one for each block (one for data in memory).
    """
    types = {_label_type(labels) for labels, _ in parts if len(labels)}
    if len(types) > 1:
        raise TypeError(
            f"{method}: labels are {' in some blocks and '.join(sorted(types))} in others; "
            "use one type"
        )
    classes = unique_classes(parts)
    if len(classes) < 2:
        seen = f"1 class: {format_list(classes)}" if len(classes) else "no labels"
        raise ValueError(
            f"{method} requires samples of at least 2 classes, but the data have {seen}"
        )
    return weigh_classes(classes, parts, class_weight)


def unique_classes(parts: Sequence[tuple[np.ndarray, list[int]]]) -> np.ndarray:
    """Labels of all parts; those without labels do not affect the dtype."""
    labels = [labels for labels, _ in parts if len(labels)] or [labels for labels, _ in parts]
    return np.unique(np.concatenate(labels))


def weigh_classes(
    classes: np.ndarray, parts: Sequence[tuple[np.ndarray, list[int]]], class_weight: Any
) -> TrainingClasses:
    """The classes with their class weights; the same for any partition of the rows."""
    sums = [0] * len(classes)
    for labels, weights in parts:
        for k, weight in zip(np.searchsorted(classes, labels), weights, strict=True):
            sums[k] += weight
    totals = np.array([as_float(total) for total in sums])
    factors = class_factors(class_weight, classes, totals)
    return TrainingClasses(classes, factors, factors * totals)


def _label_type(labels: np.ndarray) -> str:
    return "numbers" if labels.dtype.kind in "biuf" else "strings"


def encode_rows(rows: LabelledRows, classes: TrainingClasses) -> TrainingRows:
    """Encode the labels and multiply the weights by those of the classes."""
    has_label = slice(None) if rows.has_label is None else rows.has_label
    codes = np.full(len(rows.y), UNLABELLED)
    # labels that only occur with weight 0 are not classes: any code will do for these rows
    last = len(classes.classes) - 1
    codes[has_label] = np.searchsorted(classes.classes, rows.y[has_label]).clip(max=last)
    weight = rows.weight.copy()
    weight[has_label] *= classes.factors[codes[has_label]]
    return TrainingRows(rows.data, codes, weight)
