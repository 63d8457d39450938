"""MuMBo: boosting with cooperating views.

Every view has its own cost matrix and ignores samples that only other views classify correctly.
The vote is boosted on a global cost matrix, which is updated by the best view of each round.

For labels y and scores f the cost of predicting l ≠ y_i is C(i, l) = exp(f(i, l) − f(i, y_i)), and
C(i, y_i) = −Σ_{l≠y_i} C(i, l). ``CostMatrix`` stores C row by row as a scale times a base, so
that a round costs O(n), independently of the number of classes.

Reference: S. Koço, C. Capponi, "A boosting approach to multiview classification with cooperation",
ECML PKDD 2011.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from consilience._core import _core
from consilience._core.exact import as_float, read_limbs
from consilience._docstring import fill_docstring
from consilience._model_types import model_type
from consilience._parameters import StrOptions
from consilience.boosting._base import BoostingClassifier
from consilience.boosting._bounds import loss_factor
from consilience.boosting._entries import ENTRIES
from consilience.boosting._problem import Problem
from consilience.boosting._rounds import Member, Round, RoundRows, as_codes, first_largest

__all__ = ["MuMBoClassifier"]

# rows are rescaled long before their base can overflow
RESCALE_ABOVE = 1e100


class CostMatrix:
    """C(i, l) = scale_i · base(i, l) for l ≠ y_i, in units of the sample weights.

    ``total_i`` is Σ_{l≠y_i} base(i, l), so that −C(i, y_i) = scale_i · total_i.
    """

    def __init__(self, codes: np.ndarray, n_classes: int, weight: np.ndarray) -> None:
        self.codes = as_codes(codes)
        self.scale = weight.astype(np.float64)
        self.base = np.ones((len(codes), n_classes))
        self.base[np.arange(len(codes)), codes] = 0.0
        self.total = np.full(len(codes), n_classes - 1.0)

    def row_weights(self, out: np.ndarray | None = None) -> np.ndarray:
        """−C(i, y_i), the weight of each row for the learner of the next round."""
        return np.multiply(self.scale, self.total, out=out)

    def dense(self) -> np.ndarray:
        """C as an n x K matrix; its rows sum to 0."""
        C = self.scale[:, None] * self.base
        C[np.arange(len(C)), self.codes] = -self.row_weights()
        return C

    def sums(self, predictions: np.ndarray, mask: np.ndarray) -> list[int]:
        """Exact sums for ``CostSums``."""
        return read_limbs(_core.cost_sums(*self._rows(predictions), mask))

    def update(self, predictions: np.ndarray, alpha: float, mask: np.ndarray) -> None:
        """Update C for f(i, h(i)) += α in the rows of ``mask``."""
        factors = float(np.exp(-alpha)), float(np.expm1(alpha))
        # row by row, so that a row does not depend on the others
        _core.update_costs(*self._rows(predictions), mask, *factors, RESCALE_ABOVE)

    def _rows(
        self, predictions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        return self.scale, self.base, self.total, self.codes, as_codes(predictions)


@dataclass(frozen=True)
class CostSums:
    """What a round needs to know of a cost matrix and of predictions, with a mask of rows.

    Weights −C(i, y_i) of the rows of the mask classified correctly and incorrectly, and of all
    other rows; costs C(i, h(i)) of the rows classified incorrectly, in the mask and outside.
    """

    right: float
    wrong: float
    rest: float
    loss: float
    loss_outside: float

    @property
    def edge(self) -> float:
        """δ = −Σ_i C(i, h(i)) / Σ_i Σ_{l≠y_i} C(i, l); abstentions contribute 0."""
        total = self.right + self.wrong + self.rest
        return (self.right - self.loss - self.loss_outside) / total if total > 0 else 0.0

    def total_after(self, alpha: float) -> float:
        """Sum of the weights after the update with α."""
        return self.right * np.exp(-alpha) + self.wrong + self.loss * np.expm1(alpha) + self.rest


def read_sums(sums: Sequence[int]) -> list[CostSums]:
    """Exact sums of several cost matrices."""
    values = [as_float(total) for total in sums]
    return [CostSums(*values[k : k + 5]) for k in range(0, len(values), 5)]


def edge_weight(edge: float, n: float) -> float:
    """α = ½ ln((1+δ)/(1−δ)) with δ clipped to [0, 1 − 1/n]."""
    rest = max(1 - max(edge, 0.0), 1 / n)
    return 0.5 * np.log((2 - rest) / rest)


def cooperation_mask(codes: np.ndarray, predictions: Sequence[np.ndarray]) -> np.ndarray:
    """d(v, i): view v updates row i if it is right there, or if no view present in i is right."""
    right = [h == codes for h in predictions]
    none_right = ~reduce(np.logical_or, right)  # NumPy's own would stack them first
    return np.stack([(r | none_right) & (h >= 0) for r, h in zip(right, predictions, strict=True)])


def start_costs(
    codes: np.ndarray, weight: np.ndarray, n_classes: int, n_views: int
) -> dict[str, Any]:
    """Cost matrices of the views, and the global one."""
    costs = [CostMatrix(codes, n_classes, weight) for _ in range(n_views + 1)]
    return {"views": costs[:-1], "global": costs[-1]}


def cost_weights(
    state: dict[str, Any], v: int, totals: Sequence[float], out: np.ndarray | None = None
) -> np.ndarray:
    """Weights of the rows for the learner of view v, with the sum 1."""
    weights = state["views"][v].row_weights(out)
    return np.divide(weights, totals[v], out=weights) if totals[v] > 0 else weights


def cost_matrix(state: dict[str, Any], v: int, out: np.ndarray | None = None) -> np.ndarray:
    """Costs for the learner of view v."""
    return state["views"][v].dense()


def update_mask(rows: RoundRows, cooperation: bool) -> np.ndarray:
    """Rows (V x n) whose costs each view updates."""
    if rows.mask is None:
        seen = [h >= 0 for h in rows.predictions]
        rows.mask = (
            cooperation_mask(rows.codes, rows.predictions) if cooperation else np.stack(seen)
        )
    return rows.mask


def round_sums(rows: RoundRows, cooperation: bool) -> list[int]:
    """Sums of the views' own costs, then those of the global costs, for all views."""
    mask = update_mask(rows, cooperation)
    views = zip(rows.state["views"], rows.predictions, mask, strict=True)
    own = [C.sums(h, d) for C, h, d in views]
    together = [rows.state["global"].sums(h, h >= 0) for h in rows.predictions]
    return [total for part in (*own, *together) for total in part]


