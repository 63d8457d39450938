"""Bins of many rows and of blocks are those of all rows; sums of blocks are exact."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from consilience._core import _core
from consilience._core import cuts as module
from consilience._core.binned import BinnedView, GrowingRows, RowTarget
from consilience._core.cuts import (
    canonical,
    draw_bin_rows,
    find_cuts,
    hash_rows,
    join_ranges,
    row_masses,
)
from consilience._core.exact import (
    add_sums,
    as_float,
    cost_sum,
    exact_sums,
    exact_total,
    weight_exponent,
)

FORMS = [np.asarray, sp.csr_array]
# the first numbers of splitmix64 with seed 0
SPLITMIX = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC]


def make_rows(n=60, d=11, seed=0, missing=0.05):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (n, d)) * rng.choice([1, 0.37, 0.0], (n, d))
    X[rng.random((n, d)) < missing] = np.nan
    X[:, 0] = 1.0  # one bin
    return X


def test_rows_are_drawn_by_the_hash_of_their_number(monkeypatch):
    assert hash_rows(0, 4).tolist() == SPLITMIX
    assert hash_rows(2, 2).tolist() == SPLITMIX[2:]
    monkeypatch.setattr(module, "MAX_BIN_ROWS", 50)
    assert draw_bin_rows(7, 9, 50).tolist() == [True] * 9
    # 50 of 100 rows: those in the lower half of all numbers
    assert draw_bin_rows(0, 4, 100).tolist() == [number < 2**63 for number in SPLITMIX]
    drawn = draw_bin_rows(0, 1000, 51)
    assert 0.96 < drawn.mean() < 1
    parts = [draw_bin_rows(first, 250, 51) for first in range(0, 1000, 250)]
    np.testing.assert_array_equal(np.concatenate(parts), drawn)


@pytest.mark.parametrize("form", FORMS)
def test_cuts_are_halfway_between_bins(form):
    above = np.nextafter(1.0, 2)
    X = np.array([[0, 5, 1, -2.0], [2, 5, above, 0], [7, 5, 1, 0], [np.nan, 5, 1, 3]])
    cuts = find_cuts(form(X), None, 255)
    assert cuts.values.tolist() == [1, 4.5, 1, -1, 1.5]
    assert cuts.start.tolist() == [0, 2, 2, 3, 5]
    one = find_cuts(form(X[:, :1]), None, 255)
    assert (one.values.tolist(), one.start.tolist()) == ([1, 4.5], [0, 2])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("max_bins", [2, 7, 255])
@pytest.mark.parametrize("weighted", [False, True])
def test_limits_alone_are_those_of_the_bins(dtype, max_bins, weighted):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((700, 11)).astype(dtype)
    X[:, 1], X[:, 2] = np.nan, rng.integers(-3, 4, 700)
    X[rng.random(X.shape) < 0.05] = np.nan
    X[::7, 3], X[1::7, 3], X[::5, 4], X[1::5, 4] = 0.0, -0.0, np.inf, -np.inf
    X[:, 5] *= dtype(1e-40)  # subnormal in float32
    masses = row_masses(rng.random(700)) if weighted else None
    for rows in (X, np.asfortranarray(X), X[::3, ::2], X[:1], X[:0]):
        mass = None if masses is None else np.ascontiguousarray(masses[: len(rows)])
        _, expected = _core.bin_dense(rows, mass, None, max_bins)
        found = _core.find_limits(rows, mass, max_bins)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)
            np.testing.assert_array_equal(np.signbit(one), np.signbit(other))
    for wrong in (1, 256):
        with pytest.raises(ValueError, match="max_bins must lie in 2"):
            _core.find_limits(X, None, wrong)
    with pytest.raises(ValueError, match="mass"):
        _core.find_limits(X, np.ones(699, dtype=np.int64), 255)


def test_weights_become_integers():
    masses = row_masses(np.array([1.0, 2, 5]))
    assert masses.tolist() == [2**47, 2**48, 5 * 2**47]  # with a sum of at most 2⁵⁰
    assert row_masses(np.array([1e-300, 1])).tolist() == [1, 2**50]  # no row is lost
    assert row_masses(np.array([3.0, 3])) is None
    present = np.array([True, False, True])
    assert row_masses(np.array([1.0, 9, 3]), present).tolist() == [2**48, 0, 3 * 2**48]
    assert row_masses(np.array([2.0, 9, 2]), present) is None
    assert row_masses(np.array([2.0, 9, 2]), ~present) is None
    assert row_masses(np.zeros(0)) is None


def test_canonical_matrices_are_not_copied():
    X = sp.csr_array(np.eye(3))
    assert canonical(X, "csr") is X
    twice = sp.csr_array((np.ones(2), np.array([1, 1]), np.array([0, 2, 2])), shape=(2, 3))
    assert canonical(twice, "csr").data.tolist() == [2]
    assert twice.nnz == 2  # the argument stays as it is
    assert canonical(twice, "csc").toarray().tolist() == [[0, 2, 0], [0, 0, 0]]


@pytest.mark.parametrize("max_depth", [-1, 31])
def test_depths_of_trees(max_depth):
    view = BinnedView(make_rows())
    with pytest.raises(ValueError, match=rf"max_depth must be in \[0, 30\], got {max_depth}"):
        view.grow(np.zeros(60), np.ones(60), n_classes=2, max_depth=max_depth)
    for allowed in (0, 30):
        view.grow(np.zeros(60), np.ones(60), n_classes=2, max_depth=allowed)


@pytest.mark.parametrize("form", FORMS)
def test_weights_decide_about_few_bins(form):
    X = np.arange(1, 9.0)[:, None]
    heavy = np.array([10, 1, 1, 1, 1, 1, 1, 1.0])
    assert find_cuts(form(X), heavy, 2).values.tolist() == [1.5]
    assert find_cuts(form(X), np.ones(8), 2).values.tolist() == [4.5]


def test_ranges_of_parts_are_joined():
    cuts = module.Cuts(np.array([1.0, 5.0]), np.array([0, 1, 1, 2]))
    parts = [
        (np.array([0.0, 2, np.inf, 4, 6]), np.array([0.5, 3, -np.inf, 5, 6])),
        (np.array([-1.0, 3, np.inf, 3, 7]), np.array([1, 4, -np.inf, 4, 8])),
    ]
    least, greatest, start = join_ranges(parts, cuts)
    assert least.tolist() == [-1, 2, 3, 6]
    assert greatest.tolist() == [1, 4, 5, 8]
    assert start.tolist() == [0, 2, 2, 4]


def blocks_of(X, cuts, present, ends):
    parts = np.split(np.arange(X.shape[0]), ends)
    views = [BinnedView.from_cuts(X[part], present[part], cuts) for part in parts]
    return [view for view, _ in views], join_ranges([ranges for _, ranges in views], cuts)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("max_bins", [3, 255])
def test_blocks_have_the_codes_of_all_rows(form, max_bins):
    X = form(make_rows())
    weight, present = np.random.default_rng(1).random(60), np.arange(60) % 5 > 0
    whole = BinnedView(X, weight=weight, present=present, max_bins=max_bins)
    cuts = find_cuts(X[present], weight[present], max_bins)
    views, limits = blocks_of(X, cuts, present, [13, 40])
    joined = BinnedView.concatenate(views, limits)
    for one, other in zip(joined.limits, whole.limits, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(joined.dense_codes(), whole.dense_codes())
    np.testing.assert_array_equal(joined.present, present)
    assert (joined.n_rows, joined.n_features, joined.sparse) == (60, 11, sp.issparse(X))
    np.testing.assert_array_equal(joined.n_bins, whole.n_bins)
    coded, _ = BinnedView.from_cuts(X, present, cuts)
    for one, other in zip(joined._codes, coded._codes, strict=True):
        np.testing.assert_array_equal(one, other)
    rows = np.flatnonzero(present)[::-1][:20]
    np.testing.assert_array_equal(joined.take(rows).dense_codes(), whole.dense_codes()[:, rows])
    again = whole.take(np.flatnonzero(present))
    alone = BinnedView.concatenate([again], whole.limits)
    assert alone.present is None
    np.testing.assert_array_equal(alone.dense_codes(), whole.dense_codes()[:, present])


def test_dense_and_sparse_blocks_are_joined():
    X = make_rows()
    cuts = find_cuts(X, None, 255)
    first, _ = BinnedView.from_cuts(X[:20], None, cuts)
    second, _ = BinnedView.from_cuts(sp.csr_array(X[20:]), np.ones(40, bool), cuts)
    joined = BinnedView.concatenate([first, second], None)
    assert not joined.sparse
    np.testing.assert_array_equal(joined.dense_codes(), BinnedView(X).dense_codes())
    assert joined.present.all()


@pytest.mark.parametrize("form", FORMS)
def test_many_rows_are_binned_from_a_sample(monkeypatch, form):
    monkeypatch.setattr(module, "MAX_BIN_ROWS", 30)
    X, weight = make_rows(200), np.random.default_rng(2).random(200)
    present = np.arange(200) % 4 > 0
    view = BinnedView(form(X), weight=weight, present=present, max_bins=4)
    rows = draw_bin_rows(0, 200, 150) & present
    assert 15 < rows.sum() < 45
    cuts = find_cuts(X[rows], weight[rows], 4)
    expected, ranges = BinnedView.from_cuts(X, present, cuts)
    np.testing.assert_array_equal(view.dense_codes(), expected.dense_codes())
    for one, other in zip(view.limits, join_ranges([ranges], cuts), strict=True):
        np.testing.assert_array_equal(one, other)
    whole = BinnedView(form(X), weight=weight, max_bins=4)
    rows = draw_bin_rows(0, 200, 200)
    cuts = find_cuts(X[rows], weight[rows], 4)
    np.testing.assert_array_equal(
        whole.dense_codes(), BinnedView.from_cuts(X, None, cuts)[0].dense_codes()
    )


@pytest.mark.parametrize("form", FORMS)
def test_sums_of_a_level_add_up_over_blocks(form):
    """Two leaves of a stump, of which one gets a histogram."""
    X = form(make_rows(missing=0))
    rng = np.random.default_rng(3)
    codes, weight = rng.integers(0, 2, 60).astype(np.int32), np.ones(60)
    present = np.arange(60) % 6 > 0
    view = BinnedView(X, present=present)
    tree = view.grow(codes, weight, n_classes=2)
    arrays, first_bins = tree._arrays(), view.limits[2]
    params = {"max_depth": 2, "exponent": weight_exponent(exact_sums(weight)[0])}
    summed, built = np.array([1, 2]), np.array([2])

    def sums_of(rows):
        part, _ = BinnedView.from_cuts(X[rows], present[rows], find_cuts(X[present], None, 255))
        target = RowTarget(codes[rows], weight[rows])
        growing = GrowingRows()
        part.start_growing(growing, target, 2, params)
        result = part.level_sums(growing, arrays, summed, built, first_bins)
        return part.rows_in(arrays, np.array([2])), result

    (rows, leaves), whole = sums_of(np.arange(60))
    reached = view.apply(tree)
    np.testing.assert_array_equal(rows, np.flatnonzero((reached == 2) & present))
    assert set(leaves) == {2}
    parts = [sums_of(np.arange(*ends))[1] for ends in ((0, 25), (25, 60))]
    for total, one, other in zip(whole, *parts, strict=True):
        np.testing.assert_array_equal(total, one + other)
    counts = [np.bincount(codes[present & (reached == leaf)], minlength=2) for leaf in (1, 2)]
    unit = 2.0 ** params["exponent"]
    sums = np.asarray(whole[0], dtype=float).reshape(2, -1)
    for found, expected in zip(sums, counts, strict=True):
        assert set((expected * unit).tolist()) <= set(found.tolist())


def test_forests_grow_on_columns_or_on_entries():
    view = BinnedView(sp.csr_array(make_rows(missing=0)))
    assert view.forest_grower(660).func is _core.grow_trees
    assert view.forest_grower(659).func is _core.grow_sparse_trees
    assert BinnedView(make_rows()).forest_grower(0).func is _core.grow_trees


def random_floats(rng, n):
    return np.ldexp(rng.normal(size=n), rng.integers(-1000, 900, n))


@pytest.mark.parametrize("n", [1, 2047, 2048, 2049, 5000])
def test_exact_sums_of_more_values_than_are_carried_at_once(n):
    rng = np.random.RandomState(n)
    values = rng.randn(n) * 10.0 ** rng.randint(-300, 300, n)
    values[::7] = 5e-324 * rng.randint(-5, 5, len(values[::7]))  # subnormal
    values[::11] = -0.0
    assert exact_total(values) == float(sum(map(Fraction, values.tolist())))
    alike = np.full(n, np.nextafter(2.0, 1.0))  # all bits of the significand
    assert exact_total(alike) == float(n * Fraction(alike[0]))


def test_exact_sums_are_those_of_fractions():
    rng = np.random.default_rng(4)
    values, groups = random_floats(rng, 50), rng.integers(-1, 3, 50)
    unit = Fraction(1, 2**1074)
    sums = exact_sums(values, groups, 3)
    for group in range(3):
        expected = sum(map(Fraction, values[groups == group].tolist()))
        assert sums[group] * unit == expected
        assert as_float(sums[group]) == float(expected)
    assert exact_total(values) == float(sum(map(Fraction, values.tolist())))
    halves = [exact_sums(values[:20], groups[:20], 3), exact_sums(values[20:], groups[20:], 3)]
    assert add_sums(halves) == sums
    costs = rng.normal(size=(9, 3))
    rows = np.arange(9) % 2 == 0
    largest = np.abs(costs - costs[:, :1]).max(axis=1)
    assert cost_sum(costs, rows) == exact_sums(largest[rows])[0]
    assert cost_sum(costs, None) == exact_sums(largest)[0]


@pytest.mark.parametrize("sign", [1, -1])
def test_sums_are_rounded_once(sign):
    tie = 2**1074 * (2**53 + 1)  # between two floats; the even one is taken
    assert as_float(sign * tie) == sign * 2.0**53
    assert as_float(sign * (tie + 1)) == sign * (2.0**53 + 2)
    assert as_float(sign * (tie - 1)) == sign * 2.0**53
    assert as_float(sign * (2**64 + 1)) == sign * 2.0 ** (64 - 1074)
    assert as_float(sign) == sign * 2.0**-1074
    assert as_float(0) == 0


def test_weights_are_scaled_to_fifty_bits():
    for total in (1.0, 1.5, 0.75, 1e300, 3e-300):
        scaled = Fraction(total) * Fraction(2) ** weight_exponent(exact_sums(np.array([total]))[0])
        assert 2**49 <= scaled < 2**50
    assert weight_exponent(0) == 0
