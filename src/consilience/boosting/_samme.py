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

from collections.abc import Sequence
from typing import Any

import numpy as np

from consilience._core import _core
from consilience._core.exact import as_float, read_limbs
from consilience.boosting._rounds import RoundRows, as_codes, first_largest

__all__ = [
    "Shares",
    "choose_view",
    "learner_weight",
    "normaliser",
    "reweigh",
    "reweigh_rows",
    "shared_weights",
    "split_views",
    "start_weights",
    "sums_of_views",
    "update_factors",
    "vote_shares",
    "vote_sums",
]

Shares = tuple[float, float, float]


def start_weights(codes: np.ndarray, weight: np.ndarray, total: float) -> dict[str, Any]:
    """The distribution over the rows before the first round."""
    return {"w": weight / total}


def shared_weights(state: dict[str, Any], v: int, out: np.ndarray | None = None) -> np.ndarray:
    """Weights of the learner of view v: the distribution that all views share."""
    return state["w"]


def vote_sums(w: np.ndarray, codes: np.ndarray, predictions: np.ndarray) -> list[int]:
    """W₊, W₋, W₀ of one learner as exact sums, and the number of rows not classified correctly."""
    sums = read_limbs(_core.vote_sums(w, as_codes(codes), as_codes(predictions)))
    return [*sums, int(np.count_nonzero(predictions != codes))]


def vote_shares(sums: Sequence[int]) -> Shares:
    """W₊, W₋ and W₀ from exact sums."""
    right, wrong, abstained = (as_float(total) for total in sums[:3])
    return right, wrong, abstained


def sums_of_views(rows: RoundRows) -> list[int]:
    """``vote_sums`` of the learners of all views that were fitted, with the shared weights."""
    sums = [vote_sums(rows.state["w"], rows.codes, h) for h in rows.predictions if h is not None]
    return [total for part in sums for total in part]


def learner_weight(right: float, wrong: float, n_classes: int, n: float) -> tuple[float, float]:
    """α of a learner and its clipped error ε; (0, 1 − 1/K) if it predicts hardly any weight."""
    seen, chance = right + wrong, 1 - 1 / n_classes
    if seen <= 0 or 1 / (2 * n * seen) >= min(0.5, chance):
        return 0.0, chance
    margin = 1 / (2 * n * seen)
    error = min(max(wrong / seen, margin), 1 - margin)
    return 0.5 * (np.log((1 - error) / error) + np.log(n_classes - 1)), error


def normaliser(shares: Shares, alpha: float, n_classes: int) -> float:
    """Z, the sum of the weights after the update."""
    right, wrong, abstained = shares
    shrink, grow = vote_factors(alpha, n_classes)
    return abstained + right * shrink + wrong * grow


def vote_factors(alpha: float, n_classes: int) -> tuple[float, float]:
    """Factors of the weights of rows classified correctly and incorrectly."""
    return np.exp(-2 * alpha * (n_classes - 1) / n_classes), np.exp(2 * alpha / n_classes)


def update_factors(shares: Shares, alpha: float, n_classes: int) -> np.ndarray:
    """Factors of the weights of rows classified correctly, incorrectly and not at all.

    The updated weights sum to 1.
    """
    return np.array([*vote_factors(alpha, n_classes), 1.0]) / normaliser(shares, alpha, n_classes)


def reweigh(
    w: np.ndarray,
    codes: np.ndarray,
    predictions: np.ndarray,
    factors: np.ndarray,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """Return the distribution after a learner has been added; see ``update_factors``."""
    out = np.empty_like(w) if out is None else out
    _core.reweigh(w, as_codes(codes), as_codes(predictions), factors, out)
    return out


def reweigh_rows(rows: RoundRows, v: int, factors: np.ndarray) -> None:
    """Update the shared weights with the learner of view v."""
    w = rows.state["w"]
    reweigh(w, rows.codes, rows.predictions[v], factors, out=w)


def choose_view(
    shares: Sequence[Shares], n_classes: int, n: float
) -> tuple[int | None, list[float]]:
    """Return the view with the smallest Z among those better than chance, and α of every view.

    The view is None if none is better than chance.
    """
    alphas = [learner_weight(right, wrong, n_classes, n)[0] for right, wrong, _ in shares]
    Zs = [
        normaliser(share, alpha, n_classes) if alpha > 1e-12 else np.inf
        for share, alpha in zip(shares, alphas, strict=True)
    ]
    v = int(first_largest(-np.array(Zs)))
    return (v if np.isfinite(Zs[v]) else None), alphas


def split_views(sums: Sequence[int]) -> list[Sequence[int]]:
    """The sums of all views, those of ``vote_sums`` of each view."""
    return [sums[k : k + 4] for k in range(0, len(sums), 4)]
