"""Steps of the search for mix-ups: how well does each sample's own pair of views fit?

``pair_evidence`` scores all pairs of a view of sample i and other views of sample j. Pairs of two
different samples show which scores views that do not belong together have; in units in which these
are normal, N(0, 1), those of the samples themselves are a mixture

    (1 − π) t_ν(m, τ) + π N(0, 1)

of matched and mismatched ones, m their median. The tails of matched samples are heavy, whence
Student's t, and heavier below the median than above it, so that only samples below it are fitted,
by the lower halves of both distributions. A suspect is confirmed by a partner: if views were
exchanged within the data, another suspect's view fits better than chance would have it, which
p-values against the samples above suspicion show. Those of mismatched samples have density
κ p^(κ − 1), with κ estimated.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln, ndtr, ndtri

__all__ = [
    "fit_mixture",
    "own_scores",
    "partner_p_values",
    "pool_with_partners",
    "standard_scores",
]

DEGREES_OF_FREEDOM = 5.0
MAX_SHARE = 0.3  # of mismatched samples
N_ITERATIONS = 200
N_RANDOM_PAIRS = 200_000
MIN_KAPPA = 0.1
QUARTILE = 0.674  # of the normal distribution
TINY = 1e-12
LOG_T_NORM = float(
    gammaln((DEGREES_OF_FREEDOM + 1) / 2)
    - gammaln(DEGREES_OF_FREEDOM / 2)
    - 0.5 * np.log(DEGREES_OF_FREEDOM * np.pi)
)


def standard_scores(S: np.ndarray) -> np.ndarray:
    """Scores (n x n) minus the mean and over the spread of all wrong pairs of both samples."""
    n, own = len(S), np.diag(S)
    mean = (S.sum(axis=0) + S.sum(axis=1) - 2 * own) / (2 * (n - 1))
    square = np.einsum("ij,ij->j", S, S) + np.einsum("ij,ij->i", S, S) - 2 * own**2
    variance = np.maximum(square / (2 * (n - 1)) - mean**2, TINY)
    Z = S - (mean[:, None] + mean) / 2
    Z /= np.sqrt((variance[:, None] + variance) / 2)
    return Z


def own_scores(Z: np.ndarray) -> np.ndarray:
    """Normal scores of the samples' own pairs among pairs of different samples."""
    n, rng = len(Z), np.random.RandomState(0)
    i = rng.randint(n, size=N_RANDOM_PAIRS)
    j = (i + 1 + rng.randint(n - 1, size=N_RANDOM_PAIRS)) % n
    others = np.sort(Z[i, j])
    rank = np.searchsorted(others, np.diag(Z), side="left")
    return ndtri((rank + 0.5) / (len(others) + 1))


def _log_t(z: np.ndarray, mu: float, tau: float) -> np.ndarray:
    nu = DEGREES_OF_FREEDOM
    return LOG_T_NORM - np.log(tau) - (nu + 1) / 2 * np.log1p(((z - mu) / tau) ** 2 / nu)


def fit_mixture(z: np.ndarray) -> tuple[np.ndarray, float]:
    """Probability of each sample to be mismatched, 0 above the median, and their share, by EM."""
    nu, share, middle = DEGREES_OF_FREEDOM, 0.1, float(np.median(z))
    is_low = z <= middle
    low = z[is_low]
    tau = max((middle - float(np.percentile(z, 25))) / QUARTILE, 0.2)
    log_normal = -0.5 * low**2 - 0.5 * np.log(2 * np.pi) - np.log(ndtr(middle))
    for _ in range(N_ITERATIONS):
        log_matched = np.log(2.0) + _log_t(low, middle, tau)
        log_odds = np.log(share / (1 - share)) + log_normal - log_matched
        p = 1.0 / (1.0 + np.exp(-np.clip(log_odds, -50, 50)))
        before = share, tau
        share = float(np.clip(p.mean(), 1e-6, 2 * MAX_SHARE))
        weight = (1 - p) * (nu + 1) / (nu + ((low - middle) / tau) ** 2)
        tau = max(float(np.sqrt(weight @ (low - middle) ** 2 / (1 - p).sum())), 0.1)
        if (share, tau) == before:
            break
    out = np.zeros(len(z))
    out[is_low] = p
    return out, float(out.mean())


def partner_p_values(Z: np.ndarray, suspects: np.ndarray) -> np.ndarray:
    """Share of samples above suspicion whose best partners among the suspects fit as well."""
    rows, columns, numbers = Z[suspects], Z[:, suspects], np.arange(len(suspects))
    rows[numbers, suspects] = columns[suspects, numbers] = -np.inf
    best = columns.max(axis=1) + rows.max(axis=0)
    others = np.sort(np.delete(best, suspects))
    above = len(others) - np.searchsorted(others, best[suspects], side="left")
    return (1 + above) / (1 + len(others))


def pool_with_partners(p: np.ndarray, partner_p: np.ndarray) -> np.ndarray:
    """Probabilities after the evidence of the partners' p-values, with κ by EM."""
    odds, out = p / np.maximum(1 - p, TINY), p
    for _ in range(N_ITERATIONS):
        kappa = out.sum() / max(-float(out @ np.log(partner_p)), TINY)
        kappa = float(np.clip(kappa, MIN_KAPPA, 1.0))
        pooled = odds * kappa * partner_p ** (kappa - 1)
        out = pooled / (1 + pooled)
    return out
