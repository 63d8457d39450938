"""Preparation of views for methods that expect complete numeric columns.

Categories are one-hot encoded, empty cells are imputed with the column mean, and columns are
optionally scaled. ``ColumnPreparer`` does this for one view, ``ViewPreparer`` for every view of a
``MultiViewData``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from consilience._model_types import model_type
from consilience._parameters import VIEWS, StrOptions, validate_parameters
from consilience.views import _storage as storage
from consilience.views._base_transform import BaseViewTransformer
from consilience.views._data import MultiViewData
from consilience.views._encode import TableCodes, fit_codes
from consilience.views._layout import check_columns
from consilience.views._maps import MIN_RELATIVE_STD, column_moments
from consilience.views._normal_scores import standardise
from consilience.views._pairwise import PAIRWISE

__all__ = ["ColumnPreparer", "ViewPreparer"]

SCALE = [StrOptions({"standard", "variance"}), None]


@model_type("views.ColumnPreparer")
class ColumnPreparer(TransformerMixin, BaseEstimator):
    """Encode, impute and scale the columns of one view.

    Infinite values, and NaN in sparse views, are left in place: the error of the classifier that
    follows names the cell.

    Parameters
    ----------
    scale : {None, "standard", "variance"}, default=None
        As for ``ViewPreparer``.
    view_name : str, default="X"
        Name of the view in error messages.

    Attributes
    ----------
    codes_ : TableCodes or None
        Categories of a dataframe; None for other input.
    is_sparse_ : bool
        Whether the view was sparse in fit.
    mean_ : ndarray of shape (n_columns,)
        Mean of each encoded column; 0 for empty columns and sparse views.
    scale_ : ndarray of shape (n_columns,) or None
        Divisor of each encoded column, 0 for constant columns that are centred; None without
        scaling.
    n_features_in_ : int
        Number of columns before encoding.
    """

    _parameter_constraints: dict[str, list[Any]] = {"scale": SCALE, "view_name": [str]}

    def __init__(self, *, scale: str | None = None, view_name: str = "X") -> None:
        self.scale = scale
        self.view_name = view_name

    def fit(self, X: Any, y: Any = None) -> ColumnPreparer:
        """Learn categories, means and scales.

        Parameters
        ----------
        X : ndarray, sparse matrix or dataframe of shape (n_samples, n_features)
            Training rows.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self
        """
        validate_parameters(self)
        X = storage.validate_view(X, self.view_name)
        names = storage.column_names(X)
        self.n_features_in_ = storage.n_columns(X)
        self._columns = None if names is None else tuple(names)
        self.is_sparse_ = sp.issparse(X)
        self.codes_ = None if names is None else fit_codes(X, self.view_name)
        self.scale_: np.ndarray | None = None
        X = self._to_matrix(X)
        if self.is_sparse_:
            self.mean_ = np.zeros(X.shape[1])
            if self.scale == "standard":
                self.scale_ = _largest_values(X)
            elif self.scale == "variance":
                self.scale_ = StandardScaler(with_mean=False).fit(X).scale_
            return self
        self.mean_, std = _moments(X)
        if self.scale == "variance":
            self.scale_ = np.where(std > MIN_RELATIVE_STD * np.abs(self.mean_), std, 1.0)
        elif self.scale == "standard":
            self.scale_ = np.where(std > MIN_RELATIVE_STD * np.abs(self.mean_), std, 0.0)
            if self.codes_ is not None:
                is_indicator = self.codes_.is_indicator
                self.mean_[is_indicator], self.scale_[is_indicator] = 0.0, 1.0
        return self

    def transform(self, X: Any) -> Any:
        """Encode, impute and scale rows.

        Parameters
        ----------
        X : ndarray, sparse matrix or dataframe of shape (n_samples, n_features)
            Rows with the columns seen in fit.

        Returns
        -------
        ndarray or sparse matrix of shape (n_samples, n_columns)
            A complete numeric array is returned unchanged if the columns are not scaled.
        """
        check_is_fitted(self)
        X = self._to_matrix(self._check_columns(storage.validate_view(X, self.view_name)))
        if self.is_sparse_:
            return X if self.scale_ is None else _divide_columns(X, self.scale_)
        if self.scale_ is None:
            return _impute(X, self.mean_)
        dtype = np.float32 if X.dtype == np.float32 else np.float64
        if self.scale == "variance":
            return (_impute(X, self.mean_) / self.scale_).astype(dtype, copy=False)
        is_constant = self.scale_ == 0
        Z = standardise(X.astype(np.float64), self.mean_, np.where(is_constant, 1.0, self.scale_))
        Z[np.isnan(Z)] = 0.0  # the mean
        Z[:, is_constant] = 0.0
        return Z.astype(dtype, copy=False)

    def _check_columns(self, X: Any) -> Any:
        """Check that the number of columns and, if they have names, the names are as in fit."""
        if storage.n_columns(X) != self.n_features_in_:
            raise ValueError(
                f"view {self.view_name!r} has {storage.n_columns(X)} columns, but had "
                f"{self.n_features_in_} in fit"
            )
        names = storage.column_names(X)
        if names is not None:  # the estimator around it says that they are lost
            check_columns(self.view_name, self._columns, tuple(names))
        return X

    def _to_matrix(self, X: Any) -> Any:
        """Encode a dataframe, and convert to the storage seen in fit."""
        codes: TableCodes | None = self.codes_
        if codes is not None and (codes.has_categories or storage.is_dataframe(X)):
            return codes.encode(X, self.view_name)
        X = storage.to_numeric(X, self.view_name)
        if self.is_sparse_:
            return X if sp.issparse(X) else sp.csr_array(X)
        return X.toarray() if sp.issparse(X) else X

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags


@model_type("views.ViewPreparer")
class ViewPreparer(BaseViewTransformer):
    """Prepare all views for methods that expect complete numeric columns.

    Categorical columns of dataframes are one-hot encoded (the 30 most frequent categories; other
    and unknown ones and empty cells are 0 in all columns), and empty cells of numeric columns are
    imputed with the mean of the training rows. Missing views stay missing. Kernel and distance
    views are passed through unchanged.

    Parameters
    ----------
    scale : {None, "standard", "variance"}, default=None
        "standard" scales numeric columns to mean 0 and variance 1; columns that are constant in
        the training rows become 0, and indicator columns of categories are not scaled. The columns
        of sparse views are divided by their maximum absolute value instead, which keeps zeros.
        "variance" divides all columns by their standard deviation, without centring them.
    views : None, list or dict, default=None
        Groups of columns if X is a single matrix, or names of the views to use.

    Attributes
    ----------
    transformers_ : dict of view -> fitted transformer
        ``"passthrough"`` for kernel and distance views.
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
    ViewTransformer : Applies transformers of your choice.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from consilience import MultiViewData
    >>> from consilience.views import ViewPreparer
    >>> table = pd.DataFrame({"age": [20.0, np.nan, 40.0], "site": ["a", "b", "a"]})
    >>> data = MultiViewData({"patient": table, "image": np.eye(3)})
    >>> ViewPreparer().fit_transform(data)["patient"]
    array([[20.,  1.,  0.],
           [30.,  0.,  1.],
           [40.,  1.,  0.]])
    >>> ViewPreparer(scale="standard").fit_transform(data)["patient"].round(1)
    array([[-1.2,  1. ,  0. ],
           [ 0. ,  0. ,  1. ],
           [ 1.2,  1. ,  0. ]])
    """

    _parameter_constraints: dict[str, list[Any]] = {"scale": SCALE, "views": VIEWS}

    def __init__(self, *, scale: str | None = None, views: Any = None) -> None:
        self.scale = scale
        self.views = views

    def _make_transformers(self, data: MultiViewData) -> dict[str, Any]:
        for name, view in data.items():
            if storage.is_documents(view):
                storage.to_numeric(view, name)  # raises an error that suggests a vectoriser
        return {
            name: "passthrough"
            if kind in PAIRWISE
            else ColumnPreparer(scale=self.scale, view_name=name)
            for name, kind in data.kinds.items()
        }


def _moments(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each column after imputation; 0 for empty columns."""
    X, weight = X.astype(np.float64, copy=False), np.ones(len(X))
    is_missing = ~np.isfinite(X)
    if not is_missing.any():
        return column_moments(X, weight)
    share_present = 1 - is_missing.mean(axis=0)
    X = np.where(is_missing, np.where(share_present > 0, np.nan, 0.0), X)
    mean, std = column_moments(X, weight)
    # cells imputed with the mean add nothing to the sum of squares
    return mean, std * np.sqrt(share_present)


def _impute(X: np.ndarray, mean: np.ndarray) -> np.ndarray:
    if X.dtype.kind != "f":
        return X
    is_missing = np.isnan(X)
    return np.where(is_missing, mean.astype(X.dtype), X) if is_missing.any() else X


def _largest_values(X: Any) -> np.ndarray:
    """Largest finite absolute value of each column of a CSR matrix; 1 if all are zero."""
    largest = np.zeros(X.shape[1])
    values = np.abs(X.data.astype(np.float64))
    np.maximum.at(largest, X.indices, np.where(np.isfinite(values), values, 0.0))
    return np.where(largest > 0, largest, 1.0)


def _divide_columns(X: Any, scale: np.ndarray) -> Any:
    """Divide the columns of a CSR matrix; float32 is kept."""
    data = X.data / scale.astype(X.dtype if X.dtype == np.float32 else np.float64)[X.indices]
    return type(X)((data, X.indices, X.indptr), shape=X.shape)
