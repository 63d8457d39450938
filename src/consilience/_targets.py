"""Validation of labels and weights, and the binary problems of one-vs-rest."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, column_or_1d

from consilience.views._storage import format_list, is_nan

__all__ = [
    "check_labels",
    "check_n_labels",
    "check_weights",
    "class_factors",
    "keep_label_types",
    "one_vs_rest_scores",
    "one_vs_rest_signs",
    "tie_break",
]


# pandas' types of whole numbers and truth values that may be empty, and NumPy's
NULLABLE = {"boolean": "bool", "bool[pyarrow]": "bool"} | {
    name: kind
    for kind in (f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
    for name in (kind.replace("uint", "UInt").replace("int", "Int"), f"{kind}[pyarrow]")
}


def check_labels(y: Any, n_samples: int, method: str) -> np.ndarray:
    """Validate labels, with scikit-learn's error messages."""
    if y is None:
        raise ValueError(f"{method} requires y to be passed, but the target y is None")
    try:
        y = column_or_1d(keep_label_types(y), warn=True)
    except ValueError as error:
        if re.search(r"\by\b", str(error)):
            raise
        raise ValueError(f"y must be one label for each sample: {error}") from error
    if y.dtype.kind == "c":
        raise ValueError("Complex data not supported: y has complex labels")
    if y.dtype.kind == "f":
        assert_all_finite(y, input_name="y")
    if y.dtype.kind == "O":
        for row, label in enumerate(y):
            if label is None:
                raise TypeError(
                    f"{method} does not support rows without a label, but y is None in row {row}; "
                    "leave them out (only ConsilienceClassifier learns from such rows)"
                )
            if is_nan(label):
                raise ValueError(f"Input y contains NaN in row {row}")
        check_label_types(y)
    check_classification_targets(y)
    check_n_labels(y, n_samples)
    return y


def keep_label_types(y: Any) -> Any:
    """Labels as given; a list of texts and numbers, of which NumPy would make texts, as objects.

    Whole numbers and truth values that pandas marks as nullable would become floats; with an empty
    entry among them they are objects, so that the row can be named.
    """
    if isinstance(y, list | tuple) and len({isinstance(label, str) for label in y}) > 1:
        return np.array(y, dtype=object)
    if hasattr(y, "dtypes") and hasattr(y, "iloc") and getattr(y, "ndim", 0) == 2:
        y = y.iloc[:, 0] if y.shape[1] == 1 else y
    nullable = NULLABLE.get(str(getattr(y, "dtype", "")))
    if nullable is not None and hasattr(y, "isna"):
        return y.to_numpy(dtype=object if y.isna().any() else nullable)
    check_unmasked(y, "y")
    return y


def check_unmasked(values: Any, name: str) -> None:
    """Raise an error for masked entries, which NumPy would count as any other."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        row = int(np.argmax(np.ma.getmaskarray(values).reshape(len(values), -1).any(axis=1)))
        raise ValueError(f"{name} is masked in row {row}; leave out such rows, or fill in a value")


def check_label_types(y: np.ndarray) -> None:
    """Raise an error for texts among other labels: such classes have no order."""
    is_text = np.array([isinstance(label, str) for label in y], dtype=bool)
    if is_text.any() and not is_text.all():
        text, other = y[is_text.argmax()], y[is_text.argmin()]
        raise TypeError(
            f"y has texts and other labels, such as {text!r} and {other!r}; use labels of one type"
        )


def check_n_labels(y: np.ndarray, n_samples: int) -> None:
    """Raise an error unless there is one label for each sample."""
    if len(y) != n_samples:
        raise ValueError(f"X has {n_samples} samples, but y has {len(y)}: inconsistent numbers")


def check_weights(sample_weight: Any, n_samples: int) -> np.ndarray:
    """Validate sample weights: finite numbers >= 0, not all of them zero."""
    if sample_weight is None:
        return np.ones(n_samples)
    check_unmasked(sample_weight, "sample_weight")
    try:
        weight = np.asarray(sample_weight)
        if weight.dtype.kind in "cmM":
            raise TypeError(f"{weight.dtype} is not supported")
        weight = weight.astype(np.float64)
    except (OverflowError, TypeError, ValueError) as error:
        raise ValueError(f"sample_weight must be one number for each sample: {error}") from error
    if weight.ndim == 0:
        weight = np.full(n_samples, float(weight))
    if weight.shape != (n_samples,):
        raise ValueError(f"sample_weight.shape == {weight.shape}, expected {(n_samples,)}!")
    assert_all_finite(weight, input_name="sample_weight")
    if (weight < 0).any():
        raise ValueError(f"sample_weight is negative in row {np.flatnonzero(weight < 0)[0]}")
    if not weight.any():
        raise ValueError("sample_weight must have a positive value, but all values are zero")
    if not np.isfinite(weight.sum()):
        raise ValueError("sample_weight has an infinite sum; scale it down")
    return weight


def class_factors(class_weight: Any, classes: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Factor of the weights of each class; "balanced" makes the total weights equal."""
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str):  # "balanced"
        return totals.sum() / (len(classes) * totals)
    # a fold may lack a rare class, but weights for unknown classes only must be a mistake
    if class_weight and not any(label in classes for label in class_weight):
        raise ValueError(
            f"class_weight contains only classes that are not in y: {format_list(class_weight)}"
        )
    return np.array([class_weight.get(label, 1.0) for label in classes.tolist()])


def one_vs_rest_signs(codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Labels of the binary problems, +1 / −1: one row for K = 2 (class 1 is +1), else K rows."""
    positive = [1] if n_classes == 2 else range(n_classes)
    return np.stack([np.where(codes == k, 1.0, -1.0) for k in positive])


def one_vs_rest_scores(decisions: np.ndarray) -> np.ndarray:
    """Scores (n x K) from the decisions (n x 1 or n x K) of the binary problems."""
    return np.hstack([-decisions, decisions]) / 2 if decisions.shape[1] == 1 else decisions


def tie_break(prior: np.ndarray, size: float = 1e-9) -> np.ndarray:
    """Terms below ``size`` that break ties by the larger prior, then by the first class."""
    order = np.lexsort((np.arange(len(prior)), -prior))
    term = np.empty(len(prior))
    term[order] = size * np.arange(len(prior), 0, -1) / (len(prior) + 1)
    return term
