"""SMO against a generic conic solver on the duals, the KKT gap, caches and warm starts."""

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from consilience._solvers.kernel_rows import BATCH_ROWS, CachedRows, FullRows
from consilience._solvers.kernels import KernelAgainst
from consilience._solvers.smo import (
    _CoupledDual,
    directions,
    pair_biases,
    solve_coupled,
    solve_hinge,
    solve_pair,
)
from consilience._solvers.water_filling import coupling
from margin.problems import problems
from reference import margin as reference

MANY = 200 if int(os.environ.get("CONSILIENCE_TEST_ALL", "0")) else 20
TIGHT = {"tol": 1e-10, "max_iter": 2_000_000}


GAMMAS = st.sampled_from([0.1, 0.5, None])


def kernels(problem, gamma):
    """Kernels of the views, rbf or (None) linear; 0 where a view is missing.

    Pairs of samples are a slow way to the last digits on linear kernels of few columns and large
    costs: those are the business of the primal solvers.
    """
    Ks = [X @ X.T if gamma is None else rbf_kernel(X, gamma=gamma) for X in problem.Xs]
    return [
        K * np.outer(is_present, is_present)
        for K, is_present in zip(Ks, problem.present.T, strict=True)
    ]


def poisoned(Ks, present):
    """Sources whose missing rows are NaN."""
    sources = []
    for v, K in enumerate(Ks):
        K = K.copy()
        K[~present[:, v]] = np.nan
        sources.append(FullRows(K))
    return sources


def assert_optimal(solution, lam, Ks, y, upper, own, shared, c=0.0):
    """Feasible, as good as theirs, the same where that is unique, the gap as it is said to be."""
    ours = solution.dual
    assert (ours >= 0).all()
    assert (ours <= upper).all()
    scale = max(1.0, np.abs(lam).max())
    np.testing.assert_allclose(ours @ y, 0, atol=1e-10 * scale * len(y))
    settings = Ks, y, own, shared, c
    value = reference.dual_coupled_value(ours, *settings)
    expected = reference.dual_coupled_value(np.clip(lam, 0, upper), *settings)
    assert value >= expected - 1e-6 * abs(expected) - 1e-8
    assert value <= expected + 1e-5 * abs(expected) + 1e-6  # theirs is feasible to 1e-9 only
    # what theirs lacks of the optimum leaves it that much room, by the curvature of the objective
    lacks = max(value - expected, 1e-9 * abs(expected))
    for v, K in enumerate(Ks):
        room = np.sqrt(2 * lacks * K.diagonal().max())
        np.testing.assert_allclose(
            K @ (y * ours[v]), K @ (y * lam[v]), atol=max(2e-5 * scale, room)
        )
    if (own > 0).all() and c == 0:
        np.testing.assert_allclose(ours, lam, atol=1e-6 * scale / min(1.0, own.min()))
    mu, gaps = ours.sum(axis=0), [0.0]
    for v, K in enumerate(Ks):
        slope = 1 / (c - mu / own) if c > 0 else own * ours[v] + shared * mu
        F = y * (1 - slope) - K @ (y * ours[v])
        rises, falls = directions(y, ours[v], upper[v])
        gaps.append(
            np.max(F, where=rises, initial=-np.inf) - np.min(F, where=falls, initial=np.inf)
        )
    assert max(gaps) == pytest.approx(solution.residual, abs=1e-8 * scale)
    assert solution.converged == (solution.residual <= TIGHT["tol"])
    return lacks


@pytest.mark.parametrize("c", [0.0, 3.0])
def test_value_slope_and_curvature_of_an_iterate(c):
    rng = np.random.default_rng(0)
    n, step, direction = 12, 1e-6, np.eye(12)[3]
    y, own, shared = np.where(np.arange(n) % 2, 1.0, -1.0), 1 + rng.random(n), rng.random(n)
    Ks = [rbf_kernel(rng.normal(size=(n, 2))) for _ in range(2)]
    lam, linear = 0.1 + rng.random((2, n)), rng.uniform(0.5, 1.5, size=(2, n))

    def iterate(lam):
        rows = [FullRows(K) for K in Ks]
        return _CoupledDual(rows, y, np.full((2, n), np.inf), own, shared, c, linear, lam)

    here, there = iterate(lam), iterate(lam + step * np.array([direction, 0 * direction]))
    expected = reference.dual_coupled_value(lam, Ks, y, own, shared, c, linear)
    assert here.value() == pytest.approx(expected, rel=1e-12)
    assert (there.value() - here.value()) / step == pytest.approx(y[3] * here.F[0, 3], abs=1e-4)
    single, joint = here.curvatures()
    change = (here.margins() - there.margins())[:, 3] / step
    np.testing.assert_allclose(change, [single[3] + joint[3], joint[3]], rtol=1e-4)
    if c > 0:  # a tenth of the room is left
        room = c * own - lam.sum(axis=0)
        assert here.largest_log_step(9 * room[3] * direction) == pytest.approx(0.1)
        assert here.largest_log_step(-9 * room[3] * direction) == 1
    assert here.largest_log_step(0.1 * direction) == 1


