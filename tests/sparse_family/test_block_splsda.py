"""Block sparse PLS-DA: against a slow twin, limits, monotone criterion, stationarity."""

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.cross_decomposition import PLSRegression
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import balanced_accuracy_score

from consilience import MultiViewData
from consilience._solvers.penalised import StandardisedColumns, StandardisedViews
from consilience.datasets import (
    fetch_breast_tcga,
    fetch_nutrimouse,
    make_multiview_classification,
)
from consilience.sparse import BlockSPLSDAClassifier, BlockSPLSDAClassifierCV
from consilience.sparse._block_spls import DeflatedView, fit_components, keep_largest
from reference.block_spls import block_spls, dummy

MIRROR = Path(__file__).parents[3] / "shared" / "data"
MANY = 200 if int(os.environ.get("CONSILIENCE_TEST_ALL", "0")) else 15


def draw(seed, K=3):
    rng = np.random.default_rng(seed)
    n, V = int(rng.integers(20, 40)), int(rng.integers(1, 4))
    y = rng.permutation(np.arange(n) % K)
    Xs = [
        rng.normal(size=(n, d)) + 0.8 * np.eye(K)[y] @ rng.normal(size=(K, d))
        for d in rng.integers(4, 12, V)
    ]
    return Xs, y, rng


def check_loadings(model, Xs, y, design, keep):
    slow = block_spls(Xs, y, design, keep)
    for own, other in zip([*model.loadings_.values(), model.y_loadings_], slow, strict=True):
        np.testing.assert_allclose(own, other, atol=1e-8)


@pytest.mark.parametrize("seed", range(MANY))
def test_loadings_equal_those_of_the_slow_twin(seed):
    Xs, y, rng = draw(seed)
    H, design = 2, float(rng.choice([0.0, 0.1, 1.0]))
    keep = [[int(k) for k in rng.integers(2, 5, H)] for _ in Xs]
    names = [f"v{v}" for v in range(len(Xs))]
    given = dict(zip(names, keep, strict=True))
    model = BlockSPLSDAClassifier(H, keep=given, design=design, tol=1e-13, max_iter=5000)
    model.fit(dict(zip(names, Xs, strict=True)), y)
    check_loadings(model, Xs, y, design * (1 - np.eye(len(Xs))), keep)


def real_data(fetch):
    """From the mirror beside the checkout, or from where the user keeps data."""
    try:
        return fetch(data_home=MIRROR if MIRROR.is_dir() else None, download_if_missing=False)
    except OSError as error:
        pytest.skip(f"data are not here: {error}")


@pytest.mark.parametrize("fetch", [fetch_breast_tcga, fetch_nutrimouse])
def test_loadings_on_real_data(fetch):
    bunch = real_data(fetch)
    rows = np.flatnonzero(bunch.data.present.all(axis=1))
    data, y = bunch.data[rows], bunch.target[rows]
    keep = [[6, 14]] * data.n_views
    model = BlockSPLSDAClassifier(2, keep=[6, 14], tol=1e-13, max_iter=5000).fit(data, y)
    Xs = [np.asarray(data[name], dtype=float) for name in data.view_names]
    check_loadings(model, Xs, y, 0.1 * (1 - np.eye(len(Xs))), keep)


def test_published_error_of_breast_tcga():
    # the case study of mixOmics: these numbers of columns, weighted vote, centroids; balanced
    # error of the 70 test samples, which lack proteins: 0.068
    bunch = real_data(fetch_breast_tcga)
    train, test = bunch.splits["official"]["train"], bunch.splits["official"]["test"]
    keep = {"mrna": [6, 14], "mirna": [5, 18], "protein": [9, 5]}
    model = BlockSPLSDAClassifier(2, keep=keep, prediction="weighted_vote")
    model.fit(bunch.data[train], bunch.target[train])
    y, predicted = bunch.target[test], model.predict(bunch.data[test])
    errors = [np.mean(predicted[y == k] != k) for k in np.unique(y)]
    assert np.mean(errors) <= 0.0683