def update_costs(
    rows: RoundRows, cooperation: bool, alphas: Sequence[float], chosen: int, alpha: float
) -> None:
    """Update the costs of all views, and the global costs with the chosen view."""
    mask = update_mask(rows, cooperation)
    views = zip(rows.state["views"], rows.predictions, alphas, mask, strict=True)
    for C, h, own_alpha, d in views:
        C.update(h, own_alpha, d)
    h = rows.predictions[chosen]
    rows.state["global"].update(h, alpha, h >= 0)


@model_type("boosting.MuMBoClassifier")
@fill_docstring(**ENTRIES)
class MuMBoClassifier(BoostingClassifier):
    """MuMBo: multi-class boosting with cooperating views.

    Each round fits a weak learner on every view, with weights derived from the costs of that view.
    A view updates its costs on the samples it classifies correctly and on those that no view
    classifies correctly; the others are left to the views that do. The learner with the largest
    edge on the global costs joins the vote.

    A learner abstains where its view is missing: cooperation considers the views that are present,
    and votes are rescaled to make up for abstentions.

    Parameters
    ----------
    {base_parameters}
    cooperation : bool, default=True
        Whether views leave samples to each other; if False, every view updates all its costs.
    cost : {"weights", "exact"}, default="weights"
        With "weights", learners are fitted with one weight per row, −C(i, y_i); with "exact", they
        minimise the whole cost matrix (binned trees by splits on cost, other classifiers by rows
        repeated for each class). For two classes both have the same objective, but a tree
        maximises purity under "weights" and minimises cost under "exact".
    {training_parameters}

    Attributes
    ----------
    {single_learner_rounds}
    edges_ : ndarray of shape (n_rounds,)
        Edge of the chosen learner on the global costs.
    view_edges_ : ndarray of shape (n_rounds, n_views)
        Edge of every view's learner on the view's own costs.
    view_loss_factors_ : ndarray of shape (n_rounds, n_views)
        τ: the loss of each view after a round is at most so many times that before it.
    training_bound_ : ndarray of shape (n_rounds,)
        Upper bound on the training error after each round: global cost / number of rows.
    {view_weights_}
    {fitted_input}

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

    def _start(self, problem: Problem) -> dict[str, Any]:
        names = ("edges", "view_edges", "view_factors", "bound")
        self._trace: dict[str, list[Any]] = {name: [] for name in names}
        problem.start(start_costs, problem.n_classes, problem.n_views)
        return {"totals": [problem.total * (problem.n_classes - 1)] * problem.n_views}

    def _boost(self, problem: Problem, state: dict[str, Any]) -> Round | None:
        if self.cost == "exact":
            hypotheses = problem.fit_views(cost_matrix, costs=True)
        else:
            hypotheses = problem.fit_views(cost_weights, state["totals"])
        sums = read_sums(problem.sum(round_sums, self.cooperation))
        own, together = sums[: problem.n_views], sums[problem.n_views :]
        edges, global_edges = ([s.edge for s in part] for part in (own, together))
        chosen = int(first_largest(global_edges))
        if not global_edges[chosen] > 1e-12:
            return None
        alphas = [self.learning_rate * edge_weight(edge, problem.n) for edge in edges]
        alpha = self.learning_rate * edge_weight(global_edges[chosen], problem.n)
        problem.update(update_costs, self.cooperation, alphas, chosen, alpha)
        state["totals"] = [s.total_after(a) for s, a in zip(own, alphas, strict=True)]
        self._trace["edges"].append(global_edges[chosen])
        self._trace["view_edges"].append(edges)
        self._trace["view_factors"].append(list(map(loss_factor, edges, alphas)))
        self._trace["bound"].append(together[chosen].total_after(alpha) / problem.total)
        perfect = global_edges[chosen] >= 1 - 1e-12
        return Round(alpha, (Member(chosen, hypotheses[chosen]),), last=perfect)

    def _set_fitted_attributes(self) -> None:
        super()._set_fitted_attributes()
        n = len(self._rounds)
        self.edges_ = np.array(self._trace["edges"][:n])
        self.view_edges_ = np.array(self._trace["view_edges"][:n]).reshape(n, self.n_views_in_)
        factors = np.array(self._trace["view_factors"][:n])
        self.view_loss_factors_ = factors.reshape(n, self.n_views_in_)
        self.training_bound_ = np.array(self._trace["bound"][:n])

    def margin_bound(self, theta: float) -> float:
        """Bound on the share of training samples with a margin of at most theta.

        The lemma of the paper with the factor K − 1 in place of (K − 1)/n, which is violated:
        (K − 1) Π (1 + δ_t)^((1+θ)/2) (1 − δ_t)^((1−θ)/2) over the rounds, for the weights that
        were used. With sample weights it bounds the share of the weight.

        Parameters
        ----------
        theta : float in [0, 1]
            Margin, as in ``margin_distribution``.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        if not isinstance(theta, Real) or not 0 <= theta <= 1:
            raise ValueError(f"theta must be a number in [0, 1], got {theta!r}")
        alphas = self.estimator_weights_
        factors = [loss_factor(edge, a) for edge, a in zip(self.edges_, alphas, strict=True)]
        log_bound = np.log(np.maximum(factors, 1e-300)).sum() + theta * alphas.sum()
        return float((len(self.classes_) - 1) * np.exp(log_bound))
