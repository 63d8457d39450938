"""The default from blocks: as in memory, or on a sample that the blocks have no influence on."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from consilience import ConsilienceClassifier, MultiViewData
from consilience._default import _from_blocks
from consilience.distributed import BlockSequence
from reference.blocks import cut, make


def model(**settings):
    return ConsilienceClassifier(10, random_state=0, **settings)


@pytest.mark.parametrize("rows", [(1000,), (7, 130, 1)])
def test_few_rows_are_fitted_as_in_memory(rows):
    data, y, weight = make(300)
    expected = model().fit(data, y, weight)
    result = model().fit(cut(data, y, weight, rows))
    np.testing.assert_array_equal(result.predict_proba(data), expected.predict_proba(data))
    np.testing.assert_array_equal(result.classes_, expected.classes_)
    assert result.out_of_fold_score_ == expected.out_of_fold_score_


def test_empty_cells_and_class_weights_and_one_matrix():
    rng = np.random.RandomState(0)
    y = rng.randint(3, size=400)
    X = rng.randn(400, 9) + y[:, None]
    X[rng.rand(400, 9) < 0.1] = np.nan
    settings = {"views": [4, 5], "class_weight": "balanced"}
    expected = model(**settings).fit(X, y).predict_proba(X)
    result = model(**settings).fit(cut(X, y)).predict_proba(X)
    np.testing.assert_array_equal(result, expected)


def test_groups_are_left_out_together():
    rng = np.random.RandomState(0)
    groups = np.repeat(np.arange(60), 5)
    y = (groups % 2).astype(int)
    centres = rng.randn(60, 6)
    data = MultiViewData({"a": centres[groups] + 0.05 * rng.randn(300, 6)}, groups=groups)
    expected = model().fit(data, y)
    result = model().fit(cut(data, y, rows=(90,)))
    assert expected.out_of_fold_score_ < 0.7
    assert result.out_of_fold_score_ == expected.out_of_fold_score_
    with pytest.raises(ValueError, match="groups must not be passed with a BlockSequence"):
        model().fit(cut(data, y), groups=groups)
    some = [(data[:150], y[:150]), (data[150:].with_groups(None), y[150:])]
    with pytest.raises(ValueError, match="some blocks have groups and others do not"):
        model().fit(BlockSequence(some))


def test_many_rows_are_fitted_on_a_sample(monkeypatch):
    monkeypatch.setattr(_from_blocks, "MAX_ROWS", 500)
    monkeypatch.setattr(_from_blocks, "MIN_ROWS", 100)
    data, y, _ = make(2500)
    first = model().fit(cut(data, y, rows=(600,)))
    again = model().fit(cut(data, y, rows=(77, 410)))
    np.testing.assert_array_equal(first.predict_proba(data), again.predict_proba(data))
    shares = [np.mean(y == label) for label in first.classes_]
    np.testing.assert_allclose(first.class_prior_, shares)
    assert first.out_of_fold_probabilities_.shape[0] < 700
    assert first.score(data, y) > 0.75
    # wide views leave fewer rows
    monkeypatch.setattr(_from_blocks, "MAX_VALUES", 3000)
    fewer = model().fit(cut(data, y, rows=(600,)))
    assert 120 < fewer.out_of_fold_probabilities_.shape[0] < 400


def test_peak_memory_does_not_grow_with_the_rows(monkeypatch):
    monkeypatch.setattr(_from_blocks, "MAX_ROWS", 800)
    monkeypatch.setattr(_from_blocks, "MIN_ROWS", 100)

    def read(n_blocks):
        for number in range(n_blocks):
            rng = np.random.RandomState(number)
            y = rng.randint(2, size=1000)
            yield {"a": rng.randn(1000, 30) + 0.3 * y[:, None], "b": rng.randn(1000, 20)}, y

    peaks = []
    for n_blocks in (4, 4, 16):  # what is kept from the first run is there for both
        tracemalloc.start()
        model().fit(BlockSequence(lambda n_blocks=n_blocks: read(n_blocks)))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[2] < 1.2 * peaks[1]


def test_dask_arrays():
    da = pytest.importorskip("dask.array")
    data, y, weight = make(200)
    groups = np.arange(200) // 2
    views = {
        name: da.from_array(X.toarray() if sp.issparse(X) else X, chunks=(90, -1))
        for name, X in data.items()
    }
    views["c"] = views["c"].map_blocks(sp.csr_array)
    lazy = MultiViewData(views, present=data.present)
    for given in ({}, {"groups": da.from_array(groups, chunks=77)}):
        in_memory = {name: np.asarray(values) for name, values in given.items()}
        expected = model().fit(data, y, weight, **in_memory).predict_proba(data)
        fitted = model().fit(lazy, y, da.from_array(weight, chunks=33), **given)
        result = fitted.predict_proba(lazy)
        assert isinstance(result, da.Array)
        np.testing.assert_array_equal(fitted.predict_proba(data), expected)
        np.testing.assert_allclose(result.compute(), expected, atol=1e-6)


def test_unsupported_input():
    data, y, _ = make(60)
    with pytest.raises(TypeError, match="unlabelled rows in blocks"):
        model(unlabelled=-1).fit(cut(data, y))
    bare = y.astype(object)
    bare[3] = None
    with pytest.raises(TypeError, match=r"block 0: .*without a label"):
        model().fit(cut(data, bare))
    kernel = MultiViewData({"k": np.eye(60)}, kinds={"k": "kernel"})
    with pytest.raises(TypeError, match="view 'k' is a kernel view"):
        model().fit(BlockSequence([(kernel, y)]))
    with pytest.raises(ValueError, match="infinity: view 'a', row 2"):
        model().fit(cut(MultiViewData({"a": sp.csr_array([[1.0], [2.0], [np.inf]])}), y[:3]))
