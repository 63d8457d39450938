"""Bounds on boosting: margins of training samples, the training error, the regret of the bandit.

References: S. Koço, C. Capponi, "A boosting approach to multiview classification with cooperation",
ECML PKDD 2011; J. Peng et al., "ShareBoost: boosting for multi-view learning with performance
guarantees", ECML PKDD 2011. Both are corrected here; ``docs/papers.md`` says where and why.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from consilience._parameters import FRACTION, POSITIVE_INTEGER
from consilience._targets import check_n_labels
from consilience.views._storage import format_list

__all__ = [
    "class_edges",
    "error_factors",
    "exp3p_regret_bound",
    "loss_factor",
    "margin_distribution",
    "rounds_to_zero_error",
]


def loss_factor(edge: float, alpha: float) -> float:
    """τ = 1 − sinh(α) δ + cosh(α) − 1: a view's loss after a round is at most τ times as large.

    It is √(1 − δ²) for the weight that belongs to the edge.
    """
    return float(np.cosh(alpha) - np.sinh(alpha) * edge)


def error_factors(rounds: list[tuple[float, float, float]]) -> np.ndarray:
    """Z of each round (W₊, W₋, α) for two classes, √(1 − β²) if nothing was clipped or missing."""
    right, wrong, alpha = np.array(rounds).reshape(-1, 3).T
    abstained = np.maximum(0.0, 1 - right - wrong)
    return abstained + right * np.exp(-alpha) + wrong * np.exp(alpha)


def class_edges(rounds: list[tuple[float, float, float]], n_classes: int) -> np.ndarray:
    """β = W₊ − W₋/(K − 1) of each round (W₊, W₋, α), within [−1, 1]."""
    right, wrong, _ = np.array(rounds).reshape(-1, 3).T
    return np.clip(right - wrong / (n_classes - 1), -1.0, 1.0)


def margin_distribution(model: Any, X: Any, y: Any) -> np.ndarray:
    """Margins of samples in the vote of a boosted classifier, sorted, in [−1, 1].

    The margin is the weight of the learners that vote for the right class minus that of those
    that vote for the best other class, divided by the total weight; it is negative where the
    prediction is wrong. Where all learners abstain, because their views are missing, the class
    prior takes the place of the votes, and margins beyond 1 or −1 count as these.

    Parameters
    ----------
    model : fitted boosting classifier
        MuMBo, ShareBoost, rShareBoost, iBoost or MVWAB.
    X : MultiViewData, matrix, or any input that ``as_multiview`` reads
        Samples.
    y : array of shape (n_samples,)
        Their labels, all known to the classifier.

    Returns
    -------
    ndarray of shape (n_samples,)

    Examples
    --------
    >>> from consilience.boosting import MuMBoClassifier, margin_distribution
    >>> from consilience.datasets import load_digits_views
    >>> digits = load_digits_views()
    >>> model = MuMBoClassifier(random_state=0).fit(digits.data[:500], digits.target[:500])
    >>> margins = margin_distribution(model, digits.data[:500], digits.target[:500])
    >>> bool((margins <= 0.1).mean() <= model.margin_bound(0.1))
    True
    """
    y = column_or_1d(y)
    unknown = ~np.isin(y, model.classes_)
    if unknown.any():
        raise ValueError(
            f"y has the label {format_list(y[unknown][:1])} that is unknown to the classifier"
        )
    scores = np.asarray(model.decision_function(X))
    check_n_labels(y, len(scores))
    if scores.ndim == 1:
        scores = np.column_stack([np.zeros_like(scores), scores])
    rows, codes = np.arange(len(y)), np.searchsorted(model.classes_, y)
    own = scores[rows, codes]
    others = scores.copy()
    others[rows, codes] = -np.inf
    total = np.abs(model.estimator_weights_).sum()
    margins = (own - others.max(axis=1)) / total if total > 0 else np.zeros(len(y))
    return np.sort(np.clip(margins, -1.0, 1.0))


def exp3p_regret_bound(n_views: int, n_rounds: int, delta: float = 0.05) -> float:
    """Bound on what the bandit of rShareBoost may lose to always drawing the best view.

    Holds with probability 1 − delta for ``a="theorem"`` and ``gamma="theorem"``; rewards are
    1 − √(1 − β²) (Auer et al. 2002, theorem 6.3). It is sublinear, but exceeds the largest possible
    loss, ``n_rounds``, up to thousands of rounds.

    Parameters
    ----------
    n_views, n_rounds : int
        Number of views (at least 2) and of rounds.
    delta : float in (0, 1), default=0.05
        Probability that the bound fails.

    Returns
    -------
    float

    Examples
    --------
    >>> from consilience.boosting import exp3p_regret_bound
    >>> round(exp3p_regret_bound(3, 150))
    444
    """
    _check(n_views=n_views, n_rounds=n_rounds, delta=delta)
    log_term, VT = np.log(n_views * n_rounds / delta), n_views * n_rounds
    return float(
        4 * np.sqrt(VT * log_term) + 4 * np.sqrt(5 / 3 * VT * np.log(n_views)) + 8 * log_term
    )


def rounds_to_zero_error(n_views: int, n_samples: int, edge: float, delta: float = 0.05) -> float:
    """Rounds after which rShareBoost has no training error, with probability 1 − delta.

    One view must have an edge of at least ``edge`` in every round. The number is
    max(ln²(V/δ), (4C/ρ²)⁴, 4 ln n / ρ²) with C = √(32V) + √(27 V ln V) + 16; the one printed in the
    paper's theorem 2 has a void proof. It is astronomical: a statement about orders of growth.

    Parameters
    ----------
    n_views, n_samples : int
        Number of views (at least 2) and of training samples.
    edge : float in (0, 1)
        ρ.
    delta : float in (0, 1), default=0.05
        Probability that more rounds are needed.

    Returns
    -------
    float

    Examples
    --------
    >>> from consilience.boosting import rounds_to_zero_error
    >>> rounds_to_zero_error(3, 100, edge=0.5) > 1e10
    True
    """
    _check(n_views=n_views, n_samples=n_samples, edge=edge, delta=delta)
    C = np.sqrt(32 * n_views) + np.sqrt(27 * n_views * np.log(n_views)) + 16
    log_term = np.log(n_views / delta)
    return float(max(log_term**2, (4 * C / edge**2) ** 4, 4 * np.log(n_samples) / edge**2))


def _check(**values: Any) -> None:
    for name, value in values.items():
        constraint = FRACTION if name in ("edge", "delta") else POSITIVE_INTEGER
        if not constraint.is_satisfied_by(value) or (name == "n_views" and value < 2):
            least = " of at least 2" if name == "n_views" else ""
            raise ValueError(f"{name} must be {constraint}{least}, got {value!r}")
