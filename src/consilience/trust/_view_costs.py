"""Accuracy against cost: views measured one by one, chosen for each sample or in a fixed order."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
from scipy.integrate import trapezoid
from sklearn.utils import Bunch

from consilience._default._rows import group_by_pattern
from consilience.trust._expected_gain import fit_gain_model
from consilience.trust._left_out import with_presence
from consilience.trust._next_view import (
    ReferenceRows,
    Utility,
    probabilities_of,
    read_costs,
    read_reference,
    read_utility,
)
from consilience.trust._opinions import read_codes, read_fitted

__all__ = ["area_under_curve", "cost_curve", "view_cost_curve"]

Predict = Callable[[np.ndarray], np.ndarray]  # present (n x V) -> probabilities (n x K)

MAX_VIEWS_ALL_ORDERS = 6
MIN_STANDARD_ERRORS = 2.0  # by which another view than the next of the fixed order must be better
NEEDED_TOLERANCE = 0.005  # loss of accuracy that counts as none
NEEDED_SHARE = 0.95  # of the total cost


def area_under_curve(cost: np.ndarray, score: np.ndarray) -> float:
    """Area under the score against the cost as a share of the largest cost."""
    return float(trapezoid(score, cost) / cost[-1])


def view_cost_curve(
    model: Any,
    X: Any,
    y: Any,
    costs: Any = None,
    *,
    utility: Any = "log_loss",
    reference: Any = None,
) -> Bunch:
    """Simulate how accuracy grows with the cost of views that are measured one by one.

    The policy starts without any view and stops where the expected gain per cost falls below a
    limit, or after a number of views; the curve belongs to all limits. The next view of a sample is
    that of the best fixed order, unless another one is expected to gain clearly more (two standard
    errors) per cost.

    Parameters
    ----------
    model, costs, utility, reference
        As in ``next_view``; here the default utility is the log loss, which also credits a view
        that brings a sample closer to a decision.
    X : MultiViewData, or any input of several views
        Samples that have all views.
    y : array of shape (n_samples,)
        Their labels.

    Returns
    -------
    Bunch
        ``cost`` and ``accuracy``, mean cost per sample and accuracy of the policy, from no view to
        all; ``area`` under this curve; ``fixed_order``, the order of views that is best on the
        reference rows, with ``fixed_cost``, ``fixed_accuracy`` and ``fixed_area``;
        ``needs_all_views``, whether less than 95 % of the cost loses more than half a point of
        accuracy; ``view_names``, ``costs``.

    Examples
    --------
    >>> from consilience.datasets import make_multiview_classification
    >>> from consilience.fusion import LateFusionClassifier
    >>> from consilience.trust import view_cost_curve
    >>> data, y = make_multiview_classification(900, random_state=0)
    >>> model = LateFusionClassifier().fit(data[:300], y[:300])
    >>> reference = data[300:600], y[300:600]
    >>> result = view_cost_curve(model, data[600:], y[600:], reference=reference)
    >>> result.fixed_order
    ['view0', 'view1', 'view2']
    >>> [round(float(accuracy), 2) for accuracy in result.accuracy[[0, -1]]]
    [0.52, 0.74]
    >>> round(float(result.area), 2)
    0.68
    """
    data = read_fitted(model, X, "view_cost_curve")[1]
    if not data.present.all():
        raise ValueError("view_cost_curve needs samples that have all views")
    names = list(model.view_names_)
    prices = read_costs(costs, names)
    rows = read_reference(model, reference, "view_cost_curve")
    codes = read_codes(model, y, data, "view_cost_curve")

    def predict(present: np.ndarray) -> np.ndarray:
        return probabilities_of(model, with_presence(data, present))

    return cost_curve(predict, codes, prices, rows, read_utility(utility), names)


def cost_curve(
    predict: Predict,
    codes: np.ndarray,
    prices: np.ndarray,
    rows: ReferenceRows,
    utility: Utility,
    names: list[str],
) -> Bunch:
    """Accuracy against cost for samples whose probabilities ``predict`` gives from any views."""
    order = best_fixed_order(rows, prices)
    spent, rates, is_right = follow_policy(predict, codes, prices, rows, utility, order)
    cost, accuracy = sweep_limits(spent, rates, is_right)
    fixed_cost = np.append(0.0, np.cumsum(prices[order]))
    fixed_accuracy = np.array(
        [
            (predict(_first_views(len(codes), order, k)).argmax(axis=1) == codes).mean()
            for k in range(len(order) + 1)
        ]
    )
    enough = accuracy >= accuracy[-1] - NEEDED_TOLERANCE
    return Bunch(
        cost=cost,
        accuracy=accuracy,
        area=area_under_curve(cost, accuracy),
        fixed_order=[names[v] for v in order],
        fixed_cost=fixed_cost,
        fixed_accuracy=fixed_accuracy,
        fixed_area=area_under_curve(fixed_cost, fixed_accuracy),
        needs_all_views=bool(cost[enough].min() > NEEDED_SHARE * prices.sum()),
        view_names=names,
        costs=prices,
    )


def _first_views(n: int, order: np.ndarray, k: int) -> np.ndarray:
    """Mask (n x V) of the first k views of an order."""
    return np.tile(np.isin(np.arange(len(order)), order[:k]), (n, 1))


def follow_policy(
    predict: Predict,
    codes: np.ndarray,
    prices: np.ndarray,
    rows: ReferenceRows,
    utility: Utility,
    order: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Path of each sample to all views.

    Returns the cost spent (n x V + 1), the expected gain per cost of each step (n x V), and whether
    the prediction is right (n x V + 1).
    """
    n, n_views = len(codes), len(prices)
    everyone = np.arange(n)
    present = np.zeros((n, n_views), dtype=bool)
    spent, rates = np.zeros((n, n_views + 1)), np.empty((n, n_views))
    is_right = np.empty((n, n_views + 1), dtype=bool)
    p = np.tile(rows.prior, (n, 1))
    is_right[:, 0] = p.argmax(axis=1) == codes
    for step in range(n_views):
        chosen = np.empty(n, dtype=np.intp)
        for pattern, own in group_by_pattern(present):
            views = np.array([v for v in order if not pattern[v]])
            before, gains = rows.gains(pattern, views.tolist(), utility)
            best, rates[own, step] = choose_view(before, gains / prices[views], p[own])
            chosen[own] = views[best]
        present[everyone, chosen] = True
        spent[:, step + 1] = spent[:, step] + prices[chosen]
        p = predict(present)
        is_right[:, step + 1] = p.argmax(axis=1) == codes
    return spent, rates, is_right


