from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from consilience._core.binned import BinnedView
from consilience._core.cuts import aligned, as_floats
from reference.tree_problems import examples
from reference.trees import bin_limits, bin_of, midpoint

DTYPES = [np.float32, np.float64]
TINY = np.finfo(np.float64).smallest_subnormal


def limits_of(view):
    """[(least, greatest)] of the bins of each feature."""
    least, greatest, start = view._limits
    return [
        list(zip(least[a:b].tolist(), greatest[a:b].tolist(), strict=True))
        for a, b in pairwise(start)
    ]


def codes_of(view):
    """Codes (n_rows x n_features) of a dense view."""
    (bins,) = view._codes
    return np.concatenate(list(bins), axis=1)[:, : view.n_features]


def sparse_codes_of(view):
    """The same of a sparse view."""
    indptr, _, rows, codes, zero_bin, _, n_rows = view._codes
    out = np.tile(zero_bin, (n_rows, 1))
    for f in range(view.n_features):
        entries = slice(indptr[f], indptr[f + 1])
        out[rows[entries], f] = codes[entries]
    return out


def matrices(dtype):
    width = np.dtype(dtype).itemsize * 8
    wild = st.floats(width=width, allow_infinity=False)
    tame = st.integers(-3, 3).map(float)
    return hnp.arrays(
        dtype, st.tuples(st.integers(1, 30), st.integers(1, 10)), elements=wild | tame
    )


@pytest.mark.parametrize("dtype", DTYPES)
@examples(500)
@given(data=st.data(), max_bins=st.sampled_from([2, 3, 7, 255]))
def test_bins_equal_the_reference(dtype, data, max_bins):
    X = data.draw(matrices(dtype))
    view = BinnedView(X, max_bins=max_bins)
    expected = [bin_limits(column, max_bins) for column in X.T]
    assert limits_of(view) == expected
    codes = [[bin_of(x, expected[f]) for f, x in enumerate(row)] for row in X.tolist()]
    np.testing.assert_array_equal(codes_of(view), codes)
    sparse = BinnedView(sp.csc_array(X), max_bins=max_bins)
    assert limits_of(sparse) == expected
    np.testing.assert_array_equal(sparse_codes_of(sparse), codes)


@pytest.mark.parametrize("n_values", [255, 256, 1000])
def test_many_values(n_values):
    rng = np.random.default_rng(0)
    X = rng.permutation(np.repeat(np.arange(n_values) ** 1.5, 3))[:, None]
    limits = limits_of(BinnedView(X))[0]
    assert len(limits) == 255
    assert limits == bin_limits(X[:, 0])
    sizes = np.bincount(codes_of(BinnedView(X))[:, 0])
    assert sizes.max() <= 2 * int(np.ceil(len(X) / 255))


def test_a_frequent_value_has_its_own_bin():
    X = np.concatenate([np.zeros(5000), np.random.default_rng(0).normal(size=5000)])[:, None]
    assert (0.0, 0.0) in limits_of(BinnedView(X))[0]
    assert BinnedView(X).n_bins[0] == 255


@pytest.mark.parametrize("dtype", DTYPES)
@examples(500)
@given(data=st.data())
def test_a_threshold_separates_what_the_bins_separate(dtype, data):
    """Neighbouring numbers, huge and denormal ones: the raw value goes where its bin goes."""
    width = np.dtype(dtype).itemsize * 8
    x = data.draw(st.floats(width=width, allow_infinity=False, allow_nan=False))
    with np.errstate(over="ignore"):
        neighbour = float(np.nextafter(dtype(x), dtype(np.inf)))
    y = data.draw(
        st.just(neighbour) | st.floats(width=width, allow_infinity=False, allow_nan=False)
    )
    low, high = sorted([dtype(x), dtype(y)])
    if not low < high < np.inf:
        return
    X = np.array([[low], [high]])
    tree = BinnedView(X).grow([0, 1], np.ones(2), n_classes=2)
    assert low <= tree.threshold[0] < high
    np.testing.assert_array_equal(tree.predict(X), [0, 1])
    np.testing.assert_array_equal(tree.predict(sp.csr_array(X)), [0, 1])


