"""Synthetic omics tables.

Views are wide, columns are correlated in blocks, and few columns differ
between the classes: either through factors that all views share, as in the model behind DIABLO, or
through factors of each view's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import Bunch, check_random_state

from consilience.views import MultiViewData

__all__ = ["make_omics"]

BLOCK_COLUMNS = 20  # columns that share a factor of no consequence


def make_omics(
    n_samples: int = 200,
    *,
    n_features: Sequence[int] = (2000, 500, 200),
    n_classes: int = 3,
    n_informative: int = 20,
    strength: float = 1.0,
    shared: bool = True,
    random_state: Any = None,
) -> Bunch:
    """Draw wide tables of which few columns tell the classes apart.

    Parameters
    ----------
    n_samples : int, default=200
        Number of samples.
    n_features : sequence of int, default=(2000, 500, 200)
        Number of columns of each view.
    n_classes : int, default=3
        Number of classes.
    n_informative : int, default=20
        Number of columns of each view that depend on the class.
    strength : float, default=1.0
        Size of the class differences of the factors.
    shared : bool, default=True
        Whether all views depend on the same factors, or each on factors of its own.
    random_state : int, RandomState or None, default=None
        Random seed.

    Returns
    -------
    Bunch
        ``data`` (MultiViewData with views "omics0", "omics1", …) and ``target``.
    """
    rng = check_random_state(random_state)
    y = rng.permutation(np.arange(n_samples) % n_classes)
    n_factors = max(n_classes - 1, 1)
    centres = strength * rng.normal(size=(n_classes, n_factors))
    common = centres[y] + rng.normal(size=(n_samples, n_factors))
    views = {}
    for v, width in enumerate(n_features):
        own = centres[y] + rng.normal(size=(n_samples, n_factors))
        factors = common if shared else own
        blocks = rng.normal(size=(n_samples, -(-width // BLOCK_COLUMNS)))
        X = 0.7 * blocks[:, np.arange(width) // BLOCK_COLUMNS] + rng.normal(size=(n_samples, width))
        columns = rng.permutation(width)[:n_informative]
        X[:, columns] += factors @ rng.normal(size=(n_factors, len(columns)))
        views[f"omics{v}"] = X
    return Bunch(data=MultiViewData(views), target=y)
