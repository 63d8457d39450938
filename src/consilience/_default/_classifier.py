"""ConsilienceClassifier: the classifier to start with.

A fit merges and orders the rows (``_rows``), maps the views (``_columns``, ``views._maps``), fits
its members (``_members``): the kernel member (``_kernel``, ``_reference_set``), the linear one
(``_linear``), the two tree members on mapped columns and on principal components (``_trees``,
``_forest``, ``_components``) and boosted trees (``_boosted``), and weighs them by their predictions
for training rows left out (``_combine``). Unlabelled rows take part in a second fit
(``_pseudo_labels``). A prediction trains nothing: for rows that lack views, the kernel member
solves one linear system per pattern, and rows descend the forests past absent columns.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.utils import check_random_state

from consilience._base import MultiViewClassifier
from consilience._compat import Progress
from consilience._copies import warn_of_near_copies
from consilience._default._boosted import N_FOLDS as N_BOOSTED_FOLDS
from consilience._default._combine import (
    cross_fitted_logits,
    fit_stacking_weights,
    out_of_fold_error,
)
from consilience._default._explain import Explanation, explain_views
from consilience._default._forest import MANY_ROWS, N_FOLDS, count_folds
from consilience._default._from_blocks import draw_training_rows
from consilience._default._members import FEW_ROWS, MemberFit, member_scores
from consilience._default._pseudo_labels import (
    add_pseudo_labels,
    check_marker,
    is_unlabelled,
    match_confidence,
    read_partial_labels,
)
from consilience._default._rows import merge_rows
from consilience._folds import check_groups_for_folds, group_folds
from consilience._kernel_views import present_rows, read_square
from consilience._model_types import model_type
from consilience._parameters import (
    CLASS_WEIGHT,
    N_JOBS,
    POSITIVE,
    RANDOM_STATE,
    VIEWS,
    Number,
    Scalar,
)
from consilience._training import UNLABELLED, naming_large_values
from consilience._warnings import warn_of_unseen_views
from consilience.distributed._blocks import BlockTraining
from consilience.distributed._mixin import BlockwiseFitMixin
from consilience.views import MultiViewData
from consilience.views._encode import encode_tables, fit_table_codes, mixed_tables
from consilience.views._input import read_input
from consilience.views._layout import check_values
from consilience.views._pairwise import KINDS

__all__ = ["ConsilienceClassifier"]

PREDICT_CHUNK_ROWS = 20_000  # rows predicted at once
MIN_TREES, MAX_TREES = 10, 1_000_000
N_TREES_OF_FEW_ROWS, N_TREES, N_TREES_OF_MANY_ROWS = 400, 300, 150
TINY = 1e-300
# with fewer rows, or fewer per class on average, the folds left out are too small to stop in time
BOOSTED_MIN_ROWS, BOOSTED_MIN_CLASS_ROWS = 50, 10


@model_type("ConsilienceClassifier")
class ConsilienceClassifier(BlockwiseFitMixin, MultiViewClassifier):
    """The classifier to start with: it needs no tuning, and few labels are enough.

    Its members look at all views in different ways: kernel ridge regression on a kernel that
    weighs each view by what it explains alone, a linear regression for each view, a forest on the
    columns of all views, a forest on the principal components of each, and, with at least 50 rows
    and ten per class on average, gradient-boosted trees on the columns of all views. Their scores
    are pooled so that the log loss on training rows left out is minimal.

    Dense and sparse views, tables with categories and empty cells, kernels and distances are
    accepted. Rows may lack views, in training and in prediction: each is predicted from the views
    it has.

    Parameters
    ----------
    n_estimators : int or None, default=None
        Number of trees grown for each forest, at least 10. None means 400, 300 above 1000 rows, and
        150 above 2000. Up to 1000 rows there are two kinds of trees on columns, of which one may be
        left out.
    time_budget : float or None, default=None
        Number of seconds after which no more trees are grown; each forest has at least 10, and
        boosting is left out. Results then depend on the machine. None means no limit.
    views : None, list or dict, default=None
        Groups of columns when X is one matrix, or names of the views to use.
    class_weight : "balanced", dict or None, default=None
        Weights of the classes, multiplied with the sample weights.
    unlabelled : scalar or None, default=None
        Label that marks training rows of unknown class, such as −1 (scikit-learn's convention,
        which must be set explicitly, because −1 may be a class) or NaN. Rows whose label is None
        are always unlabelled.
    random_state : int, RandomState or None, default=None
        Seed of the trees.
    n_jobs : int or None, default=None
        Number of threads; None means 1. Results do not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    member_names_ : list of str
        "kernel", "linear", "columns" (forest on the columns), "components" (forest on components)
        and "boosted" (see above); if all views are kernels or distances, only "kernel" and
        "components".
    member_weights_ : ndarray of shape (n_members,)
        Weights of the members' scores, summing to 1.
    member_scores_ : ndarray of shape (n_members,)
        Accuracy of each member on training rows left out; with unlabelled rows, that of the first
        fit, NaN for a member that it did not have.
    out_of_fold_score_ : float
        Accuracy of all members together on training rows left out; with groups, of rows whose group
        was left out.
    out_of_fold_probabilities_ : ndarray of shape (n_rows, n_classes)
        Probabilities of the training rows (of positive weight) when left out with their copies;
        NaN for rows that were not left out. With unlabelled rows, those of the second fit.
    view_weights_ : ndarray of shape (n_views,)
        Weights of the views in the kernel member (and among forests of single views), summing to
        1: proportional to ``view_scores_``, where scores below 0.01 count as 0.01.
    view_scores_ : ndarray of shape (n_views,)
        Share of the labels' variance that each view explains alone in rows left out.
    view_names_ : list of str
        Names of the views.
    n_views_in_ : int
        Number of views.
    n_features_in_ : int
        Number of columns over all views.
    view_feature_names_in_ : dict of view -> ndarray of str
        Names of the columns, of the views that have names.

    See Also
    --------
    consilience.fusion.LateFusionClassifier : A plain vote of one classifier per view.
    consilience.vote.MwMvC2Classifier : Learned weights on voters and views.

    Notes
    -----
    The evidence is in ``docs/results/default.md``. A dense view of 16 or more numeric columns gets
    features of whole rows as further columns if they clearly lower its error in rows left out:
    quantiles of the row's values, and, if neighbouring columns are as much alike as the points of a
    signal, how strongly short patterns occur in the row. Equal rows with equal labels count as one
    row of their summed weight, so a row is never predicted by its copy. Above 5000 rows the kernel
    is approximated on 4000 landmarks (2000 if rows lack views, or views are kernels). The model
    keeps at most 5000 training rows, with which the kernel member compares new ones.

    ``predict`` trains nothing, also for rows that lack views: the kernel member solves a linear
    system for each pattern of present views, and a row descends both sides of a split on a column
    that it lacks, weighted by the training rows on each side. If training rows lack views, there
    are forests of single views instead.

    If rows belong together, such as the measurements of a patient, pass their groups to ``fit`` or
    to ``MultiViewData``. They are then left out in ten folds of whole groups, and
    ``out_of_fold_score_``, the weights of members and views, the calibration and ``explain()`` rest
    on predictions by other groups. Without groups, rows that are nearly copies of each other make
    all of these too optimistic, and give a warning.

    From a ``BlockSequence`` or dask arrays of more than 200 000 rows, the members learn from a
    sample of about so many, which is drawn by a hash of the row numbers, so that it does not depend
    on the blocks; class shares are those of all rows. Rows of rare classes and views are drawn more
    often and weigh less. ``out_of_fold_probabilities_`` are those of the sample.

    Unlabelled rows take part in a second fit with the class that the first one predicts, at no
    more than 0.3 of a label's weight. ``member_scores_`` and ``out_of_fold_score_`` are then those
    of the first fit.

    Examples
    --------
    >>> from consilience import ConsilienceClassifier
    >>> from consilience.datasets import load_digits_views
    >>> digits = load_digits_views()
    >>> model = ConsilienceClassifier(random_state=0).fit(digits.data[:500], digits.target[:500])
    >>> model.score(digits.data[500:], digits.target[500:])
    0.9...
    """

    _kinds = KINDS
    _uses_groups = True

    member_scores_: np.ndarray
    out_of_fold_score_: float
    out_of_fold_probabilities_: np.ndarray
    _factors: np.ndarray
    _bias: np.ndarray

    _parameter_constraints: dict[str, list[Any]] = {
        "n_estimators": [None, Number(Integral, MIN_TREES, MAX_TREES, closed="both")],
        "time_budget": [None, POSITIVE],
        "views": VIEWS,
        "class_weight": CLASS_WEIGHT,
        "unlabelled": [None, Scalar()],
        "random_state": RANDOM_STATE,
        "n_jobs": N_JOBS,
    }

    # views of numbers that another classifier made from tables of numbers and categories
    _mixed_views: tuple[str, ...] = ()

    def __init__(
        self,
        n_estimators: int | None = None,
        *,
        time_budget: float | None = None,
        views: Any = None,
        class_weight: Any = None,
        unlabelled: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.time_budget = time_budget
        self.views = views
        self.class_weight = class_weight
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs

    def explain(self) -> Explanation:
        """Explain what the decision rests on: members, views alone, and what each view adds.

        Returns
        -------
        Explanation
            ``members`` and ``views`` are lists of dicts; printing it shows them as text.
        """
        members = [
            {"member": name, "weight": float(weight), "left-out accuracy": float(score)}
            for name, weight, score in zip(
                self.member_names_, self.member_weights_, self.member_scores_, strict=True
            )
        ]
        views = {view["view"]: view for view in explain_views(self._members[0])}
        return Explanation(members, [views[name] for name in self.view_names_])

    def member_decision_function(self, X: Any) -> np.ndarray:
        """Scores of each member alone, before they are pooled.

        Parameters
        ----------
        X : MultiViewData, matrix, or any input that ``as_multiview`` reads
            Samples with the views seen in fit; a container may lack some of them.

        Returns
        -------
        ndarray of shape (n_members, n_samples, n_classes)
            In the order of ``member_names_``; the class prior for rows without any view.
        """
        data, known = self._validate_for_predict(X)
        out = np.tile(self.class_prior_, (len(self._members), len(data), 1))
        for start in range(0, len(data), PREDICT_CHUNK_ROWS):
            rows = start + np.flatnonzero(known[start : start + PREDICT_CHUNK_ROWS])
            if len(rows):
                out[:, rows] = self._member_scores(data[rows])
        return out

    def _validate_input(self, X: Any, reset: bool) -> MultiViewData:
        data = read_input(self, X, reset=reset, numeric=False)
        if reset:
            self._table_codes = fit_table_codes(data)
        data = encode_tables(data, self._table_codes)
        nan_views = self._nan_views(data.view_names)
        return check_values(data, self._kinds, type(self).__name__, nan_views=nan_views)

    def _nan_views(self, names: Sequence[str]) -> Sequence[str]:
        return names

    def _check_blockwise_parameters(self) -> None:
        if self.unlabelled is not None:
            raise TypeError(
                "ConsilienceClassifier does not support unlabelled rows in blocks; leave them out, "
                "or load the data into memory"
            )

    def _fit_blocks(self, training: BlockTraining) -> None:
        self._table_codes = {}  # blocks have numbers only
        rows = draw_training_rows(training)
        with naming_large_values(rows.data):
            self._fit(rows.data, rows.codes, rows.weight)

    def _fit(self, data: MultiViewData, codes: np.ndarray, weight: np.ndarray) -> None:
        seen = [name for v, name in enumerate(data.view_names) if data.present[:, v].any()]
        warn_of_unseen_views(data.view_names, seen)
        if data.groups is None:
            warn_of_near_copies(data)
        else:
            check_groups_for_folds(codes, data.groups, self.classes_, N_FOLDS)
        for name, kind in data.kinds.items():
            if kind != "features":  # checked before rows change their order
                read_square(data, name, present_rows(data, name))
        rng, labelled = check_random_state(self.random_state), codes != UNLABELLED
        n_tasks = self._n_tasks(len(data))
        data = self._in_name_order(data)
        if labelled.all():
            deadline = make_deadline(self.time_budget)
            with Progress(self, n_tasks) as progress:
                self._fit_rows(data, codes, weight, self.class_prior_, rng, deadline, progress)
        else:
            with Progress(self, n_tasks + self._n_tasks(labelled.sum())) as progress:
                self._fit_with_pseudo_labels(data, codes, weight, labelled, rng, progress)

    def _fit_with_pseudo_labels(
        self,
        data: MultiViewData,
        codes: np.ndarray,
        weight: np.ndarray,
        labelled: np.ndarray,
        rng: np.random.RandomState,
        progress: Progress,
    ) -> None:
        """Fit on the labelled rows, predict the classes of the others, fit on all of them."""
        half = None if self.time_budget is None else self.time_budget / 2
        known = data[labelled], codes[labelled], weight[labelled]
        self._fit_rows(*known, self.class_prior_, rng, make_deadline(half), progress)
        scores = dict(zip(self.member_names_, self.member_scores_.tolist(), strict=True))
        score = self.out_of_fold_score_
        probabilities = self._probabilities(data[~labelled])
        codes, weight = add_pseudo_labels(codes, weight, labelled, probabilities)
        # pseudo-labels favour some of the classes, and so will the members: stacking must know
        totals = np.bincount(codes, weights=weight)
        prior = totals / totals.sum()
        rows, logits = self._fit_rows(
            data, codes, weight, prior, rng, make_deadline(half), progress
        )
        confidence = probabilities.max(axis=1).mean()
        factor = match_confidence(logits[~labelled[rows]], confidence)
        self._factors, self._bias = factor * self._factors, factor * self._bias
        logits = factor * np.log(np.maximum(self.out_of_fold_probabilities_, TINY))
        self.out_of_fold_probabilities_ = softmax(logits, axis=1)
        # the labels of all other rows are our own; a member that needs more rows has no score
        self.member_scores_ = np.array([scores.get(name, np.nan) for name in self.member_names_])
        self.out_of_fold_score_ = score

    def _n_trees(self, n_rows: int) -> int:
        if self.n_estimators is not None:
            return self.n_estimators
        if n_rows <= FEW_ROWS:  # a part of them may be left out
            return N_TREES_OF_FEW_ROWS
        return N_TREES if n_rows <= MANY_ROWS else N_TREES_OF_MANY_ROWS

    def _has_rows_to_boost(self, n_rows: int) -> bool:
        return n_rows >= max(BOOSTED_MIN_ROWS, BOOSTED_MIN_CLASS_ROWS * len(self.classes_))

    def _n_tasks(self, n_rows: int) -> int:
        n_boosted = N_BOOSTED_FOLDS if self._has_rows_to_boost(n_rows) else 0
        return 1 + 2 * -(-self._n_trees(n_rows) // count_folds(n_rows)) + n_boosted

    def _fit_rows(
        self,
        data: MultiViewData,
        codes: np.ndarray,
        weight: np.ndarray,
        prior: np.ndarray,
        rng: np.random.RandomState,
        has_time_left: Callable[[], bool] | None,
        progress: Progress,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Fit on rows that have a class; return rows and their logits when left out."""
        rows, weight, copies = merge_rows(data, codes, weight)
        data, codes, weight = data[rows], codes[rows], weight / weight.mean()
        size = (2, data.n_views + 1, self._n_trees(len(data)))
        seeds = rng.randint(np.iinfo(np.int32).max, size=size)
        folds = None if data.groups is None else group_folds(codes, data.groups, N_FOLDS)
        fit = MemberFit(data, codes, weight, prior, folds, progress, has_time_left)
        fit.fit_on_mapped_views({*mixed_tables(self._table_codes), *self._mixed_views}, self.n_jobs)
        fit.fit_forests(seeds)
        if self._has_rows_to_boost(len(codes)):
            fit.fit_boosted(int(seeds[0, 0, 0]))
        self._set_members(fit, data.view_names)
        oof_scores, tested = np.stack(list(fit.left_out.values())), fit.tested
        rows, codes, weight = rows[tested], codes[tested], weight[tested]
        self._factors, self._bias = fit_stacking_weights(oof_scores, codes, weight, prior)
        self.member_weights_ = self._factors / self._factors.sum()
        self.member_scores_ = np.array(
            [1 - out_of_fold_error(scores, codes, weight) for scores in oof_scores]
        )
        logits = np.tensordot(self._factors, oof_scores, axes=1) + self._bias
        pooled = logits
        if folds is not None:
            pooled = cross_fitted_logits(oof_scores, codes, weight, prior, folds[tested])
        self.out_of_fold_score_ = 1 - out_of_fold_error(pooled, codes, weight)
        left_out = np.full((copies.max() + 1, pooled.shape[1]), np.nan)
        left_out[copies[rows]] = softmax(pooled, axis=1)
        self.out_of_fold_probabilities_ = left_out[copies]  # these were left out together
        return rows, logits

    def _set_members(self, fit: MemberFit, names: Sequence[str]) -> None:
        position = [names.index(name) for name in self.view_names_]
        weights = fit.kernel.view_weights
        self.view_scores_ = fit.kernel.view_scores[position]
        self.view_weights_ = weights[position] / weights.sum()
        self.member_names_, self._members = list(fit.members), list(fit.members.values())
        self._columns = fit.columns

    def _in_name_order(self, data: MultiViewData) -> MultiViewData:
        """The views ordered by name, so that results do not depend on their order in the input."""
        return data.select(sorted(self.view_names_))

    def _scores(self, data: MultiViewData) -> np.ndarray:
        out = np.empty((len(data), len(self.classes_)))
        for start in range(0, len(data), PREDICT_CHUNK_ROWS):
            rows = slice(start, start + PREDICT_CHUNK_ROWS)
            out[rows] = np.tensordot(self._factors, self._member_scores(data[rows]), axes=1)
        return out + self._bias

    def _member_scores(self, data: MultiViewData) -> np.ndarray:
        data = self._in_name_order(data)
        return member_scores(self.member_names_, self._members, self._columns, data)

    def _probabilities(self, data: MultiViewData) -> np.ndarray:
        return softmax(self._scores(data), axis=1)

    def _read_labels(self, y: Any, n_samples: int) -> tuple[np.ndarray, np.ndarray | None]:
        bare = is_unlabelled(y, self.unlabelled)
        if y is None or not bare.any():
            check_marker(y, self.unlabelled)
            return super()._read_labels(y, n_samples)
        return read_partial_labels(y, bare, n_samples, type(self).__name__), ~bare

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def make_deadline(seconds: float | None) -> Callable[[], bool] | None:
    """Return a function that says whether there is time left; None if time is not limited."""
    if seconds is None:
        return None
    end = time.monotonic() + seconds
    return lambda: time.monotonic() < end
