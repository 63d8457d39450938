"""The splits of a comparison: a number of folds, a splitter, or the rows themselves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from msgspec.structs import replace as replace_fields

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
    problem = replace(problem, splits=splits)
    summary = replace_fields(data.summary, data_hash=problem.fingerprint())
    shares = [
        len(part["test"]) / (len(part["test"]) + len(part["train"])) for part in splits.values()
    ]
    return replace(data, problem=problem, summary=summary), replace_fields(
        options,
        cv=len(splits),
        repeats=1,
        splitter=type(cv).__name__ if is_splitter else "your own",
        given_test_share=float(np.mean(shares)),
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
