"""Base class of all classifiers: validation of input, labels and weights, and predictions.

A subclass implements ``_fit(data, codes, weight)``, ``_scores(data)`` (n x K, larger is more
likely) and, if the method has probabilities, ``_probabilities(data)``; ``_has_probabilities``
returns whether they are available with the current parameters. Methods that can also be fitted on
data in blocks inherit ``distributed._mixin.BlockwiseFitMixin``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from consilience._compat import CallbackSupportMixin, with_callbacks
from consilience._core.blas_threads import one_blas_thread
from consilience._estimators import takes_nan, views_taking_nan
from consilience._parameters import validate_parameters
from consilience._targets import check_labels, check_weights
from consilience._training import (
    LabelledRows,
    TrainingClasses,
    encode_rows,
    find_classes,
    label_totals,
    naming_large_values,
    validate_rows,
)
from consilience._warnings import warn_user
from consilience.distributed._blocks import comes_in_blocks
from consilience.distributed._predict import predict_lazily
from consilience.views import MultiViewData
from consilience.views._index import check_aligned, check_series
from consilience.views._input import has_dask_views, read_input, sample_labels
from consilience.views._layout import check_values
from consilience.views._storage import format_list

__all__ = ["MultiViewClassifier"]

# rows predicted at once: bounds the memory and the time until Ctrl-C is noticed
PREDICT_CHUNK_ROWS = 100_000


class MultiViewClassifier(CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """Base class of all classifiers."""

    # kinds of views that a method supports
    _kinds: tuple[str, ...] = ("features",)
    _parameter_constraints: dict[str, list[Any]] = {}
    # why a method cannot be fitted on blocks of rows, in methods without BlockwiseFitMixin
    _reason_against_blocks = "it needs all rows at once"
    # name of the parameter with the user's own classifiers, in methods that have it
    _member_parameter = "estimator"

    # scikit-learn's metadata routing passes groups on to fit without set_fit_request
    __metadata_request__fit = {"groups": True}

    classes_: np.ndarray
    class_prior_: np.ndarray
    view_names_: list[str]
    n_views_in_: int
    n_features_in_: int

    if TYPE_CHECKING:

        def _fit(self, data: MultiViewData, codes: np.ndarray, weight: np.ndarray) -> None: ...
        def _scores(self, data: MultiViewData) -> np.ndarray: ...
        def _probabilities(self, data: MultiViewData) -> np.ndarray: ...

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : MultiViewData, matrix, or any input that ``as_multiview`` reads
            Training samples. ``ConsilienceClassifier``, ``MVLSVMClassifier``, ``SMVMEDClassifier``
            and the fusion classifiers also accept dask arrays, or a ``BlockSequence`` in place of
            X, y and sample_weight.
        y : array of shape (n_samples,)
            Labels, numbers or strings.
        sample_weight : array of shape (n_samples,), optional
            Weights >= 0; rows with weight 0 are ignored.
        groups : array of shape (n_samples,), optional
            Group of each row, such as the patient, whose rows are kept together wherever the method
            splits the training rows (folds, early stopping); methods without such splits ignore
            it. By default ``X.groups`` of a MultiViewData.

        Returns
        -------
        self
        """
        validate_parameters(self)
        with one_blas_thread():
            self._fit_input(X, y, sample_weight, groups)
        return self

    def _fit_input(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        """Validate the training data and fit on them; the parameters have been validated."""
        if comes_in_blocks(X):
            raise TypeError(
                f"{type(self).__name__} does not support X in blocks, because "
                f"{self._reason_against_blocks}; use ConsilienceClassifier, MVLSVMClassifier, "
                "SMVMEDClassifier, a boosting or fusion classifier or MwMvC2Classifier, or load X "
                "into memory (as_multiview(X).compute() for dask arrays)"
            )
        rows = self._read_rows(X, y, sample_weight, groups)
        training = encode_rows(rows, self._set_classes([label_totals(rows)]))
        with naming_large_values(training.data):
            self._fit(training.data, training.codes, training.weight)

    def _read_rows(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> LabelledRows:
        data = self._validate_input(X, reset=True)
        check_aligned(data, y=y, sample_weight=sample_weight)
        data = data if groups is None else data.with_groups(groups)
        y, has_label = self._read_labels(y, len(data))
        weight = check_weights(sample_weight, len(data))
        return validate_rows(LabelledRows(data, y, weight, has_label), self._drops_zero_weights)

    def _read_labels(self, y: Any, n_samples: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Validated labels, and the mask of labelled rows; None if every row has a label."""
        return check_labels(y, n_samples, type(self).__name__), None

    def _set_classes(self, parts: list[tuple[np.ndarray, list[int]]]) -> TrainingClasses:
        """Set ``classes_`` and ``class_prior_`` from the label totals of all parts of the data."""
        classes = find_classes(parts, getattr(self, "class_weight", None), type(self).__name__)
        self.classes_, self.class_prior_ = classes.classes, classes.prior
        return classes

    @property
    def _drops_zero_weights(self) -> bool:
        """Whether rows with weight 0 are dropped; False if ``cv`` refers to row indices."""
        return True

    def predict(self, X: Any) -> Any:
        """Predict labels.

        Parameters
        ----------
        X : MultiViewData, matrix, or any input that ``as_multiview`` reads
            Samples with the views seen in fit; a container may lack some of them.

        Returns
        -------
        ndarray of shape (n_samples,)
            A dask array if X holds dask arrays, as for the other prediction methods.
        """
        if has_dask_views(X):
            return self._predict_lazily("predict", X)
        best = self._predict_or_prior(X, self._scores).argmax(axis=1)
        return self.classes_[best]

    def decision_function(self, X: Any) -> Any:
        """Score of each class; for two classes one score, positive for the second class.

        Parameters
        ----------
        X : MultiViewData, matrix, or any input that ``as_multiview`` reads
            Samples with the views seen in fit; a container may lack some of them.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        if has_dask_views(X):
            return self._predict_lazily("decision_function", X)
        scores = self._predict_or_prior(X, self._scores)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy of the predicted labels.

        Parameters
        ----------
        X : MultiViewData, matrix, or any input that ``as_multiview`` reads
            Samples with the views seen in fit; a container may lack some of them.
        y : array of shape (n_samples,)
            True labels.
        sample_weight : array of shape (n_samples,), optional
            Weights of the samples.

        Returns
        -------
        float
        """
        check_series(sample_labels(X), y=y, sample_weight=sample_weight)
        return super().score(X, y, sample_weight=sample_weight)

    @available_if(lambda self: hasattr(self, "_probabilities") and self._has_probabilities())
    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes.

        Parameters
        ----------
        X : MultiViewData, matrix, or any input that ``as_multiview`` reads
            Samples with the views seen in fit; a container may lack some of them.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        if has_dask_views(X):
            return self._predict_lazily("predict_proba", X)
        return self._predict_or_prior(X, self._probabilities)

    def _has_probabilities(self) -> bool:
        return True

    def _validate_input(self, X: Any, reset: bool) -> MultiViewData:
        """Numeric, finite views of the input; store (reset) or check their layout.

        Single values may be NaN in the views whose classifiers, given by the user, support NaN.
        """
        data = read_input(self, X, reset=reset)
        nan_views = self._nan_views(data.view_names)
        return check_values(data, self._kinds, type(self).__name__, nan_views=nan_views)

    def _nan_views(self, names: Sequence[str]) -> Sequence[str]:
        """Names of the views in which single values may be NaN."""
        return views_taking_nan(self._own_members(), names)

    def _own_members(self) -> Any:
        """The user's own classifiers (one, a list, or a dict of view -> these) or None."""
        return getattr(self, self._member_parameter, None)

    def _validate_for_predict(self, X: Any) -> tuple[MultiViewData, np.ndarray]:
        """Validated views of new samples, and the mask of rows that have at least one view."""
        check_is_fitted(self)
        data = self._validate_input(X, reset=False)
        has_view = np.asarray(data.present.any(axis=1))
        if not has_view.all():
            warn_user(
                f"{(~has_view).sum()} rows have no view at all and are assigned the class prior: "
                f"rows {format_list(np.flatnonzero(~has_view))}"
            )
        return data, has_view

    def _predict_lazily(self, method: str, X: Any) -> Any:
        """Return a method's output for dask arrays, as a dask array."""
        check_is_fitted(self)
        if method == "predict":
            return predict_lazily(self, method, X, (), self.classes_.dtype)
        one_score = method == "decision_function" and len(self.classes_) == 2
        shape = () if one_score else (len(self.classes_),)
        return predict_lazily(self, method, X, shape, np.dtype(np.float64))

    def _predict_or_prior(
        self, X: Any, method: Callable[[MultiViewData], np.ndarray]
    ) -> np.ndarray:
        """Apply ``method`` to the rows that have a view; the others get the class prior."""
        data, has_view = self._validate_for_predict(X)
        if has_view.all():
            return _apply_in_chunks(method, data)
        out = np.tile(self.class_prior_, (len(data), 1))
        if has_view.any():
            out[has_view] = _apply_in_chunks(method, data[has_view])
        return out

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        # for scikit-learn this means NaN in any cell; every method supports missing views
        tags.input_tags.allow_nan = takes_nan(self._own_members())
        return tags


def _apply_in_chunks(
    method: Callable[[MultiViewData], np.ndarray], data: MultiViewData
) -> np.ndarray:
    with naming_large_values(data), one_blas_thread():
        if len(data) <= PREDICT_CHUNK_ROWS:
            return method(data)
        starts = range(0, len(data), PREDICT_CHUNK_ROWS)
        return np.concatenate([method(data[i : i + PREDICT_CHUNK_ROWS]) for i in starts])
