"""The fusion methods against what they are defined to compute."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, StratifiedShuffleSplit, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from consilience import MultiViewData
from consilience._compat import Progress
from consilience._folds import _row_numbers
from consilience._targets import one_vs_rest_scores, one_vs_rest_signs, tie_break
from consilience.datasets import make_multiview_classification
from consilience.fusion import (
    BestViewClassifier,
    EarlyFusionClassifier,
    LateFusionClassifier,
    StackingFusionClassifier,
)
from consilience.fusion._late import average_present
from consilience.fusion._members import class_scores, fit_member
from consilience.fusion._stacking import missing_outputs
from consilience.margin import SMVMEDClassifierCV
from consilience.sparse import (
    BlockSPLSDAClassifierCV,
    CooperativeClassifierCV,
    StackedPenalisedClassifier,
)

PER_VIEW = [LateFusionClassifier, BestViewClassifier, StackingFusionClassifier]


def problem(**settings):
    settings = {"n_samples": 90, "n_classes": 3, "random_state": 0, "strength": 2.0, **settings}
    return make_multiview_classification(**settings)


# -- early ------------------------------------------------------------------------------------


def test_early_is_the_estimator_on_the_concatenation():
    data, y = problem()
    model = EarlyFusionClassifier(GaussianNB()).fit(data, y)
    plain = GaussianNB().fit(data.to_array(), y)
    np.testing.assert_allclose(model.predict_proba(data), plain.predict_proba(data.to_array()))


def test_early_fills_missing_views_with_weighted_means():
    data, y = problem(missing_rate=0.3)
    weight = np.random.RandomState(0).uniform(0.5, 2, len(y))
    model = EarlyFusionClassifier(GaussianNB()).fit(data, y, sample_weight=weight)
    filled = data.to_array()
    for v, where in enumerate(data.view_slices.values()):
        is_present = data.present[:, v]
        filled[~is_present, where] = np.average(
            filled[is_present, where], axis=0, weights=weight[is_present]
        )
    plain = GaussianNB().fit(filled, y, sample_weight=weight)
    np.testing.assert_allclose(model.predict_proba(data), plain.predict_proba(filled))


def test_early_passes_nan_to_an_estimator_that_takes_it():
    data, y = problem(missing_rate=0.3, n_samples=150)
    model = EarlyFusionClassifier(HistGradientBoostingClassifier(max_iter=5)).fit(data, y)
    plain = HistGradientBoostingClassifier(max_iter=5).fit(data.to_array(), y)
    np.testing.assert_allclose(model.predict_proba(data), plain.predict_proba(data.to_array()))


@pytest.mark.parametrize(("sparsity", "stays_sparse"), [(0.9, True), (0.2, False)])
def test_early_keeps_thin_data_sparse(sparsity, stays_sparse):
    data, y = problem(sparsity=sparsity, missing_rate=0.05)
    seen = {}

    class Spy(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            seen["sparse"] = sp.issparse(X)
            return super().fit(X, y, sample_weight)

    EarlyFusionClassifier(Spy(max_iter=500)).fit(data, y)
    assert seen["sparse"] is stays_sparse


def test_early_view_weights():
    data, y = problem(strength=[4.0, 0.0, 0.0], n_samples=300)
    linear = EarlyFusionClassifier().fit(data, y)
    trees = EarlyFusionClassifier(RandomForestClassifier(20, random_state=0)).fit(data, y)
    for model in (linear, trees):
        assert model.view_weights_.argmax() == 0
        assert model.view_weights_.sum() == pytest.approx(1)
    rbf = EarlyFusionClassifier(SVC()).fit(data, y)
    with pytest.raises(AttributeError, match="coef_ or feature_importances_"):
        _ = rbf.view_weights_
    assert not hasattr(EarlyFusionClassifier(), "view_weights_")


# -- late -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 4])
def test_late_is_the_mean_of_the_views(n_classes):
    data, y = problem(n_classes=n_classes)
    soft = LateFusionClassifier(GaussianNB()).fit(data, y)
    answers = [GaussianNB().fit(view, y).predict_proba(view) for _, view in data.items()]
    np.testing.assert_allclose(soft.predict_proba(data), np.mean(answers, axis=0), atol=1e-8)
    summed = LateFusionClassifier(SVC(), voting="sum").fit(data, y)
    answers = [SVC().fit(view, y).decision_function(view) for _, view in data.items()]
    np.testing.assert_allclose(summed.decision_function(data), np.mean(answers, axis=0))
    assert not hasattr(summed, "predict_proba")


@given(st.integers(1, 4), st.integers(1, 5), st.integers(2, 4), st.integers(0, 10_000))
def test_mean_over_present_views(n_views, n, n_classes, seed):
    rng = np.random.RandomState(seed)
    outputs, weights = (
        rng.rand(n_views, n, n_classes),
        rng.rand(n_views) * rng.randint(2, size=n_views),
    )
    outputs[rng.rand(n_views, n) < 0.4] = np.nan
    mean, unseen_views = average_present(outputs, weights)
    for i in range(n):
        votes = [
            (w, o[i]) for w, o in zip(weights, outputs, strict=True) if not np.isnan(o[i]).any()
        ]
        total = sum(w for w, _ in votes)
        assert unseen_views[i] == (total == 0)
        expected = sum(w * o for w, o in votes) / total if total else np.zeros(n_classes)
        np.testing.assert_allclose(mean[i], expected)


def test_weights_of_the_votes():
    data, y = problem()
    model = LateFusionClassifier(GaussianNB(), weights=[0, 3, 1]).fit(data, y)
    np.testing.assert_allclose(model.view_weights_, [0, 0.75, 0.25])
    named = LateFusionClassifier(GaussianNB(), weights={"view2": 1, "view0": 0, "view1": 3})
    np.testing.assert_allclose(named.fit(data, y).predict_proba(data), model.predict_proba(data))
    for bad in ([1, 2], [-1, 1, 1], [np.nan, 1, 1]):
        with pytest.raises(ValueError, match="weights must be 3 finite numbers"):
            LateFusionClassifier(weights=bad).fit(data, y)
    with pytest.raises(ValueError, match=r"weights must be 3 finite numbers .* not all 0"):
        LateFusionClassifier(weights=[0, 0, 0]).fit(data, y)


def test_ties_go_to_the_larger_prior_then_the_lower_class():
    X = {f"v{k}": np.zeros((10, 1)) for k in range(2)}
    y = np.array([2] * 4 + [1] * 4 + [0] * 2)
    says = {
        "v0": DummyClassifier(strategy="constant", constant=0),
        "v1": DummyClassifier(strategy="constant", constant=2),
    }
    model = LateFusionClassifier(says, voting="hard").fit(X, y)
    assert set(model.predict(X)) == {2}  # 2 is more frequent than 0
    says["v0"] = DummyClassifier(strategy="constant", constant=1)
    model = LateFusionClassifier(says, voting="hard").fit(X, y)
    assert set(model.predict(X)) == {1}  # as frequent as 2, and lower
    np.testing.assert_allclose(model.predict_proba(X)[0], [0, 0.5, 0.5], atol=1e-8)


def test_tie_break_is_tiny_and_ordered():
    term = tie_break(np.array([0.2, 0.5, 0.1, 0.2]))
    assert np.argsort(-term).tolist() == [1, 0, 3, 2]
    assert (term > 0).all()
    assert term.max() < 1e-9


def test_one_vs_rest():
    np.testing.assert_array_equal(one_vs_rest_signs(np.array([0, 1, 0]), 2), [[-1, 1, -1]])
    np.testing.assert_array_equal(
        one_vs_rest_signs(np.array([0, 2]), 3), [[1, -1], [-1, -1], [-1, 1]]
    )
    margin = np.array([[3.0], [-2.0]])
    scores = one_vs_rest_scores(margin)
    np.testing.assert_array_equal(scores[:, 1] - scores[:, 0], margin[:, 0])
    np.testing.assert_array_equal(one_vs_rest_scores(np.eye(3)), np.eye(3))


# -- best view --------------------------------------------------------------------------------


def test_best_view_finds_the_strong_view():
    data, y = problem(strength=[0.0, 3.0, 1.0], n_samples=200)
    model = BestViewClassifier(GaussianNB()).fit(data, y)
    assert model.best_view_ == "view1"
    np.testing.assert_array_equal(model.view_weights_, [0, 1, 0])
    out = [cross_val_predict(GaussianNB(), view, y, cv=5) for _, view in data.items()]
    np.testing.assert_allclose(model.view_scores_, [(o == y).mean() for o in out])
    plain = GaussianNB().fit(data["view1"], y)
    np.testing.assert_allclose(model.predict_proba(data), plain.predict_proba(data["view1"]))


def test_next_best_view_where_the_best_is_missing():
    data, y = problem(strength=[0.0, 3.0, 1.0], n_samples=200)
    model = BestViewClassifier(GaussianNB()).fit(data, y)
    without = data.select(["view0", "view2"])
    plain = GaussianNB().fit(data["view2"], y)
    np.testing.assert_array_equal(model.predict(without), plain.predict(data["view2"]))


def test_a_view_of_five_rows_cannot_win():
    data, y = problem(n_views=2, strength=[1.0, 30.0], n_samples=200, n_classes=2)
    present = np.ones((200, 2), dtype=bool)
    present[:, 1] = False
    present[np.r_[np.flatnonzero(y == 0)[::20], np.flatnonzero(y == 1)[::20]], 1] = True
    rare = MultiViewData(dict(data.items()), present=present)
    model = BestViewClassifier(GaussianNB(), cv=3)
    model.fit(rare, y)
    assert model.best_view_ == "view0"


# -- stacking ---------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
def test_stacking_learns_from_out_of_fold_answers(n_classes):
    data, y = problem(n_classes=n_classes)
    cv = KFold(4, shuffle=True, random_state=0)
    model = StackingFusionClassifier(GaussianNB(), final_estimator=LogisticRegression(), cv=cv)
    model.fit(data, y)
    columns = slice(1, None) if n_classes == 2 else slice(None)
    answers = [
        cross_val_predict(GaussianNB(), view, y, cv=cv, method="predict_proba")[:, columns]
        for _, view in data.items()
    ]
    final = LogisticRegression().fit(np.hstack(answers), y)
    np.testing.assert_allclose(model.final_estimator_.coef_, final.coef_, atol=1e-3)
    refitted = [
        GaussianNB().fit(view, y).predict_proba(view)[:, columns] for _, view in data.items()
    ]
    np.testing.assert_allclose(
        model.predict_proba(data), final.predict_proba(np.hstack(refitted)), atol=1e-3
    )
    assert model.view_weights_.sum() == pytest.approx(1)


def test_stacking_on_a_hold_out():
    data, y = problem()
    model = StackingFusionClassifier(GaussianNB(), cv=0.4, random_state=3).fit(data, y)
    split = StratifiedShuffleSplit(1, test_size=0.4, random_state=3)
    ((train, test),) = split.split(y, y)
    assert len(train) == 54
    answers = [
        GaussianNB().fit(view[train], y[train]).predict_proba(view[test])
        for _, view in data.items()
    ]
    final = LogisticRegression(max_iter=1000).fit(np.hstack(answers), y[test])
    np.testing.assert_allclose(model.final_estimator_.coef_, final.coef_, atol=1e-3)
    with pytest.raises(ValueError, match=r"Got 1\.5 instead"):
        StackingFusionClassifier(cv=1.5).fit(data, y)


def test_stacking_gives_missing_views_the_prior():
    data, y = problem(missing_rate=0.3)
    model = StackingFusionClassifier(GaussianNB()).fit(data, y)
    answers = []
    for v, (name, view) in enumerate(data.items()):
        answer = np.tile(np.bincount(y) / len(y), (len(y), 1))
        is_present = data.present[:, v]
        answer[is_present] = model.estimators_[name].predict_proba(view[is_present])
        answers.append(answer)
    expected = model.final_estimator_.predict_proba(np.hstack(answers))
    np.testing.assert_allclose(model.predict_proba(data), expected)


def test_splits_that_overlap():
    data, y = problem()
    rows = np.arange(len(y))
    with pytest.raises(ValueError, match="overlap"):
        StackingFusionClassifier(cv=[(rows, rows)]).fit(data, y)


# -- shared -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", PER_VIEW)
def test_an_estimator_for_each_view(kind):
    data, y = problem()
    each = {
        "view0": GaussianNB(),
        "view1": LogisticRegression(),
        "view2": DecisionTreeClassifier(max_depth=2),
    }
    model = kind(each).fit(data, y)
    assert {name: type(e) for name, e in model.estimators_.items()} == {
        name: type(e) for name, e in each.items()
    }
    assert not hasattr(each["view0"], "classes_")  # the user's own stay unfitted
    assert kind(each).get_params()["view2__max_depth"] == 2
    assert clone(kind(each)).set_params(view2__max_depth=5).estimator["view2"].max_depth == 5
    with pytest.raises(ValueError, match="missing: 'view1', 'view2'"):
        kind({"view0": GaussianNB()}).fit(data, y)


@pytest.mark.parametrize("kind", [EarlyFusionClassifier, *PER_VIEW])
def test_weights_reach_every_step_of_a_pipeline(kind):
    data, y = problem()
    weight = np.random.RandomState(0).randint(1, 4, len(y)).astype(float)
    pipeline = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    settings = {"cv": 0.4, "random_state": 0} if kind is StackingFusionClassifier else {}
    model = kind(pipeline, **settings).fit(data, y, sample_weight=weight)
    if kind in (LateFusionClassifier, BestViewClassifier):
        scaler = model.estimators_["view0"][0]
        np.testing.assert_allclose(scaler.mean_, np.average(data["view0"], axis=0, weights=weight))


@pytest.mark.parametrize("kind", [EarlyFusionClassifier, LateFusionClassifier])
def test_class_weight_is_a_sample_weight(kind):
    data, y = problem(class_weights=[5, 2, 1])
    weight = np.array([1.0, 2.0, 5.0])[y]
    plain = kind(GaussianNB()).fit(data, y, sample_weight=weight)
    given = kind(GaussianNB(), class_weight={0: 1, 1: 2, 2: 5}).fit(data, y)
    np.testing.assert_allclose(given.predict_proba(data), plain.predict_proba(data))
    balanced = kind(GaussianNB(), class_weight="balanced").fit(data, y)
    np.testing.assert_allclose(balanced.class_prior_, np.full(3, 1 / 3))


@pytest.mark.parametrize("kind", [BestViewClassifier, StackingFusionClassifier])
def test_splits_given_as_rows_survive_zero_weights(kind):
    data, y = problem()
    rows = np.arange(len(y))
    cv = [(rows[rows % 3 != k], rows[rows % 3 == k]) for k in range(3)]
    weight = np.ones(len(y))
    weight[::5] = 0
    model = kind(GaussianNB(), cv=cv).fit(data, y, sample_weight=weight)
    assert model.score(data, y) > 0.5


@pytest.mark.parametrize("kind", PER_VIEW)
def test_view_with_one_class_takes_no_part(kind):
    data, y = problem()
    present = np.ones((len(y), 3), dtype=bool)
    present[y != 1, 0] = False
    rare = MultiViewData(dict(data.items()), present=present)
    with pytest.warns(UserWarning, match="view 'view0' is present in training rows of only one"):
        model = kind(GaussianNB()).fit(rare, y)
    assert "view0" not in model.estimators_
    assert model.view_weights_[0] == 0
    assert model.score(rare, y) > 0.5


@pytest.mark.parametrize("kind", PER_VIEW)
def test_class_unseen_by_a_view(kind):
    data, y = problem(n_samples=150)
    present = np.ones((len(y), 3), dtype=bool)
    present[y == 2, 0] = False
    partial = MultiViewData(dict(data.items()), present=present)
    model = kind(SVC() if kind is not LateFusionClassifier else GaussianNB()).fit(partial, y)
    assert len(model.estimators_["view0"].classes_) == 2
    assert np.isfinite(model.decision_function(data)).all()
    assert model.score(partial, y) > 0.6


@pytest.mark.parametrize("kind", [EarlyFusionClassifier, *PER_VIEW])
def test_seed_reaches_the_estimators(kind):
    data, y = problem()
    forest = RandomForestClassifier(5)
    one, two = (kind(forest, random_state=7).fit(data, y).predict_proba(data) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    assert forest.random_state is None


@pytest.mark.parametrize("kind", [EarlyFusionClassifier, *PER_VIEW])
def test_huge_and_tiny_values(kind):
    data, y = problem(n_views=2)
    X = {"a": data["view0"] * 1e150, "b": data["view1"] * 1e-150}
    assert kind().fit(X, y).score(X, y) > 0.6


def test_row_numbers_of_splits():
    assert _row_numbers([0, -1, -4, 3], 4).tolist() == [0, 3, 0, 3]
    assert _row_numbers([True, False, False, True], 4).tolist() == [0, 3]
    assert _row_numbers(np.array([], dtype=int), 4).size == 0
    for row in (4, -5):
        with pytest.raises(ValueError, match=f"cv has row {row}, but there are 4 rows"):
            _row_numbers([0, row], 4)
    for rows in ([0.5, 1.0], [[0, 1]]):
        with pytest.raises(ValueError, match="cv must consist of arrays of row numbers"):
            _row_numbers(rows, 4)


@pytest.mark.parametrize(
    ("module", "model"),
    [
        ("_late", LateFusionClassifier()),
        ("_best_view", BestViewClassifier(cv=2)),
        ("_stacking", StackingFusionClassifier(cv=2)),
    ],
)
def test_progress_announces_the_number_of_its_tasks(monkeypatch, module, model):
    announced, done = [], []

    class Counting(Progress):
        def __init__(self, estimator, n_tasks):
            announced.append(n_tasks)
            super().__init__(estimator, n_tasks)

        def map(self, function, items, name):
            results = super().map(function, items, name)
            done.extend(results)
            return results

    monkeypatch.setattr(f"consilience.fusion.{module}.Progress", Counting)
    data, y = make_multiview_classification(60, random_state=0)
    model.fit(data, y)
    assert announced == [len(done)]


def test_scores_of_a_class_that_a_view_has_not_seen():
    """The probability 0, the lowest decision value, no vote."""
    X, classes = np.random.default_rng(0).normal(size=(20, 2)), np.array([0, 1, 2, 3])
    labels = np.array([0, 2, 3])[np.arange(20) % 3]
    model = LogisticRegression().fit(X, labels)
    known = [0, 2, 3]
    probabilities = class_scores(model, X, "predict_proba", classes)
    np.testing.assert_array_equal(probabilities[:, known], model.predict_proba(X))
    assert not probabilities[:, 1].any()
    decisions = class_scores(model, X, "decision_function", classes)
    np.testing.assert_array_equal(decisions[:, known], model.decision_function(X))
    np.testing.assert_array_equal(decisions[:, 1], decisions[:, known].min(axis=1))
    votes = class_scores(model, X, "predict", classes)
    np.testing.assert_array_equal(votes.argmax(axis=1), model.predict(X))
    np.testing.assert_array_equal(votes.sum(axis=1), 1)


def test_rows_without_weight_are_not_fitted():
    data = MultiViewData({"a": np.arange(12.0)[:, None]})
    codes, classes = np.arange(12) % 3, np.array([0, 1, 2])
    weight = np.where(codes == 2, 0.0, 1.0)
    member = fit_member(GaussianNB(), data, "a", codes, weight, classes)
    np.testing.assert_array_equal(member.estimator.classes_, [0, 1])
    assert fit_member(GaussianNB(), data, "a", codes, 1.0 * (codes == 1), classes, True) is None


def test_rows_without_weight_do_not_fill_missing_views():
    """Decision values of a missing view are the weighted mean of those of the training rows."""
    rng = np.random.RandomState(0)
    y = np.arange(90) // 2 % 2
    X = {"a": rng.randn(90, 3) + y[:, None], "b": rng.randn(90, 2)}
    weight = np.ones(90)
    weight[60:] = 0
    shifted = {name: np.r_[view[:60], view[60:] + 100] for name, view in X.items()}
    splits = [
        (np.arange(0, 90, 2), np.arange(1, 90, 2)),
        (np.arange(1, 90, 2), np.arange(0, 90, 2)),
    ]
    fills = [
        StackingFusionClassifier(LinearSVC(random_state=0), cv=splits)
        .fit(views, y, sample_weight=weight)
        ._fills
        for views in (X, shifted)
    ]
    np.testing.assert_allclose(fills[0], fills[1])


@pytest.mark.parametrize(
    "model",
    [
        SMVMEDClassifierCV(cs=[1.0], alphas=[0.5]),
        CooperativeClassifierCV(n_penalties=3),
        BlockSPLSDAClassifierCV([2]),
        StackedPenalisedClassifier(n_penalties=3),
        StackingFusionClassifier(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_forms_of_splits(model):
    rng = np.random.RandomState(0)
    y = np.arange(40) % 2
    X = {"a": rng.randn(40, 3) + y[:, None], "b": rng.randn(40, 3)}
    halves = np.arange(20), np.arange(20, 40)
    mask = np.arange(40) < 20
    expected = clone(model).set_params(cv=[halves, halves[::-1]]).fit(X, y).predict(X)
    lists = [part.tolist() for part in halves]
    for splits in ([lists, lists[::-1]], [(mask, ~mask), (~mask, mask)]):
        np.testing.assert_array_equal(
            clone(model).set_params(cv=splits).fit(X, y).predict(X), expected
        )
    with pytest.raises(ValueError, match="cv: split 1 has no test rows"):
        clone(model).set_params(cv=[halves, (halves[0], [])]).fit(X, y)
    with pytest.raises(ValueError, match="training and test rows of split 0 overlap"):
        clone(model).set_params(cv=[(np.arange(30), np.arange(20, 40))]).fit(X, y)
    with pytest.raises(ValueError, match="no test row of split 1 has a positive sample_weight"):
        clone(model).set_params(cv=[halves, halves[::-1]]).fit(X, y, sample_weight=~mask * 1.0)


@pytest.mark.parametrize(
    "model",
    [LateFusionClassifier, EarlyFusionClassifier, BestViewClassifier, StackingFusionClassifier],
)
def test_frozen_classifier_with_other_classes(model):
    X, y = np.random.RandomState(0).randn(40, 3), np.arange(40) % 2
    frozen = FrozenEstimator(LogisticRegression().fit(X, 2 * y))
    with pytest.raises(ValueError, match="has classes that y does not have: 2"):
        model(frozen).fit({"a": X}, y)


class Reversed(LogisticRegression):
    """A classifier whose classes are in descending order."""

    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.classes_, self.coef_, self.intercept_ = (
            self.classes_[::-1],
            -self.coef_,
            -self.intercept_,
        )
        return self


def test_classes_in_another_order():
    X, y = np.random.RandomState(0).randn(40, 3), np.arange(40) % 2
    expected = LogisticRegression().fit(X, y).predict_proba(X)
    model = LateFusionClassifier(Reversed()).fit({"a": X}, y)
    np.testing.assert_allclose(model.predict_proba({"a": X}), expected, atol=1e-6)


def test_outputs_of_missing_views():
    svm, forest = SimpleNamespace(estimator=LinearSVC()), SimpleNamespace(estimator=GaussianNB())
    nan, prior = np.nan, np.array([0.25, 0.75])
    few = np.array([[nan, nan], [1.0, 3.0], [nan, nan], [9.0, 9.0]])
    some = np.array([[1.0, 3.0], [3.0, 9.0], [nan, nan], [9.0, 9.0]])
    weight = np.array([1.0, 0.5, 2.0, 0.0])
    outputs = np.array([few, some, np.full((4, 2), nan), some])
    fills = missing_outputs([svm, svm, svm, forest], outputs, prior, weight)
    np.testing.assert_allclose(fills, [[1.0, 3.0], [5 / 3, 5.0], prior, prior])
