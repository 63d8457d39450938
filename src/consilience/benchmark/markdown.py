"""The results of a suite as a Markdown page, with the paper's numbers next to ours."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np

from consilience.benchmark.claims import judge_claim
from consilience.benchmark.metrics import (
    COST_METRICS,
    DESCRIPTIVE_METRICS,
    LOWER_IS_BETTER,
    PANEL_SIZE,
)
from consilience.benchmark.results import Cell, CellKey, Results, compare_with_best
from consilience.benchmark.statistics import Ranking
from consilience.benchmark.suite import Suite
from consilience.benchmark.tasks import Condition

__all__ = [
    "MIN_DATASETS_AS_COLUMNS",
    "MethodRanking",
    "format_cell",
    "format_paper_cell",
    "study_page",
]

MIN_DATASETS_AS_COLUMNS = 4  # this many data sets share one table, one column each
METRIC_DIGITS = {**dict.fromkeys(COST_METRICS, 3), "peak_memory": 1, PANEL_SIZE: 0}
MIB = 2**20
UNDEFINED = "–"


class MethodRanking(NamedTuple):
    """Methods ranked over all data sets, and the file name of the diagram."""

    ranking: Ranking
    methods: list[str]
    figure: str


def study_page(
    suite: Suite,
    results: Results,
    environments: Iterable[dict[str, Any]],
    notes: Sequence[str] = (),
    rankings: dict[Condition, MethodRanking] | None = None,
    figures: Mapping[str, str] | None = None,
    options: str = "",
) -> str:
    """Write the whole page.

    ``figures`` are the files of the curves by title; ``options`` those of the command that
    recomputes the page.
    """
    blocks = [f"# {suite.title}", suite.description.strip()]
    if suite.reference:
        blocks.append(f"Reference: {suite.reference}.")
    blocks.append(_run_summary(suite, results, list(environments), options))
    blocks.append(_legend(suite, results))
    blocks.append("\n".join(f"- {note}" for note in notes))
    blocks += _claims(suite, results)
    if suite.differences:
        lines = "\n".join(f"- {text}" for text in suite.differences)
        blocks += ["## What differs from the paper, and why", lines]
    blocks += _curves(figures or {})
    blocks += _tables(suite, results, rankings or {})
    blocks += _comparison_with_paper(suite, results)
    blocks += _paper_only(suite, results)
    blocks += _failures(results)
    return "\n\n".join(block for block in blocks if block) + "\n"


def _claims(suite: Suite, results: Results) -> list[str]:
    """What the paper claims, and whether it is so here."""
    if not suite.claims:
        return []
    rows = [[claim.text, str(judge_claim(claim, results))] for claim in suite.claims]
    rule = (
        "A claim that one method is better, or that scores rise or fall, is confirmed if no two "
        "means say otherwise, on any data set and under any condition that was run."
    )
    if not results.is_full:
        n, total = len(results.records), results.n_planned
        rule += f" **Only {n} of {total} fits have been made: these verdicts are provisional.**"
    return [
        "## Claims of the paper",
        rule,
        _markdown_table(["claim", "here"], rows),
    ]


def _curves(figures: Mapping[str, str]) -> list[str]:
    """The figures, in bands of one standard deviation where there are several splits."""
    blocks = ["## Curves"] if figures else []
    for title, name in figures.items():
        blocks += [f"### {_escape(title)}", f"![{_escape(title)}]({name})"]
    return blocks


def run_record(suite: Suite, results: Results, runs: list[dict[str, Any]], options: str) -> str:
    """The lines that ``published`` reads: version, hash of the suite, command, coverage."""
    versions = sorted({str(run.get("consilience", "?")) for run in runs}) or ["?"]
    coverage = f"in part ({len(results.records)} of {results.n_planned} fits)"
    if results.is_full:
        left_out = [e.title for e in suite.datasets if e.title not in results.datasets]
        n_failed = len(results.failures)
        coverage = f"all data sets but {', '.join(left_out)}" if left_out else "in full"
        coverage += f" ({n_failed} of {results.n_planned} fits failed)" if n_failed else ""
    return "\n".join(
        [
            f"Recompute this page: `consilience bench {suite.name}{options} --results docs/results`"
            "  ",
            f"Suite: `{suite.name}.toml`, SHA-256 `{suite.sha256}`  ",
            f"Run: {coverage}, last on {_dates(results)[-1]}, consilience {', '.join(versions)}",
        ]
    )


def _dates(results: Results) -> list[str]:
    """Days on which fits began; today if there are none."""
    dates = sorted({record.started[:10] for record in results.records})
    return dates or [datetime.now(UTC).date().isoformat()]


def _run_summary(suite: Suite, results: Results, runs: list[dict[str, Any]], options: str) -> str:
    hours = sum(record.seconds for record in results.records) / 3600
    dates = _dates(results)
    period = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    lines = [
        f"Run on {period} with `consilience bench {suite.name}`, seed {suite.seed}: "
        f"{results.n_done} of {results.n_tasks} fits done, {len(results.failures)} failed, "
        f"{hours:.2f} hours of wall-clock time over all fits.\n"
    ]
    lines.append(run_record(suite, results, runs, options) + "\n")
    machines = {tuple((k, v) for k, v in run.items() if k != "started") for run in runs}
    for machine in sorted(machines, key=str):
        lines.append("Versions and machine: " + ", ".join(f"{k} {v}" for k, v in machine) + ".")
    return "\n".join(lines)


def _legend(suite: Suite, results: Results) -> str:
    text = (
        "Mean ± standard deviation over splits. **Bold** marks the best method, ↓ those that are "
        f"worse than the best according to a {suite.test} test (p < {suite.significance:g})."
        f"{_note_on_few_splits(suite, results)} Times are CPU seconds of one thread; fitting times "
        "exclude tuning. Memory is in MiB, in addition to the data."
    )
    if suite.protocol.targets == "one-vs-rest" and set(COST_METRICS) & set(suite.metrics):
        text += (
            " Times and memory are means over the classes: what one class against the rest takes."
        )
    if PANEL_SIZE in suite.metrics:
        text += " The panel size is the number of selected columns of all views."
    return text


def _note_on_few_splits(suite: Suite, results: Results) -> str:
    """Say so if the splits of a cell are too few for a signed-rank test, whose p is 2^(1 − n)."""
    if suite.test != "signed-rank" or not 0 < suite.significance < 1:
        return ""
    needed = math.floor(1 - math.log2(suite.significance)) + 1
    fewest = min((len(results.splits(key)) for key in results.cell_keys), default=needed)
    if fewest >= needed:
        return ""
    return f" This test needs {needed} splits: with fewer, a missing ↓ says nothing."


# -- tables ----------------------------------------------------------------------------------


def _tables(suite: Suite, results: Results, rankings: dict[Condition, MethodRanking]) -> list[str]:
    """Tables whose columns are data sets if there are many, else conditions, else metrics."""
    blocks: list[str] = []
    if len(results.datasets) >= MIN_DATASETS_AS_COLUMNS:
        for condition in results.conditions:
            blocks.append(f"## {str(condition) or 'All rows'}")
            for metric in suite.metrics:
                columns = {d: (d, condition, metric) for d in results.datasets}
                blocks += [f"### {metric}", _table(suite, results, columns)]
            if condition in rankings:
                blocks += _ranking_text(suite, results, rankings[condition])
        return blocks
    for dataset in results.datasets:
        blocks.append(f"## {_escape(dataset)}")
        if len(results.conditions) == 1:
            (condition,) = results.conditions
            blocks.append(str(condition))
            columns = {m: (dataset, condition, m) for m in suite.metrics}
            blocks.append(_table(suite, results, columns))
            continue
        for metric in suite.metrics:
            columns = {str(c) or "unaltered": (dataset, c, metric) for c in results.conditions}
            blocks += [f"### {metric}", _table(suite, results, columns)]
    return blocks


def _ranking_text(suite: Suite, results: Results, method_ranking: MethodRanking) -> list[str]:
    ranking, names = method_ranking.ranking, method_ranking.methods
    order = ranking.mean_ranks.argsort(kind="stable")
    ranks = ", ".join(f"{_escape(names[m])} {ranking.mean_ranks[m]:.2f}" for m in order)
    return [
        f"Mean ranks by {suite.metrics[0]} over {len(results.datasets)} data sets: {ranks}.",
        f"Friedman test of equal ranks: p = {ranking.friedman.p_value:.2g}. According to the "
        f"Nemenyi test, mean ranks that differ by less than {ranking.critical_difference:.2f} do "
        f"not differ significantly at level {suite.significance:g}.",
        f"![mean ranks and critical difference]({method_ranking.figure})",
    ]


def _table(suite: Suite, results: Results, columns: dict[str, tuple[str, Condition, str]]) -> str:
    """Methods by columns of (data set, condition, metric), with the paper's numbers if known."""
    header, cell_formatters = ["method"], []
    for title, (dataset, condition, metric) in columns.items():
        marks = compare_with_best(results, suite, dataset, condition, metric)
        cell_formatters.append(_our_column(results, dataset, condition, metric, marks))
        header.append(title)
        if any(suite.paper_result(dataset, condition, m, metric) for m in results.methods):
            cell_formatters.append(_paper_column(suite, dataset, condition, metric))
            header.append(f"{title}, paper")
            if metric in COST_METRICS:  # of another machine
                continue
            cell_formatters.append(_difference_column(suite, results, dataset, condition, metric))
            header.append("difference")
    rows = [
        [method, *(format_(method) for format_ in cell_formatters)] for method in results.methods
    ]
    return _markdown_table(header, [row for row in rows if {*row[1:]} - {"", UNDEFINED}])


