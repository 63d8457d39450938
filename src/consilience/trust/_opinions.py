"""What each view says about a sample, how far the views agree, and which one to distrust.

The opinion of a view are the probabilities p_v that the classifier predicts from this view alone.
Its conflict with the probabilities q_v from all other views is

    −log Σ_k p_v(k) q_v(k) / π_k,

with π the class prior: the log of how much likelier the views are if each belongs to a sample of
its own than if they belong to one sample, when views are independent given the class.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from consilience._base import MultiViewClassifier
from consilience._default._rows import group_by_pattern
from consilience._targets import check_labels
from consilience._warnings import warn_user
from consilience.trust._left_out import (
    LeftOutClassifier,
    check_in_memory,
    class_probabilities,
    comparable_rows,
    with_presence,
)
from consilience.views import MultiViewData
from consilience.views._index import check_aligned
from consilience.views._input import read_input
from consilience.views._layout import MATCHED

__all__ = [
    "MIN_VIEWS_DISTRUST",
    "conflict",
    "conflict_p_values",
    "n_to_suspect",
    "opinions_of",
    "strongest_conflict",
    "suspected_view",
    "view_opinions",
    "without_each_view",
]

TINY = 1e-12
DISTRUST_BELOW = 0.05  # p-value of the conflict
ROUNDING = 1e-9  # of numbers of rows
MIN_VIEWS_DISTRUST = 3  # two views that contradict each other do not tell which is wrong


def conflict(alone: np.ndarray, others: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """−log Σ_k p(k) q(k) / π_k along the last axis."""
    return -np.log(np.maximum((alone * others / prior).sum(axis=-1), TINY))


def opinions_of(
    estimator: Any, data: MultiViewData, classes: np.ndarray, views: Iterable[int] | None = None
) -> np.ndarray:
    """Probabilities (n x V x K) from each view alone, or some; NaN where a row lacks it."""
    out = np.full((len(data), data.n_views, len(classes)), np.nan)
    for v in range(data.n_views) if views is None else views:
        rows = np.flatnonzero(data.present[:, v])
        if len(rows):
            keep = np.arange(data.n_views) == v
            alone = with_presence(data[rows], np.tile(keep, (len(rows), 1)))
            out[rows, v] = class_probabilities(estimator, alone, classes)
    return out


def without_each_view(
    estimator: Any, data: MultiViewData, classes: np.ndarray, views: Iterable[int] | None = None
) -> np.ndarray:
    """Probabilities (n x V x K) without each view, or some; NaN where a row has no other."""
    out = np.full((len(data), data.n_views, len(classes)), np.nan)
    n_present = data.present.sum(axis=1)
    for v in range(data.n_views) if views is None else views:
        rows = np.flatnonzero(data.present[:, v] & (n_present > 1))
        if len(rows):
            keep = np.arange(data.n_views) != v
            others = with_presence(data[rows], np.tile(keep, (len(rows), 1)))
            out[rows, v] = class_probabilities(estimator, others, classes)
    return out


def conflict_p_values(
    values: np.ndarray, reference: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """Share of reference rows with at least this conflict (n x V); NaN is kept.

    NaN also where no reference row has the view and another one. ``reference`` returns the
    conflicts (m x V) of the rows to compare a pattern of views with: more views contradict each
    other more strongly.
    """
    out = np.full(values.shape, np.nan)
    for pattern, own in group_by_pattern(~np.isnan(values)):
        known = reference(pattern) if pattern.any() else np.empty((0, len(pattern)))
        for v in np.flatnonzero(pattern):
            seen = np.sort(known[~np.isnan(known[:, v]), v])
            if len(seen) == 0:
                continue
            above = len(seen) - np.searchsorted(seen, values[own, v], side="left")
            out[own, v] = (1 + above) / (1 + len(seen))
    return out


def n_to_suspect(n_views: int) -> int:
    """Least number of reference rows with which one of so many views can be suspected.

    The least p-value is 1 / (1 + rows).
    """
    return math.floor(n_views / DISTRUST_BELOW + ROUNDING)


def strongest_conflict(p_values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """View with the least p-value (n; −1 if none is known), and this p-value times their number.

    The least of V p-values is below p / V with a probability of p or less.
    """
    is_known = ~np.isnan(p_values)
    filled = np.where(is_known, p_values, np.inf)
    view = np.where(is_known.any(axis=1), filled.argmin(axis=1), -1)
    least = np.where(view >= 0, filled.min(axis=1), np.nan)
    return view, np.minimum(least * is_known.sum(axis=1), 1.0)


def suspected_view(p_values: np.ndarray) -> np.ndarray:
    """View (n) that contradicts the others more than chance would have it; −1 if none does.

    Of two views nothing tells which is wrong.
    """
    view, p = strongest_conflict(p_values)
    has_others = (~np.isnan(p_values)).sum(axis=1) >= MIN_VIEWS_DISTRUST
    return np.where(has_others & (p < DISTRUST_BELOW), view, -1)


def view_opinions(model: Any, X: Any, *, reference: Any = None) -> Bunch:
    """Say what each view alone says about each sample, and where views contradict each other.

    Parameters
    ----------
    model : fitted classifier
        A classifier of this package that takes several views.
    X : MultiViewData, or any input of several views
        Samples with the views seen in fit.
    reference : like X, or tuple (X, y), optional
        Samples that the classifier was not fitted on, to compare conflicts with; their labels are
        not used. A classifier of ``consilience.trust`` with ``method`` "split" or "cv+" has its
        own.

    Returns
    -------
    Bunch
        ``probabilities`` (n_samples, n_views, n_classes), from each view alone; ``strength``
        (n_samples, n_views), how far they are from the class prior, in bits (Kullback–Leibler
        divergence); ``conflict`` (n_samples, n_views) of each view with all others, positive if
        they contradict each other, and ``agreement``, its negative; ``p_values`` (n_samples,
        n_views), the share of reference samples with at least this conflict, or None without
        them; ``distrust``, for each sample with three or more views the view with the least
        p-value if that, multiplied by the number of views, is below 0.05, else None;
        ``view_names`` and ``classes``. Values are NaN where a sample lacks the view or has no other
        one, p-values also where no reference sample has these views.

    Notes
    -----
    If two views contradict each other, nothing tells which of them is wrong: ``distrust`` is None.

    A sample is compared with reference samples that have the same views. Where fewer than 50 have
    just these, samples with more views are taken as if they lacked the others.

    Examples
    --------
    >>> from consilience.datasets import make_multiview_classification
    >>> from consilience.fusion import LateFusionClassifier
    >>> from consilience.trust import view_opinions
    >>> data, y = make_multiview_classification(900, n_classes=3, random_state=0)
    >>> model = LateFusionClassifier().fit(data[:300], y[:300])
    >>> result = view_opinions(model, data[600:], reference=data[300:600])
    >>> result.probabilities.shape
    (300, 3, 3)
    >>> bool(0.02 < (result.p_values < 0.05).mean() < 0.08)
    True
    """
    estimator, data = _read_for_opinions(model, X)
    prior, classes = model.class_prior_, model.classes_
    values, alone = _conflicts(estimator, data, prior, classes)
    p_values = None
    if reference is not None:
        known = _read_for_opinions(model, _without_labels(reference))[1]

        def seen(pattern: np.ndarray) -> np.ndarray:
            rows = comparable_rows(known.present, pattern)
            part = with_presence(known[rows], np.tile(pattern, (len(rows), 1)))
            return _conflicts(estimator, part, prior, classes)[0]

        p_values = _p_values_with_warning(values, seen)
    elif isinstance(model, LeftOutClassifier) and model._left_out.can_mask:
        p_values = _p_values_with_warning(values, lambda p: left_out_conflicts(model, p))
    names = list(model.view_names_)
    return Bunch(
        probabilities=alone,
        strength=(alone * np.log2(np.maximum(alone, TINY) / prior)).sum(axis=2),
        conflict=values,
        agreement=-values,
        p_values=p_values,
        distrust=None
        if p_values is None
        else [names[v] if v >= 0 else None for v in suspected_view(p_values).tolist()],
        view_names=names,
        classes=classes,
    )


def _p_values_with_warning(
    values: np.ndarray, reference: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """P-values of conflicts; a warning if no view can be distrusted for lack of reference rows."""
    few: list[tuple[int, int]] = []

    def known(pattern: np.ndarray) -> np.ndarray:
        rows, n_views = reference(pattern), int(pattern.sum())
        if n_views >= MIN_VIEWS_DISTRUST and len(rows) < n_to_suspect(n_views):
            few.append((n_views, len(rows)))
        return rows

    out = conflict_p_values(values, known)
    if few:
        n_views, n_rows = min(few, key=lambda pair: pair[1])
        warn_user(
            f"view_opinions can distrust one of {n_views} views only with {n_to_suspect(n_views)} "
            f"or more reference rows that have these views, but there are {n_rows}"
        )
    return out


def _without_labels(reference: Any) -> Any:
    """The samples of a pair (X, y); two matrices are two views."""
    is_pair = isinstance(reference, tuple) and len(reference) == 2
    return reference[0] if is_pair and np.ndim(reference[1]) == 1 else reference


def _read_for_opinions(model: Any, X: Any) -> tuple[Any, MultiViewData]:
    """Whose opinions count, and its input: of a classifier of this package the one inside.

    So they are those of the classifiers that its left-out rows were predicted by.
    """
    estimator, data = read_fitted(model, X, "view_opinions")
    if isinstance(model, LeftOutClassifier):
        return model.estimator_, model._validate_input(X, reset=False)
    return estimator, data


def read_fitted(model: Any, X: Any, function: str) -> tuple[Any, MultiViewData]:
    """The fitted classifier of several views, and validated samples."""
    check_is_fitted(model)
    if not isinstance(model, MultiViewClassifier):
        raise TypeError(
            f"{function} needs a fitted classifier of consilience, got {type(model).__name__}"
        )
    check_in_memory(X, function)
    data = model._validate_input(X, reset=False)
    data = data._with_column_names(dict.fromkeys(data.view_names, MATCHED))
    if getattr(model, "_table_codes", None):  # it encodes tables itself, whenever it predicts
        data = read_input(model, X, reset=False, numeric=False)
    return model, data


def read_codes(model: Any, y: Any, data: MultiViewData, function: str) -> np.ndarray:
    """Codes of the labels of samples, each of which must be a class seen in fit."""
    check_aligned(data, y=y)
    labels = check_labels(y, len(data), function)
    if labels.shape != (len(data),) or not np.isin(labels, model.classes_).all():
        raise ValueError(f"{function} needs {len(data)} labels of the classes seen in fit")
    return np.searchsorted(model.classes_, labels)


def left_out_conflicts(model: LeftOutClassifier, pattern: np.ndarray) -> np.ndarray:
    """Conflicts (m x V) of calibration rows with the views of a pattern, when left out."""
    left_out = model._left_out
    rows = comparable_rows(left_out.present, pattern)
    out = np.full((len(rows), len(pattern)), np.nan)
    for k, estimator in enumerate(left_out.estimators):
        own = np.flatnonzero(left_out.fold[rows] == k)
        if len(own):
            part = left_out.data(rows[own], pattern)
            out[own] = _conflicts(estimator, part, model.class_prior_, model.classes_)[0]
    return out


def _conflicts(
    estimator: Any, data: MultiViewData, prior: np.ndarray, classes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Conflict (n x V) of each view with the others, and the opinions (n x V x K).

    ``prior`` is that of the whole model, also for the estimators of its folds: conflicts that are
    compared with each other have one prior.
    """
    alone = opinions_of(estimator, data, classes)
    others = without_each_view(estimator, data, classes)
    values = conflict(alone, others, prior)
    values[np.isnan(others).any(axis=2)] = np.nan
    return values, alone
