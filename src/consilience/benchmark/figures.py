"""Figures of a study: the critical-difference diagram of J. Demšar (2006), and curves."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from consilience.benchmark.statistics import Ranking

if TYPE_CHECKING:
    from consilience.benchmark.curves import Panel

__all__ = ["as_svg", "critical_difference_diagram", "draw_panels"]

PANEL_WIDTH, PANEL_HEIGHT, MAX_COLUMNS = 4.2, 3.2, 3
MARKERS = "osD^vP*X<>"


def critical_difference_diagram(ranking: Ranking, names: list[str], ax: Any = None) -> Any:
    """Draw methods at their mean ranks; a bar joins those that do not differ significantly.

    Parameters
    ----------
    ranking : Ranking
        From ``compare_methods``.
    names : list of str
        Names of the methods, in the order of the columns of the scores.
    ax : matplotlib Axes, optional
        Axes to draw on; those of a new figure by default.

    Returns
    -------
    matplotlib Axes
    """
    k = len(names)
    order = np.argsort(ranking.mean_ranks, kind="stable")
    half = (k + 1) // 2
    depth = len(ranking.groups)
    if ax is None:
        from matplotlib.figure import Figure

        ax = Figure(figsize=(8, 0.9 + 0.22 * (half + depth)), layout="constrained").subplots()
    top, bar_gap = 0.0, 0.35
    ax.set_axis_off()
    ax.plot([1, k], [top, top], color="black", lw=1)
    for tick in range(1, k + 1):
        ax.plot([tick, tick], [top, top + 0.25], color="black", lw=1)
        ax.text(tick, top + 0.35, str(tick), ha="center", va="bottom", fontsize=9)
    cd = ranking.critical_difference
    ax.plot([1, 1 + cd], [top + 1.5, top + 1.5], color="black", lw=2)
    ax.text(1 + cd / 2, top + 1.6, f"critical difference {cd:.2f}", ha="center", fontsize=9)
    for level, group in enumerate(ranking.groups):
        ends = ranking.mean_ranks[[group[0], group[-1]]]
        y = top - bar_gap * (level + 1)
        ax.plot([ends[0] - 0.05, ends[1] + 0.05], [y, y], color="black", lw=3)
    start = top - bar_gap * (depth + 1)
    for position, method in enumerate(order):
        left = position < half
        row = position if left else k - 1 - position
        rank, y = ranking.mean_ranks[method], start - 0.6 * (row + 0.5)
        edge = 1 - 0.04 * k if left else k + 0.04 * k
        ax.plot([rank, rank, edge], [top, y, y], color="0.35", lw=0.8)
        text = f"{names[method]}  {rank:.2f}" if left else f"{rank:.2f}  {names[method]}"
        side = "right" if left else "left"
        # a dollar sign in a name does not start a formula
        ax.text(edge, y, text, ha=side, va="center", fontsize=9, parse_math=False)
    ax.set_xlim(1 - 0.35 * k, k + 0.35 * k)
    return ax


def as_svg(figure: Any) -> str:
    """Return a figure as svg; the same figure gives the same text."""
    from matplotlib import rc_context

    buffer = io.StringIO()
    # a fixed salt and no date
    with rc_context({"svg.hashsalt": "consilience", "svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


def draw_panels(panels: list[Panel]) -> tuple[Any, list[Any]]:
    """Draw panels side by side, with one legend below; return the figure and its axes."""
    from matplotlib.figure import Figure

    n_columns = min(len(panels), MAX_COLUMNS)
    n_rows = -(-len(panels) // n_columns)
    names = list(dict.fromkeys(name for p in panels for name in [*p.ours, *p.levels]))
    n_legend_rows = -(-len(names) // (2 * n_columns))
    size = (PANEL_WIDTH * n_columns + 0.6, PANEL_HEIGHT * n_rows + 0.25 * n_legend_rows + 0.3)
    figure = Figure(figsize=size, layout="constrained")
    axes = list(figure.subplots(n_rows, n_columns, squeeze=False).ravel())
    handles: dict[str, Any] = {}
    for ax, panel in zip(axes, panels, strict=False):
        _draw_panel(ax, panel, names, handles)
    for ax in axes[len(panels) :]:
        ax.set_axis_off()
    legend = figure.legend(
        handles.values(), handles, loc="outside lower center", ncols=2 * n_columns, fontsize=8
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
    return figure, axes[: len(panels)]


def _draw_panel(ax: Any, panel: Panel, names: list[str], handles: dict[str, Any]) -> None:
    for name, points in panel.ours.items():
        style = _style(names.index(name))
        x, mean, deviation = (
            np.array([getattr(p, key) for p in sorted(points, key=lambda p: p.x)])
            for key in ("x", "mean", "deviation")
        )
        few = len(x) <= 12
        (line,) = ax.plot(x, mean, ms=4, lw=1.4, **(style if few else {**style, "marker": ""}))
        band = np.nan_to_num(deviation)
        ax.fill_between(x, mean - band, mean + band, color=style["color"], alpha=0.12, lw=0)
        handles.setdefault(name, line)
    for name, point in panel.levels.items():
        color = _style(names.index(name))["color"]
        handles.setdefault(name, ax.axhline(point.mean, color=color, ls="--", lw=1.2))
    for name, points in panel.paper.items():
        color = _style(names.index(name))["color"] if name in names else "black"
        xs, means = [p.x for p in points], [p.mean for p in points]
        circles = ax.scatter(xs, means, s=42, facecolors="none", edgecolors=color, linewidths=1.4)
        handles.setdefault("paper (open circles)", circles)
    ax.set_xscale(panel.scale)
    ax.set_title(panel.title, fontsize=10, parse_math=False)
    ax.set_xlabel(panel.x_label)
    ax.set_ylabel(panel.y_label)
    ax.grid(alpha=0.25, lw=0.5)


def _style(index: int) -> dict[str, Any]:
    """Colour and marker of a curve, which no two of a hundred curves have in common."""
    return {"color": f"C{index % 10}", "marker": MARKERS[(index + index // 10) % len(MARKERS)]}
