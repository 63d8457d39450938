"""Curves of a study: a score against a number that varies between its cells.

The number is a field of the condition (training size, noise, share of missing views), the number of
rounds of boosting, or part of the names of methods or data sets, which a pattern picks out.
"""

from __future__ import annotations

import re
from typing import Any, Literal

import numpy as np
from msgspec import Struct

from consilience.benchmark.results import CellKey, Results
from consilience.benchmark.statistics import mean_and_deviation
from consilience.benchmark.suite import Suite
from consilience.benchmark.suite_curves import Curve
from consilience.benchmark.tasks import Condition

__all__ = ["CurveDisplay", "Panel", "Point", "collect_panels"]

ROUNDS_SHOWN = 60  # at most so many points on a curve of rounds


class Point(Struct, frozen=True):
    """A mean over splits and its standard deviation; NaN for one split."""

    x: float
    mean: float
    deviation: float = np.nan


class Panel(Struct):
    """The curves of one data set (and condition): ours, the paper's, and constant levels."""

    title: str
    x_label: str
    y_label: str
    ours: dict[str, list[Point]]
    paper: dict[str, list[Point]]
    levels: dict[str, Point]
    scale: Literal["linear", "log"] = "linear"


def collect_panels(suite: Suite, results: Results, curve: Curve) -> list[Panel]:
    """Return the panels of a curve that have results."""
    if curve.x == "rounds":
        panels = _round_panels(results, curve)
    elif curve.x == "dataset":
        panels = [_dataset_panel(suite, results, curve)]
    elif curve.x == "method":
        panels = _method_panels(suite, results, curve)
    else:
        panels = _condition_panels(suite, results, curve)
    return [panel for panel in panels if panel.ours]


def _panel(title: str, curve: Curve) -> Panel:
    return Panel(title, curve.label or curve.x, curve.metric, {}, {}, {}, curve.scale)


def _chosen_methods(results: Results, curve: Curve) -> list[str]:
    return [m for m in results.methods if curve.methods is None or m in curve.methods]


def _add(points: dict[str, list[Point]], name: str, point: Point) -> None:
    if not np.isnan(point.mean):
        points.setdefault(name, []).append(point)


def _point(results: Results, key: CellKey, metric: str, x: float) -> Point:
    cell = results.cell(key, metric)
    return Point(x, cell.mean, cell.deviation)


def _add_paper(panel: Panel, suite: Suite, key: CellKey, metric: str, x: float) -> None:
    reported = suite.paper_result(key.dataset, key.condition, key.method, metric)
    if reported is not None:
        mean, deviation = reported
        _add(panel.paper, key.method, Point(x, mean, np.nan if deviation is None else deviation))


def _condition_panels(suite: Suite, results: Results, curve: Curve) -> list[Panel]:
    """One panel for each data set; conditions that alter anything else are left out."""
    panels = []
    conditions = [condition for condition in results.conditions if curve.includes(condition)]
    for dataset in results.datasets:
        panel = _panel(dataset, curve)
        for condition in conditions:
            x = getattr(condition, curve.x)
            for method in _chosen_methods(results, curve):
                key = CellKey(dataset, condition, method)
                _add(panel.ours, method, _point(results, key, curve.metric, x))
                _add_paper(panel, suite, key, curve.metric, x)
        panels.append(panel)
    return panels


def _dataset_panel(suite: Suite, results: Results, curve: Curve) -> Panel:
    """One panel; x is picked out of the names of the data sets."""
    panel = _panel("", curve)
    for dataset in results.datasets:
        match = re.fullmatch(curve.pattern, dataset)
        if match is None:
            continue
        x = float(match["x"])
        for method in _chosen_methods(results, curve):
            key = CellKey(dataset, suite.main_condition, method)
            _add(panel.ours, method, _point(results, key, curve.metric, x))
            _add_paper(panel, suite, key, curve.metric, x)
    return panel


def _method_panels(suite: Suite, results: Results, curve: Curve) -> list[Panel]:
    """One panel for each data set; x and the name of the curve are picked out of the methods.

    Methods that do not match are constant levels.
    """
    panels = []
    for dataset in results.datasets:
        panel = _panel(dataset, curve)
        for method in _chosen_methods(results, curve):
            match = re.fullmatch(curve.pattern, method)
            key = CellKey(dataset, suite.main_condition, method)
            x = float(match["x"]) if match else np.nan
            point = _point(results, key, curve.metric, x)
            if match:
                _add(panel.ours, match["name"], point)
            elif not np.isnan(point.mean):
                panel.levels[method] = point
        panels.append(panel)
    return panels


def _round_panels(results: Results, curve: Curve) -> list[Panel]:
    """One panel for each data set and condition, from the stored scores of every round."""
    stages: dict[tuple[str, Condition], dict[str, list[np.ndarray]]] = {}
    methods = _chosen_methods(results, curve)
    for record in results.records:
        staged = record.outcome.diagnostics.get("staged")
        if staged and record.task.method_name in methods:
            task = record.task
            of_methods = stages.setdefault((task.dataset_name, task.condition), {})
            scores = np.array([staged[key] for key in sorted(staged, key=int)])
            of_methods.setdefault(task.method_name, []).append(scores)
    panels = []
    for (dataset, condition), of_methods in stages.items():
        panel = _panel(", ".join(filter(None, [dataset, str(condition)])), curve)
        for method, runs in of_methods.items():
            panel.ours[method] = _mean_stages(runs)
        panels.append(panel)
    return panels


def _mean_stages(runs: list[np.ndarray]) -> list[Point]:
    """Means over splits; a run that ended early stays at its last score."""
    length = max(map(len, runs))
    table = np.array([np.pad(run, (0, length - len(run)), mode="edge") for run in runs])
    picked = np.unique(np.linspace(0, length - 1, min(length, ROUNDS_SHOWN)).round().astype(int))
    return [Point(float(i + 1), *mean_and_deviation(table[:, i])) for i in picked]


class CurveDisplay:
    """Curves with bands of one standard deviation; the paper's numbers are open circles.

    Parameters
    ----------
    panels : list of Panel
        From ``collect_panels``.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        One for each panel.
    figure_ : matplotlib Figure
        Figure with the plots.

    Examples
    --------
    >>> from consilience.benchmark import CurveDisplay
    >>> from consilience.benchmark.curves import Panel, Point
    >>> curve = [Point(50, 0.8, 0.02), Point(100, 0.9, 0.01)]
    >>> panel = Panel("digits", "rows", "accuracy", {"late fusion": curve}, {}, {})
    >>> len(CurveDisplay([panel]).plot().axes_)
    1
    """

    def __init__(self, panels: list[Panel]) -> None:
        self.panels = panels

    @classmethod
    def from_results(cls, suite: Suite, results: Results, curve: Curve) -> CurveDisplay:
        """Collect the points of a curve from stored results and draw them.

        Parameters
        ----------
        suite : Suite
            With the paper's numbers.
        results : Results
            From ``collect_results``.
        curve : Curve
            One of ``suite.curves``.

        Returns
        -------
        CurveDisplay
        """
        return cls(collect_panels(suite, results, curve)).plot()

    def plot(self) -> CurveDisplay:
        """Draw all panels in a new figure.

        Returns
        -------
        self
        """
        from consilience.benchmark.figures import draw_panels

        self.figure_, self.axes_ = draw_panels(self.panels)
        return self

    def _repr_html_(self) -> str:
        from consilience.benchmark.figures import as_svg

        return as_svg(self.plot().figure_)

    def __repr__(self) -> str:
        titles: Any = [panel.title for panel in self.panels]
        return f"CurveDisplay({titles})"
