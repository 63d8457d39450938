"""ViewFeatureSelector: the most important features of each view, as a step of a pipeline."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from consilience._model_types import model_type
from consilience._parameters import CV, VIEWS, HasMethods, Number, validate_parameters
from consilience._warnings import warn_user
from consilience.inspection._feature_importance import feature_importance, q_values
from consilience.inspection._feature_table import FeatureImportance
from consilience.views import MultiViewData
from consilience.views import _storage as storage
from consilience.views._base_transform import BaseViewTransformer
from consilience.views._input import read_input

__all__ = ["ViewFeatureSelector"]


@model_type("inspection.ColumnSelector")
class ColumnSelector(SelectorMixin, BaseEstimator):
    """Selects known columns of one view."""

    def __init__(self, support: Any) -> None:
        self.support = support

    def fit(self, X: Any, y: Any = None) -> ColumnSelector:
        """Remember the number of columns."""
        self.n_features_in_ = storage.n_columns(X)
        names = storage.column_names(X)
        if names is not None and all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.asarray(names, dtype=object)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Select the columns."""
        return self.fit(X, y).transform(X)

    def transform(self, X: Any) -> Any:
        """Select the columns; dataframes and sparse matrices stay what they are."""
        return storage.take_columns(X, np.flatnonzero(self.support))

    def _get_support_mask(self) -> np.ndarray:
        return np.asarray(self.support)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_in_")


@model_type("inspection.ViewFeatureSelector")
class ViewFeatureSelector(BaseViewTransformer):
    """Keep the most important features of each view.

    The importance is that of ``feature_importance``, so that features are judged by rows on which
    the models were not fitted. Either the k most important features of each view are kept, or those
    at a false discovery rate within the view; a view none of whose features is kept is dropped.

    Parameters
    ----------
    estimator : classifier, default=None
        Classifier whose contributions are judged; None means ``ConsilienceClassifier``.
    k : int or None, default=20
        Number of features of each view; None if ``fdr`` is given.
    fdr : float or None, default=None
        False discovery rate within each view, in place of ``k``.
    cv : int, splitter or iterable of splits, default=5
        Folds.
    views : None, list or dict, default=None
        Groups of columns if X is a single matrix, or names of the views to use.

    Attributes
    ----------
    support_ : dict of view -> ndarray of bool
        Which features are kept.
    importances_ : dict of view -> ndarray of float
        Importance of all features.
    q_values_ : dict of view -> ndarray of float
        Smallest false discovery rate within the view at which each feature is selected.
    transformers_ : dict of view -> transformer or "drop"
        Selectors of the views.
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
    select_features : Selection over all views, with its stability.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from consilience.datasets import make_multiview_biomarkers
    >>> from consilience.fusion import LateFusionClassifier
    >>> from consilience.inspection import ViewFeatureSelector
    >>> problem = make_multiview_biomarkers(150, n_features=[50, 300], random_state=0)
    >>> selector = ViewFeatureSelector(LateFusionClassifier(), k=5)
    >>> selector.fit_transform(problem.data, problem.target).widths
    {'view0': 5, 'view1': 5}
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "k": [None, Number(Integral, 1, None, closed="left")],
        "fdr": [None, Number(Real, 0, 1, closed="neither")],
        "cv": CV,
        "views": VIEWS,
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        k: int | None = 20,
        fdr: float | None = None,
        cv: Any = 5,
        views: Any = None,
    ) -> None:
        self.estimator = estimator
        self.k = k
        self.fdr = fdr
        self.cv = cv
        self.views = views

    def _fit_transform(self, X: Any, y: Any) -> MultiViewData:
        validate_parameters(self)
        if self.k is None and self.fdr is None:
            raise ValueError("ViewFeatureSelector needs k, a number of features, or fdr, a rate")
        if y is None:
            raise ValueError(
                "ViewFeatureSelector requires y to be passed, but the target y is None"
            )
        data = read_input(self, X, reset=True, numeric=False)
        result = feature_importance(self._judge(), data, y, cv=self.cv)
        self._set_support(result, data)
        return super()._fit_transform(X, y)

    def _judge(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        from consilience._default import ConsilienceClassifier

        return ConsilienceClassifier(random_state=0)

    def _set_support(self, result: FeatureImportance, data: MultiViewData) -> None:
        self.support_, self.importances_, self.q_values_ = {}, {}, {}
        for name in data.view_names:
            own = result.take(result.view == name)
            self.importances_[name] = own.importance
            self.q_values_[name] = q_values(own.p_value)
            self.support_[name] = self._choose(own.importance, self.q_values_[name])
        if not any(support.any() for support in self.support_.values()):
            best = int(result.importance.argmax())
            first = int(np.flatnonzero(result.view == result.view[best])[0])
            warn_user(
                f"no feature is significant at fdr={self.fdr:g}; only the most important one, "
                f"{result.feature[best]!r} of view {result.view[best]!r}, is kept"
            )
            self.support_[result.view[best]][best - first] = True

    def _choose(self, importance: np.ndarray, q: np.ndarray) -> np.ndarray:
        if self.fdr is not None:
            return q <= self.fdr
        support = np.zeros(len(importance), dtype=bool)
        support[np.argsort(-importance, kind="stable")[: self.k]] = True
        return support

    def _make_transformers(self, data: MultiViewData) -> dict[str, Any]:
        return {
            name: ColumnSelector(support) if support.any() else "drop"
            for name, support in self.support_.items()
        }

    def get_support(self) -> dict[str, np.ndarray]:
        """Return the mask of the kept features of each view.

        Returns
        -------
        dict of view -> ndarray of bool
        """
        check_is_fitted(self)
        return dict(self.support_)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the kept features, each preceded by ``view__``.

        Parameters
        ----------
        input_features : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        names = []
        for view, support in self.support_.items():
            known = getattr(self, "view_feature_names_in_", {}).get(view)
            columns = [f"x{j}" for j in range(len(support))] if known is None else list(known)
            names += [f"{view}__{columns[j]}" for j in np.flatnonzero(support)]
        return np.asarray(names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
