"""Trees, boosting and MωMvC² on blocks: bit for bit those in memory, for any blocks."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

from common.block_problems import (
    MODELS,
    NAMES,
    assert_same,
    assert_same_tree,
    lazy,
    make_problem,
    two_threads,
)
from consilience import BinnedTreeClassifier
from consilience._core import cuts as cuts_of_rows
from consilience._core.binned import BinnedView, RowTarget
from consilience._core.cuts import draw_bin_rows, find_cuts, join_ranges
from consilience.boosting import (
    IBoostClassifier,
    MuMBoClassifier,
    ShareBoostClassifier,
)
from consilience.distributed import BlockSequence, _trees
from consilience.distributed._binned_rows import BinnedRows, BinnedTraining
from consilience.distributed._dask import SizedBlock
from consilience.distributed._drivers import add_up
from consilience.distributed._kept import WorkerBlocks
from consilience.distributed._states import BlockState, FileStates
from consilience.fusion import LateFusionClassifier
from consilience.vote import MwMvC2Classifier


def cut_at(X, y, weight, ends):
    """Blocks with these ends, some of them empty."""
    parts = np.split(np.arange(len(y)), np.sort(ends))
    return BlockSequence([(X[part], y[part], weight[part]) for part in parts])


@pytest.fixture
def small_limits(monkeypatch):
    """Bins from a sample of rows, and nodes of few rows finished by themselves."""
    monkeypatch.setattr(cuts_of_rows, "MAX_BIN_ROWS", 40)
    monkeypatch.setattr(_trees, "LEVELS_BY_HISTOGRAM", 2)
    monkeypatch.setattr(_trees, "FINISH_BYTES", 400)


@st.composite
def tree_problems(draw):
    """Rows of a dense or sparse matrix, cut into blocks, and a tree to grow."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n, d, n_classes = draw(st.integers(1, 80)), draw(st.integers(1, 18)), draw(st.integers(2, 4))
    X = rng.integers(-3, 4, (n, d)) * rng.choice([1, 0.37, 0.0], (n, d))
    X[rng.random((n, d)) < draw(st.sampled_from([0, 0.1]))] = np.nan
    present = rng.random(n) < 0.8 if draw(st.booleans()) else None
    target = RowTarget(rng.integers(0, n_classes, n).astype(np.int32), rng.random(n))
    if draw(st.booleans()):
        target = RowTarget(None, None, rng.normal(size=(n, n_classes)))
    params = {
        "max_depth": draw(st.sampled_from([1, 3, 12])),
        "splitter": draw(st.sampled_from(["best", "random"])),
        "min_samples_leaf": draw(st.integers(1, 3)),
        "max_features": draw(st.integers(1, d)),
        "seed": draw(st.integers(0, 99)),
    }
    parts = np.split(np.arange(n), np.sort(rng.integers(0, n + 1, draw(st.integers(0, 4)))))
    form = draw(st.sampled_from([np.asarray, sp.csr_array]))
    return form(X), present, target, n_classes, params, [part for part in parts if len(part)]


def block_target(block, key):
    return block.state


class MemoryStates:
    """Blocks in memory, which may lose what they keep between passes."""

    def __init__(self, blocks, lost):
        self.blocks, self.lost = blocks, lost

    def collect(self, function, *args):
        for block in self.blocks:
            if self.lost.random() < 0.3:
                block.scratch.clear()
        return [function(block, *args) for block in self.blocks]

    def sum(self, function, *args):
        return add_up(self.collect(function, *args))

    gather = FileStates.gather


