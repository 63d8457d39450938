"""Which view to measure next: what a missing view is worth, given what is known of a sample.

The gain of view v for a sample with views S is expected to be that of reference rows with like
evidence, u(p_{S ∪ v}, y) − u(p_S, y): the utility of their probabilities with and without v. It is
regressed on how sure p_S is (``_expected_gain``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from consilience._default._rows import group_by_pattern
from consilience.trust._expected_gain import fit_gain_model
from consilience.trust._left_out import LeftOutClassifier, class_probabilities, with_presence
from consilience.trust._opinions import read_codes, read_fitted
from consilience.views import MultiViewData

__all__ = ["ReferenceRows", "next_view", "read_costs", "read_reference", "read_utility"]

MIN_PROBABILITY = 1e-4  # below this, a log loss grows no further
Utility = Callable[[np.ndarray, np.ndarray], np.ndarray]


def accuracy(probabilities: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """1 for rows whose most probable class is the right one."""
    return (probabilities.argmax(axis=1) == codes).astype(np.float64)


def log_likelihood(probabilities: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Logarithm of the probability of the right class."""
    return np.log(np.maximum(probabilities[np.arange(len(codes)), codes], MIN_PROBABILITY))


UTILITIES: dict[str, Utility] = {"accuracy": accuracy, "log_loss": log_likelihood}


def read_utility(utility: Any) -> Utility:
    """The utility by name, or the user's own."""
    if isinstance(utility, str) and utility in UTILITIES:
        return UTILITIES[utility]
    if callable(utility):
        return lambda probabilities, codes: _check_utilities(utility(probabilities, codes), codes)
    raise ValueError(
        f"utility must be {', '.join(map(repr, UTILITIES))} or a function of probabilities and "
        f"class codes, got {utility!r}"
    )


def _check_utilities(values: Any, codes: np.ndarray) -> np.ndarray:
    values = np.asarray(values, dtype=np.float64)
    if values.shape != codes.shape or not np.isfinite(values).all():
        raise ValueError(
            f"utility must return a finite number for each of {len(codes)} rows, got an array of "
            f"shape {values.shape} with {np.sum(~np.isfinite(values))} values that are not finite"
        )
    return values


def read_costs(costs: Any, names: list[str]) -> np.ndarray:
    """One positive cost for each view; None means equal costs."""
    if costs is None:
        return np.ones(len(names))
    if hasattr(costs, "to_dict") and set(costs.index) != set(range(len(names))):
        costs = costs.to_dict()  # a Series that names the views, in any order
    if isinstance(costs, Mapping):
        if set(costs) != set(names):
            raise ValueError(f"costs must name the views {names}, got {list(costs)}")
        costs = [costs[name] for name in names]
    try:
        values = np.asarray(costs, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"costs must be {len(names)} positive numbers, got {costs!r}") from None
    if values.shape != (len(names),) or not (np.isfinite(values) & (values > 0)).all():
        raise ValueError(f"costs must be {len(names)} positive numbers, got {costs!r}")
    return values


class ReferenceRows:
    """Rows of known class, and their left-out probabilities from any subset of their views."""

    def __init__(
        self, present: np.ndarray, codes: np.ndarray, prior: np.ndarray, predict: Callable
    ) -> None:
        self.present = present
        self.codes = codes
        self.prior = prior
        self._predict = predict
        self._cache: dict[bytes, np.ndarray] = {}

    def probabilities(self, pattern: np.ndarray) -> np.ndarray:
        """Probabilities (m x K) from the views of a pattern; NaN for rows without one of them."""
        key = pattern.tobytes()
        if key not in self._cache:
            out = np.tile(self.prior, (len(self.codes), 1))
            if pattern.any():
                rows = np.flatnonzero(self.present[:, pattern].all(axis=1))
                out[:] = np.nan
                if len(rows):
                    out[rows] = self._predict(rows, pattern)
            self._cache[key] = out
        return self._cache[key]

    def gains(
        self, pattern: np.ndarray, views: Sequence[int], utility: Utility
    ) -> tuple[np.ndarray, np.ndarray]:
        """Probabilities (m x K) of the rows that have all these views, and their gains (m x V).

        The probabilities are those from the views of the pattern.
        """
        afters = [self.probabilities(pattern | (np.arange(len(pattern)) == v)) for v in views]
        before = self.probabilities(pattern)
        is_unknown = np.any([np.isnan(p).any(axis=1) for p in (before, *afters)], axis=0)
        rows = np.flatnonzero(~is_unknown)
        before, codes = before[rows], self.codes[rows]
        start = utility(before, codes)
        return before, np.column_stack([utility(after[rows], codes) - start for after in afters])

    def gain(self, p: np.ndarray, pattern: np.ndarray, v: int, utility: Utility) -> np.ndarray:
        """Expected gain of view v for rows with probabilities ``p`` from the views of a pattern.

        NaN if no reference row has all of them.
        """
        before, gains = self.gains(pattern, [v], utility)
        if len(gains) == 0:
            return np.full(len(p), np.nan)
        return fit_gain_model(before, gains).predict(p)[0][:, 0]


