"""Samples in the report: a map of them, and those that most methods get wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from matplotlib import rc_context
from matplotlib.figure import Figure

from consilience.benchmark.predictions import Predictions
from consilience.benchmark.store import Store
from consilience.comparison.record import Run
from consilience.comparison.report.figures import BLUE, GREY, ORANGE, STYLE, TEAL, as_svg, shorten
from consilience.comparison.report.summaries import out_of_fold_predictions
from consilience.comparison.study import StudyResults

__all__ = ["SuspiciousSample", "map_figure", "suspicious_samples", "wrong_rows"]

MAX_SUSPICIOUS = 12
MIN_WRONG_SHARE = 0.5  # of the methods
CLASS_COLOURS = (
    BLUE, ORANGE, TEAL, "#8e5bb5", "#b5485b", "#7a8f2a", "#5b6bb5", "#b58a48", "#48a0b5", "#b548a8",
)  # fmt: skip
MARKERS = "os^vDPX*<>"


@dataclass(frozen=True)
class SuspiciousSample:
    """A sample that most methods get wrong: its number, labels, and who is wrong how surely."""

    row: int
    sample: str
    true: str
    predicted: str  # by the best method
    confidence: float  # of that prediction; NaN if it has none
    n_wrong: int
    n_methods: int


def _by_row(folds: Sequence[Predictions]) -> dict[int, tuple[str, str, float]]:
    """True class, predicted class and confidence of every row that was tested."""
    entries = {}
    for fold in folds:
        has_probability = fold.kind == "probability"
        confidence = fold.scores.max(axis=1) if has_probability else np.full(len(fold.rows), np.nan)
        for row, true, predicted, value in zip(
            fold.rows, fold.y_true, fold.y_pred, confidence, strict=True
        ):
            if true >= 0:
                names = str(fold.classes[true]), str(fold.classes[predicted])
                entries[int(row)] = (*names, float(value))
    return entries


def suspicious_samples(
    run: Run, results: StudyResults, store: Store, methods: Sequence[str]
) -> list[SuspiciousSample]:
    """Samples that at least half of the methods, and the best one, get wrong; the clearest first.

    Their labels may be wrong, or the views of another sample.
    """
    if results.best is None:
        return []
    predictions = {m: _by_row(out_of_fold_predictions(store, results.main, m)) for m in methods}
    listed = []
    for row, (true, predicted, confidence) in predictions[results.best].items():
        n_wrong = sum(1 for p in predictions.values() if row in p and p[row][0] != p[row][1])
        n_methods = sum(1 for p in predictions.values() if row in p)
        if predicted != true and n_wrong >= max(MIN_WRONG_SHARE * n_methods, 1):
            name = run.data.sample_ids[row] if run.data.sample_ids else str(row)
            listed.append(
                SuspiciousSample(row, name, true, predicted, confidence, n_wrong, n_methods)
            )
    listed.sort(key=lambda s: (-s.n_wrong / s.n_methods, -np.nan_to_num(s.confidence), s.row))
    return listed[:MAX_SUSPICIOUS]


def wrong_rows(results: StudyResults, store: Store) -> set[int]:
    """Rows that the best method gets wrong."""
    if results.best is None:
        return set()
    folds = out_of_fold_predictions(store, results.main, results.best)
    return {row for row, (true, predicted, _) in _by_row(folds).items() if true != predicted}


def map_figure(run: Run, wrong: set[int], suspicious: Sequence[SuspiciousSample]) -> Markup | None:
    """Samples by the two first components of the default's kernel: by class, and by error."""
    content = run.sample_map
    if content is None:
        return None
    x, y = np.array(content.x), np.array(content.y)
    codes, rows = np.array(content.classes), np.array(content.rows)
    with rc_context(STYLE):
        fig = Figure(figsize=(4.9, 5.6), layout="constrained")
        fig.patch.set_alpha(0.0)
        by_class, by_error = fig.subplots(2, 1, sharex=True)
        n_shown = min(len(run.data.classes), len(CLASS_COLOURS))
        for k in range(n_shown):
            mask = codes == k
            by_class.scatter(
                x[mask], y[mask], s=9, color=CLASS_COLOURS[k], marker=MARKERS[k], alpha=0.75,
                linewidths=0, label=shorten(run.data.classes[k]),
            )  # fmt: skip
        others = codes >= n_shown
        if others.any():
            by_class.scatter(x[others], y[others], s=6, color=GREY, label="other classes")
        is_wrong = np.isin(rows, list(wrong))
        by_error.scatter(x[~is_wrong], y[~is_wrong], s=8, color=GREY, linewidths=0, label="correct")
        by_error.scatter(
            x[is_wrong], y[is_wrong], s=12, color=ORANGE, marker="D", linewidths=0, label="wrong"
        )
        listed = np.isin(rows, [s.row for s in suspicious])
        by_error.scatter(
            x[listed], y[listed], s=45, facecolors="none", edgecolors=BLUE, label="listed"
        )
        for ax in (by_class, by_error):
            ax.patch.set_alpha(0.0)
            ax.set_ylabel("component 2")
            ax.legend(fontsize=7, ncols=3, loc="lower left", bbox_to_anchor=(0, 1.0), borderpad=0)
        by_error.set_xlabel("component 1")
        return as_svg(fig, "map")
