"""ViewTransformer: one transformer per view, as a Pipeline step that keeps the views separate.

``BaseViewTransformer`` fits and applies the transformers; a subclass says which view gets which.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Any, Self

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.preprocessing import KernelCenterer
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from consilience._model_types import model_type
from consilience._parameters import (
    VIEWS,
    HasMethods,
    PerView,
    StrOptions,
    validate_parameters,
)
from consilience._warnings import warn_user
from consilience.views import _storage as storage
from consilience.views._data import MultiViewData
from consilience.views._index import check_aligned
from consilience.views._input import read_input
from consilience.views._pairwise import PAIRWISE, check_pairwise
from consilience.views._params import PerViewParams, per_view

__all__ = ["BaseViewTransformer", "ViewTransformer"]


class BaseViewTransformer(TransformerMixin, BaseEstimator, metaclass=ABCMeta):
    """Base class of Pipeline steps that transform each view by itself."""

    _parameter_constraints: dict[str, list[Any]]

    @abstractmethod
    def _make_transformers(self, data: MultiViewData) -> dict[str, Any]:
        """Return an unfitted transformer, or "passthrough", for every view."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the transformers.

        Parameters
        ----------
        X : MultiViewData, matrix or any multi-view input
            Training samples.
        y : array of shape (n_samples,), optional
            Labels, for transformers that use them.

        Returns
        -------
        self
        """
        self._fit_transform(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> MultiViewData:
        """Fit the transformers and transform the training samples.

        Parameters
        ----------
        X : MultiViewData, matrix or any multi-view input
            Training samples.
        y : array of shape (n_samples,), optional
            Labels, for transformers that use them.

        Returns
        -------
        MultiViewData
        """
        return self._fit_transform(X, y)

    def transform(self, X: Any) -> MultiViewData:
        """Transform every view.

        Parameters
        ----------
        X : MultiViewData, matrix or any multi-view input
            Samples with the views seen in fit.

        Returns
        -------
        MultiViewData
        """
        check_is_fitted(self)
        data = read_input(self, X, reset=False, numeric=False)
        outputs: dict[str, Any] = {}
        for v, name in enumerate(data.view_names):
            transformer, present = self.transformers_[name], data.present[:, v]
            if transformer in (None, "passthrough") or not present.any():
                outputs[name] = None
            else:
                part = data.select([name])[present]
                outputs[name] = transformer.transform(self._values(part, name))
        return self._assemble(data, outputs)

    def _fit_transform(self, X: Any, y: Any) -> MultiViewData:
        validate_parameters(self)
        data = read_input(self, X, reset=True, numeric=False)
        check_aligned(data, y=y)
        y = None if y is None else np.asarray(y)
        if y is not None and len(y) != len(data):
            raise ValueError(f"X has {len(data)} samples, but y has {len(y)}")
        transformers = self._make_transformers(data)
        self.transformers_: dict[str, Any] = {}
        self._references: dict[str, Any] = {}
        self._widths: dict[str, int] = {}
        outputs: dict[str, Any] = {}
        for v, (name, transformer) in enumerate(transformers.items()):
            present = data.present[:, v]
            self._widths[name] = data.widths[name]
            if transformer == "passthrough" or not present.any():
                self.transformers_[name] = transformer if present.any() else None
                outputs[name] = None
                _warn_if_unseen(name, present)
                continue
            part = data.select([name])[present]
            is_pairwise = True if isinstance(transformer, KernelCenterer) else None
            check_pairwise(transformer, data.kinds[name], name, takes=is_pairwise)
            if data.kinds[name] in PAIRWISE:
                self._references[name] = part.reference()
            self.transformers_[name] = clone(transformer)
            labels = None if y is None else y[present]
            outputs[name] = self.transformers_[name].fit_transform(self._values(part, name), labels)
            self._widths[name] = outputs[name].shape[1]
        return self._assemble(data, outputs)

    def _values(self, data: MultiViewData, name: str) -> Any:
        if name in self._references:
            return data.against(name, self._references[name])
        return _documents_for(self.transformers_[name], data[name])

    def _assemble(self, data: MultiViewData, outputs: dict[str, Any]) -> MultiViewData:
        views: dict[str, Any] = {}
        kinds, column_ids, is_present = data.kinds, {}, data.present.copy()
        for v, (name, output) in enumerate(outputs.items()):
            transformer = self.transformers_[name]
            if transformer == "passthrough":
                views[name] = data[name]
                if kinds[name] in PAIRWISE:
                    column_ids[name] = data.column_ids[name]
                continue
            if isinstance(transformer, KernelCenterer):
                column_ids[name] = self._references[name].ids
            else:
                kinds[name] = "features"
            present = data.present[:, v]
            if output is None:
                # no row to transform, or none to learn from: missing in every row
                views[name] = np.full((len(data), self._widths[name]), np.nan)
                is_present[:, v] = False
            else:
                views[name] = output if present.all() else _expand(output, present)
        out = MultiViewData(
            views,
            present=is_present,
            sample_ids=data.sample_ids,
            kinds=kinds,
            column_ids=column_ids,
        )
        return data._replace(out._views, out.kinds, out.present)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


@model_type("views.ViewTransformer")
class ViewTransformer(BaseViewTransformer, PerViewParams):
    """Apply a transformer to every view, or a different one to each.

    Each transformer is fitted only on the rows where its view is present; missing rows stay
    missing.

    Parameters
    ----------
    transformer : transformer, "passthrough", or dict of view -> these
        A single transformer is cloned for every view. A dict must have an entry for every view;
        nested parameters can be set as ``view__param``.
    views : None, list or dict, default=None
        Groups of columns if X is a single matrix, or names of the views to use.

    Attributes
    ----------
    transformers_ : dict of view -> fitted transformer
        ``"passthrough"`` for views that are not transformed.
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
    sklearn.compose.ColumnTransformer : Transforms groups of columns and concatenates the results.

    Examples
    --------
    >>> from sklearn.decomposition import PCA
    >>> from sklearn.pipeline import make_pipeline
    >>> from consilience import ViewTransformer
    >>> from consilience.datasets import load_digits_views
    >>> from consilience.fusion import LateFusionClassifier
    >>> digits = load_digits_views()
    >>> model = make_pipeline(ViewTransformer(PCA(5)), LateFusionClassifier())
    >>> model = model.fit(digits.data[:500], digits.target[:500])
    >>> model.score(digits.data[500:], digits.target[500:])
    0.8...
    """

    _per_view = "transformer"

    _parameter_constraints: dict[str, list[Any]] = {
        "transformer": [PerView(HasMethods(["fit", "transform"]), StrOptions({"passthrough"}))],
        "views": VIEWS,
    }

    def __init__(self, transformer: Any, *, views: Any = None) -> None:
        self.transformer = transformer
        self.views = views

    def _make_transformers(self, data: MultiViewData) -> dict[str, Any]:
        return per_view(self.transformer, data.view_names, "transformer")


def _warn_if_unseen(name: str, present: np.ndarray) -> None:
    if not present.any():
        warn_user(
            f"view {name!r} is missing in every training row and will be missing in new data, too"
        )


def _documents_for(transformer: Any, view: Any) -> Any:
    """Convert documents to a 1-D array for vectorisers, to one column for other transformers."""
    tags = get_tags(transformer).input_tags
    if tags.string and not tags.two_d_array:
        if storage.is_dataframe(view) and storage.n_columns(view) == 1:
            return nw.from_native(view, eager_only=True)[:, 0].to_numpy()
        return view
    return view.reshape(-1, 1) if storage.is_documents(view) else view


def _expand(output: Any, present: np.ndarray) -> Any:
    """Expand the rows of present samples to all rows; missing ones are NaN (sparse: empty)."""
    if storage.is_dataframe(output):
        # another row is a placeholder for missing ones, whose values are never read
        return storage.take_rows(output, np.maximum(np.cumsum(present) - 1, 0))
    if sp.issparse(output):
        output = output.tocsr()
        ends = output.indptr[np.concatenate([[0], np.cumsum(present)])]
        shape = len(present), output.shape[1]
        # the index type is kept, because scikit-learn's trees do not support 64-bit indices
        return type(output)((output.data, output.indices, ends), shape=shape)
    expanded = np.full(
        (len(present), output.shape[1]), np.nan, dtype=np.result_type(output.dtype, np.float32)
    )
    expanded[present] = output
    return expanded
