import signal
import threading
import time
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience._core import StopFlag, _core
from consilience._core.binned import BinnedView
from reference import boosted as twin
from reference.tree_problems import draw_matrix, draw_weights, examples

PARAMS = {
    "max_rounds": 3,
    "patience": 3,
    "max_leaves": 5,
    "max_depth": 3,
    "learning_rate": 0.3,
    "l2": 1.0,
    "min_hessian": 0.2,
    "row_share": 1.0,
    "max_features": 1000,
    "seed": 0,
}
MANY_ROWS = 300  # more than walk down the trees one by one
NODE_ARRAYS = ("feature", "threshold", "left", "right", "missing_left", "value")


def boost(view, codes, weight, left_out, base, n_classes, **params):
    """Trees as arrays, scores (rows left out x scores) and losses."""
    trees, scores, losses = _core.boost(
        view.dense_codes(),
        *view.limits,
        codes.astype(np.int32),
        weight,
        left_out,
        base,
        n_classes,
        tuple({**PARAMS, **params}.values()),
    )
    return trees, scores.reshape(len(base), -1).T, losses


def split_trees(trees):
    """One dict of arrays for each tree."""
    *arrays, starts = trees
    return [
        {name: values[first:last] for name, values in zip(NODE_ARRAYS, arrays, strict=True)}
        for first, last in pairwise(starts)
    ]


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(4, 40)), draw(st.integers(1, 11))
    n_classes = draw(st.sampled_from([2, 2, 3, 5]))
    share_zero = draw(st.sampled_from([0.0, 0.5, 0.9]))
    share_missing = draw(st.sampled_from([0.0, 0.1, 0.5]))
    X = draw_matrix(rng, n, d, draw(st.integers(1, 12)), share_zero, share_missing)
    codes = rng.integers(n_classes, size=n)
    weight = draw_weights(rng, n, draw(st.sampled_from(["ones", "integers", "wide"]))) + 0.01
    left_out = rng.random(n) < 0.3
    left_out[:2] = [True, False]
    base = rng.normal(size=1 if n_classes == 2 else n_classes)
    params = {
        "max_leaves": draw(st.integers(1, 8)),
        "max_depth": draw(st.integers(0, 5)),
        "l2": draw(st.sampled_from([0.0, 1.0])),
        "min_hessian": draw(st.sampled_from([0.01, 0.2])),
        "patience": draw(st.integers(1, 3)),
    }
    return X, codes, weight / weight.mean(), left_out, base, n_classes, params


@examples(500)
@given(problem=problems(), max_bins=st.sampled_from([255, 5]))
def test_kernel_equals_the_reference(problem, max_bins):
    X, codes, weight, left_out, base, n_classes, params = problem
    view = BinnedView(X, max_bins=max_bins)
    trees, scores, losses = boost(view, codes, weight, left_out, base, n_classes, **params)
    expected, expected_scores, expected_losses = twin.boost(
        X, codes, weight, left_out, base, {**PARAMS, **params}, max_bins
    )
    np.testing.assert_allclose(losses, expected_losses, rtol=1e-12)
    np.testing.assert_allclose(scores, expected_scores, rtol=1e-12, atol=1e-12)
    assert len(split_trees(trees)) == len(expected)
    for tree, own in zip(split_trees(trees), expected, strict=True):
        for name in NODE_ARRAYS:
            np.testing.assert_array_equal(tree[name], own[name], err_msg=name)
    for dtype in (np.float64, np.float32):
        rows = X.astype(dtype)
        predicted = _core.boosted_scores(trees, rows, len(base)) + base
        np.testing.assert_allclose(predicted, twin.predict(expected, rows, base), atol=1e-12)
    predicted = _core.boosted_scores(trees, X, len(base))
    np.testing.assert_allclose(predicted[left_out] + base, scores, atol=1e-12)
    many = np.resize(X, (MANY_ROWS, X.shape[1]))
    np.testing.assert_array_equal(
        _core.boosted_scores(trees, many, len(base)), np.resize(predicted, (MANY_ROWS, len(base)))
    )


