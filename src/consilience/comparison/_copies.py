"""Samples that are copies of others, which folds must not separate."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import scipy.sparse as sp

from consilience._copies import (
    MAX_CHANCE_SHARE,
    MAX_ROWS,
    MIN_COPIES_SHARE,
    MIN_ROWS,
    chance_of_equal_rows,
    describe_near_copies,
    distinct_rows,
    find_near_copies,
    row_keys,
)
from consilience.views import MultiViewData
from consilience.views import _storage as storage
from consilience.views._encode import TableCodes, encode_tables, fit_table_codes

__all__ = ["copy_notes", "count_copies"]

MIN_SHARE_OF_COPIES = 0.01  # fewer have little influence on scores
ADVICE = "folds that separate them give too optimistic scores; "
SUBJECTS = "pass groups (--groups COLUMN) if they are measurements of the same subject"


def copy_notes(data: MultiViewData) -> list[str]:
    """Name samples that are exact or near copies of others; groups keep those together."""
    if data.groups is not None:
        return []
    notes = []
    data = _feature_views(data)
    copies, originals = _exact_copies(data)
    if len(copies):
        pairs = zip(data.sample_ids[copies[:3]], data.sample_ids[originals[:3]], strict=True)
        examples = ", ".join(f"{a} and {b}" for a, b in pairs)
        notes.append(
            f"{len(copies)} samples are exact copies of another one (such as {examples}); {ADVICE}"
            f"drop them, or {SUBJECTS}"
        )
    of_columns = [name for name, view in data.items() if not storage.is_documents(view)]
    near = describe_near_copies(data.select(of_columns)) if of_columns else None
    if near is not None:
        notes.append(f"{near}; {ADVICE}{SUBJECTS}")
    return notes


def count_copies(new: MultiViewData, known: MultiViewData) -> int:
    """Number of new samples that are copies, exact or nearly, of a known one in their views."""
    names = [
        name
        for name, view in new.items()
        if new.kinds[name] == "features" and not storage.is_documents(view)
    ]
    if not names:
        return 0
    codes = fit_table_codes(known.select(names))
    known, new = (_feature_views(part.select(names), codes) for part in (known, new))
    is_copy = np.zeros(len(new), dtype=bool)
    equal = np.isin(row_keys(new), row_keys(known)) & new.present.any(axis=1)
    complete = np.flatnonzero(known.present.all(axis=1))
    if equal.any() and len(complete) > 1:
        chance = chance_of_equal_rows(known, complete) * len(new) * len(known)
        is_copy = equal & (chance <= MAX_CHANCE_SHARE * equal.sum())
    is_near = _near_copies(new, known)
    if is_near.sum() >= MIN_COPIES_SHARE * len(new):
        is_copy |= is_near
    return int(is_copy.sum())


def _near_copies(new: MultiViewData, known: MultiViewData) -> np.ndarray:
    """Mask of the new samples that are nearly copies of a known one in some view."""
    is_near = np.zeros(len(new), dtype=bool)
    for v, name in enumerate(new.view_names):
        first, second = (np.flatnonzero(part.present[:, v]) for part in (known, new))
        n = len(first) + len(second)
        if sp.issparse(new[name]) or sp.issparse(known[name]) or not MIN_ROWS <= n <= MAX_ROWS:
            continue
        X = np.vstack([np.asarray(known[name])[first], np.asarray(new[name])[second]])
        copies, neighbours = find_near_copies(X)
        copies = copies[(copies >= len(first)) & (neighbours < len(first))]
        is_near[second[copies - len(first)]] = True
    return is_near


def _feature_views(
    data: MultiViewData, codes: Mapping[str, TableCodes] | None = None
) -> MultiViewData:
    """The views of columns, as numbers; kernels, distances and documents stay as they are."""
    data = encode_tables(data, fit_table_codes(data) if codes is None else codes)
    return data._replace(
        {
            name: storage.to_numeric(view, name)
            if data.kinds[name] == "features" and not storage.is_documents(view)
            else view
            for name, view in data._views.items()
        }
    )


def _exact_copies(data: MultiViewData) -> tuple[np.ndarray, np.ndarray]:
    """Samples equal to an earlier one in all views, and that one; none if they are few.

    Samples that lack a view are left out: they may be equal in the few columns that they have.
    """
    none = np.empty(0, dtype=np.intp)
    views = [view for _, view in data.items()]
    if any(kind != "features" for kind in data.kinds.values()) or any(
        storage.is_documents(view) for view in views
    ):
        return none, none
    complete = np.flatnonzero(data.present.all(axis=1))
    part = data if len(complete) == len(data) else data[complete]
    first, which = distinct_rows(part)
    copies = np.setdiff1d(np.arange(len(part)), first)
    if len(copies) < max(2, MIN_SHARE_OF_COPIES * len(data)):
        return none, none
    return complete[copies], complete[first[which[copies]]]
