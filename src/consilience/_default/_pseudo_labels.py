"""Training rows without a label: predictions of a first fit join a second one at a low weight.

Left-out scores of the second fit are too optimistic, because the pseudo-labels of other rows may
rest on the very row that is left out. So the scores reported for labelled rows are those of the
first fit, and the second fit is made as confident as the first: its logits are multiplied by a
factor with which unlabelled rows, left out, are on average as confident as before.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import softmax
from sklearn.utils.validation import column_or_1d

from consilience._targets import check_labels, check_n_labels, keep_label_types
from consilience.views._storage import is_nan

__all__ = [
    "add_pseudo_labels",
    "check_marker",
    "is_unlabelled",
    "match_confidence",
    "pseudo_label_weights",
    "read_partial_labels",
]

# weight of a certain pseudo-label relative to a label; see docs/results/default-log.md
PSEUDO_LABEL_WEIGHT = 0.3
MAX_LOG_FACTOR = 5.0  # bound of the logarithm of the factor


def as_label_array(y: Any) -> np.ndarray:
    """Labels as an array; a list of texts and numbers, such as a marker, keeps its objects."""
    try:
        return np.asarray(keep_label_types(y))
    except ValueError as error:
        raise ValueError(f"y must be one label for each sample: {error}") from error


def is_unlabelled(y: Any, marker: Any) -> np.ndarray:
    """Mask of the labels that are None or equal to the marker."""
    y = as_label_array(y)  # the base class validates the labels
    nan = is_nan(marker)
    if y.dtype.kind != "O":
        marked = y != y if nan else (y == marker) & (marker is not None)
        return np.asarray(marked, dtype=bool).ravel()
    bare = np.array([label is None for label in y.ravel()], dtype=bool)
    if nan:
        bare |= np.array([is_nan(label) for label in y.ravel()], dtype=bool)
    elif marker is not None:
        marked = [not is_nan(label) and label == marker for label in y.ravel()]
        bare |= np.array(marked, dtype=bool)
    return bare


def check_marker(y: Any, marker: Any) -> None:
    """Raise an error if no label equals the marker, but one is spelled like it.

    Such as "-1" in a column that was read as text, or "nan" in texts that NumPy made of NaN.
    """
    labels = as_label_array(y)
    if marker is None or labels.dtype.kind not in ("biuf" if isinstance(marker, str) else "OU"):
        return
    for label in labels.ravel().tolist():
        if isinstance(label, str) != isinstance(marker, str) and str(label) == str(marker):
            raise ValueError(
                f"unlabelled={marker!r} is {'a' if isinstance(marker, str) else 'no'} text, but y "
                f"has the label {label!r}; use unlabelled={label!r}"
            )


def read_partial_labels(y: Any, bare: np.ndarray, n_samples: int, method: str) -> np.ndarray:
    """Checked labels where some rows (``bare``) have none; those get an arbitrary label."""
    y = column_or_1d(as_label_array(y))
    check_n_labels(y, n_samples)
    if bare.all():
        raise ValueError(f"{method} needs labels, but no training row has one")
    # None turns all labels into objects; without it they have a type of their own
    labels = as_label_array(y[~bare].tolist())
    labels = check_labels(labels, int(np.count_nonzero(~bare)), method)
    out = np.full(n_samples, labels[0])
    out[~bare] = labels
    return out


def pseudo_label_weights(probabilities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The most likely class of each row, and its weight relative to rows with a label."""
    return probabilities.argmax(axis=1), PSEUDO_LABEL_WEIGHT * probabilities.max(axis=1)


def add_pseudo_labels(
    codes: np.ndarray, weight: np.ndarray, labelled: np.ndarray, probabilities: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return codes and weights in which the unlabelled rows have their most likely class."""
    pseudo_codes, factors = pseudo_label_weights(probabilities)
    codes, weight = codes.copy(), weight.copy()
    codes[~labelled] = pseudo_codes
    weight[~labelled] *= factors
    return codes, weight


def match_confidence(logits: np.ndarray, confidence: float) -> float:
    """Factor of the logits (n x K) with which the most likely class has this mean probability.

    Without any row it is 1.
    """
    if len(logits) == 0:
        return 1.0

    def excess(log_factor: float) -> float:
        return softmax(np.exp(log_factor) * logits, axis=1).max(axis=1).mean() - confidence

    if excess(-MAX_LOG_FACTOR) >= 0:
        return float(np.exp(-MAX_LOG_FACTOR))
    if excess(MAX_LOG_FACTOR) <= 0:
        return float(np.exp(MAX_LOG_FACTOR))
    return float(np.exp(brentq(excess, -MAX_LOG_FACTOR, MAX_LOG_FACTOR, xtol=1e-6)))