def make_problem(n=2000, d=40, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[rng.random((n, d)) < 0.05] = np.nan
    filled = np.nan_to_num(X)
    score = filled[:, 0] + filled[:, 1] * filled[:, 2] + 0.5 * rng.normal(size=n)
    codes = np.searchsorted(np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1]), score)
    left_out = np.arange(n) % 4 == 0
    base = np.zeros(1 if n_classes == 2 else n_classes)
    return X, codes, rng.random(n) + 0.5, left_out, base, n_classes


DRAWS = {"max_rounds": 20, "max_leaves": 8, "row_share": 0.5, "max_features": 16}


@pytest.mark.parametrize("n_classes", [2, 4])
def test_draws_depend_on_the_seed_alone(n_classes):
    X, *rest = make_problem(n_classes=n_classes)
    view = BinnedView(X)
    first = boost(view, *rest, **DRAWS)
    again = boost(view, *rest, **DRAWS)
    other = boost(view, *rest, **DRAWS, seed=1)
    for a, b in zip(first[0], again[0], strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(first[1], other[1])


@pytest.mark.parametrize("n_classes", [2, 4])
def test_it_learns(n_classes):
    X, codes, weight, left_out, base, _ = make_problem(n_classes=n_classes)
    trees, scores, losses = boost(
        BinnedView(X), codes, weight, left_out, base, n_classes, **{**DRAWS, "max_rounds": 100}
    )
    assert losses.min() < 0.8 * np.log(n_classes)
    assert len(split_trees(trees)) == len(base) * (losses.argmin() + 1)
    predicted = _core.boosted_scores(trees, X, len(base))[left_out]
    np.testing.assert_allclose(predicted, scores, atol=1e-9)


def test_interrupt():
    X, *rest = make_problem(n=20_000)
    view = BinnedView(X)
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        boost(view, *rest, max_rounds=100_000, patience=100_000)
    assert time.monotonic() - start < 10
    flag = StopFlag()
    flag.set()
    with flag, pytest.raises(KeyboardInterrupt):
        boost(view, *rest)


def test_wrong_arguments():
    X, codes, weight, left_out, base, n_classes = make_problem(n=50)
    view = BinnedView(X)
    with pytest.raises(ValueError, match="weights must be positive"):
        boost(view, codes, 0 * weight, left_out, base, n_classes)
    with pytest.raises(ValueError, match="one entry per row"):
        boost(view, codes[1:], weight, left_out, base, n_classes)
    with pytest.raises(ValueError, match="codes must lie"):
        boost(view, codes + 1, weight, left_out, base, n_classes)
    with pytest.raises(ValueError, match="out of range"):
        boost(view, codes, weight, left_out, base, n_classes, min_hessian=0.0)


def test_damaged_trees():
    X, *rest = make_problem(n=200)
    trees, *_ = boost(BinnedView(X), *rest)

    def damaged(name, change):
        arrays = [array.copy() for array in trees]
        change(arrays[[*NODE_ARRAYS, "starts"].index(name)])
        return tuple(arrays)

    cases = [
        ("left", lambda a: a.__setitem__(0, 0), "not a tree"),
        ("right", lambda a: a.__setitem__(0, 10_000), "not a tree"),
        ("feature", lambda a: a.__setitem__(0, 1000), "fewer features"),
        ("threshold", lambda a: a.__setitem__(0, np.nan), "not a tree"),
        ("starts", lambda a: a.__setitem__(1, 0), "must increase"),
        ("starts", lambda a: a.__setitem__(-1, 10**6), "starts"),
    ]
    for name, change, message in cases:
        with pytest.raises(ValueError, match=message):
            _core.boosted_scores(damaged(name, change), X, 3)
    with pytest.raises(ValueError, match="same length"):
        _core.boosted_scores((trees[0][:-1], *trees[1:]), X, 3)


@pytest.mark.parametrize("max_leaves", [16, 17, 40])
def test_many_rows_are_predicted_like_few(max_leaves):
    X, *rest = make_problem(n=1000)
    params = {"max_leaves": max_leaves, "max_depth": 30, "min_hessian": 0.01}
    trees, *_ = boost(BinnedView(X[:, :5]), *rest, **params)
    X[::7, 2] = np.nan
    few = [_core.boosted_scores(trees, X[i : i + 100], 3) for i in range(0, 1000, 100)]
    for many in (X, np.asfortranarray(X)):
        np.testing.assert_array_equal(_core.boosted_scores(trees, many, 3), np.vstack(few))
