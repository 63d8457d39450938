"""Slacks of coupled margins: enumeration, finite differences, special cases."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience._solvers.water_filling import Curvature, coupling, water_fill
from reference.margin import slacks_by_enumeration


@given(st.integers(0, 1_000_000), st.integers(1, 5), st.floats(0, 0.99), st.floats(0.1, 30))
def test_equals_enumeration(seed, V, alpha, c):
    rng = np.random.RandomState(seed)
    U = rng.randn(20, V) + rng.randn()
    U[rng.rand(20, V) < 0.2] = 0.0  # free slacks
    a, b = coupling(c, alpha, V)
    lam = water_fill(U, a, b)
    for u, ours in zip(U, lam, strict=True):
        best, value = slacks_by_enumeration(u, a, b)
        np.testing.assert_allclose(ours, best, rtol=1e-8, atol=1e-10 / a)
        assert ours @ u / 2 == pytest.approx(value)


@pytest.mark.parametrize("V", [1, 2, 3, 5])
def test_coupling_is_the_inverse(V):
    c, alpha = 3.0, 0.7
    W = (np.ones((V, V)) - np.eye(V)) / (V - 1) if V > 1 else np.zeros((1, 1))
    a, b = coupling(c, alpha, V)
    inverse = np.linalg.inv(np.eye(V) - alpha * W) / c**2
    np.testing.assert_allclose(a * np.eye(V) + b, inverse)


@pytest.mark.parametrize("V", [1, 2, 4])
def test_curvature_is_the_derivative(V):
    rng = np.random.RandomState(0)
    U, dU = rng.randn(50, V), rng.randn(50, V)
    a, b = coupling(1.5, 0.6, V)
    step = 1e-7
    lam, ahead = water_fill(U, a, b), water_fill(U + step * dU, a, b)
    same = ((lam > 0) == (ahead > 0)).all(axis=1)
    assert same.sum() > 40
    curvature = Curvature(lam, a, b)
    derivative = curvature.multiply(dU)
    np.testing.assert_allclose(((ahead - lam) / step)[same], derivative[same], atol=1e-5)
    entries = [[curvature.block(u, v) for v in range(V)] for u in range(V)]
    np.testing.assert_allclose(np.einsum("uvi,iv->iu", entries, dU), derivative)
    np.testing.assert_allclose(np.einsum("uui->iu", entries), curvature.diagonal())


def test_one_view():
    """max_λ≥0 λu − ½ (a + b) λ²."""
    np.testing.assert_allclose(water_fill(np.array([[3.0], [-1.0]]), 0.5, 1.0), [[2.0], [0.0]])


def test_input_is_left_alone():
    U = np.array([[1.0, -1.0], [0.5, 2.0]])
    U.flags.writeable = False
    assert (water_fill(U, 0.5, 0.5) >= 0).all()
    # the smaller slack may stay below the level of the larger
    np.testing.assert_allclose(water_fill(np.array([[1.0, 0.1]]), 0.1, 0.9), [[1.0, 0.0]])
