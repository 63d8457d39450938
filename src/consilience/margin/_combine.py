"""From the views' decisions to one, and how much each view adds to it."""

from __future__ import annotations

import numpy as np

from consilience._targets import one_vs_rest_scores

__all__ = ["accuracy", "combine_views", "normalise", "view_contributions"]


def combine_views(
    decisions: np.ndarray, shares: np.ndarray, chosen: int | None = None
) -> np.ndarray:
    """Decisions n x P: of the chosen view where it is present, else the mean of those present.

    The mean leaves out views of share 0; rows that have no other view get 0.
    """
    has_decision = ~np.isnan(decisions[:, :, 0])
    is_present = has_decision & (shares > 0)
    shares = shares * is_present
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)
    out = np.einsum("iv,ivp->ip", shares, np.where(is_present[:, :, None], decisions, 0.0))
    if chosen is not None:
        rows = has_decision[:, chosen]
        out[rows] = decisions[rows, chosen]
    return out


def accuracy(decisions: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> float:
    """Weighted share of the rows whose class has the largest score."""
    is_right = one_vs_rest_scores(decisions).argmax(axis=1) == codes
    return float(np.average(is_right, weights=weight))


def view_contributions(decisions: np.ndarray, signs: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Each view's share of what the views add to the margins over a constant decision.

    Decisions are n x V x P, NaN where a view is missing; signs P x n.
    """
    is_present = ~np.isnan(decisions)
    f = np.where(is_present, decisions, 0.0)
    mass = np.maximum((weight[:, None, None] * is_present).sum(axis=0), 1e-300)
    mean = np.einsum("i,ivp->vp", weight, f) / mass
    gains = np.einsum("i,ivp,pi->v", weight, np.where(is_present, f - mean, 0.0), signs)
    return normalise(gains)


def normalise(gains: np.ndarray) -> np.ndarray:
    """The positive gains as shares with sum 1; equal shares if there are none."""
    gains = np.maximum(gains, 0.0)
    total = gains.sum()
    return gains / total if total > 0 else np.full(len(gains), 1 / len(gains))
