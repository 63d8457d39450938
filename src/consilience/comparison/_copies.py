"""Samples that are copies of others, which folds must not separate."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from consilience._copies import describe_near_copies, row_keys
from consilience.views import MultiViewData
from consilience.views import _storage as storage
from consilience.views._encode import encode_tables, fit_table_codes

__all__ = ["copy_notes"]

MIN_SHARE_OF_COPIES = 0.01  # fewer have little influence on scores
# samples of a few discrete columns are equal by chance: a column must have different values in so
# many of all samples, or of those that are different
MIN_SHARE_OF_ALL, MIN_SHARE_OF_DIFFERENT, MAX_COLUMNS = 0.3, 0.9, 64
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


def _feature_views(data: MultiViewData) -> MultiViewData:
    """The views of columns, as numbers; kernels, distances and documents stay as they are."""
    data = encode_tables(data, fit_table_codes(data))
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
    _, first, which = np.unique(row_keys(part), return_index=True, return_inverse=True)
    copies = np.setdiff1d(np.arange(len(part)), first)
    is_rare = len(copies) < max(2, MIN_SHARE_OF_COPIES * len(data))
    limit = min(MIN_SHARE_OF_ALL * len(part), MIN_SHARE_OF_DIFFERENT * len(first))
    if is_rare or not any(_n_values(view) >= max(2, limit) for _, view in part.items()):
        return none, none
    return complete[copies], complete[first[which.ravel()[copies]]]


def _n_values(view: Any) -> int:
    """Number of different values of the column, of some of a view, that has most of them."""
    d = view.shape[1]
    columns = np.unique(np.linspace(0, d - 1, min(d, MAX_COLUMNS)).astype(np.intp))
    part = view[:, columns]
    part = part.toarray() if sp.issparse(part) else np.asarray(part)
    return max((len(np.unique(column)) for column in part.T), default=0)
