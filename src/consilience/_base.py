"""What every classifier shares: any input to checked views, labels to codes, scores to predictions.

A method file provides ``_fit(data, codes, weight)``, ``_scores(data)`` (n x K, larger is more
likely) and, where the method has probabilities, ``_probabilities(data)``; ``_has_probabilities``
says whether the present parameters give any. ``_fit_blocks(training)`` makes it fit from blocks.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from consilience._compat import CallbackSupportMixin, with_callbacks
from consilience._parameters import validate_parameters
from consilience._targets import check_labels, check_weights, class_weights
from consilience.distributed._training import comes_in_blocks, predict_lazily, read_training
from consilience.views._input import has_dask_views, read_input
from consilience.views._layout import check_values
from consilience.views._storage import format_list

__all__ = ["UNLABELLED", "MultiViewClassifier"]

UNLABELLED = -1  # code of a row without a label, for the methods that take such rows


class MultiViewClassifier(CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """Base of all classifiers: input, labels, weights, missing rows and predictions."""

    # the kinds of views a method can use
    _kinds: tuple[str, ...] = ("features",)
    _parameter_constraints: dict[str, list[Any]] = {}
    # rows of zero weight count as absent; methods with user-given splits keep row numbers
    _drops_zero_weights = True

    @with_callbacks
    def fit(self, X, y=None, sample_weight=None):
        """Fit the classifier.

        Parameters
        ----------
        X : MultiViewData, matrix, or any input that ``as_multiview`` reads
            Training samples. ``MVLSVMClassifier`` and ``SMVMEDClassifier`` take dask arrays, too,
            and a ``BlockSequence`` in the place of all three parameters.
        y : array of shape (n_samples,)
            Labels, numbers or strings.
        sample_weight : array of shape (n_samples,), optional
            Weights >= 0; a row of weight 0 counts as absent.

        Returns
        -------
        self
        """
        validate_parameters(self)
        if comes_in_blocks(X):
            if not hasattr(self, "_fit_blocks"):
                raise TypeError(
                    f"{type(self).__name__} fits in memory only, and X comes in blocks; "
                    "MVLSVMClassifier and SMVMEDClassifier fit from blocks, and "
                    "as_multiview(X).compute() reads dask arrays into memory"
                )
            self._fit_blocks(read_training(self, X, y, sample_weight, self.n_jobs))
            return self
        data = self._validate_input(X, reset=True)
        y, labelled = self._read_labels(y, len(data))
        weight = check_weights(sample_weight, len(data))
        self._check_rows_have_views(data)
        if self._drops_zero_weights and not weight.all():
            kept = np.flatnonzero(weight)
            data, y, labelled, weight = data[kept], y[kept], labelled[kept], weight[kept]
        self.classes_ = np.unique(y[labelled & (weight > 0)])
        if len(self.classes_) < 2:
            seen = f"1 class: {format_list(self.classes_)}" if len(self.classes_) else "no labels"
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes, but the data have "
                f"{seen}"
            )
        codes = np.full(len(y), UNLABELLED)
        known = np.searchsorted(self.classes_, y[labelled]).clip(max=len(self.classes_) - 1)
        codes[labelled], weight = known, weight.copy()
        weight[labelled] = class_weights(
            getattr(self, "class_weight", None), self.classes_, known, weight[labelled]
        )
        totals = np.bincount(known, weights=weight[labelled], minlength=len(self.classes_))
        self.class_prior_ = totals / totals.sum()
        self._fit(data, codes, weight)
        return self

    def _read_labels(self, y, n_samples):
        """Checked labels, and which rows have one; methods that need all of them have all."""
        return check_labels(y, n_samples, type(self).__name__), np.ones(n_samples, dtype=bool)

    def predict(self, X):
        """Predict labels.

        Parameters
        ----------
        X : MultiViewData, matrix, or any input that ``as_multiview`` reads
            Samples with the views seen in fit; a container may lack some of them.

        Returns
        -------
        ndarray of shape (n_samples,)
            For dask arrays a dask array, as everywhere else.
        """
        if has_dask_views(X):
            return self._predict_lazily("predict", X)
        winners = self._predict_or_prior(X, self._scores).argmax(axis=1)
        return self.classes_[winners]

    def decision_function(self, X):
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

    @available_if(lambda self: hasattr(self, "_probabilities") and self._has_probabilities())
    def predict_proba(self, X):
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

    def _has_probabilities(self):
        return True

    def _validate_input(self, X, reset):
        """Numeric, finite views of the input; remember (reset) or check their layout."""
        return check_values(read_input(self, X, reset=reset), self._kinds, type(self).__name__)

    def _validate_for_predict(self, X):
        """Checked views of new samples, and the mask of rows that have at least one."""
        check_is_fitted(self)
        data = self._validate_input(X, reset=False)
        known = data.present.any(axis=1)
        if not known.all():
            warnings.warn(
                f"{(~known).sum()} rows have no view at all and get the class prior: "
                f"rows {format_list(np.flatnonzero(~known))}",
                UserWarning,
                stacklevel=4,
            )
        return data, known

    def _predict_lazily(self, method, X):
        """A method of lazy views, as a dask array."""
        check_is_fitted(self)
        if method == "predict":
            return predict_lazily(self, method, X, (), self.classes_.dtype)
        one = method == "decision_function" and len(self.classes_) == 2
        return predict_lazily(self, method, X, () if one else (len(self.classes_),), np.float64)

    def _predict_or_prior(self, X, rule):
        """``rule`` on the rows that have a view, the class prior on those that have none."""
        data, known = self._validate_for_predict(X)
        if known.all():
            return rule(data)
        out = np.tile(self.class_prior_, (len(data), 1))
        if known.any():
            out[known] = rule(data[known])
        return out

    def _check_rows_have_views(self, data):
        empty = np.flatnonzero(~data.present.any(axis=1))
        if len(empty):
            raise ValueError(
                f"{len(empty)} training rows have no view at all (Input contains NaN everywhere): "
                f"rows {format_list(empty)}; drop them before fit"
            )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # allow_nan stays False: to scikit-learn it would mean NaN in any cell, not whole views
        tags.input_tags.sparse = True
        return tags
