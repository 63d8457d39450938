"""The critical-difference diagram of J. Demšar (2006)."""

from __future__ import annotations

from typing import Any

import numpy as np

from consilience.benchmark.statistics import Ranking

__all__ = ["critical_difference_diagram"]


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
