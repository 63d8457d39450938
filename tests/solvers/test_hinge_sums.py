"""Hinges with rounded kinks: derivatives, and how close their solution is."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from consilience._solvers.centred_views import CentredViews
from consilience._solvers.hinge_sums import Rounded, approximate
from consilience._solvers.interior_point import Loss
from consilience._solvers.working_set import Pieces
from consilience.margin._svm2k import agreement, hinges_of_pair, solve_pair
from margin.problems import make_problem, problems
from reference import margin as reference
from solvers.test_interior_point import raw


@given(problems(max_views=2), st.sampled_from([1.0, 0.1]))
def test_hessian_is_the_derivative_of_the_gradient(problem, width):
    blocks = CentredViews(problem.stored, problem.present)
    hinges = hinges_of_pair(problem.present, [1.0, 2.0][: blocks.V], 0.5, 0.1)
    rng = np.random.default_rng(0)
    before = rng.random((len(hinges.cost), blocks.n)) * hinges.cost[:, None]
    rounded = Rounded(blocks, problem.y, problem.weight, hinges, before, width)
    theta, p = rng.standard_normal((2, blocks.size))

    def gradient(t):
        lam = rounded.multipliers(problem.y * blocks.matvec(theta + t * p).T)
        g = -blocks.rmatvec((problem.y * rounded.pull(lam)).T)
        g[: blocks.d] += (theta + t * p)[: blocks.d]
        return (lam > 0) & (lam < rounded.top), lam, g

    step = 1e-7
    (low, _, below), (middle, lam, _), (high, _, above) = map(gradient, (-step, 0.0, step))
    if (low != middle).any() or (high != middle).any():
        return  # a kink of the gradient in between
    H = np.triu(rounded.hessian(lam))
    H += np.triu(H, 1).T
    slope = (above - below) / (2 * step)
    np.testing.assert_allclose(slope, H @ p, rtol=1e-4, atol=1e-4 * (1 + np.abs(H).max()))


def test_rounded_kinks_are_narrowed_until_few_samples_lie_in_them():
    """With D = 10 the views agree so well that nearly all samples are near epsilon."""
    problem = make_problem(5, 2500, 2, 0.7)
    blocks = CentredViews(problem.stored, problem.present)
    given = problem.y, problem.weight, [1.0, 1.0], 10.0, 0.01
    loss, constraints = Loss.linear([1.0, 1.0, 10.0]), agreement(problem.present, 0.01)
    pieces = Pieces(blocks, problem.y, problem.weight, loss, constraints)
    first = approximate(pieces, hinges_of_pair(problem.present, *given[2:]))
    assert first.n_iter > 0
    assert first.width < 0.2**3
    assert pieces.near_kinks(first.theta, first.width).mean() < 0.4
    exact = solve_pair(blocks, *given)
    values = [
        reference.svm2k_objective(raw(blocks, theta), problem.Xs, problem.present, *given)
        for theta in (first.theta, exact.theta)
    ]
    assert values[1] <= values[0] * (1 + 1e-12)
    assert values[0] <= values[1] * 1.01
