"""Figures of the report as inline SVG: text stays text, colours follow the page.

Black is drawn as ``currentColor``, so that one figure serves light and dark pages.
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

from consilience.report.summaries import Calibration, Curve, Row

__all__ = [
    "as_svg",
    "calibration_figure",
    "confusion_figure",
    "curve_figure",
    "importance_figure",
    "ranking_figure",
    "time_figure",
]

INK = "#010203"  # replaced by currentColor
BLUE, ORANGE, TEAL = "#3f7fd0", "#d9822b", "#2a9d8f"
COLOURS = (BLUE, ORANGE, TEAL)
WIDTH = 4.9  # inches; narrow, so that text is readable on a phone
SHOWN = 26  # letters of a name
FREE = 11.0  # points of room that a label needs
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "legend.frameon": False,
    "text.parse_math": False,
}
NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))


def short(name: str) -> str:
    """A name that fits beside an axis."""
    name = "".join(letter if letter.isprintable() else " " for letter in name)
    return name if len(name) <= SHOWN else f"{name[: SHOWN - 1]}…"


def figure(height: float) -> tuple[Figure, Any]:
    """An empty figure of the page's width."""
    made = Figure(figsize=(WIDTH, height), layout="constrained")
    made.patch.set_alpha(0.0)
    ax = made.subplots()
    ax.patch.set_alpha(0.0)
    return made, ax