@pytest.mark.parametrize(
    ("below", "above"),
    [(0.0, TINY), (-TINY, 0.0), (TINY, 2 * TINY), (3 * TINY, 4 * TINY), (-1.7e308, 1.7e308),
     (1.6e308, 1.7e308), (1.0, 1 + 2**-52), (2.0**53, 2.0**53 + 2), (0.0, 1.0)],
)  # fmt: skip
def test_midpoints(below, above):
    tree = BinnedView(np.array([[below], [above]])).grow([0, 1], np.ones(2), n_classes=2)
    assert tree.threshold[0] == midpoint(below, above)
    assert below <= tree.threshold[0] < above


def variants(X):
    """The same numbers in every layout that needs no conversion."""
    wide = np.zeros((2 * len(X), 3 * X.shape[1]), dtype=X.dtype)
    wide[::2, ::3] = X
    frozen = X.copy()
    frozen.flags.writeable = False
    yield from (np.asfortranarray(X), wide[::2, ::3], X[::-1][::-1], frozen)
    yield np.asfortranarray(X[:, ::-1])[:, ::-1]
    yield X.astype(X.dtype.newbyteorder())


@pytest.mark.parametrize(
    "dtype", [*DTYPES, np.int8, np.uint16, np.int32, np.int64, np.uint64, bool]
)
def test_types_and_layouts(dtype):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2 if dtype is bool else 100, size=(60, 11)).astype(dtype)
    expected = BinnedView(X.astype(np.float64))
    tree = expected.grow(rng.integers(3, size=60), np.ones(60), n_classes=3, max_depth=3)
    for same in [X, *variants(X)]:
        np.testing.assert_array_equal(codes_of(BinnedView(same)), codes_of(expected))
        np.testing.assert_array_equal(tree.predict(same), expected.predict(tree))
    for form in (sp.csr_array, sp.csc_array, sp.csr_matrix, sp.csc_matrix, sp.coo_array):
        view = BinnedView(form(X))
        np.testing.assert_array_equal(sparse_codes_of(view), codes_of(expected))
        np.testing.assert_array_equal(tree.predict(form(X)), expected.predict(tree))


def test_read_only_memory_map(tmp_path):
    X = np.random.default_rng(0).normal(size=(50, 9))
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    np.testing.assert_array_equal(codes_of(BinnedView(mapped)), codes_of(BinnedView(X)))


def test_sparse_input_in_any_order():
    """Unsorted indices, duplicates and stored zeros: read as the sums that they stand for."""
    data, rows, columns = [2.0, 1.0, 1.0, 0.0, -3.0], [2, 0, 0, 1, 1], [1, 0, 0, 0, 1]
    X = sp.coo_array((data, (rows, columns)), shape=(3, 2))
    messy = sp.csr_array((np.array([1.0, 1.0, -3.0, 0.0, 2.0]), np.array([0, 0, 1, 0, 1]),
                          np.array([0, 2, 4, 5])), shape=(3, 2))  # fmt: skip
    before = messy.data.copy()
    for form in (X, messy):
        np.testing.assert_array_equal(
            sparse_codes_of(BinnedView(form)), codes_of(BinnedView(X.toarray()))
        )
    np.testing.assert_array_equal(messy.data, before)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_absent_rows_are_not_read(form):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, size=(40, 10)).astype(float)
    present = rng.random(40) < 0.6
    spoiled = X.copy()
    spoiled[~present] = rng.choice([np.nan, np.inf, 1e300], size=spoiled[~present].shape)
    view = BinnedView(form(spoiled), present=present)
    kept = BinnedView(form(X[present]))
    assert limits_of(view) == limits_of(kept)
    codes = rng.integers(3, size=40)
    tree = view.grow(codes, np.ones(40), n_classes=3, max_depth=3)
    other = kept.grow(codes[present], np.ones(present.sum()), n_classes=3, max_depth=3)
    np.testing.assert_array_equal(tree.threshold, other.threshold)
    np.testing.assert_array_equal(view.predict(tree)[present], kept.predict(other))