@pytest.mark.parametrize("c", [0.0, 3.0])
def test_polish_reaches_the_best_point_of_a_face(c):
    rng = np.random.default_rng(1)
    y, upper = np.where(np.arange(12) % 2, 1.0, -1.0), np.full((2, 12), np.inf)
    rows = [FullRows(rbf_kernel(rng.normal(size=(12, 2)) + y[:, None])) for _ in range(2)]
    settings = {"own": 1.0, "shared": 0.0 if c else 0.5, "c": c}
    best = solve_coupled(rows, y, upper, **settings, **TIGHT).dual
    first, second = np.flatnonzero(best[0] > 0.05)[:2]
    start = best.copy()
    start[0, first] += 0.01
    start[0, second] -= 0.01 * y[first] * y[second]
    problem = _CoupledDual(rows, y, upper, *settings.values(), 1.0, start)
    assert problem.gap() > 1e-4
    problem.polish()
    assert problem.gap() < 1e-8
    np.testing.assert_allclose(problem.lam, best, atol=1e-6)


@settings(max_examples=MANY)
@given(problems(1), GAMMAS, st.integers(-4, 6))
def test_hinge(problem, gamma, power):
    (K,) = kernels(problem, gamma)
    power = power if gamma else min(power, -2)
    y, C = problem.y, 2.0**power * problem.weight
    solution = solve_hinge(K, y, C, **TIGHT)
    lam = reference.dual_coupled([K], y, C[None], np.zeros(len(y)), np.zeros(len(y)))
    bias, solution.dual = solution.bias, solution.dual[None]
    assert_optimal(solution, lam, [K], y, C[None], np.zeros(len(y)), np.zeros(len(y)))
    # the primal at (g, b) equals the dual value
    f = K @ (y * solution.dual[0]) + bias
    primal = (y * solution.dual[0]) @ K @ (y * solution.dual[0]) / 2 + C @ np.maximum(0, 1 - y * f)
    dual = solution.dual.sum() - (y * solution.dual[0]) @ K @ (y * solution.dual[0]) / 2
    assert primal == pytest.approx(dual, rel=1e-6, abs=1e-6)


@settings(max_examples=MANY)
@given(problems(1), GAMMAS, st.integers(-3, 5), st.integers(0, 1000))
def test_squared_hinge_with_any_margins(problem, gamma, power, seed):
    (K,) = kernels(problem, gamma)
    power = power if gamma else min(power, -1)
    y, own = problem.y, 4.0**-power / problem.weight
    linear = np.random.RandomState(seed).uniform(-0.5, 1.5, size=(1, len(y)))
    upper, none = np.full((1, len(y)), np.inf), np.zeros(len(y))
    solution = solve_coupled([FullRows(K)], y, upper, own=own, linear=linear, **TIGHT)
    lam = reference.dual_coupled([K], y, upper, own, none, linear=linear)
    scale = max(1.0, lam.max())
    np.testing.assert_allclose(solution.dual, lam, atol=1e-6 * scale / min(1, own.min()))
    value = reference.dual_coupled_value(solution.dual, [K], y, own, none, linear=linear)
    expected = reference.dual_coupled_value(lam, [K], y, own, none, linear=linear)
    assert value == pytest.approx(expected, rel=1e-6, abs=1e-7)
    assert solution.converged


@settings(max_examples=MANY)
@given(problems(3), GAMMAS, st.integers(-2, 4), st.sampled_from([0.0, 0.3, 0.9]))
def test_coupled_views(problem, gamma, power, alpha):
    Ks = kernels(problem, gamma)
    power = power if gamma else min(power, -1)
    a, b = coupling(2.0**power, alpha, len(Ks))
    y, own, shared = problem.y, a / problem.weight, b / problem.weight
    upper = np.where(problem.present.T, np.inf, 0.0)
    sources = poisoned(Ks, problem.present)
    solution = solve_coupled(sources, y, upper, own=own, shared=shared, **TIGHT)
    lam = reference.dual_coupled(Ks, y, upper, own, shared)
    assert_optimal(solution, lam, Ks, y, upper, own, shared)


