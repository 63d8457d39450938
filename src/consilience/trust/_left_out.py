"""LeftOutClassifier: a fitted classifier, and probabilities for rows that it has not seen.

The base of the classifiers of this package. Rows are left out in one of three ways:

- "split": the classifier is fitted on a part of the rows, the others are left out;
- "cv+": a classifier is fitted without each fold, and one on all rows for the predictions;
- "left-out": one fit on all rows; the classifier itself has probabilities of its training rows
  when left out, as ``ConsilienceClassifier`` has in ``out_of_fold_probabilities_``.

Left-out rows are kept with their views, so that they can be predicted as if they lacked some.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.utils import Tags

from consilience._base import MultiViewClassifier
from consilience._compat import Progress
from consilience._copies import distinct_rows
from consilience._default import ConsilienceClassifier
from consilience._estimators import fit_weighted, takes_nan, with_seed
from consilience._folds import Split
from consilience._model_types import model_type
from consilience._parameters import (
    CV,
    FRACTION,
    N_JOBS,
    RANDOM_STATE,
    VIEWS,
    HasMethods,
    StrOptions,
)
from consilience.distributed import BlockSequence
from consilience.trust._left_out_splits import leave_folds_out, leave_share_out
from consilience.views import MultiViewData
from consilience.views._convert import is_matrix
from consilience.views._encode import encode_tables, fit_table_codes, mixed_tables
from consilience.views._input import has_dask_views, read_input
from consilience.views._layout import check_values
from consilience.views._pairwise import KINDS, PAIRWISE
from consilience.views._storage import format_list

__all__ = [
    "LEFT_OUT_PARAMETERS",
    "MIN_PATTERN_ROWS",
    "LeftOutClassifier",
    "LeftOutRows",
    "check_in_memory",
    "class_probabilities",
    "comparable_rows",
    "describe_patterns",
    "with_presence",
]

MIN_PATTERN_ROWS = 50  # with fewer rows of a pattern of views, rows with more views join them

LEFT_OUT_PARAMETERS: dict[str, list[Any]] = {
    "estimator": [None, HasMethods(["fit", "predict"])],
    "method": [StrOptions({"split", "cv+", "left-out"})],
    "cv": CV,
    "calibration_size": [FRACTION],
    "views": VIEWS,
    "random_state": RANDOM_STATE,
    "n_jobs": N_JOBS,
}


def check_in_memory(X: Any, name: str) -> None:
    """Raise a TypeError for a stream of blocks or dask arrays."""
    if isinstance(X, BlockSequence):
        raise TypeError(f"{name} does not take rows in blocks; pass them as one container")
    if has_dask_views(X):
        raise TypeError(f"{name} does not take dask arrays; load them by compute() first")


def with_presence(data: MultiViewData, present: np.ndarray) -> MultiViewData:
    """Return the same samples, of which only these views are present."""
    return data._replace(data._views, present=np.array(present & data.present))


def describe_patterns(
    data: MultiViewData, patterns: Sequence[tuple[np.ndarray | None, int]]
) -> str:
    """Rows with these patterns of views, of so many rows each, for messages."""
    n_rows = sum(count for _, count in patterns)
    pattern = patterns[0][0]
    if pattern is None:
        return f"{n_rows} rows"
    names = [name for name, has in zip(data.view_names, pattern, strict=True) if has]
    which = f"just the views {format_list(names, len(names))}"
    if len(patterns) == 1:
        return f"{n_rows} rows with {which}"
    return f"{n_rows} rows of {len(patterns)} patterns of views (such as {which})"


def comparable_rows(present: np.ndarray, pattern: np.ndarray) -> np.ndarray:
    """Numbers of the rows with just the views of a pattern; if they are few, or more views."""
    same = np.flatnonzero((present == pattern).all(axis=1))
    if len(same) >= MIN_PATTERN_ROWS:
        return same
    return np.flatnonzero(present[:, pattern].all(axis=1))


def class_probabilities(estimator: Any, data: MultiViewData, classes: np.ndarray) -> np.ndarray:
    """Probabilities (n x K) of ``classes``, 0 for those that the estimator does not know.

    Without ``predict_proba`` the softmax of the decision values takes their place. Rows without any
    view get the class prior, without a warning.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*have no view at all", category=UserWarning)
        if hasattr(estimator, "predict_proba"):
            output = estimator.predict_proba(data)
        else:
            values = estimator.decision_function(data)
            if values.ndim == 1:
                values = np.column_stack([-values, values]) / 2
            output = softmax(values, axis=1)
    out = np.zeros((len(output), len(classes)))
    out[:, np.searchsorted(classes, estimator.classes_)] = output
    return out


