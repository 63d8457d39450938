"""A study as a page of Markdown, the paper's numbers beside ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np

from consilience.benchmark.results import LOWER_IS_BETTER, Cell, CellKey, Results, compare_with_best
from consilience.benchmark.statistics import Ranking
from consilience.benchmark.suite import Suite
from consilience.benchmark.tasks import Condition
from consilience.benchmark.work import COST_METRICS

__all__ = ["MANY_COLUMNS", "Ranked", "format_cell", "format_paper_cell", "study_page"]

MANY_COLUMNS = 4  # data sets from which on they become the columns of one table
DIGITS = {**dict.fromkeys(COST_METRICS, 3), "peak_memory": 1}
MIB = 2**20


class Ranked(NamedTuple):
    """Methods ranked over all data sets, and the file of the diagram."""

    ranking: Ranking
    methods: list[str]
    figure: str


def study_page(
    suite: Suite,
    results: Results,
    environments: Iterable[dict[str, Any]],
    notes: Sequence[str] = (),
    rankings: dict[Condition, Ranked] | None = None,
) -> str:
    """The whole page."""
    blocks = [f"# {suite.title}", suite.description.strip()]
    if suite.reference:
        blocks.append(f"Reference: {suite.reference}.")
    blocks += [_how(suite, results, list(environments)), _legend(suite)]
    blocks.append("\n".join(f"- {note}" for note in notes))
    blocks += _tables(suite, results, rankings or {})
    blocks += _against_paper(suite, results)
    blocks += _elsewhere(suite, results)
    blocks += _failures(results)
    return "\n\n".join(block for block in blocks if block) + "\n"


def _how(suite: Suite, results: Results, runs: list[dict[str, Any]]) -> str:
    done = sum(record.done for record in results.records)
    hours = sum(record.seconds for record in results.records) / 3600
    dates = sorted({run["started"][:10] for run in runs}) or [datetime.now(UTC).date().isoformat()]
    period = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    lines = [
        f"Run on {period} by `consilience bench {suite.name}`, seed {suite.seed}: {done} of "
        f"{results.n_tasks} fits done, {len(results.failures)} failed, {hours:.2f} hours of work."
    ]
    kinds = {tuple((k, v) for k, v in run.items() if k != "started") for run in runs}
    for kind in sorted(kinds, key=str):
        lines.append("Versions and machine: " + ", ".join(f"{k} {v}" for k, v in kind) + ".")
    return "\n".join(lines)


def _legend(suite: Suite) -> str:
    return (
        "Means ± standard deviation over splits; **bold** is best, ↓ marks what is worse than the "
        f"best by a {suite.test} test with p < {suite.significance:g}. Times are processor seconds "
        "of one thread, those of fitting with the settings that tuning chose; memory is in MiB "
        "above what the data take."
    )


# -- tables ----------------------------------------------------------------------------------


def _tables(suite: Suite, results: Results, rankings: dict[Condition, Ranked]) -> list[str]:
    """Many data sets or several conditions become columns; otherwise the metrics do."""
    blocks: list[str] = []
    if len(results.datasets) >= MANY_COLUMNS:
        for condition in results.conditions:
            blocks.append(f"## {str(condition) or 'All rows'}")
            for metric in suite.metrics:
                columns = {d: (d, condition, metric) for d in results.datasets}
                blocks += [f"### {metric}", _table(suite, results, columns)]
            if condition in rankings:
                blocks += _ranks(suite, results, rankings[condition])
        return blocks
    for dataset in results.datasets:
        blocks.append(f"## {_text(dataset)}")
        if len(results.conditions) == 1:
            (condition,) = results.conditions
            blocks.append(str(condition))
            columns = {m: (dataset, condition, m) for m in suite.metrics}
            blocks.append(_table(suite, results, columns))
            continue
        for metric in suite.metrics:
            columns = {str(c) or "as it is": (dataset, c, metric) for c in results.conditions}
            blocks += [f"### {metric}", _table(suite, results, columns)]
    return blocks


def _ranks(suite: Suite, results: Results, ranked: Ranked) -> list[str]:
    ranking, names = ranked.ranking, ranked.methods
    order = ranking.mean_ranks.argsort(kind="stable")
    listed = ", ".join(f"{_text(names[m])} {ranking.mean_ranks[m]:.2f}" for m in order)
    return [
        f"Mean ranks by {suite.metrics[0]} over {len(results.datasets)} data sets: {listed}.",
        f"Friedman's test that they are equal: p = {ranking.friedman.p_value:.2g}. By Nemenyi's "
        f"test mean ranks that differ by less than {ranking.critical_difference:.2f} do not differ "
        f"at {suite.significance:g}.",
        f"![mean ranks and critical difference]({ranked.figure})",
    ]


def _table(suite: Suite, results: Results, columns: dict[str, tuple[str, Condition, str]]) -> str:
    """Methods against columns of (data set, condition, metric), each with the paper's if known."""
    head, parts = ["method"], []
    for title, (dataset, condition, metric) in columns.items():
        marks = compare_with_best(results, suite, dataset, condition, metric)
        parts.append(_our_column(results, dataset, condition, metric, marks))
        head.append(title)
        if any(suite.reported(dataset, condition, m, metric) for m in results.methods):
            parts.append(_paper_column(suite, dataset, condition, metric))
            head.append(f"{title}, paper")
    rows = [[method, *(part(method) for part in parts)] for method in results.methods]
    return _grid(head, [row for row in rows if any(row[1:])])


