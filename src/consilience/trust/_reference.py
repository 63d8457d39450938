"""ReferenceTable: what a classifier predicts from subsets of the views of rows it has not seen.

Prediction sets, p-values of conflicts and the worth of missing views all compare a new sample with
rows of known class that were left out. The table keeps the probabilities of such rows from many
subsets of their views, and none of their values, so that it can be saved with a model.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from consilience._copies import distinct_rows
from consilience._default._rows import group_by_pattern
from consilience._folds import Split
from consilience._model_types import model_type
from consilience.trust._conformal_steps import lac_scores, p_values
from consilience.trust._left_out import class_probabilities, comparable_rows, with_presence
from consilience.trust._left_out_splits import leave_share_out
from consilience.trust._next_view import ReferenceRows, accuracy
from consilience.trust._opinions import conflict, conflict_p_values
from consilience.views import MultiViewData

__all__ = ["ReferenceTable", "fit_reference_table", "patterns_to_predict", "split_left_out"]

MAX_VIEWS_ALL_PATTERNS = 5
LEFT_OUT_SHARE = 0.3


@model_type("trust.ReferenceTable")
@dataclass(eq=False)
class ReferenceTable:
    """Classes, present views and probabilities of left-out rows.

    ``probabilities`` (S x m x K) belong to the S subsets of views in ``patterns`` (S x V); they
    are 0 for rows that lack one of the views.
    """

    codes: np.ndarray
    present: np.ndarray
    prior: np.ndarray
    patterns: np.ndarray
    probabilities: np.ndarray

    def __len__(self) -> int:
        return len(self.codes)

    def find(self, pattern: np.ndarray) -> int | None:
        """Number of a pattern, or None if it was not predicted."""
        numbers = np.flatnonzero((self.patterns == pattern).all(axis=1))
        return int(numbers[0]) if len(numbers) else None

    def select(self, rows: np.ndarray) -> ReferenceTable:
        """Some of the rows."""
        return ReferenceTable(
            self.codes[rows],
            self.present[rows],
            self.prior,
            self.patterns,
            self.probabilities[:, rows],
        )

    def predict(self, present: np.ndarray) -> np.ndarray:
        """Probabilities (m x K) from the views present (m x V); the prior if there is no view."""
        out = np.tile(self.prior, (len(self), 1))
        for pattern, own in group_by_pattern(present):
            number = self.find(pattern)
            if pattern.any():
                assert number is not None
                out[own] = self.probabilities[number, own]
        return out

    def own_probabilities(self) -> np.ndarray:
        """Probabilities (m x K) from all views that each row has."""
        return self.predict(self.present)

    def class_p_values(self, probabilities: np.ndarray, present: np.ndarray) -> np.ndarray:
        """P-values (n x K) of the classes of new rows, compared with rows of the same pattern.

        If there are few, rows with more views take part as if they lacked these.
        """
        out = np.ones(probabilities.shape)  # rows without any view: every class
        for pattern, own in group_by_pattern(present):
            if not pattern.any():
                continue
            rows, known = self._calibration_rows(pattern)
            scores = lac_scores(known)[np.arange(len(rows)), self.codes[rows]]
            weight, fold = np.ones(len(rows)), np.zeros(len(rows), dtype=np.intp)
            out[own] = p_values(lac_scores(probabilities[own])[None], scores, weight, fold)
        return out

    def n_comparable(self, present: np.ndarray) -> np.ndarray:
        """Number of rows (n) that each new row is compared with."""
        out = np.zeros(len(present), dtype=np.intp)
        for pattern, own in group_by_pattern(present):
            out[own] = len(self._calibration_rows(pattern)[0])
        return out

    def _calibration_rows(self, pattern: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        number = self.find(pattern)
        if number is None:  # no row has just these views
            return np.empty(0, dtype=np.intp), np.empty((0, len(self.prior)))
        rows = comparable_rows(self.present, pattern)
        return rows, self.probabilities[number, rows]

    def conflicts(self) -> np.ndarray:
        """Conflict (m x V) of each view with all others; NaN without the view or another one."""
        out = np.full(self.present.shape, np.nan)
        for pattern, own in group_by_pattern(self.present):
            out[own] = self._conflicts(own, pattern)
        return out

    def _conflicts(self, rows: np.ndarray, pattern: np.ndarray) -> np.ndarray:
        """Conflicts (len(rows) x V) of rows of which only the views of a pattern count."""
        out = np.full((len(rows), len(pattern)), np.nan)
        for v in np.flatnonzero(pattern):
            is_view = np.arange(len(pattern)) == v
            alone, others = self.find(is_view), self.find(pattern & ~is_view)
            if alone is not None and others is not None:
                p, q = self.probabilities[alone, rows], self.probabilities[others, rows]
                out[:, v] = conflict(p, q, self.prior)
        return out

    def conflict_p_values(self, conflicts: np.ndarray) -> np.ndarray:
        """Share of the rows with at least these conflicts (n x V), from the same views."""

        def known(pattern: np.ndarray) -> np.ndarray:
            return self._conflicts(comparable_rows(self.present, pattern), pattern)

        return conflict_p_values(conflicts, known)

    def reliability(self) -> list[tuple[np.ndarray, int, float, float]]:
        """Each pattern of the rows, their number, mean confidence and accuracy."""
        p = self.own_probabilities()
        is_right, confidence = p.argmax(axis=1) == self.codes, p.max(axis=1)
        return [
            (pattern, len(own), float(confidence[own].mean()), float(is_right[own].mean()))
            for pattern, own in group_by_pattern(self.present)
        ]

    def gains(self, probabilities: np.ndarray, present: np.ndarray) -> np.ndarray:
        """Expected gains in accuracy (n x V) of missing views; −inf for others and unknown ones."""
        rows, out = self.rows(), np.full(present.shape, -np.inf)
        for pattern, own in group_by_pattern(present):
            for v in np.flatnonzero(~pattern):
                gain = rows.gain(probabilities[own], pattern, int(v), accuracy)
                out[own, v] = np.where(np.isnan(gain), -np.inf, gain)
        return out

    def rows(self) -> ReferenceRows:
        """The same rows, for the worth of missing views; unknown patterns have no row."""

        def predict(rows: np.ndarray, pattern: np.ndarray) -> np.ndarray:
            number = self.find(pattern)
            if number is None:
                return np.full((len(rows), len(self.prior)), np.nan)
            return self.probabilities[number, rows]

        return ReferenceRows(self.present, self.codes, self.prior, predict)


def patterns_to_predict(present: np.ndarray) -> np.ndarray:
    """Subsets of views: all if views are few, else those of rows, less or more one view."""
    n_views = present.shape[1]
    if n_views <= MAX_VIEWS_ALL_PATTERNS:
        return np.array([p for p in product([False, True], repeat=n_views) if any(p)])
    unit = np.eye(n_views, dtype=bool)
    own = np.unique(np.vstack([present, np.ones((1, n_views), dtype=bool)]), axis=0)
    less = [pattern & ~unit[v] for pattern in own for v in np.flatnonzero(pattern)]
    more = [pattern | unit[v] for pattern in own for v in np.flatnonzero(~pattern)]
    patterns = np.unique(np.vstack([own, unit, *less, *more]), axis=0)
    return patterns[patterns.any(axis=1)]


def split_left_out(
    data: MultiViewData, codes: np.ndarray, classes: np.ndarray, random_state: int
) -> Split:
    """Training rows, and the rows to leave out that have a view, without their copies."""
    train, test = leave_share_out(LEFT_OUT_SHARE, data, codes, classes, random_state)
    test = test[data.present[test].any(axis=1)]
    if data.groups is None:  # copies would count several times
        test = test[distinct_rows(data[test])[0]]
    return train, test


def fit_reference_table(
    estimator: Any, data: MultiViewData, codes: np.ndarray, classes: np.ndarray, prior: np.ndarray
) -> ReferenceTable:
    """Predict rows that a fitted classifier has not seen from subsets of their views."""
    present = np.array(data.present)
    patterns = patterns_to_predict(present)
    probabilities = np.zeros((len(patterns), len(data), len(classes)))
    for number, pattern in enumerate(patterns):
        rows = np.flatnonzero(present[:, pattern].all(axis=1))
        if len(rows):
            part = with_presence(data[rows], np.tile(pattern, (len(rows), 1)))
            probabilities[number, rows] = class_probabilities(estimator, part, classes)
    return ReferenceTable(codes, present, prior, patterns, probabilities)
