"""AdaBoost's steps for K classes (SAMME), with learners that abstain where their view is missing.

Predictions are class codes, −1 for an abstention; weights w are a distribution over the rows.

    W₊, W₋, W₀   weight of the rows that are right, wrong, and without a prediction
    ε = W₋ / (W₊ + W₋),  clipped to [m, 1 − m] with m = 1 / (2n(W₊ + W₋))
    α = ½ [ln((1−ε)/ε) + ln(K−1)]                             positive for ε < 1 − 1/K
    w ∝ w · exp(−2α(K−1)/K) if right,  w · exp(2α/K) if wrong,  w if absent

Without abstentions this is w ∝ w·exp(2α·[wrong]). With them the sum of the updated weights,

    Z = W₀ + W₊ exp(−2α(K−1)/K) + W₋ exp(2α/K)               (K = 2: W₀ + 2 √(W₊ W₋))

ranks the learners: as ε does when nothing is missing, and so that a learner which is present in
five rows cannot win by them. The clip is in units of the whole distribution for the same reason: a
learner that sees less weight than one row in n has α = 0, however right it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from consilience.boosting._rounds import first_largest

__all__ = ["choose_view", "learner_weight", "normaliser", "reweigh", "vote_shares"]


def vote_shares(w: np.ndarray, codes: np.ndarray, predictions: np.ndarray) -> tuple[float, float]:
    """W₊ and W₋ of one learner; what is left of Σw abstained."""
    right = w[predictions == codes].sum()
    wrong = w[(predictions != codes) & (predictions >= 0)].sum()
    return right, wrong


def learner_weight(right: float, wrong: float, n_classes: int, n: float) -> tuple[float, float]:
    """α of a learner and its clipped error ε; (0, 1 − 1/K) if it sees next to nothing."""
    seen, useless = right + wrong, 1 - 1 / n_classes
    if seen <= 0 or 1 / (2 * n * seen) >= min(0.5, useless):
        return 0.0, useless
    margin = 1 / (2 * n * seen)
    error = min(max(wrong / seen, margin), 1 - margin)
    return 0.5 * (np.log((1 - error) / error) + np.log(n_classes - 1)), error


def normaliser(right: float, wrong: float, total: float, alpha: float, n_classes: int) -> float:
    """Z, the sum of the weights after the update."""
    absent = max(0.0, total - right - wrong)
    shrink, grow = np.exp(-2 * alpha * (n_classes - 1) / n_classes), np.exp(2 * alpha / n_classes)
    return absent + right * shrink + wrong * grow


def reweigh(
    w: np.ndarray, codes: np.ndarray, predictions: np.ndarray, alpha: float, n_classes: int
) -> np.ndarray:
    """The distribution after a learner of weight α was added."""
    right = predictions == codes
    exponent = np.where(right, -2 * alpha * (n_classes - 1) / n_classes, 2 * alpha / n_classes)
    exponent[predictions < 0] = 0.0
    w = w * np.exp(exponent)
    return w / w.sum()


def choose_view(ws: Any, predictions: np.ndarray, problem: Any) -> tuple[int | None, list[float]]:
    """The view with the smallest Z among those better than chance, and α of every view.

    ``ws`` holds a distribution for each view; None stands for no view if none is better.
    """
    alphas, Zs = [], []
    for w, h in zip(ws, predictions, strict=True):
        right, wrong = vote_shares(w, problem.codes, h)
        alpha, _ = learner_weight(right, wrong, problem.n_classes, problem.n)
        alphas.append(alpha)
        useful = alpha > 1e-12
        Zs.append(normaliser(right, wrong, 1.0, alpha, problem.n_classes) if useful else np.inf)
    v = int(first_largest(-np.array(Zs)))
    return (v if np.isfinite(Zs[v]) else None), alphas