def _our_column(
    results: Results, dataset: str, condition: Condition, metric: str, marks: dict[str, str]
) -> Callable[[str], str]:
    def column(method: str) -> str:
        text = format_cell(results.cell(CellKey(dataset, condition, method), metric), metric)
        mark = "" if metric in COST_METRICS else marks.get(method, "")
        return f"**{text}**" if mark == "best" else f"{text} ↓" if mark == "worse" else text

    return column


def _paper_column(
    suite: Suite, dataset: str, condition: Condition, metric: str
) -> Callable[[str], str]:
    return lambda method: format_paper_cell(suite, CellKey(dataset, condition, method), metric)


def format_cell(cell: Cell, metric: str) -> str:
    """Mean ± deviation, or what is wrong with the cell; nothing for a cell without tasks."""
    if cell.n_failed:
        return f"{cell.n_failed} of {cell.n_tasks} failed"
    if cell.n_missing:
        return f"{cell.n_missing} of {cell.n_tasks} to do"
    if cell.n_tasks == 0:
        return ""
    if np.isnan(cell.mean):
        return "–"
    digits, scale = DIGITS.get(metric, 4), MIB if metric == "peak_memory" else 1
    text = f"{cell.mean / scale:.{digits}f}"
    return text + ("" if np.isnan(cell.deviation) else f" ± {cell.deviation / scale:.{digits}f}")


def format_paper_cell(suite: Suite, key: CellKey, metric: str) -> str:
    """The paper's number, if it has one."""
    lines = suite.reported(key.dataset, key.condition, key.method, metric)
    if lines is None:
        return ""
    mean, deviation = lines
    return f"{mean:g}" + ("" if deviation is None else f" ± {deviation:g}")


# -- the paper -------------------------------------------------------------------------------


def _against_paper(suite: Suite, results: Results) -> list[str]:
    """Where ours and the paper's differ by more than one standard deviation, either way."""
    below: list[str] = []
    above: list[str] = []
    within = 0
    for key in results.cells:
        for metric in [m for m in suite.metrics if m not in COST_METRICS]:
            result = suite.reported(key.dataset, key.condition, key.method, metric)
            cell = results.cell(key, metric)
            if result is None or np.isnan(cell.mean):
                continue
            mean, deviation = result
            width = max(deviation or 0.0, float(np.nan_to_num(cell.deviation)))
            difference = cell.mean - mean
            gain = -difference if metric in LOWER_IS_BETTER else difference
            place = ", ".join(filter(None, [key.dataset, str(key.condition), key.method, metric]))
            line = f"- {_text(place)}: {cell.mean:.4f}, paper {mean:g} ({difference:+.4f})"
            if abs(gain) <= width:
                within += 1
            else:
                (below if gain < 0 else above).append(line)
    total = within + len(below) + len(above)
    if total == 0:
        return []
    blocks = [
        "## Against the paper",
        f"{within} of {total} numbers lie within one standard deviation (the larger of both) of "
        "the paper's.",
    ]
    for title, lines in (("Not reached", below), ("Better than reported", above)):
        if lines:
            blocks.append(f"{title} ({len(lines)}):\n\n" + "\n".join(lines))
    return blocks


def _elsewhere(suite: Suite, results: Results) -> list[str]:
    """Numbers of the paper that have nothing beside them here."""
    rows = []
    for entry in suite.paper:
        for method, metrics in entry.results.items():
            key = CellKey(entry.dataset, suite.condition_for(entry), method)
            for metric in metrics:
                if metric not in suite.metrics or not results.cell(key, metric).n_tasks:
                    number = format_paper_cell(suite, key, metric)
                    rows.append([entry.dataset, str(key.condition), method, metric, number])
    if not rows:
        return []
    title = "## Reported by the paper, not run here"
    return [title, _grid(["data set", "condition", "method", "metric", "paper"], rows)]


def _failures(results: Results) -> list[str]:
    if not results.failures:
        return []
    rows = [[str(value)[:200] for value in kind] for kind in results.failure_summary()]
    return ["## Failures", _grid(["data set", "method", "how", "error", "fits"], rows)]


def _grid(head: list[str], rows: list[list[str]]) -> str:
    lines = [[_text(cell) for cell in row] for row in [head, *rows]]
    rule = ["---"] * len(head)
    return "\n".join("| " + " | ".join(line) + " |" for line in [lines[0], rule, *lines[1:]])


def _text(value: str) -> str:
    """Text that cannot break a table or bring in HTML."""
    for old, new in (("&", "&amp;"), ("<", "&lt;"), ("|", "\\|"), ("\n", " ")):
        value = value.replace(old, new)
    return value
