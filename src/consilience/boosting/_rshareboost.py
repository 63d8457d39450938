"""rShareBoost: ShareBoost in which a bandit draws a single view in each round.

Reference: J. Peng, C. Barbu, G. Seetharaman, W. Fan, X. Wu, K. Palaniappan, "ShareBoost: boosting
for multi-view learning with performance guarantees", ECML PKDD 2011. Its algorithm 4 has γ where
Exp3.P has a in the confidence term; this is the corrected form.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from consilience._docstring import fill_docstring
from consilience._model_types import model_type
from consilience._parameters import FRACTION, POSITIVE, Number, StrOptions
from consilience._solvers.exp3p import (
    arm_probabilities,
    draw_arm,
    theorem_parameters,
    update_log_weights,
)
from consilience.boosting._base import BoostingClassifier
from consilience.boosting._bounds import class_edges, error_factors
from consilience.boosting._entries import ENTRIES
from consilience.boosting._problem import Problem
from consilience.boosting._rounds import Member, Round
from consilience.boosting._samme import (
    learner_weight,
    reweigh_rows,
    shared_weights,
    start_weights,
    sums_of_views,
    update_factors,
    vote_shares,
)

__all__ = ["RShareBoostClassifier"]


def edge_reward(right: float, wrong: float, n_classes: int) -> float:
    """r = (W₊ + W₋)(1 − √(1−β²)) with the edge β = 1 − εK/(K−1) on rows that have the view."""
    seen = right + wrong
    if seen <= 0:
        return 0.0
    beta = np.clip(1 - wrong / seen * n_classes / (n_classes - 1), -1.0, 1.0)
    return seen * (1 - np.sqrt(1 - beta**2))


@model_type("boosting.RShareBoostClassifier")
@fill_docstring(**ENTRIES)
class RShareBoostClassifier(BoostingClassifier):
    """rShareBoost: boosting with one view per round, drawn by the bandit Exp3.P.

    Each round fits a learner on a single view. Views whose learners have large edges are drawn more
    often, and every view is drawn with probability at least γ/V. A learner worse than chance gets
    a negative weight, so that its vote counts against the class it predicts.

    Parameters
    ----------
    {base_parameters}
    a : float or "theorem", default=0.15
        Size of the confidence term of the bandit; "theorem" means a = 2 √ln(VT/δ).
    gamma : float or "theorem", default=0.3
        Probability of drawing a view uniformly at random; "theorem" means
        γ = min(3/5, 2 √(3 V ln V / (5 T))).
    delta : float, default=0.05
        δ in these formulas: the regret bound of the bandit holds with probability 1 − δ.
    {training_parameters}

    Attributes
    ----------
    {single_learner_rounds}
    {round_errors}
    rewards_ : ndarray of shape (n_rounds,)
        1 − √(1 − edge²), the reward of the view that was drawn; less where the view is missing.
    view_probabilities_ : ndarray of shape (n_rounds, n_views)
        Probability of each view in each round.
    {view_weights_}
    {fitted_input}

    See Also
    --------
    ShareBoostClassifier : Fits all views in each round and uses the best.

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

    def _start(self, problem: Problem) -> dict[str, Any]:
        self._probability_rounds: list[np.ndarray] = []
        self._round_shares: list[tuple[float, float, float]] = []
        self._rewards: list[float] = []
        n_views = problem.n_views
        a, gamma = theorem_parameters(n_views, problem.n_rounds, self.delta)
        problem.start(start_weights, problem.total)
        return {
            "log_d": np.zeros(n_views),
            "a": a if self.a == "theorem" else self.a,
            "gamma": gamma if self.gamma == "theorem" else self.gamma,
        }

    def _boost(self, problem: Problem, state: dict[str, Any]) -> Round | None:
        a, gamma, K = state["a"], state["gamma"], problem.n_classes
        p = arm_probabilities(state["log_d"], gamma)
        v = draw_arm(p, problem.random.random_sample())
        hypothesis = problem.fit_view(v, shared_weights)
        shares = vote_shares(problem.sum(sums_of_views))
        right, wrong, _ = shares
        reward = edge_reward(right, wrong, K)
        state["log_d"] = update_log_weights(
            state["log_d"], p, v, reward, problem.n_rounds, a, gamma
        )
        alpha = self.learning_rate * learner_weight(right, wrong, K, problem.n)[0]
        self._round_shares.append((right, wrong, alpha))
        self._rewards.append(reward)
        problem.update(reweigh_rows, v, update_factors(shares, alpha, K))
        self._probability_rounds.append(p)
        return Round(alpha, (Member(v, hypothesis),))

    def _set_fitted_attributes(self) -> None:
        super()._set_fitted_attributes()
        n = len(self._rounds)
        probabilities = np.array(self._probability_rounds[:n])
        self.view_probabilities_ = probabilities.reshape(n, self.n_views_in_)
        shares = self._round_shares[:n]
        self.edges_ = class_edges(shares, len(self.classes_))
        self.rewards_ = np.array(self._rewards[:n])
        self.__dict__.pop("training_bound_", None)  # of an earlier fit
        if len(self.classes_) == 2:
            self.training_bound_ = np.cumprod(error_factors(shares))
