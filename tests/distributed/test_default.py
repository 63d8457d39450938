"""The default from blocks: as in memory, or on a sample that the blocks have no influence on."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from consilience import ConsilienceClassifier, MultiViewData
from consilience._default import _from_blocks
from consilience.distributed import BlockSequence
from consilience.distributed._blocks import read_blocks
from consilience.distributed._row_sample import draw_sample, hash_uniform
from reference.blocks import make


def model(**settings):
    return ConsilienceClassifier(10, random_state=0, **settings)


def cut(data, y, weight=None, rows=(100,)):
    """Blocks whose sizes repeat."""
    blocks, start, k = [], 0, 0
    while start < len(y):
        part = slice(start, start + rows[k % len(rows)])
        blocks.append((data[part], y[part]) + (() if weight is None else (weight[part],)))
        start, k = part.stop, k + 1
    return BlockSequence(blocks)


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


def read(data, y, weight, rows):
    estimator = ConsilienceClassifier()
    return read_blocks(estimator, cut(data, y, weight, rows), None, None)


def test_sample_does_not_depend_on_blocks():
    data, y, weight = make(900)
    samples = [draw_sample(read(data, y, weight, rows), 200) for rows in [(900,), (1, 50), (333,)]]
    assert 120 < len(samples[0].codes) < 330
    for sample in samples[1:]:
        present = sample.data.present
        np.testing.assert_array_equal(present, samples[0].data.present)
        for v, (name, X) in enumerate(sample.data.items()):
            X, first = sp.csr_array(X).toarray(), sp.csr_array(samples[0].data[name]).toarray()
            np.testing.assert_array_equal(X[present[:, v]], first[present[:, v]])
        np.testing.assert_allclose(sample.weight, samples[0].weight, rtol=1e-12)
    labels = np.unique(y)
    totals = np.bincount(samples[0].codes, weights=samples[0].weight)
    np.testing.assert_allclose(totals, [weight[y == label].sum() for label in labels])


def test_hash_is_uniform_and_continues_across_blocks():
    whole = hash_uniform(0, 20_000)
    np.testing.assert_array_equal(whole[7_000:], hash_uniform(7_000, 13_000))
    assert len(np.unique(whole)) == 20_000
    counts = np.bincount((10 * whole).astype(int), minlength=10)
    assert np.abs(counts - 2000).max() < 200


def test_rare_classes_and_views_are_in_the_sample_at_their_weight():
    rng = np.random.RandomState(0)
    n = 20_000
    y = np.zeros(n, dtype=int)
    y[10_000:] = 1
    y[rng.choice(n, 12, replace=False)] = 2
    present = np.ones((n, 2), dtype=bool)
    present[:, 1] = rng.rand(n) < 0.002
    data = MultiViewData({"a": rng.randn(n, 2), "b": rng.randn(n, 2)}, present=present)
    sample = draw_sample(read(data, y, None, (3000,)), 1000)
    assert (sample.codes == 2).sum() == (y == 2).sum()
    assert sample.data.present[:, 1].sum() == present[:, 1].sum()
    assert 850 < len(sample.codes) < 1200
    totals = np.bincount(sample.codes, weights=sample.weight)
    np.testing.assert_allclose(totals, np.bincount(y))
    share = np.average(sample.data.present[:, 1], weights=sample.weight)
    assert share == pytest.approx(present[:, 1].mean(), rel=0.1)


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