def _our_column(
    results: Results, dataset: str, condition: Condition, metric: str, marks: dict[str, str]
) -> Callable[[str], str]:
    def format_method(method: str) -> str:
        text = format_cell(results.cell(CellKey(dataset, condition, method), metric), metric)
        mark = "" if metric in DESCRIPTIVE_METRICS else marks.get(method, "")
        return f"**{text}**" if mark == "best" else f"{text} ↓" if mark == "worse" else text

    return format_method


def _paper_column(
    suite: Suite, dataset: str, condition: Condition, metric: str
) -> Callable[[str], str]:
    return lambda method: format_paper_cell(suite, CellKey(dataset, condition, method), metric)


def _difference_column(
    suite: Suite, results: Results, dataset: str, condition: Condition, metric: str
) -> Callable[[str], str]:
    def format_method(method: str) -> str:
        key = CellKey(dataset, condition, method)
        reported = suite.paper_result(*key, metric)
        mean = results.cell(key, metric).mean
        if reported is None or np.isnan(mean):
            return ""
        return f"{mean - reported[0]:+.{METRIC_DIGITS.get(metric, 4)}f}"

    return format_method


def format_cell(cell: Cell, metric: str) -> str:
    """Mean ± deviation, or what is missing from the cell; empty for a cell without tasks."""
    if cell.n_failed:
        return f"{cell.n_failed} of {cell.n_tasks} failed"
    if cell.n_missing:
        return f"{cell.n_missing} of {cell.n_tasks} pending"
    if cell.n_tasks == 0:
        return ""
    if np.isnan(cell.mean):
        return UNDEFINED
    digits, scale = METRIC_DIGITS.get(metric, 4), MIB if metric == "peak_memory" else 1
    text = f"{cell.mean / scale:.{digits}f}"
    return text + ("" if np.isnan(cell.deviation) else f" ± {cell.deviation / scale:.{digits}f}")


