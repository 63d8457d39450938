"""The time budget of a comparison: what fits into it, and what is left out.

The budget is hard: it includes the fit on all samples and the report. The first split shows how
long each method takes; those for which the rest of the budget is too short are left out.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["TimeBudget", "choose_methods"]

REPORT_SHARE, MAX_REPORT_SECONDS = 0.12, 8.0
REFIT_SHARE = 0.15  # at most, kept for the fit on all samples
FIRST_SPLIT_SHARE = 0.5  # of the time for fits
MIN_FIT_SHARE = 0.25  # of the time for fits that a single one may take on the first split
SAFETY = 0.85  # later fits may take longer
MIN_METHODS = 3  # fewer would not be a comparison; then fewer splits are completed
REFIT_FACTOR = 1.5


@dataclass(frozen=True)
class TimeBudget:
    """When everything must be finished; times are those of the monotonic clock."""

    start: float
    seconds: float

    @property
    def end(self) -> float:
        """When the report must be written."""
        return self.start + self.seconds

    @property
    def refit_end(self) -> float:
        """When the fit on all samples must be finished."""
        return self.end - min(REPORT_SHARE * self.seconds, MAX_REPORT_SECONDS)

    def fits_end(self, refit_seconds: float | None = None) -> float:
        """When the fits of the comparison must be finished."""
        reserve = REFIT_SHARE * self.seconds
        if refit_seconds is not None:
            reserve = min(reserve, REFIT_FACTOR * refit_seconds + 1.0)
        return self.refit_end - reserve

    def first_split_limits(self, jobs: int, n_splits: int) -> tuple[float, float]:
        """When the first split ends, and the seconds that one of its fits may take.

        A fit that takes longer than the time for all splits could not be repeated on each.
        """
        now = time.monotonic()
        seconds = max(0.0, self.fits_end() - now)
        fit_seconds = seconds * max(MIN_FIT_SHARE, min(jobs / n_splits, FIRST_SPLIT_SHARE))
        return now + FIRST_SPLIT_SHARE * seconds, fit_seconds


def choose_methods(
    fit_seconds: Mapping[str, float], n_splits: int, jobs: int, seconds: float
) -> set[str]:
    """Methods whose fits on this many further splits fit into the time, the fastest first."""
    chosen: set[str] = set()
    total = 0.0
    for method in sorted(fit_seconds, key=lambda name: fit_seconds[name]):
        total += fit_seconds[method] * n_splits / jobs
        if total > SAFETY * seconds and len(chosen) >= MIN_METHODS:
            break
        chosen.add(method)
    return chosen
