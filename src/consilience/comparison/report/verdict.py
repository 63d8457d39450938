"""The verdict of a comparison in a few sentences, the same in the terminal and in the report."""

from __future__ import annotations

import numpy as np

from consilience.benchmark.metrics import find_metric
from consilience.benchmark.store import Store
from consilience.comparison.ranking import (
    SIGNIFICANCE_LEVEL,
    RankingRow,
    format_p_value,
    ranking,
)
from consilience.comparison.record import Run
from consilience.comparison.report.summaries import confusion_matrix, out_of_fold_predictions
from consilience.comparison.study import StudyResults

__all__ = ["imbalance_warning", "verdict"]

MAX_RECALLS = 6
DOMINATED_BY_FREQUENT_CLASSES = ("accuracy", "log_loss", "brier")


def imbalance_warning(run: Run) -> str:
    """Propose another metric if a rare class hardly counts in this one; empty if all is well."""
    if not run.data.is_imbalanced or run.options.metric not in DOMINATED_BY_FREQUENT_CLASSES:
        return ""
    counts, classes = run.data.counts, run.data.classes
    rare, frequent = int(np.argmin(counts)), int(np.argmax(counts))
    n = sum(counts)
    return (
        f"only {counts[rare] / n:.1%} of the samples are of class {classes[rare]!r}, so "
        f"{run.options.metric} hardly depends on them: always predicting {classes[frequent]!r} "
        f"is correct for {counts[frequent] / n:.1%}; consider the metric balanced_accuracy, in "
        "which all classes count the same"
    )


def verdict(run: Run, results: StudyResults, store: Store) -> list[str]:
    """Return the verdict, one sentence each, the first of them about chance."""
    rows = ranking(run, results)
    methods = [row for row in rows if row.complete and not row.is_chance]
    partial = f"{results.n_splits} of {results.n_planned} splits"
    if not results.is_complete and results.best is None:
        return [f"Not finished: all methods have completed {partial}, so none is declared best."]
    if results.best is None or not methods:
        return ["No method has a score on every split; see the failures."]
    chance = next((row for row in rows if row.is_chance), None)
    sentences = [_chance_sentence(run, methods, chance), *_best_sentences(run, methods)]
    if not results.is_complete:
        sentences.append(f"Partial result: all methods have completed only {partial}.")
    if run.data.is_imbalanced:
        sentences.append(_recall_sentence(run, results, store))
    return sentences


def _chance_sentence(run: Run, methods: list[RankingRow], chance: RankingRow | None) -> str:
    if chance is None:
        return "Chance has no score, so nothing can be compared with it."
    test = find_metric(run.options.metric).chance_metric.replace("_", " ")
    tested = f"; tested by {test}" if test else ""
    level = f"chance ({run.metric_title} {chance.score:.4f}{tested})"
    better = [row for row in methods if row.beats_chance]
    if not better:
        return f"No method is significantly better than {level}."
    if len(methods) == 1:
        return f"{methods[0].method} is significantly better than {level}."
    if len(better) == len(methods):
        everyone = "Both" if len(methods) == 2 else f"All {len(methods)}"
        return f"{everyone} methods are significantly better than {level}."
    verb = "is" if len(better) == 1 else "are"
    return f"{len(better)} of {len(methods)} methods {verb} significantly better than {level}."


def _best_sentences(run: Run, methods: list[RankingRow]) -> list[str]:
    best, others = methods[0], methods[1:]
    score = f"{run.metric_title} {best.score:.4f} (95 % interval {best.low:.4f} to {best.high:.4f})"
    if not best.beats_chance:
        p_value = format_p_value(best.p_chance)
        suffix = f" (p {'= ' if p_value[:1] != '<' else ''}{p_value})" if p_value else ""
        return [f"{best.method} has the best mean, {score}: no evidence of an advantage{suffix}."]
    sentences = [f"{best.method} is best: {score}."]
    not_worse = [row.method for row in others if not row.p_value < SIGNIFICANCE_LEVEL]
    if not_worse:
        verb = "s are" if len(not_worse) > 1 else " is"
        sentences.append(
            f"{len(not_worse)} other method{verb} not significantly worse: {', '.join(not_worse)}."
        )
    elif others:
        sentences.append("All other methods are significantly worse.")
    has_combinations = len(run.data.views) > 1 and len(methods) > 1
    return sentences + (_best_view_sentences(methods) if has_combinations else [])


def _best_view_sentences(methods: list[RankingRow]) -> list[str]:
    row = next((row for row in methods if row.method == "Best view"), None)
    if row is None:
        return []
    if row is methods[0]:
        return ["One view alone is as good as any combination of views."]
    if row.p_value < SIGNIFICANCE_LEVEL:
        ending = "which is significantly worse: the views complement each other"
    elif methods[0].low <= row.score <= methods[0].high:
        ending = "which is not significantly worse: combining views gains little here"
    else:
        ending = "which is worse, but not significantly so on these splits; more repeats may tell"
    return [f"The best single view alone reaches {row.score:.4f}, {ending}."]


def _recall_sentence(run: Run, results: StudyResults, store: Store) -> str:
    """Recall of each class, the rarest first."""
    assert results.best is not None
    predictions = out_of_fold_predictions(store, results.main, results.best)
    matrix = confusion_matrix(run, predictions)
    rarest_first = np.argsort(run.data.counts, kind="stable")[:MAX_RECALLS]
    recalls = [
        f"{run.data.classes[k]} {matrix[k, k] / max(1, matrix[k].sum()):.2f} "
        f"({matrix[k, k]} of {matrix[k].sum()})"
        for k in rarest_first
    ]
    more = "" if len(recalls) == len(run.data.classes) else ", rarest classes only"
    return f"Recall of {results.best} by class{more}: {', '.join(recalls)}."
