"""Conjugate gradients for several systems at once, each product of all of them one pass."""

from __future__ import annotations

import numpy as np

__all__ = ["conjugate_gradients"]


def conjugate_gradients(times, precondition, rhs, goal):
    """Approximate solutions (m x P) of P positive definite systems.

    Parameters
    ----------
    times, precondition : functions
        ``times(p, which)`` are the products of the systems ``which`` with the columns of p,
        ``precondition(r, which)`` those with their approximate inverses.
    rhs : array of shape (m, P)
        Right hand sides.
    goal : array of shape (P,)
        Norms of the residuals to reach.

    Returns
    -------
    array of shape (m, P)
    """
    left = np.arange(rhs.shape[1])
    x, r, p = np.zeros_like(rhs), rhs.copy(), precondition(rhs, left)
    rz = np.einsum("ij,ij->j", r, p)
    for _ in range(10 * len(rhs)):
        Hp = times(p[:, left], left)
        along = rz[left] / np.einsum("ij,ij->j", p[:, left], Hp)
        x[:, left] += along * p[:, left]
        r[:, left] -= along * Hp
        left = left[np.linalg.norm(r[:, left], axis=0) > goal[left]]
        if len(left) == 0:
            break
        z = precondition(r[:, left], left)
        new = np.einsum("ij,ij->j", r[:, left], z)
        p[:, left] = z + (new / rz[left]) * p[:, left]
        rz[left] = new
    return x
