"""Ties between classes with equally many votes, broken by small terms that are added to votes."""

from __future__ import annotations

import hashlib

import numpy as np
import scipy.sparse as sp

from consilience._targets import tie_break
from consilience.views import MultiViewData

__all__ = ["TIE_RULES", "break_ties"]

TIE_RULES = ("prior", "first", "random")
# much smaller than the least difference between sums of votes that are not equal
TERM_SIZE = 1e-9


def break_ties(
    scores: np.ndarray, rule: str, prior: np.ndarray, data: MultiViewData, seed: int
) -> np.ndarray:
    """Scores (n x K) plus terms that decide between equal ones, below ``TERM_SIZE``.

    A random choice depends on the seed and on the values of the row alone, so that the same row
    always has the same prediction.
    """
    terms = tie_break(prior if rule == "prior" else np.ones_like(prior), TERM_SIZE)
    if rule != "random":
        return scores + terms
    out = scores.copy()
    top = np.sort(scores, axis=1)[:, -2:]
    for row in np.flatnonzero(top[:, 1] - top[:, 0] < TERM_SIZE).tolist():
        order = np.random.default_rng([seed, _row_digest(data, row)]).permutation(len(prior))
        out[row] += terms[order]
    return out


def _row_digest(data: MultiViewData, row: int) -> int:
    digest = hashlib.blake2b(digest_size=8)
    for v, name in enumerate(data.view_names):
        digest.update(name.encode())
        if data.present[row, v]:
            values = data[name][[row]]
            dense = values.toarray() if sp.issparse(values) else values
            digest.update(np.ascontiguousarray(dense, dtype=np.float64).tobytes())
    return int.from_bytes(digest.digest(), "little")
