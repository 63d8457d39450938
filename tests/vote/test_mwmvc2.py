"""MwMvC2Classifier as an estimator."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from consilience import MultiViewData
from consilience.datasets import load_digits_views, make_multiview_classification
from consilience.vote import MwMvC2Classifier

VOTERS = ["random_trees", "trees", [GaussianNB(), DecisionTreeClassifier(max_depth=2)]]


def problem(**settings):
    settings = {"n_samples": 150, "n_classes": 3, "strength": 2.0, "random_state": 0, **settings}
    return make_multiview_classification(**settings)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("voters", VOTERS, ids=["random", "cuts", "own"])
def test_decision_is_the_weighted_vote(voters, n_classes):
    data, y = problem(n_classes=n_classes)
    model = MwMvC2Classifier(voters, view_weights="loss", random_state=0).fit(data, y)
    rho = np.atleast_2d(model.rho_)
    codes = [1] if n_classes == 2 else range(n_classes)
    scores = np.zeros((len(y), len(codes)))
    for p, code in enumerate(codes):
        for v, name in enumerate(data.view_names):
            votes = np.where(model.voters_[name].predict(data[name]) == code, 1.0, -1.0)
            scores[:, p] += rho[p, v] * votes @ np.atleast_2d(model.pi_[name])[p]
    decision = model.decision_function(data)
    np.testing.assert_allclose(decision, scores[:, 0] if n_classes == 2 else scores, atol=1e-8)
    probabilities = expit(scores)
    np.testing.assert_allclose(model.predict_proba(data).sum(axis=1), 1.0)
    if n_classes == 2:
        np.testing.assert_allclose(model.predict_proba(data)[:, 1], probabilities[:, 0])
    else:
        expected = probabilities / probabilities.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(model.predict_proba(data), expected)


def test_cuts_are_separately_grown_trees():
    data, y = problem(n_views=1, n_samples=80)
    X = np.round(data["view0"] * 10)
    model = MwMvC2Classifier("trees").fit(X, y)
    answers = model.voters_["view0"].predict(X)
    assert answers.shape[1] == model.voters_["view0"].tree.max_depth - 2
    for d in range(1, answers.shape[1] + 1):
        alone = MwMvC2Classifier("trees", max_depth=d).fit(X, y).voters_["view0"].predict(X)
        np.testing.assert_array_equal(alone, answers[:, :d])


def test_at_least_one_voter():
    X = np.r_[np.zeros(10), np.ones(10)][:, None]
    model = MwMvC2Classifier(random_state=0).fit(X, np.r_[np.zeros(10), np.ones(10)])
    assert model.pi_["view0"].shape == (1,)
    assert model.score(X, np.r_[np.zeros(10), np.ones(10)]) == 1.0


@pytest.mark.parametrize("view_weights", ["uniform", "loss", "paper"])
def test_view_weights(view_weights):
    data, y = problem(strength=[0.0, 4.0, 0.0], n_classes=2, n_samples=300)
    model = MwMvC2Classifier("trees", max_depth=3, view_weights=view_weights).fit(data, y)
    assert model.view_weights_.sum() == pytest.approx(1)
    assert model.view_weights_.argmax() == 1
    shares = model.rho_ * [np.abs(model.pi_[name]).sum() for name in data.view_names]
    np.testing.assert_allclose(model.view_weights_, shares / shares.sum())
    if view_weights == "uniform":
        np.testing.assert_allclose(model.rho_, 1 / 3)
    if view_weights == "paper":
        assert sorted(model.rho_) == [0, 0, 1]


def test_curves():
    data, y = problem()
    model = MwMvC2Classifier(n_iter=6, random_state=0).fit(data, y)
    assert len(model.loss_curve_) == 3
    for losses, bounds in zip(model.loss_curve_, model.bound_curve_, strict=True):
        assert losses.shape == (7,)
        assert (np.diff(losses) <= bounds + 1e-9).all()


def test_missing_views_are_renormalised():
    data, y = problem(n_classes=2)
    model = MwMvC2Classifier("trees", max_depth=2, view_weights="loss").fit(data, y)
    alone = model.decision_function(data.select(["view1"]))
    votes = np.where(model.voters_["view1"].predict(data["view1"]) == 1, 1.0, -1.0)
    np.testing.assert_allclose(alone, votes @ model.pi_["view1"], atol=1e-8)


def test_missing_views_in_training():
    data, y = problem(n_samples=400, missing_rate=0.3, strength=3.0)
    model = MwMvC2Classifier(random_state=0).fit(data[:300], y[:300])
    assert model.score(data[300:], y[300:]) > 0.8


def test_view_that_no_training_row_has():
    data, y = problem(n_views=2)
    present = np.c_[np.ones(150, bool), np.zeros(150, bool)]
    half = MultiViewData(dict(data.items()), present=present)
    with pytest.warns(UserWarning, match="'view1' are present in no training row"):
        model = MwMvC2Classifier(random_state=0).fit(half, y)
    assert model.view_weights_.tolist() == [1, 0]
    assert model.score(half, y) > 0.7
    assert np.isfinite(model.decision_function(data.select(["view1"]))).all()


def test_frozen_voters_are_not_refitted():
    data, y = problem(n_views=2)
    ready = {
        name: [FrozenEstimator(GaussianNB().fit(data[name][:40], y[:40]))]
        for name in data.view_names
    }
    before = ready["view0"][0].predict(data["view0"])
    weight = np.where(y == 1, 3.0, 1.0)
    model = MwMvC2Classifier(ready).fit(data, y, sample_weight=weight)
    voter = model.voters_["view0"].estimators[0]
    np.testing.assert_array_equal(voter.predict(data["view0"]), before)
    with pytest.raises(ValueError, match="has unknown classes"):
        MwMvC2Classifier(ready).fit(data[y < 2], y[y < 2])


def test_ties_go_to_the_larger_prior():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1.0]]).repeat([20, 10, 10, 30], axis=0)
    y = np.repeat([0, 1, 1, 1], [20, 10, 10, 30])
    model = MwMvC2Classifier("trees", views=[1, 1]).fit(X, y)
    assert model.predict([[0, 1], [1, 0]]).tolist() == [1, 1]


def test_rows_that_no_voter_hears_get_the_prior():
    data, y = problem(n_views=2, class_weights=[6, 3, 1])
    present = np.c_[np.ones(150, bool), np.zeros(150, bool)]
    half = MultiViewData(dict(data.items()), present=present)
    with pytest.warns(UserWarning, match="'view1'"):
        model = MwMvC2Classifier(random_state=0).fit(half, y)
    np.testing.assert_allclose(
        model.predict_proba(data.select(["view1"]))[0], model.class_prior_, atol=1e-9
    )


def test_view_that_shows_one_class_to_the_users_voters():
    data, y = problem(n_views=2)
    present = np.c_[np.ones(150, bool), y == 0]
    partial = MultiViewData(dict(data.items()), present=present)
    model = MwMvC2Classifier([GaussianNB(), LogisticRegression()]).fit(partial, y)
    assert model.score(partial, y) > 0.7


def test_early_stopping():
    data, y = problem(n_samples=300, label_noise=0.3)
    model = MwMvC2Classifier(
        n_iter=300, n_iter_no_change=3, validation_fraction=0.3, random_state=0
    ).fit(data, y)
    assert all(len(curve) < 301 for curve in model.loss_curve_)
    assert model.score(data, y) > 0.5
    # the kept weights are those of the last entry of the curve
    for losses, bounds in zip(model.loss_curve_, model.bound_curve_, strict=True):
        assert len(losses) == len(bounds) + 1 <= 300
    rare = np.c_[np.ones(300, bool), np.arange(300) < 3, np.ones(300, bool)]
    partial = MultiViewData(dict(data.items()), present=rare)
    assert model.fit(partial, y).score(partial, y) > 0.4


@pytest.mark.parametrize(
    "bad",
    [
        {"n_iter": 0},
        {"view_weights": "even"},
        {"max_depth": 0},
        {"n_iter_no_change": 1.5},
        {"validation_fraction": 0},
        {"min_weight_fraction_leaf": 0.7},
        {"voters": "forest"},
        {"voters": []},
        {"voters": {"view0": "trees"}},
    ],
    ids=str,
)
def test_parameters(bad):
    data, y = problem()
    with pytest.raises(ValueError, match=next(iter(bad))):
        MwMvC2Classifier(**bad).fit(data, y)


def test_weights_and_threads():
    data, y = problem(missing_rate=0.2)
    weight = np.random.RandomState(0).randint(0, 4, size=len(y)).astype(float)
    rows = np.repeat(np.arange(len(y)), weight.astype(int))
    model = MwMvC2Classifier("trees", max_depth=3)
    once = clone(model).fit(data, y, sample_weight=weight).decision_function(data)
    again = clone(model).fit(data[rows], y[rows]).decision_function(data)
    np.testing.assert_allclose(once, again, atol=1e-7)
    threaded = clone(model).set_params(n_jobs=2).fit(data, y, sample_weight=weight)
    np.testing.assert_array_equal(threaded.decision_function(data), once)


def test_voters_may_be_linear():
    digits = load_digits_views()
    data, y = digits.data[:600], digits.target[:600]
    linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    model = MwMvC2Classifier([linear, GaussianNB()]).fit(data[:400], y[:400])
    assert model.score(data[400:], y[400:]) > 0.7


@pytest.mark.parametrize("n_classes", [2, 3])
def test_training_bound_is_that_of_the_error(n_classes):
    data, y = problem(n_classes=n_classes, n_samples=60)
    weight = np.linspace(0.5, 2.0, len(y))
    model = MwMvC2Classifier(n_iter=6, random_state=0).fit(data, y, sample_weight=weight)
    for losses, bounds in zip(model.loss_curve_, model.training_bound_, strict=True):
        np.testing.assert_allclose(bounds, losses / np.log(2) / weight.sum())
    error = np.average(model.predict(data) != y, weights=weight)
    assert error <= sum(bounds[-1] for bounds in model.training_bound_)


@pytest.mark.parametrize("larger", [0, 1])
def test_ties_of_two_classes_go_to_the_more_frequent_one(larger):
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = np.where(np.arange(30) < 20, larger, 1 - larger)
    model = MwMvC2Classifier(random_state=0).fit(X, y)
    model._decisions = lambda data: np.zeros((len(data), 1))
    assert (model.predict(X) == larger).all()


def test_probabilities_of_very_small_decisions(monkeypatch):
    data, y = problem()
    model = MwMvC2Classifier(random_state=0).fit(data, y)
    decisions = np.tile([-900.0, -901.0, -2000.0], (len(y), 1))
    monkeypatch.setattr(model, "_decisions", lambda data: decisions)
    expected = np.array([1.0, np.exp(-1.0), 0.0]) / (1 + np.exp(-1.0))
    np.testing.assert_allclose(model.predict_proba(data)[0], expected, atol=1e-4)


def test_views_without_weight_have_equal_shares():
    model = MwMvC2Classifier()
    model.view_names_, model._voting = list("abcd"), ["a", "c"]
    nothing = SimpleNamespace(loss_curve=[], bound_curve=[], rho=np.zeros(2), pi=np.zeros((2, 3)))
    model._weights = [nothing]
    model._set_fitted_attributes()
    assert model.view_weights_.tolist() == [0.25] * 4
