"""False discovery rates: q-values from probabilities."""

from __future__ import annotations

import numpy as np

__all__ = ["q_values_of_probabilities"]


def q_values_of_probabilities(probabilities: np.ndarray) -> np.ndarray:
    """Mean probability of error among the rows that are at least as probable.

    ``probabilities`` are those that a claim about the row is right.
    """
    order = np.argsort(-probabilities, kind="stable")
    q = np.empty(len(probabilities))
    q[order] = np.cumsum(1.0 - probabilities[order]) / np.arange(1, len(order) + 1)
    return q
