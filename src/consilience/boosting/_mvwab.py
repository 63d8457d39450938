"""MVWAB: AdaBoost over weighted votes of all views.

Reference: M. Xiao, Y. Guo, "Multi-view AdaBoost for multilingual subjectivity analysis",
COLING 2012.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from consilience._docstring import fill_docstring
from consilience._model_types import model_type
from consilience.boosting._base import BoostingClassifier
from consilience.boosting._entries import ENTRIES
from consilience.boosting._problem import Problem
from consilience.boosting._rounds import Member, Round, RoundRows, weighted_decision
from consilience.boosting._samme import (
    learner_weight,
    reweigh,
    shared_weights,
    split_views,
    start_weights,
    sums_of_views,
    update_factors,
    vote_shares,
    vote_sums,
)

__all__ = ["MVWABClassifier"]


def sums_of_vote(rows: RoundRows, weights: np.ndarray, prior: np.ndarray) -> list[int]:
    """``vote_sums`` of the weighted vote of all views."""
    voted = weighted_decision(rows.predictions, weights, prior)
    return vote_sums(rows.state["w"], rows.codes, voted)


def reweigh_vote(
    rows: RoundRows, weights: np.ndarray, prior: np.ndarray, factors: np.ndarray
) -> None:
    """Update the weights with the weighted vote of all views."""
    voted = weighted_decision(rows.predictions, weights, prior)
    rows.state["w"] = reweigh(rows.state["w"], rows.codes, voted, factors)


@model_type("boosting.MVWABClassifier")
@fill_docstring(**ENTRIES)
class MVWABClassifier(BoostingClassifier):
    """MVWAB: AdaBoost whose learner in each round is a weighted vote of all views.

    Each round fits a weak learner on every view with shared weights; the learners better than
    chance vote with their AdaBoost weights, and this vote in turn is weighted and updates the
    distribution. Where a view is missing, only the others vote.

    Parameters
    ----------
    {base_parameters}
    {training_parameters}

    Attributes
    ----------
    estimators_ : list of lists
        The weak learners that vote in each round.
    estimator_views_ : list of ndarrays
        Indices of their views.
    estimator_weights_ : ndarray of shape (n_rounds,)
        Weight of each round's vote.
    view_estimator_weights_ : ndarray of shape (n_rounds, n_views)
        Weight of each view in the vote of a round; 0 for views no better than chance.
    {view_weights_}
    {fitted_input}

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

    def _start(self, problem: Problem) -> dict[str, Any]:
        problem.start(start_weights, problem.total)
        return {}

    def _boost(self, problem: Problem, state: dict[str, Any]) -> Round | None:
        K, n = problem.n_classes, problem.n
        hypotheses = problem.fit_views(shared_weights)
        shares = [vote_shares(part) for part in split_views(problem.sum(sums_of_views))]
        weights = np.array([max(0.0, learner_weight(*s[:2], K, n)[0]) for s in shares])
        weights[weights <= 1e-12] = 0.0
        sums = problem.sum(sums_of_vote, weights, problem.prior)
        share = vote_shares(sums)
        alpha, _ = learner_weight(*share[:2], K, n)
        if alpha <= 1e-12:
            return None
        alpha *= self.learning_rate
        problem.update(reweigh_vote, weights, problem.prior, update_factors(share, alpha, K))
        members = tuple(
            Member(v, h, weight)
            for v, (h, weight) in enumerate(zip(hypotheses, weights, strict=True))
            if weight > 0
        )
        return Round(alpha, members, last=sums[-1] == 0)

    def _set_fitted_attributes(self) -> None:
        super()._set_fitted_attributes()
        self.estimators_: list[Any] = [[m.hypothesis for m in r.members] for r in self._rounds]
        self.estimator_views_: Any = [np.array([m.view for m in r.members]) for r in self._rounds]
        self.view_estimator_weights_ = np.zeros((len(self._rounds), self.n_views_in_))
        for t, round_ in enumerate(self._rounds):
            for member in round_.members:
                self.view_estimator_weights_[t, member.view] = member.weight
