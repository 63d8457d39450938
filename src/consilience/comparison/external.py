"""Files that had no part in a comparison, to score its model on (``--test``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from consilience.comparison._copies import count_copies
from consilience.comparison.inputs import ComparisonInput, file_digest
from consilience.comparison.prediction import NewSamples, predict_samples, read_samples
from consilience.comparison.record import ExternalScores, Run
from consilience.tables import FileArgument, TableModel, read_file

__all__ = ["ExternalFiles", "check_external", "score_external"]


@dataclass(frozen=True)
class ExternalFiles:
    """Files to score the model on, and how to read them."""

    files: list[FileArgument]
    options: dict[str, Any]


def check_external(external: ExternalFiles, data: ComparisonInput) -> None:
    """Check that the files to score the model on are others, and that one of them has labels."""
    known = {file.sha256 for file in data.inputs}
    if all(file_digest(file.path) in known for file in external.files):
        names = " ".join(str(file.path) for file in external.files)
        raise ValueError(f"--test {names}: the comparison itself has the same content")
    target = data.target
    if external.options.get("transpose"):
        return  # the labels may be a row
    columns = {
        column
        for file in external.files
        for table in read_file(
            file.path, part=file.part, options=external.options.get("reading")
        ).values()
        for column in table.columns
    }
    if target not in columns:
        raise ValueError(_describe_unlabelled(target))


def _describe_unlabelled(target: str) -> str:
    return f"the files of --test have no label: none of them has the column {target!r}"


def score_external(
    run: Run, data: ComparisonInput, model: TableModel, external: ExternalFiles | None
) -> ExternalScores | None:
    """Scores of the model on files that were not part of the comparison."""
    if external is None:
        return None
    samples = read_samples(model, external.files, on=run.on or None, **external.options)
    predictions = predict_samples(model, samples)
    if predictions.scores is None:
        raise ValueError(_describe_unlabelled(model.target))
    run.notes += [f"--test: {note}" for note in predictions.notes]
    overlap = _describe_overlap(run, data, samples)
    run.warnings += [overlap] if overlap else []
    names = [str(file.path) for file in external.files]
    return ExternalScores(names, predictions.scores.samples, predictions.scores.metrics)


def _describe_overlap(run: Run, data: ComparisonInput, samples: NewSamples) -> str:
    """Say how many samples are those of the comparison, by their keys or else their values."""
    known = set(map(str, data.problem.data.sample_ids)) if run.on else set()
    n_known, what = sum(sample in known for sample in samples.ids), f"the {run.on!r}"
    if not n_known:
        n_known, what = count_copies(samples.data, data.problem.data), "the values"
    if not n_known:
        return ""
    return (
        f"--test: {n_known} of {len(samples.ids)} samples have {what} of a sample that the model "
        "was trained on, so that its scores are too good"
    )
