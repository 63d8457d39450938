"""Bounds hold on random problems, and the printed ones that were corrected do not."""

import numpy as np
import pytest

from consilience import MultiViewData
from consilience.boosting import (
    MuMBoClassifier,
    RShareBoostClassifier,
    ShareBoostClassifier,
    exp3p_regret_bound,
    margin_distribution,
    rounds_to_zero_error,
)
from consilience.boosting._bounds import class_edges
from consilience.datasets import make_multiview_classification
from consilience.vote import MwMvC2Classifier

THETAS = (0.0, 0.05, 0.2, 0.5)


def problem(seed, n_classes=2, missing_rate=0.0):
    return make_multiview_classification(
        60,
        n_views=3,
        n_classes=n_classes,
        strength=1.0,
        missing_rate=missing_rate,
        random_state=seed,
    )


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_margins_of_mumbo_are_within_the_corrected_lemma(n_classes, seed):
    data, y = problem(seed, n_classes)
    model = MuMBoClassifier(n_estimators=5, max_depth=1, random_state=0).fit(data, y)
    margins = margin_distribution(model, data, y)
    assert (np.diff(margins) >= 0).all()
    assert np.abs(margins).max() <= 1 + 1e-6
    for theta in THETAS:
        share = (margins <= theta).mean()
        assert share <= model.margin_bound(theta) + 1e-9
        assert share > model.margin_bound(theta) / len(y)  # as printed: the lemma fails
    # at theta = 0 the lemma is the bound on the training error, from edges instead of losses
    assert model.margin_bound(0.0) >= model.training_bound_[-1] - 1e-9
    assert (model.predict(data) != y).mean() <= model.training_bound_[-1]


def test_loss_of_every_view_of_mumbo_falls_by_its_factor():
    data, y = problem(0, n_classes=3)
    model = MuMBoClassifier(n_estimators=10, max_depth=1, random_state=0).fit(data, y)
    edges = np.clip(model.view_edges_, 0, 1 - 1 / len(y))
    np.testing.assert_allclose(model.view_loss_factors_, np.sqrt(1 - edges**2), atol=1e-12)
    assert model.view_loss_factors_.shape == (len(model.edges_), 3)


def test_margins_of_two_classes_by_hand():
    data, y = problem(1)
    model = ShareBoostClassifier(n_estimators=4, max_depth=1, random_state=0).fit(data, y)
    signs = np.where(y == model.classes_[1], 1, -1)
    by_hand = np.sort(signs * model.decision_function(data)) / model.estimator_weights_.sum()
    np.testing.assert_allclose(margin_distribution(model, data, y), by_hand)
    with pytest.raises(ValueError, match="y has the label 7 that is unknown"):
        margin_distribution(model, data, np.full(len(y), 7))


@pytest.mark.parametrize("kind", [ShareBoostClassifier, RShareBoostClassifier])
@pytest.mark.parametrize("missing_rate", [0.0, 0.3])
def test_training_error_is_below_the_product_of_the_factors(kind, missing_rate):
    data, y = problem(2, missing_rate=missing_rate)
    model = kind(n_estimators=15, max_depth=1, random_state=0).fit(data, y)
    errors = [(labels != y).mean() for labels in model.staged_predict(data)]
    assert len(model.edges_) == len(model.training_bound_) == len(errors)
    assert (np.array(errors) <= model.training_bound_ + 1e-9).all()
    if not missing_rate:
        product = np.cumprod(np.sqrt(1 - model.edges_**2))
        np.testing.assert_allclose(model.training_bound_, product, rtol=1e-9)


def test_rewards_belong_to_the_edges():
    data, y = problem(3, n_classes=3)
    model = RShareBoostClassifier(n_estimators=8, max_depth=1, random_state=0).fit(data, y)
    np.testing.assert_allclose(model.rewards_, 1 - np.sqrt(1 - model.edges_**2))
    assert not hasattr(model, "training_bound_")  # of two classes only


@pytest.mark.parametrize("n_classes", [2, 3])
def test_loss_per_sample_of_the_vote_bounds_the_error(n_classes):
    data, y = problem(4, n_classes)
    model = MwMvC2Classifier(n_iter=5, random_state=0).fit(data, y)
    assert [len(curve) for curve in model.training_bound_] == [6] * len(model.loss_curve_)
    error = (model.predict(data) != y).mean()
    assert error <= sum(curve[-1] for curve in model.training_bound_)
    factor = np.log(2) * len(y)
    np.testing.assert_allclose(model.training_bound_[0] * factor, model.loss_curve_[0])


def test_margins_of_labels_as_a_column():
    data, y = problem(0)
    model = ShareBoostClassifier(n_estimators=3, random_state=0).fit(data, y)
    expected = margin_distribution(model, data, y)
    np.testing.assert_array_equal(margin_distribution(model, data, y[:, None]), expected)
    with pytest.raises(ValueError, match="59"):
        margin_distribution(model, data, y[1:])


def test_margins_of_rows_without_votes_are_within_their_range():
    y = np.repeat([0, 1, 2], [54, 5, 1])
    views = {"a": np.zeros((60, 1)), "b": np.zeros((60, 1))}
    model = ShareBoostClassifier(n_estimators=1, max_depth=1, random_state=0).fit(views, y)
    smallest = []
    for is_present in np.eye(2, dtype=bool):
        part = MultiViewData(views, present=np.tile(is_present, (60, 1)))
        smallest.append(margin_distribution(model, part, y)[0])
    # the only learner votes on one of the views; its weight is ½ log 18, the prior's ½ log 54
    assert smallest == [-1, -1]


def test_bandit_bounds():
    # T ≥ (4C/ρ²)⁴ makes regret smaller than half of what the good view earns
    T = rounds_to_zero_error(3, 100, edge=0.5)
    earned = T * (1 - np.sqrt(1 - 0.5**2))
    assert exp3p_regret_bound(3, int(min(T, 2**31 - 1)), 0.05) < earned
    assert exp3p_regret_bound(3, 400) < 2 * exp3p_regret_bound(3, 100) * 1.2
    assert rounds_to_zero_error(3, 100, edge=0.2) > T
    # (4C/ρ²)⁴ with C = √96 + √(81 ln 3) + 16
    assert pytest.approx((16 * (96**0.5 + (81 * np.log(3)) ** 0.5 + 16)) ** 4) == T
    with pytest.raises(ValueError, match=r"n_views must be .* of at least 2, got 1"):
        exp3p_regret_bound(1, 10)
    with pytest.raises(ValueError, match="edge must be"):
        rounds_to_zero_error(2, 10, edge=1.5)
    model = MuMBoClassifier(n_estimators=1, random_state=0).fit(*problem(0))
    with pytest.raises(ValueError, match=r"theta must be a number in \[0, 1\], got 2"):
        model.margin_bound(2)


def test_edges_of_rounds_lie_between_minus_one_and_one():
    rounds = [(1.0, 0.0, 9.0), (0.75, 0.25, 0.5), (0.0, 1.0, 0.1), (1 + 1e-12, 0.0, 9.0)]
    np.testing.assert_allclose(class_edges(rounds, 3), [1, 0.625, -0.5, 1], rtol=0, atol=1e-15)
    assert class_edges(rounds, 2).min() == -1


def test_margins_without_votes_are_zero():
    y = np.arange(20) % 2
    views = {"a": np.ones((20, 1)), "b": np.ones((20, 1))}
    model = ShareBoostClassifier(n_estimators=2, random_state=0).fit(views, y)
    assert not model.estimator_weights_.any()
    assert margin_distribution(model, views, y).tolist() == [0] * 20
