"""Single NaN cells reach the user's classifiers that support them, and only those."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.impute import KNNImputer, MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import FeatureUnion, make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

from consilience import MultiViewData
from consilience._binned_tree import BinnedTreeClassifier
from consilience._estimators import takes_nan
from consilience.boosting import MuMBoClassifier
from consilience.datasets import make_multiview_classification
from consilience.fusion import (
    BestViewClassifier,
    EarlyFusionClassifier,
    LateFusionClassifier,
    StackingFusionClassifier,
)
from consilience.vote import MwMvC2Classifier

FUSION = [
    EarlyFusionClassifier,
    LateFusionClassifier,
    BestViewClassifier,
    StackingFusionClassifier,
]
IMPUTED = make_pipeline(SimpleImputer(), LogisticRegression())
PARTIAL = r"NaN: view 'view1' is partially missing in row 7 \(column 2\)"


def problem(missing_rate=0.0):
    data, y = make_multiview_classification(
        90, n_views=2, n_features=4, strength=2.0, missing_rate=missing_rate, random_state=0
    )
    views = {name: view.copy() for name, view in data.items()}
    row = np.flatnonzero(data.present[:, 1])[7] if missing_rate else 7
    views["view1"][row, 2] = np.nan
    return MultiViewData(views, present=data.present), y


@pytest.mark.parametrize("method", FUSION)
@pytest.mark.parametrize(
    "estimator",
    [
        HistGradientBoostingClassifier(max_iter=5),
        DecisionTreeClassifier(max_depth=3, random_state=0),
        IMPUTED,
        GridSearchCV(IMPUTED, {"logisticregression__C": [1.0]}, cv=2),
    ],
    ids=lambda e: type(e).__name__,
)
def test_nan_cells_reach_classifiers_that_support_them(method, estimator):
    data, y = problem(missing_rate=0.2)
    model = method(estimator).fit(data, y)
    assert model.score(data, y) > 0.8
    assert get_tags(model).input_tags.allow_nan
    assert np.isfinite(model.predict_proba(data)).all()


def test_late_fusion_passes_the_cells_on_unchanged():
    data, y = problem()
    estimator = HistGradientBoostingClassifier(max_iter=5)
    model = LateFusionClassifier(estimator).fit(data, y)
    expected = np.mean(
        [clone(estimator).fit(view, y).predict_proba(view) for _, view in data.items()], axis=0
    )
    np.testing.assert_allclose(model.predict_proba(data), expected)


def test_rows_of_nan_are_missing_views_not_cells():
    data, y = problem()
    views = dict(data.items())
    views["view1"][3] = np.nan

    class NoEmptyRows(HistGradientBoostingClassifier):
        def predict_proba(self, X):
            assert not np.isnan(X).all(axis=1).any()
            return super().predict_proba(X)

    model = LateFusionClassifier(NoEmptyRows(max_iter=3)).fit(views, y)
    expected = model.estimators_["view0"].predict_proba(views["view0"][3:4])
    np.testing.assert_allclose(model.predict_proba(views)[3:4], expected)


@pytest.mark.parametrize("method", FUSION)
@pytest.mark.parametrize(
    "estimator",
    [None, GaussianNB(), make_pipeline(StandardScaler(), GaussianNB())],
    ids=["default", "GaussianNB", "scaled"],
)
def test_other_classifiers_get_an_error_that_names_the_cell(method, estimator):
    data, y = problem()
    assert not get_tags(method(estimator)).input_tags.allow_nan
    with pytest.raises(ValueError, match=PARTIAL):
        method(estimator).fit(data, y)
    rows = np.arange(len(y)) != 7
    model = method(estimator).fit(data[rows], y[rows])
    with pytest.raises(ValueError, match=PARTIAL):
        model.predict(data)


def test_each_view_goes_by_its_own_classifier():
    data, y = problem()
    boosted = HistGradientBoostingClassifier(max_iter=3)
    model = LateFusionClassifier({"view0": GaussianNB(), "view1": boosted})
    assert model.fit(data, y).score(data, y) > 0.8
    assert not get_tags(model).input_tags.allow_nan
    with pytest.raises(ValueError, match=PARTIAL):
        LateFusionClassifier({"view0": boosted, "view1": GaussianNB()}).fit(data, y)


@pytest.mark.parametrize(
    "model",
    [
        MuMBoClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=3, random_state=0),
        MuMBoClassifier(BinnedTreeClassifier(2), n_estimators=3, random_state=0),
        MwMvC2Classifier([DecisionTreeClassifier(max_depth=d) for d in (1, 2)], random_state=0),
    ],
    ids=["boosting", "boosting of binned trees", "vote"],
)
def test_boosting_and_votes_of_classifiers_that_support_nan(model):
    data, y = problem()
    assert model.fit(data, y).score(data, y) > 0.7
    with pytest.raises(ValueError, match=PARTIAL):
        type(model)().fit(data, y)


def test_infinity_is_an_error_in_any_case():
    data, y = problem()
    data["view0"][4, 1] = np.inf
    with pytest.raises(ValueError, match="infinity: view 'view0', row 4, column 1"):
        LateFusionClassifier(HistGradientBoostingClassifier()).fit(data, y)


def test_early_fusion_ignores_nan_cells_in_the_means_of_missing_views():
    data, y = problem(missing_rate=0.2)
    model = EarlyFusionClassifier(IMPUTED).fit(data, y)
    present = data.present[:, 1]
    np.testing.assert_allclose(model._fill["view1"][0], np.nanmean(data["view1"][present], axis=0))


def test_sparse_cells():
    data, y = problem()
    views = {"view0": data["view0"], "view1": sp.csr_array(data["view1"])}
    for method in FUSION:
        assert method(IMPUTED).fit(views, y).score(views, y) > 0.8


def test_matrix_and_cross_validation():
    data, y = problem()
    model = LateFusionClassifier(HistGradientBoostingClassifier(max_iter=3), views=[4, 4])
    assert cross_val_score(model, data.to_array(), y, cv=3).mean() > 0.7


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (HistGradientBoostingClassifier(), True),
        (RandomForestClassifier(), True),
        (LogisticRegression(), False),
        (make_pipeline(StandardScaler(), LogisticRegression()), False),
        (make_pipeline("passthrough", HistGradientBoostingClassifier()), True),
        (make_pipeline(StandardScaler(), HistGradientBoostingClassifier()), True),
        (make_pipeline(StandardScaler(), KNNImputer(), PCA(), LogisticRegression()), True),
        (make_pipeline(PCA(), SimpleImputer(), LogisticRegression()), False),
        (make_pipeline(SelectKBest(), SimpleImputer(), LogisticRegression()), False),
        (make_pipeline(FunctionTransformer(), LogisticRegression()), False),
        (make_pipeline(make_pipeline(StandardScaler(), SimpleImputer()), GaussianNB()), True),
        (make_pipeline(make_union(SimpleImputer(), MissingIndicator()), GaussianNB()), True),
        (make_pipeline(FeatureUnion([("a", "passthrough")]), GaussianNB()), False),
        (make_pipeline(make_column_transformer((SimpleImputer(), [0])), GaussianNB()), True),
        (
            make_pipeline(
                make_column_transformer((SimpleImputer(), [0]), remainder="passthrough"),
                GaussianNB(),
            ),
            False,
        ),
        (CalibratedClassifierCV(IMPUTED), True),
        (CalibratedClassifierCV(GaussianNB()), False),
        (FrozenEstimator(HistGradientBoostingClassifier()), True),
        (LateFusionClassifier(HistGradientBoostingClassifier()), True),
        (LateFusionClassifier(), False),
        (None, False),
        ([], False),
        (HistGradientBoostingClassifier, False),
    ],
)
def test_takes_nan(estimator, expected):
    assert takes_nan(estimator) is expected


@pytest.mark.parametrize("views", [None, [slice(0, 1), slice(1, None)]])
def test_scikit_learn_checks(views):
    for estimator in (
        DecisionTreeClassifier(min_weight_fraction_leaf=0.01, random_state=0),
        make_pipeline(SimpleImputer(), MaxAbsScaler(), LogisticRegression()),
    ):
        check_estimator(LateFusionClassifier(estimator, views=views), on_skip=None)
