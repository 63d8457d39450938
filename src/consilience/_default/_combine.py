"""How much each member counts, and what the combined score means as a probability.

The members' scores are pooled as logits,  z_k = Σ_m a_m s_mk + β log π_k,  with a_m > 0 and π the
shares of the classes, so that softmax(z) has the least log loss on rows left out. Everything is
held back: the factors towards each other and towards a common size, β towards 0. A member that
fails loses its say, members that do alike count alike, and β takes back what a member lends to
the frequent classes; with equal shares it changes nothing.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp

__all__ = ["fit_stacking_weights", "out_of_fold_error"]

# constants in units of a row's log loss; their choice is in docs/results/default.md
SPREAD_PENALTY = 1.0  # against factors that differ, by the square of the logarithm
SCALE_PENALTY = 1.0  # against factors far from ``TYPICAL_FACTOR``
TYPICAL_FACTOR = 5.0
PRIOR_PENALTY = 0.1  # against β
MAX_ROWS = 5000  # rows that are enough for so few numbers


def out_of_fold_error(scores, codes, weight):
    """Weighted share of rows whose left-out prediction is wrong."""
    return float(weight @ (scores.argmax(axis=1) != codes) / weight.sum())


def fit_stacking_weights(scores, codes, weight, prior):
    """Factors (M) and bias (K) of least held-back log loss.

    Parameters
    ----------
    answers : array of shape (M, n, K)
        Scores of the members for rows they have not seen.
    codes, weight : arrays of shape (n,)
        Classes and weights, which are 1 in the mean.
    prior : array of shape (K,)
        Shares of the classes.
    """
    scores, codes, weight = scores[:, :MAX_ROWS], codes[:MAX_ROWS], weight[:MAX_ROWS]
    n_members, rows = len(scores), np.arange(len(codes))
    log_prior = np.log(prior) - np.log(prior).mean()

    def loss(theta):
        logs, beta = theta[:-1], theta[-1]
        factors, spread, size = (
            np.exp(logs),
            logs - logs.mean(),
            logs.mean() - np.log(TYPICAL_FACTOR),
        )
        logits = np.tensordot(factors, scores, axes=1) + beta * log_prior
        norms = logsumexp(logits, axis=1)
        slope = weight[:, None] * np.exp(logits - norms[:, None])
        slope[rows, codes] -= weight
        value = weight @ (norms - logits[rows, codes])
        value += (
            SPREAD_PENALTY * spread @ spread + SCALE_PENALTY * size**2 + PRIOR_PENALTY * beta**2
        )
        gradient = factors * np.einsum("mnk,nk->m", scores, slope)
        gradient += 2 * SPREAD_PENALTY * spread + 2 * SCALE_PENALTY * size / n_members
        return value, np.append(gradient, slope.sum(axis=0) @ log_prior + 2 * PRIOR_PENALTY * beta)

    start = np.append(np.full(n_members, np.log(TYPICAL_FACTOR)), 0.0)
    theta = minimize(loss, start, jac=True, method="L-BFGS-B").x
    return np.exp(theta[:-1]), theta[-1] * log_prior
