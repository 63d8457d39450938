"""Random multi-view problems in which it is known which features carry information."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import Bunch, check_random_state

from consilience.datasets._synthetic import _check_fraction, _check_integer, _flip_labels
from consilience.views import MultiViewData

__all__ = ["make_multiview_biomarkers"]


def make_multiview_biomarkers(
    n_samples: int = 100,
    *,
    n_features: Sequence[int] = (50, 200),
    n_informative: int = 10,
    n_classes: int = 2,
    effect: float = 1.0,
    block_size: int = 1,
    block_correlation: float = 0.7,
    n_copies: int = 0,
    n_interactions: int = 0,
    label_noise: float = 0.0,
    random_state: Any = None,
) -> Bunch:
    """Draw a problem in which few features of each view depend on the class.

    All features are normal with variance 1 within a class. The informative ones are spread evenly
    over the views, and their class means differ by ``effect`` on average. They may have correlated
    neighbours (as many blocks of features without information are correlated likewise), noisy
    copies in another view, and be replaced by pairs that only tell the class together.

    Parameters
    ----------
    n_samples : int, default=100
        Number of samples.
    n_features : list of int, default=(50, 200)
        Number of columns of each view.
    n_informative : int, default=10
        Number of features that depend on the class by themselves.
    n_classes : int, default=2
        Number of classes, of equal size.
    effect : float, default=1.0
        Root mean square difference of the class means of an informative feature, in standard
        deviations.
    block_size : int, default=1
        Number of features in a block: an informative one and neighbours that are correlated with
        it. There are as many correlated blocks without information.
    block_correlation : float in [0, 1), default=0.7
        Correlation of a feature with its neighbours within the classes.
    n_copies : int, default=0
        Number of informative features that have a copy in another view, with a tenth of the
        variance as noise.
    n_interactions : int, default=0
        Number of pairs of features, half of ``n_informative`` at most, whose product is shifted by
        the class but neither of them alone; they take the place of informative features.
    label_noise : float in [0, 1), default=0.0
        Fraction of samples whose label is replaced by another one.
    random_state : int, RandomState or None, default=None
        Random seed.

    Returns
    -------
    Bunch
        ``data`` (MultiViewData, views ``view0``, ``view1``, ...), ``target``, and ``informative``,
        a dict of view -> bool array of the features that carry information: the informative ones,
        their neighbours of correlation 0.5 or more, their copies, and the members of pairs.

    Examples
    --------
    >>> from consilience.datasets import make_multiview_biomarkers
    >>> problem = make_multiview_biomarkers(60, n_features=[30, 100], block_size=3, random_state=0)
    >>> problem.data.widths
    {'view0': 30, 'view1': 100}
    >>> {view: int(mask.sum()) for view, mask in problem.informative.items()}
    {'view0': 15, 'view1': 15}
    """
    n_samples = _check_integer("n_samples", n_samples, 2)
    n_classes = _check_integer("n_classes", n_classes, 2)
    block_size = _check_integer("block_size", block_size, 1)
    widths = [_check_integer("n_features", width, 1) for width in n_features]
    n_single = _check_integer("n_informative", n_informative, 1) - 2 * n_interactions
    if n_interactions < 0 or n_single < 0:
        raise ValueError(
            f"n_interactions must be between 0 and half of n_informative={n_informative}, got "
            f"{n_interactions}"
        )
    correlation = _check_fraction("block_correlation", block_correlation)
    rng = check_random_state(random_state)
    y = rng.permutation(np.arange(n_samples) % n_classes)
    views = [rng.standard_normal((n_samples, width)) for width in widths]
    free = _Places(rng, widths)
    informative = [np.zeros(width, dtype=bool) for width in widths]
    originals = []
    for number in range(n_single):
        v = number % len(widths)
        columns = free.take(v, block_size)
        X = _draw_block(rng, n_samples, len(columns), correlation)
        shifts = _class_shifts(rng, n_classes, effect)[y]
        X += np.outer(shifts, _loadings(len(columns), correlation))
        views[v][:, columns] = X
        informative[v][columns if correlation >= 0.5 else columns[:1]] = True
        originals.append((v, columns[0]))
        if block_size > 1:
            null_columns = free.take(v, block_size, optional=True)
            views[v][:, null_columns] = _draw_block(rng, n_samples, len(null_columns), correlation)
    _add_pairs(rng, views, informative, free, y, n_interactions, n_classes, effect)
    _add_copies(rng, views, informative, free, originals, n_copies)
    y = _flip_labels(rng, y, n_classes, _check_fraction("label_noise", label_noise))
    return Bunch(
        data=MultiViewData({f"view{v}": X for v, X in enumerate(views)}),
        target=y,
        informative={f"view{v}": mask for v, mask in enumerate(informative)},
    )


class _Places:
    """Columns of the views in random order, each given away once."""

    def __init__(self, rng: np.random.RandomState, widths: list[int]) -> None:
        self.columns = [rng.permutation(width) for width in widths]

    def take(self, v: int, size: int, optional: bool = False) -> np.ndarray:
        taken, self.columns[v] = self.columns[v][:size], self.columns[v][size:]
        if len(taken) < size and not optional:
            raise ValueError(
                f"view {v} of n_features is too narrow for its informative features and neighbours"
            )
        return taken


def _draw_block(rng: np.random.RandomState, n: int, size: int, correlation: float) -> np.ndarray:
    """Columns of variance 1, of which the first has this correlation with each of the others."""
    X = rng.standard_normal((n, size))
    X[:, 1:] = correlation * X[:, :1] + np.sqrt(1 - correlation**2) * X[:, 1:]
    return X


def _loadings(size: int, correlation: float) -> np.ndarray:
    """How much of the first column's shift each column of a block has."""
    return np.where(np.arange(size) == 0, 1.0, correlation)


