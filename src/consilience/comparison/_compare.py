"""``compare``: which method is best on these data?"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from consilience.benchmark.cluster import n_threads
from consilience.benchmark.console import is_interactive, run_silently, run_with_progress
from consilience.benchmark.metrics import find_metric
from consilience.comparison._methods import read_methods
from consilience.comparison._result import ComparisonResult
from consilience.comparison._splits import read_cv
from consilience.comparison.execution import (
    Execution,
    claim_output,
    plan_comparison,
    run_comparison,
)
from consilience.comparison.inputs import read_views
from consilience.comparison.record import (
    Options,
)
from consilience.comparison.trust import check_costs
from consilience.io import check_key

__all__ = ["compare"]


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
        Number of stratified folds, a splitter of scikit-learn, or the rows of each split, which
        must not divide ``groups``.
    repeats : int, default=2
        Number of repeats of the cross-validation, with different folds, if ``cv`` is a number.
    tune : bool, default=False
        Whether to tune each method by a grid search within the training rows, by ``metric``.
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
        Whether to fit the best method once more without 30 % of the samples, so that the model
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
