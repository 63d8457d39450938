"""From the views' decisions to one, and how much each view adds to it."""

from __future__ import annotations

import numpy as np

from consilience._targets import one_vs_rest_scores

__all__ = ["accuracy", "combine_views", "view_contributions"]


def combine_views(decisions, shares, chosen=None):
    """Decisions n x P: of the chosen view where it is there, else the mean of those that are.

    Views of share 0 are left out, rows that have no other get 0.
    """
    is_present = ~np.isnan(decisions[:, :, 0]) & (shares > 0)
    shares = shares * is_present
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)
    out = np.einsum("iv,ivp->ip", shares, np.where(is_present[:, :, None], decisions, 0.0))
    if chosen is not None:
        rows = is_present[:, chosen]
        out[rows] = decisions[rows, chosen]
    return out


def accuracy(decisions, codes, weight):
    """Weighted share of the rows whose class has the largest score."""
    return np.average(one_vs_rest_scores(decisions).argmax(axis=1) == codes, weights=weight)


def view_contributions(decisions, signs, weight):
    """Each view's share of what the views add to the margins over a constant answer."""
    is_present = ~np.isnan(decisions)
    f = np.where(is_present, decisions, 0.0)
    mass = np.maximum((weight[:, None, None] * is_present).sum(axis=0), 1e-300)
    mean = np.einsum("i,ivp->vp", weight, f) / mass
    gains = np.einsum("i,ivp,pi->v", weight, np.where(is_present, f - mean, 0.0), signs)
    gains = np.maximum(gains, 0.0)
    total = gains.sum()
    return gains / total if total > 0 else np.full(len(gains), 1 / len(gains))
