"""Labels and weights with an index must be those of the samples, in every estimator."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import resample

from common.estimators import CLASSIFIERS, OTHER_ESTIMATORS, public_estimators
from consilience import (
    BinnedTreeClassifier,
    ConsilienceClassifier,
    MultiViewData,
    ViewTransformer,
    compare,
)
from consilience.distributed import BlockSequence
from consilience.fusion import LateFusionClassifier
from consilience.inspection import view_permutation_importance
from consilience.landmark import LandmarkProjector, MVLSVMClassifier

N = 60
RNG = np.random.default_rng(0)
IDS = [f"p{i}" for i in RNG.permutation(N)]
Y = pd.Series(np.arange(N) % 2, index=IDS)
A = pd.DataFrame(RNG.normal(size=(N, 3)) + 2 * Y.to_numpy()[:, None], IDS, ["a0", "a1", "a2"])
B = pd.DataFrame(RNG.normal(size=(N, 2)), IDS, ["b0", "b1"])
DATA = MultiViewData({"a": A, "b": B})
MATRIX = pd.concat([A, B], axis=1)
VIEWS = {"a": ["a0", "a1", "a2"], "b": ["b0", "b1"]}
FAST = {name: CLASSIFIERS[name] for name in public_estimators() if name not in OTHER_ESTIMATORS}
DIFFERENT_ORDER = "the labels of the samples in a different order"


@pytest.mark.parametrize("name", FAST)
def test_labels_and_weights_in_another_order(name):
    model = clone(FAST[name])
    with pytest.raises(ValueError, match=f"y has {DIFFERENT_ORDER}"):
        model.fit(DATA, Y[::-1])
    with pytest.raises(ValueError, match=f"y has {DIFFERENT_ORDER}"):
        model.fit({"a": A, "b": B}, Y.sort_index())
    with pytest.raises(ValueError, match=f"sample_weight has {DIFFERENT_ORDER}"):
        model.fit(DATA, Y, sample_weight=pd.Series(1.0, index=IDS[::-1]))
    with pytest.raises(ValueError, match="'q' is only in y"):
        model.fit(DATA, Y.rename({IDS[3]: "q"}))
    if "views" in model.get_params():
        with pytest.raises(ValueError, match=f"y has {DIFFERENT_ORDER}"):
            model.set_params(views=VIEWS).fit(MATRIX, Y[::-1])


@settings(max_examples=10, deadline=None)
@given(
    st.lists(st.text("abcd", min_size=1, max_size=6), min_size=8, max_size=16, unique=True),
    st.randoms(use_true_random=False),
)
def test_permuted_rows_give_the_same_model_or_an_error(ids, random):
    views = {name: frame[: len(ids)].set_axis(ids) for name, frame in {"a": A, "b": B}.items()}
    y = Y[: len(ids)].set_axis(ids)
    order = random.sample(ids, len(ids))
    model = LateFusionClassifier(GaussianNB())
    expected = pd.DataFrame(model.fit(views, y).predict_proba(views), ids)

    permuted = {name: view.loc[order] for name, view in views.items()}
    result = pd.DataFrame(model.fit(permuted, y.loc[order]).predict_proba(permuted), order)
    np.testing.assert_allclose(result.loc[ids], expected, rtol=1e-9)
    # a join by index restores the order of the first table
    data = MultiViewData.from_tables({"a": views["a"], "b": permuted["b"]})
    result = model.fit(data, data.align(y.loc[order])).predict_proba(data)
    np.testing.assert_array_equal(result, expected)
    if order != ids:
        for X, labels in [
            (permuted, y),
            (views, y.loc[order]),
            ({**views, "b": permuted["b"]}, y),
            (MultiViewData(views), y.loc[order]),
        ]:
            with pytest.raises(ValueError, match="in a different order"):
                model.fit(X, labels)


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("matrix", [False, True])
@pytest.mark.parametrize("index", ["labels", "positions"])
def test_tools_of_scikit_learn(matrix, shuffled, index):
    X, y = MATRIX, Y
    if index == "positions":
        X, y = X.reset_index(drop=True), y.reset_index(drop=True)
    if shuffled:
        X, y = X.sample(frac=1, random_state=0), y.sample(frac=1, random_state=0)
    views = VIEWS if matrix else None
    if not matrix:
        X = MultiViewData({"a": X[VIEWS["a"]], "b": X[VIEWS["b"]]})
    scaled = make_pipeline(ViewTransformer(StandardScaler(), views=views), LateFusionClassifier())
    plain = LateFusionClassifier(views=views)
    for model in (scaled, plain):
        assert cross_val_score(model, X, y, cv=3, error_score="raise").mean() > 0.8
        X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
        assert model.fit(X_train, y_train).score(X_test, y_test) > 0.7
        with pytest.raises(ValueError, match=DIFFERENT_ORDER):
            model.fit(X_train, y_train[::-1])
    search = GridSearchCV(plain, {"estimator": [LogisticRegression()]}, cv=2, error_score="raise")
    assert search.fit(X, y).best_score_ > 0.8
    calibrated = CalibratedClassifierCV(plain, cv=2)
    assert calibrated.fit(X, y).score(X, y) > 0.8


def test_a_default_index_is_positional():
    positional = LateFusionClassifier().fit(DATA, Y.reset_index(drop=True))
    np.testing.assert_array_equal(
        positional.predict(DATA), LateFusionClassifier().fit(DATA, Y).predict(DATA)
    )


def test_a_bootstrap_sample_of_a_matrix_has_repeated_labels():
    X, y = resample(MATRIX, Y, random_state=0)
    model = LateFusionClassifier(views=VIEWS).fit(X, y)
    assert model.score(X, y) > 0.8
    with pytest.raises(ValueError, match=DIFFERENT_ORDER):
        model.fit(X, y[::-1])


def test_transformers_check_labels_and_weights():
    with pytest.raises(ValueError, match=f"y has {DIFFERENT_ORDER}"):
        ViewTransformer(StandardScaler()).fit(DATA, Y[::-1])
    with pytest.raises(ValueError, match=f"sample_weight has {DIFFERENT_ORDER}"):
        LandmarkProjector(n_landmarks=4).fit(DATA, sample_weight=1.0 + Y[::-1])


def test_scores_check_labels():
    model = LateFusionClassifier().fit(DATA, Y)
    assert model.score({"a": A, "b": B}, Y) == model.score(DATA, Y.to_numpy())
    for X in (DATA, {"a": A, "b": B}):
        with pytest.raises(ValueError, match=f"y has {DIFFERENT_ORDER}"):
            model.score(X, Y[::-1])
    model.set_params(views=VIEWS).fit(MATRIX, Y)
    assert model.score(MATRIX, Y) == model.score(MATRIX, Y.to_numpy())
    with pytest.raises(ValueError, match=f"y has {DIFFERENT_ORDER}"):
        model.score(MATRIX, Y[::-1])


def test_a_tree_checks_labels():
    with pytest.raises(ValueError, match=f"y has {DIFFERENT_ORDER}"):
        BinnedTreeClassifier().fit(A, Y[::-1])


def test_importance_checks_labels():
    model = LateFusionClassifier().fit(DATA, Y)
    with pytest.raises(ValueError, match=f"y has {DIFFERENT_ORDER}"):
        view_permutation_importance(model, DATA, Y[::-1])


def test_blocks_check_labels():
    blocks = BlockSequence([({"a": A, "b": B}, Y[::-1])])
    with pytest.raises(ValueError, match=f"y has {DIFFERENT_ORDER}"):
        MVLSVMClassifier().fit(blocks)


@pytest.mark.parametrize("parameter", ["y", "groups", "sample_weight"])
def test_comparison_checks_labels_groups_and_weights(parameter):
    values = {"y": Y, parameter: Y[::-1]}
    with pytest.raises(ValueError, match=f"{parameter} has {DIFFERENT_ORDER}"):
        compare(DATA, **values, methods=["Late fusion"])


# -- names of the columns -------------------------------------------------------------------------


@pytest.mark.parametrize("model", [LateFusionClassifier(), ViewTransformer(StandardScaler())])
def test_names_of_the_columns_of_each_view(model):
    model.fit(DATA, Y)
    assert {v: n.tolist() for v, n in model.view_feature_names_in_.items()} == VIEWS
    assert not hasattr(model, "feature_names_in_")
    model.set_params(views=VIEWS).fit(MATRIX, Y)
    assert {v: n.tolist() for v, n in model.view_feature_names_in_.items()} == VIEWS
    assert model.feature_names_in_.tolist() == [*A.columns, *B.columns]
    model.set_params(views=None).fit({"a": A, "b": B.to_numpy()}, Y)
    assert list(model.view_feature_names_in_) == ["a"]
    model.fit([A.to_numpy(), B.to_numpy()], Y)
    assert not hasattr(model, "view_feature_names_in_")


def test_names_of_the_columns_are_saved(tmp_path):
    from consilience.io import load, save

    model = ConsilienceClassifier(n_estimators=10, random_state=0).fit(DATA, Y)
    save(model, tmp_path / "model.skops")
    names = load(tmp_path / "model.skops").view_feature_names_in_
    assert {view: columns.tolist() for view, columns in names.items()} == VIEWS


@pytest.mark.parametrize("routing", [False, True])
def test_labels_in_another_order_in_cross_validation(routing):
    with (
        sklearn.config_context(enable_metadata_routing=routing),
        pytest.raises(ValueError, match=r"is only in y; reorder y with data\.align\(y\)"),
    ):
        cross_val_score(LateFusionClassifier(), DATA, Y[::-1], cv=2, error_score="raise")


def test_predictions_of_tables_in_another_order():
    result = compare({"a": A, "b": B}, Y, methods=["Late fusion"], cv=2, repeats=1)
    with pytest.raises(ValueError, match="same row labels in a different order"):
        result.best_estimator_.predict({"a": A, "b": B[::-1]})
