"""ShareBoost: one distribution over the samples, shared by all views.

Reference: J. Peng, C. Barbu, G. Seetharaman, W. Fan, X. Wu, K. Palaniappan, "ShareBoost: boosting
for multi-view learning with performance guarantees", ECML PKDD 2011.
"""

from __future__ import annotations

from typing import Any

from consilience.boosting._base import BoostingClassifier, BoostingProblem
from consilience.boosting._rounds import Member, Round
from consilience.boosting._samme import choose_view, reweigh

__all__ = ["ShareBoostClassifier"]


class ShareBoostClassifier(BoostingClassifier):
    """ShareBoost: each round the best view's learner joins, and all views share its weights.

    Each round fits a weak learner on every view with the same weights and takes the one with the
    smallest weighted error. It stops when no view is better than chance, and after a perfect
    learner.

    A learner abstains where its view is missing. Views are then compared by the normaliser
    Z = W₀ + 2√(W₊W₋) (weights of the rows it abstains on, gets right, gets wrong), which ranks
    complete views as their errors do.

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
    RShareBoostClassifier : Fits one view per round, drawn by a bandit.
    IBoostClassifier : Every view has its own weights.

    References
    ----------
    J. Peng, C. Barbu, G. Seetharaman, W. Fan, X. Wu, K. Palaniappan, "ShareBoost: boosting for
    multi-view learning with performance guarantees", ECML PKDD 2011.

    J. Zhu, H. Zou, S. Rosset, T. Hastie, "Multi-class AdaBoost", Statistics and Its Interface 2
    (2009).

    Examples
    --------
    >>> from consilience.boosting import ShareBoostClassifier
    >>> from consilience.datasets import load_digits_views
    >>> digits = load_digits_views()
    >>> model = ShareBoostClassifier(random_state=0).fit(digits.data[:500], digits.target[:500])
    >>> model.score(digits.data[500:], digits.target[500:])
    0.8...
    """

    def _start(self, problem: BoostingProblem) -> dict[str, Any]:
        return {"w": problem.weight / problem.total}

    def _boost(self, problem: BoostingProblem, state: dict[str, Any]) -> Round | None:
        w, n_views = state["w"], len(problem.learners)
        hypotheses, predictions = problem.fit_views([w] * n_views)
        v, alphas = choose_view([w] * n_views, predictions, problem)
        if v is None:
            return None
        alpha = self.learning_rate * alphas[v]
        state["w"] = reweigh(w, problem.codes, predictions[v], alpha, problem.n_classes)
        perfect = bool((predictions[v] == problem.codes).all())
        return Round(alpha, (Member(v, hypotheses[v]),), last=perfect)
