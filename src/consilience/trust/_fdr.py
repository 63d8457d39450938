"""False discovery rates: q-values from p-values and from probabilities."""

from __future__ import annotations

import numpy as np

__all__ = ["q_values_of_p_values", "q_values_of_probabilities"]

STOREY_LAMBDA = 0.5


def q_values_of_p_values(p: np.ndarray) -> np.ndarray:
    """Storey's q-values: the least rate of false discoveries at which each would be claimed.

    The share of true null hypotheses is estimated as (1 + #{p > λ}) / ((1 − λ) m), which keeps the
    rate below the limit for independent p-values (J. Storey, J. Taylor and D. Siegmund, "Strong
    control, conservative point estimation and simultaneous conservative consistency of false
    discovery rates", JRSS B 66, 2004).
    """
    m = len(p)
    if m == 0:
        return np.empty(0)
    null_share = min(1.0, (1 + (p > STOREY_LAMBDA).sum()) / ((1 - STOREY_LAMBDA) * m))
    order = np.argsort(p, kind="stable")
    rates = null_share * p[order] * m / np.arange(1, m + 1)
    q = np.empty(m)
    q[order] = np.minimum.accumulate(rates[::-1])[::-1]
    return np.minimum(q, 1.0)


def q_values_of_probabilities(probabilities: np.ndarray) -> np.ndarray:
    """Mean probability of error among the rows that are at least as probable.

    ``probabilities`` are those that a claim about the row is right.
    """
    order = np.argsort(-probabilities, kind="stable")
    q = np.empty(len(probabilities))
    q[order] = np.cumsum(1.0 - probabilities[order]) / np.arange(1, len(order) + 1)
    return q
