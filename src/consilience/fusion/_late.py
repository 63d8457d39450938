"""Late fusion: one classifier per view, and a vote of those whose view is present."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from consilience._base import MultiViewClassifier
from consilience._compat import Progress
from consilience._estimators import with_seeds
from consilience._model_types import model_type
from consilience._parameters import (
    CLASS_WEIGHT,
    ESTIMATOR,
    N_JOBS,
    NON_NEGATIVE,
    RANDOM_STATE,
    VIEWS,
    PerView,
    StrOptions,
)
from consilience.distributed._blocks import BlockTraining
from consilience.distributed._mixin import BlockwiseFitMixin
from consilience.fusion._block_learners import (
    check_members_learn_from_blocks,
    look_at_views,
    number_rows,
)
from consilience.fusion._from_blocks import fit_members_from_blocks
from consilience.fusion._members import ViewMember, fit_member
from consilience.fusion._ties import TIE_RULES, break_ties
from consilience.views import MultiViewData
from consilience.views._pairwise import KINDS
from consilience.views._params import PerViewParams, per_view

__all__ = ["LateFusionClassifier"]

METHOD_OF_VOTING = {"soft": "predict_proba", "hard": "predict", "sum": "decision_function"}


def average_present(outputs: np.ndarray, weights: Any) -> tuple[np.ndarray, np.ndarray]:
    """Weighted mean of the outputs (V x n x K, NaN = missing) of the views present in each row.

    Also return the mask of rows in which no view with a positive weight is present.
    """
    is_present = ~np.isnan(outputs).any(axis=2)
    share = is_present * np.asarray(weights)[:, None]
    total = share.sum(axis=0)
    has_none = total == 0
    share = share / np.where(has_none, 1.0, total)
    present_outputs = np.where(is_present[:, :, None], outputs, 0.0)
    return np.einsum("vn,vnk->nk", share, present_outputs), has_none


@model_type("fusion.LateFusionClassifier")
class LateFusionClassifier(BlockwiseFitMixin, MultiViewClassifier, PerViewParams):
    """A vote of one classifier per view.

    Each classifier is fitted on the rows that have its view; at prediction the votes are averaged
    over the views present in a row.

    Parameters
    ----------
    estimator : classifier or dict of view -> classifier, default=None
        Cloned for every view, or one for each; None means a logistic regression on scaled columns.
        Single values may be NaN in the views of classifiers that support NaN.
        Kernel and distance views require estimators of precomputed matrices.
    voting : {"soft", "hard", "sum"}, default="soft"
        Average the probabilities, the predictions (as votes), or the decision values.
    weights : array of shape (n_views,) or dict of view -> float, default=None
        Weights of the votes; None means equal weights.
    ties : {"prior", "first", "random"}, default="prior"
        Which of several classes with equal votes is predicted: that with the largest share of the
        training rows (of equal ones the first), the first, or one at random, the same whenever the
        same row is predicted. An even number of views with ``voting="hard"`` often ties, and the
        rule then matters much. For ``voting="sum"`` it is always the first.
    views : None, list or dict, default=None
        Groups of columns if X is a single matrix, or names of the views to use.
    class_weight : "balanced", dict or None, default=None
        Weights of the classes, multiplied into the sample weights.
    random_state : int, RandomState or None, default=None
        Seed of the classifiers whose own ``random_state`` is None, and of random choices of ties.
    n_jobs : int or None, default=None
        Number of threads over the views; None means 1.

    Attributes
    ----------
    estimators_ : dict of view -> classifier
        The fitted classifiers; views with training rows of fewer than two classes have none.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    view_weights_ : ndarray of shape (n_views,)
        Weights of the votes, summing to 1.
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
    EarlyFusionClassifier : One classifier on the concatenation of all views.
    StackingFusionClassifier : A final classifier learns how to combine the outputs.

    Examples
    --------
    >>> from consilience.datasets import load_digits_views
    >>> from consilience.fusion import LateFusionClassifier
    >>> digits = load_digits_views()
    >>> model = LateFusionClassifier().fit(digits.data[:500], digits.target[:500])
    >>> model.score(digits.data[500:], digits.target[500:])
    0.8...
    """

    _kinds = KINDS

    _parameter_constraints: dict[str, list[Any]] = {
        "estimator": ESTIMATOR,
        "voting": [StrOptions(set(METHOD_OF_VOTING))],
        "weights": [None, "array-like", PerView(NON_NEGATIVE)],
        "ties": [StrOptions(set(TIE_RULES))],
        "views": VIEWS,
        "class_weight": CLASS_WEIGHT,
        "random_state": RANDOM_STATE,
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        voting: str = "soft",
        weights: Any = None,
        ties: str = "prior",
        views: Any = None,
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.voting = voting
        self.weights = weights
        self.ties = ties
        self.views = views
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit(self, data: MultiViewData, codes: np.ndarray, weight: np.ndarray) -> None:
        estimators = with_seeds(
            per_view(self.estimator, data.view_names, "estimator"), self.random_state
        )
        votes = self._vote_weights(data.view_names)

        def fit(name: str) -> ViewMember | None:
            return fit_member(estimators[name], data, name, codes, weight, self.classes_)

        with Progress(self, n_tasks=data.n_views) as progress:
            members = progress.map(fit, data.view_names, "fit view")
        self._set_members(members, votes)

    def _check_blockwise_parameters(self) -> None:
        check_members_learn_from_blocks(self.estimator, type(self).__name__)

    def _fit_blocks(self, training: BlockTraining) -> None:
        names, n_rows, starts = tuple(self.view_names_), training.n, training.starts
        estimators = with_seeds(per_view(self.estimator, names, "estimator"), self.random_state)
        votes = self._vote_weights(names)
        blocks = training.map_and_release(number_rows, each=starts)
        overview = look_at_views(blocks, names, len(self.classes_))
        with Progress(self, n_tasks=0):
            (members,) = fit_members_from_blocks(
                blocks, n_rows, estimators, overview, self.classes_
            )
        self._set_members(members, votes)

    def _set_members(self, members: list[ViewMember | None], votes: np.ndarray) -> None:
        """Set the fitted attributes from the members of all views, None where there is none."""
        self._members = [member for member in members if member is not None]
        self.estimators_ = {member.name: member.estimator for member in self._members}
        votes = votes * [member is not None for member in members]
        if not votes.any():
            raise ValueError("no view with a positive weight has training rows of two classes")
        self.view_weights_ = votes / votes.sum()
        self._require_method(METHOD_OF_VOTING[self.voting])
        if self.ties == "random":
            self._tie_seed = int(check_random_state(self.random_state).randint(2**31 - 1))

    def _vote_weights(self, names: tuple[str, ...]) -> np.ndarray:
        if self.weights is None:
            return np.ones(len(names))
        weights = self.weights
        if isinstance(weights, dict):
            weights = list(per_view(weights, names, "weights").values())
        try:
            weights = np.asarray(weights, dtype=np.float64)
        except (TypeError, ValueError):
            weights = np.empty(0)
        is_valid = weights.shape == (len(names),) and np.isfinite(weights).all()
        if not (is_valid and (weights >= 0).all() and weights.any()):
            raise ValueError(
                f"weights must be {len(names)} finite numbers >= 0, one for each view and not all "
                f"0; got {self.weights!r}"
            )
        return weights

    def _require_method(self, method: str) -> None:
        for member in self._members:
            if not hasattr(member.estimator, method):
                others = {"soft": "'sum' or 'hard'", "sum": "'soft' or 'hard'"}[self.voting]
                raise ValueError(
                    f"voting={self.voting!r} requires {method}, which "
                    f"{type(member.estimator).__name__} of view {member.name!r} does not have; "
                    f"use voting={others}"
                )

    def _scores(self, data: MultiViewData) -> np.ndarray:
        method = METHOD_OF_VOTING[self.voting]
        outputs = np.stack([member.output(data, method) for member in self._members])
        indices = [self.view_names_.index(member.name) for member in self._members]
        scores, has_none = average_present(outputs, self.view_weights_[indices])
        scores[has_none] = self.class_prior_
        if self.voting == "sum":
            return scores
        seed = getattr(self, "_tie_seed", 0)  # models fitted before there was a choice have none
        scores = break_ties(scores, self.ties, self.class_prior_, data, seed)
        return scores / scores.sum(axis=1, keepdims=True)

    def _probabilities(self, data: MultiViewData) -> np.ndarray:
        return self._scores(data)

    def _has_probabilities(self) -> bool:
        return self.voting != "sum"
