"""Protocols: which rows are for training, validation and test, and how the data are altered.

``split_rows(split, index, ...)`` returns the rows of one split; ``balanced_subset``,
``stratified_subset``, ``flip_labels``, ``add_feature_noise``, ``add_noise_views`` and
``hide_views`` alter the data. All are pure functions of their arguments and a seed, so a task
gives the same result wherever and whenever it runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from msgspec import Struct
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, train_test_split

from consilience._folds import group_holdout
from consilience.benchmark.bounds import MAX_FOLDS, MAX_REPEATS, MAX_ROWS, check_bounds
from consilience.inspection._scoring import with_presence
from consilience.views import MultiViewData

__all__ = [
    "Folds",
    "Given",
    "Holdout",
    "Official",
    "Split",
    "SplitRows",
    "add_feature_noise",
    "add_noise_views",
    "balanced_subset",
    "ensure_two_groups",
    "flip_labels",
    "hide_views",
    "list_folds",
    "make_rng",
    "n_splits",
    "split_rows",
    "stratified_subset",
    "with_presence",
]

# each purpose has its own random numbers, so that adding one does not change the others
RNG_PURPOSES = ("split", "sample", "subset", "labels", "views", "junk", "features")
NOISE_VIEW_COLUMNS = 100


class Folds(Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="folds"):
    """Repeated stratified cross-validation; groups, if any, are never split."""

    n: int = 5
    repeats: int = 1

    def __post_init__(self) -> None:
        check_bounds("the number of folds, n,", self.n, 2, MAX_FOLDS)
        check_bounds("repeats", self.repeats, 1, MAX_REPEATS)


class Holdout(Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="holdout"):
    """Random test rows (fraction or number), ``repeats`` times, and optionally validation rows.

    Groups, if any, are never split, so that the parts have about the sizes asked for.
    """

    repeats: int
    test: float | int
    validation: float | int = 0
    stratified: bool = True

    def __post_init__(self) -> None:
        check_bounds("repeats", self.repeats, 1, MAX_REPEATS)
        for name, value, required in (
            ("test", self.test, True),
            ("validation", self.validation, False),
        ):
            limit = 1 if isinstance(value, float) else MAX_ROWS
            if not 0 <= value < limit or (required and value == 0):
                raise ValueError(
                    f"{name} must be a fraction below 1 or a number of rows, got {value}"
                )


class Official(Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="official"):
    """The splits that come with the data set; repeats differ only in the methods' seeds."""

    repeats: int = 1

    def __post_init__(self) -> None:
        check_bounds("repeats", self.repeats, 1, MAX_REPEATS)


class Given(Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="given"):
    """The ``n`` splits that were given together with data in memory, as one repeat."""

    n: int

    def __post_init__(self) -> None:
        check_bounds("the number of splits, n,", self.n, 1, MAX_FOLDS)


Split = Folds | Holdout | Official | Given


class SplitRows(NamedTuple):
    """Row indices of one split; ``validation`` may be empty."""

    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray


def make_rng(seed: int, index: int, purpose: str) -> np.random.Generator:
    """Return the random number generator for one purpose in one split."""
    return np.random.default_rng([seed, index, RNG_PURPOSES.index(purpose)])


def n_splits(split: Split, official: int = 1) -> int:
    """Number of splits; ``official`` is the number of those that come with the data set."""
    if isinstance(split, Folds):
        return split.n * split.repeats
    if isinstance(split, Given):
        return split.n
    return split.repeats * (official if isinstance(split, Official) else 1)


def split_rows(
    split: Split,
    index: int,
    target: np.ndarray,
    *,
    seed: int,
    groups: np.ndarray | None = None,
    official: Mapping[str, Mapping[str, np.ndarray]] | None = None,
) -> SplitRows:
    """Return the rows of split ``index``; test rows are stratified by class unless told not to."""
    if isinstance(split, Folds):
        return _fold(split, index, target, seed, groups)
    if isinstance(split, Holdout):
        return _holdout(split, index, target, seed, groups)
    if not official:
        raise ValueError("the data set has no official split; use 'holdout' or 'folds'")
    parts = official[sorted(official)[index % len(official)]]
    no_rows = np.empty(0, dtype=np.intp)
    return SplitRows(parts["train"], parts.get("validation", no_rows), parts["test"])


