"""What the decision of the default classifier rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from consilience._default._kernel import TUNING_ROWS, KernelMember, fit_on_tuning_rows
from consilience._default._reference_set import imputed_distances

__all__ = ["Explanation", "explain_views"]


@dataclass(frozen=True)
class Explanation:
    """Members and views as lists of dicts; as text, two tables."""

    members: list[dict[str, Any]]
    views: list[dict[str, Any]]

    def __str__(self) -> str:
        return f"{_table(self.members)}\n\n{_table(self.views)}"


def explain_views(kernel: KernelMember) -> list[dict[str, Any]]:
    """For each view its weight, what it explains alone, and what it adds to the other views.

    "alone" and "adds" are shares of the labels' variance that the kernel member explains in rows
    left out, computed on at most 1000 rows.
    """
    reference_set = kernel.reference_set.head(TUNING_ROWS)
    used = np.flatnonzero(kernel.view_weights).tolist()
    Ds = {
        v: imputed_distances(reference_set, v, reference_set.views[v].own_distances()) for v in used
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
                "alone": float(kernel.view_scores[v]),
                "adds": float(everything - without) if v in Ds else 0.0,
            }
        )
    return rows


def _explained(kernel: KernelMember, Ds: dict[int, np.ndarray], views: Sequence[int]) -> float:
    weights, linear = kernel.view_weights[views], kernel.reference_set.linear[views]
    weights = weights / weights.sum()
    Y, weight = kernel.targets, kernel.weight
    fit = fit_on_tuning_rows(
        [Ds[v] for v in views], weights, kernel.width, linear, Y, weight, kernel.folds
    )
    return 1.0 - fit.error / (weight[:TUNING_ROWS] @ (Y[:TUNING_ROWS] ** 2).sum(axis=1))


def _table(rows: list[dict[str, Any]]) -> str:
    """Rows of a table as text, the first column left-aligned."""
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
