"""The boosting classifiers as estimators."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.base import clone
from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from consilience import BinnedTreeClassifier, MultiViewData
from consilience.boosting import (
    IBoostClassifier,
    MuMBoClassifier,
    MVWABClassifier,
    RShareBoostClassifier,
    ShareBoostClassifier,
)
from consilience.datasets import load_digits_views, make_multiview_classification

ALL = [
    MuMBoClassifier,
    ShareBoostClassifier,
    RShareBoostClassifier,
    IBoostClassifier,
    MVWABClassifier,
]


def problem(**settings):
    settings = {"n_samples": 150, "n_classes": 3, "strength": 1.5, "random_state": 0, **settings}
    return make_multiview_classification(**settings)


@pytest.fixture(params=ALL, ids=lambda kind: kind.__name__)
def kind(request):
    return request.param


@pytest.mark.parametrize("stump", [None, DecisionTreeClassifier(max_depth=1, random_state=0)])
@pytest.mark.parametrize(
    "model", [MuMBoClassifier, ShareBoostClassifier, IBoostClassifier, MVWABClassifier]
)
def test_one_view_and_two_classes_is_adaboost(model, stump):
    # whole numbers: our bins and scikit-learn's thresholds are the same, and ties are rare
    data, y = problem(n_views=1, n_classes=2, strength=0.8, n_samples=200, n_features=6)
    X = np.round(data["view0"] * 20)
    base = DecisionTreeClassifier(max_depth=1, random_state=0)
    plain = AdaBoostClassifier(base, n_estimators=30).fit(X, y)
    ours = model(stump, n_estimators=30, max_depth=1).fit(X, y)
    np.testing.assert_allclose(2 * ours.estimator_weights_, plain.estimator_weights_, atol=1e-10)
    np.testing.assert_array_equal(ours.predict(X), plain.predict(X))


# MVWAB votes in two levels, which has a test of its own
@pytest.mark.parametrize("kind", [kind for kind in ALL if kind is not MVWABClassifier])
def test_decision_is_the_weighted_vote(kind):
    data, y = problem()
    model = kind(n_estimators=15, random_state=0).fit(data, y)
    votes = np.zeros((len(y), 3))
    views = [view for _, view in data.items()]
    for h, v, weight in zip(
        model.estimators_, model.estimator_views_, model.estimator_weights_, strict=True
    ):
        votes[np.arange(len(y)), h.predict(views[v])] += weight
    np.testing.assert_allclose(model.decision_function(data), votes, atol=1e-8)
    np.testing.assert_allclose(model.predict_proba(data), softmax(2 * votes, axis=1), atol=1e-8)
    shares = np.bincount(
        model.estimator_views_, weights=np.abs(model.estimator_weights_), minlength=3
    )
    np.testing.assert_allclose(model.view_weights_, shares / shares.sum())


def test_mvwab_votes_in_two_levels():
    data, y = problem(n_views=2)
    model = MVWABClassifier(n_estimators=5).fit(data, y)
    assert model.view_estimator_weights_.shape == (len(model.estimators_), 2)
    views = [view for _, view in data.items()]
    votes = np.zeros((len(y), 3))
    rows = np.arange(len(y))
    for t, weight in enumerate(model.estimator_weights_):
        inner = np.zeros((len(y), 3))
        for h, v in zip(model.estimators_[t], model.estimator_views_[t], strict=True):
            inner[rows, h.predict(views[v])] += model.view_estimator_weights_[t, v]
        votes[rows, inner.argmax(axis=1)] += weight
    np.testing.assert_allclose(model.decision_function(data), votes, atol=1e-8)
    weights = model.view_estimator_weights_
    shares = np.abs(model.estimator_weights_) @ (weights / weights.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(model.view_weights_, shares / shares.sum())


@pytest.mark.parametrize("n_classes", [2, 3])
def test_stages_end_in_the_prediction(kind, n_classes):
    data, y = problem(n_classes=n_classes, missing_rate=0.2)
    model = kind(n_estimators=8, random_state=0).fit(data, y)
    stages = list(model.staged_predict(data))
    assert len(stages) == len(model.estimators_)
    np.testing.assert_array_equal(stages[-1], model.predict(data))
    *_, last = model.staged_decision_function(data)
    np.testing.assert_array_equal(last, model.decision_function(data))
    short = clone(model).set_params(n_estimators=3).fit(data, y)
    if kind is not RShareBoostClassifier:  # its bandit knows the number of rounds
        np.testing.assert_array_equal(stages[2], short.predict(data))


def test_warm_start_continues(kind):
    data, y = problem()
    whole = kind(n_estimators=12, random_state=0)
    if kind is RShareBoostClassifier:
        whole.set_params(a=1e-9)  # its bandit's confidence term knows the number of rounds
    parts = clone(whole).set_params(n_estimators=5, warm_start=True).fit(data, y)
    assert len(parts.estimators_) <= 5
    parts.set_params(n_estimators=12).fit(data, y)
    whole.fit(data, y)
    np.testing.assert_allclose(
        parts.decision_function(data), whole.decision_function(data), rtol=1e-6, atol=1e-6
    )
    with pytest.raises(ValueError, match="continues a fit of 12 rounds, but n_estimators=3"):
        parts.set_params(n_estimators=3).fit(data, y)
    parts.set_params(n_estimators=20)
    with pytest.raises(ValueError, match="continues a fit on 150 rows, but X has 100"):
        parts.fit(data[:100], y[:100])
    with pytest.raises(ValueError, match="continues a fit on different labels"):
        parts.fit(data, y[::-1])
    with pytest.raises(ValueError, match="continues a fit on different labels"):
        parts.fit(data, y + 1)
    with pytest.raises(ValueError, match="continues a fit on different weights"):
        parts.fit(data, y, sample_weight=np.arange(1, 151))
    with pytest.raises(ValueError, match="continues a fit on different views"):
        parts.fit(data.select(["view0", "view1"]), y)
    with pytest.raises(ValueError, match="continues a fit on different values"):
        parts.fit({name: view + 1 for name, view in data.items()}, y)


@pytest.mark.parametrize("model", [MuMBoClassifier, ShareBoostClassifier, IBoostClassifier])
def test_warm_start_after_a_stop_adds_nothing(model):
    y = np.arange(60) % 2
    X = np.column_stack([y, np.random.RandomState(0).randn(60)])
    warm = model(n_estimators=3, warm_start=True).fit(X, y)
    assert len(warm.estimators_) == 1  # perfect at once
    assert len(warm.set_params(n_estimators=6).fit(X, y).estimators_) == 1


def test_weights_that_sum_to_one(kind):
    data, y = problem()
    plain = kind(n_estimators=10, random_state=0).fit(data, y)
    shares = kind(n_estimators=10, random_state=0).fit(data, y, sample_weight=np.full(150, 1 / 150))
    np.testing.assert_allclose(
        shares.decision_function(data), plain.decision_function(data), atol=1e-6
    )
    huge = kind(n_estimators=10, random_state=0).fit(data, y, sample_weight=np.full(150, 1e14))
    assert np.isfinite(huge.predict_proba(data)).all()


@pytest.mark.parametrize(
    "estimator", [None, GaussianNB(), LogisticRegression(C=0.05, tol=1e-10, max_iter=1000)]
)
def test_weights_are_repetitions(kind, estimator):
    # more distinct values than bins
    data, y = problem(n_samples=600, n_views=2, n_classes=2)
    weight = np.random.RandomState(0).randint(1, 4, size=600)
    rows = np.repeat(np.arange(600), weight)
    # stumps: in the small nodes of deep trees rounding may decide between equal splits
    model = kind(estimator, n_estimators=5, max_depth=1, random_state=0)
    once = clone(model).fit(data, y, sample_weight=weight).decision_function(data)
    again = clone(model).fit(data[rows], y[rows]).decision_function(data)
    np.testing.assert_allclose(once, again, atol=1e-4 if estimator else 1e-7)


def test_a_view_of_four_rows_does_not_take_over(kind):
    y = np.arange(200) % 2
    noisy = np.where(np.arange(200) % 5 == 0, 1 - y, y).astype(float)
    present = np.c_[np.ones(200, bool), np.arange(200) < 4]
    data = MultiViewData({"a": noisy[:, None], "b": y[:, None] * 1.0}, present=present)
    model = kind(n_estimators=50, max_depth=1, random_state=0).fit(data, y)
    assert model.score(data.select(["a"]), y) == pytest.approx(0.8)
    if kind in (ShareBoostClassifier, IBoostClassifier):
        assert len(model.estimators_) < 50  # nothing is left to learn


def test_rows_that_hear_no_learner_get_the_prior():
    y = (np.arange(90) % 3 == 0).astype(int)
    data = MultiViewData({"a": y[:, None] * 1.0, "b": np.zeros((90, 1))})
    model = ShareBoostClassifier(n_estimators=5).fit(data, y)
    np.testing.assert_allclose(
        model.predict_proba(data.select(["b"]))[0], [2 / 3, 1 / 3], atol=1e-9
    )


def test_early_stopping(kind):
    data, y = problem(n_samples=300, label_noise=0.3)
    model = kind(n_estimators=200, n_iter_no_change=5, validation_fraction=0.3, random_state=0)
    model.fit(data, y)
    assert 0 < len(model.estimators_) < 200
    assert len(model.estimator_weights_) == len(model.estimators_)
    assert model.score(data, y) > 0.4
    with pytest.raises(ValueError, match="cannot be combined"):
        clone(model).set_params(warm_start=True).fit(data, y)
    with pytest.raises(ValueError, match="'validation_fraction' parameter"):
        clone(model).set_params(validation_fraction=1.0).fit(data, y)


@pytest.mark.parametrize(
    "estimator",
    [
        GaussianNB(),
        DecisionTreeClassifier(max_depth=2),
        LogisticRegression(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        {"view0": GaussianNB(), "view1": None, "view2": DecisionTreeClassifier(max_depth=1)},
    ],
    ids=["bayes", "tree", "linear", "pipeline", "each its own"],
)
def test_any_weighted_classifier(kind, estimator):
    data, y = problem(missing_rate=0.2)
    model = kind(estimator, n_estimators=5, random_state=0).fit(data, y)
    assert model.score(data, y) > 0.5


def test_a_given_binned_tree_shares_its_bins(kind):
    data, y = problem()
    default = kind(n_estimators=5, max_depth=2, random_state=0).fit(data, y)
    tree = BinnedTreeClassifier(2)
    given = kind(tree, n_estimators=5, random_state=0).fit(data, y)
    np.testing.assert_array_equal(given.decision_function(data), default.decision_function(data))
    coarse = kind(BinnedTreeClassifier(2, max_bins=4, min_samples_leaf=10), n_estimators=5)
    assert coarse.fit(data, y).score(data, y) > 0.5
    with pytest.raises(ValueError, match=r"\'max_depth\' parameter .* in the range \[1, 30\]"):
        kind(BinnedTreeClassifier(40)).fit(data, y)


def test_resampling_for_classifiers_without_weights(kind):
    data, y = problem()
    with pytest.raises(ValueError, match=r"KNeighborsClassifier of view 'view0'.*resample=True"):
        kind(KNeighborsClassifier()).fit(data, y)
    model = kind(KNeighborsClassifier(), resample=True, n_estimators=5, random_state=0)
    one, two = (clone(model).fit(data, y).decision_function(data) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    assert model.fit(data, y).score(data, y) > 0.5


def test_missing_views(kind):
    data, y = problem(n_samples=400, strength=3.0, missing_rate=0.3)
    model = kind(n_estimators=40, random_state=0).fit(data[:300], y[:300])
    assert model.score(data[300:], y[300:]) > 0.75
    alone = model.predict(data.select(["view1"])[data.present[:, 1]])
    assert (alone == y[data.present[:, 1]]).mean() > 0.6


def test_votes_are_renormalised_over_the_learners_that_are_heard():
    data, y = problem(n_views=2, n_classes=2)
    model = ShareBoostClassifier(n_estimators=20).fit(data, y)
    only = model.decision_function(data.select(["view0"]))
    own, rows = np.zeros((len(y), 2)), np.arange(len(y))
    mine = model.estimator_views_ == 0
    for h, v, weight in zip(
        model.estimators_, model.estimator_views_, model.estimator_weights_, strict=True
    ):
        if v == 0:
            own[rows, h.predict(data["view0"])] += weight
    scale = model.estimator_weights_.sum() / model.estimator_weights_[mine].sum()
    np.testing.assert_allclose(only, scale * (own[:, 1] - own[:, 0]), atol=1e-7)


def test_mumbo_traces():
    data, y = problem()
    model = MuMBoClassifier(n_estimators=20).fit(data, y)
    n_rounds = len(model.estimators_)
    assert model.edges_.shape == (n_rounds,)
    assert model.view_edges_.shape == (n_rounds, 3)
    assert (np.diff(model.training_bound_) <= 1e-12).all()
    for stage, bound in zip(model.staged_predict(data), model.training_bound_, strict=True):
        assert (stage != y).mean() <= bound + 1e-12


@pytest.mark.parametrize("estimator", [None, DecisionTreeClassifier(max_depth=2, random_state=0)])
def test_exact_costs(estimator):
    data, y = problem(n_classes=4, n_samples=300)
    settings = {"n_estimators": 15, "max_depth": 2, "random_state": 0}
    exact = MuMBoClassifier(estimator, cost="exact", **settings).fit(data, y)
    weights = MuMBoClassifier(estimator, cost="weights", **settings).fit(data, y)
    # the exact reduction gives a first learner with an edge at least as large
    assert exact.view_edges_[0].max() >= weights.view_edges_[0].max() - 0.05
    assert exact.score(data, y) > 0.6
    with pytest.raises(ValueError, match=r"'exact', 'weights'.*Got 'free'"):
        MuMBoClassifier(cost="free").fit(data, y)


def test_exact_costs_are_weights_for_two_classes():
    data, y = problem(n_classes=2, n_views=2)
    X = MultiViewData({name: np.round(view * 20) for name, view in data.items()})
    base = DecisionTreeClassifier(max_depth=2, random_state=0)
    exact, weights = (
        MuMBoClassifier(base, cost=cost, n_estimators=10).fit(X, y) for cost in ("exact", "weights")
    )
    np.testing.assert_allclose(exact.estimator_weights_, weights.estimator_weights_, atol=1e-10)


def test_cooperation_changes_the_views():
    data, y = problem(n_samples=300, redundancy=0.0)
    with_, without = (
        MuMBoClassifier(n_estimators=10, cooperation=c).fit(data, y) for c in (True, False)
    )
    assert not np.allclose(with_.view_edges_, without.view_edges_)


def test_rshareboost_by_the_theorem():
    data, y = problem()
    model = RShareBoostClassifier(
        a="theorem", gamma="theorem", delta=0.1, n_estimators=30, random_state=0
    ).fit(data, y)
    p = model.view_probabilities_
    assert p.shape == (len(model.estimators_), 3)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    gamma = min(0.6, 2 * np.sqrt(9 * np.log(3) / 150))
    assert p.min() >= gamma / 3 - 1e-12
    for bad in ({"a": -1}, {"gamma": 0}, {"gamma": 1.5}, {"a": "auto"}, {"delta": 1.0}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            RShareBoostClassifier(**bad).fit(data, y)


def test_the_bandit_prefers_the_strong_view():
    data, y = problem(n_samples=600, strength=[0.0, 0.0, 4.0], n_classes=2)
    model = RShareBoostClassifier(n_estimators=200, max_depth=1, gamma=0.5, random_state=0)
    assert model.fit(data, y).view_probabilities_[-1].argmax() == 2


@pytest.mark.parametrize(
    "bad",
    [
        {"n_estimators": 0},
        {"n_estimators": 2.5},
        {"learning_rate": 0},
        {"learning_rate": np.inf},
        {"max_depth": 0},
        {"n_iter_no_change": 0},
    ],
    ids=str,
)
def test_parameters(kind, bad):
    data, y = problem()
    with pytest.raises(ValueError, match=next(iter(bad))):
        kind(**bad).fit(data, y)


def test_useless_views_give_the_prior(kind):
    y = np.r_[np.zeros(30), np.ones(50)].astype(int)
    X = {"a": np.ones((80, 2)), "b": np.zeros((80, 1))}
    model = kind(n_estimators=5, random_state=0).fit(X, y)
    assert set(model.predict(X)) == {1}
    assert np.isfinite(model.predict_proba(X)).all()
    assert model.view_weights_.sum() == pytest.approx(1)


def test_perfect_view(kind):
    y = np.arange(60) % 3
    X = {"a": y[:, None].astype(float), "b": np.random.RandomState(0).randn(60, 2)}
    model = kind(n_estimators=20, random_state=0).fit(X, y)
    assert model.score(X, y) == 1.0
    assert np.isfinite(model.decision_function(X)).all()


def test_many_rounds_stay_finite(kind):
    data, y = problem(n_samples=60, label_noise=0.4)
    model = kind(n_estimators=800, max_depth=1, random_state=0).fit(data, y)
    assert np.isfinite(model.decision_function(data)).all()
    assert np.isfinite(model.estimator_weights_).all()


def test_learning_rate_shrinks_the_first_step(kind):
    data, y = problem()
    full, half = (
        kind(n_estimators=1, learning_rate=rate, random_state=0).fit(data, y) for rate in (1.0, 0.5)
    )
    np.testing.assert_allclose(half.estimator_weights_, full.estimator_weights_ / 2)


def test_digits_are_learned(kind):
    digits = load_digits_views()
    data, y = digits.data, digits.target
    model = kind(random_state=0, n_jobs=2).fit(data[:900], y[:900])
    assert model.score(data[900:], y[900:]) > (0.7 if kind is IBoostClassifier else 0.85)


def test_training_data_are_not_kept(kind):
    import pickle

    data, y = problem(n_samples=1500, n_features=50)
    model = kind(n_estimators=5, max_depth=1, random_state=0).fit(data, y)
    assert len(pickle.dumps(model)) < 60_000


def test_views_that_no_learner_uses_have_equal_shares():
    model = MVWABClassifier()
    model._rounds, model.n_views_in_ = [], 4
    assert model._view_shares().tolist() == [0.25] * 4


class ColumnPredictions(GaussianNB):
    """Predicts a column, as CatBoost does for several classes."""

    def predict(self, X):
        return super().predict(X)[:, None]


def test_weak_learners_that_predict_a_column():
    data, y = make_multiview_classification(40, n_views=2, n_classes=3, random_state=0)
    outputs = [
        ShareBoostClassifier(learner, n_estimators=3).fit(data, y).decision_function(data)
        for learner in (GaussianNB(), ColumnPredictions())
    ]
    np.testing.assert_array_equal(*outputs)
