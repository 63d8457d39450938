"""Streams of blocks: the fit in memory, whatever the blocks are, in memory of a bounded size."""

import tracemalloc
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from consilience import MultiViewData
from consilience._solvers import coupled_sums, squared_hinge
from consilience.distributed import BlockSequence
from consilience.distributed._blocks import read_blocks
from consilience.kernel import MVMLClassifier
from consilience.landmark import MVLSVMClassifier
from consilience.margin import SMVMEDClassifier
from consilience.margin import _from_blocks as smvmed_blocks
from reference.blocks import make, mvlsvm, objective

RAGGED = [1, 130, 0, 2, 211, 700]


@pytest.fixture
def small_samples(monkeypatch):
    """Samples of rows that are smaller than the data."""
    monkeypatch.setattr(squared_hinge, "MIN_SAMPLE_ROWS", 30)
    monkeypatch.setattr(squared_hinge, "SAMPLE_ROWS_PER_COLUMN", 1)
    monkeypatch.setattr(smvmed_blocks, "MIN_SAMPLE_ROWS", 30)
    monkeypatch.setattr(smvmed_blocks, "SAMPLE_ROWS_PER_COLUMN", 1)


def ragged(data, y, weight):
    ends = np.cumsum(RAGGED)
    cuts = [slice(end - size, end) for size, end in zip(RAGGED, ends, strict=True)]
    return BlockSequence([(data[cut], y[cut], weight[cut]) for cut in cuts])


MODELS = {
    "mvlsvm": (mvlsvm(), {}),
    "mvlsvm-cg": (mvlsvm(solver="newton-cg", fit_intercept=False), {}),
    "mvlsvm-balanced": (mvlsvm(class_weight="balanced"), {}),
    "smvmed": (SMVMEDClassifier(c=0.5), {}),
    "smvmed-cg": (SMVMEDClassifier(c=0.5, alpha=0.9, combine="b"), {"MAX_HESSIAN_ENTRIES": 0}),
}


# small blocks are slow, and the other models take the same path
@pytest.mark.parametrize(
    ("name", "blocks"),
    [
        *product(MODELS, [1000, "ragged"]),
        *product(["mvlsvm", "smvmed"], [1, 7]),
    ],
)
def test_blocks_agree_with_memory(name, blocks, small_samples, monkeypatch):
    model, constants = MODELS[name]
    for constant, value in constants.items():
        monkeypatch.setattr(coupled_sums, constant, value)
    n = {1: 80, 7: 180}.get(blocks, sum(RAGGED))
    data, y, weight = make(n)
    weights = weight
    if model.class_weight == "balanced":
        weights = weight / np.array([weight[y == label].sum() for label in y])

    model.fit(data, y, weight)
    expected = objective(model, data, y, weights)
    decisions, shares = model.decision_function(data), model.view_weights_
    cut = BlockSequence.cut(data, y, weight, rows=blocks) if blocks != "ragged" else None
    model.fit(cut or ragged(data, y, weight))
    assert objective(model, data, y, weights) == pytest.approx(expected, rel=1e-9)
    np.testing.assert_allclose(model.decision_function(data), decisions, atol=1e-4)
    np.testing.assert_allclose(model.view_weights_, shares, atol=1e-5)
    assert list(model.classes_) == ["no", "perhaps", "yes"]


@pytest.mark.parametrize("imputation", ["em", "ridge", "least_squares"])
def test_landmarks_and_imputation_of_a_sample_that_holds_all_rows(imputation):
    data, y, weight = make(700)
    model = MVLSVMClassifier(8, imputation=imputation, random_state=0)
    expected = model.fit(data, y, weight).decision_function(data)
    result = model.fit(BlockSequence.cut(data, y, weight, rows=90)).decision_function(data)
    np.testing.assert_allclose(result, expected, atol=1e-6)


def test_threads_change_nothing(small_samples):
    data, y, weight = make(900)
    for model in (mvlsvm(), SMVMEDClassifier()):
        first = model.fit(BlockSequence.cut(data, y, weight, rows=100)).decision_function(data)
        model.set_params(n_jobs=2).fit(BlockSequence.cut(data, y, weight, rows=100))
        np.testing.assert_array_equal(model.decision_function(data), first)


def test_two_classes_one_matrix_and_memory_maps(tmp_path, small_samples):
    data, y, _ = make(900, n_classes=2)
    X = data.select(["a", "b"]).to_array()
    X[np.isnan(X)] = 0.0
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    views = {"a": slice(0, 5), "b": slice(5, 9)}
    for model in (SMVMEDClassifier(views=views), MVLSVMClassifier(5, views=views, random_state=0)):
        expected = model.fit(X, y).decision_function(X)
        model.fit(BlockSequence.cut(mapped, y, rows=200))
        np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-5)
        assert model.n_features_in_ == 9


