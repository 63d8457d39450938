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

__all__ = ["fit_pool", "out_of_fold_error"]

# constants in units of a row's log loss; their choice is in docs/results/default.md
APART = 1.0  # against factors that differ, by the square of the logarithm
SIZE = 1.0  # against factors far from ``USUAL``
USUAL = 5.0
LEAN = 0.1  # against β
ROWS = 5000  # rows that are enough for so few numbers


def out_of_fold_error(scores, codes, weight):
    """Weighted share of rows whose left-out prediction is wrong."""
    return float(weight @ (scores.argmax(axis=1) != codes) / weight.sum())


def fit_pool(answers, codes, weight, prior):
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
    answers, codes, weight = answers[:, :ROWS], codes[:ROWS], weight[:ROWS]
    n_members, rows = len(answers), np.arange(len(codes))
    lean = np.log(prior) - np.log(prior).mean()

    def loss(theta):
        logs, beta = theta[:-1], theta[-1]
        factors, spread, size = np.exp(logs), logs - logs.mean(), logs.mean() - np.log(USUAL)
        logits = np.tensordot(factors, answers, axes=1) + beta * lean
        norms = logsumexp(logits, axis=1)
        slope = weight[:, None] * np.exp(logits - norms[:, None])
        slope[rows, codes] -= weight
        value = weight @ (norms - logits[rows, codes])
        value += APART * spread @ spread + SIZE * size**2 + LEAN * beta**2
        gradient = factors * np.einsum("mnk,nk->m", answers, slope)
        gradient += 2 * APART * spread + 2 * SIZE * size / n_members
        return value, np.append(gradient, slope.sum(axis=0) @ lean + 2 * LEAN * beta)

    start = np.append(np.full(n_members, np.log(USUAL)), 0.0)
    theta = minimize(loss, start, jac=True, method="L-BFGS-B").x
    return np.exp(theta[:-1]), theta[-1] * lean
