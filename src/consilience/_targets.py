"""Labels, weights and the binary problems of one-vs-rest: checks and codings without estimators."""

from __future__ import annotations

import numbers
from collections.abc import Mapping

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, column_or_1d

from consilience.views._storage import format_list

__all__ = [
    "check_labels",
    "check_number",
    "check_weights",
    "class_weights",
    "one_vs_rest_scores",
    "one_vs_rest_signs",
    "tie_break",
]


def check_labels(y, n_samples, method):
    """Check the labels and return them as an array; the messages are scikit-learn's."""
    if y is None:
        raise ValueError(f"{method} requires y to be passed, but the target y is None")
    y = column_or_1d(y, warn=True)
    if y.dtype.kind == "f":
        assert_all_finite(y, input_name="y")
    if y.dtype.kind == "O" and any(label is None or label != label for label in y):
        raise ValueError("Input y contains NaN or None")
    check_classification_targets(y)
    check_number(y, n_samples)
    return y


def check_number(y, n_samples):
    """Refuse labels that are not as many as the samples."""
    if len(y) != n_samples:
        raise ValueError(f"X has {n_samples} samples, but y has {len(y)}: inconsistent numbers")


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
    if not np.isfinite(weight.sum()):
        raise ValueError("sample_weight has an infinite sum; scale it down")
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
    # a fold may lack a rare class, but weights for none of the classes are a mistake
    if class_weight and not any(label in classes for label in class_weight):
        raise ValueError(
            f"class_weight names classes that y does not have: {format_list(class_weight)}"
        )
    for label, value in class_weight.items():
        if not isinstance(value, numbers.Real) or not 0 < value < np.inf:
            raise ValueError(f"class_weight[{label!r}] must be a number > 0, got {value!r}")
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