def test_separable_rows_and_large_costs():
    rng = np.random.RandomState(0)
    y = np.repeat([0, 1], 1500)
    X = {"a": rng.randn(3000, 4) * [1, 1e3, 1, 1] + 3 * y[:, None], "b": rng.randn(3000, 3)}
    data = MultiViewData(X)
    for c in (1e-3, 2.0**12):
        model = SMVMEDClassifier(c=c).fit(data, y)
        expected = objective(model, data, y, np.ones(3000))
        model.fit(BlockSequence.cut(data, y, rows=500))
        assert objective(model, data, y, np.ones(3000)) == pytest.approx(expected, rel=1e-9)


def streamed(n_blocks):
    def read():
        for number in range(n_blocks):
            rng = np.random.RandomState(number)
            y = rng.randint(2, size=1000)
            views = {"a": rng.randn(1000, 5) + 0.4 * y[:, None], "b": rng.randn(1000, 5)}
            yield MultiViewData(views, present=rng.rand(1000, 2) > [-1.0, 0.3]), y

    return BlockSequence(read)


@pytest.mark.parametrize("model", [SMVMEDClassifier(c=0.1), MVLSVMClassifier(5, random_state=0)])
def test_peak_memory_does_not_grow_with_the_rows(model):
    peaks = []
    model.fit(streamed(6))  # what is kept from the first run is there for both
    for n_blocks in (6, 15):
        tracemalloc.start()
        model.fit(streamed(n_blocks))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0]


def test_rare_view_is_learned():
    rng = np.random.RandomState(0)
    y = rng.randint(2, size=9000)
    present = np.ones((9000, 2), dtype=bool)
    present[40:, 1] = False
    data = MultiViewData({"a": rng.randn(9000, 3), "b": rng.randn(9000, 2) + y[:, None]}, present)
    model = MVLSVMClassifier(5, random_state=0).fit(BlockSequence.cut(data, y, rows=1000))
    assert model.block_slices_["b"] == slice(5, 10)
    training = read_blocks(model, BlockSequence.cut(data, y, rows=1000), None, None)
    sample = training.sample(2000, check_random_state(0))
    assert sample.data.present[:, 1].sum() == 40
    assert len(np.unique(sample.data["a"][:, 0])) == len(sample.codes)


def test_errors_say_which_block_and_what_to_do():
    data, y, weight = make(60)
    model = SMVMEDClassifier()
    a, b = data["a"].copy(), data["b"]
    a[25, 3] = np.inf
    bad = MultiViewData({"a": a, "b": b}, present=np.ones((60, 2), dtype=bool))
    with pytest.raises(ValueError, match=r"block 1: .*infinity: view 'a', row 5, column 3"):
        model.fit(BlockSequence.cut(bad, y, rows=20))
    with pytest.raises(ValueError, match=r"block 1: .*view 'a' has 4 columns, but had 5"):
        model.fit(BlockSequence([({"a": a[:9]}, y[:9]), ({"a": a[:9, :4]}, y[:9])]))
    with pytest.raises(ValueError, match=r"block 0: .*X has 9 samples, but y has 8"):
        model.fit(BlockSequence([({"a": a[:9]}, y[:8])]))
    with pytest.raises(ValueError, match="block 1: sample_weight is negative"):
        model.fit(BlockSequence.cut(data, y, np.r_[weight[:-1], -1], rows=50))
    with pytest.raises(ValueError, match="has no rows"):
        model.fit(BlockSequence([]))
    with pytest.raises(ValueError, match="at least 2 classes"):
        model.fit(BlockSequence.cut(data, np.ones(60), rows=20))
    with pytest.raises(TypeError, match="only be read once"):
        BlockSequence(iter([(data, y)]))
    with pytest.raises(TypeError, match="must be a tuple"):
        model.fit(BlockSequence([data]))
    with pytest.raises(ValueError, match="must not be passed with a BlockSequence"):
        model.fit(BlockSequence([(data, y)]), y)
    with pytest.raises(TypeError, match="MVMLClassifier does not support X in blocks"):
        MVMLClassifier().fit(BlockSequence([(data, y)]))
    with pytest.raises(ValueError, match="y has 3"):
        BlockSequence.cut(data, y[:3])
    for other in (SMVMEDClassifier(solver="alternation"), SMVMEDClassifier(combine="best")):
        with pytest.raises(ValueError, match="data in blocks need"):
            other.fit(BlockSequence([(data, y)]))
    for other in (mvlsvm(loss="hinge"), mvlsvm(solver="liblinear")):
        with pytest.raises(ValueError, match="data in blocks need"):
            other.fit(BlockSequence([(data, y)]))


