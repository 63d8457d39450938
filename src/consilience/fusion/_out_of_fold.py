"""Splits of the training rows, and out-of-fold outputs of the classifiers of single views."""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np

from consilience._folds import split_holdout, split_rows
from consilience.fusion._members import best_method, fit_member
from consilience.views import MultiViewData

__all__ = ["Split", "are_splits", "is_test_size", "make_splits", "out_of_fold"]


Split: TypeAlias = tuple[np.ndarray, np.ndarray]


def are_splits(cv: Any) -> bool:
    """Return True for an iterable of splits, as opposed to a number or a splitter."""
    return isinstance(cv, Iterable)


def is_test_size(cv: Any) -> bool:
    """Return True for a float, the test size of a hold-out split."""
    return isinstance(cv, numbers.Real) and not isinstance(cv, numbers.Integral)


def make_splits(
    cv: Any,
    codes: np.ndarray,
    weight: np.ndarray,
    random_state: Any,
    data: MultiViewData,
    classes: np.ndarray,
) -> list[Split]:
    """Row indices (train, test) from a number of folds, a test size, a splitter or splits."""
    if is_test_size(cv):
        return [split_holdout(codes, data, classes, float(cv), random_state, "cv")]
    return split_rows(cv, codes, data, classes, weight)


def out_of_fold(
    estimator: Any,
    data: MultiViewData,
    name: str,
    codes: np.ndarray,
    weight: np.ndarray,
    classes: np.ndarray,
    split: Split,
) -> np.ndarray:
    """Outputs (n_test x K) of a classifier fitted on the training rows; NaN without the view."""
    train, test = split
    member = fit_member(
        estimator, data[train], name, codes[train], weight[train], classes, quiet=True
    )
    if member is None:
        return np.full((len(test), len(classes)), np.nan)
    return member.output(data[test], best_method(member.estimator))
