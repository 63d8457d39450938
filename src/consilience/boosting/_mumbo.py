"""MuMBo: boosting in which the views cooperate.

Every view keeps costs of its own; a sample that another view gets right is left to that view. The
vote is boosted on a global cost to which each round's best view contributes.

For labels y and scores f the cost of saying l is C(i, l) = exp(f(i, l) − f(i, y_i)) for l ≠ y_i,
and C(i, y_i) = −Σ_{l≠y_i} C(i, l). ``CostMatrix`` stores C row by row as a scale times a base, so
that a round costs O(n) whatever the number of classes.

Reference: S. Koço, C. Capponi, "A boosting approach to multiview classification with cooperation",
ECML PKDD 2011.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from consilience._parameters import StrOptions
from consilience.boosting._base import BoostingClassifier, BoostingProblem
from consilience.boosting._rounds import Member, Round, first_largest

__all__ = ["MuMBoClassifier"]

# rows are rescaled long before their base could overflow
RESCALE_ABOVE = 1e100


class CostMatrix:
    """C(i, l) = scale_i · base(i, l) for l ≠ y_i, in units of the sample weights.

    ``total_i`` is Σ_{l≠y_i} base(i, l), so that −C(i, y_i) = scale_i · total_i.
    """

    def __init__(self, codes: np.ndarray, n_classes: int, weight: np.ndarray) -> None:
        self.codes = codes
        self.rows = np.arange(len(codes))
        self.scale = weight.astype(np.float64)
        self.base = np.ones((len(codes), n_classes))
        self.base[self.rows, codes] = 0.0
        self.total = np.full(len(codes), n_classes - 1.0)

    def row_weights(self) -> Any:
        """−C(i, y_i): what a row is worth to the learner of this round."""
        return self.scale * self.total

    def dense(self) -> Any:
        """C as an n x K matrix, whose rows sum to 0."""
        C = self.scale[:, None] * self.base
        C[self.rows, self.codes] = -self.row_weights()
        return C

    def edge(self, predictions: np.ndarray) -> Any:
        """δ = −Σ_i C(i, h(i)) / Σ_i Σ_{l≠y_i} C(i, l); rows without a prediction add nothing."""
        worth = self.row_weights()
        right = predictions == self.codes
        wrong = np.flatnonzero(~right & (predictions >= 0))
        lost = self.scale[wrong] @ self.base[wrong, predictions[wrong]]
        total = worth.sum()
        return (worth[right].sum() - lost) / total if total > 0 else 0.0

    def update(self, predictions: np.ndarray, alpha: float, taking_part: Any) -> None:
        """C for f(i, h(i)) += α where ``taking_part``."""
        right = (predictions == self.codes) & taking_part
        self.scale[right] *= np.exp(-alpha)
        wrong = np.flatnonzero((predictions != self.codes) & (predictions >= 0) & taking_part)
        predicted = predictions[wrong]
        added = self.base[wrong, predicted] * np.expm1(alpha)
        self.base[wrong, predicted] += added
        self.total[wrong] += added
        if len(wrong) and self.total[wrong].max() > RESCALE_ABOVE:
            self._rescale()

    def _rescale(self) -> None:
        self.base /= self.total[:, None]
        self.scale *= self.total
        self.total[:] = 1.0


def edge_weight(edge: float, n: int) -> Any:
    """α = ½ ln((1+δ)/(1−δ)) with δ clipped to [0, 1 − 1/n]."""
    rest = max(1 - max(edge, 0.0), 1 / n)
    return 0.5 * np.log((2 - rest) / rest)


def cooperate(codes: np.ndarray, predictions: np.ndarray) -> Any:
    """d(v, i): view v takes up row i if it is right there, or if no view that i has is right."""
    right = predictions == codes
    return (right | ~right.any(axis=0)) & (predictions >= 0)


class MuMBoClassifier(BoostingClassifier):
    """MuMBo: multi-class boosting with cooperating views.

    Each round fits a weak learner on every view, with weights from the view's own costs. A view
    updates its costs on the samples it gets right, and on those that no view gets right; the others
    are left to the views that manage them. The learner with the largest edge on the global costs
    enters the vote.

    A learner abstains where its view is missing; cooperation counts the views that are there, and
    votes are scaled up for the learners a row cannot hear.

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
    cooperation : bool, default=True
        Whether views leave samples to each other; without it every view updates all its costs.
    cost : {"weights", "exact"}, default="weights"
        Learners see a weight per row, −C(i, y_i), or the whole cost row (for our trees by cost
        splits, for others by rows repeated for each class). For two classes both ask for the same
        thing; a tree seeks it by purity under "weights" and by cost under "exact".
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
    edges_ : ndarray of shape (n_rounds,)
        Edge of the chosen learner on the global costs.
    view_edges_ : ndarray of shape (n_rounds, n_views)
        Edge of every view's learner on the view's own costs.
    training_bound_ : ndarray of shape (n_rounds,)
        Upper bound on the training error after each round: global cost over number of rows.
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
    ShareBoostClassifier : One distribution shared by all views.

    References
    ----------
    S. Koço, C. Capponi, "A boosting approach to multiview classification with cooperation",
    ECML PKDD 2011.

    Examples
    --------
    >>> from consilience.boosting import MuMBoClassifier
    >>> from consilience.datasets import load_digits_views
    >>> digits = load_digits_views()
    >>> model = MuMBoClassifier(random_state=0).fit(digits.data[:500], digits.target[:500])
    >>> model.score(digits.data[500:], digits.target[500:])
    0.8...
    """

    _parameter_constraints: dict[str, list[Any]] = {
        **BoostingClassifier._parameter_constraints,
        "cooperation": ["boolean"],
        "cost": [StrOptions({"weights", "exact"})],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 100,
        learning_rate: float = 1.0,
        max_depth: int = 3,
        cooperation: bool = True,
        cost: str = "weights",
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
        self.cooperation = cooperation
        self.cost = cost

    def _start(self, problem: BoostingProblem) -> dict[str, Any]:
        self._trace: dict[str, list[Any]] = {"edges": [], "view_edges": [], "bound": []}
        costs = [
            CostMatrix(problem.codes, problem.n_classes, problem.weight)
            for _ in range(len(problem.learners) + 1)
        ]
        return {"views": costs[:-1], "global": costs[-1]}

    def _boost(self, problem: BoostingProblem, state: dict[str, Any]) -> Round | None:
        own, common = state["views"], state["global"]
        exact = self.cost == "exact"
        asked = [C.dense() if exact else C.row_weights() for C in own]
        if not exact:
            asked = [w / w.sum() if w.any() else w for w in asked]
        hypotheses, predictions = problem.fit_views(asked, costs=exact)
        edges = [C.edge(h) for C, h in zip(own, predictions, strict=True)]
        common_edges = [common.edge(h) for h in predictions]
        chosen = int(first_largest(common_edges))
        if not common_edges[chosen] > 1e-12:
            return None
        part = cooperate(problem.codes, predictions) if self.cooperation else predictions >= 0
        for C, h, edge, d in zip(own, predictions, edges, part, strict=True):
            C.update(h, self.learning_rate * edge_weight(edge, problem.n), d)
        alpha = self.learning_rate * edge_weight(common_edges[chosen], problem.n)
        common.update(predictions[chosen], alpha, True)
        self._trace["edges"].append(common_edges[chosen])
        self._trace["view_edges"].append(edges)
        self._trace["bound"].append(common.row_weights().sum() / problem.total)
        perfect = common_edges[chosen] >= 1 - 1e-12
        return Round(alpha, (Member(chosen, hypotheses[chosen]),), last=perfect)

    def _set_fitted_attributes(self) -> None:
        super()._set_fitted_attributes()
        n = len(self._rounds)
        self.edges_ = np.array(self._trace["edges"][:n])
        self.view_edges_ = np.array(self._trace["view_edges"][:n]).reshape(n, self.n_views_in_)
        self.training_bound_ = np.array(self._trace["bound"][:n])
