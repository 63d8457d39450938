"""Recognise rows that a fitted model has learned from, where it keeps them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline

from consilience._default import ConsilienceClassifier
from consilience.views import MultiViewData

__all__ = ["check_no_training_rows"]

MAX_SHARE = 0.05  # of rows that equal a training row; by chance few do
CHUNK_ROWS = 1000


def check_no_training_rows(model: Any, data: MultiViewData) -> None:
    """Raise an error if the rows are those that the model was fitted on.

    They are recognised by ``ConsilienceClassifier``, which keeps training rows; for other methods
    it is up to the caller.
    """
    if isinstance(model, Pipeline):
        for _, step in model.steps[:-1]:
            data = data if step in (None, "passthrough") else step.transform(data)
        model = model.steps[-1][1]
    if not isinstance(model, ConsilienceClassifier):
        return
    share = float(np.mean(is_reference_row(model, data)))
    if share > MAX_SHARE:
        raise ValueError(
            f"{share:.0%} of the rows are rows that the estimator was fitted on, whose importance "
            "would be too optimistic; pass other rows, or cv=3 to refit on folds"
        )


def is_reference_row(model: Any, data: MultiViewData) -> np.ndarray:
    """Mask of the rows that equal a training row, which the model keeps, in every view."""
    checked = model._in_name_order(model._validate_input(data, reset=False))
    filled = model._columns.apply(checked).filled
    views = model._members[0].reference_set.views
    out = checked.present.any(axis=1)
    for v, view in enumerate(views):
        known = set(_row_bytes(view.rows, view.rows.dtype))
        own = _row_bytes(filled[view.name], view.rows.dtype)
        out &= np.array([key in known for key in own]) | ~checked.present[:, v]
    return out


def _row_bytes(X: Any, dtype: Any) -> list[bytes]:
    out: list[bytes] = []
    for start in range(0, X.shape[0], CHUNK_ROWS):
        block = X[start : start + CHUNK_ROWS]
        block = block.toarray() if sp.issparse(block) else np.asarray(block)
        block = np.ascontiguousarray(block.astype(dtype)) + np.array(0, dtype=dtype)
        out += [row.tobytes() for row in block]
    return out
