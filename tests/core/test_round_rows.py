"""Compiled passes of boosting rounds against the formulas of the papers, and wrong arrays."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience._core import _core
from consilience._core.exact import UNIT_EXPONENT, read_limbs


@st.composite
def rounds(draw):
    """Codes, predictions with abstentions, a mask of rows that have a prediction, and costs."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n, n_classes = draw(st.integers(0, 40)), draw(st.integers(2, 4))
    codes = rng.integers(n_classes, size=n).astype(np.int32)
    predictions = rng.integers(-1, n_classes, size=n).astype(np.int32)
    mask = (rng.random(n) < 0.7) & (predictions >= 0)
    base = rng.random((n, n_classes)) * 10.0 ** rng.integers(-300, 99, (n, n_classes))
    base[np.arange(n), codes] = 0.0
    return codes, predictions, mask, rng.random(n), base, base.sum(axis=1)


def exactly(sums):
    return [Fraction(total) * Fraction(2) ** UNIT_EXPONENT for total in read_limbs(sums)]


def total(values):
    return sum(map(Fraction, values.tolist()), Fraction(0))


@given(rounds())
def test_sums_of_costs(problem):
    codes, predictions, mask, scale, base, totals = problem
    weights, wrong = scale * totals, predictions != codes
    losses = scale * base[np.arange(len(codes)), predictions]
    is_loss = wrong & (predictions >= 0)
    expected = [
        total(values[rows])
        for values, rows in (
            (weights, mask & ~wrong),
            (weights, mask & wrong),
            (weights, ~mask),
            (losses, mask & is_loss),
            (losses, ~mask & is_loss),
        )
    ]
    result = _core.cost_sums(scale, base, totals, codes, predictions, mask)
    assert exactly(result) == expected


@given(rounds(), st.sampled_from([0.0, 0.3, 2.0]))
def test_new_costs(problem, alpha):
    codes, predictions, mask, scale, base, totals = problem
    shrink, grow, above = float(np.exp(-alpha)), float(np.expm1(alpha)), 1e90
    expected = scale.copy(), base.copy(), totals.copy()
    for i in np.flatnonzero(mask):
        h = predictions[i]
        if h == codes[i]:
            expected[0][i] *= shrink
            continue
        added = expected[1][i, h] * grow
        expected[1][i, h] += added
        expected[2][i] += added
        if expected[2][i] > above:
            expected[1][i] /= expected[2][i]
            expected[0][i] *= expected[2][i]
            expected[2][i] = 1.0
    _core.update_costs(scale, base, totals, codes, predictions, mask, shrink, grow, above)
    for array, other in zip((scale, base, totals), expected, strict=True):
        np.testing.assert_array_equal(array, other)


@given(rounds())
def test_votes(problem):
    codes, predictions, _, w, *_ = problem
    kinds = np.where(predictions < 0, 2, predictions != codes)
    expected = [total(w[kinds == kind]) for kind in range(3)]
    assert exactly(_core.vote_sums(w, codes, predictions)) == expected
    factors, out = np.array([0.3, 1.7, 1.1]), np.empty_like(w)
    _core.reweigh(w, codes, predictions, factors, out)
    np.testing.assert_array_equal(out, w * factors[kinds])


def test_wrong_arrays():
    codes = np.zeros(3, dtype=np.int32)
    ones, base, mask = np.ones(3), np.ones((3, 2)), np.ones(3, dtype=bool)
    with pytest.raises(ValueError, match="one entry per row"):
        _core.vote_sums(ones, codes[:2], codes)
    with pytest.raises(ValueError, match="finite"):
        _core.vote_sums(np.array([1.0, np.inf, 1.0]), codes, codes)
    with pytest.raises(ValueError, match="must be classes"):
        _core.cost_sums(ones, base, ones, codes, codes + 2, mask)
    with pytest.raises(ValueError, match="must be classes"):
        _core.update_costs(ones, base, ones, codes - 1, codes, mask, 1.0, 1.0, 1e9)
    with pytest.raises(ValueError, match="one row per row"):
        _core.cost_sums(ones, base[:2], ones, codes, codes, mask)
    with pytest.raises(ValueError, match="do not fit"):
        _core.reweigh(ones, codes, codes, np.ones(2), np.empty(3))


def test_growing_rows_check_their_arrays():
    rows, bins = _core.GrowingRows(), np.zeros((1, 3, 8), dtype=np.uint8)
    none, zero = np.full(1, -1, dtype=np.int32), np.zeros(1, dtype=np.uint8)
    tree = (none, np.full(1, np.nan), none, none, zero, zero)
    start, node = np.array([0, 1, 2]), np.zeros(1, dtype=np.int32)
    params = (1, 1, 0.0, 2, False, 0, 49, None, 0)
    with pytest.raises(ValueError, match="bins do not fit"):
        rows.dense_level(bins, tree, start, node, node, 1, 1)  # not started
    with pytest.raises(ValueError, match="one entry per row"):
        rows.start(3, 2, none, np.ones(3), None, None, 2, params)
    rows.start(3, 2, np.zeros(3, dtype=np.int32), np.full(3, 0.25), None, None, 2, params)
    sums, hist = rows.dense_level(bins, tree, start, node, node, 1, 1)
    assert sums[0] == 3 * 2**47
    assert sums[2] == 3
    assert hist.sum() == 3 * 2**47 * 8
    with pytest.raises(ValueError, match="out of range"):
        rows.dense_level(bins, tree, start, node, node, 0, 1)
    with pytest.raises(ValueError, match="nodes of the level"):
        rows.dense_level(bins, tree, start, np.zeros(2, dtype=np.int32), node, 1, 1)
