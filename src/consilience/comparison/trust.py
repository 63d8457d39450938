"""Trust in a comparison: mix-ups and wrong labels, and what left-out samples say of the model.

Suspects cost no fit: views are compared with each other, and labels with the out-of-fold
predictions of the best method. For prediction sets, conflicts and the worth of views, the best
method is fitted once more without 30 % of the samples.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from consilience.benchmark.predictions import Predictions
from consilience.benchmark.problems import Problem
from consilience.benchmark.store import Store
from consilience.comparison.record import (
    ConflictingSample,
    CostCurve,
    LabelSuspect,
    MixUp,
    PatternReliability,
    Run,
    TrustSummary,
)
from consilience.comparison.report.summaries import out_of_fold_predictions
from consilience.comparison.study import StudyResults, refit
from consilience.methods import Method, with_own_methods
from consilience.trust._label_errors import confident_claims
from consilience.trust._mismatch import MIN_SAMPLES, find_mismatched_samples
from consilience.trust._next_view import read_costs, read_utility
from consilience.trust._reference import ReferenceTable, fit_reference_table, split_left_out
from consilience.trust._view_costs import cost_curve
from consilience.views import MultiViewData
from consilience.views import _storage as storage

__all__ = [
    "calibrate_best",
    "check_costs",
    "find_suspects",
    "fit_without_some",
    "summarise_reference",
]

MAX_COMPARED_SAMPLES = 2000  # all pairs are compared
MAX_LISTED = 20
MAX_CURVE_POINTS = 200
DIGITS = 6


def check_costs(costs: Mapping[str, float] | None, problem: Problem) -> None:
    """Raise a ValueError unless each view has a positive cost."""
    if costs is not None:
        read_costs(costs, list(problem.data.view_names))


def find_suspects(problem: Problem, results: StudyResults, store: Store) -> TrustSummary:
    """Mix-ups between views, and labels that the best method's predictions contradict."""
    assert results.best is not None
    predictions = out_of_fold_predictions(store, results.main, results.best)
    mix_ups, areas = _find_mix_ups(problem.data)
    listed, n_suspects = _find_label_suspects(problem, predictions)
    return TrustSummary(
        mix_ups=mix_ups, mix_up_areas=areas, label_suspects=listed, n_label_suspects=n_suspects
    )


