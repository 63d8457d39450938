"""The Gaussian kernel, written out."""

import numpy as np


def rbf_epilogue(products, x_norms, z_norms, gamma):
    """exp(−γ·max(0, |x|² + |z|² − 2xz)) in double precision."""
    P, x, z = (np.asarray(a, dtype=np.float64) for a in (products, x_norms, z_norms))
    return np.exp(-gamma * np.maximum(0.0, x[:, None] + z[None, :] - 2 * P))


def combined_rbf(products, x_norms, z_norms, factors, weights, width):
    """½ [Σ_v w_v exp(−f D_v) + exp(−f Σ_v w_v D_v)] in double precision."""
    P, x, z = (np.asarray(a, dtype=np.float64) for a in (products, x_norms, z_norms))
    total, mean = 0.0, 0.0
    for v, (factor, weight) in enumerate(zip(factors, weights, strict=True)):
        D = factor * np.maximum(0.0, x[v][:, None] + z[v][None, :] - 2 * P[v])
        total = total + weight * np.exp(-width * D)
        mean = mean + weight * D
    return 0.5 * (total + np.exp(-width * mean))
