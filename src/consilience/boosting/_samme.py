"""AdaBoost for K classes (SAMME) with learners that abstain where their view is missing.

Predictions are class codes, −1 for an abstention; weights w are a distribution over the rows.

    W₊, W₋, W₀   weight of the rows classified correctly, incorrectly, and not at all
    ε = W₋ / (W₊ + W₋),  clipped to [m, 1 − m] with m = 1 / (2n(W₊ + W₋))
    α = ½ [ln((1−ε)/ε) + ln(K−1)]                             positive for ε < 1 − 1/K
    w ∝ w · exp(−2α(K−1)/K) if right,  w · exp(2α/K) if wrong,  w if abstained

Without abstentions this is w ∝ w·exp(2α·[wrong]). With them the sum of the updated weights,

    Z = W₀ + W₊ exp(−2α(K−1)/K) + W₋ exp(2α/K)               (K = 2: W₀ + 2 √(W₊ W₋))

ranks the learners. Without missing views the ranking is that of ε; with them, a learner whose view
is present in only a few rows cannot win by these. For the same reason the clip is relative to the
whole distribution: a learner on less weight than one row in n has α = 0, whatever its accuracy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from consilience.boosting._rounds import first_largest

__all__ = ["choose_view", "learner_weight", "normaliser", "reweigh", "vote_shares"]


def vote_shares(w: np.ndarray, codes: np.ndarray, predictions: np.ndarray) -> tuple[float, float]:
    """W₊ and W₋ of one learner; the remaining weight is that of its abstentions."""
    right = w[predictions == codes].sum()
    wrong = w[(predictions != codes) & (predictions >= 0)].sum()
    return right, wrong


def learner_weight(right: float, wrong: float, n_classes: int, n: float) -> tuple[float, float]:
    """α of a learner and its clipped error ε; (0, 1 − 1/K) if it predicts hardly any weight."""
    seen, chance = right + wrong, 1 - 1 / n_classes
    if seen <= 0 or 1 / (2 * n * seen) >= min(0.5, chance):
        return 0.0, chance
    margin = 1 / (2 * n * seen)
    error = min(max(wrong / seen, margin), 1 - margin)
    return 0.5 * (np.log((1 - error) / error) + np.log(n_classes - 1)), error


def normaliser(right: float, wrong: float, total: float, alpha: float, n_classes: int) -> float:
    """Z, the sum of the weights after the update."""
    abstained = max(0.0, total - right - wrong)
    shrink, grow = np.exp(-2 * alpha * (n_classes - 1) / n_classes), np.exp(2 * alpha / n_classes)
    return abstained + right * shrink + wrong * grow


def reweigh(
    w: np.ndarray, codes: np.ndarray, predictions: np.ndarray, alpha: float, n_classes: int
) -> np.ndarray:
    """Return the distribution after a learner with weight α has been added."""
    right = predictions == codes
    exponent = np.where(right, -2 * alpha * (n_classes - 1) / n_classes, 2 * alpha / n_classes)
    exponent[predictions < 0] = 0.0
    w = w * np.exp(exponent)
    return w / w.sum()


def choose_view(ws: Any, predictions: np.ndarray, problem: Any) -> tuple[int | None, list[float]]:
    """Return the view with the smallest Z among those better than chance, and α of every view.

    ``ws`` contains a distribution for each view. The view is None if none is better than chance.
    """
    alphas, Zs = [], []
    for w, h in zip(ws, predictions, strict=True):
        right, wrong = vote_shares(w, problem.codes, h)
        alpha, _ = learner_weight(right, wrong, problem.n_classes, problem.n)
        alphas.append(alpha)
        Z = normaliser(right, wrong, 1.0, alpha, problem.n_classes)
        Zs.append(Z if alpha > 1e-12 else np.inf)
    v = int(first_largest(-np.array(Zs)))
    return (v if np.isfinite(Zs[v]) else None), alphas