def _fold(
    split: Folds, index: int, target: np.ndarray, seed: int, groups: np.ndarray | None
) -> SplitRows:
    repeat, fold = divmod(index, split.n)
    return list_folds(split, repeat, target, seed, groups)[fold]


def list_folds(
    split: Folds, repeat: int, target: np.ndarray, seed: int, groups: np.ndarray | None
) -> list[SplitRows]:
    """All splits of one repeat."""
    splitter_class = StratifiedKFold if groups is None else StratifiedGroupKFold
    splitter = splitter_class(split.n, shuffle=True, random_state=seed + repeat)
    none = np.empty(0, dtype=np.intp)
    parts = splitter.split(np.zeros(len(target)), target, groups)
    return [SplitRows(train, none, test) for train, test in parts]


def _holdout(
    split: Holdout, index: int, target: np.ndarray, seed: int, groups: np.ndarray | None
) -> SplitRows:
    state = int(make_rng(seed, index, "split").integers(2**31))
    rest = np.arange(len(target))
    parts = {}
    for name, size in (("test", split.test), ("validation", split.validation)):
        if not size:
            parts[name] = np.empty(0, dtype=np.intp)
            continue
        # a fraction refers to all rows, not to those that are left
        count = round(size * len(target)) if isinstance(size, float) else size
        labels = target[rest] if split.stratified else None
        if groups is not None:
            rest, parts[name] = _group_holdout(rest, labels, groups[rest], count, state)
            if not len(parts[name]):
                raise ValueError(
                    f"there are too few groups for {count} {name} rows: every group is needed for "
                    "training"
                )
            continue
        rest, parts[name] = train_test_split(
            rest, test_size=count, random_state=state, stratify=labels
        )
    return SplitRows(np.sort(rest), np.sort(parts["validation"]), np.sort(parts["test"]))


def _group_holdout(
    rows: np.ndarray, labels: np.ndarray | None, groups: np.ndarray, count: int, state: int
) -> tuple[np.ndarray, np.ndarray]:
    """Divide rows into others and about ``count`` rows of random groups."""
    codes = np.zeros(len(rows), dtype=np.intp)
    if labels is not None:
        codes = np.unique(labels, return_inverse=True)[1]
    rng = np.random.RandomState(state)
    others, drawn = group_holdout(codes, groups, count / len(rows), rng)
    return rows[others], rows[drawn]


def balanced_subset(
    rows: np.ndarray, labels: np.ndarray, size: int, rng: np.random.Generator
) -> np.ndarray:
    """Draw ``size`` rows in total, the same number of each class (at least two).

    The remainder of the division is spread over random classes; a class that is too small
    contributes all of its rows.
    """
    classes = np.unique(labels)
    shuffled = [rng.permutation(rows[labels == k]) for k in classes]
    per_class, remainder = divmod(size, len(classes))
    counts = np.full(len(classes), max(2, per_class))
    if per_class >= 2:
        counts[rng.permutation(len(classes))[:remainder]] += 1
    return np.concatenate([part[:count] for part, count in zip(shuffled, counts, strict=True)])


def ensure_two_groups(
    subset: np.ndarray, rows: np.ndarray, labels: np.ndarray, groups: np.ndarray
) -> np.ndarray:
    """Exchange a row of each class that has rows of one group only in a subset of the rows.

    Methods with inner folds need two groups of every class. ``labels`` and ``groups`` are those of
    all rows.
    """
    subset = subset.copy()
    for k in np.unique(labels[subset]):
        drawn = np.flatnonzero(labels[subset] == k)
        group = groups[subset[drawn[0]]]
        others = rows[(labels[rows] == k) & (groups[rows] != group)]
        if len(drawn) > 1 and len(others) and (groups[subset[drawn]] == group).all():
            subset[drawn[-1]] = others[0]
    return subset


