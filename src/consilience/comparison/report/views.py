"""Views in the report: how they repeat or complement each other, and which samples lack them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from markupsafe import Markup
from matplotlib import rc_context

from consilience.comparison.record import Run
from consilience.comparison.report.figures import (
    BLUE,
    ORANGE,
    STYLE,
    as_svg,
    make_figure,
    shorten,
    square,
)
from consilience.comparison.study import StudyResults

__all__ = ["ViewPair", "pattern_figure", "redundancy_figure", "single_views", "view_pairs"]


@dataclass(frozen=True)
class ViewPair:
    """Two views: score of each alone, of both, gain over the better one, and agreement."""

    first: str
    second: str
    first_score: float
    second_score: float
    both: float
    gain: float
    agreement: float


def single_views(results: StudyResults) -> dict[str, float]:
    """Mean score of the best method when it has only one view, by view."""
    return _means(results, "alone")


def _means(results: StudyResults, part: str) -> dict[str, float]:
    values: dict[str, list[float]] = {}
    for record in results.importance.records:
        for name, value in record.outcome.diagnostics.get("single_views", {}).get(part, {}).items():
            values.setdefault(name, []).append(np.nan if value is None else value)
    return {name: float(np.mean(v)) for name, v in values.items()}


def view_pairs(run: Run, results: StudyResults, sign: float) -> list[ViewPair]:
    """Every pair of views that was examined, those that complement each other most first."""
    alone, both, agreement = (_means(results, part) for part in ("alone", "pairs", "agreement"))
    names = [view.name for view in run.data.views]
    pairs = []
    for first, second in combinations(names, 2):
        key = json.dumps([first, second])
        if key not in both:
            continue
        better = max(sign * alone[first], sign * alone[second])
        pairs.append(
            ViewPair(
                first,
                second,
                alone[first],
                alone[second],
                both[key],
                sign * both[key] - better,
                agreement[key],
            )
        )
    return sorted(pairs, key=lambda pair: (np.isnan(pair.gain), -pair.gain))


def redundancy_figure(run: Run, results: StudyResults, metric: str) -> Markup | None:
    """Score of pairs of views above the diagonal, of single ones on it, agreement below."""
    alone, both, agreement = (_means(results, part) for part in ("alone", "pairs", "agreement"))
    names = [view.name for view in run.data.views if view.name in alone]
    if len(names) < 2:
        return None
    n = len(names)
    with rc_context(STYLE):
        fig, ax = make_figure(min(1.3 + 0.42 * n, 5.5))
        scores = [*alone.values(), *both.values()]
        low, high = float(np.nanmin(scores)), float(np.nanmax(scores))
        span = (high - low) or 1.0
        for i in range(n):
            for j in range(n):
                first, second = names[min(i, j)], names[max(i, j)]
                key = json.dumps([first, second])
                if i > j:
                    value, colour, share = agreement.get(key), ORANGE, agreement.get(key, 0.0)
                else:
                    value = alone[names[i]] if i == j else both.get(key)
                    colour, share = BLUE, 0.0 if value is None else (value - low) / span
                if value is None or np.isnan(value):
                    continue
                ax.add_patch(square(j, i, facecolor=colour, alpha=0.15 + 0.6 * share, lw=0))
                ax.text(j, i, f"{value:.2f}", ha="center", va="center", fontsize=8)
        ax.set_xlim(-0.5, n - 0.5)
        ax.set_ylim(n - 0.5, -0.5)
        labels = [shorten(name) for name in names]
        ax.set_xticks(range(n), labels, rotation=90 if max(map(len, labels)) > 5 else 0)
        ax.set_yticks(range(n), labels)
        ax.set_xlabel(f"blue: {metric}; orange: agreement")
        return as_svg(fig, "redundancy")


def pattern_figure(run: Run) -> Markup | None:
    """Which views samples have: a row for each combination, most frequent on top."""
    patterns = run.data.patterns
    if len(patterns) < 2:
        return None
    names = [view.name for view in run.data.views]
    with rc_context(STYLE):
        fig, ax = make_figure(0.9 + 0.26 * len(patterns))
        for i, pattern in enumerate(patterns):
            for j, name in enumerate(names):
                has_view = name in pattern.views
                style = {"facecolor": BLUE if has_view else "none", "alpha": 0.8}
                ax.add_patch(square(j, i, edgecolor="#8a939e", lw=0.6, **style))
        ax.set_xlim(-0.6, len(names) - 0.4)
        ax.set_ylim(len(patterns) - 0.4, -0.6)
        labels = [shorten(name) for name in names]
        ax.set_xticks(range(len(names)), labels, rotation=90 if max(map(len, labels)) > 8 else 0)
        counts = [f"{p.samples} ({p.samples / run.data.samples:.0%})" for p in patterns]
        ax.set_yticks(range(len(patterns)), counts)
        ax.set_ylabel("samples")
        ax.tick_params(length=0)
        return as_svg(fig, "patterns")