def _class_shifts(rng: np.random.RandomState, n_classes: int, effect: float) -> np.ndarray:
    """Class means whose differences have the root mean square ``effect``."""
    means = rng.standard_normal(n_classes)
    means -= means.mean()
    spread = np.sqrt(2 * n_classes / (n_classes - 1) * (means**2).mean())
    return effect * means / spread


def _add_pairs(
    rng: np.random.RandomState,
    views: list[np.ndarray],
    informative: list[np.ndarray],
    free: _Places,
    y: np.ndarray,
    n_pairs: int,
    n_classes: int,
    effect: float,
) -> None:
    """Pairs a, b = s·a' with a sign s that the class decides with a probability by ``effect``."""
    for pair in range(n_pairs):
        v = pair % len(views)
        first, second = free.take(v, 2)
        a, b = np.abs(rng.standard_normal((2, len(y))))
        sign_of_class = rng.permutation(np.where(np.arange(n_classes) % 2, 1.0, -1.0))
        agrees = rng.random_sample(len(y)) < (1 + np.tanh(effect)) / 2
        product_sign = sign_of_class[y] * np.where(agrees, 1.0, -1.0)
        sign = np.where(rng.random_sample(len(y)) < 0.5, 1.0, -1.0)
        views[v][:, first], views[v][:, second] = sign * a, sign * product_sign * b
        informative[v][[first, second]] = True


def _add_copies(
    rng: np.random.RandomState,
    views: list[np.ndarray],
    informative: list[np.ndarray],
    free: _Places,
    originals: list[tuple[int, int]],
    n_copies: int,
) -> None:
    """Copies of the first informative features in the view after their own."""
    if n_copies > len(originals):
        raise ValueError(
            f"n_copies={n_copies} is more than the {len(originals)} informative features"
        )
    for v, column in originals[:n_copies]:
        other = (v + 1) % len(views)
        (place,) = free.take(other, 1)
        noise = rng.standard_normal(len(views[v]))
        views[other][:, place] = np.sqrt(0.9) * views[v][:, column] + np.sqrt(0.1) * noise
        informative[other][place] = True
