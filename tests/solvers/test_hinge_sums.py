"""Hinges on a working set of rows, against a conic solver and interior points on all rows."""

import os
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consilience._solvers import hinge_sums
from consilience._solvers.centred_views import CentredViews
from consilience._solvers.hinge_sums import Pieces, Rounded, approximate
from consilience._solvers.interior_point import solve_margins
from consilience.margin._svm2k import hinges_of_pair, solve_pair
from margin.problems import make_problem, problems
from reference import margin as reference
from solvers.test_interior_point import assert_same

MANY = 200 if int(os.environ.get("CONSILIENCE_TEST_ALL", "0")) else 20
SETTINGS = {
    "power": st.integers(-12, 12),
    "D": st.floats(0.01, 30),
    "epsilon": st.sampled_from([0.0, 0.01, 0.5]),
}


def few_rows():
    """Small problems are solved like those of many rows."""
    return patch.multiple(hinge_sums, MIN_ROWS=0, MIN_ROWS_PER_COLUMN=0)


@settings(max_examples=MANY)
@given(problem=problems(max_views=2), **SETTINGS)
def test_equals_a_generic_solver(problem, power, D, epsilon):
    blocks, C = CentredViews(problem.stored, problem.present), [2.0**power, 1.0]
    given = problem.present, problem.y, problem.weight, C[: problem.n_views], D, epsilon
    with few_rows():
        solution = solve_pair(blocks, *given[1:])
    assert solution.residual <= 1e-6  # of interior points, where epsilon is 0
    x = reference.svm2k(problem.Xs, *given)
    assert_same(
        problem, blocks, solution, x, lambda z: reference.svm2k_objective(z, problem.Xs, *given)
    )


@settings(max_examples=MANY)
@given(problem=problems(max_views=2), **SETTINGS)
def test_multipliers_prove_the_solution(problem, power, D, epsilon):
    """w = Xᵀyλ and Σyλ = 0, with the multipliers of all samples."""
    blocks, C = CentredViews(problem.stored, problem.present), [2.0**power] * problem.n_views
    y = problem.y
    with few_rows():
        solution = solve_pair(blocks, y, problem.weight, C, D, epsilon)
    g = blocks.rmatvec(y[:, None] * solution.lam)
    scale = np.abs(solution.lam).sum()
    np.testing.assert_allclose(g[: blocks.d], solution.theta[: blocks.d], atol=1e-7 * scale + 1e-9)
    np.testing.assert_allclose(g[blocks.d :], 0, atol=1e-7 * scale + 1e-9)


@settings(max_examples=MANY)
@given(problem=problems(max_views=2), seed=st.integers(0, 2**31 - 1), **SETTINGS)
def test_any_working_set_ends_at_the_same_solution(problem, seed, power, D, epsilon):
    """Wrong pieces and rows that are left out by mistake are found and mended."""
    rng, V = np.random.default_rng(seed), problem.n_views
    blocks, C = CentredViews(problem.stored, problem.present), [2.0**power] * V
    y, weight = problem.y, problem.weight
    hinges = hinges_of_pair(problem.present, C, D, epsilon)
    expected = solve_margins(blocks, y, weight, hinges.loss, hinges.constraints)
    start = rng.standard_normal(blocks.size)

    def somewhere(pieces):
        return start, pieces.near_kinks(start, 0.0), 0.1, 0

    with few_rows(), patch.object(hinge_sums, "approximate", somewhere):
        solution = solve_pair(blocks, y, weight, C, D, epsilon)
    values = [
        reference.svm2k_objective(
            raw(blocks, s.theta), problem.Xs, problem.present, y, weight, C, D, epsilon
        )
        for s in (expected, solution)
    ]
    np.testing.assert_allclose(*values, rtol=1e-7, atol=1e-9)


