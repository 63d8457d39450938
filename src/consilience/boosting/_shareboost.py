"""ShareBoost: one distribution over the samples, shared by all views.

Reference: J. Peng, C. Barbu, G. Seetharaman, W. Fan, X. Wu, K. Palaniappan, "ShareBoost: boosting
for multi-view learning with performance guarantees", ECML PKDD 2011.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from consilience._docstring import fill_docstring
from consilience._model_types import model_type
from consilience.boosting._base import BoostingClassifier
from consilience.boosting._bounds import class_edges, error_factors
from consilience.boosting._entries import ENTRIES
from consilience.boosting._problem import Problem
from consilience.boosting._rounds import Member, Round
from consilience.boosting._samme import (
    choose_view,
    reweigh_rows,
    shared_weights,
    split_views,
    start_weights,
    sums_of_views,
    update_factors,
    vote_shares,
)

__all__ = ["ShareBoostClassifier"]


@model_type("boosting.ShareBoostClassifier")
@fill_docstring(**ENTRIES)
class ShareBoostClassifier(BoostingClassifier):
    """ShareBoost: the best learner of each round joins the vote, and all views share the weights.

    Each round fits a weak learner on every view with the same weights and adds the one with the
    smallest weighted error. Training stops when no view is better than chance, or after a learner
    without training errors.

    A learner abstains where its view is missing. Views are then compared by the normaliser
    Z = W₀ + 2√(W₊W₋) (weights of the rows it abstains on, classifies correctly and incorrectly),
    which ranks complete views by their errors.

    Parameters
    ----------
    {base_parameters}
    {training_parameters}

    Attributes
    ----------
    {single_learner_rounds}
    {round_errors}
    {view_weights_}
    {fitted_input}

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

    def _start(self, problem: Problem) -> dict[str, Any]:
        self._round_shares: list[tuple[float, float, float]] = []
        problem.start(start_weights, problem.total)
        return {}

    def _boost(self, problem: Problem, state: dict[str, Any]) -> Round | None:
        hypotheses = problem.fit_views(shared_weights)
        sums = split_views(problem.sum(sums_of_views))
        shares = [vote_shares(part) for part in sums]
        v, alphas = choose_view(shares, problem.n_classes, problem.n)
        if v is None:
            return None
        alpha = self.learning_rate * alphas[v]
        self._round_shares.append((*shares[v][:2], alpha))
        problem.update(reweigh_rows, v, update_factors(shares[v], alpha, problem.n_classes))
        return Round(alpha, (Member(v, hypotheses[v]),), last=sums[v][-1] == 0)

    def _set_fitted_attributes(self) -> None:
        super()._set_fitted_attributes()
        shares = self._round_shares[: len(self._rounds)]
        self.edges_ = class_edges(shares, len(self.classes_))
        self.__dict__.pop("training_bound_", None)  # of an earlier fit
        if len(self.classes_) == 2:
            self.training_bound_ = np.cumprod(error_factors(shares))
