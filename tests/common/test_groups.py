"""Groups reach every inner split: left-out scores, weights and explanations are honest."""

import dask.array as da
import numpy as np
import pytest
from sklearn import config_context
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    StratifiedGroupKFold,
    cross_val_predict,
    cross_val_score,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from conftest import FULL
from consilience import ConsilienceClassifier, MultiViewData
from consilience.boosting import MuMBoClassifier
from consilience.fusion import BestViewClassifier, StackingFusionClassifier
from consilience.margin import SMVMEDClassifier, SMVMEDClassifierCV
from consilience.views import ViewTransformer
from consilience.vote import MwMvC2Classifier

N_DRAWS = 20 if FULL else 2
NEAREST = KNeighborsClassifier(1)


def draw_patients(seed, n_patients=40, n_copies=5, noise=0.01):
    """Views of near-copies of patients with random labels."""
    rng = np.random.default_rng(seed)
    groups = np.arange(n_patients).repeat(n_copies)
    y = rng.permutation(np.tile([0, 1], n_patients // 2))[groups]
    views = {
        name: rng.normal(size=(n_patients, 10))[groups] + noise * rng.normal(size=(len(groups), 10))
        for name in ("a", "b")
    }
    order = rng.permutation(len(groups))
    return MultiViewData(views, groups=groups)[order], y[order]


def draw_signal(seed, n_patients=60):
    """A view that says little about the labels, and one that only tells patients apart."""
    rng = np.random.default_rng(seed)
    groups = np.arange(n_patients).repeat(4)
    y = np.tile([0, 1], n_patients // 2)[groups]
    signal = rng.normal(size=(len(y), 5)) + 0.7 * y[:, None]
    identity = rng.normal(size=(n_patients, 10))[groups] + 0.01 * rng.normal(size=(len(y), 10))
    return MultiViewData({"id": identity, "signal": signal}, groups=groups), y


def grouped_accuracy(model, data, y, seed):
    cv = StratifiedGroupKFold(5, shuffle=True, random_state=seed)
    return cross_val_score(model, data, y, groups=data.groups, cv=cv).mean()


def own_splits(data, y):
    return list(StratifiedGroupKFold(5).split(y, y, data.groups))


LEFT_OUT_SCORES = {
    "consilience": (ConsilienceClassifier(10, random_state=0), lambda m: m.out_of_fold_score_),
    "best view": (BestViewClassifier(NEAREST), lambda m: m.view_scores_.mean()),
    "smvmed": (
        SMVMEDClassifierCV([8], alphas=[0.5], kernel="rbf"),
        lambda m: m.best_score_,
    ),
}


@pytest.mark.parametrize("name", LEFT_OUT_SCORES)
def test_left_out_scores_are_those_of_grouped_cross_validation(name):
    model, score = LEFT_OUT_SCORES[name]
    inner, outer = [], []
    for seed in range(N_DRAWS):
        data, y = draw_patients(seed)
        inner.append(score(model.fit(data, y)))
        outer.append(grouped_accuracy(model, data, y, seed))
    # the standard error of two draws is about .06
    assert abs(np.mean(inner) - np.mean(outer)) <= (0.05 if FULL else 0.15)


@pytest.mark.parametrize("name", LEFT_OUT_SCORES)
def test_without_groups_there_is_a_warning(name):
    model, score = LEFT_OUT_SCORES[name]
    data, y = draw_patients(0)
    with pytest.warns(UserWarning, match="rows of view 'a' are nearly copies"):
        model.fit(data.with_groups(None), y)
    assert score(model) > 0.95


def test_stacking_learns_from_predictions_of_other_groups():
    shares = []
    for seed in range(N_DRAWS):
        data, y = draw_patients(seed)
        model = StackingFusionClassifier(NEAREST).fit(data, y)
        shares.append(np.abs(model.final_estimator_.coef_).mean())
        with pytest.warns(UserWarning, match="nearly copies"):
            model.fit(data.with_groups(None), y)
        assert np.abs(model.final_estimator_.coef_).mean() > 2
    assert np.mean(shares) < 1


@pytest.mark.parametrize(
    "model",
    [
        ConsilienceClassifier(10, random_state=0),
        StackingFusionClassifier(KNeighborsClassifier(5)),
        BestViewClassifier(KNeighborsClassifier(5)),
        SMVMEDClassifier(c=8, kernel="rbf", combine="best"),
        SMVMEDClassifierCV([8], alphas=[0], kernel="rbf", combine="best"),
    ],
    ids=lambda model: type(model).__name__,
)
def test_identity_has_less_weight_than_signal(model):
    data, y = draw_signal(0)
    weights = dict(zip(data.view_names, model.fit(data, y).view_weights_, strict=True))
    assert weights["id"] < weights["signal"]


def test_holdout_of_groups():
    data, y = draw_patients(0)
    model = BestViewClassifier(NEAREST, cv=0.4, random_state=0).fit(data, y)
    assert model.view_scores_.max() < 0.9
    with pytest.warns(UserWarning, match="nearly copies"):
        model.fit(data.with_groups(None), y)
    assert model.view_scores_.max() > 0.99


def test_explanation_is_honest():
    data, y = draw_signal(1)
    model = ConsilienceClassifier(10, random_state=0).fit(data, y)
    identity, signal = model.explain().views
    assert identity["alone"] < 0.05 < signal["alone"]
    assert identity["adds"] < signal["adds"]
    with pytest.warns(UserWarning, match="rows of view 'id' are nearly copies"):
        model.fit(data.with_groups(None), y)
    assert model.explain().views[0]["alone"] > 0.9


@pytest.mark.parametrize("n_missing", [0, 30])
def test_default_does_not_depend_on_order_and_names_of_groups(n_missing):
    data, y = draw_patients(0)
    present = np.ones((len(y), 2), dtype=bool)
    present[:n_missing, 0] = False
    data = MultiViewData(dict(data.items()), present=present, groups=data.groups)
    order = np.random.default_rng(0).permutation(len(y))
    renamed = data.with_groups([f"p{99 - group}" for group in data.groups])[order]
    one = ConsilienceClassifier(10, random_state=0).fit(data, y)
    other = ConsilienceClassifier(10, random_state=0).fit(renamed, y[order])
    assert one.out_of_fold_score_ == pytest.approx(other.out_of_fold_score_)
    np.testing.assert_allclose(one.predict_proba(data), other.predict_proba(data))


def test_groups_of_fit_come_before_those_of_the_data():
    data, y = draw_patients(0)
    given = BestViewClassifier(NEAREST).fit(data.with_groups(None), y, groups=data.groups)
    other = BestViewClassifier(NEAREST).fit(data.with_groups(np.arange(200)), y, groups=data.groups)
    own = BestViewClassifier(NEAREST).fit(data, y)
    matrix = BestViewClassifier(NEAREST, views=[10, 10]).fit(data.to_array(), y, groups=data.groups)
    for model in (given, other, matrix):
        np.testing.assert_array_equal(model.view_scores_, own.view_scores_)


def test_landmarks_leave_groups_out(monkeypatch):
    for name in ("EIGEN_MAX_ROWS", "EXACT_MAX_ROWS"):
        monkeypatch.setattr(f"consilience._default._kernel.{name}", 100)
    monkeypatch.setattr("consilience._default._kernel.N_LANDMARKS", 80)
    data, y = draw_patients(0)
    assert ConsilienceClassifier(10, random_state=0).fit(data, y).member_scores_[0] < 0.8


def test_unlabelled_rows_have_groups_too():
    data, y = draw_patients(0)
    labels = np.where(data.groups % 4 == 0, -1, y)
    model = ConsilienceClassifier(10, random_state=0, unlabelled=-1).fit(data, labels)
    assert model.out_of_fold_score_ < 0.8


@pytest.mark.parametrize(
    "model",
    [
        MuMBoClassifier(n_estimators=3, n_iter_no_change=2, random_state=0),
        MwMvC2Classifier(n_iter_no_change=2, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_early_stopping_validates_on_other_groups(monkeypatch, model):
    data, y = draw_patients(0)
    split = type(model)._split
    seen = []

    def record(self, codes, data, *rest):
        seen.append((data.groups, *split(self, codes, data, *rest)))
        return seen[-1][1:]

    monkeypatch.setattr(type(model), "_split", record)
    model.fit(data, y)
    ((groups, train, validation),) = seen
    assert 0 < len(validation) < 60
    assert not set(groups[train]) & set(groups[validation])


@pytest.mark.parametrize(
    "model",
    [
        ConsilienceClassifier(10, random_state=0),
        StackingFusionClassifier(),
        BestViewClassifier(),
        SMVMEDClassifier(combine="best"),
        SMVMEDClassifierCV([1], alphas=[0]),
        MuMBoClassifier(n_estimators=3, n_iter_no_change=2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_class_in_one_group_is_an_error(model):
    data, y = draw_patients(0)
    labels = np.where(data.groups == 3, "rare", y.astype(str))
    with pytest.raises(ValueError, match="class 'rare' occurs in only one group, 3"):
        model.fit(data, labels)


def test_few_groups_give_fewer_folds():
    data, y = draw_patients(0, n_patients=4, n_copies=10)
    with pytest.warns(UserWarning, match="only 4 groups, so 4 folds instead of 10"):
        ConsilienceClassifier(10, random_state=0).fit(data, y)
    with pytest.warns(UserWarning, match="only 4 groups, so 4 folds instead of 5"):
        model = SMVMEDClassifierCV([1], alphas=[0]).fit(data, y)
    assert len(model.scores_) == 4


def test_blocks_accept_groups_that_they_do_not_need():
    data, y = draw_patients(0)
    X = da.from_array(data.to_array(), chunks=(50, -1))
    model = SMVMEDClassifier(views=[10, 10]).fit(X, da.from_array(y, chunks=50), groups=data.groups)
    assert model.view_names_ == ["view0", "view1"]


# -- scikit-learn's tools, with and without metadata routing -----------------------------------


class Recorder(BestViewClassifier):
    """Keeps the groups of every fit."""

    seen: list = []

    def _fit(self, data, codes, weight):
        self.seen.append(data.groups)
        super()._fit(data, codes, weight)


@pytest.fixture
def recorded(monkeypatch):
    monkeypatch.setattr(Recorder, "seen", [])
    return Recorder.seen


@pytest.fixture(params=[False, True], ids=["routing off", "routing on"])
def routing(request):
    with config_context(enable_metadata_routing=request.param):
        yield request.param


def check_training_groups(recorded, groups, n_fits):
    """Every fit knows the groups of its own rows, which no fold splits."""
    assert len(recorded) == n_fits
    for seen in recorded:
        names, counts = np.unique(seen, return_counts=True)
        assert set(names) <= set(groups)
        assert set(counts) == {5}


def test_cross_validation(recorded, routing):
    data, y = draw_patients(0)
    groups = {"params": {"groups": data.groups}} if routing else {"groups": data.groups}
    for X in (data, data.with_groups(None)) if routing else (data,):
        recorded.clear()
        cross_val_score(Recorder(NEAREST), X, y, cv=GroupKFold(4), **groups)
        cross_val_predict(Recorder(NEAREST), X, y, cv=GroupKFold(4), **groups)
        check_training_groups(recorded, data.groups, 8)


def test_search(recorded, routing):
    data, y = draw_patients(0)
    search = GridSearchCV(Recorder(NEAREST), {"cv": [2, 3]}, cv=GroupKFold(3))
    search.fit(data, y, groups=data.groups)
    check_training_groups(recorded, data.groups, 7)
    assert search.best_estimator_.view_scores_.max() < 0.8


def test_pipeline(recorded, routing):
    data, y = draw_patients(0)
    pipeline = make_pipeline(ViewTransformer(StandardScaler()), Recorder(NEAREST))
    pipeline.fit(data, y)
    key = "groups" if routing else "recorder__groups"
    pipeline.fit(data.with_groups(None), y, **{key: data.groups})
    search = GridSearchCV(pipeline, {"recorder__cv": [2]}, cv=GroupKFold(3))
    search.fit(data, y, groups=data.groups)
    check_training_groups(recorded, data.groups, 6)


def test_calibration(recorded, routing):
    data, y = draw_patients(0)
    splits = list(GroupKFold(3).split(y, y, data.groups))
    CalibratedClassifierCV(Recorder(NEAREST), cv=splits).fit(data, y)
    model = CalibratedClassifierCV(Recorder(NEAREST), cv=splits)
    model.fit(data.with_groups(None), y, groups=data.groups)
    check_training_groups(recorded, data.groups, 6)