def _find_mix_ups(data: MultiViewData) -> tuple[list[MixUp], dict[str, float]]:
    """Suspects among samples whose views have feature columns; none if they cannot be compared."""
    has_features = set(data.kinds.values()) == {"features"}
    views = data._views.values()
    has_columns = not any(storage.is_documents(v) or storage.is_tensor(v) for v in views)
    if data.n_views < 2 or not (has_features and has_columns):
        return [], {}
    if not MIN_SAMPLES <= len(data) <= MAX_COMPARED_SAMPLES:
        return [], {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = find_mismatched_samples(data)
    suspects = [
        MixUp(int(row), round(float(q), DIGITS), view or "", int(partner))
        for row, q, view, partner in zip(
            result.suspects, result.q_value, result.view, result.partner, strict=True
        )
    ]
    areas = {name: round(float(area), DIGITS) for name, area in result.areas.items()}
    return suspects[:MAX_LISTED], {name: area for name, area in areas.items() if area == area}


def _find_label_suspects(
    problem: Problem, predictions: Sequence[Predictions]
) -> tuple[list[LabelSuspect], int]:
    """Rows that another class claims with confidence, the most suspicious first."""
    classes = np.unique(problem.target)
    q = np.full((len(problem.target), len(classes)), np.nan)
    for fold in predictions:
        if fold.kind == "probability":
            columns = [np.flatnonzero(classes.astype(str) == str(c))[0] for c in fold.classes]
            q[fold.rows] = 0.0
            q[np.ix_(fold.rows, columns)] = fold.scores
    rows = np.flatnonzero(np.isfinite(q).all(axis=1))
    codes, q = np.searchsorted(classes, problem.target)[rows], q[rows]
    if len(rows) == 0:
        return [], 0
    predicted = q.argmax(axis=1)
    other = 1.0 - q[np.arange(len(rows)), codes]
    claimed = np.flatnonzero(confident_claims(q, codes) & (predicted != codes))
    order = claimed[np.argsort(-other[claimed], kind="stable")]
    listed = [
        LabelSuspect(int(rows[i]), int(codes[i]), int(predicted[i]), round(float(other[i]), DIGITS))
        for i in order[:MAX_LISTED]
    ]
    return listed, len(order)


def calibrate_best(
    run: Run,
    problem: Problem,
    best: str,
    own: Mapping[str, Method],
    costs: Mapping[str, float] | None,
    until: float | None,
) -> ReferenceTable | None:
    """What the best method predicts for left-out samples, also as part of the run's summary.

    None, with a note, if time is up or the fit fails.
    """
    if until is not None and time.monotonic() > until:
        run.notes.append("not calibrated: no time was left")
        return None
    try:
        table, rows = fit_without_some(run, problem, best, with_own_methods(own))
    except Exception as error:
        lines = str(error).splitlines() or [""]
        run.notes.append(f"not calibrated: {type(error).__name__}: {lines[0]}")
        return None
    run.trust = run.trust or TrustSummary()
    summarise_reference(run.trust, table, rows, list(problem.data.view_names), costs)
    if costs is not None and run.trust.cost_curve is None:
        run.notes.append(
            "no curve of costs: it needs at most five views, and left-out samples that have all"
        )
    return table


def fit_without_some(
    run: Run, problem: Problem, name: str, methods: Mapping[str, Method]
) -> tuple[ReferenceTable, np.ndarray]:
    """Fit a method without 30 % of the rows; what it predicts for these, and their numbers."""
    classes, codes = np.unique(problem.target, return_inverse=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        train, test = split_left_out(problem.data, codes, classes, run.options.seed)
        part = replace(
            problem,
            data=problem.data[train],
            target=problem.target[train],
            groups=None if problem.groups is None else problem.groups[train],
            sample_weight=None if problem.sample_weight is None else problem.sample_weight[train],
        )
        fitted = refit(run, part, name, methods)
        totals = np.bincount(codes[train], part.sample_weight, minlength=len(classes))
        prior = totals / totals.sum()
        table = fit_reference_table(fitted, problem.data[test], codes[test], classes, prior)
    return table, test


def summarise_reference(
    summary: TrustSummary,
    table: ReferenceTable,
    rows: np.ndarray,
    names: list[str],
    costs: Any,
) -> None:
    """Add reliability by pattern, the strongest conflicts and the curve of costs to a summary."""
    summary.reference_rows = len(table)
    summary.reliability = _reliability(table, names)
    summary.conflicts = _conflicts(table, rows, names)
    if costs is not None:
        summary.cost_curve = _cost_curve(table, names, costs)


def _reliability(table: ReferenceTable, names: list[str]) -> list[PatternReliability]:
    out = [
        PatternReliability(
            [name for name, has in zip(names, pattern, strict=True) if has],
            count,
            round(confidence, DIGITS),
            round(accuracy, DIGITS),
        )
        for pattern, count, confidence, accuracy in table.reliability()
    ]
    return sorted(out, key=lambda pattern: -pattern.samples)[:MAX_LISTED]


def _conflicts(
    table: ReferenceTable, rows: np.ndarray, names: list[str]
) -> list[ConflictingSample]:
    values = table.conflicts()
    known = np.where(np.isnan(values), -np.inf, values)
    p_values = table.conflict_p_values(values)
    highest = known.max(axis=1)
    order = np.argsort(-highest, kind="stable")
    out = []
    for i in order[highest[order] > 0][:MAX_LISTED]:
        v = int(known[i].argmax())
        # the strongest of several conflicts is as strong by chance that many times as often
        p = min(1.0, float(p_values[i, v]) * int((~np.isnan(values[i])).sum()))
        conflict, p = round(float(highest[i]), DIGITS), round(p, DIGITS)
        by_view = {
            name: round(float(value), DIGITS)
            for name, value in zip(names, values[i], strict=True)
            if not np.isnan(value)
        }
        out.append(ConflictingSample(int(rows[i]), names[v], conflict, p, by_view))
    return out


def _cost_curve(table: ReferenceTable, names: list[str], costs: Any) -> CostCurve | None:
    """The curve for one half of the complete rows, with the other rows to learn the policy from."""
    prices = read_costs(costs, names)
    complete = np.flatnonzero(table.present.all(axis=1))
    test = complete[np.random.RandomState(0).permutation(len(complete))[: len(complete) // 2]]
    if len(test) == 0 or len(table.patterns) < 2 ** len(names) - 1:
        return None
    others = table.select(np.setdiff1d(np.arange(len(table)), test))
    part = table.select(test)
    result = cost_curve(
        part.predict, part.codes, prices, others.rows(), read_utility("log_loss"), names
    )
    kept = np.unique(np.linspace(0, len(result.cost) - 1, MAX_CURVE_POINTS).astype(int))
    return CostCurve(
        costs=dict(zip(names, prices.tolist(), strict=True)),
        cost=result.cost[kept].round(DIGITS).tolist(),
        accuracy=result.accuracy[kept].round(DIGITS).tolist(),
        area=round(result.area, DIGITS),
        fixed_order=result.fixed_order,
        fixed_cost=result.fixed_cost.tolist(),
        fixed_accuracy=result.fixed_accuracy.round(DIGITS).tolist(),
        fixed_area=round(result.fixed_area, DIGITS),
        needs_all_views=result.needs_all_views,
        samples=len(test),
    )
