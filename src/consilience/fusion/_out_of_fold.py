"""Splits of the training rows, and what a view's classifier says about rows it has not seen."""

from __future__ import annotations

import numbers

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit, check_cv

from consilience.fusion._members import best_method, fit_member

__all__ = ["make_splits", "out_of_fold"]


def make_splits(cv, codes, random_state):
    """(train, test) row numbers from a number of folds, a hold-out share, a splitter or splits."""
    n = len(codes)
    if isinstance(cv, numbers.Real) and not isinstance(cv, numbers.Integral):
        if not 0 < cv < 1:
            raise ValueError(f"cv as a hold-out share must lie between 0 and 1, got {cv}")
        holdout = StratifiedShuffleSplit(1, test_size=float(cv), random_state=random_state)
        return list(holdout.split(np.zeros(n), codes))
    splits = list(check_cv(cv, codes, classifier=True).split(np.zeros(n), codes))
    for train, test in splits:
        if np.intersect1d(train, test).size:
            raise ValueError("cv has splits whose training and test rows overlap")
    return splits


def out_of_fold(estimator, data, name, codes, weight, classes, split):
    """Output (n_test x K) of a classifier trained on the split's training rows, NaN if missing."""
    train, test = split
    member = fit_member(estimator, data[train], name, codes[train], weight[train], classes)
    if member is None:
        return np.full((len(test), len(classes)), np.nan)
    return member.output(data[test], best_method(member.estimator))
