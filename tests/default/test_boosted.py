from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import log_softmax, softmax

from consilience._default._boosted import (
    MAX_CELLS,
    N_FOLDS,
    fit_boosted_member,
    is_boostable,
)


def run_serially(function, items):
    return [function(item) for item in items]


def run_in_threads(function, items):
    with ThreadPoolExecutor(3) as pool:
        return list(pool.map(function, items))


def make_views(n=900, n_classes=3, seed=0):
    """A dense view, one without columns and a sparse one, and classes that need both."""
    rng = np.random.default_rng(seed)
    dense = rng.normal(size=(n, 11))
    counts = rng.poisson(0.3, size=(n, 30)).astype(float)
    score = dense[:, 0] + 2 * (counts[:, 0] > 0) + dense[:, 1] * counts[:, 1]
    score += 0.3 * rng.normal(size=n)
    codes = np.searchsorted(np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1]), score)
    return [dense, None, sp.csr_array(counts)], np.ones((n, 3), dtype=bool), codes


def fit(blocks, present, codes, weight=None, run=run_serially, folds=None, seed=0):
    weight = np.ones(len(codes)) if weight is None else weight
    prior = np.bincount(codes, weights=weight) / weight.sum()
    return fit_boosted_member(blocks, present, codes, weight, prior, seed, run, folds)


def take(blocks, rows):
    return [None if block is None else block[rows] for block in blocks]


def log_loss(scores, codes):
    return -log_softmax(scores, axis=1)[np.arange(len(codes)), codes].mean()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_out_of_fold_scores_predict_new_rows(n_classes):
    blocks, present, codes = make_views(1800, n_classes)
    train, test = slice(900), slice(900, None)
    member, scores = fit(take(blocks, train), present[train], codes[train])
    predicted = member.predict(take(blocks, test), present[test])
    assert scores.shape == (900, n_classes) == predicted.shape
    np.testing.assert_allclose(scores.sum(axis=1), 0, atol=1e-9)
    expected = log_loss(predicted, codes[test])
    assert expected < 0.5 * np.log(n_classes)
    assert log_loss(scores, codes[train]) == pytest.approx(expected, abs=0.1)


def test_threads_and_formats_agree():
    blocks, present, codes = make_views()
    present[::5, 2] = False
    member, scores = fit(blocks, present, codes)
    as_dense = [blocks[0], None, blocks[2].toarray()]
    for others, run in [(blocks, run_in_threads), (as_dense, run_serially)]:
        other, other_scores = fit(others, present, codes, run=run)
        np.testing.assert_array_equal(scores, other_scores)
        for name, values in member.nodes.items():
            np.testing.assert_array_equal(values, other.nodes[name])
        np.testing.assert_array_equal(
            member.predict(blocks, present), other.predict(others, present)
        )


def test_absent_cells_are_never_read():
    blocks, present, codes = make_views()
    present[::3, 0] = False
    changed = [blocks[0].copy(), *blocks[1:]]
    changed[0][::3] = 7.0
    (member, scores), (other, other_scores) = (
        fit(blocks, present, codes),
        fit(changed, present, codes),
    )
    np.testing.assert_array_equal(scores, other_scores)
    np.testing.assert_array_equal(member.predict(blocks, present), other.predict(changed, present))


def test_views_absent_in_prediction_alone():
    """Rows get something between the prior and the prediction from all views."""
    blocks, present, codes = make_views(2700)
    train, test = slice(1800), slice(1800, None)
    member, _ = fit(take(blocks, train), present[train], codes[train])
    losses = []
    for absent in ([0, 1, 2], [0], []):
        some = present[test].copy()
        some[:, absent] = False
        losses.append(log_loss(member.predict(take(blocks, test), some), codes[test]))
    assert losses[0] == pytest.approx(np.log(3), abs=0.1)
    assert losses[2] < losses[1] < losses[0]


def test_groups_are_left_out_whole():
    rng = np.random.default_rng(1)
    noise, groups = rng.normal(size=(30, 5)), np.repeat(np.arange(30), 30)
    present = np.ones((900, 1), dtype=bool)
    classes = rng.integers(3, size=30)[groups]  # nothing but the group tells the class
    folds = groups % 10
    _, scores = fit([noise[groups]], present, classes, folds=folds)
    assert log_loss(scores, classes) > 0.9 * np.log(3)
    member, scores = fit([noise[groups]], present, classes)
    assert log_loss(scores, classes) < 0.5 * np.log(3)
    assert len(member.starts) > 1


def test_weights_count_like_repeated_rows():
    blocks, present, codes = make_views(600)
    weight = np.where(np.arange(600) % 2, 2.0, 1.0)
    folds = np.arange(600) % N_FOLDS
    member, _ = fit(blocks, present, codes, weight / weight.mean(), folds=folds)
    rows = np.repeat(np.arange(600), weight.astype(int))
    twice, _ = fit(take(blocks, rows), present[rows], codes[rows], folds=folds[rows])
    p, q = (softmax(m.predict(blocks, present), axis=1) for m in (member, twice))
    assert np.abs(p - q).mean() < 0.05


def test_small_model():
    blocks, present, codes = make_views()
    member, _ = fit(blocks, present, codes)
    sizes = {name: values.dtype.itemsize for name, values in member.nodes.items()}
    assert sum(sizes.values()) <= 28
    assert member.nodes["value"].dtype == np.float32


def test_a_class_that_some_folds_lack():
    blocks, present, codes = make_views(300)
    codes = codes.copy()
    codes[codes == 2] = 0
    codes[:2] = 2
    member, scores = fit(blocks, present, codes)
    assert np.isfinite(scores).all()
    assert np.isfinite(member.predict(blocks, present)).all()


def test_columns_without_information():
    codes = np.arange(100) % 2
    present = np.ones((100, 1), dtype=bool)
    member, scores = fit([np.zeros((100, 3))], present, codes)
    np.testing.assert_allclose(scores, 0, atol=1e-9)
    np.testing.assert_allclose(member.predict([np.ones((4, 3))], present[:4]), 0, atol=1e-9)


def test_is_boostable():
    blocks, _, _ = make_views()
    assert is_boostable(blocks)
    assert not is_boostable([None, None])
    assert not is_boostable([sp.csr_array((1000, MAX_CELLS // 1000 + 1))])
