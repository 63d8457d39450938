"""Figures of the report as inline SVG, with text as text and the colours of the page.

Text and axes are drawn in ``currentColor``, so that one figure suits light and dark pages.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from consilience.benchmark.statistics import wilson_interval
from consilience.comparison.ranking import RankingRow
from consilience.comparison.report.summaries import Calibration, LearningCurve

__all__ = [
    "as_svg",
    "calibration_figure",
    "confusion_figure",
    "curve_figure",
    "importance_figure",
    "make_figure",
    "ranking_figure",
    "shorten",
    "square",
    "time_figure",
]

TEXT_COLOUR = "#010203"  # a placeholder that becomes currentColor
BLUE, ORANGE, TEAL, GREY = "#3f7fd0", "#d9822b", "#2a9d8f", "#8a939e"
CURVE_COLOURS = (BLUE, ORANGE, TEAL)
WIDTH_INCHES = 4.9  # narrow, so that text is readable on a phone
MAX_LABEL_CHARS = 26
LABEL_SPACING_POINTS = 11.0  # more free space does not make a position better
MAX_CLASSES_WITH_COUNTS, MAX_CLASSES_WITH_NAMES = 14, 30
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    "text.color": TEXT_COLOUR,
    "axes.edgecolor": TEXT_COLOUR,
    "axes.labelcolor": TEXT_COLOUR,
    "xtick.color": TEXT_COLOUR,
    "ytick.color": TEXT_COLOUR,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "legend.frameon": False,
    "text.parse_math": False,
}
NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))


def shorten(name: str) -> str:
    """Shorten a name so that it fits next to an axis."""
    name = "".join(letter if letter.isprintable() else " " for letter in name)
    return name if len(name) <= MAX_LABEL_CHARS else f"{name[: MAX_LABEL_CHARS - 1]}…"


def make_figure(height: float) -> tuple[Figure, Any]:
    """Create an empty figure of the width of the page."""
    fig = Figure(figsize=(WIDTH_INCHES, height), layout="constrained")
    fig.patch.set_alpha(0.0)
    ax = fig.subplots()
    ax.patch.set_alpha(0.0)
    return fig, ax


def as_svg(fig: Figure, name: str) -> Markup:
    """Convert a figure to an element of the page; ``name`` makes the ids of its parts unique."""
    buffer = io.StringIO()
    with rc_context({**STYLE, "svg.hashsalt": f"consilience {name}"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # the browser's fonts draw the text
        fig.savefig(buffer, format="svg", metadata=NO_METADATA)
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, count=1, flags=re.DOTALL)
    text = re.sub(r"<style type=\"text/css\">.*?</style>", "", text, count=1, flags=re.DOTALL)
    text = re.sub(r'^<svg([^>]*?) width="[^"]*"', r"<svg\1", text, count=1)
    text = re.sub(r'^<svg([^>]*?) height="[^"]*"', r"<svg\1", text, count=1)
    text = re.sub(r'\bid="(\w+_\d+)"', rf'id="{name}-\1"', text)
    return Markup(
        text.replace(TEXT_COLOUR, "currentColor").replace("<svg", '<svg aria-hidden="true"', 1)
    )


def ranking_figure(rows: Sequence[RankingRow], metric: str, name: str = "ranking") -> Markup:
    """Mean scores with confidence intervals, best on top; chance is grey."""
    complete = [row for row in rows if row.complete]
    colours = [GREY if row.is_chance else ORANGE if row.rank == 1 else BLUE for row in complete]
    with rc_context(STYLE):
        fig, ax = make_figure(0.7 + 0.21 * len(complete))
        y = np.arange(len(complete))[::-1]
        means = np.array([row.score for row in complete])
        errors = np.nan_to_num([[r.score - r.low, r.high - r.score] for r in complete]).T
        line_colours = [GREY if row.is_chance else BLUE for row in complete]
        ax.errorbar(means, y, xerr=errors, fmt="none", ecolor=line_colours, elinewidth=1.4)
        sizes = [6**2 if row.rank == 1 else 4.5**2 for row in complete]
        ax.scatter(means, y, s=sizes, c=colours, zorder=3)
        for row in complete:
            if row.is_chance or row.rank == 1:
                ax.axvline(row.score, color=TEXT_COLOUR, lw=0.5, ls=":")
        ax.set_yticks(y, [shorten(row.method) for row in complete])
        ax.set_xlabel(f"{metric} (mean and 95 % interval)")
        ax.tick_params(axis="y", length=0)
        return as_svg(fig, name)


def time_figure(rows: Sequence[RankingRow], metric: str) -> Markup:
    """Score against the time of one fit; the numbers are ranks, the line is chance."""
    methods = [row for row in rows if row.complete and not row.is_chance]
    ranked = [(row.rank or place, row) for place, row in enumerate(methods, start=1)]
    with rc_context(STYLE):
        fig, ax = make_figure(3.0)
        seconds = [max(row.fit_seconds, 1e-3) for _, row in ranked]
        ax.plot(seconds, [row.score for _, row in ranked], "o", color=BLUE, ms=4)
        _draw_chance(ax, next((row.score for row in rows if row.is_chance), None))
        ax.set_xscale("log")
        ax.set_xlabel("CPU seconds per fit")
        ax.set_ylabel(metric)
        ax.margins(0.08, 0.1)
        ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
        ax.xaxis.set_minor_formatter(lambda *_: "")
        _label_points(ax, [str(rank) for rank, _ in ranked])
        return as_svg(fig, "time")


def _draw_chance(ax: Any, score: float | None) -> None:
    """Draw a horizontal line at the score of chance."""
    if score is not None:
        ax.axhline(score, color=GREY, lw=0.9, ls="--", zorder=0)


def _label_points(ax: Any, labels: Sequence[str]) -> None:
    """Label each point of the only line on the side farthest from other points and labels."""
    points = ax.transData.transform(ax.lines[0].get_xydata()) * 72 / ax.figure.dpi
    occupied = [*points]
    for point, label in zip(points, labels, strict=True):
        width = 2.5 * len(label)
        offsets = [np.array([x, y]) for y in (6.5, -6.5, 0) for x in (3 + width, -3 - width)]
        others = np.array([p for p in occupied if p is not point])
        distances = [
            np.hypot(*(others - point - offset).T).min() if len(others) else 1.0
            for offset in offsets
        ]
        best = offsets[int(np.argmax(np.minimum(distances, LABEL_SPACING_POINTS)))]
        occupied.append(point + best)
        ax.annotate(
            label, ax.transData.inverted().transform(point * ax.figure.dpi / 72), best,
            textcoords="offset points", fontsize=8, ha="center", va="center",
        )  # fmt: skip


def confusion_figure(matrix: np.ndarray, classes: Sequence[str], name: str = "confusion") -> Markup:
    """Confusion matrix, shaded by the fraction of each true class, with counts if they fit."""
    n = len(classes)
    with rc_context(STYLE):
        fig, ax = make_figure(min(1.6 + 0.26 * n, 5.5))
        fractions = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1)
        for i in range(n):
            for j in range(n):
                if matrix[i, j]:
                    style = {"facecolor": BLUE if i == j else ORANGE, "lw": 0}
                    ax.add_patch(square(j, i, alpha=0.12 + 0.78 * float(fractions[i, j]), **style))
                    if n <= MAX_CLASSES_WITH_COUNTS:
                        ax.text(j, i, str(matrix[i, j]), ha="center", va="center", fontsize=8)
        ax.set_xlim(-0.5, n - 0.5)
        ax.set_ylim(n - 0.5, -0.5)
        if n <= MAX_CLASSES_WITH_NAMES:
            names = [shorten(name) for name in classes]
            ax.set_xticks(range(n), names, rotation=90 if max(map(len, names)) > 3 else 0)
            ax.set_yticks(range(n), names)
        ax.set_xlabel("predicted")
        ax.set_ylabel("true")
        return as_svg(fig, name)


def square(x: int, y: int, **style: Any) -> Any:
    """A square of a matrix that is drawn cell by cell."""
    from matplotlib.patches import Rectangle

    return Rectangle((x - 0.48, y - 0.48), 0.96, 0.96, **style)


def calibration_figure(calibration: Calibration) -> Markup:
    """Accuracy against confidence; points on the diagonal are well calibrated."""
    with rc_context(STYLE):
        fig, ax = make_figure(3.0)
        confidence, accuracy = calibration.confidence, calibration.accuracy
        low = min(confidence.min(), accuracy.min(), 0.9)
        ax.plot([low, 1], [low, 1], color=TEXT_COLOUR, lw=0.6, ls=":")
        sizes = 12 + 90 * calibration.samples / calibration.samples.max()
        ends = [
            wilson_interval(float(share), float(n))
            for share, n in zip(accuracy, calibration.samples, strict=True)
        ]
        errors = np.abs(np.array(ends).T - accuracy)
        ax.errorbar(confidence, accuracy, yerr=errors, color=BLUE, lw=1, elinewidth=0.8)
        ax.scatter(confidence, accuracy, s=sizes, color=BLUE)
        ax.set_xlabel("confidence")
        ax.set_ylabel("accuracy")
        return as_svg(fig, "calibration")


def curve_figure(
    curves: Sequence[LearningCurve], metric: str, chance: float | None = None
) -> Markup:
    """Score by number of training samples; the line is chance."""
    with rc_context(STYLE):
        fig, ax = make_figure(3.0)
        for curve, colour, marker in zip(curves, CURVE_COLOURS, "os^", strict=False):
            label = shorten(curve.method)
            error = np.nan_to_num(curve.deviations)
            ax.errorbar(
                curve.sizes, curve.means, yerr=error, color=colour, marker=marker, ms=4, lw=1.2,
                elinewidth=0.8, capsize=2, label=label,
            )  # fmt: skip
        _draw_chance(ax, chance)
        ax.set_xscale("log")
        sizes = sorted({size for curve in curves for size in curve.sizes})
        ax.set_xticks(sizes, [str(size) for size in sizes])
        ax.set_xticks([], minor=True)
        ax.set_xlabel("training samples")
        ax.set_ylabel(metric)
        fig.legend(loc="outside upper left", ncols=1)
        return as_svg(fig, "curve")


def importance_figure(
    permutation: dict[str, tuple[float, float]],
    shapley: dict[str, tuple[float, float]],
    metric: str = "accuracy",
) -> Markup:
    """Shapley values and permutation importances of the views, the most important on top."""
    views = sorted(permutation, key=lambda view: shapley.get(view, (0, 0))[0])
    with rc_context(STYLE):
        fig, ax = make_figure(0.9 + 0.36 * len(views))
        y = np.arange(len(views))
        for shift, importance, colour, label in (
            (0.2, shapley, BLUE, f"contribution to {metric} (Shapley)"),
            (-0.2, permutation, ORANGE, f"{metric} lost when shuffled"),
        ):
            if not importance:
                continue  # a method of the user may not predict without some of the views
            means = [importance.get(view, (0.0, 0.0))[0] for view in views]
            deviations = np.nan_to_num([importance.get(view, (0.0, 0.0))[1] for view in views])
            ax.barh(
                y + shift, means, 0.36, xerr=deviations, color=colour, label=label,
                ecolor=TEXT_COLOUR,
                error_kw={"elinewidth": 0.7},
            )  # fmt: skip
        ax.set_yticks(y, [shorten(view) for view in views])
        ax.axvline(0, color=TEXT_COLOUR, lw=0.5)
        ax.tick_params(axis="y", length=0)
        ax.set_xlabel(f"{metric} (error bars: standard deviation over folds)")
        fig.legend(loc="outside upper left", ncols=1)
        return as_svg(fig, "importance")
