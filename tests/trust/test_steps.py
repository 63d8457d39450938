"""The fast steps against the slow ones on random problems."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from conftest import FULL
from consilience.datasets import make_multiview_classification
from consilience.fusion import LateFusionClassifier
from consilience.trust import next_view, view_opinions
from consilience.trust._conformal_steps import aps_scores, p_values
from consilience.trust._cross_view import evidence, fit_prediction, pair_evidence
from consilience.trust._fdr import q_values_of_probabilities
from consilience.trust._label_errors import confident_claims
from consilience.trust._mismatch_steps import fit_mixture, partner_p_values
from consilience.trust._next_view import accuracy
from consilience.trust._reference import fit_reference_table, patterns_to_predict
from consilience.trust._robust_steps import (
    detector_loss,
    even_detector,
    evidence_of_p_value,
    fit_detector,
    fit_neighbour_distances,
    pool,
)
from consilience.trust._selective import THRESHOLDS, lowest_safe_threshold
from consilience.trust._view_costs import choose_view, sweep_limits
from reference import trust as slow

SEEDS = range(50 if FULL else 5)


@pytest.mark.parametrize("seed", SEEDS)
def test_p_values(seed):
    rng = np.random.RandomState(seed)
    n_folds, n, m = rng.randint(1, 4), 3, rng.randint(0, 12)
    scores = rng.randint(5, size=(n_folds, n, 3)) / 4  # ties
    own, weight = rng.randint(5, size=m) / 4, rng.rand(m) + 0.5
    fold = rng.randint(n_folds, size=m)
    fast = p_values(scores, own, weight, fold)
    for i in range(n):
        for k in range(3):
            assert fast[i, k] == pytest.approx(slow.p_value(scores[:, i, k], own, weight, fold))


@pytest.mark.parametrize("seed", SEEDS)
def test_aps_scores(seed):
    probabilities = np.random.RandomState(seed).dirichlet(np.ones(4), size=3)
    fast = aps_scores(probabilities)
    for row, p in zip(fast, probabilities, strict=True):
        np.testing.assert_allclose(row, [slow.aps_score(p, k) for k in range(4)])


@pytest.mark.parametrize("seed", SEEDS)
def test_threshold(seed):
    rng = np.random.RandomState(seed)
    confidence = rng.beta(3, 1, size=200)
    is_wrong = rng.rand(200) > confidence
    for max_error, delta in ((0.05, 0.1), (0.3, 0.2), (0.6, 0.5)):
        fast = lowest_safe_threshold(confidence, is_wrong, max_error, delta)
        assert fast == slow.safe_threshold(THRESHOLDS, confidence, is_wrong, max_error, delta)


@pytest.mark.parametrize("seed", SEEDS)
def test_q_values(seed):
    p = np.random.RandomState(seed).rand(12) ** 3
    np.testing.assert_allclose(q_values_of_probabilities(p), slow.q_values(p))


@pytest.mark.parametrize("seed", SEEDS)
def test_pooling(seed):
    rng = np.random.RandomState(seed)
    full, without = rng.dirichlet(np.ones(3), size=4), rng.dirichlet(np.ones(3), size=(4, 2))
    odds = rng.exponential(size=(4, 2))
    odds[0, 1] = 0
    without[0, 1] = np.nan  # the only other view of this row
    fast = pool(full, without, odds)
    for i in range(4):
        np.testing.assert_allclose(fast[i], slow.pooled(full[i], without[i], odds[i]))
    np.testing.assert_allclose(fast.sum(axis=1), 1)


def test_evidence_of_p_values_is_one_where_they_are_large_and_grows_as_they_fall():
    p = np.array([1.0, 0.5, 1 / np.e, 0.1, 0.01])
    values = evidence_of_p_value(p)
    np.testing.assert_allclose(values[:3], 1)
    assert (np.diff(values[2:]) > 0).all()
    assert values[4] == pytest.approx(-1 / (np.e * 0.01 * np.log(0.01)))


@pytest.mark.parametrize("seed", SEEDS)
def test_pair_evidence(seed):
    rng = np.random.RandomState(seed)
    F = rng.randn(40, 3)
    C = F @ rng.randn(3, 2) + 0.5 * rng.randn(40, 2)
    model = fit_prediction(F, C)
    predicted = model(F)
    expected = slow.pair_evidence(model.mean, model.error, model.variance, predicted, C)
    fast = pair_evidence(model, predicted, C)
    np.testing.assert_allclose(fast, expected)
    np.testing.assert_allclose(evidence(model, F, C), np.diag(fast))
    assert np.diag(fast).mean() > fast.mean()


def test_error_of_the_prediction_is_that_of_rows_left_out():
    rng = np.random.RandomState(0)
    F, C = rng.randn(30, 5), rng.randn(30, 2)  # nothing can be predicted
    model = fit_prediction(F, C)
    in_sample = (C - model(F)).var(axis=0)
    assert (model.error >= in_sample).all()
    assert (model.error <= model.variance).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_limits_on_the_gain(seed):
    rng = np.random.RandomState(seed)
    n, n_views = 6, 3
    spent = np.cumsum(np.hstack([np.zeros((n, 1)), rng.rand(n, n_views) + 0.1]), axis=1)
    rates = rng.randint(5, size=(n, n_views)) / 4
    is_right = rng.rand(n, n_views + 1) > 0.5
    cost, accuracy = sweep_limits(spent, rates, is_right)
    lowest = np.minimum.accumulate(rates, axis=1)
    limits = np.unique(lowest)[::-1]
    assert len(cost) == len(limits) + 1
    for c, a, limit in zip(cost[1:], accuracy[1:], limits, strict=True):
        np.testing.assert_allclose((c, a), slow.policy_point(spent, rates, is_right, limit))


def test_mixture_finds_the_mismatched():
    rng = np.random.RandomState(0)
    z = np.append(rng.normal(3, 0.5, size=950), rng.normal(0, 1, size=50))
    p, share = fit_mixture(z)
    assert share == pytest.approx(0.05, abs=0.02)
    assert p[950:].mean() > 0.8 > 0.1 > p[:950].mean()
    assert fit_mixture(rng.normal(3, 0.5, size=1000))[1] < 0.01


def test_partners():
    rng = np.random.RandomState(0)
    Z = rng.randn(200, 200)
    Z[0, 1] = Z[1, 0] = 6.0  # two that were exchanged
    p = partner_p_values(Z, np.array([0, 1, 2, 3]))
    assert (p[:2] < 0.02).all()
    assert (p[2:] > 0.02).all()


def test_neighbours():
    rng = np.random.RandomState(0)
    C = rng.randn(200, 5)
    neighbours = fit_neighbour_distances(C)
    assert neighbours.p_values(rng.randn(200, 5)).mean() == pytest.approx(0.5, abs=0.1)
    assert neighbours.p_values(np.full((1, 5), 20.0))[0] == pytest.approx(1 / 201)


def test_labels_are_claimed_where_another_class_is_sure():
    codes = np.arange(300) % 3
    q = 0.02 + 0.94 * np.eye(3)[codes]
    given = codes.copy()
    given[:15] = (given[:15] + 1) % 3
    np.testing.assert_array_equal(confident_claims(q, given), given != codes)


@pytest.mark.parametrize("seed", SEEDS)
def test_claims(seed):
    rng = np.random.RandomState(seed)
    q, codes = rng.dirichlet(np.ones(3), size=30), rng.randint(3, size=30)
    assert confident_claims(q, codes).tolist() == slow.claims(q, codes)


def slow_detector_loss(parameters, Z, which, weight):
    n, n_views, n_features = Z.shape
    shared = parameters[:n_features]
    own = parameters[n_features : n_features * (n_views + 1)].reshape(n_views, n_features)
    loss = 0.05 * np.sum(shared**2) + 0.5 * np.sum(own**2)
    for i in range(n):
        scores = {0: 0.0}
        for v in range(n_views):
            if not np.isnan(Z[i, v]).any():
                scores[v + 1] = (shared + own[v]) @ Z[i, v] + parameters[v - n_views]
        total = sum(np.exp(score) for score in scores.values())
        loss -= weight[i] * np.log(np.exp(scores[which[i]]) / total)
    return loss


def random_exchanges(seed, n=40, n_views=3):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, n_views, 2))
    which = rng.integers(0, n_views + 1, size=n)
    Z[np.flatnonzero(which), which[which > 0] - 1] += 1.5
    Z[np.flatnonzero(which != 1)[:5], 0] = np.nan
    return Z, which, rng.uniform(0.5, 2, size=n)


def test_detector_loss_and_gradient_agree_with_slow_ones():
    Z, which, weight = random_exchanges(0)
    theta = np.random.default_rng(1).normal(size=2 * 4 + 3)
    loss, gradient = detector_loss(theta, Z, which, weight)
    assert loss == pytest.approx(slow_detector_loss(theta, Z, which, weight))
    slow = approx_fprime(theta, slow_detector_loss, 1e-6, Z, which, weight)
    np.testing.assert_allclose(gradient, slow, rtol=1e-4, atol=1e-4)


def test_detector_finds_the_view_that_is_off():
    Z, which, weight = random_exchanges(2, n=400)
    detector = fit_detector(3 * Z + 1, which, weight)
    log_odds = np.column_stack([np.zeros(400), np.nan_to_num(detector.log_odds(3 * Z + 1), nan=-9)])
    assert (log_odds.argmax(axis=1) == which).mean() > 0.7
    assert np.isnan(detector.log_odds(np.full((1, 3, 2), np.nan))).all()
    even = even_detector(3, 2).log_odds(Z[10:])
    np.testing.assert_allclose(np.exp(even), 1 / 3)


def test_next_view_leaves_the_fixed_order_only_for_a_clear_gain():
    gains = np.zeros((3, 50, 2))
    gains[:, :, 0] = 0.1
    gains[0, :, 1] = 0.05
    gains[1, :, 1] = np.where(np.arange(50) % 2, 1.3, -1.0)  # better on average, but not clearly
    gains[2, :, 1] = 0.2 + 0.01 * np.arange(50)
    best, mean = choose_view(gains)
    assert best.tolist() == [0, 0, 1]
    np.testing.assert_allclose(mean, [0.1, 0.1, gains[2, :, 1].mean()])


def test_reference_table_predicts_what_the_classifier_does():
    data, y = make_multiview_classification(90, n_classes=3, missing_rate=0.3, random_state=0)
    model = LateFusionClassifier().fit(data[:60], y[:60])
    table = fit_reference_table(model, data[60:], y[60:], model.classes_, model.class_prior_)
    np.testing.assert_allclose(table.own_probabilities(), model.predict_proba(data[60:]))
    opinions = view_opinions(model, data[60:], reference=data[60:])
    np.testing.assert_allclose(table.conflicts(), opinions.conflict)
    np.testing.assert_allclose(table.conflict_p_values(opinions.conflict), opinions.p_values)
    advice = next_view(model, data[60:], reference=(data[60:], y[60:]))
    rows, p = table.rows(), table.own_probabilities()
    lacking = np.flatnonzero(~data[60:].present[:, 0])
    for i in lacking:
        gain = rows.gain(p[[i]], data[60:].present[i], 0, accuracy)
        np.testing.assert_allclose(gain, advice.gains[i, 0])
    masked = table.class_p_values(p, np.tile([True, False, False], (30, 1)))
    own = np.flatnonzero(table.present[:, 0])
    first = table.probabilities[table.find(np.array([True, False, False]))]
    known = 1 - first[own, table.codes[own]]
    slow = (1 + (known[:, None, None] >= 1 - p).sum(axis=0)) / (1 + len(own))
    np.testing.assert_allclose(masked, slow)
    many = patterns_to_predict(np.ones((1, 7), dtype=bool))
    assert len(many) == 1 + 7 + 7
