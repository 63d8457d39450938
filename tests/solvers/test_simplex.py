from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from consilience._solvers.simplex import minimise_on_simplex, project_on_simplex

GOLDEN = Path(__file__).parents[1] / "golden" / "simplex.npz"


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=12))
def test_projection_is_the_nearest_point(z):
    z = np.array(z)
    x = project_on_simplex(z)
    assert (x >= 0).all()
    assert x.sum() == pytest.approx(1)
    # (z − x)·(vertex − x) <= 0 for every vertex
    assert ((z - x).max() - (z - x) @ x) <= 1e-7 * (1 + np.abs(z).max())


def test_projection_of_large_entries():
    """Beside them 1 would be lost."""
    np.testing.assert_array_equal(project_on_simplex([1e20, 0.0]), [1, 0])
    np.testing.assert_array_equal(project_on_simplex([1e20, 1e20]), [0.5, 0.5])


@given(st.integers(1, 8), st.integers(0, 100_000), st.booleans())
def test_quadratic(V, seed, flat):
    rng = np.random.RandomState(seed)
    A = rng.randn(max(1, V // 2) if flat else V + 2, V)  # flat: no unique minimum
    b = 3 * rng.randn(V)

    def oracle(x):
        return 0.5 * np.sum((A @ x) ** 2) + b @ x, A.T @ (A @ x) + b, A.T @ A

    x, gap = minimise_on_simplex(oracle, np.full(V, 1 / V))
    value = oracle(x)[0]
    assert gap <= 1e-9 * (1 + abs(value))
    solution = minimize(
        lambda x: oracle(x)[0],
        np.full(V, 1 / V),
        jac=lambda x: oracle(x)[1],
        bounds=[(0, 1)] * V,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1},
        method="SLSQP",
    )
    assert value <= solution.fun + 1e-6 * (1 + abs(solution.fun))


def test_golden():
    g = np.load(GOLDEN)
    names = g.files
    inputs, outputs = (g[name] for name in names[:2])
    for z, x in zip(np.atleast_2d(inputs), np.atleast_2d(outputs), strict=True):
        np.testing.assert_allclose(project_on_simplex(z), x, rtol=0, atol=1e-10)
