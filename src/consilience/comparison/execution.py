"""A comparison that has been planned: its fits, the best model and the report."""

from __future__ import annotations

import json
import pickle
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace
from sklearn.base import BaseEstimator

from consilience import io
from consilience._atomic_write import write_atomically
from consilience.benchmark.cluster import DaskPool
from consilience.benchmark.console import run_silently
from consilience.benchmark.estimator_specs import estimator_spec
from consilience.benchmark.pool import Pool, ProcessPool, WorkerSetup
from consilience.benchmark.problems import Problem, ProblemFiles
from consilience.benchmark.publish import raw_csv
from consilience.benchmark.run import pending_tasks, run_tasks
from consilience.benchmark.store import Store
from consilience.benchmark.tasks import Task
from consilience.benchmark.work import Outcome
from consilience.comparison._result import ComparisonResult
from consilience.comparison.budget import TimeBudget
from consilience.comparison.external import ExternalFiles, score_external
from consilience.comparison.features import rank_features, summarise_features, write_features
from consilience.comparison.folder import (
    CARD_FILE_NAME,
    MODEL_FILE_NAME,
    RESULTS_FILE_NAME,
    STORE_FILE_NAME,
    claim_folder,
)
from consilience.comparison.inputs import ComparisonInput
from consilience.comparison.model_card import model_card
from consilience.comparison.record import (
    Options,
    OwnMethod,
    Run,
    SampleMap,
)
from consilience.comparison.report import write_report
from consilience.comparison.report.verdict import imbalance_warning
from consilience.comparison.study import (
    CHANCE,
    StudyResults,
    applicable,
    check_cross_validation,
    refit,
    refit_task,
    run_study,
)
from consilience.comparison.trust import calibrate_best, find_suspects
from consilience.inspection import FeatureImportance
from consilience.inspection._sample_map import MAX_MAP_ROWS, kernel_components, kernel_matrix
from consilience.methods import (
    METHODS,
    Method,
    is_from_main,
    with_own_methods,
)
from consilience.tables import TableModel
from consilience.tables._frames import take_all_columns
from consilience.trust._reference import ReferenceTable

__all__ = [
    "Execution",
    "Plan",
    "claim_output",
    "plan_comparison",
    "run_comparison",
]

MAP_DIGITS = 4


@dataclass(frozen=True)
class Execution:
    """Where and how a comparison runs; nothing here changes its results."""

    out: Path | None = None
    jobs: int = 1
    time_budget: float | None = None
    timeout: float | None = None  # seconds of one fit
    started: float | None = None  # when the budget began, on the monotonic clock
    trusted: tuple[str, ...] = ()
    force: bool = False  # whether another study in the folder is set aside
    follow: Callable[..., None] = run_silently  # runs tasks and shows how far they are
    signing_key: bytes | None = field(default=None, repr=False)  # signs the model
    external: ExternalFiles | None = None  # files that the model is scored on at the end
    calibrate: bool = False  # whether left-out samples show how far the model can be trusted
    costs: dict[str, float] | None = None  # of measuring each view
    client: Any = None  # of a Dask cluster that runs the fits
    features: bool = False  # whether the importance of features is computed at the end

    @property
    def budget(self) -> TimeBudget | None:
        """The time budget, which began with the comparison."""
        if self.time_budget is None:
            return None
        start = time.monotonic() if self.started is None else self.started
        return TimeBudget(start, self.time_budget)


@dataclass(frozen=True)
class Plan:
    """A comparison that has been checked and can be run."""

    run: Run
    data: ComparisonInput
    own_methods: dict[str, Method]


def plan_comparison(
    data: ComparisonInput,
    methods: Iterable[Method],
    options: Options,
    command: Sequence[str] = (),
) -> Plan:
    """Check that the methods and the protocol suit the data."""
    usable, not_applicable = applicable(methods, data.summary, options.metric)
    own = {method.name: method for method in usable if METHODS.get(method.name) is not method}
    run = Run(
        version=version("consilience"),
        command=list(command),
        options=replace(options, methods=[method.name for method in usable]),
        data=data.summary,
        inputs=data.inputs,
        target=data.target,
        on=data.key,
        single_file=data.single_file,
        own_methods={name: _describe(method) for name, method in own.items()},
        not_applicable=not_applicable,
    )
    check_cross_validation(run, data.problem)
    run.fingerprint = run.compute_fingerprint()
    warning = imbalance_warning(run)
    if warning:
        run.warnings.append(warning)
    return Plan(run, data, own)


