"""Shapley values of views: what each adds to the score, averaged over all orders of joining.

L. S. Shapley, "A value for n-person games", 1953. The players are the views, the worth of a
coalition is the score when only its views are present; so the values say what the model does with
missing views, too. Sampling of orders as in J. Castro, D. Gómez and J. Tejada, "Polynomial
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
    worths = np.array([worth(kept) for kept in coalitions])
    sizes = coalitions.sum(axis=1)
    shares = np.array([1 / (n * comb(n - 1, size)) for size in range(n)])
    values = np.empty(n)
    for v in range(n):
        outside = np.flatnonzero(~coalitions[:, v])
        gains = worths[outside | 1 << v] - worths[outside]
        values[v] = (shares[sizes[outside]] * gains).sum()
    return values


def sampled_gains(
    worth: Callable[[np.ndarray], float], n: int, n_orders: int, rng: np.random.RandomState
) -> np.ndarray:
    """Gains (n_orders, n) of the views along random orders; an order and its reverse in turn."""
    known: dict[bytes, float] = {}

    def cached(kept: np.ndarray) -> float:
        key = kept.tobytes()
        if key not in known:
            known[key] = worth(kept)
        return known[key]

    gains = np.empty((n_orders, n))
    order = np.arange(n)
    for row in range(n_orders):
        # a view that joins late in one order joins early in the other: less noise
        order = order[::-1] if row % 2 else rng.permutation(n)
        kept = np.zeros(n, dtype=bool)
        before = cached(kept)
        for v in order:
            kept[v] = True
            after = cached(kept)
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
    """Share the score of a model out among its views.

    The values add up to the score with all views less the score with none (the class prior).
    They are exact for up to 8 views, where all 2^V sets of views are scored, and estimated from
    random orders of joining for more.

    Parameters
    ----------
    estimator : fitted classifier
        A classifier of this package, or a Pipeline that takes several views.
    X : MultiViewData, matrix or any multi-view input
        Samples, better not those of fit. One matrix is cut by the estimator's ``views``.
    y : array of shape (n_samples,)
        Labels.
    scoring : str or callable, optional
        As in scikit-learn; the estimator's ``score`` (accuracy) by default.
    n_orders : int, default=50
        Number of random orders for more than 8 views; even, since each is used backwards as well.
    random_state : int, RandomState or None, default=None
        Seed of the orders.

    Returns
    -------
    Bunch
        ``shapley_values`` (n_views,), ``standard_errors`` (0 where exact), ``exact``,
        ``view_names``, ``full_score``, ``empty_score``.

    See Also
    --------
    view_permutation_importance : Cheaper; what is lost when a view turns to noise.

    Examples
    --------
    >>> from consilience.datasets import load_digits_views
    >>> from consilience.fusion import LateFusionClassifier
    >>> from consilience.inspection import view_shapley
    >>> data, y = load_digits_views(return_X_y=True)
    >>> model = LateFusionClassifier().fit(data[:900], y[:900])
    >>> found = view_shapley(model, data[900:], y[900:])
    >>> round(float(found.shapley_values.sum() - found.full_score + found.empty_score), 6)
    0.0
    """
    if n_orders < 2 or n_orders % 2:
        raise ValueError(f"n_orders must be an even number, 2 or more, got {n_orders}")
    score = Scorer(estimator, X, y, scoring)
    n = score.data.n_views
    exact = n <= MAX_EXACT_VIEWS
    if exact:
        values, errors = exact_shapley_values(score.without, n), np.zeros(n)
    else:
        gains = sampled_gains(score.without, n, n_orders, check_random_state(random_state))
        pairs = gains.reshape(-1, 2, n).mean(axis=1)  # an order and its reverse are not independent
        values = pairs.mean(axis=0)
        spread = pairs.std(axis=0, ddof=1) if len(pairs) > 1 else np.full(n, np.nan)
        errors = spread / np.sqrt(len(pairs))
    return Bunch(
        shapley_values=values,
        standard_errors=errors,
        exact=exact,
        view_names=list(score.data.view_names),
        full_score=score.without(np.ones(n, dtype=bool)),
        empty_score=score.without(np.zeros(n, dtype=bool)),
    )
