"""Preprocessing of tables inside cross-validation: missing cells, scaling, categories."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from consilience._model_types import model_type
from consilience.views import MultiViewData, ViewTransformer
from consilience.views import _storage as storage

__all__ = ["TableEncoder", "make_preprocessor"]

MAX_CATEGORIES = 40  # of one column; rarer ones are merged


def make_number_scaler() -> Any:
    """Impute missing cells with the mean, and scale columns to mean 0 and variance 1."""
    return make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler())


def make_preprocessor(data: MultiViewData) -> ViewTransformer:
    """Build an unfitted transformer of the views, chosen by their storage, not their values."""
    return ViewTransformer({name: _make_view_preprocessor(data, name) for name in data.view_names})


def _make_view_preprocessor(data: MultiViewData, name: str) -> Any:
    if data.kinds[name] != "features":
        return "passthrough"
    view = data[name]
    if storage.is_dataframe(view):
        return TableEncoder()
    # keeps the zeros of a sparse view
    return MaxAbsScaler() if sp.issparse(view) else make_number_scaler()


@model_type("tables.TableEncoder")
class TableEncoder(TransformerMixin, BaseEstimator):
    """Encode a table with columns of numbers and of text.

    Numbers are scaled to mean 0 and variance 1, and missing ones are imputed with the mean. Text
    is categorical and one-hot encoded: rare categories are merged, a missing cell is a category
    of its own, and unknown categories are treated as rare or, without rare ones, ignored.

    Parameters
    ----------
    max_categories : int, default=40
        Maximum number of indicator columns for one text column.

    Attributes
    ----------
    number_columns_, text_columns_ : list of str
        Columns of numbers and of text.
    scaler_ : Pipeline or None
        Imputes and scales the numbers.
    encoder_ : OneHotEncoder or None
        Encodes the text.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from consilience.tables import TableEncoder
    >>> table = pa.table({"age": [20.0, None, 40.0], "site": ["a", "b", "a"]})
    >>> TableEncoder().fit_transform(table).round(1)
    array([[-1.2,  1. ,  0. ],
           [ 0. ,  0. ,  1. ],
           [ 1.2,  1. ,  0. ]])
    """

    def __init__(self, max_categories: int = MAX_CATEGORIES) -> None:
        self.max_categories = max_categories

    def fit(self, X: Any, y: Any = None) -> TableEncoder:
        """Learn means, variances and categories.

        Parameters
        ----------
        X : dataframe
            Training rows.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self
        """
        frame = nw.from_native(X, eager_only=True)
        is_number = {name: frame[name].dtype.is_numeric() for name in frame.columns}
        self.text_columns_ = [name for name in frame.columns if not is_number[name]]
        self.number_columns_ = [name for name in frame.columns if is_number[name]]
        self.scaler_ = self.encoder_ = None
        if self.number_columns_:
            self.scaler_ = make_number_scaler().fit(self._numbers(frame))
        if self.text_columns_:
            self.encoder_ = OneHotEncoder(
                handle_unknown="infrequent_if_exist",
                max_categories=self.max_categories,
                sparse_output=False,
            ).fit(self._texts(frame))
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Encode rows.

        Parameters
        ----------
        X : dataframe
            Rows with the columns seen in fit.

        Returns
        -------
        ndarray of shape (n_samples, n_columns)
        """
        check_is_fitted(self)
        frame = nw.from_native(X, eager_only=True)
        blocks = []
        if self.scaler_ is not None:
            blocks.append(self.scaler_.transform(self._numbers(frame)))
        if self.encoder_ is not None:
            blocks.append(self.encoder_.transform(self._texts(frame)))
        return np.hstack(blocks)

    def _numbers(self, frame: nw.DataFrame) -> np.ndarray:
        columns = [frame[name].cast(nw.Float64).to_numpy() for name in self.number_columns_]
        return np.column_stack(columns).astype(np.float64)

    def _texts(self, frame: nw.DataFrame) -> np.ndarray:
        """Text cells, with an empty string for a missing one."""
        cells = np.empty((len(frame), len(self.text_columns_)), dtype=object)
        for j, name in enumerate(self.text_columns_):
            cells[:, j] = ["" if value is None else str(value) for value in frame[name].to_list()]
        return cells

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags
