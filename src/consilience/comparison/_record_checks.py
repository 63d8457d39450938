"""Checks of what is read from ``run.toml``, which may be damaged or edited."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import TYPE_CHECKING

from consilience.benchmark.bounds import (
    MAX_FOLDS,
    MAX_REPEATS,
    MAX_ROWS,
    MAX_SEED,
    check_bounds,
    check_n_tasks,
)
from consilience.benchmark.metrics import find_metric
from consilience.comparison._row_weights import MAX_WEIGHT_SUM
from consilience.methods import METHODS

if TYPE_CHECKING:
    from consilience.comparison.record import DataSummary, Run

__all__ = ["check_run"]

MAX_COORDINATE = 1e9


def check_run(run: Run) -> None:
    """Check the numbers of a run; an error names the field."""
    _check_options(run)
    _check_summary(run.data)
    _check_map(run)
    _check_trust(run)
    _check_fingerprint(run)


def _check_options(run: Run) -> None:
    """Check the settings, which may have been edited, as those of a new comparison are."""
    options = run.options
    check_bounds("options.cv", options.cv, 1 if options.splitter else 2, MAX_FOLDS)
    check_bounds("options.repeats", options.repeats, 1, MAX_REPEATS)
    check_bounds("options.seed", options.seed, 0, MAX_SEED)
    check_bounds("options.given_test_share", options.given_test_share, 0, 1)
    check_bounds("options.given_train_rows", options.given_train_rows, 0, MAX_ROWS)
    check_bounds("options.given_test_rows", options.given_test_rows, 0, MAX_ROWS)
    check_n_tasks(options.cv * options.repeats * len(options.methods))
    find_metric(options.metric, "options.metric")
    if not options.methods:
        raise ValueError("options.methods is empty")
    for name in options.methods:  # module:Class is imported where it is needed
        if name not in METHODS and name not in run.own_methods and ":" not in name:
            raise ValueError(f"options.methods has the unknown method {name!r}")
    if run.best and run.best not in options.methods:
        raise ValueError(f"best is {run.best!r}, which is none of options.methods")
    for name, method in run.own_methods.items():
        try:
            json.loads(method.spec)
        except ValueError:
            raise ValueError(f"own_methods.{name}.spec is not JSON") from None


def _check_fingerprint(run: Run) -> None:
    """Check that no setting was edited; other versions may have other settings."""
    is_same_version = run.version == version("consilience")
    if run.fingerprint and is_same_version and run.compute_fingerprint() != run.fingerprint:
        raise ValueError(f"its settings do not have the fingerprint {run.fingerprint}")


def _check_summary(data: DataSummary) -> None:
    """Check the numbers of the summary, from which tables and sizes of samples are computed."""
    if len(data.counts) != len(data.classes) or len(data.classes) < 2:
        raise ValueError("data.counts must have one number for each of at least two classes")
    for count in data.counts:
        check_bounds("data.counts", count, 1, MAX_ROWS)
    if data.samples != sum(data.counts):
        raise ValueError(f"data.samples must be the sum of data.counts, got {data.samples}")
    if not data.views:
        raise ValueError("data.views is empty")
    check_bounds("data.groups", data.groups, 0, data.samples)
    data.tested.check(len(data.classes))
    if len(data.class_weights) not in (0, len(data.classes)):
        raise ValueError("data.class_weights must have one number for each class")
    for weight in data.class_weights:
        check_bounds("data.class_weights", weight, 0, MAX_WEIGHT_SUM)
    if data.class_weights and not any(data.class_weights):
        raise ValueError("data.class_weights must have a positive number")
    for view in data.views:
        check_bounds(f"columns of view {view.name!r}", view.columns, 0, MAX_ROWS)
        check_bounds(f"text_columns of view {view.name!r}", view.text_columns, 0, view.columns)
        check_bounds(f"missing_rows of view {view.name!r}", view.missing_rows, 0, data.samples)
        check_bounds(f"missing_cells of view {view.name!r}", view.missing_cells, 0, 1)
    for pattern in data.patterns:
        check_bounds("data.patterns", pattern.samples, 1, data.samples)
    if data.sample_ids and len(data.sample_ids) != data.samples:
        raise ValueError("data.sample_ids must have one name for each sample")


def _check_map(run: Run) -> None:
    """Check that a map has coordinates and a known class for each of its samples."""
    content = run.sample_map
    if content is None:
        return
    lengths = {len(content.rows), len(content.classes), len(content.x), len(content.y)}
    if len(lengths) > 1:
        raise ValueError("sample_map must have as many rows as classes, x and y")
    for row, label in zip(content.rows, content.classes, strict=True):
        check_bounds("sample_map.rows", row, 0, run.data.samples - 1)
        check_bounds("sample_map.classes", label, 0, len(run.data.classes) - 1)
    for value in (*content.x, *content.y):
        check_bounds("sample_map", value, -MAX_COORDINATE, MAX_COORDINATE)


def _check_trust(run: Run) -> None:
    """Check the numbers of samples and classes, and the lengths of curves."""
    content, last = run.trust, run.data.samples - 1
    if content is None:
        return
    rows = [mix_up.row for mix_up in content.mix_ups]
    rows += [suspect.row for suspect in content.label_suspects]
    rows += [sample.row for sample in content.conflicts]
    for row in rows:
        check_bounds("trust: row", row, 0, last)
    for mix_up in content.mix_ups:
        check_bounds("trust.mix_ups: partner", mix_up.partner, -1, last)
    for suspect in content.label_suspects:
        for label in (suspect.label, suspect.predicted):
            check_bounds("trust.label_suspects", label, 0, len(run.data.classes) - 1)
    curve = content.cost_curve
    if curve is not None:
        for cost, accuracy in (
            (curve.cost, curve.accuracy),
            (curve.fixed_cost, curve.fixed_accuracy),
        ):
            if len(cost) != len(accuracy) or len(cost) < 2:
                raise ValueError("trust.cost_curve must have an accuracy for each cost")
            for value in (*cost, *accuracy):
                check_bounds("trust.cost_curve", value, 0, MAX_COORDINATE)
