"""Inner folds and hold-out sets that keep the rows of a group (such as a patient) together.

Groups are dealt out one by one, those of rare classes and large ones first, each to the part whose
classes it overfills least: the potential Σ_f Σ_k (n_fk / n_k)² / s_f grows as little as possible,
where n_fk counts the rows of class k in part f and s_f is the share of the rows that the part
should have.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit, check_cv
from sklearn.utils import check_random_state

from consilience._copies import warn_of_near_copies
from consilience._warnings import warn_user
from consilience.views import MultiViewData
from consilience.views._storage import format_list

__all__ = [
    "check_groups_for_folds",
    "encode_groups",
    "group_folds",
    "group_holdout",
    "split_holdout",
    "split_rows",
]

MAX_ORDERS = 50  # number of further orders in which groups are dealt to the folds

Split: TypeAlias = tuple[np.ndarray, np.ndarray]


def encode_groups(groups: np.ndarray) -> np.ndarray:
    """Numbers 0, 1, … of the groups in order of first appearance."""
    numbers: dict[Any, int] = {}  # np.unique cannot sort groups of several types
    return np.array([numbers.setdefault(group, len(numbers)) for group in groups.tolist()])


def check_groups_for_folds(
    codes: np.ndarray, groups: np.ndarray, classes: np.ndarray, n_folds: int
) -> int:
    """Return the number of folds that the groups allow, with a warning if it is smaller.

    A class that occurs in one group only is an error: it cannot be predicted when its group is left
    out. Rows with a negative code have no class.
    """
    table = _count_rows(codes, encode_groups(groups), len(classes))
    single = np.flatnonzero((table > 0).sum(axis=0) == 1)
    if len(single):
        k = int(single[0])
        group = groups[np.flatnonzero(codes == k)[0]]
        raise ValueError(
            f"class {_plain(classes[k])!r} occurs in only one group, {_plain(group)!r}, so it "
            "cannot be predicted from the other groups; leave it out or use other groups"
        )
    if len(table) < n_folds:
        warn_user(f"there are only {len(table)} groups, so {len(table)} folds instead of {n_folds}")
    return min(n_folds, len(table))


def group_folds(codes: np.ndarray, groups: np.ndarray, n_folds: int) -> np.ndarray:
    """Fold of each row; the classes are spread over the folds as evenly as the groups allow.

    There are as many folds as groups if these are fewer.
    """
    numbers = encode_groups(groups)
    n_folds = min(n_folds, int(numbers.max()) + 1)
    table, shares = _count_rows(codes, numbers), np.full(n_folds, 1.0 / n_folds)
    part = _deal_groups(table, shares, _dealing_order(table))
    if _count_absent(table, part, n_folds):
        part = _deal_again(table, shares, part)
    return part[numbers]


def group_holdout(
    codes: np.ndarray, groups: np.ndarray, test_size: float, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Training and test rows; random groups with about this share of each class are the test."""
    numbers = encode_groups(groups)
    numbers = rng.permutation(numbers.max() + 1)[numbers]
    shares = np.array([1.0 - test_size, test_size])
    table = _count_rows(codes, numbers)
    part = _deal_groups(table, shares, _dealing_order(table), holdout=True)
    is_test = part[numbers] == 1
    return np.flatnonzero(~is_test), np.flatnonzero(is_test)


def split_rows(
    cv: Any,
    codes: np.ndarray,
    data: MultiViewData,
    classes: np.ndarray,
    weight: np.ndarray | None = None,
) -> list[Split]:
    """Row numbers (train, test) from a number of folds, a splitter or an iterable of splits.

    The groups of the data are kept together; where there are none, near-copies give a warning.
    With weights, every test set must have a row of positive weight.
    """
    splits = _make_splits(cv, codes, data, classes)
    for fold, (train, test) in enumerate(splits):
        if not (len(train) and len(test)):
            raise ValueError(f"cv: split {fold} has no {'test' if len(train) else 'training'} rows")
        if np.intersect1d(train, test).size:
            raise ValueError(f"cv: training and test rows of split {fold} overlap")
        if weight is not None and not weight[test].any():
            raise ValueError(f"cv: no test row of split {fold} has a positive sample_weight")
    return splits


def _make_splits(
    cv: Any, codes: np.ndarray, data: MultiViewData, classes: np.ndarray
) -> list[Split]:
    groups = data.groups
    if groups is None:
        if isinstance(cv, Integral):
            warn_of_near_copies(data)
        return _listed_splits(cv, codes, None)
    if isinstance(cv, Integral):
        n_folds = check_groups_for_folds(codes, groups, classes, int(cv))
        folds = group_folds(codes, groups, n_folds)
        return [
            (np.flatnonzero(folds != fold), np.flatnonzero(folds == fold))
            for fold in range(n_folds)
        ]
    splits = _listed_splits(cv, codes, groups)
    warn_of_split_groups(splits, groups)
    return splits


def _listed_splits(cv: Any, codes: np.ndarray, groups: Any) -> list[Split]:
    """The splits, or an error that says what is wrong with ``cv``."""
    try:
        splitter = check_cv(cv, codes, classifier=True)
        splits = [
            (train, test) for train, test in splitter.split(np.zeros(len(codes)), codes, groups)
        ]
    except (TypeError, ValueError) as error:
        raise ValueError(f"cv={cv!r} does not give splits (train, test): {error}") from error
    if not splits:
        raise ValueError("cv has no splits")
    n = len(codes)
    return [(_row_numbers(train, n), _row_numbers(test, n)) for train, test in splits]


