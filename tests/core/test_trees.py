import multiprocessing
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from hypothesis import assume, given
from hypothesis import strategies as st
from joblib import Parallel, delayed
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.fixes import parse_version

from consilience._core.binned import BinnedView
from reference import trees as twin
from reference.tree_problems import assert_same_tree, empty, examples, grow, problems

FORMS = [np.asarray, sp.csr_array]


def noisy_problem(n=400, d=20, n_classes=3, seed=0):
    """Real values, overlapping classes, random weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32)
    score = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n)
    codes = np.searchsorted(np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1]), score)
    return X, codes, rng.random(n)


# --- against the twins --------------------------------------------------------------------------


@examples(600)
@given(problems())
def test_dense_equals_the_reference(problem):
    X, target, params = problem
    assume(not empty(target))
    view = BinnedView(X)
    tree = grow(view, target, params)
    expected = twin.grow(X, **target, **params)
    assert_same_tree(tree, expected)
    n_depths = params["max_depth"] + 1
    depths = twin.predict_depths(expected, X, n_depths)
    np.testing.assert_array_equal(view.predict_depths(tree, n_depths), depths)
    np.testing.assert_array_equal(tree.predict_depths(X, n_depths), depths)
    np.testing.assert_array_equal(view.predict(tree), depths[:, -1])


@examples(600)
@given(problems())
def test_sparse_equals_the_reference(problem):
    X, target, params = problem
    assume(not empty(target))
    view = BinnedView(sp.csc_array(X))
    tree = grow(view, target, params)
    expected = twin.grow(X, **target, **params)
    assert_same_tree(tree, expected)
    n_depths = params["max_depth"] + 1
    depths = twin.predict_depths(expected, X, n_depths)
    for rows in (X, sp.csr_array(X), sp.csc_array(X)):
        np.testing.assert_array_equal(tree.predict_depths(rows, n_depths), depths)
    np.testing.assert_array_equal(view.predict_depths(tree, n_depths), depths)
    np.testing.assert_array_equal(view.predict(tree), depths[:, -1])


@examples(500)
@given(problem=problems(), max_bins=st.integers(2, 6))
def test_shared_bins_equal_the_reference(problem, max_bins):
    X, target, params = problem
    assume(not empty(target))
    expected = twin.grow(X, **target, **params, max_bins=max_bins)
    for form in FORMS:
        view = BinnedView(form(X), max_bins=max_bins)
        tree = grow(view, target, params)
        assert_same_tree(tree, expected)
        np.testing.assert_array_equal(view.predict(tree), tree.predict(X))


@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("min_samples_leaf", [1, 20])
def test_subtracted_histograms_change_nothing(n_classes, min_samples_leaf):
    """Enough rows that histograms are subtracted; the sparse search never does."""
    X, codes, weight = noisy_problem(20_000, 9, n_classes)
    X = X.round(2)
    params = {"max_depth": 5, "n_classes": n_classes, "min_samples_leaf": min_samples_leaf}
    dense = BinnedView(X).grow(codes, weight, **params)
    assert_same_tree(dense, BinnedView(sp.csr_array(X)).grow(codes, weight, **params))
    costs = np.random.default_rng(0).normal(size=(len(X), n_classes)) + np.eye(n_classes)[codes]
    dense = BinnedView(X).grow_cost(costs, max_depth=4)
    assert_same_tree(dense, BinnedView(sp.csr_array(X)).grow_cost(costs, max_depth=4))


@pytest.mark.parametrize("splitter", ["best", "random"])
@pytest.mark.parametrize("criterion", ["gini", "cost"])
def test_codes_copied_in_the_order_of_nodes_change_nothing(splitter, criterion):
    """Enough rows and levels that dense codes are copied, twice; the sparse search never does."""
    X, codes, weight = noisy_problem(40_000, 9, 3)
    X = X.round(2)
    X[::7, 3] = np.nan
    used = np.random.default_rng(1).random(len(X)) < 0.95
    weight[::11] = 0
    costs = np.random.default_rng(0).normal(size=(len(X), 3)) + np.eye(3)[codes]
    params = {"max_depth": 16, "splitter": splitter, "max_features": 4, "rows": used, "seed": 3}

    def grow_on(view):
        if criterion == "cost":
            return view.grow_cost(costs, **params)
        return view.grow(codes, weight, n_classes=3, **params)

    dense = grow_on(BinnedView(X))
    assert len(dense.feature) > 1000
    assert_same_tree(dense, grow_on(BinnedView(sp.csr_array(X))))


# --- against scikit-learn -----------------------------------------------------------------------


def preorder(tree, node=0):
    """Our nodes in the order of scikit-learn's: depth first."""
    yield node
    if tree.feature[node] >= 0:
        yield from preorder(tree, tree.left[node])
        yield from preorder(tree, tree.right[node])