def stratified_subset(
    rows: np.ndarray, labels: np.ndarray, size: int, rng: np.random.Generator
) -> np.ndarray:
    """Draw ``size`` rows with the class shares of all rows, at least two of each class.

    There are more than ``size`` if the share of a rare class is less than two rows.
    """
    classes, available = np.unique(labels, return_counts=True)
    exact = size * available / len(labels)
    counts = np.floor(exact).astype(int)
    # the rows that rounding left over go to the largest remainders
    order = np.argsort(counts - exact, kind="stable")
    counts[order[: size - counts.sum()]] += 1
    counts = np.minimum(np.maximum(counts, 2), available)
    shuffled = [rng.permutation(rows[labels == k]) for k in classes]
    return np.concatenate([part[:count] for part, count in zip(shuffled, counts, strict=True)])


def flip_labels(labels: np.ndarray, rate: float, rng: np.random.Generator) -> np.ndarray:
    """Replace a fraction ``rate`` of the labels by another class, drawn uniformly."""
    classes, codes = np.unique(labels, return_inverse=True)
    flipped = rng.permutation(len(codes))[: round(rate * len(codes))]
    shift = rng.integers(1, len(classes), size=len(flipped))
    codes[flipped] = (codes[flipped] + shift) % len(classes)
    return classes[codes]


def add_noise_views(data: MultiViewData, n_views: int, rng: np.random.Generator) -> MultiViewData:
    """Add ``n_views`` views of standard normal noise, present in all rows."""
    names = [f"junk {v}" for v in range(1, n_views + 1)]
    taken = [name for name in names if name in data.view_names]
    if taken:
        raise ValueError(f"there is a view {taken[0]!r} already")
    noise = {name: rng.standard_normal((len(data), NOISE_VIEW_COLUMNS)) for name in names}
    return data._replace(
        {**data._views, **noise},
        {**data.kinds, **dict.fromkeys(names, "features")},
        np.hstack([data.present, np.ones((len(data), n_views), dtype=bool)]),
    )


def add_feature_noise(
    data: MultiViewData, scale: float, rows: np.ndarray, rng: np.random.Generator
) -> MultiViewData:
    """Add white noise to some rows: ``scale`` times the standard deviation of each column.

    The deviations are those of these rows, without empty cells, which stay empty; sparse views
    become dense.
    """
    views = {}
    for v, name in enumerate(data.view_names):
        if data.kinds[name] != "features":
            raise ValueError(f"view {name!r} is a {data.kinds[name]} view: noise needs features")
        view = data[name]
        X = np.array(view.toarray() if sp.issparse(view) else view, dtype=np.float64)
        altered = rows[data.present[rows, v]]
        noise = rng.standard_normal(X[altered].shape)
        X[altered] += scale * _column_deviations(X[altered]) * noise
        views[name] = X
    return data._replace(views)


def _column_deviations(X: np.ndarray) -> np.ndarray:
    """Standard deviation of the cells of each column that are not empty; 0 if all are."""
    deviations = X.std(axis=0)
    for j in np.flatnonzero(np.isnan(deviations)):
        values = X[~np.isnan(X[:, j]), j]
        deviations[j] = values.std() if len(values) else 0.0
    return deviations


def hide_views(data: MultiViewData, rate: float, rng: np.random.Generator) -> MultiViewData:
    """Hide a fraction ``rate`` of all (row, view) pairs; every row keeps at least one view."""
    present = data.present.copy()
    n, n_views = present.shape
    # one random view of each row is kept; those to hide are drawn uniformly from the other pairs
    priority = np.where(present, rng.random((n, n_views)), -1.0)
    can_hide = present.copy()
    can_hide[np.arange(n), priority.argmax(axis=1)] = False
    candidates = np.flatnonzero(can_hide)
    n_hidden = round(rate * n * n_views)
    if n_hidden > len(candidates):
        raise ValueError(
            f"{rate:.0%} of the views cannot be hidden, since every row keeps at least one: the "
            f"maximum is {len(candidates) / (n * n_views):.0%}"
        )
    present.reshape(-1)[rng.permutation(candidates)[:n_hidden]] = False
    return with_presence(data, present)
