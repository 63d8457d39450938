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
    origin: dict

    def __repr__(self):
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.origin.items())
        return f"make_problem({arguments})"

    def _repr_pretty_(self, printer, cycle):  # the arrays are too long for a report
        printer.text(repr(self))

    @property
    def n_views(self):
        return len(self.Xs)


def make_problem(
    seed,
    n_samples,
    n_views,
    strength,
    *,
    dependent=False,
    sparse=False,
    missing=False,
    repeated=False,
    weighted=False,
):
    """Views of 1 to 7 columns; dependent columns, missing views, repeated and weighted rows."""
    origin, rng, n = dict(locals()), np.random.RandomState(seed), n_samples
    y = np.where(rng.rand(n) < 0.4, 1.0, -1.0)
    y[:2] = 1, -1
    Xs = []
    for _ in range(n_views):
        d = rng.randint(1, 8)
        X = rng.randn(n, d) + strength * y[:, None] * rng.randn(d)
        if sparse:
            X *= rng.rand(n, d) < 0.5
        if dependent:
            X = np.hstack([X, X[:, :1], X @ rng.randn(d, 2)])
        Xs.append(X)
    present = np.ones((n, n_views), dtype=bool)
    if missing:
        present[np.arange(2, n), rng.randint(0, n_views, n - 2)] = rng.rand(n - 2) < 0.6
    if repeated:
        rows = np.r_[np.arange(n), rng.randint(0, n, n // 3)][: max(n, 60)]
        Xs, present, y = [X[rows] for X in Xs], present[rows], y[rows]
    weight = rng.randint(1, 4, len(y)).astype(float) if weighted else np.ones(len(y))
    Xs = [np.where(present[:, [v]], X, 0.0) for v, X in enumerate(Xs)]
    stored = [sp.csr_array(X) for X in Xs] if sparse else Xs
    return Problem(Xs, stored, present, y, weight, origin)


@st.composite
def problems(draw, max_views=5):
    """Separable or not, with all that ``make_problem`` offers."""
    seed, n = draw(st.integers(0, 1_000_000)), draw(st.integers(6, 60))
    n_views = draw(st.integers(1, max_views))
    return make_problem(
        seed,
        n,
        n_views,
        strength=draw(st.sampled_from([0.0, 0.5, 5.0])),
        dependent=draw(st.booleans()),
        sparse=draw(st.booleans()),
        missing=n_views > 1 and draw(st.booleans()),
        repeated=draw(st.booleans()),
        weighted=draw(st.booleans()),
    )
