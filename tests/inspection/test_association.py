"""Association of features with the class, alone and in pairs, and how evidence is combined."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import chi2, norm

from consilience import ConsilienceClassifier, MultiViewData
from consilience.datasets import make_multiview_biomarkers
from consilience.fusion import LateFusionClassifier
from consilience.inspection import _association as association
from consilience.inspection import feature_importance, select_features
from consilience.inspection._combined_evidence import (
    PAIR_SHARE,
    SINGLE_SHARE,
    combine_evidence,
    direction_log_p,
    largest_log_p,
)
from consilience.inspection._feature_data import read_features
from reference import association as slow


def draw(seed, n_classes, missing, grouped):
    rng = np.random.default_rng(seed)
    n = 40
    X = rng.normal(size=(n, 9)).round(1)
    if missing:
        X[rng.random(X.shape) < 0.15] = np.nan
    y = rng.permutation(np.arange(n) % n_classes)
    units = np.repeat(np.arange(n // 2), 2) if grouped else np.arange(n)
    weight = rng.integers(1, 3, size=n).astype(float)
    return X, y, weight, units


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("missing", "grouped"), [(False, False), (True, False), (True, True)])
def test_association_is_that_of_the_definition(n_classes, missing, grouped):
    X, y, weight, units = draw(n_classes, n_classes, missing, grouped)
    data = MultiViewData({"a": X[:, :4], "b": X[:, 4:]})
    read = read_features(None, data, y, None, weight, "test")
    columns = association.score_columns(read, units if grouped else None, [np.arange(40)])
    alone = association.alone_association(columns)
    np.testing.assert_allclose(alone.z, slow.alone(X, y, weight, units), rtol=1e-4)
    np.testing.assert_allclose(alone.fold_z[0], alone.z, rtol=1e-4)
    pairs = association.pair_association(columns)
    for j, partner in enumerate(pairs.partner):
        assert partner != j
        own = [
            abs(slow.pair(X[:, j], X[:, partner], y, k, weight, units)) for k in range(n_classes)
        ]
        assert np.isclose(own, pairs.z[j], rtol=1e-3).any()
    assert pairs.n_choices == 8 * (1 if n_classes == 2 else 3)


def test_blocks_of_columns_change_nothing(monkeypatch):
    X, y, weight, _ = draw(0, 3, True, False)
    read = read_features(None, MultiViewData({"a": sp.csr_array(np.nan_to_num(X))}), y, None,
                         weight, "test")  # fmt: skip
    results = []
    for size in (512, 2):
        monkeypatch.setattr(association, "BLOCK_COLUMNS", size)
        columns = association.score_columns(read, None, [np.arange(20), np.arange(20, 40)])
        pair = association.pair_association(columns)
        results.append((association.alone_association(columns), pair))
    for whole, parts in zip(*results, strict=True):
        np.testing.assert_allclose(whole.z, parts.z, rtol=1e-5)
        np.testing.assert_allclose(whole.fold_z, parts.fold_z, rtol=1e-4, atol=1e-6)


def test_best_partners_are_those_of_all_pairs(monkeypatch):
    rng = np.random.default_rng(0)
    S, t = rng.normal(size=(30, 11)), rng.normal(size=30)
    sums = np.abs((S * t[:, None]).T @ S)
    np.fill_diagonal(sums, -1)
    for size in (1, 4, 11, 512):
        monkeypatch.setattr(association, "BLOCK_COLUMNS", size)
        np.testing.assert_array_equal(association.best_partners(S, t), sums.argmax(axis=1))


def test_too_many_pairs_are_not_examined(monkeypatch):
    problem = make_multiview_biomarkers(60, n_features=[5, 10], random_state=0)
    monkeypatch.setattr(association, "MAX_PAIR_PRODUCTS", 1.0)
    result = feature_importance(LateFusionClassifier(), problem.data, problem.target, cv=2)
    assert (result.partner == "").all()
    single = MultiViewData({"v": problem.data["view0"][:, :1]})
    one = feature_importance(LateFusionClassifier(), single, problem.target, cv=2)
    assert np.isfinite(one.importance).all()


def test_log_p_values():
    z = np.array([0.5, 2.0, 5.0])
    np.testing.assert_allclose(np.exp(direction_log_p(z, 4)), chi2.sf(z**2, 3))
    assert direction_log_p(np.array([-1.0, 0.0]), 3).tolist() == [0.0, 0.0]
    far = direction_log_p(np.array([38.0, 45.0]), 2)
    np.testing.assert_allclose(far, np.log(2) + norm.logsf([38.0, 45.0]), rtol=1e-5)
    p = 2 * norm.sf(z)
    np.testing.assert_allclose(np.exp(largest_log_p(z, 7)), 1 - (1 - p) ** 7, rtol=1e-6)
    np.testing.assert_allclose(
        largest_log_p(np.array([40.0]), 7), np.log(14) + norm.logsf([40.0]), rtol=1e-10
    )


def test_pairs_count_by_their_share():
    z = np.array([1.0, 1.0, 6.0])
    log_p = np.array([0.0, np.log(1e-6), np.log(1e-6)])
    p, best, is_pair = combine_evidence(z, log_p, 2)
    assert is_pair.tolist() == [False, True, False]
    np.testing.assert_allclose(p[1], 1e-6 / PAIR_SHARE)
    np.testing.assert_allclose(p[2], 2 * norm.sf(6.0) / SINGLE_SHARE)
    np.testing.assert_allclose(2 * norm.sf(best[1]) / SINGLE_SHARE, p[1])
    assert best[[0, 2]].tolist() == [1.0, 6.0]
    # the order of the features is that of their p-values
    rng = np.random.default_rng(0)
    p, best, _ = combine_evidence(rng.normal(size=200) * 3, np.log(rng.random(200)) * 9, 2)
    order = np.argsort(-best)
    assert (np.diff(p[order]) >= 0).all()


def test_pairs_that_tell_the_class_together_are_found():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 150))
    y = (a * b > 0).astype(int)
    data = MultiViewData({
        "first": np.column_stack([rng.normal(size=(150, 4)), a]),
        "second": np.column_stack([b, rng.normal(size=(150, 9))]),
    })  # fmt: skip
    result = feature_importance(LateFusionClassifier(), data, y)
    assert set(np.argsort(-result.importance)[:2]) == {4, 5}
    assert result.partner[4] == "second: 0"
    assert result.partner[5] == "first: 4"
    assert (result.q_value[[4, 5]] < 0.01).all()
    assert (np.delete(result.q_value, [4, 5]) > 0.1).all()
    assert abs(result.in_model[4]) < 0.3
    assert {"in_model", "alone", "partner"} <= set(result.to_frame())


def test_repeated_folds_are_no_further_evidence():
    problem = make_multiview_biomarkers(80, n_features=[10, 20], random_state=0)
    rows = np.arange(80)
    once = [(rows[rows % 4 != f], rows[rows % 4 == f]) for f in range(4)]
    model = LateFusionClassifier()
    first = feature_importance(model, problem.data, problem.target, cv=once)
    twice = feature_importance(model, problem.data, problem.target, cv=once * 2)
    np.testing.assert_allclose(twice.p_value, first.p_value)
    np.testing.assert_allclose(twice.importance, first.importance)


def test_columns_of_categories_have_the_evidence_of_the_model():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    y = np.arange(100) % 2
    flipped = np.where(rng.random(100) < 0.1, 1 - y, y)
    frame = pd.DataFrame({"group": np.array(["no", "yes"])[flipped], "x": rng.normal(size=100)})
    result = feature_importance(ConsilienceClassifier(10, random_state=0), {"v": frame}, y, cv=2)
    assert np.isnan(result.alone[0])
    assert result.importance[0] == pytest.approx(result.in_model[0])
    assert result.importance[0] > 0.5


def test_outliers_are_not_important():
    rng = np.random.default_rng(1)
    X = rng.standard_cauchy(size=(100, 60))
    y = rng.permutation(np.arange(100) % 2)
    result = feature_importance(LateFusionClassifier(), MultiViewData({"v": X}), y)
    assert (result.q_value > 0.1).all()


def test_nothing_is_selected_from_random_labels():
    n_selected = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        data = MultiViewData({"a": rng.normal(size=(60, 10)), "b": rng.normal(size=(60, 20))})
        y = rng.permutation(np.arange(60) % (2 + seed % 2))
        n_selected += select_features(LateFusionClassifier(), data, y, n_pairs=0).mask_.any()
    assert n_selected <= 2
