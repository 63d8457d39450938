"""Training rows without a label: guesses of a first fit join a second one, with little weight.

The left-out answers of the second fit are too good, because a guess may rest on the very row that
is left out. So the rows with a label are judged by the first fit, and the second one gets the
confidence that the first had: its scores are multiplied so that rows without a label, left out, are
on average as sure as they were.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import softmax
from sklearn.utils.validation import column_or_1d

from consilience._targets import check_labels, check_n_labels

__all__ = ["is_unlabelled", "match_confidence", "pseudo_label_weights", "read_partial_labels"]

PSEUDO_LABEL_WEIGHT = 0.3  # weight of a guess beside a label; see docs/results/default.md
MAX_LOG_FACTOR = 5.0  # limit of the logarithm of the factor


def is_unlabelled(y, marker):
    """Mask of the labels that are None, or the marker."""
    y = np.asarray(y)  # as it is: what is wrong with it is said elsewhere
    nan = _is_nan(marker)
    if y.dtype.kind != "O":
        marked = y != y if nan else (y == marker) & (marker is not None)
        return np.asarray(marked, dtype=bool).ravel()
    bare = np.array([label is None for label in y.ravel()], dtype=bool)
    if nan:
        bare |= np.array([_is_nan(label) for label in y.ravel()], dtype=bool)
    elif marker is not None:
        marked = [not _is_nan(label) and label == marker for label in y.ravel()]
        bare |= np.array(marked, dtype=bool)
    return bare


def _is_nan(label):
    try:
        return bool(label != label)
    except TypeError:  # pandas' NA is neither equal nor different
        return True


def read_partial_labels(y, bare, n_samples, method):
    """Checked labels where some rows have none (``bare``); what stands there means nothing."""
    y = column_or_1d(y)
    check_n_labels(y, n_samples)
    if bare.all():
        raise ValueError(f"{method} needs labels, but no training row has one")
    # beside None all labels are objects; without it they are what they look like
    labels = check_labels(np.array(y[~bare].tolist()), np.count_nonzero(~bare), method)
    out = np.full(n_samples, labels[0])
    out[~bare] = labels
    return out


def pseudo_label_weights(probabilities):
    """The most likely class of each row, and its weight beside rows with a label."""
    return probabilities.argmax(axis=1), PSEUDO_LABEL_WEIGHT * probabilities.max(axis=1)


def match_confidence(logits, confidence):
    """Factor of the logits (n x K) with which the most likely class has this mean probability."""

    def excess(log_factor):
        return softmax(np.exp(log_factor) * logits, axis=1).max(axis=1).mean() - confidence

    if excess(-MAX_LOG_FACTOR) >= 0:
        return np.exp(-MAX_LOG_FACTOR)
    if excess(MAX_LOG_FACTOR) <= 0:
        return np.exp(MAX_LOG_FACTOR)
    return np.exp(brentq(excess, -MAX_LOG_FACTOR, MAX_LOG_FACTOR, xtol=1e-6))