def test_one_sign_of_zero():
    X = np.array([[-0.0], [0.0], [1.0]])
    assert BinnedView(X).n_bins[0] == 2


@pytest.mark.parametrize("max_bins", [0, 1, 256])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_invalid_number_of_bins_raises(max_bins, form):
    with pytest.raises(ValueError, match="max_bins"):
        BinnedView(form(np.ones((2, 1))), max_bins=max_bins)


def test_mask_of_another_length_raises():
    with pytest.raises(ValueError, match="present"):
        BinnedView(np.ones((3, 1)), present=np.ones(2, dtype=bool))


@pytest.mark.parametrize("form", [np.array, sp.csr_array], ids=["dense", "sparse"])
@given(seed=st.integers(0, 10_000), max_bins=st.integers(2, 12))
def test_weights_are_repeated_rows(form, seed, max_bins):
    rng = np.random.RandomState(seed)
    X = np.where(rng.rand(40, 3) < 0.3, 0.0, np.round(rng.randn(40, 3), 1))
    weight = rng.randint(1, 6, size=40).astype(float)
    rows = np.repeat(np.arange(40), weight.astype(int))
    weighted = BinnedView(form(X), weight=weight, max_bins=max_bins)
    repeated = BinnedView(form(X[rows]), max_bins=max_bins)
    for ours, theirs in zip(weighted._limits, repeated._limits, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_columns_of_codes_do_not_depend_on_the_storage():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((40, 11)) < 0.6, 0.0, rng.normal(size=(40, 11)))
    dense, sparse = BinnedView(X)._column_codes(), BinnedView(sp.csr_array(X))._column_codes()
    assert dense.shape == (11, 40)
    for column, other, values in zip(dense, sparse, X.T, strict=True):
        order = np.argsort(values, kind="stable")
        assert (np.diff(column[order].astype(int)) >= 0).all()
        np.testing.assert_array_equal(
            np.unique(column, return_inverse=True)[1], np.unique(other, return_inverse=True)[1]
        )


def test_floats_are_copied_only_if_they_must_be():
    X = np.zeros((4, 6))
    for same in (X, X.astype(np.float32), X[::2, ::3], X.T):
        assert as_floats(same) is same
    records = np.zeros(4, dtype=[("a", "i1"), ("b", "f8")])
    shifted = np.frombuffer(bytearray(8 * 24 + 1), dtype=np.uint8)[1:].view(np.float64)
    assert not aligned(shifted)
    assert not aligned(X.astype(">f8"))
    for other in (records["b"], shifted, X.astype(">f8"), X.astype(np.float16), X.astype(int)):
        converted = as_floats(other)
        assert converted.dtype == np.float64
        assert aligned(converted)
        np.testing.assert_array_equal(converted, other)


def test_dense_codes_of_sparse_views_are_their_columns_in_blocks_of_eight():
    rng = np.random.default_rng(0)
    X = sp.csr_array(np.where(rng.random((40, 11)) < 0.6, 0.0, rng.normal(size=(40, 11))))
    view = BinnedView(X)
    blocks, columns = view.dense_codes(), view._column_codes()
    assert blocks.shape == (2, 40, 8)
    np.testing.assert_array_equal(blocks.transpose(0, 2, 1).reshape(16, 40)[:11], columns)
    assert (blocks[1, :, 3:] == 255).all()


@pytest.mark.parametrize("present", [None, np.array([True, False, True, True])])
def test_rows_in_another_order(present):
    X = np.array([[3.0, 1.0], [np.nan, 2.0], [1.0, 2.0], [2.0, 0.0]])
    view = BinnedView(X, present=present)
    order = np.array([2, 3, 0, 1])
    turned = view.in_order(order)
    expected = BinnedView(X[order], present=None if present is None else present[order])
    assert (turned.n_rows, turned.n_features, turned.sparse) == (4, 2, False)
    assert limits_of(turned) == limits_of(expected)
    np.testing.assert_array_equal(codes_of(turned), codes_of(expected))
    if present is None:
        assert turned.present is None
    else:
        np.testing.assert_array_equal(turned.present, expected.present)