@model_type("trust.LeftOutRows")
@dataclass(eq=False)
class LeftOutRows:
    """Rows that ``estimators[fold]`` have not seen; without views if they cannot be masked."""

    rows: np.ndarray
    codes: np.ndarray
    weight: np.ndarray
    present: np.ndarray
    probabilities: np.ndarray
    fold: np.ndarray
    estimators: list[Any]
    views: dict[str, Any] | None

    @property
    def can_mask(self) -> bool:
        """Whether ``predict`` can tell what the rows would get if they lacked views."""
        return self.views is not None

    def __len__(self) -> int:
        return len(self.codes)

    def merge_copies(self, copies: np.ndarray) -> None:
        """Give the first of equal rows of a class their mean weight, and the others none.

        ``copies`` has the number of the set of equal rows for each training row.
        """
        pairs = np.column_stack([copies[self.rows], self.codes])
        _, first, number = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
        means = np.bincount(number.ravel(), weights=self.weight) / np.bincount(number.ravel())
        self.weight = np.zeros(len(self))
        self.weight[first] = means

    def data(self, rows: np.ndarray, pattern: np.ndarray) -> MultiViewData:
        """Rows with the views of a pattern."""
        assert self.views is not None
        views = {name: view[rows] for name, view in self.views.items()}
        present = np.tile(pattern, (len(rows), 1)) & self.present[rows]
        return MultiViewData(views, present=present)

    def predict(self, rows: np.ndarray, pattern: np.ndarray, classes: np.ndarray) -> np.ndarray:
        """Left-out probabilities of rows that keep the views of a pattern only."""
        out = np.empty((len(rows), len(classes)))
        for k, estimator in enumerate(self.estimators):
            own = np.flatnonzero(self.fold[rows] == k)
            if len(own):
                data = self.data(rows[own], pattern)
                out[own] = class_probabilities(estimator, data, classes)
        return out


