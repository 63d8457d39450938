"""Interior points on a working set of rows, against those on all rows and a conic solver."""

import os
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consilience._solvers import working_set
from consilience._solvers.centred_views import CentredViews
from consilience._solvers.interior_point import Loss, solve_margins
from consilience._solvers.working_set import Approximation, Pieces, solve_near
from consilience.margin._mvmed import solve_worst_view, worst_view
from consilience.margin._svm2k import agreement, hinge, solve_pair
from margin.problems import make_problem, problems
from reference import margin as reference
from solvers.test_interior_point import assert_same, check_worst_view, raw

MANY = 200 if int(os.environ.get("CONSILIENCE_TEST_ALL", "0")) else 20


def few_rows():
    """Small problems are solved like those of many rows."""
    return patch.multiple(working_set, MIN_ROWS=0, MIN_ROWS_PER_COLUMN=0, MAX_WORKING_SHARE=0.9)


@settings(max_examples=MANY)
@given(
    problems(max_views=2),
    st.integers(-12, 12),
    st.floats(0.01, 30),
    st.sampled_from([0.0, 0.01, 0.5]),
)
def test_hinges_equal_a_generic_solver(problem, power, D, epsilon):
    blocks, C = CentredViews(problem.stored, problem.present), [2.0**power, 1.0]
    given = problem.present, problem.y, problem.weight, C[: problem.n_views], D, epsilon
    with few_rows():
        solution = solve_pair(blocks, *given[1:])
    assert solution.residual <= 1e-6  # what interior points reach where epsilon is 0
    x = reference.svm2k(problem.Xs, *given)
    assert_same(
        problem, blocks, solution, x, lambda z: reference.svm2k_objective(z, problem.Xs, *given)
    )
    check_multipliers(problem, blocks, solution)


@settings(max_examples=MANY)
@given(problems(), st.integers(-6, 6))
def test_worst_view_equals_a_generic_solver(problem, power):
    blocks, c = CentredViews(problem.stored, problem.present), 2.0**power
    with few_rows():
        solution = solve_worst_view(blocks, problem.y, problem.weight, c, "gaussian")
    assert solution.converged
    x = reference.mvmed(problem.Xs, problem.present, problem.y, problem.weight, c)
    check_worst_view(problem, blocks, solution, x, c, "gaussian")
    check_multipliers(problem, blocks, solution)


def check_multipliers(problem, blocks, solution):
    """w = Xᵀyλ and Σyλ = 0 with the multipliers of all rows."""
    g = blocks.rmatvec(problem.y[:, None] * solution.lam)
    g[: blocks.d] -= solution.theta[: blocks.d]
    largest = max(float(blocks.max_row_norm.max()), 1.0)
    atol = 1e-7 * np.abs(solution.lam).sum() * largest + 1e-9
    np.testing.assert_allclose(g, 0, atol=atol)


@settings(max_examples=MANY)
@given(problems(max_views=2), st.integers(0, 2**31 - 1), st.integers(-6, 6), st.booleans())
def test_any_start_ends_at_the_same_solution(problem, seed, power, bent):
    """Wrong pieces, and rows that are left out by mistake, are found and mended."""
    blocks, y, weight = CentredViews(problem.stored, problem.present), problem.y, problem.weight
    if bent:
        loss, constraints = Loss.quadratic(2.0**power), worst_view(problem.present)
    elif blocks.V == 1:
        loss, constraints = Loss.linear([2.0**power]), hinge(problem.present)
    else:
        loss = Loss.linear([2.0**power, 1.0, 0.3])
        constraints = agreement(problem.present, 0.01)
    expected = solve_margins(blocks, y, weight, loss, constraints)
    start = np.random.default_rng(seed).standard_normal(blocks.size)
    pieces = Pieces(blocks, y, weight, loss, constraints)
    with few_rows():
        first = Approximation(start, 0.1, 0)
        solution = solve_near(pieces, first, tol=1e-11, max_iter=100)
    values = [objective(pieces, s.theta) for s in (expected, solution)]
    np.testing.assert_allclose(*values, rtol=1e-7, atol=1e-9)


