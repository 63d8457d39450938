"""Random samples of rows that do not depend on how the data are cut into blocks.

Rows are numbered over all blocks. A row is drawn if a hash of its number is below its inclusion
probability, so that every block draws its own rows without knowing the others. Rows of rare classes
and with rare views have a higher probability, and their weights are divided by it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from consilience._core.cuts import hash_rows
from consilience._training import TrainingRows
from consilience.distributed._blocks import BlockTraining, join

__all__ = ["SampleRates", "draw_sample", "hash_uniform"]

RARE_SHARE = 0.25  # share of the sample that is divided evenly over classes and views


@dataclass(frozen=True, eq=False)
class SampleRates:
    """Inclusion probabilities: that of every row, of each class and of the rows with each view."""

    base: float
    classes: np.ndarray
    views: np.ndarray

    @classmethod
    def from_counts(cls, size: int, class_counts: np.ndarray, view_counts: np.ndarray) -> Any:
        """Rates of a sample of about ``size`` rows, or more where classes or views are rare."""
        n = int(class_counts.sum())
        quota = RARE_SHARE * size / (len(class_counts) + len(view_counts))
        return cls(
            min(1.0, size / n),
            np.minimum(1.0, quota / np.maximum(class_counts, 1)),
            np.minimum(1.0, quota / np.maximum(view_counts, 1)),
        )

    def of_rows(self, rows: TrainingRows) -> np.ndarray:
        """Probability of each row: the greatest of those that apply to it."""
        by_view = np.where(rows.data.present, self.views, 0.0).max(axis=1)
        return np.maximum(np.maximum(self.base, self.classes[rows.codes]), by_view)


def hash_uniform(start: int, n_rows: int, purpose: int = 0) -> np.ndarray:
    """Numbers in [0, 1) that depend on the row numbers start, start + 1, … alone.

    Those of different purposes are independent.
    """
    return (hash_rows(start + (purpose << 48), n_rows) >> np.uint64(11)) / 2.0**53


def take_sample(rows: TrainingRows, rates: SampleRates, start: int) -> TrainingRows:
    """Rows of a block that are drawn, with weights divided by their probabilities."""
    probability = rates.of_rows(rows)
    drawn = np.flatnonzero(hash_uniform(start, len(rows.codes)) < probability)
    taken = rows.take(drawn)
    return TrainingRows(taken.data, taken.codes, taken.weight / probability[drawn])


def draw_sample(training: BlockTraining, size: int) -> TrainingRows:
    """Draw about ``size`` rows in one pass; all rows in order if there are no more.

    The weights of each class are scaled to its total weight in all rows.
    """
    if training.n <= size:
        rates = SampleRates(1.0, np.ones(len(training.totals)), np.ones(len(training.widths)))
    else:
        view_counts = training.present.sum(axis=0)
        rates = SampleRates.from_counts(size, training.class_counts, view_counts)
    parts = training.blocks.collect(take_sample, rates, each=training.starts)
    if len({part.data.groups is None for part in parts}) > 1:
        raise ValueError("some blocks have groups and others do not")
    sample = join(parts)
    if training.n <= size:
        return sample
    drawn = np.bincount(sample.codes, weights=sample.weight, minlength=len(training.totals))
    factors = training.totals / np.where(drawn > 0, drawn, 1.0)
    return TrainingRows(sample.data, sample.codes, sample.weight * factors[sample.codes])
