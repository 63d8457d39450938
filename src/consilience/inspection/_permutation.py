"""Permutation importance of whole views.

L. Breiman, "Random forests", Machine Learning 45, 2001, with a view in the place of a column.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import Bunch, check_random_state

from consilience.inspection._scoring import Scorer
from consilience.views import MultiViewData
from consilience.views import _storage as storage

__all__ = ["view_permutation_importance"]


def shuffle_view(data: MultiViewData, view: str, rng: np.random.RandomState) -> MultiViewData:
    """The container with one view dealt anew among the samples that have it."""
    rows = np.arange(len(data))
    is_present = np.flatnonzero(data.present[:, data.view_names.index(view)])
    rows[is_present] = rng.permutation(is_present)
    views = dict(data.items())
    views[view] = storage.take_rows(views[view], rows)
    return MultiViewData(
        views,
        present=data.present,
        sample_ids=data.sample_ids,
        kinds=data.kinds,
        column_ids=data.column_ids,
    )


def view_permutation_importance(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    scoring: Any = None,
    n_repeats: int = 5,
    random_state: Any = None,
) -> Bunch:
    """How much the score falls when a view is shuffled among the samples.

    Columns of a view are shuffled together, so what they say together is lost, and nothing else;
    a sample that lacks the view goes on lacking it.

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
    n_repeats : int, default=5
        How often each view is shuffled.
    random_state : int, RandomState or None, default=None
        Seed of the shuffles.

    Returns
    -------
    Bunch
        ``importances`` (n_views, n_repeats), ``importances_mean``, ``importances_std``,
        ``view_names``, ``baseline_score``.

    See Also
    --------
    view_shapley : Shares the score out among the views.

    Examples
    --------
    >>> from consilience.datasets import load_digits_views
    >>> from consilience.fusion import LateFusionClassifier
    >>> from consilience.inspection import view_permutation_importance
    >>> data, y = load_digits_views(return_X_y=True)
    >>> model = LateFusionClassifier().fit(data[:900], y[:900])
    >>> found = view_permutation_importance(model, data[900:], y[900:], random_state=0)
    >>> dict(zip(found.view_names, found.importances_mean.round(1).tolist()))
    {'top_left': 0.1, 'top_right': 0.1, 'bottom_left': 0.1, 'bottom_right': 0.1}
    """
    if n_repeats < 1:
        raise ValueError(f"n_repeats must be at least 1, got {n_repeats}")
    score = Scorer(estimator, X, y, scoring)
    rng = check_random_state(random_state)
    baseline = score(score.data)
    importances = np.array(
        [
            [baseline - score(shuffle_view(score.data, view, rng)) for _ in range(n_repeats)]
            for view in score.data.view_names
        ]
    )
    return Bunch(
        importances=importances,
        importances_mean=importances.mean(axis=1),
        importances_std=importances.std(axis=1),
        view_names=list(score.data.view_names),
        baseline_score=baseline,
    )
