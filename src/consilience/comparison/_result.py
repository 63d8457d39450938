"""The result of a comparison."""

from __future__ import annotations

import importlib.util
import os
import sys
import weakref
from dataclasses import asdict
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from consilience._atomic_write import write_atomically
from consilience.benchmark.store import Store
from consilience.comparison._display import ComparisonDisplay
from consilience.comparison.inputs import ComparisonInput
from consilience.comparison.ranking import ranking
from consilience.comparison.record import Run
from consilience.comparison.report import summaries
from consilience.comparison.report.page import build_page
from consilience.comparison.report.verdict import verdict
from consilience.comparison.study import StudyResults, failures
from consilience.inspection import FeatureImportance
from consilience.views import MultiViewData
from consilience.views import _storage as storage

__all__ = ["ComparisonResult"]


class ComparisonResult:
    """Scores of all methods on all splits, and the best method fitted on all samples.

    Tables are dataframes of the library that the data came in, else of pandas or polars if one of
    them is installed, else lists of dicts.

    Attributes
    ----------
    data : MultiViewData
        The views as they were read; ``cross_val_score`` on them gives the same scores.
    target : ndarray of shape (n_samples,)
        The labels.
    best_method_ : str or None
        Name of the best method; None if no method succeeded on all splits, or if not all splits
        were run within ``time_budget`` (unless ``allow_partial``).
    best_estimator_ : estimator or None
        The best method, with its preparation of the views, fitted on all samples.
    features_ : FeatureImportance or None
        Importance of the features for the best method, if ``features=True``.
    notes_ : list of str
        What the reader of the ranking should know.

    Examples
    --------
    >>> from consilience import compare
    >>> from consilience.datasets import make_multiview_classification
    >>> data, y = make_multiview_classification(60, random_state=0)
    >>> result = compare(data, y, methods=["Late fusion", "Best view"], cv=2, repeats=1, n_jobs=1)
    >>> sorted({row["method"] for row in result.scores.to_dict("records")})
    ['Best view', 'Late fusion']
    """

    def __init__(
        self,
        run: Run,
        comparison_input: ComparisonInput,
        results: StudyResults,
        store: Store,
        best_estimator: Any,
        features: FeatureImportance | None = None,
    ) -> None:
        self._run = run
        self._results = results
        self._store = store
        self._finalizer = weakref.finalize(self, store.close)
        self.data: MultiViewData = comparison_input.problem.data
        self.target: np.ndarray = comparison_input.problem.target
        self.best_method_ = results.best
        self.best_estimator_ = best_estimator
        self.features_ = features
        self.notes_ = [*run.warnings, *run.data.notes, *_describe_exclusions(run), *run.notes]

    @property
    def ranking(self) -> Any:
        """The methods, best first: score, 95 % interval, p-values, seconds.

        ``p_value`` is that of the difference from the best method, ``p_chance`` that of being
        better than chance. The row "Chance" has no rank.
        """
        rows = ranking(self._run, self._results)
        return self._to_frame(
            {
                "rank": [row.rank for row in rows],
                "method": [row.method for row in rows],
                self._run.options.metric: [row.score for row in rows],
                "low": [row.low for row in rows],
                "high": [row.high for row in rows],
                "p_value": [row.p_value for row in rows],
                "p_chance": [row.p_chance for row in rows],
                "fit_seconds": [row.fit_seconds for row in rows],
                "predict_seconds": [row.predict_seconds for row in rows],
                "description": [row.summary for row in rows],
            }
        )

    @property
    def verdict_(self) -> list[str]:
        """Sentences that sum up the comparison; the first says whether anything beats chance."""
        return verdict(self._run, self._results, self._store)

    @property
    def scores(self) -> Any:
        """Every metric of every fit: method, split, metric, value."""
        entries = [
            (record.task.method_name, record.task.index, metric, value)
            for record in self._results.main.records
            for metric, value in record.outcome.metrics.items()
        ]
        columns = zip(*entries, strict=True) if entries else ([], [], [], [])
        names = ("method", "split", "metric", "value")
        return self._to_frame(dict(zip(names, map(list, columns), strict=True)))

    @property
    def importance_(self) -> Any:
        """Importance of the views for the best method: means and deviations over folds."""
        permutation = summaries.importance(self._results, "permutation")
        shapley = summaries.importance(self._results, "shapley")
        views = sorted(permutation, key=lambda view: -permutation[view][0])
        nothing = (np.nan, np.nan)
        return self._to_frame(
            {
                "view": views,
                "permutation": [permutation[view][0] for view in views],
                "permutation_std": [permutation[view][1] for view in views],
                "shapley": [shapley.get(view, nothing)[0] for view in views],
                "shapley_std": [shapley.get(view, nothing)[1] for view in views],
            }
        )

    @property
    def failures_(self) -> list[dict[str, Any]]:
        """Fits that failed: stage, method, status, error, and the number of fits concerned."""
        return [asdict(failure) for failure in failures(self._run, self._results)]

    def plot(self, ax: Any = None) -> ComparisonDisplay:
        """Plot the ranking.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.

        Returns
        -------
        ComparisonDisplay
        """
        rows = ranking(self._run, self._results)
        complete = [row for row in rows if row.complete]
        return ComparisonDisplay(
            methods=[row.method for row in complete],
            scores=np.array([row.score for row in complete]),
            intervals=np.array([(row.low, row.high) for row in complete]).reshape(-1, 2),
            metric=self._run.metric_title,
            chance=next((row.score for row in complete if row.is_chance), None),
        ).plot(ax)

    def report(self, path: str | os.PathLike) -> Path:
        """Write the report, one self-contained page.

        Parameters
        ----------
        path : path
            The file, usually ``*.html``.

        Returns
        -------
        Path
        """
        path = Path(path)
        if path.is_dir():
            raise ValueError(f"{path} is a folder; give the name of a file, such as report.html")
        write_atomically(path, build_page(self._run, self._results, self._store))
        return path

    def __repr__(self) -> str:
        options, best = self._run.options, self.best_method_
        n_methods = len(options.methods)
        head = f"ComparisonResult: {n_methods} methods, {options.split_description}"
        rows = ranking(self._run, self._results) if best else []
        lines = [
            f"{row.rank or '-':>3} {row.method:24} {row.score:.4f}  {row.summary}"
            if row.complete
            else f"  - {row.method:24} failed"
            for row in rows
        ]
        return "\n".join([head, *lines, *self.verdict_[:1]])

    def _to_frame(self, columns: dict[str, list[Any]]) -> Any:
        backend = _frame_library(self.data)
        if backend is None:
            names = list(columns)
            rows = zip(*columns.values(), strict=True)
            return [dict(zip(names, row, strict=True)) for row in rows]
        return nw.from_dict(columns, backend=backend).to_native()


def _describe_exclusions(run: Run) -> list[str]:
    return [
        f"not applicable: {', '.join(methods)}, because {reason}"
        for reason, methods in run.methods_by_reason().items()
    ]


def _frame_library(data: MultiViewData) -> Any:
    """The dataframe library of the views, else one that is installed, else None."""
    for view in data._views.values():
        if storage.is_dataframe(view):
            return nw.get_native_namespace(nw.from_native(view))
    for name in ("pandas", "polars"):
        if name in sys.modules or importlib.util.find_spec(name) is not None:
            return name
    return None
