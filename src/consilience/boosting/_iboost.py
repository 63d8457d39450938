"""iBoost: AdaBoost on every view separately; in each round the best learner joins the vote.

Reference: the comparison method of J. Peng et al., "ShareBoost: boosting for multi-view learning
with performance guarantees", ECML PKDD 2011.
"""

from __future__ import annotations

from typing import Any

from consilience._docstring import fill_docstring
from consilience._model_types import model_type
from consilience.boosting._base import BoostingClassifier, BoostingProblem
from consilience.boosting._entries import ENTRIES
from consilience.boosting._rounds import Member, Round
from consilience.boosting._samme import choose_view, reweigh

__all__ = ["IBoostClassifier"]


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
