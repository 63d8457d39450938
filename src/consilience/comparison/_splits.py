"""The splits of a comparison: a number of folds, a splitter, or the rows themselves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from msgspec.structs import replace as replace_fields

from consilience.comparison._row_weights import sum_weights
from consilience.comparison.inputs import ComparisonInput
from consilience.comparison.record import Options

__all__ = ["read_cv"]


def read_cv(data: ComparisonInput, cv: Any, options: Options) -> tuple[ComparisonInput, Options]:
    """Return the input with given splits, if any, and the options that describe them."""
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        return data, replace_fields(options, cv=int(cv))
    if isinstance(cv, bool | str) or not (hasattr(cv, "split") or hasattr(cv, "__iter__")):
        raise TypeError(
            f"cv must be an int, a splitter or an iterable of (train, test), got {cv!r}"
        )
    problem = data.problem
    is_splitter = hasattr(cv, "split")
    n_samples = len(problem.target)
    given = cv.split(np.zeros(n_samples), problem.target, problem.groups) if is_splitter else cv
    splits = {
        f"{number:05}": dict(
            zip(("train", "test"), _read_split(part, number, n_samples), strict=True)
        )
        for number, part in enumerate(given)
    }
    if not splits:
        raise ValueError("cv has no splits")
    _check_groups(problem.groups, splits)
    problem = replace(problem, splits=splits)
    tested = np.unique(np.concatenate([part["test"] for part in splits.values()]))
    summary = replace_fields(
        data.summary, data_hash=problem.fingerprint(), tested=sum_weights(problem, tested)
    )
    n_train, n_test = (
        np.array([len(part[name]) for part in splits.values()]) for name in ("train", "test")
    )
    return replace(data, problem=problem, summary=summary), replace_fields(
        options,
        cv=len(splits),
        repeats=1,
        splitter=type(cv).__name__ if is_splitter else "your own",
        given_test_share=float(np.mean(n_test / (n_test + n_train))),
        given_train_rows=float(n_train.mean()),
        given_test_rows=float(n_test.mean()),
    )


def _check_groups(groups: np.ndarray | None, splits: dict[str, dict[str, np.ndarray]]) -> None:
    """Check that no group is divided between the training and the test rows of a split."""
    if groups is None:
        return
    for number, part in enumerate(splits.values()):
        shared = set(groups[part["train"]].tolist()).intersection(groups[part["test"]].tolist())
        if shared:
            raise ValueError(
                f"split {number} of cv has rows of group {min(shared, key=str)!r} among both its "
                "training and its test rows; use splits that keep groups together, such as those "
                "of GroupKFold, or leave out groups"
            )


def _read_split(part: Any, number: int, n_samples: int) -> list[np.ndarray]:
    try:
        train, test = part
    except (TypeError, ValueError):
        raise ValueError(f"split {number} of cv must be a pair (train, test)") from None
    rows = []
    for name, indices in (("train", train), ("test", test)):
        indices = np.asarray(indices)
        if indices.dtype == bool and indices.shape == (n_samples,):
            indices = np.flatnonzero(indices)
        if indices.ndim != 1 or not len(indices) or indices.dtype.kind not in "iu":
            raise ValueError(f"the {name} rows of split {number} must be row numbers, or a mask")
        if indices.min() < 0 or indices.max() >= n_samples:
            raise ValueError(
                f"the {name} rows of split {number} must be between 0 and {n_samples - 1}"
            )
        rows.append(indices.astype(np.intp))
    if len(np.intersect1d(*rows)):
        raise ValueError(f"split {number} of cv has rows that are both for training and for test")
    return rows
