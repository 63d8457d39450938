"""The Gaussian kernel, written out."""

import numpy as np


def rbf_epilogue(products, x_norms, z_norms, gamma):
    """exp(−γ·max(0, |x|² + |z|² − 2xz)) in double precision."""
    P, x, z = (np.asarray(a, dtype=np.float64) for a in (products, x_norms, z_norms))
    return np.exp(-gamma * np.maximum(0.0, x[:, None] + z[None, :] - 2 * P))
