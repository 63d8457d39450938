"""Protocols: which rows train, tune and test, and what is done to them before a method sees them.

``split_rows(split, index, ...)`` gives the parts of one split; ``balanced_subset``, ``flip_labels``,
``add_noise_views`` and ``hide_views`` are the alterations. All are pure functions of their
arguments and a seed, so a task comes out the same wherever and whenever it runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, train_test_split

from consilience.views import MultiViewData

__all__ = [
    "Folds",
    "Holdout",
    "Official",
    "Split",
    "SplitRows",
    "add_noise_views",
    "balanced_subset",
    "flip_labels",
    "hide_views",
    "make_rng",
    "n_splits",
    "split_rows",
]

# one stream of random numbers for every purpose, so that adding one changes no other
PURPOSES = ("split", "sample", "subset", "labels", "views", "junk")
JUNK_COLUMNS = 100


class Folds(Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="folds"):
    """Repeated stratified cross-validation; whole groups stay together where a problem has any."""

    n: int = 5
    repeats: int = 1

    def __post_init__(self) -> None:
        if self.n < 2 or self.repeats < 1:
            raise ValueError(f"folds need n >= 2 and repeats >= 1, got {self.n} and {self.repeats}")


class Holdout(Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="holdout"):
    """Random test rows (share or number), ``repeats`` times; tuning rows may be set apart too."""

    repeats: int
    test: float | int
    validation: float | int = 0
    stratified: bool = True

    def __post_init__(self) -> None:
        if self.repeats < 1:
            raise ValueError(f"repeats must be at least 1, got {self.repeats}")
        for name, value, least in (("test", self.test, True), ("validation", self.validation, 0)):
            share = isinstance(value, float)
            if value < 0 or (least and value == 0) or (share and value >= 1):
                raise ValueError(f"{name} must be a share below 1 or a number of rows, got {value}")


class Official(Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="official"):
    """The splits that come with the data set; repeats differ in the seeds of the methods."""

    repeats: int = 1

    def __post_init__(self) -> None:
        if self.repeats < 1:
            raise ValueError(f"repeats must be at least 1, got {self.repeats}")


Split = Folds | Holdout | Official


class SplitRows(NamedTuple):
    """Row numbers of one split; ``validation`` may be empty."""

    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray


def make_rng(seed: int, index: int, purpose: str) -> np.random.Generator:
    """Random numbers for one purpose in one split."""
    return np.random.default_rng([seed, index, PURPOSES.index(purpose)])


def n_splits(split: Split, official: int = 1) -> int:
    """How many splits there are; ``official`` is the number that the data set brings."""
    if isinstance(split, Folds):
        return split.n * split.repeats
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
    """Rows of split ``index``; the test rows keep the shares that the classes have."""
    if isinstance(split, Folds):
        return _fold(split, index, target, seed, groups)
    if isinstance(split, Holdout):
        return _holdout(split, index, target, seed)
    if not official:
        raise ValueError("the data set has no official split; use 'holdout' or 'folds'")
    parts = official[sorted(official)[index % len(official)]]
    none = np.empty(0, dtype=np.intp)
    return SplitRows(parts["train"], parts.get("validation", none), parts["test"])


def _fold(
    split: Folds, index: int, target: np.ndarray, seed: int, groups: np.ndarray | None
) -> SplitRows:
    repeat, fold = divmod(index, split.n)
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    folds = kind(split.n, shuffle=True, random_state=seed + repeat)
    train, test = list(folds.split(np.zeros(len(target)), target, groups))[fold]
    return SplitRows(train, np.empty(0, dtype=np.intp), test)


def _holdout(split: Holdout, index: int, target: np.ndarray, seed: int) -> SplitRows:
    state = int(make_rng(seed, index, "split").integers(2**31))
    rest = np.arange(len(target))
    parts = {}
    for name, size in (("test", split.test), ("validation", split.validation)):
        if not size:
            parts[name] = np.empty(0, dtype=np.intp)
            continue
        # a share is one of all rows, whatever was set apart before
        count = round(size * len(target)) if isinstance(size, float) else size
        labels = target[rest] if split.stratified else None
        rest, parts[name] = train_test_split(
            rest, test_size=count, random_state=state, stratify=labels
        )
    return SplitRows(np.sort(rest), np.sort(parts["validation"]), np.sort(parts["test"]))


def balanced_subset(
    rows: np.ndarray, labels: np.ndarray, size: int, rng: np.random.Generator
) -> np.ndarray:
    """``size`` of the rows in all, equally many of each class (at least two).

    What a division leaves goes to random classes, one each; a class too small gives all it has.
    """
    classes = np.unique(labels)
    orders = [rng.permutation(rows[labels == k]) for k in classes]
    each, rest = divmod(size, len(classes))
    counts = np.full(len(classes), max(2, each))
    if each >= 2:
        counts[rng.permutation(len(classes))[:rest]] += 1
    return np.concatenate([order[:count] for order, count in zip(orders, counts, strict=True)])


def flip_labels(labels: np.ndarray, rate: float, rng: np.random.Generator) -> np.ndarray:
    """The labels with a share ``rate`` of them replaced by another class, drawn evenly."""
    classes, codes = np.unique(labels, return_inverse=True)
    flipped = rng.permutation(len(codes))[: round(rate * len(codes))]
    shift = rng.integers(1, len(classes), size=len(flipped))
    codes[flipped] = (codes[flipped] + shift) % len(classes)
    return classes[codes]


def add_noise_views(data: MultiViewData, n_views: int, rng: np.random.Generator) -> MultiViewData:
    """The container with so many more views, all rows of standard normal noise."""
    names = [f"junk {v}" for v in range(1, n_views + 1)]
    taken = [name for name in names if name in data.view_names]
    if taken:
        raise ValueError(f"there is a view {taken[0]!r} already")
    junk = {name: rng.standard_normal((len(data), JUNK_COLUMNS)) for name in names}
    return MultiViewData(
        {**dict(data.items()), **junk},
        present=np.hstack([data.present, np.ones((len(data), n_views), dtype=bool)]),
        sample_ids=data.sample_ids,
        kinds={**data.kinds, **dict.fromkeys(names, "features")},
        column_ids=data.column_ids,
    )


def hide_views(data: MultiViewData, rate: float, rng: np.random.Generator) -> MultiViewData:
    """The container without a share ``rate`` of all (row, view) pairs; every row keeps one view."""
    present = data.present.copy()
    n, n_views = present.shape
    # a random view of each row is safe; the others are drawn from all pairs alike
    order = np.where(present, rng.random((n, n_views)), -1.0)
    safe = order.argmax(axis=1)
    free = present.copy()
    free[np.arange(n), safe] = False
    pairs = np.flatnonzero(free)
    wanted = round(rate * n * n_views)
    if wanted > len(pairs):
        raise ValueError(
            f"{rate:.0%} of the views cannot be hidden: every row keeps one of its views, "
            f"so that at most {len(pairs) / (n * n_views):.0%} can"
        )
    present.reshape(-1)[rng.permutation(pairs)[:wanted]] = False
    return with_presence(data, present)


def with_presence(data: MultiViewData, present: np.ndarray) -> MultiViewData:
    """The same views with another mask of what is there."""
    return MultiViewData(
        dict(data.items()),
        present=present,
        sample_ids=data.sample_ids,
        kinds=data.kinds,
        column_ids=data.column_ids,
    )