def raw(blocks, theta):
    shifts = [m @ theta[s] for m, s in zip(blocks.means, blocks.slices, strict=True)]
    return np.r_[theta[: blocks.d], theta[blocks.d :] - shifts]


@given(problems(max_views=2), st.sampled_from([1.0, 0.1]))
def test_rounded_hinges_are_smooth(problem, width):
    """The pull is the gradient of the rounded loss, the Hessian its derivative."""
    blocks = CentredViews(problem.stored, problem.present)
    hinges = hinges_of_pair(problem.present, [1.0, 2.0][: blocks.V], 0.5, 0.1)
    rng = np.random.default_rng(0)
    before = rng.random((len(hinges.cost), blocks.n)) * hinges.cost[:, None]
    rounded = Rounded(blocks, problem.y, problem.weight, hinges, before, width)
    theta, p = rng.standard_normal((2, blocks.size))

    def gradient(t):
        z = problem.y * blocks.matvec(theta + t * p).T
        lam = rounded.multipliers(z)
        g = -blocks.rmatvec((problem.y * rounded.pull(lam)).T)
        g[: blocks.d] += (theta + t * p)[: blocks.d]
        return lam, g

    step = 1e-7
    (low, before_step), (lam, _), (high, after_step) = map(gradient, (-step, 0.0, step))
    if not all(((a > 0) == (lam > 0)).all() for a in (low, high)):
        return  # a kink of the gradient in between
    H = np.triu(rounded.hessian(lam))
    H += np.triu(H, 1).T
    slope = (after_step - before_step) / (2 * step)
    np.testing.assert_allclose(slope, H @ p, rtol=1e-4, atol=1e-4 * (1 + np.abs(H).max()))


def test_most_rows_stay_outside():
    """On many rows the working set is small, and the solution that of interior points on all."""
    problem = make_problem(3, 3000, 2, 0.7)
    blocks = CentredViews(problem.stored, problem.present)
    sizes, solve = [], Pieces.solve

    def record(self, working, *args):
        sizes.append(working.sum())
        return solve(self, working, *args)

    with patch.object(Pieces, "solve", record):
        solution = solve_pair(blocks, problem.y, problem.weight, [1.0, 3.0], 0.3, 0.01)
    assert 0 < sizes[-1] < 0.5 * blocks.n
    hinges = hinges_of_pair(problem.present, [1.0, 3.0], 0.3, 0.01)
    expected = solve_margins(blocks, problem.y, problem.weight, hinges.loss, hinges.constraints)
    np.testing.assert_allclose(solution.theta, expected.theta, atol=1e-7)
    np.testing.assert_allclose(solution.lam.sum(axis=0), expected.lam.sum(axis=0), rtol=1e-6)


def test_the_approximation_is_close():
    problem = make_problem(5, 2500, 2, 0.7)
    blocks = CentredViews(problem.stored, problem.present)
    hinges = hinges_of_pair(problem.present, [1.0, 1.0], 1.0, 0.01)
    theta, working, width, n_iter = approximate(Pieces(blocks, problem.y, problem.weight, hinges))
    expected = solve_pair(blocks, problem.y, problem.weight, [1.0, 1.0], 1.0, 0.01)
    given = problem.Xs, problem.present, problem.y, problem.weight, [1.0, 1.0], 1.0, 0.01
    values = [reference.svm2k_objective(raw(blocks, t), *given) for t in (theta, expected.theta)]
    assert n_iter > 0
    assert working.mean() < 0.4
    assert width <= 0.2**3
    assert values[1] <= values[0] * (1 + 1e-12)
    assert values[0] <= values[1] * 1.01


@pytest.mark.parametrize("C", [1e-8, 1e8])
def test_extreme_costs(C):
    problem = make_problem(7, 2200, 2, 0.7, repeated=False)
    blocks = CentredViews(problem.stored, problem.present)
    solution = solve_pair(blocks, problem.y, problem.weight, [C, C], C, 0.01)
    assert solution.converged
