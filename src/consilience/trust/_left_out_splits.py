"""Which rows are left out: folds or a share of the rows, of whole groups, or of rows that differ.

Equal rows are left out together: a row that was predicted by its copy says nothing of new rows.
"""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any

import numpy as np

from consilience._copies import distinct_rows
from consilience._folds import Split, encode_groups, split_holdout, split_rows
from consilience._warnings import warn_user
from consilience.views import MultiViewData

__all__ = ["leave_folds_out", "leave_share_out"]

# classifiers fitted on a larger share of few rows differ less from each other, and cost little
N_FOLDS_OF_FEW_ROWS, N_FOLDS = 10, 5
FEW_ROWS = 1000


def leave_folds_out(
    cv: Any, data: MultiViewData, codes: np.ndarray, classes: np.ndarray
) -> list[Split]:
    """Splits by ``cv``; a number of folds is one of groups, or of rows that differ.

    None stands for as many as suit the rows; a class may have fewer rows than there are folds.
    """
    if not (cv is None or isinstance(cv, Integral)):
        splits = split_rows(cv, codes, data, classes)
        _warn_of_separated_copies(splits, data)
        return splits
    if data.groups is not None:
        n_groups = int(encode_groups(data.groups).max()) + 1
        n_folds = min(_default_n_folds(len(data)), n_groups) if cv is None else cv
        return split_rows(n_folds, codes, data, classes)
    first, copies = distinct_rows(data)
    part = data if len(first) == len(data) else data[first]
    if cv is not None:
        return _with_copies(split_rows(cv, codes[first], part, classes), copies)
    largest = int(np.bincount(codes[first]).max())
    if largest < 2:
        raise ValueError("no class has two rows that differ, so that none can be left out")
    n_folds = min(_default_n_folds(len(first)), largest)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        splits = split_rows(n_folds, codes[first], part, classes)
    return _with_copies(splits, copies)


def _default_n_folds(n_rows: int) -> int:
    return N_FOLDS_OF_FEW_ROWS if n_rows <= FEW_ROWS else N_FOLDS


def _with_copies(splits: list[Split], copies: np.ndarray) -> list[Split]:
    """Splits of all rows, from splits of those that differ."""
    if copies.max() + 1 == len(copies):
        return splits
    return [
        (np.flatnonzero(np.isin(copies, train)), np.flatnonzero(np.isin(copies, test)))
        for train, test in splits
    ]


def leave_share_out(
    share: float,
    data: MultiViewData,
    codes: np.ndarray,
    classes: np.ndarray,
    random_state: Any,
    parameter: str = "test_size",
) -> Split:
    """Training rows, and a random share of the rows, of the rows that differ, or of the groups."""
    if data.groups is not None:
        return split_holdout(codes, data, classes, share, random_state, parameter)
    first, copies = distinct_rows(data)
    part = data if len(first) == len(data) else data[first]
    counts = np.bincount(codes[first], minlength=len(classes))
    if counts.min() < 2:
        raise ValueError(
            f"{parameter}={share!r} sets rows of every class aside, but class "
            f"{classes.tolist()[counts.argmin()]!r} has {counts.min()} rows, copies aside; it "
            "takes two or more"
        )
    split = split_holdout(codes[first], part, classes, share, random_state, parameter)
    return _with_copies([split], copies)[0]


def _warn_of_separated_copies(splits: list[Split], data: MultiViewData) -> None:
    """Warn if splits have equal rows on both sides, unless groups say which rows to separate."""
    if data.groups is not None:
        return
    _, copies = distinct_rows(data)
    for k, (train, test) in enumerate(splits):
        separated = test[np.isin(copies[test], copies[train])]
        if len(separated):
            warn_user(
                f"split {k} of cv leaves out {len(separated)} rows (such as row "
                f"{data.sample_ids[separated[0]]}) that have copies among its training rows, which "
                "makes left-out predictions too good; pass a number of folds, which keeps copies "
                "together"
            )
            return