@settings(max_examples=MANY)
@given(problems(3), GAMMAS, st.integers(-2, 4))
def test_worst_view_quadratic(problem, gamma, power):
    Ks = kernels(problem, gamma)
    power = power if gamma else min(power, -1)
    y, none, shared = problem.y, np.zeros(len(problem.y)), 4.0**-power / problem.weight
    upper = np.where(problem.present.T, np.inf, 0.0)
    sources = poisoned(Ks, problem.present)
    solution = solve_coupled(sources, y, upper, shared=shared, **TIGHT)
    lam = reference.dual_coupled(Ks, y, upper, none, shared)
    lacks = assert_optimal(solution, lam, Ks, y, upper, none, shared)
    room = 1e-6 * max(1.0, lam.max()) + np.sqrt(2 * lacks / shared.min())
    np.testing.assert_allclose(solution.dual.sum(axis=0), lam.sum(axis=0), atol=room)


@settings(max_examples=MANY)
@given(problems(3), GAMMAS, st.sampled_from([1.1, 2.0, 8.0, 32.0]))
def test_worst_view_exponential(problem, gamma, c):
    Ks = kernels(problem, gamma)
    c = c if gamma else min(c, 2.0)
    y, own, none = problem.y, problem.weight, np.zeros(len(problem.y))
    upper = np.where(problem.present.T, np.inf, 0.0)
    solution = solve_coupled(poisoned(Ks, problem.present), y, upper, own=own, c=c, **TIGHT)
    lam = reference.dual_coupled(Ks, y, upper, own, none, c)
    assert_optimal(solution, lam, Ks, y, upper, own, none, c)


@settings(max_examples=MANY)
@given(
    problems(3),
    GAMMAS,
    st.sampled_from([0.1, 1.0, 10.0]),
    st.sampled_from([0.01, 1.0, 20.0]),
    st.sampled_from([0.0, 0.01, 0.3]),
)
def test_pair(problem, gamma, cost, D, epsilon):
    Ks = kernels(problem, gamma)
    cost, D = (cost, D) if gamma else (0.1, min(D, 0.1))
    if len(Ks) == 1:
        Ks, present = Ks * 2, problem.present[:, [0, 0]]
    else:
        Ks, present = Ks[:2], problem.present[:, :2]
    y = problem.y
    C = np.where(present.T, np.outer([cost, 2 * cost], problem.weight), 0.0)
    D = np.where(present.all(axis=1), D * problem.weight, 0.0)
    solution = solve_pair(poisoned(Ks, present), y, C, D, epsilon, **TIGHT)
    np.testing.assert_allclose(solution.dual.sum(axis=1), 0, atol=1e-9 * (1 + cost))
    g = reference.dual_pair(Ks, y, C, D, epsilon)
    settings = Ks, y, C, D, epsilon
    value = reference.pair_objective(solution.dual, solution.bias, *settings)
    # b of theirs: the best for their g
    best = min(
        reference.pair_objective(g, solution.bias + shift, *settings)
        for shift in ([0, 0], [1e-7, 0], [0, 1e-7])
    )
    assert value <= best * (1 + 1e-6) + 1e-7
    for v in range(2):
        is_present = present[:, v]
        ours, theirs = Ks[v] @ solution.dual[v], Ks[v] @ g[v]
        np.testing.assert_allclose(ours[is_present], theirs[is_present], atol=1e-4 * (1 + cost))
    assert solution.residual < 1e-3


@pytest.mark.parametrize(
    ("beta", "second_F", "expected"),
    [
        ([0.0, 1.0], 3.5, 1 + (1.5 + 2.0) / 2),  # at D, β bounds the difference above
        ([0.0, -1.0], 2.2, 1 + (1.7 + 2.5) / 2),  # at −D, below
        ([0.5, 0.0], 9.0, 1 + 1.5),  # a free β sets it
    ],
)
def test_difference_of_biases(beta, second_F, expected):
    # the first view's samples are free, the second view has none of its own
    F, y = np.array([[1.0, 1.0], [3.0, second_F]]), np.array([1.0, -1.0])
    a, C = np.array([[0.5, 0.5], [0.0, 0.0]]), np.array([[1.0, 1.0], [0.0, 0.0]])
    biases = pair_biases(F, y, a, C, np.array(beta), np.ones(2), 0.5)
    np.testing.assert_allclose(biases, [1.0, expected])