@given(tree_problems(), st.sampled_from([0, 400, 3000, 10**6]), st.sampled_from([10, 10**6]))
def test_tree_on_blocks_is_that_of_all_rows(problem, finish_bytes, bin_rows):
    X, present, target, n_classes, params, parts = problem
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cuts_of_rows, "MAX_BIN_ROWS", bin_rows)
        patch.setattr(_trees, "LEVELS_BY_HISTOGRAM", 2)
        patch.setattr(_trees, "FINISH_BYTES", finish_bytes)
        weight = np.ones(X.shape[0]) if target.weight is None else target.weight
        view = BinnedView(X, weight=weight, present=present)
        n_present = X.shape[0] if present is None else int(present.sum())
        drawn = draw_bin_rows(0, X.shape[0], n_present)
        drawn = np.flatnonzero(drawn if present is None else drawn & present)
        cuts = find_cuts(X[drawn], weight[drawn], 255)
        blocks, ranges = [], []
        for part in parts:
            mask = None if present is None else present[part]
            own, found = BinnedView.from_cuts(X[part], mask, cuts)
            ranges.append(found)
            values = RowTarget(*(None if x is None else x[part] for x in target))
            blocks.append(BlockState(BinnedRows([own], None, None, []), values))
        limits = join_ranges(ranges, cuts)
        for ours, theirs in zip(limits, view.limits, strict=True):
            np.testing.assert_array_equal(ours, theirs)
        training = BinnedTraining(None, [limits], np.array([n_present]))
        states = MemoryStates(blocks, np.random.default_rng(params["seed"]))
        spec = _trees.TreeSpec(0, None, n_classes, params, cost=target.costs is not None)
        (tree,) = _trees.grow_trees(training, [spec], block_target, states)
        if target.costs is None:
            expected = view.grow(target.codes, target.weight, n_classes=n_classes, **params)
        else:
            expected = view.grow_cost(target.costs, **params)
        assert_same_tree(tree, expected)


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
def test_stream_equals_memory(model, small_limits):
    X, y, weight = make_problem(0)
    expected = model.fit(X, y, weight)
    for ends in ([30, 60], [1, 1, 85], []):
        again = type(model)(**model.get_params(deep=False)).fit(cut_at(X, y, weight, ends))
        assert_same(again, expected)


@pytest.mark.parametrize("model", [MODELS[0], MODELS[7]], ids=[NAMES[0], NAMES[7]])
def test_workers_equal_memory(model, small_limits):
    X, y, weight = make_problem(1)
    expected = model.fit(X, y, weight)
    again = type(model)(**model.get_params(deep=False))
    assert_same(again.fit(lazy(X), y, weight), expected)  # without a client
    # on threads of this process, where the limits are small as well
    with two_threads():
        assert_same(again.fit(lazy(X), y, weight), expected)


@pytest.mark.parametrize("whole", [True, False], ids=["whole views", "nodes"])
@pytest.mark.parametrize("model", [MODELS[k] for k in (0, 4, 7, 8)], ids=lambda m: type(m).__name__)
def test_dense_views_equal_memory(model, whole, monkeypatch):
    """Rows are put in the order of the classes; trees of a view are spread over the workers."""
    monkeypatch.setattr(_trees, "LEVELS_BY_HISTOGRAM", 2)
    monkeypatch.setattr(_trees, "FINISH_BYTES", 10**6 if whole else 800)
    X, y, weight = make_problem(5, n=200)
    rows = np.flatnonzero(X.present[:, [0, 2]].any(axis=1))
    X, y, weight = X.select(["dense", "single"])[rows], y[rows], weight[rows]
    expected = clone(model).fit(X, y, weight)
    with two_threads():
        assert_same(clone(model).fit(lazy(X), y, weight), expected)


def test_states_of_many_bytes_are_sent_without_advice():
    """Dask would tell the user to load them in another way; a warning is an error here."""
    state = np.arange(2_000_000)
    with two_threads() as client:
        blocks = WorkerBlocks(client, [client.map(SizedBlock, [1, 2, 3], pure=False)])
        assert blocks.collect(add_sum, state) == [int(state.sum()) + k for k in (1, 2, 3)]


def add_sum(block, state):
    return block + int(state.sum())