def format_paper_cell(suite: Suite, key: CellKey, metric: str) -> str:
    """The paper's number, or an empty string if it reports none."""
    reported = suite.paper_result(key.dataset, key.condition, key.method, metric)
    if reported is None:
        return ""
    mean, deviation = reported
    return f"{mean:g}" + ("" if deviation is None else f" ± {deviation:g}")


# -- the paper -------------------------------------------------------------------------------


def _comparison_with_paper(suite: Suite, results: Results) -> list[str]:
    """List where we differ from the paper by more than one standard deviation, either way."""
    worse: list[str] = []
    better: list[str] = []
    n_within = 0
    for key in results.cell_keys:
        for metric in [m for m in suite.metrics if m not in COST_METRICS]:
            reported = suite.paper_result(key.dataset, key.condition, key.method, metric)
            cell = results.cell(key, metric)
            if reported is None or np.isnan(cell.mean):
                continue
            mean, deviation = reported
            tolerance = max(deviation or 0.0, float(np.nan_to_num(cell.deviation)))
            difference = cell.mean - mean
            gain = -difference if metric in LOWER_IS_BETTER else difference
            name = ", ".join(filter(None, [key.dataset, str(key.condition), key.method, metric]))
            line = f"- {_escape(name)}: {cell.mean:.4f}, paper {mean:g} ({difference:+.4f})"
            if abs(gain) <= tolerance:
                n_within += 1
            else:
                (worse if gain < 0 else better).append(line)
    total = n_within + len(worse) + len(better)
    if total == 0:
        return []
    blocks = [
        "## Comparison with the paper",
        f"{n_within} of {total} numbers lie within one standard deviation (the larger of the two) "
        "of the paper's.",
    ]
    for title, lines in (("Worse than reported", worse), ("Better than reported", better)):
        if lines:
            blocks.append(f"{title} ({len(lines)}):\n\n" + "\n".join(lines))
    return blocks


def _paper_only(suite: Suite, results: Results) -> list[str]:
    """List the paper's numbers that have no counterpart here."""
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
    title = "## Reported in the paper, not run here"
    return [title, _markdown_table(["data set", "condition", "method", "metric", "paper"], rows)]


def _failures(results: Results) -> list[str]:
    if not results.failures:
        return []
    rows = [[str(value)[:200] for value in failure] for failure in results.failure_summary()]
    return ["## Failures", _markdown_table(["data set", "method", "status", "error", "fits"], rows)]


def _markdown_table(header: list[str], rows: list[list[str]]) -> str:
    lines = [[_escape(cell) for cell in row] for row in [header, *rows]]
    rule = ["---"] * len(header)
    return "\n".join("| " + " | ".join(line) + " |" for line in [lines[0], rule, *lines[1:]])


def _escape(value: str) -> str:
    """Escape text so that it can neither break a table nor inject HTML."""
    for old, new in (("&", "&amp;"), ("<", "&lt;"), ("|", "\\|"), ("\n", " ")):
        value = value.replace(old, new)
    return value
