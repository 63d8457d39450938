"""Random problems for the margin methods."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st


@dataclass(repr=False)
class Problem:
    """Dense views, the same as they are stored, labels ±1, weights."""

    Xs: list
    stored: list
    present: np.ndarray
    y: np.ndarray
    weight: np.ndarray

    def __repr__(self):  # the arrays are too long to be read
        widths = [X.shape[1] for X in self.Xs]
        return f"Problem({len(self.y)} rows, views {widths}, {self.present.mean():.0%} present)"

    @property
    def n_views(self):
        return len(self.Xs)


@st.composite
def problems(draw, max_views=5):
    """Separable or not; with duplicates, dependent columns, missing views, weights; CSR too."""
    rng = np.random.RandomState(draw(st.integers(0, 1_000_000)))
    n, V = draw(st.integers(6, 60)), draw(st.integers(1, max_views))
    y = np.where(rng.rand(n) < 0.4, 1.0, -1.0)
    y[:2] = 1, -1
    strength = draw(st.sampled_from([0.0, 0.5, 5.0]))
    dependent, sparse = draw(st.booleans()), draw(st.booleans())
    Xs = []
    for _ in range(V):
        d = rng.randint(1, 8)
        X = rng.randn(n, d) + strength * y[:, None] * rng.randn(d)
        if sparse:
            X *= rng.rand(n, d) < 0.5
        if dependent:
            X = np.hstack([X, X[:, :1], X @ rng.randn(d, 2)])
        Xs.append(X)
    present = np.ones((n, V), dtype=bool)
    if V > 1 and draw(st.booleans()):
        present[np.arange(2, n), rng.randint(0, V, n - 2)] = rng.rand(n - 2) < 0.6
    if draw(st.booleans()):
        twice = rng.randint(0, n, n // 3)
        rows = np.r_[np.arange(n), twice][: max(n, 60)]
        Xs, present, y = [X[rows] for X in Xs], present[rows], y[rows]
    weight = rng.randint(1, 4, len(y)).astype(float) if draw(st.booleans()) else np.ones(len(y))
    Xs = [np.where(present[:, [v]], X, 0.0) for v, X in enumerate(Xs)]
    stored = [sp.csr_array(X) for X in Xs] if sparse else Xs
    return Problem(Xs, stored, present, y, weight)
