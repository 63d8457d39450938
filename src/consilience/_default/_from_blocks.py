"""Training rows of the default from data in blocks: a sample that all members learn from.

In memory, the members see samples as well where there are many rows: the kernel member is fitted on
30 000 of them, each tree of a forest on 50 000, each boosted tree on 20 000. From blocks these are
samples of one sample of at most ``MAX_ROWS`` rows, which is drawn by a hash of the row numbers and
does not depend on the blocks; see docs/scaling.md for what this costs.
"""

from __future__ import annotations

from consilience._training import TrainingRows
from consilience.distributed._blocks import BlockTraining
from consilience.distributed._row_sample import draw_sample

__all__ = ["draw_training_rows"]

MAX_ROWS = 200_000
MIN_ROWS = 30_000  # as many as the kernel member is fitted on
MAX_VALUES = 100_000_000  # values of the sample, above which it has fewer rows


def draw_training_rows(training: BlockTraining) -> TrainingRows:
    """All rows if they are at most ``MAX_ROWS``, otherwise a sample of about so many."""
    affordable = int(MAX_VALUES * training.n / max(training.n_values, 1))
    return draw_sample(training, min(MAX_ROWS, max(MIN_ROWS, affordable)))