@pytest.mark.skipif(
    parse_version(sklearn.__version__) < parse_version("1.8"),
    reason="trees of earlier versions differ in rare splits, most of them with missing values",
)
@examples(200)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_classes=st.integers(2, 5),
    max_depth=st.integers(1, 4),
    missing=st.booleans(),
)
def test_splits_are_those_of_scikit_learn(seed, n_classes, max_depth, missing):
    """Real values and weights, large leaves: no two splits are equally good."""
    X, codes, weight = noisy_problem(200, 6, n_classes, seed)
    if missing:
        X[np.random.default_rng(seed).random(X.shape) < 0.1] = np.nan
    tree = BinnedView(X).grow(
        codes, weight, n_classes=n_classes, max_depth=max_depth, min_samples_leaf=15
    )
    model = DecisionTreeClassifier(max_depth=max_depth, min_samples_leaf=15, random_state=0)
    exact = model.fit(X, codes, sample_weight=weight).tree_
    order = np.array(list(preorder(tree)))
    inner = tree.feature[order] >= 0
    np.testing.assert_array_equal(inner, exact.children_left >= 0)
    np.testing.assert_array_equal(tree.feature[order][inner], exact.feature[inner])
    np.testing.assert_array_equal(tree.threshold[order][inner], exact.threshold[inner])
    shares = tree.value / tree.value.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(shares[order], exact.value[:, 0], rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(tree.predict(X), model.predict(X))


def test_every_split_is_as_good_as_scikit_learns_where_they_tie():
    """Few distinct values: splits may differ, what they reach at the root may not."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, codes = rng.integers(0, 4, size=(50, 8)), rng.integers(0, 3, size=50)
        tree = BinnedView(X).grow(codes, np.ones(50), n_classes=3)
        exact = DecisionTreeClassifier(max_depth=1, random_state=seed).fit(X, codes).tree_
        n = exact.weighted_n_node_samples
        decrease = n[0] * exact.impurity[0] - n[1] * exact.impurity[1] - n[2] * exact.impurity[2]
        np.testing.assert_allclose(tree.gain[0], decrease, rtol=1e-12)


# --- properties ---------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
@examples(100)
@given(problem=problems(), seed=st.integers(0, 1000))
def test_a_tree_cut_at_a_depth_is_the_tree_of_that_depth(form, problem, seed):
    X, target, params = problem
    assume(not empty(target))
    params = {**params, "max_depth": 6}
    rng = np.random.default_rng(seed)
    unseen = rng.permuted(X, axis=0) + rng.choice([0.0, 0.5, -1.0], size=X.shape)
    view = BinnedView(form(X))
    tree = grow(view, target, params)
    seen_depths, unseen_depths = view.predict_depths(tree, 6), tree.predict_depths(form(unseen), 6)
    for depth in range(1, 7):
        alone = grow(view, target, {**params, "max_depth": depth})
        np.testing.assert_array_equal(seen_depths[:, depth - 1], view.predict(alone))
        np.testing.assert_array_equal(unseen_depths[:, depth - 1], alone.predict(form(unseen)))


@examples(100)
@given(problem=problems(costs=False), seed=st.integers(0, 1000))
def test_a_weight_is_a_number_of_repetitions(problem, seed):
    X, target, params = problem
    weight = np.random.default_rng(seed).integers(0, 4, size=len(X))
    assume(weight.any())
    repeated = np.repeat(np.arange(len(X)), weight)
    codes = target["codes"]
    options = {**params, "n_classes": target["n_classes"], "min_samples_leaf": 1}
    # the bins must be those of the repeated rows
    view = BinnedView(X, present=weight > 0)
    tree = view.grow(codes, weight.astype(float), **options)
    other = BinnedView(X[repeated]).grow(codes[repeated], np.ones(len(repeated)), **options)
    assert_same_tree(tree, other)


@pytest.mark.parametrize("form", FORMS)
def test_rows_left_out_change_nothing(form):
    X, codes, weight = noisy_problem()
    rows = np.random.default_rng(1).random(len(X)) < 0.5
    view = BinnedView(form(X), present=rows)
    expected = view.grow(codes, weight, n_classes=3, max_depth=4)
    other = np.where(rows, codes, 0)
    assert_same_tree(view.grow(other, weight, n_classes=3, max_depth=4), expected)
    masked = BinnedView(form(X)).grow(codes, weight, n_classes=3, max_depth=1, rows=rows)
    zeroed = BinnedView(form(X)).grow(codes, weight * rows, n_classes=3, max_depth=1)
    assert_same_tree(masked, zeroed)


def test_costs_of_two_classes_are_weights():
    """For K = 2 the stump of least cost is the one of least weighted error."""
    X, codes, weight = noisy_problem(n_classes=2)
    costs = np.zeros((len(X), 2))
    costs[np.arange(len(X)), 1 - codes] = weight
    view = BinnedView(X)
    cost = (weight * (view.predict(view.grow_cost(costs)) != codes)).sum()
    errors = []
    for f in range(X.shape[1]):
        order = np.argsort(X[:, f])
        ones = np.cumsum((weight * codes)[order])
        zeros = np.cumsum((weight * (1 - codes))[order])
        left = np.minimum(ones, zeros)
        errors.append((left + np.minimum(ones[-1] - ones, zeros[-1] - zeros)).min())
    assert cost == pytest.approx(min(errors), rel=1e-12)


def test_a_constant_added_to_a_row_of_costs_changes_nothing():
    X, _, weight = noisy_problem()
    costs = np.random.default_rng(0).integers(0, 9, size=(len(X), 4)).astype(float)
    view = BinnedView(X)
    shifted = view.grow_cost(costs + np.round(64 * weight)[:, None], max_depth=4)
    assert_same_tree(view.grow_cost(costs, max_depth=4), shifted)


def test_seeds_repeat_after_64_bits():
    X, codes, weight = noisy_problem()
    view = BinnedView(X)
    trees = [
        view.grow(codes, weight, n_classes=3, max_depth=3, splitter="random", seed=seed).threshold
        for seed in (7, 2**64 + 7, 7 - 2**64, 8)
    ]
    for tree in trees[1:3]:
        np.testing.assert_array_equal(tree, trees[0])
    assert not np.array_equal(trees[3], trees[0])


@pytest.mark.parametrize("n_values", [2, 1000])
def test_random_thresholds_lie_between_the_least_and_the_greatest(n_values):
    rng = np.random.default_rng(0)
    X = rng.integers(0, n_values, size=(2000, 1)).astype(float)
    codes = rng.integers(2, size=2000)
    view = BinnedView(X)
    drawn = [
        view.grow(codes, np.ones(2000), n_classes=2, splitter="random", seed=seed).threshold[0]
        for seed in range(400)
    ]
    assert min(drawn) >= 0
    assert max(drawn) < n_values - 1
    # uniform: mean 1/2 with a standard error of 1/sqrt(12 * 400)
    assert abs(np.mean(drawn) / (n_values - 1) - 0.5) < 4 / np.sqrt(12 * 400)
    assert len(set(drawn)) > 150


def test_drawn_features_are_spread_evenly():
    X, codes, weight = noisy_problem(60, 10)
    view = BinnedView(X)
    roots = [
        view.grow(codes, weight, n_classes=3, max_features=1, seed=seed).feature[0]
        for seed in range(1000)
    ]
    assert np.bincount(roots, minlength=10).min() > 60


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1.0, 1e300])
def test_the_scale_of_the_weights_does_not_matter(form, scale):
    X, codes, weight = noisy_problem()
    view = BinnedView(form(X))
    factor = 2.0 ** np.round(np.log2(scale))
    expected = view.grow(codes, weight, n_classes=3, max_depth=4)
    scaled = view.grow(codes, weight * factor, n_classes=3, max_depth=4)
    np.testing.assert_array_equal(scaled.threshold, expected.threshold)
    np.testing.assert_array_equal(scaled.value, expected.value * factor)


# --- threads, children, files -------------------------------------------------------------------


def grow_and_predict(X, codes, weight, seed):
    view = BinnedView(X)
    tree = view.grow(codes, weight, n_classes=3, max_depth=6, splitter="random", seed=seed)
    return np.column_stack([view.predict(tree), tree.predict(X)])


@pytest.mark.parametrize("form", FORMS)
def test_eight_threads_agree(form):
    X, codes, weight = noisy_problem(2000)
    view, rows = BinnedView(form(X)), form(X)
    expected = view.grow(codes, weight, n_classes=3, max_depth=6)

    def work(_):
        tree = view.grow(codes, weight, n_classes=3, max_depth=6)
        return tree, expected.predict(rows), view.predict(expected)

    with ThreadPoolExecutor(8) as pool:
        for tree, raw, binned in pool.map(work, range(32)):
            assert_same_tree(tree, expected)
            np.testing.assert_array_equal(raw, binned)


def send(pipe, *args):
    pipe.send(grow_and_predict(*args))


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_forked_child():
    problem = noisy_problem(1000)
    expected = grow_and_predict(*problem, 3)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda seed: grow_and_predict(*problem, seed), range(4)))
    ours, theirs = multiprocessing.get_context("fork").Pipe()
    child = multiprocessing.get_context("fork").Process(target=send, args=(theirs, *problem, 3))
    child.start()
    assert ours.poll(60)
    np.testing.assert_array_equal(ours.recv(), expected)
    child.join(60)
    assert child.exitcode == 0


def test_loky_children():
    problem = noisy_problem(1000)
    expected = [grow_and_predict(*problem, seed) for seed in range(4)]
    # max_nbytes=0 hands every array over as a read-only memory map
    results = Parallel(n_jobs=2, backend="loky", max_nbytes=0)(
        delayed(grow_and_predict)(*problem, seed) for seed in range(4)
    )
    for result, value in zip(results, expected, strict=True):
        np.testing.assert_array_equal(result, value)


def test_a_tree_is_plain_arrays():
    X, codes, weight = noisy_problem()
    tree = BinnedView(X).grow(codes, weight, n_classes=3, max_depth=4)
    assert all(type(array) is np.ndarray for array in vars(tree).values())
    assert_same_tree(pickle.loads(pickle.dumps(tree)), tree)
    for array in vars(tree).values():
        array.flags.writeable = False
    assert tree.predict(X).shape == (len(X),)


# --- refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_invalid_input_raises(form):
    X, codes, weight = noisy_problem(30)
    view = BinnedView(form(X))
    with pytest.raises(ValueError, match="weights"):
        view.grow(codes, -weight, n_classes=3)
    with pytest.raises(ValueError, match="weights"):
        view.grow(codes, np.full(30, np.nan), n_classes=3)
    with pytest.raises(ValueError, match="not finite"):
        view.grow(codes, np.full(30, 1e308), n_classes=3)
    with pytest.raises(ValueError, match="class codes"):
        view.grow(codes, weight, n_classes=2)
    with pytest.raises(ValueError, match="one entry per row"):
        view.grow(codes[1:], weight, n_classes=3)
    with pytest.raises(ValueError, match="rows"):
        view.grow(codes, weight, n_classes=3, rows=np.ones(29, dtype=bool))
    with pytest.raises(ValueError, match="costs"):
        view.grow_cost(np.full((30, 3), np.inf))
    with pytest.raises(ValueError, match="costs"):
        view.grow_cost(np.ones((29, 3)))
    with pytest.raises(ValueError, match="max_depth"):
        view.grow(codes, weight, n_classes=3, max_depth=31)
    with pytest.raises(ValueError, match="splitter"):
        view.grow(codes, weight, n_classes=3, splitter="worst")
    with pytest.raises(ValueError, match="max_features"):
        view.grow(codes, weight, n_classes=3, max_features=0)


@pytest.mark.parametrize("form", FORMS)
def test_nothing_to_learn_from(form):
    view = BinnedView(form(np.arange(6.0).reshape(3, 2)))
    tree = view.grow([0, 1, 1], np.zeros(3), n_classes=2, max_depth=3)
    assert tree.feature.tolist() == [-1]
    np.testing.assert_array_equal(view.predict(tree), [0, 0, 0])
    np.testing.assert_array_equal(view.predict_depths(tree), [[0], [0], [0]])


@pytest.mark.parametrize("form", FORMS)
def test_no_rows(form):
    X, codes, weight = noisy_problem(30)
    tree = BinnedView(form(X)).grow(codes, weight, n_classes=3, max_depth=2)
    assert tree.predict(form(X[:0])).shape == (0,)
    assert tree.predict_depths(form(X[:0])).shape == (0, 2)
    view = BinnedView(form(X[:0]))
    assert view.predict(view.grow(codes[:0], weight[:0], n_classes=3)).shape == (0,)


@pytest.mark.parametrize("name", ["feature", "left", "right"])
def test_broken_tree_raises(name):
    """Arrays may come from a file: no walk may leave them, or go in circles."""
    X, codes, weight = noisy_problem(200)
    view = BinnedView(X)
    tree = view.grow(codes, weight, n_classes=3, max_depth=3)
    for value in (0, 10**6) if name != "feature" else (10**6,):
        broken = replace(tree, **{name: np.where(tree.feature >= 0, value, -1).astype(np.int32)})
        with pytest.raises(ValueError, match="tree"):
            view.predict(broken)
        with pytest.raises(ValueError, match="tree"):
            broken.predict(X)
    with pytest.raises(ValueError, match="fewer features"):
        tree.predict(X[:, :0])
    with pytest.raises(ValueError, match="n_depths"):
        tree.predict_depths(X, 0)
