"""The ranking of a comparison: scores with intervals, differences from the best, and chance.

An interval is the union of two: one from the variance of the scores over splits, corrected for
shared training rows, and Wilson's from the number of test rows, which is never of zero width.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from consilience.benchmark.metrics import Metric, find_metric
from consilience.benchmark.results import Cell, CellKey, Results
from consilience.benchmark.statistics import (
    advantage_p_value,
    corrected_interval,
    holm,
    paired_t,
    round_scores,
    wilson_interval,
)
from consilience.benchmark.tasks import Condition
from consilience.comparison.record import Run
from consilience.comparison.study import CHANCE, StudyResults
from consilience.methods import METHODS

__all__ = ["SIGNIFICANCE_LEVEL", "RankingRow", "format_p_value", "ranking", "score_interval"]

UNALTERED = Condition()
SIGNIFICANCE_LEVEL = 0.05


@dataclass(frozen=True)
class RankingRow:
    """A method in the ranking, with the p-values of its differences from the best and chance."""

    method: str
    summary: str
    reference: str
    score: float
    low: float
    high: float
    fit_seconds: float
    predict_seconds: float
    scores: np.ndarray
    rank: int | None = None  # of methods with a score on every split
    p_value: float = np.nan
    p_chance: float = np.nan

    @property
    def complete(self) -> bool:
        """Whether every fit has a score."""
        return not np.isnan(self.score)

    @property
    def is_chance(self) -> bool:
        """Whether this is the row of chance."""
        return self.method == CHANCE.name

    @property
    def beats_chance(self) -> bool:
        """Whether it is significantly better than chance."""
        return self.p_chance < SIGNIFICANCE_LEVEL


def ranking(run: Run, results: StudyResults) -> list[RankingRow]:
    """Rank the methods, best first, with chance among them; those without a score come last."""
    metric = find_metric(run.options.metric)
    chance = _chance_cell(run, results, metric.name)
    rows = [
        _row(run, results.main, method, _cell(run, results.main, method, metric.name), chance.mean)
        for method in results.main.methods
    ]
    rows.sort(key=lambda row: _sort_key(row, metric))
    rows = _add_p_values(run, rows)
    rows = _add_chance_p_values(run, results, rows)
    if results.is_complete or run.options.allow_partial:
        rows = [
            replace(row, rank=rank) if row.complete else row
            for rank, row in enumerate(rows, start=1)
        ]
    if not np.isnan(chance.mean):
        rows.append(_row(run, results.chance, CHANCE.name, chance, chance.mean))
    return sorted(rows, key=lambda row: _sort_key(row, metric))


def _sort_key(row: RankingRow, metric: Metric) -> tuple[bool, float, bool, str]:
    score = -metric.sign * float(round_scores(np.nan_to_num(row.score)))
    return not row.complete, score, row.is_chance, row.method


def _cell(run: Run, results: Results, method: str, metric: str) -> Cell:
    return results.cell(CellKey(run.data.name, UNALTERED, method), metric)


def _chance_cell(run: Run, results: StudyResults, metric: str) -> Cell:
    """Scores of chance; at least those of the class shares of all samples.

    Where splits do not keep the shares, a class is rarer in the training rows than in the test
    rows: without it, chance has an accuracy of 0 in leave-one-out of balanced classes.
    """
    cell = _cell(run, results.chance, CHANCE.name, metric)
    if run.options.splitter or run.data.groups:
        sign = find_metric(metric).sign
        gain = sign * (_score_of_shares(run, metric) - cell.mean)
        cell.scores = cell.scores + sign * max(0.0, float(np.nan_to_num(gain)))
    return cell


def _score_of_shares(run: Run, metric: str) -> float:
    """Expected score of predicting the class shares of all samples; NaN if it has no formula."""
    shares = np.array(run.data.class_shares)
    shares_above_0 = shares[shares > 0]
    scores = {
        "accuracy": shares.max(),
        "balanced_accuracy": 1 / len(shares),
        "roc_auc": 0.5,
        "mcc": 0.0,
        "log_loss": -(shares_above_0 * np.log(shares_above_0)).sum(),
        "brier": (1 - (shares**2).sum()) / 2,
    }
    return float(scores.get(metric, np.nan))


def _row(run: Run, results: Results, method: str, cell: Cell, chance: float) -> RankingRow:
    complete = not np.isnan(cell.mean)
    low, high = score_interval(run, cell.scores, chance) if complete else (np.nan, np.nan)
    if method in run.own_methods:
        summary, reference = run.own_methods[method].summary, "own"
    else:
        known = CHANCE if method == CHANCE.name else METHODS[method]
        summary, reference = known.summary, known.reference
    return RankingRow(
        method=method,
        summary=summary,
        reference=reference,
        score=cell.mean,
        low=low,
        high=high,
        fit_seconds=_mean(_cell(run, results, method, "fit_seconds").scores),
        predict_seconds=_mean(_cell(run, results, method, "predict_seconds").scores),
        scores=cell.scores,
    )


def score_interval(run: Run, scores: np.ndarray, chance: float) -> tuple[float, float]:
    """95 % interval of the mean score at this training size, never of zero width."""
    metric, mean = find_metric(run.options.metric), float(scores.mean())
    is_folds = not run.options.splitter
    by_splits = corrected_interval(scores, run.options.test_share, is_folds=is_folds)
    low, high = _scale(run, metric, max(mean, float(np.nan_to_num(chance))))
    share = float(np.clip((mean - low) / (high - low), 0.0, 1.0))
    wilson = wilson_interval(share, effective_rows(run, metric, len(scores)))
    by_rows = [low + (high - low) * end for end in wilson]
    ends = np.nanmin([by_splits[0], by_rows[0]]), np.nanmax([by_splits[1], by_rows[1]])
    bounded = np.clip(ends, *metric.bounds)
    return float(bounded[0]), float(bounded[1])


def _scale(run: Run, metric: Metric, loss: float) -> tuple[float, float]:
    """Range of a metric; losses, which seldom come near their maximum, up to twice this one."""
    if metric.lower_is_better:
        return 0.0, 2 * (loss or float(np.log(len(run.data.classes))))
    return metric.bounds


def effective_rows(run: Run, metric: Metric, n_splits: int) -> float:
    """Number of independent test rows, of equal weight, that determine how precise a metric is."""
    tested = run.data.tested_rows
    counts = tested.effective_counts
    if metric.depends_on == "rarest" or (metric.depends_on == "positive" and not run.positive):
        n_rows = len(counts) * counts.min()
    elif metric.depends_on == "positive":
        n_rows = counts[run.data.classes.index(run.positive)]
    elif metric.depends_on == "pairs":
        n_rows = 3 * counts[0] * counts[1] / (counts.sum() + 1)  # as of Mann and Whitney's U
    else:
        n_rows = tested.effective_rows
    share = min(1.0, n_splits * run.test_rows / tested.rows)
    return max(1.0, float(n_rows) * share * tested.independent_share)


def _add_p_values(run: Run, rows: list[RankingRow]) -> list[RankingRow]:
    """Add p-values against the first row, adjusted for multiple comparisons."""
    others = [row for row in rows[1:] if row.complete]
    if not others or len(rows[0].scores) < 2:
        return rows
    best = rows[0]
    p_values = [
        paired_t(
            best.scores,
            row.scores,
            run.options.test_share,
            min_error=min_difference_error(run, best.score - row.score, len(best.scores)),
        ).p_value
        for row in others
    ]
    adjusted = dict(zip([row.method for row in others], holm(np.array(p_values)), strict=True))
    return [replace(row, p_value=float(adjusted.get(row.method, np.nan))) for row in rows]


def min_difference_error(run: Run, difference: float, n_splits: int) -> float:
    """Least standard error of a difference of scores, as few splits may be equal by chance.

    Two methods whose accuracies differ by d disagree on at least d·n of n rows, so the variance
    of d is at least d/n, as in McNemar's test. Other metrics of labels and ranks are treated as
    accuracies of as many rows as they depend on, on the scale of their range. A loss may differ by
    the same amount on every row, so nothing of the kind holds for losses: 0.
    """
    metric = find_metric(run.options.metric)
    if metric.lower_is_better:
        return 0.0
    scale = metric.bounds[1] - metric.bounds[0]
    share = min(1.0, abs(difference) / scale)
    return scale * float(np.sqrt(share / effective_rows(run, metric, n_splits)))


def _add_chance_p_values(
    run: Run, results: StudyResults, rows: list[RankingRow]
) -> list[RankingRow]:
    """Add p-values of the advantage over chance, adjusted since the best is one of many."""
    metric = find_metric(run.options.metric)
    metric = find_metric(metric.chance_metric or metric.name)
    chance = _chance_cell(run, results, metric.name)
    cells = {row.method: _cell(run, results.main, row.method, metric.name) for row in rows}
    scored = {method: cell for method, cell in cells.items() if not np.isnan(cell.mean)}
    if np.isnan(chance.mean) or not scored:
        return rows
    low, high = _scale(run, metric, chance.mean)
    share = (chance.mean - low) / (high - low)
    n_rows = effective_rows(run, metric, len(chance.scores))
    min_error = (high - low) * float(np.sqrt(share * (1 - share) / n_rows))
    p_values = [
        advantage_p_value(
            metric.sign * cell.scores,
            metric.sign * chance.scores,
            run.options.test_share,
            min_error,
        )
        for cell in scored.values()
    ]
    adjusted = dict(zip(scored, holm(np.array(p_values)), strict=True))
    return [replace(row, p_chance=float(adjusted.get(row.method, np.nan))) for row in rows]


def format_p_value(value: float) -> str:
    """Format a p-value for a table; NaN becomes an empty string."""
    if np.isnan(value):
        return ""
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _mean(values: np.ndarray) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else np.nan
