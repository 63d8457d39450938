"""Shapley values of views: what each view adds to the score, averaged over all orders.

L. S. Shapley, "A value for n-person games", 1953. The players are the views, and the worth of a
coalition is the score when only its views are present, so the values also reflect how the model
handles missing views. Orders are sampled as in J. Castro, D. Gómez and J. Tejada, "Polynomial
calculation of the Shapley value based on sampling", Computers & Operations Research 36, 2009.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from typing import Any

import numpy as np
from sklearn.utils import Bunch, check_random_state

from consilience.inspection._scoring import Scorer

__all__ = ["view_shapley"]

MAX_EXACT_VIEWS = 8


def exact_shapley_values(worth: Callable[[np.ndarray], float], n: int) -> np.ndarray:
    """φ_v = Σ_S (worth(S ∪ v) − worth(S)) / (n · C(n−1, |S|)), over all S without v."""
    coalitions = np.array([[bool(s >> v & 1) for v in range(n)] for s in range(2**n)])
    worths = np.array([worth(coalition) for coalition in coalitions])
    sizes = coalitions.sum(axis=1)
    weights = np.array([1 / (n * comb(n - 1, size)) for size in range(n)])
    values = np.empty(n)
    for v in range(n):
        outside = np.flatnonzero(~coalitions[:, v])
        gains = worths[outside | 1 << v] - worths[outside]
        values[v] = (weights[sizes[outside]] * gains).sum()
    return values


def sampled_gains(
    worth: Callable[[np.ndarray], float], n: int, n_orders: int, rng: np.random.RandomState
) -> np.ndarray:
    """Gains (n_orders, n) of the views along random orders, each followed by its reverse."""
    cache: dict[bytes, float] = {}

    def cached_worth(coalition: np.ndarray) -> float:
        key = coalition.tobytes()
        if key not in cache:
            cache[key] = worth(coalition)
        return cache[key]

    gains = np.empty((n_orders, n))
    order = np.arange(n)
    for row in range(n_orders):
        # a view that comes late in one order comes early in its reverse, which reduces the noise
        order = order[::-1] if row % 2 else rng.permutation(n)
        coalition = np.zeros(n, dtype=bool)
        before = cached_worth(coalition)
        for v in order:
            coalition[v] = True
            after = cached_worth(coalition)
            gains[row, v], before = after - before, after
    return gains


def view_shapley(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    scoring: Any = None,
    n_orders: int = 50,
    random_state: Any = None,
) -> Bunch:
    """Divide the score of a model among its views by their Shapley values.

    The values add up to the score with all views minus the score with none (the class prior).
    They are exact for up to 8 views, where all 2^V subsets of views are scored, and estimated from
    random orders of the views for more.

    Parameters
    ----------
    estimator : fitted classifier
        A classifier of this package, or a Pipeline that accepts several views.
    X : MultiViewData, matrix or any multi-view input
        Samples, preferably not used for training. A single matrix is split into views according
        to the estimator's ``views``.
    y : array of shape (n_samples,)
        Labels.
    scoring : str or callable, optional
        As in scikit-learn; the estimator's ``score`` (accuracy) by default.
    n_orders : int, default=50
        Number of orders for more than 8 views; even, since the reverse of each is used as well.
    random_state : int, RandomState or None, default=None
        Seed of the random orders.

    Returns
    -------
    Bunch
        ``shapley_values`` (n_views,), ``standard_errors`` (0 where exact), ``exact``,
        ``view_names``, ``full_score``, ``empty_score``.

    See Also
    --------
    view_permutation_importance : Cheaper; the score lost when a view is shuffled.

    Examples
    --------
    >>> from consilience.datasets import load_digits_views
    >>> from consilience.fusion import LateFusionClassifier
    >>> from consilience.inspection import view_shapley
    >>> data, y = load_digits_views(return_X_y=True)
    >>> model = LateFusionClassifier().fit(data[:900], y[:900])
    >>> result = view_shapley(model, data[900:], y[900:])
    >>> round(float(result.shapley_values.sum() - result.full_score + result.empty_score), 6)
    0.0
    """
    if n_orders < 2 or n_orders % 2:
        raise ValueError(f"n_orders must be an even number, 2 or more, got {n_orders}")
    scorer = Scorer(estimator, X, y, scoring)
    n = scorer.data.n_views
    exact = n <= MAX_EXACT_VIEWS
    if exact:
        values, errors = exact_shapley_values(scorer.score_views, n), np.zeros(n)
    else:
        gains = sampled_gains(scorer.score_views, n, n_orders, check_random_state(random_state))
        pairs = gains.reshape(-1, 2, n).mean(axis=1)  # an order and its reverse are not independent
        values = pairs.mean(axis=0)
        spread = pairs.std(axis=0, ddof=1) if len(pairs) > 1 else np.full(n, np.nan)
        errors = spread / np.sqrt(len(pairs))
    return Bunch(
        shapley_values=values,
        standard_errors=errors,
        exact=exact,
        view_names=list(scorer.data.view_names),
        full_score=scorer.score_views(np.ones(n, dtype=bool)),
        empty_score=scorer.score_views(np.zeros(n, dtype=bool)),
    )
