"""Early fusion: one classifier on the concatenation of all views."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import get_tags

from consilience._base import MultiViewClassifier
from consilience._compat import Progress
from consilience._estimators import check_classifier, fit_weighted, with_seeds
from consilience._model_types import model_type
from consilience._parameters import CLASS_WEIGHT, RANDOM_STATE, VIEWS, HasMethods
from consilience.distributed._blocks import BlockTraining
from consilience.distributed._mixin import BlockwiseFitMixin
from consilience.fusion._block_learners import (
    check_learns_from_blocks,
    look_at_views,
    number_rows,
)
from consilience.fusion._from_blocks import all_columns, example_of, fit_on_all_columns
from consilience.fusion._members import (
    best_method,
    block_shares,
    check_known_classes,
    class_scores,
    use_default,
)
from consilience.views import MultiViewData
from consilience.views._storage import fill_rows

__all__ = ["EarlyFusionClassifier"]

# density below which a concatenation with sparse views is kept sparse
SPARSE_BELOW = 0.3


def concatenate(data: MultiViewData, fill: dict[str, np.ndarray], sparse: bool) -> Any:
    """Concatenate the views; rows of missing views are imputed with ``fill[view]`` (one row)."""
    blocks = []
    for v, (name, view) in enumerate(data.items()):
        missing = ~data.present[:, v]
        blocks.append(fill_rows(view, missing, fill[name]) if missing.any() else view)
    if sparse:
        return sp.hstack([sp.csr_array(block) for block in blocks], format="csr")
    return np.hstack([block.toarray() if sp.issparse(block) else block for block in blocks])


def view_means(data: MultiViewData, weight: np.ndarray) -> dict[str, np.ndarray]:
    """Weighted column means of each view over the rows that have it (zeros if there are none)."""
    means = {}
    for v, (name, view) in enumerate(data.items()):
        rows = np.flatnonzero(data.present[:, v])
        share = weight[rows] / weight[rows].sum() if len(rows) else weight[rows]
        mean = np.asarray(share @ view[rows], dtype=np.float64)
        means[name] = (mean if np.isfinite(mean).all() else nan_mean(view[rows], share))[None, :]
    return means


def nan_mean(X: Any, weight: np.ndarray) -> np.ndarray:
    """Weighted column means over the values that are not NaN (zero if there are none)."""
    X = X.toarray() if sp.issparse(X) else X
    is_known = ~np.isnan(X)
    totals = weight @ is_known
    return weight @ np.where(is_known, X, 0.0) / np.where(totals > 0, totals, 1.0)


def concatenates_sparse(data: MultiViewData, estimator: Any) -> bool:
    """Return True for sparse data of low density if the classifier supports sparse matrices.

    Views that are missing in all rows are ignored.
    """
    views = [view for v, (_, view) in enumerate(data.items()) if data.present[:, v].any()]
    if not any(sp.issparse(view) for view in views):
        return False
    n_stored = sum(view.nnz if sp.issparse(view) else view.size for view in views)
    n_values = len(data) * sum(view.shape[1] for view in views)
    return n_stored < SPARSE_BELOW * n_values and (
        estimator is None or get_tags(estimator).input_tags.sparse
    )


@model_type("fusion.EarlyFusionClassifier")
class EarlyFusionClassifier(BlockwiseFitMixin, MultiViewClassifier):
    """One classifier on the concatenation of all views.

    Missing views are imputed with their training means, or left as NaN if the classifier supports
    NaN. The concatenation is sparse if some views are sparse, its density is below 30 % and the
    classifier supports sparse matrices.

    Parameters
    ----------
    estimator : classifier, default=None
        Any scikit-learn classifier; None means a logistic regression on scaled columns. Single
        values may be NaN if it supports NaN.
    views : None, list or dict, default=None
        Groups of columns if X is a single matrix, or names of the views to use.
    class_weight : "balanced", dict or None, default=None
        Weights of the classes, multiplied into the sample weights.
    random_state : int, RandomState or None, default=None
        Seed of the classifier, used where its own ``random_state`` is None.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    view_weights_ : ndarray of shape (n_views,)
        Share of each view in the coefficients or feature importances; AttributeError if the
        classifier has neither.
    view_names_ : list of str
        Names of the views.
    n_views_in_ : int
        Number of views.
    n_features_in_ : int
        Total number of columns of all views.
    view_feature_names_in_ : dict of view -> ndarray of str
        Names of the columns, of the views that have names.

    See Also
    --------
    LateFusionClassifier : One classifier per view.

    Examples
    --------
    >>> from consilience.datasets import load_digits_views
    >>> from consilience.fusion import EarlyFusionClassifier
    >>> digits = load_digits_views()
    >>> model = EarlyFusionClassifier().fit(digits.data[:500], digits.target[:500])
    >>> model.score(digits.data[500:], digits.target[500:])
    0.9...
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "views": VIEWS,
        "class_weight": CLASS_WEIGHT,
        "random_state": RANDOM_STATE,
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        views: Any = None,
        class_weight: Any = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.views = views
        self.class_weight = class_weight
        self.random_state = random_state

    def _fit(self, data: MultiViewData, codes: np.ndarray, weight: np.ndarray) -> None:
        if self.estimator is not None:
            check_classifier(self.estimator, "all views")
        self._sparse = concatenates_sparse(data, self.estimator)
        example = sp.csr_array((1, 1)) if self._sparse else np.zeros((1, 1))
        estimator = with_seeds({"": use_default(self.estimator, example)}, self.random_state)[""]
        self._fill = view_means(data, weight)
        # scikit-learn's trees support NaN in dense matrices only
        if get_tags(estimator).input_tags.allow_nan and not self._sparse:
            self._fill = {name: np.full_like(row, np.nan) for name, row in self._fill.items()}
        X = concatenate(data, self._fill, self._sparse)
        with Progress(self, n_tasks=0):
            self.estimator_ = fit_weighted(estimator, X, self.classes_[codes], weight, "all views")
        check_known_classes(self.estimator_, self.classes_, "all views")

    def _check_blockwise_parameters(self) -> None:
        check_learns_from_blocks(self.estimator, type(self).__name__, "all views")

    def _fit_blocks(self, training: BlockTraining) -> None:
        n_rows, starts = training.n, training.starts
        blocks = training.map_and_release(number_rows, each=starts)
        overview = look_at_views(blocks, self.view_names_, len(self.classes_))
        columns = all_columns(self.estimator, overview, SPARSE_BELOW)
        assert columns.fills is not None
        self._sparse, self._fill = columns.sparse, columns.fills
        estimator = use_default(self.estimator, example_of(columns.sparse))
        estimator = with_seeds({"": estimator}, self.random_state)[""]
        with Progress(self, n_tasks=0):
            self.estimator_ = fit_on_all_columns(blocks, n_rows, estimator, columns, self.classes_)

    def _scores(self, data: MultiViewData) -> np.ndarray:
        return self._output(data, best_method(self.estimator_))

    def _output(self, data: MultiViewData, method: str) -> np.ndarray:
        X = concatenate(data, self._fill, self._sparse)
        return class_scores(self.estimator_, X, method, self.classes_)

    def _probabilities(self, data: MultiViewData) -> np.ndarray:
        return self._output(data, "predict_proba")

    def _has_probabilities(self) -> bool:
        estimator = getattr(self, "estimator_", self.estimator)
        return estimator is None or hasattr(estimator, "predict_proba")

    @property
    def view_weights_(self) -> np.ndarray:
        """Share of each view in the coefficients or feature importances."""
        shares = None
        if hasattr(self, "estimator_"):
            shares = block_shares(self.estimator_, list(self._layout.widths))
        if shares is None:
            raise AttributeError(
                "view_weights_ requires a fitted classifier with coef_ or feature_importances_ "
                "over the columns of the views"
            )
        return shares
