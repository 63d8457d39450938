"""MVWAB: AdaBoost over votes of all views.

Reference: M. Xiao, Y. Guo, "Multi-view AdaBoost for multilingual subjectivity analysis",
COLING 2012.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from consilience.boosting._base import BoostingClassifier, BoostingProblem
from consilience.boosting._rounds import Member, Round, weighted_decision
from consilience.boosting._samme import learner_weight, reweigh, vote_shares

__all__ = ["MVWABClassifier"]


class MVWABClassifier(BoostingClassifier):
    """MVWAB: in each round all views vote by their weights, and AdaBoost runs over these votes.

    Each round fits a weak learner on every view with shared weights; the learners better than
    chance vote with their AdaBoost weights, and the vote as a whole is weighted and updates the
    distribution. Where a view is missing the others vote.

    Parameters
    ----------
    estimator : classifier or dict of view -> classifier, default=None
        Weak learner; None is our binned tree of ``max_depth``, whose bins are shared by all rounds.
    n_estimators : int, default=100
        Number of rounds.
    learning_rate : float, default=1.0
        Factor of every weight.
    max_depth : int, default=3
        Depth of the default tree.
    resample : bool, default=False
        Train on rows drawn by their weights, for classifiers that do not take sample_weight.
    validation_fraction : float, default=0.1
        Share of the rows held out when ``n_iter_no_change`` is given.
    n_iter_no_change : int or None, default=None
        Stop after so many rounds without a better held-out accuracy and keep the best number of
        rounds; None runs them all.
    warm_start : bool, default=False
        Continue the last fit on the same rows with a larger ``n_estimators``.
    views : None, list or dict, default=None
        Groups of columns when X is one matrix, or names of the views to use.
    random_state : int, RandomState or None, default=None
        Seed.
    n_jobs : int or None, default=None
        Number of threads over the views; None is 1.

    Attributes
    ----------
    estimators_ : list of lists
        The weak hypotheses that vote, for each round.
    estimator_views_ : list of ndarrays
        Numbers of their views, for each round.
    estimator_weights_ : ndarray of shape (n_rounds,)
        Weight of each round's vote.
    view_estimator_weights_ : ndarray of shape (n_rounds, n_views)
        Weight of each view in a round's vote; 0 for views that are no better than chance.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    view_weights_ : ndarray of shape (n_views,)
        Share of Σ|weight| on each view.
    view_names_ : list of str
        Names of the views.
    n_views_in_ : int
        Number of views.
    n_features_in_ : int
        Number of columns over all views.

    See Also
    --------
    ShareBoostClassifier : The best view of each round joins alone.

    References
    ----------
    M. Xiao, Y. Guo, "Multi-view AdaBoost for multilingual subjectivity analysis", COLING 2012.

    Examples
    --------
    >>> from consilience.boosting import MVWABClassifier
    >>> from consilience.datasets import load_digits_views
    >>> digits = load_digits_views()
    >>> model = MVWABClassifier(random_state=0).fit(digits.data[:500], digits.target[:500])
    >>> model.score(digits.data[500:], digits.target[500:])
    0.8...
    """

    def _start(self, problem: BoostingProblem) -> dict[str, Any]:
        return {"w": problem.weight / problem.total}

    def _boost(self, problem: BoostingProblem, state: dict[str, Any]) -> Round | None:
        w, K, n = state["w"], problem.n_classes, problem.n
        hypotheses, predictions = problem.fit_views([w] * len(problem.learners))
        shares = [vote_shares(w, problem.codes, h) for h in predictions]
        weights = np.array([max(0.0, learner_weight(*share, K, n)[0]) for share in shares])
        weights[weights <= 1e-12] = 0.0
        voted = weighted_decision(predictions, weights, problem.prior)
        alpha, _ = learner_weight(*vote_shares(w, problem.codes, voted), K, n)
        if alpha <= 1e-12:
            return None
        alpha *= self.learning_rate
        state["w"] = reweigh(w, problem.codes, voted, alpha, K)
        members = tuple(
            Member(v, h, weight)
            for v, (h, weight) in enumerate(zip(hypotheses, weights, strict=True))
            if weight > 0
        )
        return Round(alpha, members, last=bool((voted == problem.codes).all()))

    def _set_fitted_attributes(self) -> None:
        super()._set_fitted_attributes()
        self.estimators_: list[Any] = [[m.hypothesis for m in r.members] for r in self._rounds]
        self.estimator_views_: Any = [np.array([m.view for m in r.members]) for r in self._rounds]
        self.view_estimator_weights_ = np.zeros((len(self._rounds), self.n_views_in_))
        for t, round_ in enumerate(self._rounds):
            for member in round_.members:
                self.view_estimator_weights_[t, member.view] = member.weight
