"""Features in the report: the most important ones of each view."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup
from matplotlib import rc_context

from consilience.comparison.record import FeatureSummary
from consilience.comparison.report.figures import (
    BLUE,
    GREY,
    STYLE,
    TEXT_COLOUR,
    as_svg,
    make_figure,
    shorten,
)

__all__ = ["features_figure"]


def features_figure(features: FeatureSummary) -> Markup:
    """Bars of the features, view by view; grey if not significant."""
    rows = features.rows
    views = list(dict.fromkeys(row.view for row in rows))
    with rc_context(STYLE):
        fig, ax = make_figure(0.7 + 0.19 * (len(rows) + len(views)))
        place, labels, y = 0, [], []
        for view in views:
            labels.append(shorten(view).upper())
            y.append(place)
            place += 1
            for row in (row for row in rows if row.view == view):
                ax.barh(
                    place, row.importance, 0.7, xerr=row.std, ecolor=TEXT_COLOUR,
                    color=BLUE if row.q_value <= features.fdr else GREY,
                    error_kw={"elinewidth": 0.7},
                )  # fmt: skip
                labels.append(shorten(row.feature))
                y.append(place)
                place += 1
        ax.set_yticks(y, labels, fontsize=8)
        ax.set_ylim(place - 0.4, -0.6)
        ax.axvline(0, color=TEXT_COLOUR, lw=0.5)
        ax.set_xlim(left=min(0.0, float(np.min([row.importance for row in rows]))))
        ax.tick_params(axis="y", length=0)
        ax.set_xlabel("importance (error bars: standard deviation over folds)")
        return as_svg(fig, "features")
