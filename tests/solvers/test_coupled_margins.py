"""Newton against a generic solver, however views are stored; large c and large columns."""

import os

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from consilience._solvers import coupled_margins
from consilience._solvers.centred_views import CentredViews, add_weighted_product, gram_factor
from consilience._solvers.coupled_margins import conjugate_step, full_step, homotopy, minimise
from consilience._solvers.water_filling import Curvature, coupling
from margin.problems import problems
from reference import margin as reference

MANY = 200 if int(os.environ.get("CONSILIENCE_TEST_ALL", "0")) else 20


def solve(problem, c, alpha, stored=None, **settings):
    blocks = CentredViews(problem.stored if stored is None else stored, problem.present)
    V = problem.n_views
    solution = homotopy(
        blocks, problem.y, problem.weight, lambda c: coupling(c, alpha, V), c, **settings
    )
    return blocks, solution


def raw_parameters(blocks, theta):
    """(w, b) for columns that are not centred."""
    shifts = [m @ theta[s] for m, s in zip(blocks.means, blocks.slices, strict=True)]
    return np.r_[theta[: blocks.d], theta[blocks.d :] - shifts]


def decisions(problem, blocks, solution):
    return blocks.matvec(solution.theta)[problem.present]


@settings(max_examples=MANY)
@given(problems(), st.integers(-2, 5), st.sampled_from([0.0, 0.3, 0.5, 0.9]))
def test_equals_a_generic_solver(problem, power, alpha):
    blocks, solution = solve(problem, 2.0**power, alpha)
    assert solution.converged
    x = reference.smvmed(problem.Xs, problem.present, problem.y, problem.weight, 2.0**power, alpha)
    given = problem.Xs, problem.present, problem.y, problem.weight, 2.0**power, alpha
    d, mine = blocks.d, raw_parameters(blocks, solution.theta)
    least = reference.smvmed_objective(*given, mine)
    theirs = reference.smvmed_objective(*given, x)
    assert least <= theirs * (1 + 1e-9) + 1e-12
    # the objective is 1-strongly convex in w: theirs may be as far off as its value is above ours
    slack = 10 * np.sqrt(2 * max(theirs - least, 0.0))
    used = solution.lam.any(axis=0)  # a view without multipliers leaves its intercept free
    for v, X in enumerate(problem.Xs):
        if used[v]:
            is_present = problem.present[:, v]
            decided = X @ x[blocks.slices[v]] + x[d + v]
            ours = blocks.matvec(solution.theta)[:, v]
            np.testing.assert_allclose(ours[is_present], decided[is_present], atol=1e-5 + slack)


def relative_gap(problem, blocks, solution, c, alpha):
    a, b = coupling(c, alpha, problem.n_views)
    lam = solution.lam
    quadratic = a * (lam**2).sum(axis=1) + b * lam.sum(axis=1) ** 2
    w = solution.theta[: blocks.d]
    primal = w @ w / 2 + (quadratic / problem.weight).sum() / 2
    dual = reference.dual_value(problem.Xs, problem.y, problem.weight, lam, a, b)
    return (primal - dual) / primal if primal > 0 else 0.0


@settings(max_examples=MANY)
@given(
    problems(),
    st.sampled_from([(2.0**10, 1.0), (2.0**15, 1.0), (1.0, 1e3), (2.0**5, 1e3)]),
    st.sampled_from([0.0, 0.5, 0.9]),
)
def test_gap_for_large_c_and_large_columns(problem, hard, alpha):
    c, scale = hard
    problem.Xs = [X * scale for X in problem.Xs]
    problem.stored = [X * scale for X in problem.stored]
    blocks, solution = solve(problem, c, alpha)
    assert solution.converged
    assert relative_gap(problem, blocks, solution, c, alpha) <= 1e-8


@given(problems(), st.floats(0, 0.95))
def test_ways_to_store_and_solve_agree(problem, alpha):
    blocks, solution = solve(problem, 2.0, alpha, problem.Xs)
    expected = decisions(problem, blocks, solution)
    close = {"rtol": 0, "atol": 1e-6}
    blocks, solution = solve(problem, 2.0, alpha, [sp.csr_array(X) for X in problem.Xs])
    np.testing.assert_allclose(decisions(problem, blocks, solution), expected, **close)
    mixed = [sp.csr_array(X) if v % 2 else X for v, X in enumerate(problem.Xs)]
    blocks, solution = solve(problem, 2.0, alpha, mixed)
    np.testing.assert_allclose(decisions(problem, blocks, solution), expected, **close)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coupled_margins, "DIRECT_MAX_SIZE", 0)
        blocks, solution = solve(problem, 2.0, alpha, tol=1e-10)
    np.testing.assert_allclose(decisions(problem, blocks, solution), expected, **close)


@given(problems(max_views=3), st.booleans())
def test_gram_factor(problem, sparse):
    X = problem.Xs[0]
    is_present = problem.present[:, 0]
    blocks = CentredViews([sp.csr_array(X) if sparse else X], is_present[:, None])
    mean = blocks.means[0]
    centred = (X - mean) * is_present[:, None]
    Z, T = gram_factor(blocks.Xs[0], mean, is_present)
    np.testing.assert_allclose(Z @ Z.T, centred @ centred.T, atol=1e-8)
    np.testing.assert_allclose(centred @ T, Z, atol=1e-6)