def read_reference(model: Any, reference: Any, function: str) -> ReferenceRows:
    """The calibration rows of a model of this package, or the user's rows with labels."""
    if reference is not None:
        if not isinstance(reference, (tuple, list)) or len(reference) != 2:
            raise ValueError(f"reference of {function} must be a pair (X, y) of samples and labels")
        X, y = reference
        data = read_fitted(model, X, function)[1]
        codes = read_codes(model, y, data, f"reference of {function}")

        def predict(rows: np.ndarray, pattern: np.ndarray) -> np.ndarray:
            part = with_presence(data[rows], np.tile(pattern, (len(rows), 1)))
            return class_probabilities(model, part, model.classes_)

        return ReferenceRows(np.array(data.present), codes, model.class_prior_, predict)
    if not (isinstance(model, LeftOutClassifier) and model._left_out.can_mask):
        raise ValueError(
            f"{function} needs rows that the classifier was not fitted on: pass "
            "reference=(X, y), or a fitted classifier of consilience.trust with method 'split' "
            "or 'cv+' and views of feature columns"
        )
    left_out = model._left_out
    return ReferenceRows(
        left_out.present,
        left_out.codes,
        model.class_prior_,
        lambda rows, pattern: left_out.predict(rows, pattern, model.classes_),
    )


def probabilities_of(model: Any, data: MultiViewData) -> np.ndarray:
    """Probabilities of validated rows; the class prior for those without any view."""
    return class_probabilities(model, data, model.classes_)


def next_view(
    model: Any,
    X: Any,
    costs: Any = None,
    *,
    utility: Any = "accuracy",
    reference: Any = None,
) -> Bunch:
    """Estimate what each missing view of each sample is worth, and which to measure next.

    Parameters
    ----------
    model : fitted classifier
        A classifier of this package; with one of ``consilience.trust`` (``method`` "split" or
        "cv+") no ``reference`` is needed.
    X : MultiViewData, or any input of several views
        Samples that lack views.
    costs : dict or Series of view -> float, array of shape (n_views,) or None, default=None
        Cost of measuring each view; None means equal costs.
    utility : {"accuracy", "log_loss"} or callable, default="accuracy"
        What is to be gained; a function of probabilities (n x K) and class codes (n) that returns
        a utility for each row.
    reference : tuple (X, y), optional
        Samples that the classifier was not fitted on.

    Returns
    -------
    Bunch
        ``gains`` (n_samples, n_views), the expected gain of each missing view, NaN for views that
        a sample has or whose gain is unknown because no reference row has it together with the
        others; ``best``, for each sample the missing view with the largest gain per cost, or None
        if no view is expected to help; ``view_names``, ``costs``.

    Examples
    --------
    >>> from consilience.datasets import make_multiview_classification
    >>> from consilience.fusion import LateFusionClassifier
    >>> from consilience.trust import next_view
    >>> data, y = make_multiview_classification(700, strength=[1, 1, 3], random_state=0)
    >>> model = LateFusionClassifier().fit(data[:300], y[:300])
    >>> known = data[600:].select(["view0"])
    >>> advice = next_view(model, known, reference=(data[300:600], y[300:600]))
    >>> advice.best[:3]
    ['view2', 'view2', 'view2']
    """
    data = read_fitted(model, X, "next_view")[1]
    names = list(model.view_names_)
    prices = read_costs(costs, names)
    rows = read_reference(model, reference, "next_view")
    gains = expected_gains(model, data, rows, read_utility(utility))
    rates = np.where(np.isnan(gains), -np.inf, gains) / prices
    best = [
        names[v] if rate > 0 else None
        for v, rate in zip(rates.argmax(axis=1), rates.max(axis=1), strict=True)
    ]
    return Bunch(gains=gains, best=best, view_names=names, costs=prices)


def expected_gains(
    model: Any, data: MultiViewData, rows: ReferenceRows, utility: Utility
) -> np.ndarray:
    """Expected gains (n x V) of the missing views; NaN for those that a sample has."""
    gains = np.full(data.present.shape, np.nan)
    p = probabilities_of(model, data)
    for pattern, own in group_by_pattern(data.present):
        for v in np.flatnonzero(~pattern):
            gains[own, v] = rows.gain(p[own], pattern, int(v), utility)
    return gains
