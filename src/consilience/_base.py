"""What every classifier shares: any input to checked views, labels to codes, scores to predictions.

A method file provides ``_fit(data, codes, weight)`` and ``_scores(data)`` (n x K, larger is more
likely) and, where the method has probabilities, ``_probabilities(data)``.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_is_fitted, column_or_1d

from consilience._compat import CallbackSupportMixin, with_callbacks
from consilience.views._input import read_input
from consilience.views._layout import check_values
from consilience.views._storage import shown

__all__ = [
    "MultiViewClassifier",
    "class_weights",
    "one_vs_rest_scores",
    "one_vs_rest_signs",
    "tie_break",
]


def encode_labels(y, n_samples, method):
    """Check the labels and return them as an array; the messages are scikit-learn's."""
    if y is None:
        raise ValueError(f"{method} requires y to be passed, but the target y is None")
    y = column_or_1d(y, warn=True)
    if y.dtype.kind == "f":
        assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    if len(y) != n_samples:
        raise ValueError(f"X has {n_samples} samples, but y has {len(y)}: inconsistent numbers")
    return y


def check_weights(sample_weight, n_samples):
    """Sample weights as float64: one finite number >= 0 each, not all of them zero."""
    if sample_weight is None:
        return np.ones(n_samples)
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.ndim == 0:
        weight = np.full(n_samples, float(weight))
    if weight.shape != (n_samples,):
        raise ValueError(f"sample_weight.shape == {weight.shape}, expected {(n_samples,)}!")
    assert_all_finite(weight, input_name="sample_weight")
    if (weight < 0).any():
        raise ValueError(f"sample_weight is negative in row {np.flatnonzero(weight < 0)[0]}")
    if not weight.any():
        raise ValueError("sample_weight is zero everywhere")
    return weight


def class_weights(class_weight, classes, codes, weight):
    """Weights multiplied by those of the classes; "balanced" gives all classes the same total."""
    if class_weight is None:
        return weight
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ValueError(
                f"class_weight must be 'balanced', a dict or None, got {class_weight!r}"
            )
        totals = np.bincount(codes, weights=weight, minlength=len(classes))
        return weight * (weight.sum() / (len(classes) * totals))[codes]
    if not isinstance(class_weight, Mapping):
        raise TypeError(f"class_weight must be 'balanced', a dict or None, got {class_weight!r}")
    unknown = [label for label in class_weight if label not in classes]
    if unknown:
        raise ValueError(f"class_weight names classes that y does not have: {shown(unknown)}")
    return weight * np.array([class_weight.get(label, 1.0) for label in classes.tolist()])[codes]


def one_vs_rest_signs(codes, n_classes):
    """Labels of the binary problems, +1 / −1: one row for K = 2 (class 1 is +1), else K rows."""
    positive = [1] if n_classes == 2 else range(n_classes)
    return np.stack([np.where(codes == k, 1.0, -1.0) for k in positive])


def one_vs_rest_scores(decisions):
    """Scores (n x K) from the decisions (n x 1 or n x K) of the binary problems."""
    return np.hstack([-decisions, decisions]) / 2 if decisions.shape[1] == 1 else decisions


def tie_break(prior, size=1e-9):
    """A term per class below ``size``: ties go to the larger prior, then to the lower class."""
    order = np.lexsort((np.arange(len(prior)), -prior))
    term = np.empty(len(prior))
    term[order] = size * np.arange(len(prior), 0, -1) / (len(prior) + 1)
    return term


class MultiViewClassifier(CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """Base of all classifiers: input, labels, weights, missing rows and predictions."""

    # the kinds of views a method can use
    _kinds = ("features",)
    # rows of zero weight count as absent; methods with user-given splits keep row numbers
    _drops_zero_weights = True

    @with_callbacks
    def fit(self, X, y, sample_weight=None):
        """Fit the classifier.

        Parameters
        ----------
        X : MultiViewData, matrix, or any input that ``as_multiview`` reads
            Training samples.
        y : array of shape (n_samples,)
            Labels, numbers or strings.
        sample_weight : array of shape (n_samples,), optional
            Weights >= 0; a row of weight 0 counts as absent.

        Returns
        -------
        self
        """
        data = read_input(self, X, reset=True)
        data = check_values(data, self._kinds, type(self).__name__)
        y = encode_labels(y, len(data), type(self).__name__)
        weight = check_weights(sample_weight, len(data))
        self._refuse_empty_rows(data)
        if self._drops_zero_weights and not weight.all():
            kept = np.flatnonzero(weight)
            data, y, weight = data[kept], y[kept], weight[kept]
        self.classes_ = np.unique(y[weight > 0])
        if len(self.classes_) < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes, but the data have 1 "
                f"class: {shown(self.classes_)}"
            )
        codes = np.searchsorted(self.classes_, y).clip(max=len(self.classes_) - 1)
        weight = class_weights(getattr(self, "class_weight", None), self.classes_, codes, weight)
        totals = np.bincount(codes, weights=weight, minlength=len(self.classes_))
        self.class_prior_ = totals / totals.sum()
        self._fit(data, codes, weight)
        return self

    def predict(self, X):
        """Predict labels.

        Parameters
        ----------
        X : MultiViewData, matrix, or any input that ``as_multiview`` reads
            Samples with the views seen in fit; a container may lack some of them.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        winners = self._with_prior(X, self._scores).argmax(axis=1)
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
        scores = self._with_prior(X, self._scores)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def _with_prior(self, X, rule):
        """``rule`` on the rows that have a view, the class prior on those that have none."""
        check_is_fitted(self)
        data = check_values(read_input(self, X, reset=False), self._kinds, type(self).__name__)
        known = data.present.any(axis=1)
        if known.all():
            return rule(data)
        warnings.warn(
            f"{(~known).sum()} rows have no view at all and get the class prior: "
            f"rows {shown(np.flatnonzero(~known))}",
            UserWarning,
            stacklevel=3,
        )
        out = np.tile(self.class_prior_, (len(data), 1))
        if known.any():
            out[known] = rule(data[known])
        return out

    def _refuse_empty_rows(self, data):
        empty = np.flatnonzero(~data.present.any(axis=1))
        if len(empty):
            raise ValueError(
                f"{len(empty)} training rows have no view at all (Input contains NaN everywhere): "
                f"rows {shown(empty)}; drop them before fit"
            )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # allow_nan stays False: to scikit-learn it would mean NaN in any cell, not whole views
        tags.input_tags.sparse = True
        return tags