@given(st.integers(0, 10_000), st.floats(0.02, 0.9), st.floats(0.02, 0.9))
def test_weighted_products(seed, first, second):
    rng = np.random.RandomState(seed)
    A = rng.randn(30, 7) * (rng.rand(30, 7) < first)
    B = rng.randn(30, 5) * (rng.rand(30, 5) < second)
    D = rng.rand(30) * (rng.rand(30) < 0.7)
    expected = A.T @ (D[:, None] * B)
    a, b = sp.csr_array(A), sp.csr_array(B)
    for one, other in ((A, B), (a, b), (A, b), (a, B)):
        # a block of a larger matrix, which keeps what it holds
        out = np.ones((9, 8))
        add_weighted_product(one, other, D, out[1:8, 2:7])
        np.testing.assert_allclose(out[1:8, 2:7], 1 + expected, atol=1e-12)
        assert out.sum() == pytest.approx(72 + expected.sum())
    for one in (A, a):
        out = np.zeros((7, 7))
        add_weighted_product(one, one, D, out)
        np.testing.assert_allclose(np.triu(out), np.triu(A.T @ (D[:, None] * A)), atol=1e-12)


def test_gradient_by_finite_differences():
    rng = np.random.RandomState(0)
    Xs = [rng.randn(30, 3), rng.randn(30, 2)]
    blocks, y = CentredViews(Xs, np.ones((30, 2), bool)), np.where(rng.rand(30) < 0.5, 1.0, -1.0)
    a, b = coupling(1.3, 0.4, 2)
    weight, theta = rng.rand(30) + 0.5, rng.randn(7)

    def value(theta):
        U = 1 - y[:, None] * blocks.matvec(theta)
        lam = coupled_margins.water_fill(U, a, b)
        return theta[:5] @ theta[:5] / 2 + weight @ (lam * U).sum(axis=1) / 2

    U = 1 - y[:, None] * blocks.matvec(theta)
    lam = coupled_margins.water_fill(U, a, b) * weight[:, None]
    g = coupled_margins.gradient(blocks, theta, y[:, None] * lam)
    steps = 1e-6 * np.eye(7)
    differences = [(value(theta + h) - value(theta - h)) / 2e-6 for h in steps]
    np.testing.assert_allclose(g, differences, atol=1e-5)


@given(problems(max_views=3))
def test_weights_are_repetitions(problem):
    a, b = coupling(2.0, 0.5, problem.n_views)
    blocks = CentredViews(problem.stored, problem.present)
    once = minimise(blocks, problem.y, problem.weight, a, b).theta
    rows = np.repeat(np.arange(len(problem.y)), problem.weight.astype(int))
    again = CentredViews([X[rows] for X in problem.stored], problem.present[rows], blocks.means)
    twice = minimise(again, problem.y[rows], np.ones(len(rows)), a, b).theta
    used = slice(0, blocks.d)
    np.testing.assert_allclose(once[used], twice[used], atol=1e-8)


def test_too_few_steps(monkeypatch):
    rng = np.random.RandomState(0)
    X, y = rng.randn(50, 5), np.where(rng.rand(50) < 0.5, 1.0, -1.0)
    blocks = CentredViews([X], np.ones((50, 1), bool))
    needed = minimise(blocks, y, np.ones(50), 0.01, 0.0)
    assert needed.converged
    solution = minimise(blocks, y, np.ones(50), 0.01, 0.0, max_iter=needed.n_iter - 1)
    assert not solution.converged
    assert solution.n_iter == needed.n_iter - 1
    assert solution.residual > needed.residual
    # steps whose end is extrapolated count as well
    monkeypatch.setattr(coupled_margins, "ROUNDING_BELOW", np.inf)
    extrapolated = minimise(blocks, y, np.ones(50), 0.01, 0.0)
    assert (extrapolated.converged, extrapolated.n_iter) == (True, needed.n_iter)


def test_rounding_of_stiff_margins_does_not_refute_the_model():
    """λ is a margin times ω/a: rounding of the margin is tolerated at that scale, no more."""
    views = CentredViews([np.array([[1.0], [-1.0]])], np.ones((2, 1), dtype=bool))
    signs, zeros, a = np.array([[1.0], [-1.0]]), np.zeros((2, 1)), 1e-6
    for size, is_accepted in ((5e-6, True), (5e-5, False)):
        lam = np.full((2, 1), size)  # 5e-12 and 5e-11 in terms of margins
        ahead = full_step(views, np.zeros(views.size), lam, zeros, signs, np.ones(2), a, 1.0)
        assert (ahead is not None) == is_accepted


def test_conjugate_gradients_solve_the_newton_system_where_a_view_is_inactive():
    rng = np.random.default_rng(0)
    views = CentredViews([rng.normal(size=(20, 3)) for _ in range(2)], np.ones((20, 2), bool))
    lam = np.column_stack([rng.random(20), np.zeros(20)])
    curvature = Curvature(lam, 0.5, 0.2)
    H = views.gram(curvature.block)
    H[np.diag_indices(views.d)] += 1.0
    g = np.r_[rng.normal(size=views.size - 1), 0.0]
    step = conjugate_step(views, curvature)
    move = step(np.zeros((views.size, 1)), g[:, None], np.zeros(1, dtype=int), np.array([1e-9]))
    np.testing.assert_allclose(H @ move[:, 0], -g, atol=1e-2)