@pytest.mark.parametrize(
    "tree",
    [
        BinnedTreeClassifier(3),
        BinnedTreeClassifier(
            splitter="random",
            class_weight="balanced",
            min_weight_fraction_leaf=0.01,
            random_state=0,
        ),
    ],
)
def test_binned_tree(tree, small_limits):
    X, y, weight = make_problem(2)
    X = X["dense"]
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    X[4] = np.nan
    expected = tree.fit(X, y, weight).tree_
    ways = [
        (cut_at(X, y, weight, [7, 7, 50]), None, None),
        (da.from_array(X, chunks=(40, -1)), y, weight),
        (da.from_array(X, chunks=(90, -1)), da.from_array(y, chunks=30), weight),
    ]
    for way in ways:
        again = BinnedTreeClassifier(**tree.get_params()).fit(*way)
        assert_same_tree(again.tree_, expected)
        np.testing.assert_array_equal(again.classes_, tree.classes_)
        np.testing.assert_array_equal(again.predict(X), tree.predict(X))


def test_blocks_must_have_the_same_columns():
    blocks = BlockSequence([(np.ones((2, 3)), [0, 1]), (np.ones((2, 2)), [0, 1])])
    with pytest.raises(ValueError, match="block 1: X must have 3 columns"):
        BinnedTreeClassifier().fit(blocks)


def test_blocks_must_have_the_same_column_names():
    pd = pytest.importorskip("pandas")
    y = np.arange(12) % 2
    frame = pd.DataFrame({"u": y + 0.5, "v": np.arange(12.0)})
    first, second = (frame[:6], y[:6]), (frame[6:], y[6:])
    model = BinnedTreeClassifier(2).fit(BlockSequence([first, second]))
    assert model.feature_names_in_.tolist() == ["u", "v"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["v", "u"]])
    turned = (frame[6:][["v", "u"]], y[6:])
    with pytest.raises(ValueError, match="block 1: column 0 of X is named 'v', but 'u' in the fir"):
        model.fit(BlockSequence([first, turned]))
    unnamed = (first[0].to_numpy(), first[1])
    with pytest.raises(ValueError, match="block 1: the columns of X have names, but not those of"):
        model.fit(BlockSequence([unnamed, second]))
    model.fit(BlockSequence([unnamed, unnamed]))
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize("labels", [np.zeros(3), np.array(["a", "b", "c"])])
@pytest.mark.parametrize("model", [BinnedTreeClassifier(2), LateFusionClassifier(views=[1, 1])])
def test_a_block_without_weight_does_not_change_the_classes(model, labels):
    X, y = np.arange(24.0).reshape(12, 2), np.arange(12) % 2
    model.fit(BlockSequence([(X, y), (X[:3], labels, np.zeros(3))]))
    assert model.classes_.dtype == y.dtype
    np.testing.assert_array_equal(
        model.predict(X), type(model)(**model.get_params()).fit(X, y).predict(X)
    )


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (MuMBoClassifier(DecisionTreeClassifier()), TypeError, "got DecisionTreeClassifier"),
        (MuMBoClassifier(resample=True), ValueError, "resample=False"),
        (ShareBoostClassifier(n_iter_no_change=3), ValueError, "staged_predict"),
        (IBoostClassifier(warm_start=True), ValueError, "warm_start=False"),
        (MwMvC2Classifier([DecisionTreeClassifier()]), TypeError, "voters='random_trees'"),
        (MwMvC2Classifier(n_iter_no_change=3), ValueError, "n_iter_no_change=None"),
    ],
)
def test_settings_that_need_memory_are_named_before_reading(model, error, message):
    def read():
        raise AssertionError("a block was read")

    with pytest.raises(error, match=message):
        model.fit(BlockSequence(read))


@pytest.mark.parametrize("max_features", ["sqrt", 0.3])
def test_shares_of_the_columns_are_those_of_the_tree_in_memory(max_features):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 14)), np.arange(300) % 3  # 3 or 4 columns; 5 of 16
    tree = BinnedTreeClassifier(max_depth=4, max_features=max_features, random_state=0)
    blocks = BlockSequence([(X[:100], y[:100]), (X[100:], y[100:])])
    ours, theirs = clone(tree).fit(blocks), clone(tree).fit(X, y)
    np.testing.assert_array_equal(ours.tree_.feature, theirs.tree_.feature)
    np.testing.assert_array_equal(ours.predict_proba(X), theirs.predict_proba(X))