def claim_output(plan: Plan, execution: Execution) -> None:
    """Make sure that the output folder, if any, is there and belongs to this study."""
    if execution.out is None:
        return
    inputs = [Path(file.path) for file in plan.data.inputs]
    inputs += [] if execution.external is None else [f.path for f in execution.external.files]
    old = claim_folder(execution.out, plan.run, force=execution.force, inputs=inputs)
    if old is not None:
        plan.run.notes.append(f"another study was set aside as {old}")


def run_comparison(plan: Plan, execution: Execution) -> ComparisonResult:
    """Run the study, fit the best method to all samples, and write what was asked for."""
    out = execution.out
    store = Store(":memory:" if out is None else out / STORE_FILE_NAME)
    try:
        return _run(plan, store, execution)
    except BaseException:
        store.close()
        raise


def _describe(method: Method) -> OwnMethod:
    spec = json.dumps(estimator_spec(method.make_estimator(None)), sort_keys=True)
    return OwnMethod(method.summary, spec)


def _run(plan: Plan, store: Store, execution: Execution) -> ComparisonResult:
    run, data = plan.run, plan.data
    own = {CHANCE.name: CHANCE, **plan.own_methods}
    budget, out = execution.budget, execution.out
    problems = {run.data.name: _problem_for_workers(data, execution.client)}
    in_workers = {name: method for name, method in own.items() if not is_from_main(method)}
    # a fit that was too slow gets another chance, perhaps with a longer limit
    store.delete([key for key, status in store.statuses().items() if status == "timeout"])

    def run_batch(
        tasks: list[Task],
        *,
        stage: str = "",
        until: float | None = None,
        fit_limit: float | None = None,
    ) -> None:
        pending = list(pending_tasks(tasks, store).values())
        records = run_tasks(
            pending,
            store,
            problems={run.data.name: data.problem},
            methods=own,
            budget=None if until is None else max(0.0, until - time.monotonic()),
            hard=True,
            fit_limit=fit_limit,
            pool=pool,
        )
        n_done = len(tasks) - len(pending)
        execution.follow(
            records, pending, execution.jobs, n_done=n_done, stage=stage, running=pool.running
        )

    # workers that have been started serve all batches
    setup = WorkerSetup(problems, in_workers, timeout=execution.timeout)
    client = execution.client
    new_pool = ProcessPool(execution.jobs, setup) if client is None else DaskPool(client, setup)
    with closing(new_pool) as pool:
        results = run_study(run, store, run_batch, budget, execution.jobs)
        fitted = None
        if results.best is not None:
            is_stoppable = budget is not None and results.best in with_own_methods(in_workers)
            until = budget.refit_end if budget is not None and is_stoppable else None
            fitted = _refit(run, data, results.best, own, pool if is_stoppable else None, until)
    run.notes += [f"left out: {name}, {reason}" for name, reason in run.left_out.items()]
    if fitted is not None and (budget is None or time.monotonic() < budget.refit_end):
        run.sample_map = _map_samples(data)
        run.trust = find_suspects(data.problem, results, store)
    reference = None
    if fitted is not None and results.best is not None and execution.calibrate:
        until = None if budget is None else budget.refit_end
        reference = calibrate_best(run, data.problem, results.best, own, execution.costs, until)
    features = None
    if execution.features and fitted is not None:
        features = _rank_features(run, data, fitted, budget)
    if not results.is_complete:
        run.notes.append(_describe_partial(results))
    external_error: ValueError | None = None
    if out is not None:
        write_features(out, features)
        write_atomically(out / RESULTS_FILE_NAME, raw_csv(results.main))
        if fitted is not None and results.best is not None:
            note = "" if results.is_complete else _describe_partial(results)
            model = _table_model(run, data, results.best, fitted, note, reference, execution.costs)
            try:
                run.external = score_external(run, data, model, execution.external)
            except ValueError as error:
                external_error = error  # raised when everything else has been written
            _save_model(run, model, execution)
            write_atomically(out / CARD_FILE_NAME, model_card(run, results, store))
        else:
            for name in (MODEL_FILE_NAME, CARD_FILE_NAME):
                (out / name).unlink(missing_ok=True)  # of an earlier run
        run.write(out)
        write_report(run, results, store, out)
    if external_error is not None:
        raise external_error
    best = None if fitted is None else take_all_columns(fitted, data.roles)
    return ComparisonResult(run, data, results, store, best, features)