class LeftOutClassifier(MultiViewClassifier):
    """Base class: ``_fit`` sets ``estimator_`` and ``_left_out``, then calls ``_calibrate``."""

    estimator: Any
    method: str
    cv: Any
    calibration_size: float
    random_state: Any
    n_jobs: int | None
    estimator_: Any
    _left_out: LeftOutRows

    @property
    def _kinds(self) -> tuple[str, ...]:  # type: ignore[override]
        """Kinds of views that the classifier supports."""
        return getattr(self.estimator, "_kinds", KINDS)

    def _calibrate(self, data: MultiViewData, splits: list[Split]) -> None:
        """Learn from ``_left_out`` whatever the subclass is for."""
        raise NotImplementedError

    def _inner(self) -> Any:
        """The unfitted classifier, with a seed if it has none of its own."""
        estimator = ConsilienceClassifier() if self.estimator is None else self.estimator
        if not isinstance(self.random_state, (int, np.integer)):
            return estimator
        return with_seed(estimator, int(self.random_state))

    def _fit_input(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        last = getattr(self.estimator, "steps", [(None, self.estimator)])[-1][1]
        if getattr(last, "unlabelled", None) is not None:
            raise TypeError(
                f"{type(self).__name__} needs a label for every row; set the estimator's "
                "unlabelled to None and drop the rows without a label"
            )
        if is_matrix(X) and self.views is None and getattr(last, "views", None) is not None:
            raise ValueError(
                f"{type(self).__name__} splits a matrix into views itself: pass views= to it, not "
                f"to {type(last).__name__}"
            )
        super()._fit_input(X, y, sample_weight, groups)

    def _fit(self, data: MultiViewData, codes: np.ndarray, weight: np.ndarray) -> None:
        inner, labels = self._inner(), self.classes_[codes]
        splits = [(train, test[weight[test] > 0]) for train, test in self._splits(data, codes)]
        splits = [(train, test) for train, test in splits if len(test)]
        self._check_splits(splits, codes)
        tables = mixed_tables(self._table_codes) if self._takes_tables() else ()
        encoded = {"_mixed_views": tables} if tables else {}
        fits_all = self.method != "split"
        everything = np.arange(len(data))
        rows = [train for train, _ in splits] + [everything] * fits_all

        def fit(train: np.ndarray) -> Any:
            part, where = data if train is everything else data[train], "the training rows"
            try:
                return fit_weighted(inner, part, labels[train], weight[train], where, **encoded)
            except TypeError as error:
                if "holds several matrices" not in str(error):
                    raise
                name = type(self.estimator).__name__
                raise TypeError(
                    f"{type(self).__name__} needs a classifier of several views, but {name} takes "
                    f"one matrix; wrap it, such as in EarlyFusionClassifier({name}())"
                ) from error

        with Progress(self, n_tasks=len(rows)) as progress:
            estimators = progress.map(fit, rows, "fit estimator")
        self.estimator_ = estimators[-1]
        if self.method == "left-out":
            self._left_out = own_left_out_rows(self.estimator_, data, codes, weight)
        else:
            folds = estimators[: len(splits)]
            self._left_out = left_out_rows(folds, splits, data, codes, weight, self.classes_)
        if data.groups is None:
            self._left_out.merge_copies(distinct_rows(data)[1])
        self._calibrate(data, splits)

    @property
    def _drops_zero_weights(self) -> bool:
        # splits given as row numbers must stay valid
        return self.method == "left-out" or not isinstance(self.cv, Iterable)

    def _check_splits(self, splits: list[Split], codes: np.ndarray) -> None:
        """Every row may be left out once: a row that counts twice is not two rows."""
        if self.method == "left-out":
            return
        for train, test in splits:
            known = np.unique(codes[train])
            if len(known) == 1:
                raise ValueError(
                    f"{type(self).__name__} leaves rows out, and must be fitted on rows of two "
                    f"classes, but without {len(test)} of the rows the others are all of class "
                    f"{self.classes_.tolist()[known[0]]!r}"
                )
        tested = [test for _, test in splits]
        times = np.bincount(np.concatenate(tested)) if tested else np.zeros(1, dtype=int)
        if times.max() == 0:
            raise ValueError(f"cv of {type(self).__name__} leaves out no row of positive weight")
        if times.max() > 1:
            raise ValueError(
                f"cv of {type(self).__name__} must leave out every row at most once, but row "
                f"{times.argmax()} is in {times.max()} test sets; use a cv without repetitions, "
                "such as StratifiedKFold"
            )

    def _left_out_predictions(self) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the rows that were left out, sorted, and their probabilities."""
        order = np.argsort(self._left_out.rows, kind="stable")
        return self._left_out.rows[order], self._left_out.probabilities[order]

    def _splits(self, data: MultiViewData, codes: np.ndarray) -> list[Split]:
        if self.method == "left-out":
            return []
        if self.method == "cv+":
            return leave_folds_out(self.cv, data, codes, self.classes_)
        size, seed = self.calibration_size, self.random_state
        return [leave_share_out(size, data, codes, self.classes_, seed, "calibration_size")]

    def _calibration_rows(self, pattern: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Rows to compare with, and their left-out probabilities from the views of a pattern."""
        left_out = self._left_out
        if pattern is None:
            return np.arange(len(left_out)), left_out.probabilities
        if not left_out.can_mask:
            rows = np.flatnonzero((left_out.present == pattern).all(axis=1))
            return rows, left_out.probabilities[rows]
        rows = comparable_rows(left_out.present, pattern)
        if (left_out.present[rows] == pattern).all():
            return rows, left_out.probabilities[rows]
        return rows, left_out.predict(rows, pattern, self.classes_)

    def _validate_input(self, X: Any, reset: bool) -> MultiViewData:
        check_in_memory(X, type(self).__name__)
        if not self._takes_tables():
            try:
                return super()._validate_input(X, reset)
            except (TypeError, ValueError) as error:
                is_of_tables = re.search("non-numeric columns|raw text", str(error))
                if not is_of_tables or not hasattr(self.estimator, "steps"):
                    raise
                reason, _, _ = str(error).partition(";")
                name = type(self).__name__
                raise type(error)(
                    f"{reason}; {name} keeps rows as numbers, so the steps that encode them must "
                    f"come before it: make_pipeline(..., {name}(classifier))"
                ) from error
        data = read_input(self, X, reset=reset, numeric=False)
        if reset:
            self._table_codes = fit_table_codes(data)
        data = encode_tables(data, self._table_codes)
        return check_values(data, self._kinds, type(self).__name__, nan_views=data.view_names)

    def _takes_tables(self) -> bool:
        return self.estimator is None or isinstance(self.estimator, ConsilienceClassifier)

    def _scores(self, data: MultiViewData) -> np.ndarray:
        return class_probabilities(self.estimator_, data, self.classes_)

    def _probabilities(self, data: MultiViewData) -> np.ndarray:
        return self._scores(data)

    def _has_probabilities(self) -> bool:
        return self.estimator is None or hasattr(self.estimator, "predict_proba")

    @property
    def view_weights_(self) -> np.ndarray:
        """Weights of the views in the fitted classifier, if it has them."""
        return self.estimator_.view_weights_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.estimator is None or takes_nan(self.estimator)
        return tags


def left_out_rows(
    estimators: list[Any],
    splits: list[Split],
    data: MultiViewData,
    codes: np.ndarray,
    weight: np.ndarray,
    classes: np.ndarray,
) -> LeftOutRows:
    """The test rows of the splits, predicted by the estimators fitted without them."""
    tests = [test for _, test in splits]
    rows = np.concatenate(tests)
    probabilities = [
        class_probabilities(estimator, data[test], classes)
        for estimator, test in zip(estimators, tests, strict=True)
    ]
    kept = data[rows]
    return LeftOutRows(
        rows=rows,
        codes=codes[rows],
        weight=weight[rows],
        present=np.array(kept.present),
        probabilities=np.concatenate(probabilities),
        fold=np.repeat(np.arange(len(tests)), [len(test) for test in tests]),
        estimators=list(estimators),
        views=None if set(data.kinds.values()) & set(PAIRWISE) else dict(kept.items()),
    )


def own_left_out_rows(
    estimator: Any, data: MultiViewData, codes: np.ndarray, weight: np.ndarray
) -> LeftOutRows:
    """The training rows with the probabilities that the estimator kept of them."""
    probabilities = getattr(estimator, "out_of_fold_probabilities_", None)
    if probabilities is None:
        raise ValueError(
            "method='left-out' requires an estimator with out_of_fold_probabilities_, such as "
            f"ConsilienceClassifier, but {type(estimator).__name__} has none; use 'split' or 'cv+'"
        )
    rows = np.flatnonzero(np.isfinite(probabilities).all(axis=1))
    return LeftOutRows(
        rows=rows,
        codes=codes[rows],
        weight=weight[rows],
        present=np.array(data.present[rows]),
        probabilities=probabilities[rows],
        fold=np.zeros(len(rows), dtype=np.intp),
        estimators=[],
        views=None,
    )