def test_blocks_that_change_between_passes_raise():
    data, y, _ = make(60)
    reads = iter([5, 5, 4, 4, 4, 4])

    def read():
        return ((data, y) for _ in range(next(reads)))

    with pytest.raises(ValueError, match="first had 5 and this one has 4"):
        SMVMEDClassifier().fit(BlockSequence(read))


def test_too_few_iterations_warn(small_samples):
    data, y, _ = make(900)
    for model in (mvlsvm(max_iter=1, tol=1e-12), SMVMEDClassifier(max_iter=1, tol=1e-14)):
        with pytest.warns(ConvergenceWarning, match="max_iter"):
            model.fit(BlockSequence.cut(data, y, rows=300))


def test_a_view_no_row_has(small_samples):
    data, y, _ = make(300)
    present = data.present.copy()
    present[:, 2] = False
    present[:, 0] = True
    data = MultiViewData(dict(data.items()), present=present)
    model = SMVMEDClassifier()
    with pytest.warns(UserWarning, match="'c' are present in no training row"):
        expected = model.fit(data, y).decision_function(data)
    with pytest.warns(UserWarning, match="'c' are present in no training row"):
        model.fit(BlockSequence.cut(data, y, rows=100))
    np.testing.assert_allclose(model.decision_function(data), expected, atol=1e-6)


def test_sparse_blocks_without_a_view_stay_exact(small_samples):
    """A view may be missing in all rows of a block, which then stands in with any storage."""
    data, y, weight = make(600)
    present = data.present.copy()
    present[:200] = [True, False, False]
    data = MultiViewData(dict(data.items()), present=present)
    for model in (mvlsvm(), SMVMEDClassifier()):
        model.fit(data, y, weight)
        expected = objective(model, data, y, weight)
        model.fit(BlockSequence.cut(data, y, weight, rows=100))
        assert objective(model, data, y, weight) == pytest.approx(expected, rel=1e-9)


def test_labels_of_one_type_in_all_blocks():
    data, _, _ = make(60)
    blocks = [(data[:30], np.arange(30) % 2), (data[30:], np.where(np.arange(30) % 2, "1", "0"))]
    with pytest.raises(TypeError, match="numbers in some blocks and strings in others"):
        SMVMEDClassifier().fit(BlockSequence(blocks))


def test_rows_of_a_block_without_labels_are_not_dropped():
    X, y = np.random.RandomState(0).randn(40, 3), np.arange(40) % 2
    blocks = [({"a": X[:20]}, y[:20]), ({"a": X[20:]}, y[:0])]
    with pytest.raises(ValueError, match="block 1: X has 20 samples, but y has 0"):
        SMVMEDClassifier().fit(BlockSequence(blocks))


def test_one_weight_for_all_rows_of_a_block():
    X, y = np.random.RandomState(0).randn(40, 3), np.arange(40) % 2
    blocks = [({"a": X[:20]}, y[:20], 2.0), ({"a": X[20:]}, y[20:])]
    one = SMVMEDClassifier().fit(BlockSequence(blocks))
    weight = np.repeat([2.0, 1.0], 20)
    each = SMVMEDClassifier().fit(BlockSequence.cut({"a": X}, y, weight, rows=20))
    np.testing.assert_array_equal(one.coef_["a"], each.coef_["a"])


def test_series_are_cut_by_position():
    pd = pytest.importorskip("pandas")
    X, y = np.random.RandomState(0).randn(40, 3), np.arange(40) % 2
    times = pd.Series(y, index=0.5 * np.arange(40))
    parts = [part[1] for part in BlockSequence.cut({"a": X}, times, times, rows=15).blocks()]
    np.testing.assert_array_equal(np.concatenate(parts), y)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, np.ndarray.tolist])
def test_a_block_with_rows_needs_labels(convert):
    X, y = np.arange(12.0).reshape(6, 2), np.arange(6) % 2
    blocks = BlockSequence([({"a": X}, y), ({"a": convert(X[:0])}, y[:0]), ({"a": convert(X)}, [])])
    numbers = [number for number, *_ in blocks.open()]
    assert numbers == [0, 2]  # where fit finds that the labels are missing
