"""ROC and precision–recall curves of methods and of single views, and scores by class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from matplotlib import rc_context
from sklearn.metrics import (
    average_precision_score,
    precision_recall_curve,
    roc_auc_score,
    roc_curve,
)

from consilience.benchmark.predictions import Predictions
from consilience.comparison.record import Run
from consilience.comparison.report.figures import (
    BLUE,
    GREY,
    ORANGE,
    STYLE,
    TEAL,
    TEXT_COLOUR,
    as_svg,
    make_figure,
    shorten,
)
from consilience.comparison.study import StudyResults

__all__ = [
    "ClassScores",
    "Curves",
    "class_scores",
    "curves_figure",
    "method_curves",
    "view_curves",
]

MAX_POINTS = 120  # of a curve; more are not seen
COLOURS = (ORANGE, BLUE, TEAL, "#8e5bb5", GREY)
LINES = ("-", "--", "-.", ":", "-")


@dataclass(frozen=True)
class Curves:
    """ROC and precision–recall curve of a method or view, with the areas below them."""

    name: str
    roc: tuple[np.ndarray, np.ndarray]
    roc_auc: float
    recall_precision: tuple[np.ndarray, np.ndarray]
    average_precision: float


def _curves(name: str, y: np.ndarray, scores: np.ndarray) -> Curves | None:
    """Curves of scores for truth values; None if they are all the same."""
    if y.all() or not y.any() or not np.isfinite(scores).all():
        return None
    false_alarms, hits, _ = roc_curve(y, scores)
    precision, recall, _ = precision_recall_curve(y, scores)
    return Curves(
        name,
        _thin(false_alarms, hits),
        float(roc_auc_score(y, scores)),
        _thin(recall[::-1], precision[::-1]),
        float(average_precision_score(y, scores)),
    )


def _thin(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    kept = np.unique(np.linspace(0, len(x) - 1, min(len(x), MAX_POINTS)).astype(int))
    return x[kept], y[kept]


def method_curves(run: Run, name: str, predictions: Sequence[Predictions]) -> Curves | None:
    """Curves of out-of-fold predictions; several classes are pooled, one against the rest each."""
    folds = [fold for fold in predictions if (fold.y_true >= 0).all() and len(fold.classes) > 1]
    if not folds or any(fold.kind == "none" for fold in folds):
        return None
    y: list[np.ndarray] = []
    scores: list[np.ndarray] = []
    for fold in folds:
        if run.positive:
            is_second = str(fold.classes[1]) == run.positive
            column = fold.scores if fold.scores.ndim == 1 else fold.scores[:, 1] - fold.scores[:, 0]
            y.append((fold.y_true == 1) == is_second)
            scores.append(column if is_second else -column)
        elif fold.kind == "probability":
            y.append((fold.y_true[:, None] == np.arange(len(fold.classes))).ravel())
            scores.append(fold.scores.ravel())
        else:
            return None
    return _curves(name, np.concatenate(y), np.concatenate(scores))


def view_curves(results: StudyResults) -> list[Curves]:
    """Curves of the best method when it has a single view, for two classes; the best first."""
    parts: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
    for record in results.importance.records:
        content = record.outcome.diagnostics.get("single_views", {}).get("scores", {})
        for view, (rows, y, scores) in content.items():
            if rows:
                parts.setdefault(view, []).append((np.array(y, dtype=bool), np.array(scores)))
    results_by_view = [
        _curves(view, np.concatenate([y for y, _ in p]), np.concatenate([s for _, s in p]))
        for view, p in parts.items()
    ]
    known = [curves for curves in results_by_view if curves is not None]
    return sorted(known, key=lambda curves: -curves.roc_auc)


def curves_figure(curves: Sequence[Curves], kind: str, name: str) -> Markup:
    """ROC ("roc") or precision–recall ("pr") curves; the numbers are the areas below them."""
    with rc_context(STYLE):
        fig, ax = make_figure(3.4)
        for curve, colour, line in zip(curves, COLOURS, LINES, strict=False):
            x, y = curve.roc if kind == "roc" else curve.recall_precision
            area = curve.roc_auc if kind == "roc" else curve.average_precision
            style = "default" if kind == "roc" else "steps-pre"
            label = f"{shorten(curve.name)} ({area:.3f})"
            ax.plot(x, y, color=colour, ls=line, lw=1.3, label=label, drawstyle=style)
        if kind == "roc":
            ax.plot([0, 1], [0, 1], color=TEXT_COLOUR, lw=0.6, ls=":")
        ax.set_xlim(-0.02, 1.02)
        ax.set_ylim(-0.02, 1.02)
        ax.set_xlabel("false positive rate" if kind == "roc" else "recall")
        ax.set_ylabel("true positive rate" if kind == "roc" else "precision")
        fig.legend(loc="outside upper left", ncols=1, fontsize=8)
        return as_svg(fig, name)


@dataclass(frozen=True)
class ClassScores:
    """Precision, recall and F1 of a class, from out-of-fold predictions."""

    name: str
    samples: int
    precision: float
    recall: float
    f1: float


def class_scores(matrix: np.ndarray, classes: Sequence[str]) -> list[ClassScores]:
    """Scores of every class from the confusion matrix (true classes in rows)."""
    hits = np.diag(matrix).astype(float)
    n_true, n_predicted = matrix.sum(axis=1), matrix.sum(axis=0)
    recall = hits / np.maximum(n_true, 1)
    precision = hits / np.maximum(n_predicted, 1)
    f1 = 2 * hits / np.maximum(n_true + n_predicted, 1)
    return [
        ClassScores(name, int(n_true[k]), float(precision[k]), float(recall[k]), float(f1[k]))
        for k, name in enumerate(classes)
    ]
