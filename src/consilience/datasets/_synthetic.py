"""Random multi-view problems with views of known strength."""

from __future__ import annotations

import numbers

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from consilience.views import MultiViewData

__all__ = ["make_multiview_classification"]


def make_multiview_classification(
    n_samples=200,
    *,
    n_views=3,
    n_features=10,
    n_classes=2,
    strength=1.0,
    redundancy=0.5,
    label_noise=0.0,
    missing_rate=0.0,
    sparsity=0.0,
    class_weights=None,
    random_state=None,
):
    """Draw a multi-view classification problem.

    Each class has a centre in a latent space; a sample's latent position scatters around it, partly
    in common for all views and partly for each view alone. A view shows its own linear image
    of its latent position, in which the centres are ``strength`` apart, plus noise.

    Parameters
    ----------
    n_samples : int, default=200
        Number of samples.
    n_views : int, default=3
        Number of views.
    n_features : int or list of int, default=10
        Width of all views, or of each.
    n_classes : int, default=2
        Number of classes.
    strength : float or list of float, default=1.0
        How far the classes are apart in a view, in standard deviations; 0 is a view of noise.
    redundancy : float in [0, 1], default=0.5
        Share of the scatter that all views have in common: at 1 the views err on the same samples
        and add little to each other, at 0 they err independently.
    label_noise : float in [0, 1), default=0.0
        Share of samples whose label is replaced by another one.
    missing_rate : float in [0, 1) or list of float, default=0.0
        Share of samples that lack a view; every sample keeps at least one.
    sparsity : float in [0, 1) or list of float, default=0.0
        Share of zeros; a view with any is non-negative and stored as CSR.
    class_weights : list of float, default=None
        Share of each class; None is equal shares.
    random_state : int, RandomState or None, default=None
        Seed.

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
    n_samples, n_views = _whole("n_samples", n_samples, 1), _whole("n_views", n_views, 1)
    n_classes = _whole("n_classes", n_classes, 2)
    widths = [_whole("n_features", w, 1) for w in _per_view("n_features", n_features, n_views)]
    view_weights = [float(s) for s in _per_view("strength", strength, n_views)]
    rates = [_share("missing_rate", r) for r in _per_view("missing_rate", missing_rate, n_views)]
    zeros = [_share("sparsity", s) for s in _per_view("sparsity", sparsity, n_views)]
    if not 0 <= redundancy <= 1:
        raise ValueError(f"redundancy must lie in [0, 1], got {redundancy}")
    rng = check_random_state(random_state)
    y = _draw_labels(rng, n_samples, n_classes, class_weights)
    latent = max(2, n_classes)
    centres = np.eye(n_classes, latent) / np.sqrt(2)  # distance 1 between any two
    common = rng.standard_normal((n_samples, latent))
    views = {}
    for v, (width, factor, share) in enumerate(zip(widths, view_weights, zeros, strict=True)):
        own = rng.standard_normal((n_samples, latent))
        scatter = np.sqrt(redundancy) * common + np.sqrt(1 - redundancy) * own
        image = np.linalg.qr(rng.standard_normal((max(width, latent), latent)))[0][:width]
        X = (factor * centres[y] + scatter) @ image.T
        X += 0.1 * rng.standard_normal(X.shape)
        views[f"view{v}"] = _sparsify(X, share) if share else X
    y = _flip_labels(rng, y, n_classes, _share("label_noise", label_noise))
    return MultiViewData(views, present=_draw_present(rng, n_samples, rates)), y


def _draw_labels(rng, n_samples, n_classes, weights):
    shares = np.full(n_classes, 1 / n_classes) if weights is None else np.asarray(weights, float)
    if shares.shape != (n_classes,) or (shares <= 0).any():
        raise ValueError(f"class_weights must be {n_classes} positive numbers, got {weights!r}")
    bounds = np.cumsum(shares / shares.sum())
    bounds[-1] = 1.0
    y = np.searchsorted(bounds, (np.arange(n_samples) + 0.5) / n_samples)
    return rng.permutation(y)


def _flip_labels(rng, y, n_classes, rate):
    flipped = rng.random_sample(len(y)) < rate
    shift = rng.randint(1, n_classes, size=len(y))
    return np.where(flipped, (y + shift) % n_classes, y)


def _draw_present(rng, n_samples, rates):
    present = rng.random_sample((n_samples, len(rates))) >= rates
    kept = rng.randint(len(rates), size=n_samples)
    empty = ~present.any(axis=1)
    present[empty, kept[empty]] = True
    return present


def _sparsify(X, share):
    """Keep what exceeds each column's quantile, so that ``share`` of the values are zero."""
    return sp.csr_array(np.maximum(X - np.quantile(X, share, axis=0), 0.0))


def _per_view(name, value, n_views):
    if isinstance(value, numbers.Real):
        return [value] * n_views
    values = list(value)
    if len(values) != n_views:
        raise ValueError(f"{name} has {len(values)} entries for {n_views} views")
    return values


def _whole(name, value, least):
    if not isinstance(value, numbers.Integral) or value < least:
        raise ValueError(f"{name} must be a whole number >= {least}, got {value!r}")
    return int(value)


def _share(name, value):
    if not 0 <= value < 1:
        raise ValueError(f"{name} must lie in [0, 1), got {value!r}")
    return float(value)
