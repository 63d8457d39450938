"""Random multi-view problems in which the quality of each view is known."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from consilience.views import MultiViewData

__all__ = ["make_multiview_classification"]


def make_multiview_classification(
    n_samples: int = 200,
    *,
    n_views: int = 3,
    n_features: int | Sequence[int] = 10,
    n_classes: int = 2,
    strength: float | Sequence[float] = 1.0,
    redundancy: float = 0.5,
    label_noise: float = 0.0,
    missing_rate: float | Sequence[float] = 0.0,
    sparsity: float | Sequence[float] = 0.0,
    class_weights: Sequence[float] | None = None,
    random_state: Any = None,
) -> tuple[MultiViewData, np.ndarray]:
    """Draw a multi-view classification problem.

    Each class has a centre in a latent space, and samples scatter around it, partly in the same way
    in all views and partly in each view independently. A view is a linear image of its latent
    positions, in which the centres are ``strength`` apart, plus noise.

    Parameters
    ----------
    n_samples : int, default=200
        Number of samples.
    n_views : int, default=3
        Number of views.
    n_features : int or list of int, default=10
        Number of columns of all views, or of each view.
    n_classes : int, default=2
        Number of classes.
    strength : float or list of float, default=1.0
        Distance of the classes in a view, in standard deviations; 0 is a view of pure noise.
    redundancy : float in [0, 1], default=0.5
        Fraction of the variance that all views have in common: at 1 the views err on the same
        samples and add little to each other, at 0 they err independently.
    label_noise : float in [0, 1), default=0.0
        Fraction of samples whose label is replaced by another one.
    missing_rate : float in [0, 1) or list of float, default=0.0
        Fraction of samples that lack a view; every sample keeps at least one.
    sparsity : float in [0, 1) or list of float, default=0.0
        Fraction of zeros; if positive, the view is non-negative and stored as CSR.
    class_weights : list of float, default=None
        Proportions of the classes; equal by default.
    random_state : int, RandomState or None, default=None
        Random seed.

    Returns
    -------
    data : MultiViewData
        The views, called ``view0``, ``view1``, ...
    y : ndarray of shape (n_samples,)
        Labels 0 … n_classes − 1.

    Examples
    --------
    >>> from consilience.datasets import make_multiview_classification
    >>> data, y = make_multiview_classification(
    ...     100, n_features=[5, 20], n_views=2, missing_rate=0.2, random_state=0)
    >>> data.shape, data.view_names
    ((100, 25), ('view0', 'view1'))
    """
    n_samples = _check_integer("n_samples", n_samples, 1)
    n_views = _check_integer("n_views", n_views, 1)
    n_classes = _check_integer("n_classes", n_classes, 2)
    widths = [
        _check_integer("n_features", width, 1)
        for width in _per_view("n_features", n_features, n_views)
    ]
    strength_of_view = [float(s) for s in _per_view("strength", strength, n_views)]
    missing_rates = [
        _check_fraction("missing_rate", rate)
        for rate in _per_view("missing_rate", missing_rate, n_views)
    ]
    sparsities = [_check_fraction("sparsity", s) for s in _per_view("sparsity", sparsity, n_views)]
    if not 0 <= redundancy <= 1:
        raise ValueError(f"redundancy must be in [0, 1], got {redundancy}")
    rng = check_random_state(random_state)
    y = _draw_labels(rng, n_samples, n_classes, class_weights)
    n_latent = max(2, n_classes)
    centres = np.eye(n_classes, n_latent) / np.sqrt(2)  # distance 1 between any two
    common = rng.standard_normal((n_samples, n_latent))
    views = {}
    for v, (width, view_strength, view_sparsity) in enumerate(
        zip(widths, strength_of_view, sparsities, strict=True)
    ):
        specific = rng.standard_normal((n_samples, n_latent))
        scatter = np.sqrt(redundancy) * common + np.sqrt(1 - redundancy) * specific
        loadings = np.linalg.qr(rng.standard_normal((max(width, n_latent), n_latent)))[0][:width]
        X = (view_strength * centres[y] + scatter) @ loadings.T
        X += 0.1 * rng.standard_normal(X.shape)
        views[f"view{v}"] = _sparsify(X, view_sparsity) if view_sparsity else X
    y = _flip_labels(rng, y, n_classes, _check_fraction("label_noise", label_noise))
    return MultiViewData(views, present=_draw_present(rng, n_samples, missing_rates)), y


def _draw_labels(
    rng: np.random.RandomState, n_samples: int, n_classes: int, weights: Sequence[float] | None
) -> np.ndarray:
    shares = np.full(n_classes, 1 / n_classes) if weights is None else np.asarray(weights, float)
    if shares.shape != (n_classes,) or (shares <= 0).any():
        raise ValueError(f"class_weights must be {n_classes} positive numbers, got {weights!r}")
    bounds = np.cumsum(shares / shares.sum())
    bounds[-1] = 1.0
    y = np.searchsorted(bounds, (np.arange(n_samples) + 0.5) / n_samples)
    return rng.permutation(y)


def _flip_labels(
    rng: np.random.RandomState, y: np.ndarray, n_classes: int, rate: float
) -> np.ndarray:
    flipped = rng.random_sample(len(y)) < rate
    shift = rng.randint(1, n_classes, size=len(y))
    return np.where(flipped, (y + shift) % n_classes, y)


def _draw_present(rng: np.random.RandomState, n_samples: int, rates: list[float]) -> np.ndarray:
    present = rng.random_sample((n_samples, len(rates))) >= rates
    kept = rng.randint(len(rates), size=n_samples)
    empty = ~present.any(axis=1)
    present[empty, kept[empty]] = True
    return present


def _sparsify(X: np.ndarray, sparsity: float) -> sp.csr_array:
    """Subtract a quantile of each column and clip, so that this fraction of values is zero."""
    return sp.csr_array(np.maximum(X - np.quantile(X, sparsity, axis=0), 0.0))


def _per_view(name: str, value: Any, n_views: int) -> list[Any]:
    if isinstance(value, numbers.Real):
        return [value] * n_views
    values = list(value)
    if len(values) != n_views:
        raise ValueError(f"{name} has {len(values)} entries for {n_views} views")
    return values


def _check_integer(name: str, value: Any, minimum: int) -> int:
    if not isinstance(value, numbers.Integral) or int(value) < minimum:
        raise ValueError(f"{name} must be an integer >= {minimum}, got {value!r}")
    return int(value)


def _check_fraction(name: str, value: float) -> float:
    if not 0 <= value < 1:
        raise ValueError(f"{name} must be in [0, 1), got {value!r}")
    return float(value)
