"""The two-level weights: plain loops, reference numbers, and the bound."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consilience.vote._two_level import (
    EarlyStopping,
    TwoLevelWeights,
    VoteRows,
    best_view_weights,
    learn_weights,
    logistic_loss,
    parallel_step,
    view_scores,
)
from reference import mwmvc2 as reference

GOLDEN = Path(__file__).parents[1] / "golden" / "mwmvc2.npz"
MANY = 500 if int(os.environ.get("CONSILIENCE_TEST_ALL", "0")) else 50


@st.composite
def problems(draw):
    """Votes times labels, better than chance on average, some views missing, weights."""
    rng = np.random.RandomState(draw(st.integers(0, 1_000_000)))
    n, V = draw(st.integers(2, 30)), draw(st.integers(1, 5))
    skill = draw(st.floats(0.3, 1.0))
    Ms = []
    for _ in range(V):
        M = np.where(rng.rand(n, rng.randint(1, 7)) < skill, 1.0, -1.0)
        M[rng.rand(n) < draw(st.sampled_from([0.0, 0.3]))] = 0.0
        Ms.append(M)
    weight = rng.randint(1, 4, size=n).astype(float) if draw(st.booleans()) else np.ones(n)
    return Ms, weight


@given(problems(), st.integers(1, 4), st.sampled_from(["uniform", "loss", "paper"]), st.booleans())
def test_equals_the_loops(problem, n_iter, view_weights, scale):
    Ms, weight = problem
    got = learn_weights(VoteRows(Ms, weight), n_iter=n_iter, view_weights=view_weights, scale=scale)
    if view_weights == "loss":  # another solver: compare what it is asked for, the loss
        n_iter = 1
        got = learn_weights(VoteRows(Ms, weight), n_iter=1, view_weights="loss", scale=scale)
    rho, pi = reference.learn(Ms, weight, n_iter, view_weights, scale)
    for ours, theirs in zip(got.pi, pi, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-9)
    ours, theirs = (reference.loss(Ms, r, pi, weight) for r in (got.rho, rho))
    if view_weights == "loss":
        assert ours <= theirs + 1e-7
    else:
        np.testing.assert_allclose(got.rho, rho)


@settings(max_examples=MANY)
@given(problems(), st.integers(1, 6), st.sampled_from(["uniform", "loss"]))
def test_loss_falls_at_least_by_the_bound(problem, n_iter, view_weights):
    Ms, weight = problem
    got = learn_weights(VoteRows(Ms, weight), n_iter=n_iter, view_weights=view_weights, scale=True)
    drop = np.diff(got.loss_curve)
    slack = 1e-9 * (1 + got.loss_curve[0])
    assert (drop <= slack).all()
    assert (drop <= got.bound_curve + slack).all()
    assert (got.bound_curve <= slack).all()
    assert np.isfinite(np.concatenate(got.pi)).all()
    assert (got.rho >= 0).all()
    assert got.rho.sum() == pytest.approx(1)


@settings(max_examples=MANY)
@given(problems(), st.integers(0, 10_000))
def test_view_step_is_optimal(problem, seed):
    Ms, weight = problem
    rng = np.random.RandomState(seed)
    A = np.column_stack([M @ rng.randn(M.shape[1]) for M in Ms])
    start = np.full(len(Ms), 1 / len(Ms))
    rows = VoteRows(list(A.T[:, :, None]), weight)
    rho = best_view_weights(rows, start, [np.ones(1)] * len(Ms), 1.0)
    gradient = -A.T @ (weight / (1 + np.exp(np.clip(A @ rho, -700, 700))))
    value = logistic_loss(A @ rho, weight)
    assert gradient @ rho - gradient.min() <= 1e-8 * (1 + value)


def test_view_step_does_not_depend_on_the_unit_of_the_weights():
    rng = np.random.RandomState(0)
    Ms = [rng.choice([-1, 1], p=[1 - p, p], size=(50, 3)) for p in (0.5, 0.8)]
    rho = [
        learn_weights(
            VoteRows(Ms, np.full(50, unit)), n_iter=3, view_weights="loss", scale=True
        ).rho
        for unit in (1.0, 1e-12)
    ]
    assert rho[0][1] > 0.9
    np.testing.assert_allclose(*rho, atol=1e-6)


def test_perfect_useless_and_silent_voters():
    perfect, wrong, unseen_views = np.ones((20, 1)), -np.ones((20, 1)), np.zeros((20, 1))
    for scale in (True, False):
        rows = VoteRows([perfect, wrong, unseen_views], np.ones(20))
        got = learn_weights(rows, n_iter=5, view_weights="loss", scale=scale)
        assert np.isfinite(np.concatenate(got.pi)).all()
        assert got.pi[0][0] > 0 > got.pi[1][0]
        assert got.loss_curve[-1] < got.loss_curve[0]
    assert parallel_step(np.array([0.0]), np.array([0.0]), 0.1).tolist() == [0.0]


def test_scores_renormalise_over_present_views():
    votes = [np.ones((3, 1)), -np.ones((3, 2))]
    weights = learn_weights(
        VoteRows([np.ones((3, 1)), np.ones((3, 2))], np.ones(3)),
        n_iter=1,
        view_weights="uniform",
        scale=True,
    )
    weights.rho, weights.pi = np.array([1.0, 0.0]), [np.array([2.0]), np.array([1.0, 1.0])]
    present = np.array([[True, True], [True, False], [False, True]])
    np.testing.assert_allclose(view_scores(votes, weights.rho, weights.pi, present), [2, 2, -2])


@pytest.mark.parametrize("scaling", ["scaled", "unscaled"])
@pytest.mark.parametrize(
    ("name", "view_weights", "tolerance"),
    [("none", "uniform", 1e-8), ("lp", "paper", 1e-8), ("true_loss", "loss", 1e-5)],
)
@pytest.mark.parametrize("n_iter", [1, 2, 5])
def test_golden(scaling, name, view_weights, tolerance, n_iter):
    g = np.load(GOLDEN)
    y, H = g["y"], [g[f"H{v}"] for v in range(3)]
    got = learn_weights(
        VoteRows([y[:, None] * h for h in H], np.ones(len(y))),
        n_iter=n_iter,
        view_weights=view_weights,
        scale=scaling == "scaled",
    )
    key = f"{scaling}_{name}_T{n_iter}"
    close = {"rtol": 0, "atol": tolerance}
    np.testing.assert_allclose(got.rho, g[f"{key}_rho"], **close)
    np.testing.assert_allclose(np.concatenate(got.pi), g[f"{key}_pi"], **close)
    np.testing.assert_allclose(got.loss_curve[:-1], g[f"{key}_loss"][:, 0], **close)
    np.testing.assert_allclose(got.loss_curve[1:], g[f"{key}_loss"][:, 2], **close)
    np.testing.assert_allclose(got.bound_curve, g[f"{key}_loss"][:, 3], **close)
    scores = view_scores(H, got.rho, got.pi, np.ones((len(y), 3), dtype=bool))
    np.testing.assert_allclose(scores, g[f"{key}_score"], rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("scale", [False, True])
def test_early_stopping_keeps_the_round_of_the_lowest_loss(scale):
    votes, one = [np.ones((3, 2))], np.ones(3)
    stopping = EarlyStopping(2, scale, votes, np.ones((3, 1), dtype=bool), one, one)
    rho = np.ones(1)
    ends = [stopping(rho, [np.full(2, size)]) for size in (1.0, 3.0, 2.0, 2.5)]
    assert ends == [False, False, False, True]
    best = stopping.best(TwoLevelWeights(rho, [], np.arange(5.0), np.arange(4.0)))
    np.testing.assert_array_equal(best.pi[0], [1.5, 1.5] if scale else [3.0, 3.0])
    np.testing.assert_array_equal(best.loss_curve, [0.0, 1.0, 2.0])
    np.testing.assert_array_equal(best.bound_curve, [0.0, 1.0])
