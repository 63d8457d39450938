"""rShareBoost: ShareBoost in which a bandit draws the one view that is fitted in each round.

Reference: J. Peng, C. Barbu, G. Seetharaman, W. Fan, X. Wu, K. Palaniappan, "ShareBoost: boosting
for multi-view learning with performance guarantees", ECML PKDD 2011. Its algorithm 4 prints γ where
Exp3.P has a in the confidence term; this is the corrected form.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from consilience._parameters import FRACTION, POSITIVE, Number, StrOptions
from consilience._solvers.exp3p import (
    arm_probabilities,
    draw_arm,
    theorem_parameters,
    update_log_weights,
)
from consilience.boosting._base import BoostingClassifier, BoostingProblem
from consilience.boosting._rounds import Member, Round
from consilience.boosting._samme import learner_weight, reweigh, vote_shares

__all__ = ["RShareBoostClassifier"]


def edge_reward(right: float, wrong: float, n_classes: int) -> Any:
    """r = (W₊ + W₋)(1 − √(1−β²)) with the edge β = 1 − εK/(K−1) on the rows that have the view."""
    seen = right + wrong
    if seen <= 0:
        return 0.0
    beta = np.clip(1 - wrong / seen * n_classes / (n_classes - 1), -1.0, 1.0)
    return seen * (1 - np.sqrt(1 - beta**2))


class RShareBoostClassifier(BoostingClassifier):
    """rShareBoost: boosting with one view per round, drawn by the bandit Exp3.P.

    A round costs the fit of a single view. Views whose learners have large edges are drawn more
    often, and none less often than with probability γ/V. A learner worse than chance gets a
    negative weight: its votes count against what it says.

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
    a : float or "theorem", default=0.15
        Size of the bandit's confidence term; "theorem" takes a = 2 √ln(VT/δ).
    gamma : float or "theorem", default=0.3
        Share of rounds drawn evenly over the views; "theorem" takes
        γ = min(3/5, 2 √(3 V ln V / (5 T))).
    delta : float, default=0.05
        δ of the two formulas: the bandit's bound holds with probability 1 − δ.
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
    view_probabilities_ : ndarray of shape (n_rounds, n_views)
        Probability of each view in each round.
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
    ShareBoostClassifier : Fits all views in each round and takes the best.

    References
    ----------
    J. Peng, C. Barbu, G. Seetharaman, W. Fan, X. Wu, K. Palaniappan, "ShareBoost: boosting for
    multi-view learning with performance guarantees", ECML PKDD 2011.

    Examples
    --------
    >>> from consilience.boosting import RShareBoostClassifier
    >>> from consilience.datasets import load_digits_views
    >>> digits = load_digits_views()
    >>> model = RShareBoostClassifier(random_state=0).fit(digits.data[:500], digits.target[:500])
    >>> model.score(digits.data[500:], digits.target[500:])
    0.8...
    """

    _parameter_constraints: dict[str, list[Any]] = {
        **BoostingClassifier._parameter_constraints,
        "a": [POSITIVE, StrOptions({"theorem"})],
        "gamma": [Number(Real, 0, 1, closed="right"), StrOptions({"theorem"})],
        "delta": [FRACTION],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 100,
        learning_rate: float = 1.0,
        max_depth: int = 3,
        a: Any = 0.15,
        gamma: Any = 0.3,
        delta: Any = 0.05,
        resample: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        warm_start: bool = False,
        views: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            estimator,
            n_estimators=n_estimators,
            learning_rate=learning_rate,
            max_depth=max_depth,
            resample=resample,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
            warm_start=warm_start,
            views=views,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.a = a
        self.gamma = gamma
        self.delta = delta

    def _start(self, problem: BoostingProblem) -> dict[str, Any]:
        self._view_draws: list[int] = []
        n_views = len(problem.learners)
        a, gamma = theorem_parameters(n_views, problem.n_rounds, self.delta)
        return {
            "w": problem.weight / problem.total,
            "log_d": np.zeros(n_views),
            "a": a if self.a == "theorem" else self.a,
            "gamma": gamma if self.gamma == "theorem" else self.gamma,
        }

    def _boost(self, problem: BoostingProblem, state: dict[str, Any]) -> Round | None:
        w, a, gamma = state["w"], state["a"], state["gamma"]
        p = arm_probabilities(state["log_d"], gamma)
        v = draw_arm(p, problem.random.random_sample())
        hypothesis, predictions = problem.fit_view(v, w)
        right, wrong = vote_shares(w, problem.codes, predictions)
        reward = edge_reward(right, wrong, problem.n_classes)
        state["log_d"] = update_log_weights(
            state["log_d"], p, v, reward, problem.n_rounds, a, gamma
        )
        alpha = self.learning_rate * learner_weight(right, wrong, problem.n_classes, problem.n)[0]
        state["w"] = reweigh(w, problem.codes, predictions, alpha, problem.n_classes)
        self._view_draws.append(p)
        return Round(alpha, (Member(v, hypothesis),))

    def _set_fitted_attributes(self) -> None:
        super()._set_fitted_attributes()
        n = len(self._rounds)
        self.view_probabilities_ = np.array(self._view_draws[:n]).reshape(n, self.n_views_in_)
