"""Splits of the training rows, and what a view's classifier says about rows it has not seen."""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit, check_cv

from consilience.fusion._members import best_method, fit_member
from consilience.views import MultiViewData

__all__ = ["are_splits", "is_share", "make_splits", "out_of_fold"]


def are_splits(cv: Any) -> Any:
    """True for splits given as row numbers, as opposed to a number, a share or a splitter."""
    return isinstance(cv, Iterable)


def is_share(cv: Any) -> Any:
    """True for a number that is not whole: the share of a hold-out."""
    return isinstance(cv, numbers.Real) and not isinstance(cv, numbers.Integral)


def make_splits(cv: Any, codes: np.ndarray, weight: np.ndarray, random_state: Any) -> Any:
    """(train, test) row numbers from a number of folds, a hold-out share, a splitter or splits."""
    n = len(codes)
    if is_share(cv):
        holdout = StratifiedShuffleSplit(1, test_size=float(cv), random_state=random_state)
        return list(holdout.split(np.zeros(n), codes))
    splits = [
        (_row_numbers(train, n), _row_numbers(test, n))
        for train, test in check_cv(cv, codes, classifier=True).split(np.zeros(n), codes)
    ]
    if not splits:
        raise ValueError("cv has no splits")
    for fold, (train, test) in enumerate(splits):
        if np.intersect1d(train, test).size:
            raise ValueError(f"cv: training and test rows of split {fold} overlap")
        if not weight[test].any():
            raise ValueError(f"cv: no test row of split {fold} has a positive sample_weight")
    return splits


def _row_numbers(rows: np.ndarray, n: int) -> Any:
    rows = np.asarray(rows)
    if rows.dtype == bool and len(rows) == n:
        return np.flatnonzero(rows)
    if rows.size and (rows.max() >= n or rows.min() < -n):
        raise ValueError(f"cv has row {rows.max()}, but there are {n} rows")
    return rows % n


def out_of_fold(
    estimator: Any,
    data: MultiViewData,
    name: str,
    codes: np.ndarray,
    weight: np.ndarray,
    classes: np.ndarray,
    split: Any,
) -> Any:
    """Output (n_test x K) of a classifier trained on the split's training rows, NaN if missing."""
    train, test = split
    member = fit_member(
        estimator, data[train], name, codes[train], weight[train], classes, quiet=True
    )
    if member is None:
        return np.full((len(test), len(classes)), np.nan)
    return member.output(data[test], best_method(member.estimator))
