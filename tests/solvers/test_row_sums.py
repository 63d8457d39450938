"""Rows in memory: samples of them, and copies for other processes."""

import pickle

import numpy as np

from consilience._solvers.row_sums import InMemoryRows

RNG = np.random.default_rng(0)
X, SIGNS = RNG.normal(size=(30, 4)), RNG.choice([-1.0, 1.0], size=(30, 2))
COST = RNG.uniform(0.5, 2, 30)
ROWS = InMemoryRows(X, SIGNS, COST)


def test_a_sample_has_the_total_cost_of_all_rows():
    block = ROWS.sample(7, np.random.RandomState(0))
    where = np.array([np.flatnonzero((row == X).all(axis=1)).item() for row in block.X])
    assert list(where) == sorted(set(where))
    np.testing.assert_array_equal(block.signs, SIGNS[where])
    np.testing.assert_allclose(block.cost, COST[where] * COST.sum() / COST[where].sum())
    assert block.bias == ROWS.whole.bias


def test_a_sample_of_all_rows_is_the_whole():
    assert ROWS.sample(30, np.random.RandomState(0)) is ROWS.whole


def test_a_copy_has_the_same_rows_and_settings():
    rows = InMemoryRows(X, SIGNS, COST, intercept=False, n_jobs=2).problems(np.array([1]))
    again = pickle.loads(pickle.dumps(rows))
    np.testing.assert_array_equal(again.whole.X, X)
    np.testing.assert_array_equal(again.whole.signs, SIGNS[:, [1]])
    np.testing.assert_array_equal(again.whole.cost, COST)
    assert (again.whole.bias, again.n_jobs) == (0.0, 2)