@pytest.mark.parametrize("seed", range(5))
def test_one_view_with_all_columns_is_pls_da(seed):
    Xs, y, _ = draw(seed)
    model = BlockSPLSDAClassifier(2, keep=None, distance="max", prediction="average", tol=1e-13)
    model.fit({"a": Xs[0]}, y)
    pls = PLSRegression(2, max_iter=10_000, tol=1e-15).fit(Xs[0], dummy(y))
    signs = np.sign((pls.x_weights_ * model.loadings_["a"]).sum(axis=0))
    np.testing.assert_allclose(model.loadings_["a"], pls.x_weights_ * signs, atol=1e-7)
    Y = np.eye(3)[y]
    expected = Y.mean(axis=0) + Y.std(axis=0) * pls.predict(Xs[0])
    np.testing.assert_allclose(model.decision_function({"a": Xs[0]}), expected, atol=1e-7)


def components(Xs, y, keep, soft, design=0.5, **limits):
    n, V = len(y), len(Xs)
    present, weight = np.ones((n, V), dtype=bool), np.ones(n)
    standard = StandardisedViews(Xs, present, weight)
    roots = np.sqrt(standard.weight)
    views = [
        DeflatedView(StandardisedColumns(parts, present[:, v]), roots)
        for v, parts in enumerate(standard.parts)
    ]
    matrix = design * (1 - np.eye(V))
    Y = roots[:, None] * dummy(y)
    return fit_components(views, Y, matrix, keep, soft=soft, **limits), standard, Y, matrix


@pytest.mark.parametrize("seed", range(MANY))
def test_criterion_never_decreases(seed):
    Xs, y, rng = draw(seed)
    keep = rng.integers(2, 5, (len(Xs), 2)) if seed % 2 else np.full((len(Xs), 2), 100)
    result = components(Xs, y, keep, soft=False)[0]
    for values in result.criteria:
        assert np.diff(values).min(initial=0.0) >= -1e-12 * abs(values[-1])


@pytest.mark.parametrize("soft", [True, False])
def test_loadings_are_stationary(soft):
    Xs, y, _ = draw(1)
    keep = np.full((len(Xs), 1), 3)
    result, standard, Y, design = components(Xs, y, keep, soft, tol=1e-12, max_iter=5000)
    T = np.array([scores[:, 0] for scores in result.scores])
    roots = np.sqrt(standard.weight)
    for v, parts in enumerate(standard.parts):
        z = design[v] @ T + Y @ result.y_loadings[:, 0]
        gradient = parts[0].T @ (roots * z)
        np.testing.assert_allclose(
            keep_largest(gradient, 3, soft), result.loadings[v][:, 0], atol=1e-9
        )


def test_keep_largest():
    u = np.array([3.0, -1.0, 2.0, -4.0])
    np.testing.assert_allclose(keep_largest(u, 2, True), np.array([1, 0, 0, -2]) / np.sqrt(5))
    np.testing.assert_allclose(keep_largest(u, 2, False), np.array([3, 0, 0, -4]) / 5)
    np.testing.assert_allclose(keep_largest(np.ones(3), 2, True), [0.5**0.5, 0.5**0.5, 0])
    assert not keep_largest(np.zeros(3), 2, True).any()


@pytest.mark.parametrize("prediction", ["weighted_vote", "majority_vote", "weighted_average"])
@pytest.mark.parametrize("distance", ["centroids", "max"])
def test_predictions(prediction, distance):
    Xs, y, _ = draw(3)
    X = {f"v{v}": X for v, X in enumerate(Xs)}
    model = BlockSPLSDAClassifier(2, keep=4, prediction=prediction, distance=distance).fit(X, y)
    assert model.score(X, y) > 0.7
    assert model.transform_views(X).shape == (len(y), len(Xs), 2)


def test_errors():
    Xs, y, _ = draw(3)
    X = {f"v{v}": X for v, X in enumerate(Xs)}
    with pytest.raises(ValueError, match="keep has 3 numbers for view 'v0'"):
        BlockSPLSDAClassifier(2, keep=[1, 2, 3]).fit(X, y)
    with pytest.raises(ValueError, match="design must be a number or a matrix"):
        BlockSPLSDAClassifier(2, design=np.eye(7)).fit(X, y)
    with pytest.raises(ValueError, match="design must be symmetric"):
        BlockSPLSDAClassifier(2, design=-np.ones((len(Xs), len(Xs)))).fit(X, y)