def _rank_features(
    run: Run, data: ComparisonInput, fitted: Any, budget: TimeBudget | None
) -> FeatureImportance | None:
    """Importance of the features for the best method; a note says why there is none."""
    if budget is not None and time.monotonic() >= budget.refit_end:
        run.notes.append("no importance of features: the time budget is used up")
        return None
    features, reason = rank_features(data, fitted, run.options.seed)
    if features is None:
        run.notes.append(f"no importance of features: {reason}")
        return None
    run.features = summarise_features(features)
    return features


def _problem_for_workers(data: ComparisonInput, client: Any) -> Problem | ProblemFiles:
    """The data, or the files if all workers of a cluster can read them."""
    if client is not None and data.source is not None:
        try:
            readable = client.run(data.source.are_readable)
        except OSError:
            return data.problem  # the pool will say that the cluster is gone
        if readable and all(readable.values()):
            return data.source
    return data.problem


def _describe_partial(results: StudyResults) -> str:
    done = f"time budget exceeded: {results.n_splits} of {results.n_planned} splits are complete"
    if results.best is None:
        return f"{done}, so no method is declared best and no model is saved"
    return f"{done}, and {results.best} was chosen from these alone"


def _refit(
    run: Run,
    data: ComparisonInput,
    best: str,
    own: Mapping[str, Method],
    pool: Pool | None,
    until: float | None,
) -> Any:
    """Fit the best method to all samples, in a pool until a time or in this process.

    An error becomes part of the run.
    """
    if pool is None or until is None:
        try:
            return refit(run, data.problem, best, with_own_methods(own))
        except Exception as error:
            lines = str(error).splitlines() or [""]
            run.refit_error = f"{type(error).__name__}: {lines[0]}"
    else:
        outcome = _run_until(pool, refit_task(run, best), until)
        if outcome.model is not None:
            return pickle.loads(outcome.model)  # of a process that this one started
        run.refit_error = (outcome.error.splitlines() or [""])[0]
    run.notes.append(f"no model was saved, because {best} failed on all samples")
    return None


def _run_until(pool: Pool, task: Task, until: float) -> Outcome:
    """Run a task and return its outcome; it is stopped at a time on the monotonic clock."""
    pool.submit(task)
    while time.monotonic() < until:
        for finished in pool.wait(max(0.0, min(1.0, until - time.monotonic()))):
            return finished.outcome
    pool.cancel()
    return Outcome(status="timeout", error="stopped at the end of the time budget")


def _map_samples(data: ComparisonInput) -> SampleMap | None:
    """Coordinates of the samples, or of a random part of them, for the report."""
    problem = data.problem
    rows = np.arange(len(problem.target))
    if len(rows) > MAX_MAP_ROWS:
        rows = np.sort(np.random.default_rng(0).permutation(rows)[:MAX_MAP_ROWS])
    codes = np.unique(problem.target, return_inverse=True)[1][rows]
    if len(np.unique(codes)) < codes.max() + 1:
        return None  # a class is in none of these rows
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kernel = kernel_matrix(problem.data[rows], codes)
    x, y = np.round(kernel_components(kernel), MAP_DIGITS).T + 0.0
    return SampleMap(rows.tolist(), codes.tolist(), x.tolist(), y.tolist())


def _table_model(
    run: Run,
    data: ComparisonInput,
    best: str,
    fitted: BaseEstimator,
    note: str,
    reference: ReferenceTable | None,
    costs: Mapping[str, float] | None,
) -> TableModel:
    return TableModel(
        fitted,
        data.views,
        best,
        run.target,
        data.single_file,
        run.on,
        fingerprint=run.fingerprint,
        note=note,
        transposed=data.transposed,
        normalised_keys=data.normalised_keys,
        reference=reference,
        metric=run.options.metric,
        positive=run.positive,
        na=data.na,
        costs=costs,
    )


def _save_model(run: Run, model: TableModel, execution: Execution) -> None:
    """Save the best model; if it has types of the user, only with their consent."""
    assert execution.out is not None
    path = execution.out / MODEL_FILE_NAME
    try:
        io.save(model, path, trusted=execution.trusted, key=execution.signing_key)
        run.best = model.method
    except TypeError as error:
        if model.method not in run.own_methods:
            raise
        path.unlink(missing_ok=True)  # of an earlier run
        run.notes.append(f"no model was saved: {error}")
