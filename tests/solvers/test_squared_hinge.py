"""Squared hinge machines: optimality, agreement of all ways, blocks and weights."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.svm import LinearSVC

from consilience._solvers import row_sums, squared_hinge
from consilience._solvers.row_sums import InMemoryRows, loss_and_gradient
from consilience._solvers.squared_hinge import evaluate, minimise_squared_hinge
from reference.landmark import squared_hinge as reference


def problem(n, d, P, seed, dtype=np.float64):
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n, d)).astype(dtype)
    F = X @ rng.standard_normal((d, P)) + 0.5 + rng.standard_normal((n, P))
    return X, np.where(F > 0, 1.0, -1.0), rng.random_sample(n) + 0.1, rng


@st.composite
def problems(draw):
    n, d, P = draw(st.integers(2, 80)), draw(st.integers(1, 20)), draw(st.integers(1, 4))
    X, signs, cost, rng = problem(n, d, P, draw(st.integers(0, 10_000)))
    cost *= 10 ** draw(st.floats(-2, 3))
    return X, signs, cost, draw(st.booleans()), rng


@given(problem=problems())
def test_equals_the_reference(problem):
    X, signs, cost, intercept, rng = problem
    rows = InMemoryRows(X, signs, cost, intercept=intercept)
    solution = minimise_squared_hinge(rows, random_state=rng)
    assert solution.converged
    expected = np.stack([reference(X, y, cost, intercept) for y in signs.T], axis=1)
    every = np.arange(signs.shape[1])
    ours, theirs = (evaluate(rows, theta, every)[0] for theta in (solution.theta, expected))
    assert (ours <= theirs * (1 + 1e-9) + 1e-12).all()
    np.testing.assert_allclose(
        solution.theta[:-1], expected[:-1], atol=1e-5 * (1 + np.abs(expected).max())
    )
    if not intercept:
        assert (solution.theta[-1] == 0).all()


@given(problem=problems())
def test_gradient_is_that_of_the_objective(problem):
    X, signs, cost, intercept, rng = problem
    rows, every = InMemoryRows(X, signs, cost, intercept=intercept), np.arange(signs.shape[1])
    theta, move = rng.standard_normal((2, X.shape[1] + 1, signs.shape[1]))
    h = 1e-6
    up, down = (evaluate(rows, theta + t * move, every)[0] for t in (h, -h))
    slope = (evaluate(rows, theta, every)[1] * move).sum(axis=0)
    np.testing.assert_allclose((up - down) / (2 * h), slope, rtol=1e-4, atol=1e-4 * cost.sum())


@pytest.fixture
def small(monkeypatch):
    """Limits so low that samples, blocks and groups are used on small data."""
    monkeypatch.setattr(row_sums, "BLOCK_ENTRIES", 700)
    monkeypatch.setattr(squared_hinge, "DIRECT_MAX_COLUMNS", 2)
    monkeypatch.setattr(squared_hinge, "SAMPLE_ROWS_PER_COLUMN", 4)
    monkeypatch.setattr(squared_hinge, "MIN_SAMPLE_ROWS", 40)
    monkeypatch.setattr(squared_hinge, "WIDE_SAMPLE_ROWS", 50)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_all_ways_agree(small, monkeypatch, intercept, scale):
    X, signs, cost, _ = problem(400, 12, 3, 0)
    solve = lambda method: minimise_squared_hinge(  # noqa: E731
        InMemoryRows(X, signs, scale * cost, intercept=intercept),
        method=method,
        tol=1e-10,
        random_state=np.random.RandomState(0),
    )
    expected = solve("direct")
    assert expected.converged
    for method in ("cg", "auto"):
        solution = solve(method)
        assert solution.converged
        np.testing.assert_allclose(solution.theta, expected.theta, rtol=1e-7, atol=1e-9)
    # few problems at a time, and systems of the rows
    monkeypatch.setattr(squared_hinge, "MAX_HESSIAN_ENTRIES", 1)
    np.testing.assert_allclose(solve("auto").theta, expected.theta, rtol=1e-7, atol=1e-9)
    monkeypatch.setattr(squared_hinge, "HESSIAN_MAX_COLUMNS", 3)
    np.testing.assert_allclose(solve("auto").theta, expected.theta, rtol=1e-6, atol=1e-8)


def test_more_columns_than_rows():
    X, signs, cost, rng = problem(60, 1500, 2, 0)
    solution = minimise_squared_hinge(InMemoryRows(X, signs, cost), tol=1e-9, random_state=rng)
    assert solution.converged
    assert solution.n_iter < 20
    Q, R = np.linalg.qr(X.T)
    inside = minimise_squared_hinge(InMemoryRows(R.T, signs, cost), tol=1e-9, random_state=rng)
    np.testing.assert_allclose(solution.theta[:-1], Q @ inside.theta[:-1], atol=1e-6)


def test_same_as_liblinear():
    X, signs, _, rng = problem(300, 10, 1, 0)
    solution = minimise_squared_hinge(
        InMemoryRows(X, signs, 0.3 * np.ones(300), intercept=False), random_state=rng
    )
    theirs = LinearSVC(C=0.3, fit_intercept=False, dual=False, tol=1e-10).fit(X, signs[:, 0])
    np.testing.assert_allclose(solution.theta[:-1, 0], theirs.coef_[0], atol=1e-6)


def test_sums_do_not_depend_on_blocks_or_threads(monkeypatch):
    X, signs, cost, rng = problem(500, 7, 3, 0)
    theta, every = rng.standard_normal((8, 3)), np.arange(3)
    whole = InMemoryRows(X, signs, cost).sum(loss_and_gradient, theta, every)
    monkeypatch.setattr(row_sums, "BLOCK_ENTRIES", 100)
    parts = InMemoryRows(X, signs, cost)
    assert len(parts.blocks) > 10
    cut = parts.sum(loss_and_gradient, theta, every)
    threads = InMemoryRows(X, signs, cost, n_jobs=4).sum(loss_and_gradient, theta, every)
    for a, b, c in zip(whole, cut, threads, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(b, c)


def test_float32_rows_are_summed_in_float64():
    X, signs, cost, _ = problem(300, 9, 2, 0, np.float32)
    single, double = (
        minimise_squared_hinge(InMemoryRows(A, signs, cost), random_state=np.random.RandomState(0))
        for A in (X, X.astype(np.float64))
    )
    np.testing.assert_array_equal(single.theta, double.theta)


def test_weights_are_repetitions():
    X, signs, cost, rng = problem(50, 5, 2, 0)
    count = rng.randint(1, 4, size=50)
    rows = np.repeat(np.arange(50), count)
    once = minimise_squared_hinge(InMemoryRows(X, signs, cost * count), random_state=rng)
    again = minimise_squared_hinge(InMemoryRows(X[rows], signs[rows], cost[rows]), random_state=rng)
    np.testing.assert_allclose(once.theta, again.theta, atol=1e-9)


def test_one_sign_only():
    X, signs, cost, rng = problem(30, 3, 1, 0)
    solution = minimise_squared_hinge(InMemoryRows(X, np.ones_like(signs), cost), random_state=rng)
    np.testing.assert_allclose(solution.theta[:, 0], [0, 0, 0, 1], atol=1e-9)
    assert solution.converged


def test_too_few_steps_are_told():
    X, signs, cost, rng = problem(200, 30, 1, 0)
    solution = minimise_squared_hinge(
        InMemoryRows(X, signs, 1e3 * cost), max_iter=1, random_state=rng
    )
    assert not solution.converged
