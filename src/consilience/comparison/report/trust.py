"""Trust in the report: curve of costs, and the names of samples to look at."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup
from matplotlib import rc_context

from consilience.comparison.record import Run
from consilience.comparison.report.figures import (
    BLUE,
    GREY,
    ORANGE,
    STYLE,
    as_svg,
    make_figure,
    shorten,
)

__all__ = ["cost_figure", "trust_context"]


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


def trust_context(run: Run) -> dict[str, Any]:
    """What the template shows: suspects with the names of samples and classes, and the figure."""
    content = run.trust
    if content is None:
        return {
            "trust": None,
            "mix_ups": [],
            "label_suspects": [],
            "conflicts": [],
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
        "cost_svg": cost_figure(run),
    }
