"""Write the results of a suite: a Markdown page, csv files and diagrams of ranks.

Every file is first written under a temporary name and then moved, so that it is never incomplete.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from consilience._atomic_write import write_atomically
from consilience.benchmark.curves import Panel, collect_panels
from consilience.benchmark.markdown import (
    MIN_DATASETS_AS_COLUMNS,
    MethodRanking,
    study_page,
)
from consilience.benchmark.metrics import DESCRIPTIVE_METRICS, LOWER_IS_BETTER
from consilience.benchmark.published import page_name
from consilience.benchmark.results import CellKey, Results
from consilience.benchmark.statistics import Ranking, compare_methods
from consilience.benchmark.suite import Suite
from consilience.benchmark.tasks import Condition

__all__ = ["csv_text", "raw_csv", "summary_csv", "write_results"]

CONDITION_FIELDS = Condition.__struct_fields__
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def write_results(
    suite: Suite,
    results: Results,
    environments: Iterable[dict[str, Any]],
    folder: Path,
    notes: Sequence[str] = (),
    options: str = "",
) -> list[Path]:
    """Write ``<page>.md``, ``<page>.csv`` and figures; return the paths.

    ``options`` are those of the command that wrote the results.
    """
    folder.mkdir(parents=True, exist_ok=True)
    page = page_name(suite.name)
    files, rankings = {}, {}
    for number, (condition, ranking, names) in enumerate(_rankings(suite, results), start=1):
        suffix = f"-{number}" if len(results.conditions) > 1 else ""
        figure = f"{page}{suffix}-ranks.svg"
        files[figure] = _diagram(ranking, names)
        rankings[condition] = MethodRanking(ranking, names, figure)
    figures = {}
    for number, curve in enumerate(suite.curves, start=1):
        panels = collect_panels(suite, results, curve)
        if panels:
            figures[curve.title] = f"{page}-curve-{number}.svg"
            files[figures[curve.title]] = _curve_figure(panels)
    files[f"{page}.csv"] = summary_csv(suite, results)
    files[f"{page}.md"] = study_page(
        suite, results, environments, notes, rankings, figures, options
    )
    for name, content in files.items():
        write_atomically(folder / name, content)
    return [folder / name for name in files]


def summary_csv(suite: Suite, results: Results) -> str:
    """Summarise as csv: one row for each data set, condition, method and metric."""
    keys = ["dataset", *CONDITION_FIELDS, "method", "metric"]
    numbers = ["mean", "deviation", "splits", "failed", "paper_mean", "paper_deviation", "seconds"]
    header = [*keys, *numbers]
    rows = []
    for key in results.cell_keys:
        condition = [getattr(key.condition, name) for name in CONDITION_FIELDS]
        for metric in suite.metrics:
            cell = results.cell(key, metric)
            paper = suite.paper_result(key.dataset, key.condition, key.method, metric) or ("", "")
            values = [_number(cell.mean), _number(cell.deviation), len(cell.scores), cell.n_failed]
            seconds = round(results.seconds(key), 2)
            rows.append([key.dataset, *condition, key.method, metric, *values, *paper, seconds])
    return csv_text(header, rows)


def raw_csv(results: Results) -> str:
    """Export as csv: one row for each task."""
    metrics = sorted({name for record in results.records for name in record.outcome.metrics})
    keys = ["dataset", *CONDITION_FIELDS, "positive", "split", "method", "status"]
    rows = []
    for record in results.records:
        task, outcome = record.task, record.outcome
        condition = [getattr(task.condition, name) for name in CONDITION_FIELDS]
        values = [_exact(outcome.metrics.get(name, np.nan)) for name in metrics]
        position = [task.positive_class, task.index, task.method_name, outcome.status]
        rows.append([task.dataset_name, *condition, *position, *values, outcome.error])
    return csv_text([*keys, *metrics, "error"], rows)


def csv_text(header: list[str], rows: Iterable[list]) -> str:
    """Format a csv file in which no cell can be taken for a formula."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([_escape_formula(value) for value in header])
    writer.writerows([_escape_formula(value) for value in row] for row in rows)
    return buffer.getvalue()


def _escape_formula(value: Any) -> Any:
    """Mark as text what a spreadsheet would interpret as a formula; "-1" is a number."""
    is_formula = isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r", "\n")
    return f"'{value}" if is_formula and not NUMBER.fullmatch(value) else value


def _exact(value: float) -> str | float:
    return "" if np.isnan(value) else float(value)


def _number(value: float) -> str | float:
    return "" if np.isnan(value) else round(float(value), 10)


def _rankings(suite: Suite, results: Results) -> Iterator[tuple[Condition, Ranking, list[str]]]:
    """Rank the methods that have results on all data sets (Friedman and Nemenyi tests)."""
    metric = suite.metrics[0]
    if len(results.datasets) < MIN_DATASETS_AS_COLUMNS or metric in DESCRIPTIVE_METRICS:
        return
    sign = -1.0 if metric in LOWER_IS_BETTER else 1.0
    for condition in results.conditions:
        means = {}
        for method in results.methods:
            cells = [results.cell(CellKey(d, condition, method), metric) for d in results.datasets]
            row = [sign * cell.mean for cell in cells]
            if not np.isnan(row).any():
                means[method] = row
        if len(means) >= 3:
            scores = np.array(list(means.values())).T
            yield condition, compare_methods(scores, suite.significance), list(means)


def _diagram(ranking: Ranking, names: list[str]) -> str:
    from consilience.benchmark.figures import as_svg, critical_difference_diagram

    return as_svg(critical_difference_diagram(ranking, names).figure)


def _curve_figure(panels: list[Panel]) -> str:
    from consilience.benchmark.figures import as_svg, draw_panels

    return as_svg(draw_panels(panels)[0])
