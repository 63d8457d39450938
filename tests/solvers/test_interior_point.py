"""Interior points against a generic conic solver: worst views (both priors) and hinges."""

import os

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from consilience._solvers import interior_point
from consilience._solvers.centred_views import CentredViews
from consilience.margin._mvmed import solve_worst_view
from consilience.margin._svm2k import solve_pair
from margin.problems import make_problem, problems
from reference import margin as reference

MANY = 200 if int(os.environ.get("CONSILIENCE_TEST_ALL", "0")) else 20


def raw(blocks, theta):
    """(w, b) for columns that are not centred."""
    x = theta.copy()
    for v, where in enumerate(blocks.slices):
        x[blocks.d + v] -= blocks.means[v] @ theta[where]
    return x


def assert_same(problem, blocks, solution, x, objective):
    """An objective as low as theirs and, unless ours is lower, the same w."""
    ours, d = raw(blocks, solution.theta), blocks.d
    values = objective(ours), objective(x)
    assert values[0] <= values[1] * (1 + 1e-7) + 1e-9
    if values[0] > values[1]:
        # strong convexity: a gap (a hundredth of the residual) leaves w this much room
        atol = max(1e-5, np.sqrt(2 * solution.residual / 100 * values[0]))
        np.testing.assert_allclose(ours[:d], x[:d], atol=atol)


def check_worst_view(problem, blocks, solution, x, c, prior):
    settings = problem.Xs, problem.present, problem.y, problem.weight, c, prior
    assert_same(problem, blocks, solution, x, lambda z: reference.mvmed_objective(z, *settings))
    # b is unique where the view has multipliers: then decisions agree as well
    ours = raw(blocks, solution.theta)
    difference = np.abs(ours[: blocks.d] - x[: blocks.d]).max()
    if difference > 1e-6:
        return
    for v, X in enumerate(problem.Xs):
        if solution.lam[:, v].max() > 1e-4 * c:
            where, is_present = blocks.slices[v], problem.present[:, v]
            f, g = (X @ z[where] + z[blocks.d + v] for z in (ours, x))
            explained = difference * np.abs(X).sum(axis=1).max()
            np.testing.assert_allclose(f[is_present], g[is_present], atol=1e-5 + explained)


@settings(max_examples=MANY)
@given(problems(), st.integers(-2, 5))
def test_gaussian_prior(problem, power):
    blocks = CentredViews(problem.stored, problem.present)
    y, weight = problem.y, problem.weight
    solution = solve_worst_view(blocks, y, weight, 2.0**power, "gaussian")
    assert solution.converged
    x = reference.mvmed(problem.Xs, problem.present, y, weight, 2.0**power)
    check_worst_view(problem, blocks, solution, x, 2.0**power, "gaussian")


@settings(max_examples=MANY)
@given(problems(), st.integers(1, 5))
def test_exponential_prior(problem, power):
    blocks = CentredViews(problem.stored, problem.present)
    y, weight = problem.y, problem.weight
    solution = solve_worst_view(blocks, y, weight, 2.0**power, "exponential")
    assert solution.converged
    x = reference.mvmed(problem.Xs, problem.present, y, weight, 2.0**power, "exponential")
    check_worst_view(problem, blocks, solution, x, 2.0**power, "exponential")


@settings(max_examples=MANY)
@given(problems(max_views=2), st.integers(-2, 5), st.floats(0.1, 3), st.sampled_from([0.0, 0.1]))
def test_hinge(problem, power, D, epsilon):
    blocks = CentredViews(problem.stored, problem.present)
    y, weight = problem.y, problem.weight
    C = [2.0**power, 1.0][: problem.n_views]
    solution = solve_pair(blocks, y, weight, C, D, epsilon)
    assert solution.converged
    x = reference.svm2k(problem.Xs, problem.present, y, weight, C, D, epsilon)
    settings = problem.Xs, problem.present, y, weight, C, D, epsilon
    assert_same(problem, blocks, solution, x, lambda z: reference.svm2k_objective(z, *settings))


@given(problems(max_views=2))
def test_weights_are_repetitions(problem):
    blocks = CentredViews(problem.stored, problem.present)
    once = solve_pair(blocks, problem.y, problem.weight, [1.0, 1.0][: blocks.V], 1.0, 0.01)
    rows = np.repeat(np.arange(len(problem.y)), problem.weight.astype(int))
    again = CentredViews([X[rows] for X in problem.stored], problem.present[rows], blocks.means)
    y, ones = problem.y[rows], np.ones(len(rows))
    twice = solve_pair(again, y, ones, [1.0, 1.0][: blocks.V], 1.0, 0.01)
    np.testing.assert_allclose(once.theta, twice.theta, atol=1e-6)


def test_an_extrapolated_gradient_bounds_nothing(monkeypatch):
    """Rounding does not show in it, so such an iterate must not be taken for the lowest."""
    states = []
    after = interior_point._Problem.after

    def record(self, point, direction, t, gradient=None):
        states.append((gradient is not None, after(self, point, direction, t, gradient)))
        return states[-1][1]

    monkeypatch.setattr(interior_point._Problem, "after", record)
    problem = make_problem(0, 40, 2, 1.0)
    blocks = CentredViews(problem.stored, problem.present)
    solve_pair(blocks, problem.y, problem.weight, [1.0, 1.0], 1.0, 0.01)
    assert {extrapolated for extrapolated, _ in states} == {True, False}
    assert all(np.isinf(state.suboptimality) == extrapolated for extrapolated, state in states)
