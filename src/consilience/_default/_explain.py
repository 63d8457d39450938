"""What the decision of the default classifier rests on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from consilience._default._kernel import PENALTIES, TUNING_ROWS, combine
from consilience._default._reference_set import imputed_distances
from consilience._solvers.kernel_ridge import kernel_ridge

__all__ = ["Explanation", "explain_views"]


@dataclass(frozen=True)
class Explanation:
    """Members and views as lists of dicts; as text, two tables."""

    members: list
    views: list

    def __str__(self):
        return f"{_table(self.members)}\n\n{_table(self.views)}"


def explain_views(kernel, alone):
    """For each view its weight, what it explains alone, and what all explain more than the others.

    "alone" and "adds" are shares of the labels' variance explained in rows left out, by the kernel
    member on at most 1000 rows.
    """
    reference_set, used = kernel.reference_set, np.flatnonzero(kernel.view_weights)
    Ds = {
        v: imputed_distances(reference_set, v, reference_set.views[v].own_distances())[
            :TUNING_ROWS, :TUNING_ROWS
        ]
        for v in used
    }
    weights = kernel.view_weights / kernel.view_weights.sum()
    everything = _explained(kernel, Ds, used)
    rows = []
    for v, view in enumerate(reference_set.views):
        others = [u for u in used if u != v]
        without = _explained(kernel, Ds, others) if others else 0.0
        rows.append(
            {
                "view": view.name,
                "weight": float(weights[v]),
                "alone": float(alone[v]),
                "adds": float(everything - without) if v in Ds else 0.0,
            }
        )
    return rows


def _explained(kernel, Ds, views):
    view_weights = kernel.view_weights[views]
    linear = kernel.reference_set.linear[views]
    K = combine([Ds[v] for v in views], view_weights / view_weights.sum(), kernel.width, linear)
    Y, weight = kernel.targets[:TUNING_ROWS], kernel.weight[:TUNING_ROWS]
    return 1.0 - kernel_ridge(K, Y, weight, PENALTIES).error / (weight @ (Y**2).sum(axis=1))


def _table(rows):
    """Rows of a table as text, the first column to the left."""
    names = list(rows[0])
    cells = [names] + [
        [f"{value:.3f}" if isinstance(value, float) else str(value) for value in row.values()]
        for row in rows
    ]
    widths = [max(len(row[j]) for row in cells) for j in range(len(names))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if j == 0 else cell.rjust(width)
            for j, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in cells
    )
