"""Bounds of numbers in suites, in ``run.toml`` and on the command line.

Every study is planned as a whole before it starts, so a slip of the keyboard must not plan a
billion fits.
"""

from __future__ import annotations

__all__ = [
    "MAX_FOLDS",
    "MAX_REPEATS",
    "MAX_ROWS",
    "MAX_SEED",
    "check_bounds",
    "check_n_tasks",
]

MAX_FOLDS = 100_000
MAX_REPEATS = 10_000
MAX_TASKS = 500_000
MAX_SEED = 2**31 - 1
MAX_ROWS = 10**9


def check_bounds(name: str, value: float, low: float, high: float) -> None:
    """Check that a number is between two bounds; NaN never is."""
    if value < low:
        raise ValueError(f"{name} must be at least {low}, got {value}")
    if not value <= high:
        raise ValueError(f"{name} must be at most {high}, got {value}")


def check_n_tasks(n_tasks: int) -> None:
    """Check that a study does not have too many fits."""
    if n_tasks > MAX_TASKS:
        raise ValueError(
            f"the study would have {n_tasks} fits, but at most {MAX_TASKS} are supported; use "
            "fewer folds, repeats or methods"
        )
