"""Coupled margins over blocks of rows: derivatives, and the solution of the solver in memory."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from consilience._solvers import coupled_sums
from consilience._solvers.centred_views import CentredViews
from consilience._solvers.coupled_margins import homotopy
from consilience._solvers.coupled_sums import (
    MarginBlock,
    evaluate,
    hessian_diagonal,
    hessian_product,
    hessians,
    loss_and_gradient,
    minimise_sums,
)
from consilience._solvers.water_filling import coupling
from margin.problems import problems


def block_of(problem, sparse=False):
    """A block with two problems, the second with labels turned around."""
    Xs = [np.where(problem.present[:, [v]], X, 0.0) for v, X in enumerate(problem.Xs)]
    Xs = [sp.csr_array(X) for X in Xs] if sparse else Xs
    views = CentredViews(Xs, problem.present, weight=problem.weight)
    return MarginBlock(views, np.stack([problem.y, -problem.y], axis=1), problem.weight)


def pieces(block, size):
    rows = [np.arange(k, min(k + size, block.views.n)) for k in range(0, block.views.n, size)]
    return [MarginBlock(block.views.rows(r), block.signs[r], block.weight[r]) for r in rows]


def total_over(blocks):
    def total(function, *state):
        parts = [function(block, *state) for block in blocks]
        return tuple(np.sum(column, axis=0) for column in zip(*parts, strict=True))

    return total


@given(problems(), st.booleans())
def test_derivatives(problem, sparse):
    block, (a, b) = block_of(problem, sparse), coupling(0.7, 0.5, problem.n_views)
    which, rng = np.arange(2), np.random.RandomState(0)
    theta, p = rng.randn(2, block.views.size, 2) * 0.3
    total = total_over(pieces(block, 5))
    _, g, _ = total(loss_and_gradient, theta, which, a, b)
    step = 1e-6
    ahead, behind = (total(loss_and_gradient, theta + s * step * p, which, a, b) for s in (1, -1))
    slope = (ahead[0] - behind[0]) / (2 * step)
    scale = 1 + np.abs(g).max() * np.abs(p).max()
    np.testing.assert_allclose(slope, np.einsum("ij,ij->j", g, p), atol=1e-5 * scale)
    (H,) = total(hessians, theta, which, a, b)
    H = [np.triu(h) + np.triu(h, 1).T for h in H]
    (product,) = total(hessian_product, theta, p, which, a, b)
    size = max(np.abs(h).max() for h in H) + 1
    for k in which:
        np.testing.assert_allclose(product[:, k], H[k] @ p[:, k], atol=1e-9 * size)
    (diagonal,) = total(hessian_diagonal, theta, which, a, b)
    np.testing.assert_allclose(diagonal, np.stack([h.diagonal() for h in H], 1), atol=1e-9 * size)


@given(problems(), st.sampled_from([0.1, 1.0, 10.0]), st.sampled_from([0.0, 0.5, 0.9]))
def test_solution_is_that_of_the_solver_in_memory(problem, c, alpha):
    block, (a, b) = block_of(problem), coupling(c, alpha, problem.n_views)
    slices, which = block.views.slices, np.arange(2)
    alone = [
        homotopy(block.views, y, block.weight, lambda c: coupling(c, alpha, problem.n_views), c)
        for y in block.signs.T.copy()
    ]
    expected = np.stack([solution.theta for solution in alone], axis=1)
    total = total_over(pieces(block, 7))
    values = evaluate(slices, total, expected, which, a=a, b=b)[0]
    limit = coupled_sums.MAX_HESSIAN_ENTRIES
    for form, largest in (("Cholesky", limit), ("CG", 0)):
        coupled_sums.MAX_HESSIAN_ENTRIES = largest
        try:
            result = minimise_sums(total, slices, np.zeros_like(expected), a, b)
        finally:
            coupled_sums.MAX_HESSIAN_ENTRIES = limit
        assert result.converged, form
        again = evaluate(slices, total, result.theta, which, a=a, b=b)[0]
        np.testing.assert_allclose(again, values, rtol=1e-9, atol=1e-12)


def test_no_rows_add_nothing():
    views = CentredViews([np.empty((0, 3))], np.empty((0, 1), dtype=bool), means=[np.zeros(3)])
    block = MarginBlock(views, np.empty((0, 1)), np.empty(0))
    loss, g, mass = loss_and_gradient(block, np.ones((4, 1)), np.arange(1), 1.0, 0.0)
    assert loss == pytest.approx(0)
    assert not g.any()
    assert not mass.any()
    assert not hessians(block, np.ones((4, 1)), np.arange(1), 1.0, 0.0)[0].any()
