"""Forests of the default classifier against slow twins."""

import pickle
from dataclasses import fields, replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from joblib import Parallel, delayed

from consilience._default import _forest
from consilience._default._forest import N_FOLDS, Forest, assign_folds, grow_forest
from reference import default as slow
from reference.tree_problems import draw_matrix, draw_weights, examples

SEEDS = np.arange(2 * N_FOLDS) * 7 + 1


def in_turn(function, items):
    return [function(item) for item in items]


def in_threads(function, items):
    return Parallel(2, require="sharedmem")(delayed(function)(item) for item in items)


@st.composite
def forest_problems(draw):
    """X with ties, NaN and zeros, classes, and positive weights."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d, n_classes = draw(st.integers(12, 150)), draw(st.integers(1, 19)), draw(st.integers(2, 7))
    share_missing = draw(st.sampled_from([0.0, 0.2]))
    X = draw_matrix(rng, n, d, draw(st.integers(2, 80)), rng.choice([0.0, 0.6]), share_missing)
    weight = draw_weights(rng, n, draw(st.sampled_from(["ones", "integers", "wide"])))
    return X, rng.integers(n_classes, size=n), weight + 0.5, n_classes


def some_views(rng, n, d):
    """Views of the columns, and which of them the rows have."""
    view_of_column = rng.integers(3, size=d)
    return rng.random((n, 3)) < 0.6, view_of_column


@examples(300)
@given(forest_problems(), st.sampled_from([np.asarray, np.asfortranarray, sp.csr_array]))
def test_forests_equal_the_reference(problem, convert):
    X, codes, weight, n_classes = problem
    folds = assign_folds(codes, N_FOLDS)
    expected, predict = slow.grow_forest(X, codes, weight, SEEDS, n_classes, folds)
    forest, votes = grow_forest(convert(X), codes, weight, SEEDS, n_classes, in_turn)
    np.testing.assert_allclose(votes, expected, rtol=1e-14)
    np.testing.assert_allclose(forest.predict(convert(X)), predict(X), rtol=1e-6, atol=1e-12)
    few = forest.predict(convert(X[:3]))
    np.testing.assert_array_equal(few, forest.predict(convert(X))[:3])


@examples(100)
@given(forest_problems(), st.sampled_from([np.asarray, np.float32, sp.csr_array]))
def test_rows_that_lack_views_equal_the_reference(problem, convert):
    X, codes, weight, n_classes = problem
    X = X.astype(np.float32).astype(float)
    forest, _ = grow_forest(X, codes, weight, SEEDS[:N_FOLDS], n_classes, in_turn)
    present, view_of_column = some_views(np.random.default_rng(0), *X.shape)
    is_absent = ~present[:, view_of_column]
    with pytest.MonkeyPatch.context() as patch:
        for min_weight in (0.0, 0.2):
            patch.setattr(_forest, "MIN_PATH_WEIGHT", min_weight)
            expected = slow.route_forest(forest, X, is_absent, min_weight)
            votes = forest.predict(convert(X), present, view_of_column)
            np.testing.assert_allclose(votes, expected, rtol=1e-12, atol=1e-14)


@examples(50)
@given(forest_problems())
def test_rows_that_lack_views_do_not_depend_on_the_rows_beside_them(problem):
    X, codes, weight, n_classes = problem
    forest, _ = grow_forest(X, codes, weight, SEEDS[:N_FOLDS], n_classes, in_turn)
    present, view_of_column = some_views(np.random.default_rng(0), *X.shape)
    together = forest.predict(X, present, view_of_column)
    some = np.random.default_rng(1).permutation(len(X))[: len(X) // 3]
    np.testing.assert_array_equal(
        forest.predict(X[some], present[some], view_of_column), together[some]
    )


@pytest.mark.parametrize("deep_side", ["left", "right"])
@pytest.mark.parametrize("is_present", [True, False])
def test_chains_of_nodes_as_deep_as_a_file_can_make_them(deep_side, is_present):
    n_nodes = 300_000
    chain = np.append(np.arange(1, n_nodes, dtype=np.int32), np.int32(-2))
    ends = np.full(n_nodes, -1, dtype=np.int32)
    sides = {"left": ends, "right": ends} | {deep_side: chain}
    forest = Forest(
        feature=np.zeros(n_nodes, dtype=np.uint16),
        threshold=np.zeros(n_nodes, dtype=np.float32),
        missing_left=np.zeros(n_nodes, dtype=np.uint8),
        left_share=np.full(n_nodes, deep_side == "left", dtype=np.float32),
        starts=np.array([0, n_nodes]),
        roots=np.zeros(1, dtype=np.int32),
        leaf_shares=np.eye(2, dtype=np.float32),
        **sides,
    )
    value = -1.0 if deep_side == "left" else 1.0
    X, present = np.full((30, 2), value), np.ones((30, 2), dtype=bool)
    present[:, 0] = is_present
    votes = forest.predict(X, present, np.arange(2))
    np.testing.assert_array_equal(votes, np.tile([0.0, 1.0], (30, 1)))


def test_rows_with_all_views_are_not_routed_and_rows_without_take_the_shares_of_the_roots():
    rng = np.random.RandomState(0)
    X, codes = rng.randn(50, 4), np.arange(50) % 3
    forest, _ = grow_forest(X, codes, np.ones(50), SEEDS, 3, in_turn)
    views = np.zeros(4, dtype=int)
    routed = forest.predict(X, np.ones((50, 1), dtype=bool), views)
    np.testing.assert_allclose(routed, forest.predict(X), atol=1e-12)
    nothing = forest.predict(X, np.zeros((50, 1), dtype=bool), views)
    roots = np.mean([slow.node_shares(forest, t, 0) for t in range(len(forest))], axis=0)
    np.testing.assert_allclose(nothing, np.tile(roots, (50, 1)), atol=1e-12)


@pytest.mark.parametrize("max_rows", [20, 1000])
@pytest.mark.parametrize("run", [in_turn, in_threads])
def test_sparse_columns_give_the_same_forest(monkeypatch, run, max_rows):
    rng = np.random.RandomState(0)
    X = sp.csr_array(np.where(rng.rand(60, 40) < 0.1, rng.randn(60, 40), 0.0))
    X.data[::7], X.data[1] = 0.0, np.nan
    codes, weight = np.arange(60) % 3, rng.uniform(0.5, 2, 60)
    votes = []
    monkeypatch.setattr(_forest, "TREE_MAX_ROWS", max_rows)
    for cells in (_forest.DENSE_CODES_MAX_CELLS, 0):
        monkeypatch.setattr(_forest, "DENSE_CODES_MAX_CELLS", cells)
        forest, out = grow_forest(X, codes, weight, SEEDS, 3, run)
        votes.append([out, forest.predict(X), forest.predict(X.toarray())])
    np.testing.assert_array_equal(*votes)


def test_trees_are_grown_on_samples_of_many_rows(monkeypatch):
    rng = np.random.RandomState(0)
    X, codes = rng.randn(400, 5), rng.randint(2, size=400)
    monkeypatch.setattr(_forest, "TREE_MAX_ROWS", 100)
    forest, votes = grow_forest(X, codes, np.ones(400), SEEDS, 2, in_turn)
    # each leaf holds at least one row of about 90, and no two trees have the same sample
    sizes = np.diff(forest.starts) + 1
    assert (sizes <= 130).all()
    assert len(np.unique(forest.predict(X)[:, 0])) > 5
    np.testing.assert_allclose(votes.sum(axis=1), 1)
    again, _ = grow_forest(X, codes, np.ones(400), SEEDS, 2, in_threads)
    np.testing.assert_array_equal(again.predict(X), forest.predict(X))


def test_thresholds_of_close_values_are_kept_in_double_precision():
    rng = np.random.RandomState(0)
    X = 1 + 1e-12 * rng.permutation(40)[:, None]
    codes = (X[:, 0] > 1 + 2e-11).astype(int)
    forest, _ = grow_forest(X, codes, np.ones(40), SEEDS, 2, in_turn)
    assert forest.threshold.dtype == np.float64
    assert (forest.predict(X).argmax(axis=1) == codes).all()
    forest, _ = grow_forest(np.arange(40.0)[:, None], codes, np.ones(40), SEEDS, 2, in_turn)
    assert forest.threshold.dtype == np.float32


def test_trees_without_a_split_and_many_mixed_leaves():
    constant, _ = grow_forest(np.ones((30, 2)), np.arange(30) % 3, np.ones(30), SEEDS, 3, in_turn)
    assert len(constant.feature) == 0
    assert (constant.roots < 0).all()
    np.testing.assert_allclose(constant.predict(np.zeros((40, 2))), 1 / 3, atol=0.02)
    routed = constant.predict(np.zeros((2, 2)), np.zeros((2, 1), dtype=bool), np.zeros(2))
    np.testing.assert_allclose(routed, constant.predict(np.zeros((2, 2))))
    rng = np.random.RandomState(0)
    X, codes = rng.randint(300, size=(2000, 1)).astype(float), rng.randint(3, size=2000)
    weight = rng.uniform(0.5, 2, 2000)
    forest, _ = grow_forest(X, codes, weight, SEEDS, 3, in_turn)
    assert len(forest.leaf_shares) > 300
    _, predict = slow.grow_forest(X, codes, weight, SEEDS, 3, assign_folds(codes, N_FOLDS))
    np.testing.assert_allclose(forest.predict(X), predict(X), rtol=1e-6)


def test_forests_are_small_and_survive_pickling():
    rng = np.random.RandomState(0)
    X, codes = rng.randn(300, 20), rng.randint(4, size=300)
    forest, _ = grow_forest(X, codes, np.ones(300), SEEDS, 4, in_turn)
    unused = pickle.dumps(forest)
    assert len(unused) < 16 * len(forest.feature) + 3000
    np.testing.assert_array_equal(pickle.loads(unused).predict(X), forest.predict(X))
    assert pickle.dumps(forest) == unused  # predictions leave nothing behind in the model
    assert set(vars(forest)) == {field.name for field in fields(forest)}


@pytest.mark.parametrize(
    ("name", "value"),
    [("left", 0), ("right", 30_000), ("left", -30_000), ("feature", 1), ("starts", -1),
     ("roots", 1), ("missing_left", 2)],
)  # fmt: skip
def test_damaged_forests_are_rejected(name, value):
    X, codes = np.arange(20.0)[:, None], np.arange(20) // 3 % 2
    forest, _ = grow_forest(X, codes, np.ones(20), SEEDS, 2, in_turn)
    array = getattr(forest, name).copy()
    array[1] = value
    with pytest.raises(ValueError, match=r"forest"):
        replace(forest, **{name: array}).predict(X)


def test_folds_share_out_every_class():
    codes = np.random.RandomState(0).randint(3, size=97)
    folds = assign_folds(codes, N_FOLDS)
    for k in range(3):
        counts = np.bincount(folds[codes == k], minlength=N_FOLDS)
        assert counts.max() - counts.min() <= 1


def few_strong_columns(rng, codes):
    """Two of 100 columns tell the classes apart."""
    X = rng.normal(size=(len(codes), 100))
    X[:, :2] += 2.0 * codes[:, None]
    return X


def noisy_columns(rng, codes):
    """All of 40 columns say little."""
    return rng.normal(size=(len(codes), 40)) + 0.2 * codes[:, None]


def squared_error(votes, codes, weight):
    return weight @ ((votes - np.eye(2)[codes]) ** 2).sum(axis=1)


def test_the_kind_of_tree_with_the_best_left_out_votes_is_kept():
    codes, seeds = np.arange(100) % 2, np.arange(200)
    batches = seeds.reshape(-1, N_FOLDS)
    kinds = [in_turn, lambda grow, items: [grow((seeds, 0.3)) for seeds, _ in items]]
    chosen = []
    for seed, make in enumerate([few_strong_columns, *[noisy_columns] * 6]):
        rng = np.random.default_rng(seed)
        X, weight = make(rng, codes), rng.integers(1, 3, size=100) / 1.5
        forest, votes = grow_forest(X, codes, weight, seeds, 2, in_turn, column_share=0.3)
        alone = [
            grow_forest(X, codes, weight, batches[k::2].ravel(), 2, run)
            for k, run in enumerate(kinds)
        ]
        choices = [*[own for _, own in alone], (alone[0][1] + alone[1][1]) / 2]
        best = int(np.argmin([squared_error(own, codes, weight) for own in choices]))
        np.testing.assert_allclose(votes, choices[best], rtol=1e-12)
        if best < 2:
            np.testing.assert_array_equal(forest.predict(X), alone[best][0].predict(X))
        chosen.append(best)
    assert chosen[0] == 1
    assert set(chosen) == {0, 1, 2}


def test_two_kinds_of_trees_need_votes_for_all_rows():
    rng = np.random.default_rng(0)
    codes = np.arange(60) % 2
    X = few_strong_columns(rng, codes)
    for n_trees in (N_FOLDS, N_FOLDS + 3):  # without a full round of the second kind
        votes = grow_forest(X, codes, np.ones(60), SEEDS[:n_trees], 2, in_turn, column_share=0.3)[1]
        assert np.isfinite(votes).all()


def test_columns_drawn_for_a_node():
    assert [_forest.count_drawn(d, 0.0) for d in (1, 3, 100)] == [1, 1, 10]
    assert [_forest.count_drawn(d, 0.3) for d in (1, 9, 100, 100_000)] == [1, 3, 30, 400]