def _row_numbers(rows: Any, n: int) -> np.ndarray:
    rows = np.asarray(rows)
    if rows.size == 0:
        return np.empty(0, dtype=np.intp)
    if rows.ndim != 1 or rows.dtype.kind not in "biu":
        raise ValueError(f"cv must consist of arrays of row numbers, got {rows!r}")
    if rows.dtype == bool:
        if len(rows) != n:
            raise ValueError(f"cv has a mask of {len(rows)} rows, but there are {n}")
        return np.flatnonzero(rows)
    outside = rows[(rows >= n) | (rows < -n)]
    if outside.size:
        raise ValueError(f"cv has row {outside[0]}, but there are {n} rows")
    return rows % n


def split_holdout(
    codes: np.ndarray,
    data: MultiViewData,
    classes: np.ndarray,
    test_size: float,
    random_state: Any,
    parameter: str = "test_size",
) -> Split:
    """Training and test rows of a hold-out split, stratified by class; see ``split_rows``.

    ``parameter`` is the user's name for the test size.
    """
    groups = data.groups
    if groups is None:
        warn_of_near_copies(data)
        split = StratifiedShuffleSplit(1, test_size=test_size, random_state=random_state)
        try:
            return next(split.split(np.zeros(len(codes)), codes))
        except ValueError as error:
            raise ValueError(f"{parameter}={test_size!r} as the test size: {error}") from error
    check_groups_for_folds(codes, groups, classes, 2)
    return group_holdout(codes, groups, test_size, check_random_state(random_state))


def warn_of_split_groups(splits: Sequence[Split], groups: np.ndarray) -> None:
    """Warn if splits that the user chose have a group among both training and test rows."""
    for fold, (train, test) in enumerate(splits):
        shared = set(groups[train].tolist()).intersection(groups[test].tolist())
        if shared:
            names = format_list(sorted(shared, key=str))
            warn_user(
                f"split {fold} of cv has rows of {len(shared)} groups among both its training and "
                f"its test rows, so scores are too optimistic: groups {names}"
            )
            return


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _count_rows(codes: np.ndarray, groups: np.ndarray, n_classes: int | None = None) -> np.ndarray:
    """Number of rows (n_groups x K) of each class in each group."""
    n_classes = int(codes.max()) + 1 if n_classes is None else n_classes
    table = np.zeros((int(groups.max()) + 1, n_classes), dtype=np.intp)
    known = codes >= 0
    np.add.at(table, (groups[known], codes[known]), 1)
    return table


def _deal_groups(
    table: np.ndarray, shares: np.ndarray, order: np.ndarray, holdout: bool = False
) -> np.ndarray:
    """Part of each group; ``table`` (n_groups x K) counts its rows of each class."""
    totals = np.maximum(table.sum(axis=0), 1)
    filled = np.zeros((len(shares), table.shape[1]))
    n_left = (table > 0).sum(axis=0)
    part = np.zeros(len(table), dtype=np.intp)
    for group in order:
        counts = table[group]
        cost = filled @ (counts / totals**2) / shares
        closed = _closed_parts(filled, counts, n_left, holdout)
        if not closed.all():
            cost[closed] = np.inf
        # parts that share no class with the group cost nothing: the emptiest is filled first
        part[group] = np.lexsort((filled.sum(axis=1) / shares, cost))[0]
        filled[part[group]] += counts
        n_left -= counts > 0
    return part


def _count_absent(table: np.ndarray, part: np.ndarray, n_folds: int) -> int:
    """Number of classes of several groups that all are in one fold, without training rows then."""
    n_groups = np.array([(table[part == fold] > 0).sum(axis=0) for fold in range(n_folds)])
    total = n_groups.sum(axis=0)
    return int(((n_groups == total) & (total > 1)).sum())


def _deal_again(table: np.ndarray, shares: np.ndarray, part: np.ndarray) -> np.ndarray:
    """Deal in other orders until every class has training rows; else as well as was possible."""
    rng = np.random.RandomState(0)
    n_absent, n_folds = _count_absent(table, part, len(shares)), len(shares)
    n_used = len(np.unique(part))
    for _ in range(MAX_ORDERS):
        other = _deal_groups(table, shares, rng.permutation(len(table)))
        n_other = _count_absent(table, other, n_folds)
        if n_other < n_absent and len(np.unique(other)) >= n_used:
            part, n_absent = other, n_other
        if n_absent == 0:
            break
    return part


def _dealing_order(table: np.ndarray) -> np.ndarray:
    """Groups that have a class of few groups come first, then large groups."""
    n_groups = (table > 0).sum(axis=0)
    rarity = np.where(table > 0, n_groups, len(table)).min(axis=1)
    return np.lexsort((-table.sum(axis=1), rarity))


def _closed_parts(
    filled: np.ndarray, counts: np.ndarray, n_left: np.ndarray, holdout: bool
) -> np.ndarray:
    """Parts that must not get a group, because a class would be absent from the training rows.

    Every fold is left out once, so no fold may have all groups of a class; of a hold-out set only
    the first part is for training.
    """
    is_seen, own = filled > 0, counts > 0
    if holdout:
        return np.array([False, bool((own & ~is_seen[0]).any())])
    is_last = own & (n_left == 1) & (is_seen.sum(axis=0) == 1)
    return np.asarray(is_seen[:, is_last].any(axis=1))
