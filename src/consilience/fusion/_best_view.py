"""Best view: the classifier of the view with the best cross-validated accuracy."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import Tags

from consilience._base import MultiViewClassifier
from consilience._compat import Progress
from consilience._estimators import with_seeds
from consilience._model_types import model_type
from consilience._parameters import (
    CLASS_WEIGHT,
    CV,
    ESTIMATOR,
    FRACTION,
    N_JOBS,
    RANDOM_STATE,
    VIEWS,
)
from consilience.distributed._blocks import BlockTraining
from consilience.distributed._mixin import BlockwiseFitMixin
from consilience.fusion._block_learners import (
    check_groups_of_blocks,
    check_members_learn_from_blocks,
    look_at_views,
    number_rows,
)
from consilience.fusion._from_blocks import (
    count_correct,
    fit_members_from_blocks,
    folds_from_cv,
)
from consilience.fusion._members import ViewMember, best_method, fit_member
from consilience.fusion._out_of_fold import Split, are_splits, make_splits, out_of_fold
from consilience.views import MultiViewData
from consilience.views._pairwise import KINDS
from consilience.views._params import PerViewParams, per_view, per_view_values

__all__ = ["BestViewClassifier"]


def view_accuracy(
    outputs: np.ndarray, prior: np.ndarray, codes: np.ndarray, weight: np.ndarray, test: Any
) -> float:
    """Weighted accuracy of out-of-fold outputs, with the largest class for rows without the view.

    Views are thus compared on all samples, and one that is present in a few rows cannot win by
    these.
    """
    missing = np.isnan(outputs).any(axis=1)
    best = np.where(missing[:, None], 0, outputs).argmax(axis=1)
    y_pred = np.where(missing, prior.argmax(), best)
    return np.average(y_pred == codes[test], weights=weight[test])


@model_type("fusion.BestViewClassifier")
class BestViewClassifier(BlockwiseFitMixin, MultiViewClassifier, PerViewParams):
    """The classifier of the one view with the best cross-validated accuracy.

    A classifier is fitted on every view; each row is classified by the best of its views.

    Parameters
    ----------
    estimator : classifier or dict of view -> classifier, default=None
        Cloned for every view, or one for each; None means a logistic regression on scaled columns.
        Single values may be NaN in the views of classifiers that support NaN.
    cv : int, float, splitter or iterable of splits, default=5
        Splits for the comparison; a float is the test size of a single hold-out split. The groups
        of ``fit`` are kept together, and passed to a splitter.
    views : None, list or dict, default=None
        Groups of columns if X is a single matrix, or names of the views to use.
    class_weight : "balanced", dict or None, default=None
        Weights of the classes, multiplied into the sample weights, also in the comparison.
    random_state : int, RandomState or None, default=None
        Seed of the hold-out split and of the classifiers whose own ``random_state`` is None.
    n_jobs : int or None, default=None
        Number of threads over views and folds; None means 1.

    Attributes
    ----------
    best_view_ : str
        The view whose classifier is used where it is present.
    view_scores_ : ndarray of shape (n_views,)
        Cross-validated accuracies; the largest class is predicted for rows without the view.
    estimators_ : dict of view -> classifier
        The fitted classifiers; views with training rows of fewer than two classes have none.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    view_weights_ : ndarray of shape (n_views,)
        1 for the best view, 0 for the others.
    view_names_ : list of str
        Names of the views.
    n_views_in_ : int
        Number of views.
    n_features_in_ : int
        Total number of columns of all views.
    view_feature_names_in_ : dict of view -> ndarray of str
        Names of the columns, of the views that have names.

    See Also
    --------
    LateFusionClassifier : A vote of all views.

    Examples
    --------
    >>> from consilience.datasets import load_digits_views
    >>> from consilience.fusion import BestViewClassifier
    >>> digits = load_digits_views(kind="features")
    >>> model = BestViewClassifier().fit(digits.data[:500], digits.target[:500])
    >>> model.best_view_
    'pixels'
    """

    _kinds = KINDS
    _uses_groups = True

    _parameter_constraints: dict[str, list[Any]] = {
        "estimator": ESTIMATOR,
        "cv": [*CV, FRACTION],
        "views": VIEWS,
        "class_weight": CLASS_WEIGHT,
        "random_state": RANDOM_STATE,
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        cv: Any = 5,
        views: Any = None,
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.cv = cv
        self.views = views
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs

    @property
    def _drops_zero_weights(self) -> bool:
        # splits given as row indices must stay valid
        return not are_splits(self.cv)

    def _fit(self, data: MultiViewData, codes: np.ndarray, weight: np.ndarray) -> None:
        names = data.view_names
        estimators = with_seeds(per_view(self.estimator, names, "estimator"), self.random_state)
        splits = []
        if len(names) > 1:
            splits = make_splits(self.cv, codes, weight, self.random_state, data, self.classes_)
        tests = np.concatenate([test for _, test in splits]) if splits else None

        def score(task: tuple[str, Split]) -> np.ndarray:
            name, split = task
            return out_of_fold(estimators[name], data, name, codes, weight, self.classes_, split)

        def fit(name: str) -> ViewMember | None:
            return fit_member(estimators[name], data, name, codes, weight, self.classes_)

        with Progress(self, n_tasks=len(names) * (len(splits) + 1)) as progress:
            tasks = [(name, split) for name in names for split in splits]
            outputs = progress.map(score, tasks, "compare view")
            members = progress.map(fit, names, "fit view")
        per_view_outputs = [
            outputs[v * len(splits) : (v + 1) * len(splits)] for v in range(len(names))
        ]
        self.view_scores_ = np.array(
            [
                view_accuracy(np.concatenate(parts), self.class_prior_, codes, weight, tests)
                if splits
                else np.nan
                for parts in per_view_outputs
            ]
        )
        self._set_members(names, members)

    def _check_blockwise_parameters(self) -> None:
        folds_from_cv(self.cv, type(self).__name__)
        check_members_learn_from_blocks(self.estimator, type(self).__name__)

    def _fit_blocks(self, training: BlockTraining) -> None:
        names, n_rows, starts = tuple(self.view_names_), training.n, training.starts
        estimators = with_seeds(per_view(self.estimator, names, "estimator"), self.random_state)
        folds = folds_from_cv(self.cv, type(self).__name__) if len(names) > 1 else []
        blocks = training.map_and_release(number_rows, each=starts)
        overview = look_at_views(blocks, names, len(self.classes_))
        if folds:
            check_groups_of_blocks(overview, self.classes_)
        with Progress(self, n_tasks=0):
            fitted = fit_members_from_blocks(
                blocks, n_rows, estimators, overview, self.classes_, [*folds, None]
            )
        self.view_scores_ = np.full(len(names), np.nan)
        if folds and any(member is not None for member in fitted[-1]):
            by_fold = list(zip(folds, fitted[:-1], strict=True))
            correct, total = blocks.sum(count_correct, by_fold, self.class_prior_)
            has_member = [member is not None for member in fitted[-1]]
            self.view_scores_[:] = self.class_prior_.max()
            self.view_scores_[has_member] = correct / total
        self._set_members(names, fitted[-1])

    def _set_members(self, names: tuple[str, ...], members: list[ViewMember | None]) -> None:
        """Rank the members of all views (None where there is none) by ``view_scores_``."""
        self._members = {member.name: member for member in members if member is not None}
        if not self._members:
            raise ValueError("no view has training rows of at least two classes")
        order = np.argsort(-self.view_scores_, kind="stable")
        self._ranking = [names[v] for v in order if names[v] in self._members]
        self.estimators_ = {name: member.estimator for name, member in self._members.items()}
        self.best_view_ = self._ranking[0]
        self.view_weights_ = np.array([float(name == self.best_view_) for name in names])

    def _outputs(self, data: MultiViewData, method: str | None) -> np.ndarray:
        """``method`` of the best present view of each row; by default its ``best_method``."""
        outputs = np.full((len(data), len(self.classes_)), np.nan)
        for name in self._ranking:
            rows = np.flatnonzero(np.isnan(outputs).any(axis=1))
            if len(rows) == 0:
                break
            member = self._members[name]
            outputs[rows] = member.output(data[rows], method or best_method(member.estimator))
        outputs[np.isnan(outputs).any(axis=1)] = self.class_prior_
        return outputs

    def _scores(self, data: MultiViewData) -> np.ndarray:
        return self._outputs(data, None)

    def _probabilities(self, data: MultiViewData) -> np.ndarray:
        return self._outputs(data, "predict_proba")

    def _has_probabilities(self) -> bool:
        if hasattr(self, "_members"):
            estimators: list[Any] = [member.estimator for member in self._members.values()]
        else:
            estimators = per_view_values(self.estimator)
        return all(e is None or hasattr(e, "predict_proba") for e in estimators)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # a single group of columns may not reach the accuracy that scikit-learn's check requires
        tags.classifier_tags.poor_score = self.views is not None
        return tags
