"""Penalised regression against a conic solver, and its limits."""

import os

import numpy as np
import pytest
import scipy.sparse as sp

from consilience._solvers.penalised import (
    LEAST_L1,
    PathSolver,
    Penalty,
    StandardisedColumns,
    StandardisedViews,
    lambda_path,
)
from reference.penalised import objective, solve_conic, standardise

MANY = 200 if int(os.environ.get("CONSILIENCE_TEST_ALL", "0")) else 15


def draw_problem(seed, rho=False, groups=True, non_negative=False, sparse=False):
    """A random problem: views, missing rows, weights, groups and penalties."""
    rng = np.random.default_rng(seed)
    K = 2 if non_negative else int(rng.integers(2, 5))
    n, V = int(rng.integers(12, 25)), int(rng.integers(1 + rho, 4))
    widths = rng.integers(1, 7, V)
    free = seed % 5 == 0 and V > 1 and not non_negative  # the first view is not penalised
    codes = np.concatenate([np.arange(K), rng.integers(0, K, n - K)])
    if free:  # it must not separate the classes
        codes, widths[0] = rng.permutation(np.arange(n) % K), 1
    present = rng.random((n, V)) > (0.25 if seed % 2 else -1)
    present[~present.any(axis=1), 0] = True
    Xs = [rng.normal(size=(n, d)) + 0.8 * codes[:, None] * rng.normal(size=d) for d in widths]
    if sparse:
        Xs = [sp.csr_array(np.where(np.abs(X) > 0.8, X, 0.0)) for X in Xs]
    weight = rng.random(n) + 0.1 if seed % 3 else np.ones(n)
    starts = [0]
    for d in widths:
        cut = rng.integers(1, d) if groups and d > 1 and rng.random() < 0.5 else d
        starts += [starts[-1] + cut] + ([starts[-1] + d] if cut < d else [])
    G, d = len(starts) - 1, int(sum(widths))
    l1 = rng.random(d) + 0.1
    tau = rng.random(G) * 2 if groups and not non_negative else np.zeros(G)
    ridge = rng.random(G) if seed % 4 < 2 else np.zeros(G)
    if free:
        Xs[0] = Xs[0] if sparse else rng.normal(size=(n, 1))
        first = starts.index(widths[0])
        l1[: widths[0]], tau[:first], ridge[:first] = 0.0, 0.0, 0.0
    penalty = Penalty(np.array(starts), l1, tau, ridge)
    return Xs, present, weight, codes, K, penalty, float(rng.choice([0.1, 1, 5])) if rho else 0.0


def solve(problem, share, tol=1e-10, **options):
    Xs, present, weight, codes, K, penalty, rho = problem
    views = StandardisedViews(Xs, present, weight)
    solver = PathSolver(views, codes, K, penalty, rho=rho, tol=tol, **options)
    for lam in lambda_path(solver.lam_max, share, 4):
        point = solver.solve(lam)
    return views, solver, point


def test_the_smallest_penalty_that_leaves_nothing():
    """Without an L1 norm a ridge counts for a little of one, so that a path begins somewhere."""
    starts, tau = np.array([0, 2, 3]), np.zeros(2)
    plain = Penalty(starts, np.array([0.5, 1.0, 2.0]), tau, np.zeros(2))
    assert plain.smallest_zero(np.array([1.0, 3.0, 4.0])) == 3
    ridge = Penalty(starts, np.array([0.0, 0.0, 2.0]), tau, np.array([4.0, 0.0]))
    assert ridge.smallest_zero(np.array([1.0, 3.0, 4.0])) == 3 / (LEAST_L1 * 4)


def dense_views(problem):
    Xs, present, weight = problem[:3]
    dense = [X.toarray() if sp.issparse(X) else X for X in Xs]
    return [standardise(X, present[:, v], weight) for v, X in enumerate(dense)]


def check_against_conic(problem, share, non_negative=False):
    _, present, weight, codes, K, penalty, rho = problem
    _, _, point = solve(problem, share, non_negative=non_negative)
    Xs, w = dense_views(problem), weight / weight.sum()
    parts = (penalty.starts, penalty.l1, penalty.tau, penalty.ridge, point.lam, rho)
    assert point.gap <= 1e-8
    value = objective(Xs, present, w, codes, point.coef, point.intercept, *parts)
    assert value == pytest.approx(point.objective, abs=1e-12)
    best, _, status = solve_conic(Xs, present, w, codes, K, *parts, non_negative=non_negative)
    assert status in ("Solved", "AlmostSolved")
    assert value - best <= 1e-8
    if status == "Solved":
        assert best - value <= 1e-8
    if non_negative:
        assert point.coef.min() >= 0


def test_sparse_columns_are_standardised_in_products():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((12, 4)) < 0.5, 0.0, rng.normal(size=(12, 4)) + 2)
    present, weight = np.arange(12) % 4 > 0, rng.random(12) + 0.5
    a, A = rng.normal(size=4), rng.normal(size=(12, 2))
    views = [StandardisedViews([x], present[:, None], weight) for x in (X, sp.csr_array(X))]
    dense, sparse = (StandardisedColumns(view.parts[0], present) for view in views)
    np.testing.assert_allclose(views[1].norms, np.linalg.norm(dense.X, axis=0))
    assert sparse.mean.any()
    np.testing.assert_allclose(sparse.gram(), dense.X @ dense.X.T, atol=1e-12)
    np.testing.assert_allclose(dense.gram(), dense.X @ dense.X.T, atol=1e-12)
    np.testing.assert_allclose(sparse.matvec(a), dense.X @ a, atol=1e-12)
    np.testing.assert_allclose(sparse.rmatvec(A), dense.X.T @ A, atol=1e-12)


@pytest.mark.parametrize("n_absent", [0, 5])
def test_sparse_columns_far_from_zero(n_absent):
    rng = np.random.default_rng(0)
    codes = np.arange(60) % 2
    X = rng.normal(size=(60, 3)) + codes[:, None]
    X[:, 0] += 1e8
    X[rng.random(60) < 0.7, 2] = 0.0
    present = (np.arange(60) >= n_absent)[:, None]
    penalty = Penalty(np.array([0, 3]), np.ones(3), np.zeros(1), np.zeros(1))
    problem = present, rng.random(60) + 0.1, codes, 2, penalty, 0.0
    points = [solve(([given], *problem), 0.1)[2] for given in (X, sp.csr_array(X))]
    assert points[0].coef[0, 0] > 0.1
    np.testing.assert_allclose(points[1].coef, points[0].coef, atol=1e-6)
    np.testing.assert_allclose(points[1].intercept, points[0].intercept, atol=1e-6)


@pytest.mark.parametrize("seed", range(MANY))
def test_sparse_group_problems(seed):
    check_against_conic(draw_problem(seed, sparse=seed % 7 == 3), [0.5, 0.1, 0.02][seed % 3])


@pytest.mark.parametrize("seed", range(MANY))
def test_cooperative_problems(seed):
    problem = draw_problem(seed, rho=True, groups=False, sparse=seed % 7 == 3)
    check_against_conic(problem, [0.5, 0.1, 0.02][seed % 3])


@pytest.mark.parametrize("seed", range(MANY))
def test_non_negative_problems(seed):
    problem = draw_problem(seed, groups=False, non_negative=True)
    check_against_conic(problem, [0.5, 0.1, 0.02][seed % 3], non_negative=True)