def test_cross_validation_chooses_the_best_pair():
    Xs, y, _ = draw(4)
    data = MultiViewData({f"v{v}": X for v, X in enumerate(Xs)})
    model = BlockSPLSDAClassifierCV([2, 4], cv=3).fit(data, y)
    mean = model.scores_.mean(axis=0)
    assert (
        model.best_score_ == mean.max() == mean[[2, 4].index(model.keep_), model.n_components_ - 1]
    )
    same = BlockSPLSDAClassifier(model.n_components_, keep=model.keep_).fit(data, y)
    np.testing.assert_allclose(same.decision_function(data), model.decision_function(data))


def test_scores_of_fewer_components_are_those_of_a_fit_with_as_many():
    data, y = make_multiview_classification(
        120, n_views=3, n_classes=3, n_features=8, strength=1.0, random_state=3
    )
    splits = [(np.arange(60), np.arange(60, 120)), (np.arange(60, 120), np.arange(60))]
    chosen = BlockSPLSDAClassifierCV([2], max_components=3, cv=splits).fit(data, y)
    for fold, (train, test) in enumerate(splits):
        for h in (1, 2, 3):
            model = BlockSPLSDAClassifier(h, keep=2).fit(data[train], y[train])
            score = balanced_accuracy_score(y[test], model.predict(data[test]))
            assert chosen.scores_[fold, 0, h - 1] == pytest.approx(score)


@pytest.mark.parametrize("prediction", ["weighted_average", "majority_vote"])
def test_rows_of_which_nothing_was_learned_get_the_most_frequent_class(prediction):
    data, y = make_multiview_classification(90, n_views=2, random_state=0)
    y = np.where(np.arange(90) < 70, 1, 0)
    present = np.c_[np.ones(90, bool), np.zeros(90, bool)]
    half = MultiViewData(dict(data.items()), present=present)
    with pytest.warns(UserWarning, match="in no training row"):
        model = BlockSPLSDAClassifier(prediction=prediction).fit(half, y)
    assert (model.predict(data.select(["view1"])) == 1).all()


def test_cross_validated_scores_are_in_the_order_of_keeps():
    data, y = make_multiview_classification(60, n_views=2, random_state=0)
    ascending = BlockSPLSDAClassifierCV([1, 2, 4], cv=2).fit(data, y)
    model = BlockSPLSDAClassifierCV([4, 1, 2, 1], cv=2).fit(data, y)
    assert (model.keep_, model.n_components_) == (ascending.keep_, ascending.n_components_)
    np.testing.assert_array_equal(model.scores_, ascending.scores_[:, [2, 0, 1, 0]])


def test_all_components_must_converge():
    Xs, y, _ = draw(0)
    keep = np.full((len(Xs), 2), 3)
    assert components(Xs, y, keep, soft=True, max_iter=5000)[0].converged
    assert not components(Xs, y, keep, soft=True, max_iter=1, tol=0.0)[0].converged
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        BlockSPLSDAClassifier(2, keep=3, max_iter=1, tol=1e-15).fit({"a": Xs[0], "b": Xs[1]}, y)


def test_a_view_without_covariance_is_exhausted():
    view = DeflatedView(None, np.ones(3))
    assert view.is_exhausted(np.zeros((2, 2)))
    assert not view.is_exhausted(np.ones((2, 2)))  # the first one that is not 0 counts
    assert view.is_exhausted(np.full((2, 2), 1e-20))


def test_rows_are_predicted_one_by_one_as_together():
    data, y = make_multiview_classification(40, n_views=2, n_classes=3, random_state=0)
    model = BlockSPLSDAClassifier().fit(data, y)
    one_by_one = np.vstack([model.decision_function(data[i : i + 1]) for i in range(5)])
    np.testing.assert_allclose(one_by_one, model.decision_function(data)[:5])


def test_iterations_are_counted():
    data, y = make_multiview_classification(40, n_views=2, n_classes=3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = BlockSPLSDAClassifier(max_iter=2).fit(data, y)
    assert model.n_iter_ == 2


def test_scores_are_regressions_on_the_components():
    data, y = make_multiview_classification(60, n_views=1, n_classes=3, random_state=0)
    model = BlockSPLSDAClassifier(n_components=1, prediction="average").fit(data, y)
    t = model.transform_views(data)[:, 0, 0]
    expected = [np.polyval(np.polyfit(t, y == k, 1), t) for k in model.classes_]
    np.testing.assert_allclose(model.decision_function(data), np.transpose(expected))
