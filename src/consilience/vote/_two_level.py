"""MωMvC²: a majority vote with weights on two levels, voters and views.

Voters h ∈ {−1, 0, +1} (0 where the view is missing), M_v[i, j] = y_i h_{v,j}(x_i), divided by the
number n_v of the view's voters (``scale``). Weights π on voters and ρ on views minimise

    L = Σ_i w_i ln(1 + exp(−margin_i)),   margin = Σ_v ρ_v M_v π_v

by the parallel update of Collins, Schapire and Singer on π and one of three steps on ρ.

Reference: A. Goyal, E. Morvant, M.-R. Amini, "Multiview learning of weighted majority vote by
Bregman divergence minimization", 2018. Its (10) has a wrong sign and an outer square; the bound
used here is Σ_v ρ_v Σ_j [W⁺(e^{−δ} − 1) + W⁻(e^δ − 1)], for a fixed ρ and scaled voters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from consilience._core.exact import as_float, exact_sums, exact_total
from consilience._model_types import model_type
from consilience._solvers.simplex import minimise_on_simplex

__all__ = ["EarlyStopping", "TwoLevelWeights", "VoteRows", "learn_weights", "view_scores"]


@model_type("vote.TwoLevelWeights")
@dataclass(eq=False)
class TwoLevelWeights:
    """Weights of one binary problem, ρ (V,) and π_v (n_v,), and the curves of loss and bound."""

    rho: np.ndarray
    pi: list[np.ndarray]
    loss_curve: np.ndarray
    bound_curve: np.ndarray


@dataclass(eq=False)
class VoteRows:
    """Rows of one binary problem: M_v (n x n_v, entries −1, 0, 1) and weights."""

    Ms: list[np.ndarray]
    weight: np.ndarray

    @property
    def sizes(self) -> list[int]:
        """Number of voters of each view."""
        return [M.shape[1] for M in self.Ms]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.weight)

    def sum(self, function: Callable[..., list[int]], *args: Any) -> list[float]:
        """Exact sums ``function(rows, *args)``, as floats."""
        return [as_float(total) for total in function(self, *args)]


def view_margins(Ms: list[np.ndarray], pi: list[np.ndarray]) -> list[np.ndarray]:
    """M_v π_v of each view; added up voter by voter, so that a row does not depend on others."""
    out = []
    for M, p in zip(Ms, pi, strict=True):
        margin = np.zeros(len(M))
        for j, weight in enumerate(p):
            margin += M[:, j] * weight
        out.append(margin)
    return out


def joint_margin(margins: Sequence[np.ndarray], rho: np.ndarray) -> np.ndarray:
    """Σ_v ρ_v M_v π_v."""
    out = np.zeros(len(margins[0]))
    for margin, r in zip(margins, rho, strict=True):
        out += r * margin
    return out


def logistic_losses(margin: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """w ln(1 + exp(−margin)), without overflow."""
    return weight * np.logaddexp(0.0, -margin)


def logistic_loss(margin: np.ndarray, weight: np.ndarray) -> float:
    """Σ w ln(1 + exp(−margin))."""
    return exact_total(logistic_losses(margin, weight))


def weight_sums(rows: VoteRows) -> list[int]:
    """Sum of the weights."""
    return exact_sums(rows.weight)


def step_sums(rows: VoteRows, rho: np.ndarray, pi: list[np.ndarray]) -> list[int]:
    """The loss, and W⁺ and W⁻ of each voter: q-weight of rows it classifies right and wrong.

    ``pi`` are the weights of votes ±1.
    """
    margin = joint_margin(view_margins(rows.Ms, pi), rho)
    q, sums = rows.weight * expit(-margin), exact_sums(logistic_losses(margin, rows.weight))
    for M in rows.Ms:
        for column in M.T:
            kinds = np.where(column == 0, -1, column < 0)
            sums += exact_sums(q, kinds, 2)
    return sums


def view_sums(rows: VoteRows, rho: np.ndarray, pi: list[np.ndarray]) -> list[int]:
    """Loss, gradient and (upper triangle of the) Hessian of the loss in ρ."""
    margins = view_margins(rows.Ms, pi)
    margin = joint_margin(margins, rho)
    q = expit(-margin)
    slope, curvature = rows.weight * q, rows.weight * q * (1 - q)
    sums = exact_sums(logistic_losses(margin, rows.weight))
    for own in margins:
        sums += exact_sums(-own * slope)
    for v, own in enumerate(margins):
        for other in margins[v:]:
            sums += exact_sums(own * curvature * other)
    return sums


def parallel_step(right: np.ndarray, wrong: np.ndarray, smoothing: float) -> np.ndarray:
    """δ = ½ ln((W⁺ + εS)/(W⁻ + εS)), S = W⁺ + W⁻; 0 where S = 0. ε keeps δ finite."""
    total = right + wrong
    seen = total > 0
    pad = smoothing * total
    ratio = np.divide(right + pad, wrong + pad, out=np.ones_like(total), where=seen)
    return 0.5 * np.log(ratio)


def step_bound(right: np.ndarray, wrong: np.ndarray, delta: np.ndarray) -> float:
    """Σ_j [W⁺(e^{−δ} − 1) + W⁻(e^δ − 1)]: times ρ_v, a bound on the change of the loss."""
    return (right * np.expm1(-delta) + wrong * np.expm1(delta)).sum()


def paper_gain(right: np.ndarray, wrong: np.ndarray) -> float:
    """Σ_j (√W⁺ − √W⁻)², the coefficient of ρ_v in the paper's linear programme."""
    return ((np.sqrt(right) - np.sqrt(wrong)) ** 2).sum()