def choose_view(
    before: np.ndarray, gains: np.ndarray, p: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Number of the view to measure next for rows with probabilities ``p``, and its expected gain.

    ``gains`` (m x views) are those of reference rows with probabilities ``before``. It is the first
    view, the next of the fixed order, unless another gains more by at least
    ``MIN_STANDARD_ERRORS`` of the difference.
    """
    more, errors = fit_gain_model(before, gains - gains[:, :1]).predict(p)
    is_better = more > MIN_STANDARD_ERRORS * errors
    is_better[:, 0] = True
    best = np.where(is_better, more, -np.inf).argmax(axis=1)
    first = fit_gain_model(before, gains[:, :1]).predict(p)[0][:, 0]
    return best, first + more[np.arange(len(p)), best]


def sweep_limits(
    spent: np.ndarray, rates: np.ndarray, is_right: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mean cost and accuracy for every limit on the gain per cost, from no view to all.

    A sample takes its steps one after the other, up to the first whose rate is below the limit.
    Steps that a limit adds are taken in turn, all first ones before all second ones: a first view
    that seems to gain little may still be worth a stop.
    """
    lowest = np.minimum.accumulate(rates, axis=1).ravel()
    steps = np.tile(np.arange(rates.shape[1]), len(rates))
    order = np.lexsort((steps, -lowest))
    costs = np.diff(spent, axis=1).ravel()[order]
    changes = np.diff(is_right.astype(np.float64), axis=1).ravel()[order]
    cost = np.append(0.0, np.cumsum(costs)) / len(spent)
    accuracy = is_right[:, 0].mean() + np.append(0.0, np.cumsum(changes)) / len(spent)
    # steps of equal rate and number are taken together
    differs = (np.diff(lowest[order]) != 0) | (np.diff(steps[order]) != 0)
    keep = np.concatenate([[True], differs, [True]])
    return cost[keep], accuracy[keep]


def best_fixed_order(rows: ReferenceRows, prices: np.ndarray) -> np.ndarray:
    """Order of the views with the largest area on the reference rows that have all views."""
    n_views = len(prices)
    complete = rows.present.all(axis=1)
    if not complete.any():
        raise ValueError("a curve of costs needs reference samples that have all views")
    scores: dict[bytes, float] = {}

    def score(views: tuple[int, ...]) -> float:
        pattern = np.isin(np.arange(n_views), views)
        key = pattern.tobytes()
        if key not in scores:
            p = rows.probabilities(pattern)[complete]
            scores[key] = float((p.argmax(axis=1) == rows.codes[complete]).mean())
        return scores[key]

    def area(order: tuple[int, ...]) -> float:
        cost = np.append(0.0, np.cumsum(prices[list(order)]))
        return area_under_curve(cost, np.array([score(order[:k]) for k in range(n_views + 1)]))

    if n_views <= MAX_VIEWS_ALL_ORDERS:
        return np.array(max(permutations(range(n_views)), key=area))
    order: list[int] = []
    while len(order) < n_views:
        rest = [v for v in range(n_views) if v not in order]
        before = score(tuple(order))
        gains = [(score((*order, v)) - before) / prices[v] for v in rest]
        order.append(rest[int(np.argmax(gains))])
    return np.array(order)
