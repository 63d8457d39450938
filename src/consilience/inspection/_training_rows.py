"""Recognise rows that a fitted model has learned from, where it keeps them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from consilience._default import ConsilienceClassifier
from consilience.inspection._default_members import DefaultMembers
from consilience.views import MultiViewData

__all__ = ["check_no_training_rows"]

MAX_SHARE = 0.05  # of rows that equal a training row; by chance few do


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
    share = float(np.mean(DefaultMembers(model).is_training_row(data)))
    if share > MAX_SHARE:
        raise ValueError(
            f"{share:.0%} of the rows are rows that the estimator was fitted on, whose importance "
            "would be too optimistic; pass other rows, or a number of folds as cv"
        )
