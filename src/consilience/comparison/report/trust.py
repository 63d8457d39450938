"""Trust in the report: reliability, conflicts and costs, and the names of samples to look at."""

from __future__ import annotations

from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib import rc_context

from consilience.benchmark.statistics import wilson_interval
from consilience.comparison.record import ConflictingSample, PatternReliability, Run
from consilience.comparison.report.figures import (
    BLUE,
    GREY,
    ORANGE,
    STYLE,
    as_svg,
    make_figure,
    shorten,
)

__all__ = ["conflict_figure", "cost_figure", "reliability_figure", "trust_context"]

ROW_INCHES = 0.24


def cost_figure(run: Run) -> Markup | None:
    """Accuracy against cost, chosen for each sample and in the best fixed order."""
    curve = None if run.trust is None else run.trust.cost_curve
    if curve is None:
        return None
    with rc_context(STYLE):
        fig, ax = make_figure(3.0)
        ax.plot(curve.cost, curve.accuracy, color=ORANGE, label="chosen for each sample")
        order = " → ".join(shorten(name) for name in curve.fixed_order)
        ax.plot(curve.fixed_cost, curve.fixed_accuracy, "o--", color=BLUE, label=order)
        ax.axhline(curve.accuracy[-1], color=GREY, lw=0.8, label="all views")
        ax.set_xlabel("mean cost of a sample")
        ax.set_ylabel("accuracy")
        fig.legend(loc="outside upper left", ncols=1)
        return as_svg(fig, "costs")


def reliability_figure(patterns: list[PatternReliability]) -> Markup | None:
    """Accuracy, with 95 % intervals, and mean confidence for each pattern of views."""
    if not patterns:
        return None
    with rc_context(STYLE):
        fig, ax = make_figure(0.9 + ROW_INCHES * len(patterns))
        places = np.arange(len(patterns))[::-1]
        accuracy = np.array([pattern.accuracy for pattern in patterns])
        counts = [pattern.samples for pattern in patterns]
        low, high = np.transpose(
            [wilson_interval(a, n) for a, n in zip(accuracy, counts, strict=True)]
        )
        ax.hlines(places, low, high, color=BLUE, lw=1.2)
        ax.plot(accuracy, places, "o", color=BLUE, label="accuracy")
        confidence = [pattern.confidence for pattern in patterns]
        ax.plot(confidence, places, "|", color=ORANGE, ms=11, mew=2, label="mean confidence")
        labels = [shorten(" + ".join(pattern.views)) for pattern in patterns]
        ax.set_yticks(places, [f"{a} ({n})" for a, n in zip(labels, counts, strict=True)])
        ax.set_ylim(-0.7, len(patterns) - 0.3)
        ax.set_xlim(right=1.02)
        fig.legend(fontsize=7, loc="outside upper right", ncols=2)
        return as_svg(fig, "reliability")


def conflict_figure(
    samples: list[ConflictingSample], names: list[str], views: list[str]
) -> Markup | None:
    """Map of the conflicts of each view of the listed samples; empty where a view is missing."""
    if not any(sample.by_view for sample in samples):
        return None
    values = np.array([[sample.by_view.get(view, np.nan) for view in views] for sample in samples])
    limit = max(float(np.nanmax(np.abs(values))), 1e-9)
    with rc_context(STYLE):
        fig, ax = make_figure(0.9 + ROW_INCHES * len(samples))
        image = ax.pcolormesh(
            values[::-1], cmap="RdBu_r", vmin=-limit, vmax=limit, edgecolors="none"
        )
        ax.set_xticks(np.arange(len(views)) + 0.5, [shorten(view) for view in views])
        ax.set_yticks(np.arange(len(samples)) + 0.5, [shorten(name) for name in names][::-1])
        ax.tick_params(length=0)
        fig.colorbar(image, ax=ax, label="conflict with the other views")
        return as_svg(fig, "conflicts")


def trust_context(run: Run) -> dict[str, Any]:
    """What the template shows: suspects with the names of samples and classes, and the figure."""
    content = run.trust
    if content is None:
        return {
            "trust": None,
            "mix_ups": [],
            "label_suspects": [],
            "conflicts": [],
            "reliability_svg": None,
            "conflict_svg": None,
            "cost_svg": None,
        }

    def name(row: int) -> str:
        return run.data.sample_ids[row] if run.data.sample_ids else str(row)

    classes = run.data.classes
    return {
        "trust": content,
        "mix_ups": [
            (name(s.row), s.view, "" if s.partner < 0 else name(s.partner), s.q_value)
            for s in content.mix_ups
        ],
        "label_suspects": [
            (name(s.row), classes[s.label], classes[s.predicted], s.probability)
            for s in content.label_suspects
        ],
        "conflicts": [(name(s.row), s.view, s.conflict, s.p_value) for s in content.conflicts],
        "reliability_svg": reliability_figure(content.reliability),
        "conflict_svg": conflict_figure(
            content.conflicts,
            [name(s.row) for s in content.conflicts],
            [v.name for v in run.data.views],
        ),
        "cost_svg": cost_figure(run),
    }