def blobs(n, d=6, seed=0):
    rng = np.random.RandomState(seed)
    y = np.where(rng.rand(n) < 0.5, 1.0, -1.0)
    return rng.randn(n, d) + 0.4 * y[:, None], y


def cached(X, capacity, dtype=np.float64, gamma=0.2):
    write = KernelAgainst(X, "rbf", gamma=gamma, dtype=dtype).own_rows()
    return CachedRows(write, np.ones(len(X)), capacity, dtype)


def test_a_small_cache_gives_the_same_solution():
    X, y = blobs(1500)
    full = solve_hinge(rbf_kernel(X, gamma=0.2), y, 1.0, tol=1e-6)
    for capacity in (4 * BATCH_ROWS, 1500):
        source = cached(X, capacity)
        solution = solve_hinge(source, y, 1.0, tol=1e-6)
        assert solution.converged
        np.testing.assert_allclose(solution.dual, full.dual, atol=1e-4)
        assert solution.bias == pytest.approx(full.bias, abs=1e-5)
        assert source.n_computed >= capacity if capacity < 1500 else source.n_computed <= 1500
        # what the cache says it holds, it holds
        held = np.flatnonzero(source.slots >= 0)
        assert len(held) == source.filled
        np.testing.assert_array_equal(source.owner[source.slots[held]], held)
        expected = rbf_kernel(X[held], X, gamma=0.2)
        np.testing.assert_allclose(source.store[source.slots[held]], expected, atol=1e-12)
    single = solve_hinge(cached(X, 4 * BATCH_ROWS, np.float32), y, 1.0, tol=1e-3)
    assert single.converged
    value = single.dual.sum() - (y * single.dual) @ rbf_kernel(X, gamma=0.2) @ (y * single.dual) / 2
    best = full.dual.sum() - (y * full.dual) @ rbf_kernel(X, gamma=0.2) @ (y * full.dual) / 2
    assert value == pytest.approx(best, rel=1e-5)


def test_libsvm_agrees():
    X, y = blobs(400)
    K, C = rbf_kernel(X, gamma=0.2), np.random.RandomState(0).rand(400) + 0.5
    ours = solve_hinge(K, y, C, tol=1e-8)
    theirs = SVC(kernel="precomputed", tol=1e-8).fit(K, y, sample_weight=C)
    np.testing.assert_allclose(
        K @ (y * ours.dual) + ours.bias, theirs.decision_function(K), atol=1e-6
    )


@pytest.mark.parametrize("source", ["full", "cached"])
def test_warm_starts(source):
    X, y = blobs(300)
    K = rbf_kernel(X, gamma=0.2)
    rows = K if source == "full" else cached(X, 300)
    first = solve_hinge(rows, y, 1.0, tol=1e-8)
    again = solve_hinge(rows, y, 1.0, tol=1e-7, alpha0=first.dual)
    assert again.n_iter == 0
    assert again.bias == pytest.approx(first.bias, abs=1e-8)
    near = solve_hinge(rows, y, 1.1, tol=1e-8, alpha0=first.dual)
    cold = solve_hinge(rows, y, 1.1, tol=1e-8)
    np.testing.assert_allclose(near.dual, cold.dual, atol=1e-6)
    for potential in ({"own": 0.5, "shared": 0.2}, {"own": 1.0, "c": 3.0}):
        sources = [FullRows(K), FullRows(K**2)]
        upper = np.full((2, 300), np.inf)
        start = solve_coupled(sources, y, upper, tol=1e-9, **potential)
        again = solve_coupled(sources, y, upper, tol=1e-8, lam0=start.dual, **potential)
        assert again.n_iter == 0
        np.testing.assert_allclose(again.bias, start.bias, atol=1e-8)


def test_ends_without_convergence():
    X, y = blobs(300)
    solution = solve_hinge(rbf_kernel(X, gamma=0.2), y, 10.0, tol=1e-12, max_iter=5)
    assert solution.n_iter == 5
    assert not solution.converged
    assert solution.residual > 1e-3


def test_one_class_and_nothing_to_do():
    K = np.eye(3)
    solution = solve_hinge(K, np.ones(3), 1.0)
    assert (solution.dual == 0).all()
    assert solution.bias == 1
    upper = np.zeros((1, 3))
    solution = solve_coupled([FullRows(K)], np.array([1.0, -1, 1]), upper)
    assert solution.bias.tolist() == [0]
