"""Regressions: each of these was wrong once."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from conftest import FULL
from consilience import ConsilienceClassifier, MultiViewData, ViewTransformer, as_multiview
from consilience.benchmark import RECIPES
from consilience.boosting import ShareBoostClassifier
from consilience.datasets import make_multiview_classification
from consilience.fusion import (
    BestViewClassifier,
    EarlyFusionClassifier,
    LateFusionClassifier,
    StackingFusionClassifier,
)
from consilience.kernel import MKLClassifier, MVMLClassifier
from consilience.landmark import MVLSVMClassifier
from consilience.margin import SMVMEDClassifier

FUSION = [
    EarlyFusionClassifier,
    LateFusionClassifier,
    BestViewClassifier,
    StackingFusionClassifier,
]
RNG = np.random.RandomState(0)
Y = np.arange(60) % 2
A, B = RNG.randn(60, 3) + Y[:, None], RNG.randn(60, 4) + 2 * Y[:, None]
DATA = MultiViewData({"a": A, "b": B})


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_wide_tables(frame):
    wide = np.arange(3 * (20_000 if FULL else 4_000), dtype=float).reshape(3, -1)
    wide[1] = np.nan
    data = MultiViewData({"g": frame(wide)})  # minutes when it was quadratic
    assert data.present[:, 0].tolist() == [True, False, True]
    np.testing.assert_array_equal(data.to_array(), wide)


def test_columns_of_a_table_may_not_change_places():
    table = pd.DataFrame(A, columns=list("xyz"))
    model = LateFusionClassifier().fit({"a": table}, Y)
    with pytest.raises(ValueError, match=r"'a'.*different order: column 0 was 'x' and is 'z'"):
        model.predict({"a": table[["z", "y", "x"]]})
    with pytest.warns(UserWarning, match="view 'a' has no column names, but had some in fit"):
        predicted = model.predict({"a": A})
    np.testing.assert_array_equal(predicted, model.predict({"a": table}))


@pytest.mark.parametrize("kind", FUSION)
def test_one_vs_one_decisions_raise(kind):
    data, y = make_multiview_classification(90, n_classes=3, random_state=0)
    settings = {"voting": "sum"} if kind is LateFusionClassifier else {}
    with pytest.raises(ValueError, match="decision_function_shape='ovo'"):
        kind(SVC(decision_function_shape="ovo"), **settings).fit(data, y)


def test_unnamed_views_must_all_be_given():
    model = LateFusionClassifier().fit([A, B], Y)
    with pytest.raises(ValueError, match="X has 1 unnamed views, but 2 were seen in fit"):
        model.predict([B])
    with pytest.raises(ValueError, match="X has 3 unnamed views, but 2 were seen in fit"):
        model.predict([A, B, B])
    cube = np.stack([A, -A], axis=1)
    with pytest.raises(ValueError, match="X has 1 unnamed views"):
        LateFusionClassifier().fit(cube, Y).predict(cube[:, 1:])


def test_whole_numbers_are_widths_in_a_dict_too():
    X = np.hstack([A, B])
    model = LateFusionClassifier(views={"a": 3, "b": 4}).fit(X, Y)
    assert model._layout.widths == (3, 4)
    with pytest.raises(TypeError, match="a single column as a list of one"):
        LateFusionClassifier(views=[3, [4, 5]]).fit(X, Y)


@pytest.mark.parametrize("bad", [LinearRegression(), IsolationForest(), "svc", [SVC()], SVC])
@pytest.mark.parametrize("kind", [*FUSION, ShareBoostClassifier])
def test_only_classifiers(kind, bad):
    with pytest.raises(ValueError, match=r"must be a classifier|'estimator' parameter of"):
        kind(bad).fit(DATA, Y)


def test_final_estimator_must_be_a_classifier():
    with pytest.raises(
        ValueError, match=r"the outputs of the views \(final_estimator\) must be a classifier"
    ):
        StackingFusionClassifier(final_estimator=LinearRegression()).fit(DATA, Y)
    with pytest.raises(ValueError, match="'estimator' parameter of EarlyFusionClassifier"):
        EarlyFusionClassifier({"a": SVC(), "b": SVC()}).fit(DATA, Y)


def test_kernels_are_not_distances():
    K = rbf_kernel(B)
    near = LateFusionClassifier(KNeighborsClassifier(metric="precomputed"))
    with pytest.raises(ValueError, match=r"is a kernel view, but .* takes a precomputed distance"):
        near.fit(MultiViewData({"k": K}, kinds={"k": "kernel"}), Y)
    with pytest.raises(ValueError, match="is a distance view, but SVC takes a precomputed kernel"):
        LateFusionClassifier(SVC(kernel="precomputed"), voting="hard").fit(
            MultiViewData({"k": 1 - K}, kinds={"k": "distance"}), Y
        )


def test_masked_arrays_and_matrices():
    masked = np.ma.masked_array(A.copy(), mask=np.zeros_like(A, dtype=bool))
    masked[0] = np.ma.masked
    assert MultiViewData({"a": masked, "b": B}).present[0].tolist() == [False, True]
    with pytest.raises(TypeError, match="only float is supported"):
        MultiViewData({"a": np.ma.masked_array([[1]], mask=[[True]])})
    with pytest.warns(PendingDeprecationWarning), pytest.raises(TypeError, match=r"np\.matrix"):
        MultiViewData({"a": np.asmatrix(A)})


@pytest.mark.parametrize("estimator", [DecisionTreeClassifier(), RandomForestClassifier(5)])
def test_early_fusion_of_sparse_and_missing_views(estimator):
    data, y = make_multiview_classification(
        120, n_views=2, n_features=50, sparsity=0.9, missing_rate=0.2, random_state=0
    )
    assert EarlyFusionClassifier(estimator).fit(data, y).score(data, y) > 0.8
    complete = MultiViewData(dict(data.items()), present=np.ones((120, 2), dtype=bool))
    assert len(EarlyFusionClassifier(estimator).fit(complete, y).predict(data)) == 120


def test_early_fusion_with_a_view_that_nobody_has():
    present = np.c_[np.zeros(60, bool), np.ones(60, bool)]
    data = MultiViewData({"w": RNG.randn(60, 40), "b": B}, present=present)
    assert EarlyFusionClassifier(GaussianNB()).fit(data, Y).score(data, Y) > 0.8
    thin = MultiViewData({"t": sp.csr_array(np.where(B > 3, B, 0)), "a": A[:, :1] * 0})
    assert EarlyFusionClassifier(GaussianNB()).fit(thin, Y).score(thin, Y) > 0.5


# a completion by one view cannot complete the rows that lack it
@pytest.mark.filterwarnings("ignore:view .* stays missing in:UserWarning")
@pytest.mark.parametrize("name", RECIPES)
def test_recipes_take_sparse_and_missing_views(name):
    data, y = make_multiview_classification(
        90, n_views=2, n_features=30, sparsity=[0.9, 0], missing_rate=0.2, random_state=0
    )
    assert RECIPES[name].make_estimator(0).fit(data, y).score(data, y) > 0.5


@pytest.mark.parametrize("kind", FUSION)
@pytest.mark.parametrize(
    "settings", [{"enable_metadata_routing": True}, {"transform_output": "pandas"}]
)
def test_configuration_reaches_threads(kind, settings):
    weight = np.where(np.arange(60) % 3, 1.0, 2.0)
    answers = []
    with sklearn.config_context(**settings):
        for n_jobs in (1, 2):
            model = kind(**({} if kind is EarlyFusionClassifier else {"n_jobs": n_jobs}))
            answers.append(model.fit(DATA, Y, sample_weight=weight).decision_function(DATA))
    np.testing.assert_array_equal(*answers)


def test_documents_may_be_missing():
    texts = np.array(["red apple", None, "green pear", "green apple"] * 15, dtype=object)
    for given in (texts, pd.Series(texts), pl.Series(texts.tolist())):
        data = MultiViewData({"t": given, "b": B})
        assert data.present[:, 0].tolist() == [True, False, True, True] * 15
    model = make_pipeline(
        ViewTransformer({"t": TfidfVectorizer(), "b": "passthrough"}), LateFusionClassifier()
    )
    assert len(model.fit(data, Y).predict(data)) == 60
    tables = {
        "t": pd.DataFrame({"id": range(60), "note": ["red apple", "green pear"] * 30}),
        "b": pd.DataFrame({"id": range(60), "x": B[:, 0]}),
    }
    joined = MultiViewData.from_tables(tables, on="id")
    assert model.fit(joined, Y).score(joined, Y) > 0.9
    assert as_multiview([np.array(["a", "b"]), np.zeros((2, 3))]).widths == {"view0": 1, "view1": 3}


@pytest.mark.parametrize("kind", [BestViewClassifier, StackingFusionClassifier])
def test_zero_weights_are_absent_rows(kind):
    weight = (np.arange(60) < 40).astype(float)
    dropped = kind(GaussianNB()).fit(DATA[:40], Y[:40]).decision_function(DATA)
    weighed = kind(GaussianNB()).fit(DATA, Y, sample_weight=weight).decision_function(DATA)
    np.testing.assert_allclose(weighed, dropped)
    splits = [(np.arange(40), np.arange(40, 60))]
    with pytest.raises(ValueError, match="no test row of split 0 has a positive sample_weight"):
        kind(cv=splits).fit(DATA, Y, sample_weight=weight)


def test_transformer_of_a_view_that_is_absent_in_a_fold():
    present = np.c_[np.isin(np.arange(60), [0, 1]), np.ones(60, bool)]
    rare = MultiViewData({"a": A, "b": B}, present=present)
    step = ViewTransformer(StandardScaler())
    with pytest.warns(UserWarning, match="view 'a' is missing in every training row"):
        step.fit(rare[10:])
    assert not step.transform(rare).present[:, 0].any()
    model = make_pipeline(step, LateFusionClassifier())
    with pytest.warns(UserWarning, match="view 'a'"):
        assert cross_val_score(model, rare, Y, cv=KFold(5), error_score="raise").mean() > 0.5


def test_names_of_views_and_names_of_parameters():
    model = LateFusionClassifier({"estimator": SVC(), "views": SVC(), "a__x": SVC(), "n": None})
    params = model.get_params()
    assert params["views"] is None
    assert "views__C" not in params
    assert model.set_params(a__x__C=3).estimator["a__x"].C == 3
    with pytest.raises(ValueError, match="view 'n' has None, which is not an estimator"):
        model.set_params(n__C=1)
    with pytest.raises(ValueError, match="estimator is a dict; name the view"):
        model.set_params(estimator__C=1)


def test_tables_in_another_order_are_not_joined_by_position():
    turned = pd.DataFrame(B, index=range(59, -1, -1))
    with pytest.raises(ValueError, match=r"same row labels in a different order.*from_tables"):
        MultiViewData({"a": pd.DataFrame(A), "b": turned})


def test_views_whose_names_are_the_same_text():
    both = pd.concat({0: pd.DataFrame(A), "0": pd.DataFrame(B)}, axis=1)
    with pytest.raises(ValueError, match="view names must be distinct as strings"):
        as_multiview(both)


def test_ids_keep_their_identity():
    table = pd.DataFrame({"id": pd.Series([1, "1", 2], dtype=object), "x": [1.0, 2.0, 3.0]})
    with pytest.raises(TypeError, match="different types"):
        MultiViewData.from_tables({"a": table}, on="id")
    mixed = MultiViewData({"a": A[:3]}, sample_ids=[1, "1", (2, 3)])
    assert mixed.sample_ids.tolist() == [1, "1", (2, 3)]
    days = pd.date_range("2020", periods=3)
    dated = MultiViewData({"a": A[:3]}, sample_ids=days)
    assert dated.sample_ids.tolist() == list(days)
    with pytest.raises(ValueError, match="None or NaN"):
        MultiViewData({"a": A[:2]}, sample_ids=[1.0, np.nan])


def test_numbers_in_object_and_nullable_columns():
    frame = pd.DataFrame(
        {
            "o": pd.Series([1, 2.5] * 30, dtype=object),
            "s": pd.arrays.SparseArray([0.0, 5.0] * 30),
            "n": pd.array([1, None] * 30, dtype="Int64"),
        }
    )
    array = MultiViewData({"f": frame}).to_array()
    np.testing.assert_array_equal(array[:2], [[1, 0, 1], [2.5, 5, np.nan]])
    declared = frame.assign(c=pd.Series([3, 4] * 30, dtype="category"))
    with pytest.raises(ValueError, match="view 'f' has non-numeric columns: 'c'"):
        MultiViewData({"f": declared}).to_array()
    dated = pd.DataFrame({"x": A[:, 0], "d": pd.date_range("2020", periods=60)})
    with pytest.raises(ValueError, match=r"view 'X' has non-numeric columns: 'd'"):
        LateFusionClassifier().fit(dated, Y)
    with pytest.raises(TypeError, match=r"lazy frame; collect\(\)"):
        LateFusionClassifier().fit(pl.LazyFrame({"x": [1.0]}), Y)
    double = pd.DataFrame(A, columns=["x", "x", "y"])
    with pytest.raises(ValueError, match="view 'a' has duplicate column names: 'x'"):
        MultiViewData({"a": double})


@pytest.mark.parametrize("value", [-1.0, 0, np.nan, "a"])
def test_class_weights_are_positive(value):
    with pytest.raises(ValueError, match=r"'class_weight' parameter .* positive number"):
        EarlyFusionClassifier(class_weight={0: value}).fit(DATA, Y)


def test_weights_through_nested_estimators():
    weight = np.where(np.arange(60) % 3, 1.0, 2.0)
    nested = make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), LogisticRegression()))
    search = GridSearchCV(LogisticRegression(), {"C": [1, 10]}, cv=2)
    for good in (nested, search):
        assert LateFusionClassifier(good).fit(DATA, Y, sample_weight=weight).score(DATA, Y) > 0.8
    for bad in (OneVsRestClassifier(LogisticRegression()), GridSearchCV(nested, {}, cv=2)):
        with pytest.raises(ValueError, match="does not support sample_weight"):
            LateFusionClassifier(bad).fit(DATA, Y, sample_weight=weight)


def test_cross_validation_settings():
    share = StackingFusionClassifier(GaussianNB(), cv=np.float32(0.5), random_state=0)
    same = StackingFusionClassifier(GaussianNB(), cv=0.5, random_state=0)
    np.testing.assert_allclose(
        share.fit(DATA, Y).decision_function(DATA),
        same.fit(DATA, Y).decision_function(DATA),
        atol=1e-6,
    )
    half = np.arange(60) < 30
    masks = [(half, ~half), (~half, half)]
    assert BestViewClassifier(cv=masks).fit(DATA, Y).score(DATA, Y) > 0.8
    with pytest.raises(ValueError, match="cv has no splits"):
        StackingFusionClassifier(cv=[]).fit(DATA, Y)
    with pytest.raises(ValueError, match="cv has row 60, but there are 60 rows"):
        StackingFusionClassifier(cv=[([0], [60])]).fit(DATA, Y)
    mask = np.arange(59) < 30
    with pytest.raises(ValueError, match="cv has a mask of 59 rows, but there are 60"):
        StackingFusionClassifier(cv=[(mask, ~mask)]).fit(DATA, Y)


def test_stacked_decision_values_are_filled_on_their_own_scale():
    data, y = make_multiview_classification(120, n_views=2, missing_rate=0.3, random_state=0)
    model = StackingFusionClassifier(LinearSVC()).fit(data, y)
    stacked = model._stack(data)
    for v in range(2):
        missing = ~data.present[:, v]
        assert np.ptp(stacked[missing, v]) == 0
        assert abs(stacked[missing, v][0]) < np.abs(stacked[~missing, v]).mean()


@pytest.mark.parametrize(
    ("nullable", "dtype"),
    [
        *[("Int64", np.int64), ("UInt8", np.uint8), ("boolean", np.bool_)],
        *[("int64[pyarrow]", np.int64), ("bool[pyarrow]", np.bool_)],
    ],
)
def test_nullable_labels_of_pandas_do_not_become_floats(nullable, dtype):
    y = pd.Series([0, 1] * 30, dtype=nullable)
    model = LateFusionClassifier().fit(DATA, y)
    assert model.classes_.dtype == dtype
    assert model.predict(DATA).dtype == dtype
    assert 0 <= model.score(DATA, y) <= 1
    assert LateFusionClassifier().fit(DATA, y.to_frame()).classes_.dtype == dtype


def test_masked_labels_and_weights_are_errors():
    y = np.ma.masked_array(Y, mask=np.arange(60) == 7)
    for model in (LateFusionClassifier(), ConsilienceClassifier()):
        with pytest.raises(ValueError, match="y is masked in row 7"):
            model.fit(DATA, y)
        with pytest.raises(ValueError, match="sample_weight is masked in row 7"):
            model.fit(DATA, Y, sample_weight=np.ma.masked_array(np.ones(60), mask=y.mask))


PAIRWISE = [
    ConsilienceClassifier,
    MKLClassifier,
    MVLSVMClassifier,
    MVMLClassifier,
    SMVMEDClassifier,
]


@pytest.mark.parametrize("method", PAIRWISE)
def test_pairwise_views_are_what_they_are_said_to_be(method):
    similarities = np.corrcoef(DATA["a"])
    ids = range(100, 160)

    def data(matrix, kind):
        return MultiViewData({"k": matrix, "b": DATA["b"]}, kinds={"k": kind}, sample_ids=ids)

    with pytest.raises(ValueError, match=r"view 'k' holds distances, but has -[0-9.]+ < 0 in row"):
        method().fit(data(similarities, "distance"), Y)
    kernel = similarities.copy()
    kernel[3, 40] += 1
    with pytest.raises(ValueError, match="view 'k' is not symmetric between the training samples"):
        method().fit(data(kernel, "kernel"), Y)
    kernel = similarities.copy()
    kernel[5, 7] = kernel[7, 5] = np.nan
    with pytest.raises(ValueError, match=r"view 'k', row (5|7), in the column of sample '?10(5|7)"):
        method().fit(data(kernel, "kernel"), Y)
    rounded = 1e6 * (1 - similarities)
    rounded[3, 4] = rounded[4, 3] = -1e-4
    method().fit(data(rounded, "distance"), Y)
    rounded[3, 4] = rounded[4, 3] = -1e-2
    with pytest.raises(ValueError, match=r"view 'k' holds distances, but has -0.01 < 0 in row 3"):
        method().fit(data(rounded, "distance"), Y)
    distances = data(1 - similarities, "distance")
    model = method().fit(distances[:40], Y[:40])
    wrong = 1 - similarities
    wrong[50] = -0.5
    with pytest.raises(ValueError, match=r"holds distances, but has -0.5 < 0 in row 10"):
        model.predict(data(wrong, "distance")[40:])


def test_errors_of_labels_rows_and_kinds():
    with pytest.raises(TypeError, match=r"does not support rows without a label.* None in row 1"):
        LateFusionClassifier().fit(DATA, np.array(["a", None] * 30, dtype=object))
    with pytest.raises(ValueError, match="Input y contains NaN in row 1"):
        LateFusionClassifier().fit(DATA, np.array(["a", np.nan] * 30, dtype=object))
    with pytest.raises(ValueError, match="Input y contains NaN in row 1"):
        LateFusionClassifier().fit(DATA, pd.Series(["a", pd.NA] * 30, dtype="string"))
    with pytest.raises(ValueError, match="Input y contains NaN in row 1"):
        LateFusionClassifier().fit(DATA, pd.Series([0, pd.NA] * 30, dtype="Int64"))
    for y in (["a", 1] * 30, np.array(["a", 1] * 30, dtype=object)):
        with pytest.raises(TypeError, match="y has texts and other labels, such as 'a' and 1"):
            LateFusionClassifier().fit(DATA, y)
    with pytest.raises(TypeError, match="only be indexed by rows"):
        DATA[0:3, np.array([0, 1])]
    with pytest.raises(IndexError, match="row 60 is out of range for 60 samples"):
        DATA[60]
    with pytest.raises(TypeError, match="kinds must be a dict"):
        MultiViewData({"a": A}, kinds="kernel")
    assert LateFusionClassifier(views=np.array(["a"])).fit(DATA, Y).view_names_ == ["a"]
    for kind in FUSION:
        with pytest.raises(ValueError, match=r"0 sample\(s\)"):
            kind().fit(DATA, Y).predict(DATA[:0])
    again = pickle.loads(pickle.dumps(DATA))
    assert not again.present.flags.writeable
    assert not again.sample_ids.flags.writeable
