"""Views of features or distances as kernel views, for methods of precomputed kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from consilience._copies import row_keys
from consilience._kernel_views import (
    KERNEL_PARAMETERS,
    check_repeated_samples,
    kernel_against,
    kernel_specs,
    present_rows,
    resolve_gamma,
)
from consilience._model_types import model_type
from consilience._parameters import VIEWS, validate_parameters
from consilience._warnings import warn_of_unseen_views
from consilience.views import MultiViewData
from consilience.views._input import read_input
from consilience.views._layout import check_values
from consilience.views._pairwise import KINDS, PairwiseView, number_ids

__all__ = ["ViewKernels"]


@model_type("kernel.ViewKernels")
class ViewKernels(TransformerMixin, BaseEstimator):
    """Turn every view into a kernel view, whose columns are the training samples.

    Feature views are compared by a kernel, distance views become exp(−gamma D), kernel views stay
    as they are. What follows in a pipeline then works alike on all of them:
    ``LateFusionClassifier(SVC(kernel="precomputed"))``, ``LaplacianCompletion`` or any method of
    kernel views. A missing view stays missing.

    Rows of the same id and the same values, as a bootstrap draws them, have one column. Where rows
    of the same id differ, such as measurements of a patient, each has its own, and the ids of the
    result are texts made of the id and a hash of the values.

    Parameters
    ----------
    kernel : str, callable or dict of view -> these, default="rbf"
        "linear", "rbf", "poly", "sigmoid", "laplacian", "chi2", "cosine" or a function of two
        matrices; of feature views.
    gamma : {"scale", "auto", "median"}, float or dict of view -> these, default="median"
        Width of the kernels: 1/(d Var X), 1/d, or 1 over the median of the squared distances; of
        distance views 1 over the median or, for the other two, the mean of D.
    degree, coef0 : float, default=3, 1.0
        Of the poly and sigmoid kernels.
    views : None, list or dict, default=None
        Groups of columns when X is one matrix, or names of the views to use.

    Attributes
    ----------
    view_names_ : list of str
        Names of the views.
    n_views_in_ : int
        Number of views.
    n_features_in_ : int
        Number of columns over all views.
    view_feature_names_in_ : dict of view -> ndarray of str
        Names of the columns, of the views that have names.

    See Also
    --------
    LaplacianCompletion : Completes kernel views in which samples are missing.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import SVC
    >>> from consilience.datasets import load_digits_views
    >>> from consilience.fusion import LateFusionClassifier
    >>> from consilience.kernel import ViewKernels
    >>> digits = load_digits_views()
    >>> model = make_pipeline(
    ...     ViewKernels(), LateFusionClassifier(SVC(kernel="precomputed"), voting="hard")
    ... )
    >>> model = model.fit(digits.data[:500], digits.target[:500])
    >>> model.score(digits.data[500:], digits.target[500:]) > 0.7
    True
    """

    _kinds = KINDS
    _parameter_constraints: dict[str, list[Any]] = {**KERNEL_PARAMETERS, "views": VIEWS}

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: Any = "median",
        degree: float = 3,
        coef0: float = 1.0,
        views: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.views = views

    def fit(self, X: Any, y: Any = None) -> ViewKernels:
        """Remember the training samples and set the widths of the kernels.

        Parameters
        ----------
        X : MultiViewData, matrix, or any input that ``as_multiview`` reads
            Training samples.
        y : ignored
            For pipelines.

        Returns
        -------
        self
        """
        validate_parameters(self)
        data = self._validate_input(X, reset=True)
        check_repeated_samples(data)
        self._ids_need_values = rows_of_an_id_differ(data)
        ids = self._row_ids(data)
        # a bootstrap repeats samples: one column is enough for each
        first, _ = number_ids(ids)
        train = data if len(first) == len(data) else data[first]
        specs = kernel_specs(train.view_names, self.kernel, self.gamma, self.degree, self.coef0)
        weight = np.ones(len(train))
        self._column_ids = np.asarray(ids[first])
        self._known = {name: present_rows(train, name) for name in train.view_names}
        seen = [name for name, rows in self._known.items() if len(rows)]
        warn_of_unseen_views(train.view_names, seen)
        self._kernels = {
            name: kernel_against(
                resolve_gamma(specs[name], train, name, weight), train, name, self._known[name]
            )
            for name in seen
        }
        return self

    def transform(self, X: Any) -> MultiViewData:
        """Compute the kernels between samples and the training samples.

        Parameters
        ----------
        X : MultiViewData, matrix, or any input that ``as_multiview`` reads
            Samples with the views seen in fit.

        Returns
        -------
        MultiViewData
            Kernel views; NaN in the columns of training samples that lack the view.
        """
        check_is_fitted(self)
        data = self._validate_input(X, reset=False)
        present = data.present.copy()
        views = {}
        for v, name in enumerate(data.view_names):
            matrix = np.full((len(data), len(self._column_ids)), np.nan)
            rows = present_rows(data, name)
            if name not in self._kernels:
                present[:, v] = False
            elif len(rows):
                matrix[np.ix_(rows, self._known[name])] = self._kernels[name].block(data, rows)
            views[name] = PairwiseView(matrix, None, self._column_ids)
        return MultiViewData._from_parts(
            views,
            dict.fromkeys(views, "kernel"),
            present,
            self._row_ids(data),
            data._origin,
            data.groups,
            data._ids_are_labels and not self._ids_need_values,
        )

    def _validate_input(self, X: Any, reset: bool) -> MultiViewData:
        return check_values(read_input(self, X, reset=reset), KINDS, type(self).__name__)

    def _row_ids(self, data: MultiViewData) -> np.ndarray:
        return ids_with_values(data) if self._ids_need_values else data.sample_ids


def rows_of_an_id_differ(data: MultiViewData) -> bool:
    """Whether rows of the same id have different features, or lack different views."""
    first, number = number_ids(data.sample_ids)
    if len(first) == len(data):
        return False
    keys = feature_keys(data)
    return bool((keys != keys[first][number]).any())


def ids_with_values(data: MultiViewData) -> np.ndarray:
    """Texts that are equal for rows of the same id and the same values."""
    pairs = zip(data.sample_ids.tolist(), feature_keys(data).tolist(), strict=True)
    return np.array([f"{key!r} {value:016x}" for key, value in pairs])


def feature_keys(data: MultiViewData) -> np.ndarray:
    """A hash of the feature views of each row."""
    names = [name for name, kind in data.kinds.items() if kind == "features"]
    return row_keys(data.select(names)) if names else np.zeros(len(data), dtype=np.uint64)
