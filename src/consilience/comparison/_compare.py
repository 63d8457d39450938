"""``compare``: which method is best on these data?"""

from __future__ import annotations

import json
import os
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
from joblib import effective_n_jobs
from msgspec.structs import replace
from sklearn.base import BaseEstimator

from consilience import io
from consilience._atomic_write import write_atomically
from consilience.benchmark.cluster import DaskPool, n_threads
from consilience.benchmark.console import is_interactive, run_silently, run_with_progress
from consilience.benchmark.metrics import find_metric
from consilience.benchmark.pool import Pool, ProcessPool, WorkerSetup
from consilience.benchmark.problems import Problem, ProblemFiles
from consilience.benchmark.publish import raw_csv
from consilience.benchmark.run import pending_tasks, run_tasks
from consilience.benchmark.store import Store
from consilience.benchmark.tasks import Task, estimator_spec
from consilience.benchmark.work import Outcome
from consilience.comparison._methods import read_methods
from consilience.comparison._result import ComparisonResult
from consilience.comparison._splits import read_cv
from consilience.comparison.budget import TimeBudget
from consilience.comparison.features import rank_features, summarise_features, write_features
from consilience.comparison.folder import MODEL_FILE_NAME, STORE_FILE_NAME, claim_folder
from consilience.comparison.inputs import ComparisonInput, read_views
from consilience.comparison.model_card import CARD_FILE_NAME, model_card
from consilience.comparison.prediction import predict_files
from consilience.comparison.record import (
    ExternalScores,
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
from consilience.comparison.trust import calibrate_best, check_costs, find_suspects
from consilience.inspection import FeatureImportance
from consilience.inspection._sample_map import MAX_MAP_ROWS, kernel_components, kernel_matrix
from consilience.io import check_key
from consilience.methods import (
    METHODS,
    Method,
    is_from_main,
    with_own_methods,
)
from consilience.tables import FileArgument, TableModel
from consilience.tables._frames import take_all_columns
from consilience.trust._reference import ReferenceTable

__all__ = [
    "Execution",
    "ExternalFiles",
    "Plan",
    "claim_output",
    "compare",
    "plan_comparison",
    "run_comparison",
]

MAP_DIGITS = 4


def compare(
    data: Any,
    y: Any,
    *,
    groups: Any = None,
    sample_weight: Any = None,
    keep: Sequence[str] = (),
    methods: Any = None,
    metric: str = "accuracy",
    positive: Any = None,
    cv: Any = 5,
    repeats: int = 2,
    tune: bool = False,
    random_state: int = 0,
    time_budget: float | None = None,
    timeout: float | None = None,
    features: bool = False,
    n_jobs: int | None = None,
    client: Any = None,
    allow_partial: bool = False,
    out: str | os.PathLike | None = None,
    force: bool = False,
    trusted: Iterable[str] = (),
    signing_key: bytes | None = None,
    calibrate: bool = False,
    costs: Mapping[str, float] | None = None,
    verbose: bool | None = None,
) -> ComparisonResult:
    """Compare methods on multi-view data by cross-validation.

    Every method is fitted on the training rows of every split and scored on its test rows; the
    views are handed over as they are, and each method prepares them in its own way. The best one
    is fitted on all samples at the end. Chance is part of every ranking, and ``verdict_`` says
    whether any method is better.

    Parameters
    ----------
    data : MultiViewData, dict of dataframes, MuData, or any input that ``as_multiview`` reads
        Samples. Categories and empty cells are allowed.
    y : array of shape (n_samples,)
        Labels.
    groups : array of shape (n_samples,), optional
        Groups that are never divided between training and test rows.
    sample_weight : array of shape (n_samples,), optional
        Weights of the samples in fits and scores.
    keep : list of str
        Columns of dataframes to use although they look like identifiers or dates, which are left
        out, with a note, otherwise. Free text becomes a view of its words.
    methods : "all", list or dict, optional
        Names of ``consilience.methods.METHODS``, "module:Class", or classifiers; a dict gives
        names to classifiers of your own. By default a selection of fifteen methods.
    metric : str, default="accuracy"
        Metric of the ranking, of the importance of views and of learning curves: accuracy,
        balanced_accuracy, f1, f1_macro, mcc, roc_auc, average_precision, log_loss, brier, or
        the sensitivity at a specificity, such as "sensitivity@0.95".
    positive : label, optional
        The positive one of two classes, for f1, average_precision and sensitivity; the second
        in sorted order by default.
    cv : int, splitter or iterable of (train, test), default=5
        Number of stratified folds, a splitter of scikit-learn, or the rows of each split.
    repeats : int, default=2
        Number of repeats of the cross-validation, with different folds, if ``cv`` is a number.
    tune : bool, default=False
        Whether to tune each method by a grid search within the training rows.
    random_state : int, default=0
        Seed of the folds, and ``random_state`` of every estimator.
    time_budget : float, optional
        Seconds that everything may take, including the fit on all samples and the report. Methods
        that are too slow on the first split are left out, with a note; fits that are running at
        the end are stopped, and splits that are not complete by then do not count.
    timeout : float, optional
        Seconds that a single fit may take; a method that takes longer on any split has no score.
    features : bool, default=False
        Whether the importance of all features for the best method is computed at the end, by
        ``consilience.inspection.feature_importance``: ``features_`` of the result, a section of the
        report, and ``features.csv`` in the folder. It takes five more fits of the best method.
    allow_partial : bool, default=False
        Whether a best method is chosen even if the time budget ended before all splits.
    n_jobs : int, optional
        Number of worker processes: 1 by default, -1 for one per core.
    client : distributed.Client, optional
        Dask cluster to run the fits on instead; the data are sent to every worker once. The fit on
        all samples runs here.
    out : path, optional
        Folder for ``report.html``, ``results.csv``, the model and the stored fits; a comparison
        that was interrupted continues there. A folder with another study is an error.
    force : bool, default=False
        Whether to rename a folder with another study instead.
    trusted : list of str
        Modules whose classes may be saved in the model, if a method of your own is the best.
    signing_key : bytes, optional
        Secret key with which the saved model is signed, as in ``consilience.io.save``.
    calibrate : bool, default=False
        Whether to fit the best method once more without a third of the samples, so that the model
        in ``out`` can predict sets of classes, conflicts between views and which view to measure
        next, and the report says how reliable it is for each pattern of views.
    costs : dict of view -> float, optional
        Cost of measuring each view: the report then has a curve of accuracy against cost. Implies
        ``calibrate``; for data with up to five views.
    verbose : bool, optional
        Whether to show progress; by default, in terminals and notebooks only.

    Returns
    -------
    ComparisonResult
        With ``ranking``, ``verdict_``, ``scores``, ``best_estimator_``, ``importance_``,
        ``failures_``, and the methods ``plot`` and ``report``.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from consilience import compare
    >>> from consilience.datasets import load_digits_views
    >>> data, y = load_digits_views(return_X_y=True)
    >>> methods = ["Early fusion", "Late fusion", KNeighborsClassifier()]
    >>> result = compare(data[:200], y[:200], methods=methods, cv=3, repeats=1)
    >>> result.ranking["method"].tolist()
    ['KNeighborsClassifier', 'Early fusion', 'Late fusion', 'Chance']
    >>> result.best_estimator_.predict(data[200:203]).shape
    (3,)
    """
    check_key(signing_key)
    started = time.monotonic()
    chosen = read_methods(methods)
    _check_settings(metric, random_state, repeats, tune, time_budget, timeout)
    keep = [keep] if isinstance(keep, str) else list(keep)
    comparison_input = read_views(data, y, groups, sample_weight, keep)
    comparison_input, options = read_cv(
        comparison_input,
        cv,
        Options(
            [],
            0,
            repeats,
            metric,
            int(random_state),
            bool(tune),
            positive="" if positive is None else str(positive),
            allow_partial=bool(allow_partial),
        ),
    )
    show_progress = is_interactive() if verbose is None else verbose
    check_costs(costs, comparison_input.problem)
    execution = Execution(
        out=None if out is None else Path(out),
        jobs=effective_n_jobs(n_jobs) if client is None else n_threads(client),
        time_budget=time_budget,
        timeout=timeout,
        started=started,
        trusted=tuple(trusted),
        force=force,
        follow=run_with_progress if show_progress else run_silently,
        signing_key=signing_key,
        calibrate=bool(calibrate) or costs is not None,
        costs=None if costs is None else dict(costs),
        client=client,
        features=bool(features),
    )
    plan = plan_comparison(comparison_input, chosen, options)
    if execution.out is not None and execution.out.is_file():
        raise ValueError(f"out must be a folder, but {execution.out} is a file")
    for warning in plan.run.warnings:
        warnings.warn(warning, UserWarning, stacklevel=2)
    claim_output(plan, execution)
    return run_comparison(plan, execution)


def _check_settings(
    metric: str, random_state: Any, repeats: Any, tune: Any, time_budget: Any, timeout: Any
) -> None:
    find_metric(metric)
    is_integer = isinstance(random_state, int | np.integer) and not isinstance(random_state, bool)
    if not is_integer or not 0 <= random_state < 2**31:
        raise ValueError(f"random_state must be an int between 0 and 2**31 - 1, got {random_state}")
    if not isinstance(repeats, int | np.integer) or isinstance(repeats, bool) or repeats < 1:
        raise ValueError(f"repeats must be an int of at least 1, got {repeats!r}")
    if not isinstance(tune, bool | np.bool_):
        raise TypeError(f"tune must be True or False, got {tune!r}")
    for name, seconds in (("time_budget", time_budget), ("timeout", timeout)):
        if seconds is not None and not seconds > 0:
            raise ValueError(f"{name} must be positive, got {seconds!r}")


@dataclass(frozen=True)
class ExternalFiles:
    """Files to score the model on, and how to read them."""

    files: list[FileArgument]
    options: dict[str, Any]


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
    old = claim_folder(execution.out, plan.run, force=execution.force)
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
    if out is not None:
        write_features(out, features)
        write_atomically(out / "results.csv", raw_csv(results.main))
        if fitted is not None and results.best is not None:
            note = "" if results.is_complete else _describe_partial(results)
            model = _table_model(run, data, results.best, fitted, note, reference)
            run.external = _score_external(run, model, execution.external)
            _save_model(run, model, execution)
            write_atomically(out / CARD_FILE_NAME, model_card(run, results, store))
        else:
            for name in (MODEL_FILE_NAME, CARD_FILE_NAME):
                (out / name).unlink(missing_ok=True)  # of an earlier run
        run.write(out)
        write_report(run, results, store, out)
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
    )


def _score_external(
    run: Run, model: TableModel, external: ExternalFiles | None
) -> ExternalScores | None:
    """Scores of the model on files that were not part of the comparison."""
    if external is None:
        return None
    predictions = predict_files(model, external.files, on=run.on or None, **external.options)
    if predictions.scores is None:
        raise ValueError(
            f"the files of --test have no label: none of them has the column {model.target!r}"
        )
    run.notes += [f"--test: {note}" for note in predictions.notes]
    names = [str(file.path) for file in external.files]
    return ExternalScores(names, predictions.scores.samples, predictions.scores.metrics)


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
