"""iBoost: AdaBoost on every view by itself, of which each round the best learner joins the vote.

Reference: the comparison method of J. Peng et al., "ShareBoost: boosting for multi-view learning
with performance guarantees", ECML PKDD 2011.
"""

from __future__ import annotations

from typing import Any

from consilience.boosting._base import BoostingClassifier, BoostingProblem
from consilience.boosting._rounds import Member, Round
from consilience.boosting._samme import choose_view, reweigh

__all__ = ["IBoostClassifier"]


class IBoostClassifier(BoostingClassifier):
    """iBoost: independent weights per view; the learner with the largest weight joins the vote.

    Every view is boosted on its own distribution, in every round, also those whose learner does not
    join the vote. With missing views the learners are compared by the normaliser Z, as in
    ShareBoost.

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
    estimators_ : list
        The weak hypotheses, one for each round.
    estimator_views_ : ndarray of shape (n_rounds,)
        Number of the view of each.
    estimator_weights_ : ndarray of shape (n_rounds,)
        Weight of each in the vote.
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
    ShareBoostClassifier : All views share one distribution.

    References
    ----------
    J. Peng, C. Barbu, G. Seetharaman, W. Fan, X. Wu, K. Palaniappan, "ShareBoost: boosting for
    multi-view learning with performance guarantees", ECML PKDD 2011.

    Examples
    --------
    >>> from consilience.boosting import IBoostClassifier
    >>> from consilience.datasets import load_digits_views
    >>> digits = load_digits_views()
    >>> model = IBoostClassifier(random_state=0).fit(digits.data[:500], digits.target[:500])
    >>> model.score(digits.data[500:], digits.target[500:])
    0.7...
    """

    def _start(self, problem: BoostingProblem) -> dict[str, Any]:
        return {"w": [problem.weight / problem.total for _ in problem.learners]}

    def _boost(self, problem: BoostingProblem, state: dict[str, Any]) -> Round | None:
        hypotheses, predictions = problem.fit_views(state["w"])
        chosen, alphas = choose_view(state["w"], predictions, problem)
        if chosen is None:
            return None
        alphas = [self.learning_rate * alpha for alpha in alphas]
        state["w"] = [
            reweigh(w, problem.codes, h, alpha, problem.n_classes)
            for w, h, alpha in zip(state["w"], predictions, alphas, strict=True)
        ]
        perfect = bool((predictions[chosen] == problem.codes).all())
        return Round(alphas[chosen], (Member(chosen, hypotheses[chosen]),), last=perfect)