def objective(pieces, theta):
    """The problem as it is written, term by term."""
    w, total = theta[: pieces.views.d], 0.0
    z = pieces.y[:, None] * pieces.views.matvec(theta)
    slot, H, h, on = (getattr(pieces.constraints, name) for name in ("slot", "H", "h", "on"))
    for t in range(len(z)):
        for k, (slope, bend) in enumerate(zip(pieces.loss.slope, pieces.loss.bend, strict=True)):
            values = [h[j] - H[j] @ z[t] for j in range(len(h)) if slot[j] == k and on[t, j]]
            top = max(values) if slope > 0 else max(0.0, *values)
            total += pieces.weight[t] * (slope * top + bend * top**2 / 2)
    return w @ w / 2 + total


@given(problems(max_views=2), st.booleans(), st.integers(0, 1000))
def test_outside_is_the_loss_where_pieces_are_right(problem, bent, seed):
    blocks, y, weight = CentredViews(problem.stored, problem.present), problem.y, problem.weight
    if bent:
        loss, constraints = Loss.quadratic(1.5), worst_view(problem.present)
    elif blocks.V == 1:
        loss, constraints = Loss.linear([2.0]), hinge(problem.present)
    else:
        loss, constraints = Loss.linear([2.0, 1.0, 0.3]), agreement(problem.present, 0.01)
    pieces, theta = Pieces(blocks, y, weight, loss, constraints), np.zeros(blocks.size)
    theta += np.random.default_rng(seed).standard_normal(blocks.size)
    pieces.near_kinks(theta, 0.0)
    assert not pieces.misplaced(theta).any()
    value, gradient = pieces.outside(np.ones(blocks.n, dtype=bool), theta).at(theta)
    w = theta[: blocks.d]
    np.testing.assert_allclose(value + w @ w / 2, objective(pieces, theta), rtol=1e-9)
    expected = -blocks.rmatvec(y[:, None] * pieces.multipliers(theta))
    np.testing.assert_allclose(gradient, expected, atol=1e-9 * (1 + np.abs(expected).max()))


@pytest.mark.parametrize("bent", [False, True])
def test_most_rows_stay_outside(bent):
    """On many rows the working set is small, and the solution that of interior points on all."""
    problem = make_problem(3, 3000, 2, 0.7, weighted=True, missing=True)
    blocks = CentredViews(problem.stored, problem.present)
    sizes, solve = [], Pieces.solve

    def record(self, working, *args):
        sizes.append(working.sum())
        return solve(self, working, *args)

    with patch.object(Pieces, "solve", record):
        if bent:
            solution = solve_worst_view(blocks, problem.y, problem.weight, 1.0, "gaussian")
            loss, constraints = Loss.quadratic(1.0), worst_view(problem.present)
        else:
            solution = solve_pair(blocks, problem.y, problem.weight, [1.0, 3.0], 0.3, 0.01)
            loss, constraints = Loss.linear([1.0, 3.0, 0.3]), agreement(problem.present, 0.01)
    assert 0 < sizes[-1] < 0.4 * blocks.n
    assert solution.converged
    expected = solve_margins(blocks, problem.y, problem.weight, loss, constraints)
    np.testing.assert_allclose(solution.theta, expected.theta, atol=1e-6)
    np.testing.assert_allclose(solution.lam.sum(axis=0), expected.lam.sum(axis=0), rtol=1e-5)


@pytest.mark.parametrize("cost", [1e-8, 1e8])
def test_extreme_costs(cost):
    problem = make_problem(7, 2200, 2, 0.7)
    blocks = CentredViews(problem.stored, problem.present)
    given = problem.y, problem.weight, [cost, cost], cost, 0.01
    solution = solve_pair(blocks, *given)
    assert solution.converged
    loss, constraints = Loss.linear([cost] * 3), agreement(problem.present, 0.01)
    expected = solve_margins(blocks, problem.y, problem.weight, loss, constraints)
    values = [
        reference.svm2k_objective(raw(blocks, s.theta), problem.Xs, problem.present, *given)
        for s in (solution, expected)
    ]
    np.testing.assert_allclose(*values, rtol=1e-7)
