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

MIN_COPIES_SHARE = 0.01  # fewer copies have little influence on scores
# samples of a few discrete columns are equal by chance: one column must tell samples apart
MIN_DISTINCT, MIN_DISTINCT_SHARE = 20, 0.1
ADVICE = "folds that separate them give too optimistic scores; "
SUBJECTS = "pass groups (--groups COLUMN) if they are measurements of the same subject"


def copy_notes(data: MultiViewData) -> list[str]:
    """Name samples that are exact or near copies of others; groups keep those together."""
    if data.groups is not None:
        return []
    notes = []
    data = encode_tables(data, fit_table_codes(data))
    views = {name: storage.to_numeric(view, name) for name, view in data._views.items()}
    copies, originals = _exact_copies(data._replace(views))
    if len(copies):
        pairs = zip(data.sample_ids[copies[:3]], data.sample_ids[originals[:3]], strict=True)
        examples = ", ".join(f"{a} and {b}" for a, b in pairs)
        notes.append(
            f"{len(copies)} samples are exact copies of another one (such as {examples}); {ADVICE}"
            f"drop them, or {SUBJECTS}"
        )
    near = describe_near_copies(data._replace(views))
    if near is not None:
        notes.append(f"{near}; {ADVICE}{SUBJECTS}")
    return notes


def _exact_copies(data: MultiViewData) -> tuple[np.ndarray, np.ndarray]:
    """Samples equal to an earlier one in all views, and that one; none if they are few."""
    none = np.empty(0, dtype=np.intp)
    if not all(kind == "features" for kind in data.kinds.values()):
        return none, none
    _, first, which = np.unique(row_keys(data), return_index=True, return_inverse=True)
    copies = np.setdiff1d(np.arange(len(data)), first)
    is_rare = len(copies) < max(2, MIN_COPIES_SHARE * len(data))
    if is_rare or not any(_tells_apart(view, len(data)) for _, view in data.items()):
        return none, none
    return copies, first[which.ravel()[copies]]


def _tells_apart(view: Any, n: int) -> bool:
    if sp.issparse(view):
        return True
    limit = max(MIN_DISTINCT, MIN_DISTINCT_SHARE * n)
    return any(len(np.unique(column)) >= limit for column in view.T)