def as_svg(made: Figure, name: str) -> Markup:
    """The figure as an element for the page; ``name`` keeps ids of several figures apart."""
    buffer = io.StringIO()
    with rc_context({**STYLE, "svg.hashsalt": f"consilience {name}"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # the reader's fonts draw the text
        made.savefig(buffer, format="svg", metadata=NO_METADATA)
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, count=1, flags=re.DOTALL)
    text = re.sub(r"<style type=\"text/css\">.*?</style>", "", text, count=1, flags=re.DOTALL)
    text = re.sub(r'^<svg([^>]*?) width="[^"]*"', r"<svg\1", text, count=1)
    text = re.sub(r'^<svg([^>]*?) height="[^"]*"', r"<svg\1", text, count=1)
    text = re.sub(r'\bid="(\w+_\d+)"', rf'id="{name}-\1"', text)
    return Markup(text.replace(INK, "currentColor").replace("<svg", '<svg aria-hidden="true"', 1))


def ranking_figure(rows: Sequence[Row], metric: str) -> Markup:
    """Means with intervals, the best on top."""
    known = [row for row in rows if row.complete]
    with rc_context(STYLE):
        made, ax = figure(0.7 + 0.21 * len(known))
        places = np.arange(len(known))[::-1]
        means = np.array([row.score for row in known])
        reach = np.nan_to_num([[r.score - r.low, r.high - r.score] for r in known]).T
        ax.errorbar(means, places, xerr=reach, fmt="none", ecolor=BLUE, elinewidth=1.4)
        ax.plot(means, places, "o", color=BLUE, ms=4.5)
        ax.plot(means[:1], places[:1], "o", color=ORANGE, ms=6)
        ax.axvline(means[0], color=INK, lw=0.5, ls=":")
        ax.set_yticks(places, [short(row.method) for row in known])
        ax.set_xlabel(f"{metric} (mean and 95 % interval)")
        ax.tick_params(axis="y", length=0)
        return as_svg(made, "ranking")


def time_figure(rows: Sequence[Row], metric: str) -> Markup:
    """Score against time of one fit; numbers are places in the ranking."""
    known = [(place, row) for place, row in enumerate(rows, start=1) if row.complete]
    with rc_context(STYLE):
        made, ax = figure(3.0)
        seconds = [max(row.fit_seconds, 1e-3) for _, row in known]
        ax.plot(seconds, [row.score for _, row in known], "o", color=BLUE, ms=4)
        ax.set_xscale("log")
        ax.set_xlabel("processor seconds of one fit")
        ax.set_ylabel(metric)
        ax.margins(0.08, 0.1)
        ax.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
        _number_points(ax, [str(place) for place, _ in known])
        return as_svg(made, "time")


def _number_points(ax: Any, labels: Sequence[str]) -> None:
    """A label beside each point of the only line, on the side that is farthest from all others."""
    points = ax.transData.transform(ax.lines[0].get_xydata()) * 72 / ax.figure.dpi
    taken = [*points]
    for point, label in zip(points, labels, strict=True):
        width = 2.5 * len(label)
        sides = [np.array([x, y]) for y in (6.5, -6.5, 0) for x in (3 + width, -3 - width)]
        others = np.array([p for p in taken if p is not point])
        room = [np.hypot(*(others - point - s).T).min() if len(others) else 1.0 for s in sides]
        side = sides[int(np.argmax(np.minimum(room, FREE)))]
        taken.append(point + side)
        ax.annotate(
            label, ax.transData.inverted().transform(point * ax.figure.dpi / 72), side,
            textcoords="offset points", fontsize=8, ha="center", va="center",
        )  # fmt: skip


def confusion_figure(table: np.ndarray, classes: Sequence[str]) -> Markup:
    """Shares of each true class by predicted class, with counts where there is room."""
    n = len(classes)
    with rc_context(STYLE):
        made, ax = figure(min(1.6 + 0.26 * n, 5.5))
        shares = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
        for i in range(n):
            for j in range(n):
                if table[i, j]:
                    # a square of the page's colour, its strength the share
                    cell = {"facecolor": BLUE if i == j else ORANGE, "lw": 0}
                    ax.add_patch(_square(j, i, alpha=0.12 + 0.78 * float(shares[i, j]), **cell))
                    if n <= 14:
                        ax.text(j, i, str(table[i, j]), ha="center", va="center", fontsize=8)
        ax.set_xlim(-0.5, n - 0.5)
        ax.set_ylim(n - 0.5, -0.5)
        if n <= 30:
            names = [short(name) for name in classes]
            ax.set_xticks(range(n), names, rotation=90 if max(map(len, names)) > 3 else 0)
            ax.set_yticks(range(n), names)
        ax.set_xlabel("predicted")
        ax.set_ylabel("true")
        return as_svg(made, "confusion")


def _square(x: int, y: int, **style: Any) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((x - 0.48, y - 0.48), 0.96, 0.96, **style)


def calibration_figure(result: Calibration) -> Markup:
    """Accuracy against confidence; points on the diagonal are honest."""
    with rc_context(STYLE):
        made, ax = figure(3.0)
        low = min(result.confidence.min(), result.accuracy.min(), 0.9)
        ax.plot([low, 1], [low, 1], color=INK, lw=0.6, ls=":")
        sizes = 12 + 90 * result.samples / result.samples.max()
        ax.plot(result.confidence, result.accuracy, color=BLUE, lw=1)
        ax.scatter(result.confidence, result.accuracy, s=sizes, color=BLUE)
        ax.set_xlabel("confidence of the prediction")
        ax.set_ylabel("how often it is right")
        return as_svg(made, "calibration")


def curve_figure(result: Sequence[Curve], metric: str) -> Markup:
    """Score by number of training samples."""
    with rc_context(STYLE):
        made, ax = figure(3.0)
        for curve, colour, marker in zip(result, COLOURS, "os^", strict=False):
            label = short(curve.method)
            error = np.nan_to_num(curve.deviations)
            ax.errorbar(
                curve.sizes, curve.means, yerr=error, color=colour, marker=marker, ms=4, lw=1.2,
                elinewidth=0.8, capsize=2, label=label,
            )  # fmt: skip
        ax.set_xscale("log")
        sizes = sorted({size for curve in result for size in curve.sizes})
        ax.set_xticks(sizes, [str(size) for size in sizes])
        ax.set_xticks([], minor=True)
        ax.set_xlabel("training samples")
        ax.set_ylabel(metric)
        ax.legend(loc="lower right")
        return as_svg(made, "curve")


def importance_figure(
    permutation: dict[str, tuple[float, float]], shapley: dict[str, tuple[float, float]]
) -> Markup:
    """Both importances of every view, the most important on top."""
    views = sorted(permutation, key=lambda view: shapley.get(view, (0, 0))[0])
    with rc_context(STYLE):
        made, ax = figure(0.9 + 0.36 * len(views))
        places = np.arange(len(views))
        for shift, result, colour, label in (
            (0.2, shapley, BLUE, "share of the accuracy (Shapley)"),
            (-0.2, permutation, ORANGE, "accuracy lost when shuffled"),
        ):
            means = [result.get(view, (0.0, 0.0))[0] for view in views]
            spread = [result.get(view, (0.0, 0.0))[1] for view in views]
            ax.barh(
                places + shift, means, 0.36, xerr=spread, color=colour, label=label, ecolor=INK,
                error_kw={"elinewidth": 0.7},
            )  # fmt: skip
        ax.set_yticks(places, [short(view) for view in views])
        ax.axvline(0, color=INK, lw=0.5)
        ax.tick_params(axis="y", length=0)
        ax.set_xlabel("accuracy (error bars: deviation between folds)")
        made.legend(loc="outside upper left", ncols=1)
        return as_svg(made, "importance")
