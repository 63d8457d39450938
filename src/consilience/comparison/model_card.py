"""``model_card.md``: what a model is, how good it is, and what it must not be used for."""

from __future__ import annotations

from msgspec.structs import replace

from consilience.benchmark.metrics import QUALITY_METRICS
from consilience.benchmark.results import CellKey
from consilience.benchmark.store import Store
from consilience.benchmark.tasks import Condition
from consilience.comparison.ranking import ranking
from consilience.comparison.record import Run
from consilience.comparison.report.text import methods_paragraph, references
from consilience.comparison.report.verdict import verdict
from consilience.comparison.study import StudyResults

__all__ = ["model_card"]

MAX_LISTED = 20


def model_card(run: Run, results: StudyResults, store: Store) -> str:
    """Describe the model of a comparison in Markdown."""
    assert results.best is not None
    sections = {
        f"Model card: {_escape(results.best)} for {_escape(run.target or run.data.name)}": [
            f"Fitted by consilience {run.version} to all samples of the comparison "
            f"`{run.fingerprint}`; the file is `model.skops`."
        ],
        "Data": _describe_data(run),
        "Scores": [
            "On samples left out of training, means over "
            f"{results.n_splits} splits ({run.options.split_description}):",
            "",
            *_score_table(run, results),
            "",
            *verdict(run, results, store),
            *_describe_external(run),
        ],
        "Intended use": [
            f"Predicting {_escape(run.target or 'the label')} for samples that are measured as "
            "those above: the same views, columns and units. `consilience predict` checks the "
            "columns, not the units."
        ],
        "Limits": _limits(run, results),
        "How it was made": [methods_paragraph(run, results)],
        "References": [f"- {_escape(text)}" for text in references(run, results)],
    }
    lines = []
    for number, (title, content) in enumerate(sections.items()):
        lines += [f"{'##' if number else '#'} {title}", "", *content, ""]
    return "\n".join(lines)


def _escape(text: str) -> str:
    """Text without what Markdown would read as markup."""
    one_line = " ".join(text.split())
    return "".join(f"\\{letter}" if letter in "\\`*_[]<>|#" else letter for letter in one_line)


def _describe_data(run: Run) -> list[str]:
    data = run.data
    lines = [
        f"{data.samples} samples of {_escape(data.name)}.",
        "",
        "| view | columns | missing in |",
    ]
    lines += ["|---|---:|---:|"]
    lines += [
        f"| {_escape(view.name)} | {view.columns} {view.content} | {view.missing_rows} samples |"
        for view in data.views[:MAX_LISTED]
    ]
    lines += ["", "| class | samples |", "|---|---:|"]
    counted = zip(data.classes[:MAX_LISTED], data.counts, strict=False)
    lines += [f"| {_escape(name)} | {count} |" for name, count in counted]
    cut = {"views": len(data.views), "classes": len(data.classes)}
    lines += [
        f"\n{count - MAX_LISTED} more {what} are not listed."
        for what, count in cut.items()
        if count > MAX_LISTED
    ]
    if data.notes:
        lines += ["", *(f"- {_escape(note)}" for note in data.notes)]
    return lines


def _score_table(run: Run, results: StudyResults) -> list[str]:
    assert results.best is not None
    key = CellKey(run.data.name, Condition(), results.best)
    lines = ["| metric | mean |", "|---|---:|"]
    for metric in dict.fromkeys([run.options.metric, *QUALITY_METRICS]):
        cell = results.main.cell(key, metric)
        if cell.mean == cell.mean:
            seen = replace(run, options=replace(run.options, metric=metric))
            lines.append(f"| {_escape(seen.metric_title)} | {cell.mean:.4f} |")
    return lines


def _describe_external(run: Run) -> list[str]:
    if run.external is None:
        return []
    listed = [f"{name.replace('_', ' ')} {v:.4f}" for name, v in run.external.metrics.items()]
    files = ", ".join(map(_escape, run.external.files))
    positive = f" (positive class: {_escape(run.positive)})" if run.positive else ""
    return [f"On {run.external.samples} samples of {files}{positive}: {', '.join(listed)}."]


def _limits(run: Run, results: StudyResults) -> list[str]:
    """What the numbers above do not say."""
    best = next((row for row in ranking(run, results) if row.rank == 1), None)
    limits = ["Scores hold for samples drawn as those of the comparison, not for other sites."]
    if run.external is not None:
        limits = ["Scores hold for samples drawn as those of the comparison or the files above."]
    if best is not None and not best.beats_chance:
        limits.append("It is not significantly better than chance.")
    if not results.is_complete:
        limits.append("The comparison was not finished; the method was chosen from part of it.")
    if run.data.is_imbalanced:
        rare = run.data.classes[run.data.counts.index(min(run.data.counts))]
        limits.append(f"The class {_escape(rare)} is rare; look at its recall before use.")
    if not run.data.groups:
        limits.append(
            "Samples were treated as independent: no groups, such as patients, were named."
        )
    limits.append("The method was chosen for its score, so that score is slightly optimistic.")
    limits += [f"Warning: {_escape(warning)}." for warning in run.warnings]
    return [f"- {limit}" for limit in limits]
