"""A sample of rows is the same for any blocks, and holds rare classes and views."""

import numpy as np
import pytest
import scipy.sparse as sp

from consilience import ConsilienceClassifier, MultiViewData
from consilience.distributed._blocks import read_blocks
from consilience.distributed._row_sample import SampleRates, draw_sample, hash_uniform
from reference.blocks import cut, make


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


def test_rates_of_rows():
    rates = SampleRates.from_counts(80, np.array([390, 10]), np.array([400, 5]))
    assert rates.base == 0.2
    np.testing.assert_allclose(rates.classes, [5 / 390, 0.5])  # a quarter of 80 for four of them
    np.testing.assert_allclose(rates.views, [5 / 400, 1.0])
    assert SampleRates.from_counts(80, np.array([40, 0]), np.array([40])).base == 1.0


def test_purposes_have_numbers_of_their_own():
    first, second = hash_uniform(0, 1000), hash_uniform(0, 1000, purpose=1)
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.1
    # the first number of splitmix64 with seed 0, of which 53 bits are kept
    assert first[0] == (0xE220A8397B1DCDAF >> 11) / 2**53


@pytest.mark.parametrize("is_nested", [True, False])
@pytest.mark.parametrize("share", [0.02, 0.1])
def test_rows_with_two_rare_views_are_drawn_once(share, is_nested):
    rng = np.random.RandomState(0)
    n, size = 3000, 500
    rare = rng.rand(n) < share
    rarer = rare & (rng.rand(n) < 0.8) if is_nested else rng.rand(n) < share
    present = np.column_stack([np.ones(n, dtype=bool), rare, rarer])
    numbers = np.arange(n, dtype=float)[:, None]
    data = MultiViewData(dict.fromkeys("abc", numbers), present=present)
    sample = read(data, np.arange(n) % 2, None, (700,)).sample(size, np.random.RandomState(0))
    drawn = sample.data["a"][:, 0].astype(int)
    assert len(np.unique(drawn)) == len(drawn)
    np.testing.assert_array_equal(sample.data.present, present[drawn])
    np.testing.assert_array_equal(sample.codes, drawn % 2)
    assert sample.data.present[:, 1].sum() == rare.sum()
    assert sample.data.present[:, 2].sum() == rarer.sum()