def best_view_weights(rows: Any, rho: np.ndarray, pi: list[np.ndarray], unit: float) -> np.ndarray:
    """argmin over the simplex of the logistic loss, given the weights of the voters.

    The loss is in units of this weight, so that small weights are not taken for convergence.
    """
    V = len(rho)
    upper = np.triu_indices(V)

    def oracle(rho: np.ndarray) -> Any:
        loss, *sums = np.array(rows.sum(view_sums, rho, pi)) / unit
        hessian = np.zeros((V, V))
        hessian[upper] = sums[V:]
        hessian = np.triu(hessian) + np.triu(hessian, 1).T
        return loss, np.array(sums[:V]), hessian

    return minimise_on_simplex(oracle, rho)[0]


def learn_weights(
    rows: Any,
    *,
    n_iter: int,
    view_weights: str,
    scale: bool,
    early_stopping: Callable[[np.ndarray, list[np.ndarray]], bool] | None = None,
) -> TwoLevelWeights:
    """Run the algorithm on ``VoteRows``, or on blocks of them with the same methods.

    ``early_stopping(rho, pi)`` is called after each iteration and returns True to stop.
    """
    (total,) = rows.sum(weight_sums)
    # weights with a sum below the number of rows are treated as shares of the rows
    n = max(total, rows.n_rows)
    sizes = rows.sizes
    units = [1 / size if scale else 1.0 for size in sizes]
    rho = np.full(len(sizes), 1 / len(sizes))
    pi = [np.full(size, 1.0 if scale else 1 / size) for size in sizes]

    def vote_weights() -> list[np.ndarray]:
        return [p * unit for p, unit in zip(pi, units, strict=True)]

    def sums_of_voters() -> tuple[float, list[tuple[np.ndarray, np.ndarray]]]:
        loss, *sums = rows.sum(step_sums, rho, vote_weights())
        ends = np.cumsum([0, *sizes])
        pairs = np.array(sums).reshape(-1, 2).T
        parts = [
            unit * pairs[:, first:last]
            for unit, first, last in zip(units, ends[:-1], ends[1:], strict=True)
        ]
        return loss, [(part[0], part[1]) for part in parts]

    loss, sums = sums_of_voters()
    losses, bounds = [loss], []
    for _ in range(n_iter):
        deltas = [parallel_step(right, wrong, 1 / (2 * n)) for right, wrong in sums]
        bounds.append(sum(r * step_bound(*s, d) for r, s, d in zip(rho, sums, deltas, strict=True)))
        pi = [p + d for p, d in zip(pi, deltas, strict=True)]
        if view_weights == "loss":
            rho = best_view_weights(rows, rho, vote_weights(), total / n)
        elif view_weights == "paper":
            gains = [paper_gain(right, wrong) for right, wrong in sums]
            rho = np.eye(len(sizes))[int(np.argmax(gains))]
        loss, sums = sums_of_voters()
        losses.append(loss)
        if early_stopping is not None and early_stopping(rho, pi):
            break
    if scale:
        pi = [p / size for p, size in zip(pi, sizes, strict=True)]
    return TwoLevelWeights(rho, pi, np.array(losses), np.array(bounds))


def view_scores(
    votes: list[np.ndarray], rho: np.ndarray, pi: list[np.ndarray], present: np.ndarray
) -> np.ndarray:
    """B(x) = Σ_v ρ_v Σ_j π_{v,j} h_{v,j}(x), ρ renormalised over the views present in a row.

    ``votes`` are V arrays n x n_v; if ρ is 0 for all present views, they get equal weights.
    """
    scores = np.column_stack([h @ p for h, p in zip(votes, pi, strict=True)])
    share = present * rho
    total = share.sum(axis=1, keepdims=True)
    uniform = present / np.maximum(present.sum(axis=1, keepdims=True), 1)
    share = np.where(total > 0, share / np.where(total > 0, total, 1.0), uniform)
    return (share * scores).sum(axis=1)


class EarlyStopping:
    """Validation loss after each update; stores the best weights."""

    def __init__(
        self,
        patience: int,
        scale: bool,
        votes: list[np.ndarray],
        present: np.ndarray,
        signs: np.ndarray,
        weight: np.ndarray,
    ) -> None:
        self.patience = patience
        self.scaled = scale
        self.votes, self.present, self.signs, self.weight = votes, present, signs, weight
        self.best_loss, self.rounds, self.best_round = np.inf, 0, 0
        self.best_weights: tuple[np.ndarray, list[np.ndarray]]

    def __call__(self, rho: np.ndarray, pi: list[np.ndarray]) -> bool:
        """Return True if the loss has not decreased for ``patience`` updates."""
        self.rounds += 1
        loss = self._loss(rho, pi)
        if loss < self.best_loss:
            self.best_loss, self.best_weights, self.best_round = loss, (rho, pi), self.rounds
        return self.rounds - self.best_round >= self.patience

    def _loss(self, rho: np.ndarray, pi: list[np.ndarray]) -> float:
        pi = [p / len(p) if self.scaled else p for p in pi]
        scores = view_scores(self.votes, rho, pi, self.present)
        return logistic_loss(self.signs * scores, self.weight)

    def best(self, learned: TwoLevelWeights) -> TwoLevelWeights:
        """Return the weights with the lowest validation loss."""
        rho, pi = self.best_weights
        return TwoLevelWeights(
            rho,
            [p / len(p) if self.scaled else p for p in pi],
            learned.loss_curve[: self.best_round + 1],
            learned.bound_curve[: self.best_round],
        )
