"""BaseViewTransformer: fits and applies one transformer per view.

A subclass says which view gets which transformer, and in which container the outputs are.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from typing import Any, Self

import narwhals as nw
import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.preprocessing import KernelCenterer
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from consilience._parameters import validate_parameters
from consilience._warnings import warn_user
from consilience.views import _storage as storage
from consilience.views._data import MultiViewData
from consilience.views._index import check_aligned
from consilience.views._input import read_input
from consilience.views._output import expand_rows
from consilience.views._pairwise import PAIRWISE, check_pairwise

__all__ = ["BaseViewTransformer"]

UNCHANGED = (None, "passthrough", "drop")  # instead of a transformer; None: a view never seen


class BaseViewTransformer(TransformerMixin, BaseEstimator, metaclass=ABCMeta):
    """Base class of Pipeline steps that transform each view by itself."""

    _parameter_constraints: dict[str, list[Any]]

    def __init_subclass__(cls, **options: Any) -> None:
        # scikit-learn would convert the container of all views to a single dataframe
        super().__init_subclass__(**{"auto_wrap_output_keys": None, **options})

    @abstractmethod
    def _make_transformers(self, data: MultiViewData) -> dict[str, Any]:
        """Return an unfitted transformer, "passthrough" or "drop" for every view."""

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
            if transformer in UNCHANGED or not present.any():
                outputs[name] = None
            else:
                values = self._values(data.select([name])[present], name)
                outputs[name] = _apply(transformer.transform, values, name)
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
        self._output_shapes: dict[str, tuple[int, ...]] = {}
        outputs: dict[str, Any] = {}
        for v, (name, transformer) in enumerate(transformers.items()):
            present = data.present[:, v]
            self._output_shapes[name] = storage.sample_shape(data._views[name])
            if transformer in UNCHANGED or not present.any():
                is_dropped = transformer == "drop"
                self.transformers_[name] = transformer if present.any() or is_dropped else None
                outputs[name] = None
                if not is_dropped:
                    _warn_if_unseen(name, present)
                continue
            part = data.select([name])[present]
            is_pairwise = True if isinstance(transformer, KernelCenterer) else None
            check_pairwise(transformer, data.kinds[name], name, takes=is_pairwise)
            if data.kinds[name] in PAIRWISE:
                self._references[name] = part.reference()
            self.transformers_[name] = clone(transformer)
            labels = None if y is None else y[present]
            fit_transform = self.transformers_[name].fit_transform
            outputs[name] = _apply(fit_transform, self._values(part, name), name, labels)
            self._output_shapes[name] = storage.sample_shape(outputs[name])
        return self._assemble(data, outputs)

    def _values(self, data: MultiViewData, name: str) -> Any:
        if name in self._references:
            return data.against(name, self._references[name])
        return _documents_for(self.transformers_[name], data[name])

    def _assemble(self, data: MultiViewData, outputs: dict[str, Any]) -> MultiViewData:
        kept = [name for name in outputs if self.transformers_[name] != "drop"]
        if not kept:
            raise ValueError(f"all views are dropped: {storage.format_list(outputs)}")
        views: dict[str, Any] = {}
        kinds, column_ids, is_present = data.kinds, {}, data.present.copy()
        for v, name in enumerate(data.view_names):
            transformer = self.transformers_[name]
            if transformer == "passthrough":
                views[name] = self._to_container(data, name, data[name])
                if kinds[name] in PAIRWISE:
                    column_ids[name] = data.column_ids[name]
                continue
            if isinstance(transformer, KernelCenterer):
                column_ids[name] = self._references[name].ids
            else:
                kinds[name] = "features"
            if transformer == "drop":
                continue
            if outputs[name] is None:
                # no row to transform, or none to learn from: missing in every row
                views[name] = np.full((len(data), *self._output_shapes[name]), np.nan)
                is_present[:, v] = False
            else:
                views[name] = expand_rows(outputs[name], data.present[:, v])
            views[name] = self._to_container(data, name, views[name])
        out = MultiViewData(
            views,
            present=is_present[:, [data.view_names.index(name) for name in kept]],
            sample_ids=data.sample_ids,
            kinds={name: kinds[name] for name in kept},
            column_ids=column_ids,
        )
        return data._replace(out._views, out.kinds, out.present)._with_column_names({})

    def _to_container(self, data: MultiViewData, name: str, output: Any) -> Any:
        """Return the output of a view, for all rows, in the container that is promised."""
        return output

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


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


def _apply(method: Callable[..., Any], X: Any, name: str, *labels: Any) -> Any:
    """Call a method of a transformer; an error about the number of dimensions names the view."""
    try:
        return method(X, *labels)
    except ValueError as error:
        if not storage.is_tensor(X):
            raise
        transformer = type(getattr(method, "__self__", method)).__name__
        raise ValueError(
            f"view {name!r} of shape {X.shape} cannot be transformed by {transformer} ({error}); "
            "if it requires two dimensions, flatten the view first, e.g. with "
            f"make_pipeline(FunctionTransformer(flatten), {transformer}()) and "
            "consilience.views.flatten"
        ) from error
