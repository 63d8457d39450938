"""ViewTransformer: one transformer per view, as a Pipeline step that keeps the views separate."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Self

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.preprocessing import KernelCenterer
from sklearn.utils.validation import check_is_fitted

from consilience._model_types import model_type
from consilience._parameters import VIEWS, HasMethods, PerView, StrOptions
from consilience.views import _storage as storage
from consilience.views._base_transform import UNCHANGED, BaseViewTransformer
from consilience.views._data import MultiViewData
from consilience.views._output import (
    default_columns,
    input_columns,
    row_index,
    to_dataframe,
    with_index,
)
from consilience.views._pairwise import PAIRWISE
from consilience.views._params import PerViewParams, per_view

__all__ = ["ViewTransformer", "flatten"]

STEP = (HasMethods(["fit", "transform"]), StrOptions({"drop", "passthrough"}))


@model_type("views.ViewTransformer")
class ViewTransformer(BaseViewTransformer, PerViewParams):
    """Apply a transformer to every view, or a different one to each.

    Each transformer is fitted only on the rows where its view is present; missing rows stay
    missing. A dataframe gives a dataframe of the same library, provided that the transformer has
    names for its columns; ``set_output`` chooses another container for all views.

    Parameters
    ----------
    transformer : transformer, "passthrough", "drop", or dict of view -> these
        A single transformer is cloned for every view. In a dict, nested parameters can be set as
        ``view__param``. "passthrough" leaves a view unchanged, and "drop" leaves it out. Arrays of
        more than two dimensions (images, time series) are passed on with their shape.
    views : None, list or dict, default=None
        Groups of columns if X is a single matrix, or names of the views to use.
    remainder : transformer, "passthrough", "drop" or None, default=None
        What is done with the views that a dict does not list; None means that it must list all.

    Attributes
    ----------
    transformers_ : dict of view -> fitted transformer
        ``"passthrough"`` or ``"drop"`` for views that are not transformed.
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
    flatten : Function for views of more than two dimensions.

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

    Dataframes keep the names of their columns:

    >>> import pandas as pd
    >>> from sklearn.preprocessing import StandardScaler
    >>> blood = pd.DataFrame({"iron": [1.0, 3.0], "zinc": [4.0, 2.0]})
    >>> data = {"blood": blood, "age": pd.DataFrame({"years": [30, 50]}), "notes": blood}
    >>> step = ViewTransformer(
    ...     {"blood": StandardScaler(), "notes": "drop"}, remainder="passthrough"
    ... ).fit(data)
    >>> step.transform(data)["blood"]
       iron  zinc
    0  -1.0   1.0
    1   1.0  -1.0
    >>> step.get_feature_names_out().tolist()
    ['blood__iron', 'blood__zinc', 'age__years']
    """

    _per_view = "transformer"

    _parameter_constraints: dict[str, list[Any]] = {
        "transformer": [PerView(*STEP)],
        "views": VIEWS,
        "remainder": [*STEP, None],
    }

    def __init__(self, transformer: Any, *, views: Any = None, remainder: Any = None) -> None:
        self.transformer = transformer
        self.views = views
        self.remainder = remainder

    def _make_transformers(self, data: MultiViewData) -> dict[str, Any]:
        steps = self.transformer
        if isinstance(steps, Mapping) and self.remainder is not None:
            unlisted = [name for name in data.view_names if name not in steps]
            steps = {**steps, **dict.fromkeys(unlisted, self.remainder)}
        return per_view(steps, data.view_names, "transformer")

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose the container of each view in the output.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"} or None, default=None
            "default" returns each view as its transformer does; "pandas" and "polars" return
            dataframes, except for kernels, documents and arrays of more than two dimensions. None
            leaves the choice unchanged. Without any choice, dataframes give dataframes.

        Returns
        -------
        self
        """
        if transform not in (None, "default", "pandas", "polars"):
            raise ValueError(
                f"transform must be 'default', 'pandas', 'polars' or None, got {transform!r}"
            )
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}  # which clone copies
        return self

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the output columns of all views, each preceded by ``view__``.

        Parameters
        ----------
        input_features : array of str of shape (n_features,), optional
            Names of the input columns; by default those seen in fit, or ``x0``, ``x1``, ... in
            views without names.

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        columns_in = input_columns(self, input_features)
        names = []
        for view, transformer in self.transformers_.items():
            if transformer != "drop":
                columns = self._columns_out(view, columns_in[view])
                names += [f"{view}__{column}" for column in columns]
        return np.asarray(names, dtype=object)

    def _columns_out(self, view: str, columns_in: list[str] | None) -> list[str]:
        """Names of the output columns of a view that is not dropped."""
        transformer = self.transformers_[view]
        if transformer in UNCHANGED:
            columns = columns_in if transformer == "passthrough" else None
            return columns or default_columns(math.prod(self._output_shapes[view]))
        if not hasattr(transformer, "get_feature_names_out"):
            raise AttributeError(
                f"{type(transformer).__name__} of view {view!r} does not provide "
                "get_feature_names_out"
            )
        return [str(column) for column in transformer.get_feature_names_out(columns_in)]

    def _to_container(self, data: MultiViewData, name: str, output: Any) -> Any:
        """Convert an output to a dataframe if one is requested, or if the view is one."""
        view, transformer = data._views[name], self.transformers_[name]
        is_kernel = isinstance(transformer, KernelCenterer) or (
            transformer == "passthrough" and data.kinds[name] in PAIRWISE
        )
        if is_kernel or storage.is_documents(output) or storage.is_tensor(output):
            return output
        requested = self._requested_container()
        if requested in ("pandas", "polars"):
            output = _to_dense(output, data, name)
            columns = self._find_columns(name, output) or default_columns(output.shape[1])
            output = to_dataframe(output, requested, columns)
        elif requested is None and storage.is_dataframe(view) and isinstance(output, np.ndarray):
            names = self._find_columns(name, output)
            if names is not None:  # else it stays an array
                output = to_dataframe(output, nw.from_native(view).implementation, names)
        if output is view or not storage.is_dataframe(output):
            return output
        return with_index(output, row_index(data, name))

    def _find_columns(self, name: str, output: Any) -> list[str] | None:
        """Names of the output columns; None if there are none, or they are not unique."""
        columns_in = input_columns(self)[name]
        try:
            columns = self._columns_out(name, columns_in)
        except (AttributeError, NotImplementedError, ValueError):
            return None
        is_valid = len(columns) == output.shape[1] and len(set(columns)) == len(columns)
        return columns if is_valid else None

    def _requested_container(self) -> str | None:
        """The container of ``set_output``, else that of scikit-learn's configuration; or None."""
        own = getattr(self, "_sklearn_output_config", {}).get("transform")
        everywhere = get_config()["transform_output"]
        return own if own is not None or everywhere == "default" else everywhere


def _to_dense(output: Any, data: MultiViewData, name: str) -> Any:
    """Return the output; NaN for a view that is missing in all rows, an error if it is sparse."""
    if not sp.issparse(output):
        return output
    if data.present[:, data.view_names.index(name)].any():
        raise ValueError(
            f"view {name!r} is sparse, which dataframes do not support; use "
            "set_output(transform='default') or a transformer with dense output"
        )
    return np.full(output.shape, np.nan)


@model_type("views.flatten")
def flatten(X: Any) -> np.ndarray:
    """Reshape an array to one row per sample.

    Parameters
    ----------
    X : array of shape (n_samples, ...)
        Images, time series or other arrays of at least one dimension.

    Returns
    -------
    ndarray of shape (n_samples, n_values)

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import FunctionTransformer
    >>> from consilience import ViewTransformer
    >>> from consilience.views import flatten
    >>> data = {"image": np.zeros((5, 8, 8)), "table": np.ones((5, 3))}
    >>> step = ViewTransformer({"image": FunctionTransformer(flatten)}, remainder="passthrough")
    >>> step.fit_transform(data).widths
    {'image': 64, 'table': 3}
    """
    X = np.asarray(X)
    return X.reshape(len(X), math.prod(X.shape[1:]))
