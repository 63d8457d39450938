"""The fast steps against the slow ones on random problems."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import approx_fprime, minimize
from scipy.stats import entropy

from conftest import FULL
from consilience import MultiViewData
from consilience.datasets import make_multiview_classification
from consilience.fusion import LateFusionClassifier
from consilience.trust import next_view, view_opinions
from consilience.trust._conformal_steps import aps_scores, p_values
from consilience.trust._cross_view import (
    PENALTIES,
    evidence,
    fit_components,
    fit_prediction,
    pair_evidence,
    ridge_basis,
)
from consilience.trust._expected_gain import PENALTIES as GAIN_PENALTIES
from consilience.trust._expected_gain import fit_gain_model, sureness
from consilience.trust._faults import alter_rows
from consilience.trust._fdr import q_values_of_probabilities
from consilience.trust._label_errors import confident_claims
from consilience.trust._left_out import class_probabilities
from consilience.trust._mismatch_steps import fit_mixture, partner_p_values, standard_scores
from consilience.trust._next_view import accuracy
from consilience.trust._opinions import opinions_of, without_each_view
from consilience.trust._reference import fit_reference_table, patterns_to_predict
from consilience.trust._robust_steps import (
    EXCHANGED,
    NOISY,
    Examples,
    detector_hessian,
    detector_loss,
    estimate_rates,
    even_rates,
    fit_detector,
    pool,
    refine_detector,
    silent_detector,
    view_odds,
)
from consilience.trust._selective import THRESHOLDS, lowest_safe_threshold
from consilience.trust._typical import fit_typical_view, squared_distances
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
    rng = np.random.RandomState(seed)
    ties = rng.randint(1, 4, size=(3, 4))
    probabilities = np.vstack([rng.dirichlet(np.ones(4), size=3), ties / ties.sum(axis=1)[:, None]])
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


@pytest.mark.parametrize("seed", SEEDS)
def test_pair_evidence(seed):
    rng = np.random.RandomState(seed)
    F = rng.randn(40, 3)
    C = F @ rng.randn(3, 2) + 0.5 * rng.randn(40, 2) @ [[1, 0.8], [0, 0.6]]
    model, left_out = fit_prediction(ridge_basis(F), C)
    np.testing.assert_allclose(left_out, slow.left_out_ridge(F, C, PENALTIES), rtol=1e-5, atol=1e-6)
    predicted = model(F)
    covariance = np.linalg.inv(model.whitening.T @ model.whitening)
    expected = slow.pair_evidence(model.mean, covariance, model.variance, predicted, C)
    fast = pair_evidence(model, predicted, C)
    np.testing.assert_allclose(fast, expected)
    np.testing.assert_allclose(evidence(model, F, C), np.diag(fast))
    assert np.diag(fast).mean() > fast.mean()


def test_error_of_the_prediction_is_that_of_rows_left_out():
    rng = np.random.RandomState(0)
    F, C = rng.randn(30, 5), rng.randn(30, 2)  # nothing can be predicted
    model, left_out = fit_prediction(ridge_basis(F), C)
    assert ((C - left_out) ** 2).sum() > ((C - model(F)) ** 2).sum()
    assert evidence(model, F, C).mean() < 1


def test_standard_scores():
    S = np.random.RandomState(0).randn(6, 6) ** 2
    Z = standard_scores(S)
    wrong = [np.append(np.delete(S[i], i), np.delete(S[:, i], i)) for i in range(6)]
    mean, variance = np.mean(wrong, axis=1), np.var(wrong, axis=1)
    spread = np.sqrt((variance[1] + variance[4]) / 2)
    assert Z[1, 4] == pytest.approx((S[1, 4] - (mean[1] + mean[4]) / 2) / spread)


@pytest.mark.parametrize("seed", SEEDS)
def test_limits_on_the_gain(seed):
    rng = np.random.RandomState(seed)
    n, n_views = 6, 3
    spent = np.cumsum(np.hstack([np.zeros((n, 1)), rng.rand(n, n_views) + 0.1]), axis=1)
    rates = rng.randint(5, size=(n, n_views)) / 4
    is_right = rng.rand(n, n_views + 1) > 0.5
    cost, accuracy = sweep_limits(spent, rates, is_right)
    lowest = np.minimum.accumulate(rates, axis=1)
    expected = [(0.0, is_right[:, 0].mean())]
    for limit in np.unique(lowest)[::-1]:
        for step in np.unique(np.nonzero(lowest == limit)[1]):
            expected.append(slow.policy_point(spent, rates, is_right, limit, step + 1))
    np.testing.assert_allclose(np.column_stack([cost, accuracy]), expected, atol=1e-12)
    np.testing.assert_allclose(cost[-1], spent[:, -1].mean())


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


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_strangeness(kind):
    rng = np.random.RandomState(0)
    X = rng.randn(200, 50)
    X[:, 45:] = X[:, :1]
    if kind == "sparse":
        X = sp.csr_array(np.where(np.abs(X) > 1.4, X, 0.0))
    part = fit_components(X)
    C, outside = part.project(X)
    np.testing.assert_allclose(C, part.transform(X))
    Z = part.map.fill(part.map.apply(X))
    Z = Z.toarray() if kind == "sparse" else Z - Z.mean(axis=0)
    expected = ((Z - Z @ part.basis.T @ part.basis) ** 2).sum(axis=1)
    np.testing.assert_allclose(outside, expected, atol=1e-9)
    typical = fit_typical_view(X, C, outside)
    own = typical.strangeness(X, C, outside)
    assert own[:, 0].max() < 1.5
    np.testing.assert_array_equal(own[:, 1], 0)
    far = 10 * X
    scores = typical.strangeness(far, *part.project(far))
    if kind == "dense":  # cells of a row beyond the largest of their column
        share = ((far > X.max(axis=0)) | (far < X.min(axis=0))).mean(axis=1)
        np.testing.assert_allclose(scores[:, 1], np.log1p(100 * share))
    assert (scores[:, 1] > 0).mean() > 0.9
    assert scores[:, 0].mean() > own[:, 0].mean() + 0.1


@pytest.mark.parametrize("copies", [0, 60, 120])
def test_strangeness_is_not_measured_in_rounding_errors(copies):
    rng = np.random.RandomState(copies)
    rows = rng.randn(10, 3) + 5
    X = np.vstack([rng.randn(120 - copies, 3) + 5, rows[rng.randint(10, size=copies)]])
    part = fit_components(X)
    typical = fit_typical_view(X, *part.project(X))
    new = rng.randn(50, 3) + 5
    assert 0.05 < typical.distance < 3
    assert typical.strangeness(new, *part.project(new))[:, 0].max() < 3
    np.testing.assert_array_equal(squared_distances(X, X).diagonal(), 0)
    constant = np.ones((20, 2))
    flat = fit_typical_view(constant, constant - 1, np.zeros(20))
    assert flat.strangeness(constant, constant - 1, np.zeros(20))[:, 0].max() == 0


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_altered_rows_are_predicted_as_they_are(kind):
    data, y = make_multiview_classification(120, n_classes=3, missing_rate=0.2, random_state=0)
    if kind == "sparse":
        views = dict(data.items())
        views["view1"] = sp.csr_array(np.where(np.abs(views["view1"]) > 1, views["view1"], 0.0))
        data = MultiViewData(views, present=np.array(data.present))
    model = LateFusionClassifier().fit(data[:60], y[:60])
    altered = alter_rows(data[60:], y[60:], np.random.RandomState(0))
    full, alone, without = altered.predict(model, model.classes_)
    np.testing.assert_allclose(alone, opinions_of(model, altered.data, model.classes_))
    np.testing.assert_allclose(without, without_each_view(model, altered.data, model.classes_))
    noisy = altered.fault == 2
    expected = class_probabilities(model, altered.data, model.classes_)
    np.testing.assert_allclose(full[noisy], expected[noisy])
    exchanged = altered.fault == 1
    np.testing.assert_array_equal(np.bincount(altered.fault) > 0, True)
    assert (altered.codes[exchanged] != y[60:][altered.donors[exchanged]]).all()
    np.testing.assert_array_equal(altered.codes, y[60:][altered.rows])


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


def slow_detector_loss(parameters, Z, examples):
    n, n_views, n_features = Z.shape
    numbers = iter(parameters)

    def take(count):
        return np.array([next(numbers) for _ in range(count)])

    shared = [take(n_features) for _ in range(2)]
    own = [[take(n_features) for _ in range(n_views)] for _ in range(2)]
    intercept = [take(n_views) for _ in range(2)]
    loss = 0.05 * np.sum(np.square(shared)) + 0.5 * np.sum(np.square(own))
    counts = [(examples.fault == fault).sum() for fault in range(3)]
    for i in range(n):
        fault, view = examples.fault[i], examples.view[i]
        weight = 1.0 if fault == 0 else 0.5 * counts[0] / counts[fault]
        scores = {(0, 0): 0.0}
        for v in range(n_views):
            for t in range(2):
                if not np.isnan(Z[i, v]).any():
                    score = (shared[t] + own[t][v]) @ Z[i, v] + intercept[t][v]
                    scores[t + 1, v] = score
        total = sum(np.exp(score) for score in scores.values())
        p = {key: np.exp(score) / total for key, score in scores.items()}
        recognition = -np.log(p[fault, view if fault else 0])
        if fault == 2:
            q = examples.likelihood[i]
            of_class = sum(p[t, v] * (q[1 + v] if t else q[0]) for t, v in p)
            loss += weight * (0.1 * recognition - 0.9 * np.log(of_class))
        else:
            loss += weight * recognition
    return loss


def random_examples(seed, n=60, n_views=3):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, n_views, 2))
    fault, view = rng.integers(0, 3, size=n), rng.integers(0, n_views, size=n)
    Z[np.arange(n), view, 0] += 3 * (fault == 1)
    Z[np.arange(n), view, 1] += 3 * (fault == 2)
    Z[np.flatnonzero((fault == 0) | (view > 0))[:5], 0] = np.nan
    likelihood = rng.uniform(0.3, 0.5, size=(n, n_views + 1))
    likelihood[np.arange(n), 1 + view] += 0.4  # without the view that is off
    return Z, Examples(Z, fault, view, likelihood)


def test_detector_loss_and_gradient_agree_with_slow_ones():
    Z, examples = random_examples(0)
    theta = np.random.default_rng(1).normal(size=2 * (2 * 4 + 3))
    loss, gradient = detector_loss(theta, Z, examples)
    assert loss == pytest.approx(slow_detector_loss(theta, Z, examples))
    slow = approx_fprime(theta, slow_detector_loss, 1e-6, Z, examples)
    np.testing.assert_allclose(gradient, slow, rtol=1e-4, atol=1e-4)


def test_detector_hessian_is_the_derivative_of_the_gradient():
    Z, examples = random_examples(0)
    theta = np.random.default_rng(1).normal(size=2 * (2 * 4 + 3))
    slow = [
        detector_loss(theta + step, Z, examples)[1] - detector_loss(theta - step, Z, examples)[1]
        for step in 1e-5 * np.eye(len(theta))
    ]
    H = detector_hessian(theta, Z, examples)
    np.testing.assert_allclose(H, np.array(slow) / 2e-5, rtol=1e-6, atol=1e-7)


def test_detector_is_exact_wherever_the_generic_solver_stops():
    Z, examples = random_examples(3)
    Z[examples.view != 2, 2] = np.nan  # and a view that no row has
    Z = np.concatenate([Z, np.full((len(Z), 1, 2), np.nan)], axis=1)
    examples.likelihood = np.column_stack([examples.likelihood, examples.likelihood[:, 0]])
    start = np.zeros(2 * (2 * 5 + 4))
    ends = [
        refine_detector(
            minimize(detector_loss, start, (Z, examples), jac=True, tol=tol).x, Z, examples
        )
        for tol in (1e-2, 1e-4)
    ]
    np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-12)
    assert np.abs(detector_loss(ends[0], Z, examples)[1]).max() < 1e-12


def test_detector_finds_the_view_that_is_off_and_how_often():
    Z, examples = random_examples(2, n=600)
    examples.features = 3 * Z + 1
    odds = fit_detector(examples).odds(3 * Z + 1)
    is_off = examples.fault > 0
    assert (odds.sum(axis=2).argmax(axis=1) == examples.view)[is_off].mean() > 0.8
    np.testing.assert_array_equal(odds[np.isnan(Z).any(axis=2)], 0)
    rates = estimate_rates(odds)
    shares = np.bincount(examples.fault)[1:] / 600
    assert rates[0] == pytest.approx(shares[0], abs=0.05)
    assert 0.6 * shares[1] < rates[1] < 1.1 * shares[1]  # noise that does no harm does not count
    assert estimate_rates(odds[~is_off]).sum() < 0.12
    np.testing.assert_allclose(view_odds(odds, even_rates(0.2)), odds.sum(axis=2) / 4)
    assert silent_detector(3, 2).odds(Z).max() < 1e-20


def test_next_view_leaves_the_fixed_order_only_for_a_clear_gain():
    before, p = np.tile([0.7, 0.3], (50, 1)), np.array([[0.7, 0.3], [0.2, 0.8]])
    others = [
        (np.full(50, 0.05), 0),
        (np.where(np.arange(50) % 2, 1.3, -1.0), 0),  # better on average, but not clearly
        (0.2 + 0.01 * np.arange(50), 1),
    ]
    for other, expected in others:
        best, gain = choose_view(before, np.column_stack([np.full(50, 0.1), other]), p)
        assert best.tolist() == [expected] * 2
        np.testing.assert_allclose(gain, other.mean() if expected else 0.1)
    # too few rows to tell
    few = choose_view(before[:2], np.array([[0.1, 0.9], [0.1, 0.9]]), p)
    assert few[0].tolist() == [0, 0]


def test_next_view_depends_on_how_sure_a_sample_is():
    rng = np.random.RandomState(0)
    before = rng.dirichlet([1.0, 1.0, 1.0], size=200)
    need = 1.0 - before.max(axis=1)
    gains = np.column_stack([np.full(200, 0.2), need]) + 0.02 * rng.randn(200, 2)
    best, gain = choose_view(before, gains, np.array([[0.98, 0.01, 0.01], [0.34, 0.33, 0.33]]))
    assert best.tolist() == [0, 1]
    np.testing.assert_allclose(gain, [0.2, 0.66], atol=0.02)


@pytest.mark.parametrize("noise", [0.01, 10.0])
def test_expected_gains_have_the_penalty_of_least_error_in_rows_left_out(noise):
    rng = np.random.RandomState(0)
    p = rng.dirichlet([1.0, 1.0, 1.0, 1.0], size=30)
    features = sureness(p)
    np.testing.assert_allclose(features[:, 1:], np.sort(p)[:, -1:] - [[0, 1]] * np.sort(p)[:, [-2]])
    np.testing.assert_allclose(features[:, 0], entropy(p, axis=1))
    gains = features @ [[0.2], [1.0], [-1.0]] + noise * rng.randn(30, 1)
    Z = (features - features.mean(axis=0)) / features.std(axis=0)

    def fit(rows, penalty):
        # the intercept is not penalised; features are scaled as for all rows
        A = np.column_stack([np.ones(len(rows)), Z[rows]])
        return np.linalg.solve(A.T @ A + np.diag([0, *[penalty] * 3]), A.T @ gains[rows])

    def loss(penalty):
        errors = []
        for i in range(30):
            theta = fit(np.delete(np.arange(30), i), penalty)
            errors.append(gains[i] - np.append(1, Z[i]) @ theta)
        return np.mean(np.square(errors))

    penalties = [min(penalty, 1e12) for penalty in GAIN_PENALTIES]
    best = min(penalties, key=loss)
    assert (best == 1e12) == (noise == 10.0)
    theta = fit(np.arange(30), best)
    mean, error = fit_gain_model(p, gains).predict(p)
    np.testing.assert_allclose(mean, np.column_stack([np.ones(30), Z]) @ theta, atol=1e-8)
    inverse = np.linalg.inv(Z.T @ Z + best * np.eye(3))
    spread = 1 / 30 + np.einsum("if,fg,ig->i", Z, inverse @ Z.T @ Z @ inverse, Z)
    np.testing.assert_allclose(error[:, 0], np.sqrt(loss(best) * spread), rtol=1e-6)


@pytest.mark.filterwarnings("ignore:view_opinions can distrust")
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


@pytest.mark.parametrize("n_classes", [1, 2, 3])
def test_views_are_exchanged_between_rows_of_different_classes(n_classes):
    X = np.arange(24.0)[:, None]
    codes = np.arange(24) % n_classes
    altered = alter_rows(MultiViewData({"a": X, "b": X}), codes, np.random.RandomState(0))
    exchanged = altered.fault == EXCHANGED
    assert (altered.fault == NOISY).sum() == 2 * 24
    assert exchanged.sum() == (3 * 2 * 24 if n_classes > 1 else 0)
    assert (codes[altered.donors] != codes[altered.rows])[exchanged].all()
    np.testing.assert_array_equal(altered.donors[~exchanged], altered.rows[~exchanged])
