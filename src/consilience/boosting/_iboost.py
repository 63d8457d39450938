"""iBoost: AdaBoost on every view separately; in each round the best learner joins the vote.

Reference: the comparison method of J. Peng et al., "ShareBoost: boosting for multi-view learning
with performance guarantees", ECML PKDD 2011.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from consilience._docstring import fill_docstring
from consilience._model_types import model_type
from consilience.boosting._base import BoostingClassifier
from consilience.boosting._entries import ENTRIES
from consilience.boosting._problem import Problem
from consilience.boosting._rounds import Member, Round, RoundRows
from consilience.boosting._samme import (
    choose_view,
    reweigh,
    split_views,
    update_factors,
    vote_shares,
    vote_sums,
)

__all__ = ["IBoostClassifier"]


def start_own_weights(
    codes: np.ndarray, weight: np.ndarray, total: float, n_views: int
) -> dict[str, Any]:
    """A distribution over the rows for every view."""
    return {"w": [weight / total for _ in range(n_views)]}


def own_weights(state: dict[str, Any], v: int, out: np.ndarray | None = None) -> np.ndarray:
    """Weights of the learner of view v."""
    return state["w"][v]


def sums_of_own_weights(rows: RoundRows) -> list[int]:
    """``vote_sums`` of the learners of all views with their own weights."""
    views = zip(rows.state["w"], rows.predictions, strict=True)
    return [total for w, h in views for total in vote_sums(w, rows.codes, h)]


def reweigh_own_rows(rows: RoundRows, factors: Sequence[np.ndarray]) -> None:
    """Update the weights of every view with its learner."""
    views = zip(rows.state["w"], rows.predictions, factors, strict=True)
    rows.state["w"] = [reweigh(w, rows.codes, h, factor) for w, h, factor in views]


@model_type("boosting.IBoostClassifier")
@fill_docstring(**ENTRIES)
class IBoostClassifier(BoostingClassifier):
    """iBoost: independent weights per view; the best learner of each round joins the vote.

    In every round each view is boosted on its own distribution, whether or not its learner joins
    the vote. With missing views the learners are compared by the normaliser Z, as in ShareBoost.

    Parameters
    ----------
    {base_parameters}
    {training_parameters}

    Attributes
    ----------
    {single_learner_rounds}
    {view_weights_}
    {fitted_input}

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

    def _start(self, problem: Problem) -> dict[str, Any]:
        problem.start(start_own_weights, problem.total, problem.n_views)
        return {}

    def _boost(self, problem: Problem, state: dict[str, Any]) -> Round | None:
        hypotheses = problem.fit_views(own_weights)
        sums = split_views(problem.sum(sums_of_own_weights))
        shares = [vote_shares(part) for part in sums]
        chosen, alphas = choose_view(shares, problem.n_classes, problem.n)
        if chosen is None:
            return None
        alphas = [self.learning_rate * alpha for alpha in alphas]
        K = problem.n_classes
        factors = [update_factors(s, alpha, K) for s, alpha in zip(shares, alphas, strict=True)]
        problem.update(reweigh_own_rows, factors)
        member = Member(chosen, hypotheses[chosen])
        return Round(alphas[chosen], (member,), last=sums[chosen][-1] == 0)
