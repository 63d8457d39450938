"""Columns of predictions on request: sets of classes, conflicts between views, advice.

They compare new samples with the left-out ones that a calibrated comparison keeps in its model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from consilience.tables import TableModel
from consilience.trust._conformal_steps import least_rows
from consilience.trust._left_out import class_probabilities
from consilience.trust._next_view import read_costs
from consilience.trust._opinions import (
    MIN_VIEWS_DISTRUST,
    conflict,
    n_to_suspect,
    opinions_of,
    strongest_conflict,
    suspected_view,
    without_each_view,
)
from consilience.trust._reference import ReferenceTable
from consilience.views import MultiViewData

__all__ = ["TrustColumns", "trust_columns"]

NO_CLASS = "(none)"  # an empty cell would be read as a missing one
SEPARATORS = "|;/~^"  # between the classes of a set: the first that no class has in its name


@dataclass(frozen=True)
class TrustColumns:
    """Which columns to add; ``sets`` is the probability with which a set may miss the class.

    Costs of views are by default those of the comparison, or equal.
    """

    sets: float | None = None
    conflict: bool = False
    advice: bool = False
    costs: Mapping[str, float] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing is asked for."""
        return self.sets is None and not self.conflict and not self.advice


def trust_columns(
    model: TableModel, data: MultiViewData, wanted: TrustColumns, notes: list[str]
) -> dict[str, list[str]]:
    """Cells of the columns, by their titles; what to know about them is added to the notes."""
    if wanted.is_empty:
        return {}
    if wanted.sets is not None and not 0 < wanted.sets < 1:
        raise ValueError(f"--sets must be a number between 0 and 1, got {wanted.sets}")
    names = list(model.views)
    prices = read_costs(model.costs if wanted.costs is None else wanted.costs, names)
    table = getattr(model, "reference", None)
    if table is None:
        raise ValueError(
            "the model has no left-out samples to compare with; run the comparison again with "
            "--calibrate"
        )
    present = np.zeros((len(data), len(names)), dtype=bool)
    positions = [names.index(name) for name in data.view_names]
    present[:, positions] = data.present
    p = class_probabilities(model.estimator, data, model.classes_)
    columns: dict[str, list[str]] = {}
    if wanted.sets is not None:
        columns["set"] = _sets(model, table, p, present, wanted.sets)
        notes += _notes_on_full_sets(table, present, wanted.sets)
    if wanted.conflict:
        columns |= _conflicts(model, table, data, positions)
        notes += _notes_on_conflicts(table, present)
    if wanted.advice:
        columns |= _advice(table, p, present, names, prices)
    return columns


def _sets(
    model: TableModel, table: ReferenceTable, p: np.ndarray, present: np.ndarray, alpha: float
) -> list[str]:
    names = [str(label) for label in model.classes_]
    in_set = table.class_p_values(p, present) > alpha
    separator = _find_separator(names)
    sets = [separator.join(n for n, has in zip(names, row, strict=True) if has) for row in in_set]
    return [cell or NO_CLASS for cell in sets]


def _notes_on_full_sets(table: ReferenceTable, present: np.ndarray, alpha: float) -> list[str]:
    """Say how many sets have all classes, because too few samples can be compared with."""
    least = math.ceil(least_rows(alpha))
    n_full = int((table.n_comparable(present) < least).sum())
    if n_full == 0:
        return []
    return [
        f"{n_full} sets have all classes: --sets {alpha:.6g} takes {least} left-out samples with "
        "the same views, and the comparison has fewer"
    ]


def _notes_on_conflicts(table: ReferenceTable, present: np.ndarray) -> list[str]:
    """Say for how many samples no view can be named, because too few can be compared with."""
    n_views = present.sum(axis=1)
    needed = np.array([n_to_suspect(int(count)) for count in n_views])
    is_few = (n_views >= MIN_VIEWS_DISTRUST) & (table.n_comparable(present) < needed)
    if not is_few.any():
        return []
    return [
        f"no conflicting view is named for {is_few.sum()} samples: that takes "
        f"{needed[is_few].min()} or more left-out samples with the same views, and the comparison "
        "has fewer"
    ]


def _find_separator(names: Sequence[str]) -> str:
    """A character that tells the set of "a" and "b" from the class "a|b"."""
    free = [mark for mark in SEPARATORS if not any(mark in name for name in names)]
    if not free:
        raise ValueError(
            f"--sets needs a character to separate classes, but their names have all of "
            f"{' '.join(SEPARATORS)}"
        )
    return free[0]


def _conflicts(
    model: TableModel, table: ReferenceTable, data: MultiViewData, positions: list[int]
) -> dict[str, list[str]]:
    """The strongest conflict of a view with the others, its p-value, and the view if it is clear.

    Empty without a conflict to compare.
    """
    alone = opinions_of(model.estimator, data, model.classes_)
    others = without_each_view(model.estimator, data, model.classes_)
    values = np.full((len(data), table.present.shape[1]), np.nan)
    values[:, positions] = conflict(alone, others, table.prior)
    values[:, positions] = np.where(np.isnan(others).any(axis=2), np.nan, values[:, positions])
    p_values = table.conflict_p_values(values)
    strongest, p = strongest_conflict(p_values)
    suspected, names = suspected_view(p_values), list(model.views)
    return {
        "conflicting view": [names[v] if v >= 0 else "" for v in suspected],
        "conflict": [
            f"{row[v]:.4g}" if v >= 0 else "" for v, row in zip(strongest, values, strict=True)
        ],
        "p(conflict)": [f"{q:.4g}" if v >= 0 else "" for v, q in zip(strongest, p, strict=True)],
    }


def _advice(
    table: ReferenceTable, p: np.ndarray, present: np.ndarray, names: list[str], prices: np.ndarray
) -> dict[str, list[str]]:
    """The missing view with the largest expected gain in accuracy per cost; empty if none helps."""
    gains = table.gains(p, present)
    best = (gains / prices).argmax(axis=1)
    highest = gains[np.arange(len(gains)), best]
    return {
        "next view": [names[v] if g > 0 else "" for v, g in zip(best, highest, strict=True)],
        "expected gain": [f"{g:.4g}" if g > 0 else "" for g in highest],
    }
