"""Single steps of the default against what their docstrings say."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax

from consilience import ConsilienceClassifier, MultiViewData
from consilience._default import _classifier
from consilience._default._boosted import bin_columns
from consilience._default._columns import fit_columns
from consilience._default._combine import (
    PRIOR_PENALTY,
    SCALE_PENALTY,
    SPREAD_PENALTY,
    TYPICAL_FACTOR,
    fit_stacking_weights,
)
from consilience._default._kernel import fit_views_alone
from consilience._default._linear import fit_linear_member, fit_view
from consilience._default._reference_set import ReferenceSet, ReferenceView
from consilience._default._trees import N_FOLDS, single_view_seeds


def test_stacking_minimises_the_penalised_log_loss():
    rng = np.random.default_rng(0)
    codes = rng.choice(3, 60, p=[0.6, 0.3, 0.1])
    scores = rng.normal(size=(2, 60, 3)) + 0.8 * np.eye(3)[codes]
    # small weights, so that the penalties matter
    weight, prior = rng.uniform(0.02, 0.06, 60), np.array([0.6, 0.3, 0.1])
    log_prior = np.log(prior) - np.log(prior).mean()

    def loss(theta):
        logs, beta = theta[:2], theta[2]
        logits = sum(np.exp(a) * s for a, s in zip(logs, scores, strict=True)) + beta * log_prior
        penalty = SPREAD_PENALTY * ((logs - logs.mean()) ** 2).sum()
        penalty += SCALE_PENALTY * (logs.mean() - np.log(TYPICAL_FACTOR)) ** 2
        return penalty + PRIOR_PENALTY * beta**2 - weight @ log_softmax(logits, 1)[range(60), codes]

    factors, bias = fit_stacking_weights(scores, codes, weight, prior)
    found = minimize(loss, [0.0, 0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-7}).x
    np.testing.assert_allclose(np.log(factors), found[:2], atol=3e-4)
    np.testing.assert_allclose(bias, found[2] * log_prior, atol=3e-4)


def test_views_without_rows_or_variance_explain_nothing():
    D = 1 - np.eye(6)
    views = [ReferenceView(name, "distance", 1.0) for name in "abc"]
    present = np.ones((6, 3), dtype=bool)
    present[2:, 1] = present[::2, 2] = False
    Y = np.repeat([[1.0], [0.0]], 3, axis=1).reshape(6, 1)[[0, 3, 1, 4, 2, 5]]  # 0 where c is
    Ds = [D, D[:2, :2], D[:3, :3]]
    explained, penalties = fit_views_alone(views, Ds, present, Y, np.ones(6))
    assert explained[0] != 0
    assert explained[1:].tolist() == [0, 0]
    assert penalties[1:].tolist() == [1, 1]


def test_a_kernel_view_is_as_far_as_its_kernel_is_below_its_scale():
    K = np.array([[4.0, 1.0], [1.0, 4.0]])
    np.testing.assert_allclose(
        ReferenceView("k", "kernel", 4.0, own=K).own_distances(), [[0, 0.75], [0.75, 0]]
    )
    np.testing.assert_allclose(ReferenceView("d", "distance", 4.0, own=K).own_distances(), K / 4)


def test_folds_of_a_view_that_some_rows_lack():
    """A view is fitted on the rows that have it, as if there were no others."""
    rng = np.random.default_rng(0)
    codes, folds = np.arange(30) % 2, np.arange(30) // 2 % 5
    X = rng.normal(size=(30, 2)) + codes[:, None]
    present = folds[:, None] > 0
    prior, weight = np.array([0.5, 0.5]), np.ones(30)

    def fit(rows):
        data = MultiViewData({"a": X[rows]}, present=present[rows])
        own = (weight[rows], prior, np.ones(1), folds[rows])
        return fit_linear_member(data, {"a": X[rows]}, codes[rows], *own)

    rows = np.flatnonzero(present[:, 0])
    (member, left_out), (alone, alone_left_out) = fit(np.arange(30)), fit(rows)
    np.testing.assert_array_equal(member.views[0].coef, alone.views[0].coef)
    np.testing.assert_array_equal(left_out[rows], alone_left_out)
    # scores are those of the view's own folds, numbered from 0, times a factor
    targets = np.eye(2)[codes] - prior
    _, _, scores = fit_view(X[rows], targets[rows], weight[rows], folds[rows] - 1)
    factors = np.log(left_out[rows, 1] / left_out[rows, 0]) / (scores[:, 1] - scores[:, 0])
    np.testing.assert_allclose(factors, factors[0])


def test_a_view_adds_what_the_others_lack():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    views = {"noise": rng.normal(size=(60, 2)), "signal": rng.normal(size=(60, 2)) + y[:, None]}
    model = ConsilienceClassifier(n_estimators=10, random_state=0).fit(views, y)
    adds = {row["view"]: row["adds"] for row in model.explain().views}
    assert adds["signal"] > 0.05 > adds["noise"]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_boosted_scores_left_out_are_of_the_size_of_those_of_new_rows(monkeypatch, n_classes):
    monkeypatch.setattr(_classifier, "BOOSTED_MIN_ROWS", 100)
    seen = []
    fit = _classifier.fit_stacking_weights

    def record(scores, *args):
        seen.append(scores)
        return fit(scores, *args)

    monkeypatch.setattr(_classifier, "fit_stacking_weights", record)
    rng = np.random.default_rng(0)
    y = np.arange(200) % n_classes
    data = MultiViewData({"a": rng.normal(size=(200, 4)) + y[:, None]})
    model = ConsilienceClassifier(n_estimators=10, random_state=0).fit(data[:100], y[:100])
    assert model.member_names_[-1] == "boosted"
    ratio = np.abs(seen[-1][-1]).mean() / np.abs(model._member_scores(data[100:])[-1]).mean()
    assert 0.5 < ratio < 2


def test_columns_of_views_fill_blocks_of_eight():
    X = np.arange(30.0).reshape(3, 10)
    bins = bin_columns([X[:, :2], None, X[:, 2:]], np.ones((3, 3), dtype=bool), np.ones(3))
    assert bins.columns.tolist() == [0, 1, *[-1] * 6, *range(2, 10)]
    assert bins.limits[2].tolist() == [0, 3, *[6] * 7, *range(9, 31, 3)]
    assert bins.codes.shape == (2, 3, 8)


@pytest.mark.parametrize(("n_trees", "expected"), [(100, 50), (99, 50), (N_FOLDS + 1, N_FOLDS)])
def test_views_share_the_number_of_trees(n_trees, expected):
    seeds = np.arange(3 * n_trees).reshape(3, n_trees)
    np.testing.assert_array_equal(single_view_seeds(seeds, 1), seeds[2, :expected])


def test_columns_as_given_are_those_of_feature_views():
    kinds = {"k": "kernel"}
    views = {"a": np.arange(6).reshape(3, 2), "k": np.eye(3), "b": np.ones((3, 1), np.float32)}
    data = MultiViewData(views, kinds=kinds)
    integers, kernel, floats = fit_columns(data, np.ones(3))[0].as_given(data, None)
    assert integers.dtype == np.float64
    assert integers.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert kernel is None
    assert floats.dtype == np.float32


def test_reference_views_in_single_precision():
    rows = np.random.RandomState(0).randn(5, 3)
    view = ReferenceView("a", "features", 1.0, rows=rows, norms=(rows**2).sum(axis=1))
    single = view.in_single_precision()
    assert single.rows.dtype == np.float32
    np.testing.assert_allclose(single.rows, rows, rtol=1e-6)
    np.testing.assert_allclose(single.norms, view.norms, rtol=1e-6)
    kernel = ReferenceView("k", "kernel", 1.0, own=np.eye(5))
    assert kernel.in_single_precision() is kernel


def test_the_first_rows_of_a_reference_set_without_missing_views():
    rows = np.random.RandomState(0).randn(5, 3)
    view = ReferenceView("a", "features", 1.0, rows=rows, norms=(rows**2).sum(axis=1))
    plain = ReferenceSet([view], np.ones((5, 1), dtype=bool), [None], [None])
    assert len(plain.head(3)) == 3
    np.testing.assert_array_equal(plain.head(3).views[0].rows, rows[:3])
    assert plain.head(5) is plain
    lacking = ReferenceSet([view], np.arange(5)[:, None] > 0, [np.eye(5)], [0.0])
    assert lacking.head(3) is lacking


@pytest.mark.parametrize(
    ("n_rows", "n_classes", "is_boosted"), [(49, 2, 0), (50, 2, 1), (69, 7, 0), (70, 7, 1)]
)
def test_boosting_needs_fifty_rows_and_ten_per_class(n_rows, n_classes, is_boosted):
    y = np.arange(n_rows) % n_classes
    data = {"a": np.random.default_rng(0).normal(size=(n_rows, 3)) + y[:, None]}
    model = ConsilienceClassifier(n_estimators=10, random_state=0).fit(data, y)
    assert ("boosted" in model.member_names_) == is_boosted
