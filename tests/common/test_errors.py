"""Bad input: what is wrong, where, and what to do."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from common.estimators import CLASSIFIERS, TAKES_TABLES
from consilience import MultiViewData
from consilience.datasets import make_multiview_classification
from consilience.fusion import LateFusionClassifier

DATA, Y = make_multiview_classification(30, n_views=2, n_features=[2, 3], random_state=0)
A, B = DATA["view0"], DATA["view1"]


def changed(matrix, row, column, value):
    matrix = matrix.copy()
    matrix[row, column] = value
    return matrix


@pytest.fixture(params=CLASSIFIERS)
def model(request):
    return clone(CLASSIFIERS[request.param])


BAD_FITS = {
    "rows differ": (lambda: ([A, B[:-1]], Y), ValueError, r"'view0' has 30, 'view1' has 29"),
    "partly NaN": (
        lambda: ({"a": A, "b": changed(B, 4, 2, np.nan)}, Y),
        ValueError,
        r"NaN: view 'b' is partially missing in row 4 \(column 2\).*SimpleImputer",
    ),
    "inf": (
        lambda: ({"a": changed(A, 7, 1, -np.inf), "b": B}, Y),
        ValueError,
        r"infinity: view 'a', row 7, column 1",
    ),
    "inf in sparse": (
        lambda: ({"a": sp.csr_array(changed(A, 7, 1, np.inf)), "b": B}, Y),
        ValueError,
        r"infinity: view 'a', row 7, column 1",
    ),
    "one class": (lambda: (DATA, np.zeros(30)), ValueError, r"at least 2 classes.*1 class: 0\.0"),
    "no columns": (lambda: ([A, B[:, :0]], Y), ValueError, r"view 'view1' has no columns"),
    "no rows": (lambda: ([A[:0], B[:0]], Y[:0]), ValueError, r"0 sample\(s\)"),
    "no views": (lambda: ({}, Y), ValueError, r"at least one view"),
    "no labels": (lambda: (DATA, None), ValueError, r"requires y to be passed"),
    "labels differ": (lambda: (DATA, Y[:-2]), ValueError, r"X has 30 samples, but y has 28"),
    "labels continuous": (lambda: (DATA, Y + 0.5), ValueError, r"(?i)continuous"),
    "empty rows": (
        lambda: (MultiViewData({"a": A, "b": B}, present=np.arange(60).reshape(30, 2) > 5), Y),
        ValueError,
        r"3 training rows have no view at all.*rows 0, 1, 2",
    ),
    "text": (
        lambda: ({"a": A, "t": np.array(["some words"] * 30)}, Y),
        TypeError,
        r"view 't' contains raw text.*TfidfVectorizer",
    ),
    "categories": (
        lambda: ({"a": A, "f": pd.DataFrame({"n": A[:, 0], "colour": ["red"] * 30})}, Y),
        ValueError,
        r"view 'f' has non-numeric columns: 'colour'",
    ),
    "complex": (lambda: ([A, B * 1j], Y), ValueError, r"Complex data not supported: view 'view1'"),
    "one-dimensional view": (
        lambda: ([A, B[:, 0]], Y),
        ValueError,
        r"view 'view1' must be two-dimensional.*reshape\(-1, 1\)",
    ),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("case", BAD_FITS)
def test_fit(model, case):
    make, error, message = BAD_FITS[case]
    if case in ("partly NaN", "categories") and type(model).__name__ in TAKES_TABLES:
        model.fit(*make())
        return
    with pytest.raises(error, match=message):
        model.fit(*make())


BAD_VIEWS = {
    "overlap": (
        [slice(0, 3), slice(2, 5)],
        r"views overlap: column 2 is in both 'view0' and 'view1'",
    ),
    "twice": ({"a": [0, 0]}, r"view 'a' contains column 0 twice"),
    "empty group": ({"a": slice(0, 5), "b": []}, r"view 'b' .* selects no column of X"),
    "beyond": ({"a": [0, 9]}, r"view 'a' contains column 9, but X has n_features = 5"),
    "sizes": ([2, 2], r"adds up to 4 columns, but X has n_features = 5"),
    "zero size": ([5, 0], r"at least one column"),
    "names without names": ({"a": ["x", "y"]}, r"view 'a' refers to columns by name, but"),
    "view names": (["text", "image"], r"selects views by name, but X is one matrix"),
    "nothing": ([], r"views must contain at least one view"),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("case", BAD_VIEWS)
def test_views_parameter(model, case):
    views, message = BAD_VIEWS[case]
    with pytest.raises(ValueError, match=message):
        model.set_params(views=views).fit(np.hstack([A, B]), Y)


@pytest.mark.parametrize("views", ["abc", 3, slice(0, 2)])
def test_views_of_a_wrong_type(model, views):
    with pytest.raises(TypeError, match=r"'views' parameter of .* must be None or a list of"):
        model.set_params(views=views).fit(np.hstack([A, B]), Y)


def test_unknown_column_names(model):
    frame = pd.DataFrame(np.hstack([A, B]), columns=list("pqrst"))
    with pytest.raises(ValueError, match=r"view 'a' refers to columns that X does not have: 'z'"):
        model.set_params(views={"a": ["p", "z"]}).fit(frame, Y)


def test_unknown_view_names(model):
    with pytest.raises(ValueError, match=r"views= contains 'c', but X has the views 'a', 'b'"):
        model.set_params(views=["a", "c"]).fit({"a": A, "b": B}, Y)


def test_groups_for_a_container(model):
    with pytest.raises(ValueError, match=r"groups the columns of a single matrix, but X already"):
        model.set_params(views=[2, 3]).fit({"a": A, "b": B}, Y)


BAD_PREDICTIONS = {
    "unknown view": (lambda: {"a": A, "b": B, "c": B}, r"not seen in fit: 'c'.*are 'a', 'b'"),
    "width": (lambda: {"a": A, "b": B[:, :2]}, r"view 'b' has 2 columns, but had 3 in fit"),
    "names lost": (lambda: [A, B], r"has no view names.*fitted on the views 'a', 'b'"),
    "stacked": (lambda: np.hstack([A, B]), r"has no view names.*the views 'a', 'b'"),
    "kind": (
        lambda: MultiViewData({"a": A, "b": np.eye(30)}, kinds={"b": "kernel"}),
        r"view 'b' was a features view in fit but is a kernel view now",
    ),
    "rows differ": (lambda: {"a": A, "b": B[:-1]}, r"'a' has 30, 'b' has 29"),
    "partly NaN": (
        lambda: {"a": changed(A, 1, 0, np.nan), "b": B},
        r"view 'a' is partially missing in row 1 \(column 0\)",
    ),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("case", BAD_PREDICTIONS)
def test_predict(model, case):
    make, message = BAD_PREDICTIONS[case]
    model.fit({"a": A, "b": B}, Y)
    if case == "partly NaN" and type(model).__name__ in TAKES_TABLES:
        assert len(model.predict(make())) == 30
        return
    with pytest.raises(ValueError, match=message):
        model.predict(make())


def test_not_fitted(model):
    with pytest.raises(NotFittedError):
        model.predict(DATA)


def test_missing_rows_get_the_prior_with_a_warning(model):
    y = np.where(np.arange(30) % 3 == 0, "rare", "often")
    model.fit({"a": A, "b": B}, y)
    present = np.ones((30, 2), dtype=bool)
    present[[3, 5]] = False
    with pytest.warns(UserWarning, match=r"2 rows have no view at all.*rows 3, 5"):
        answer = model.predict(MultiViewData({"a": A, "b": B}, present=present))
    assert answer[[3, 5]].tolist() == ["often", "often"]


def test_container_may_lack_a_fitted_view(model):
    model.fit({"a": A, "b": B}, Y)
    assert len(model.predict({"b": B})) == 30


def test_views_select_by_name(model):
    model.set_params(views=["b"]).fit({"a": A, "b": B}, Y)
    assert model.view_names_ == ["b"]
    np.testing.assert_array_equal(model.predict({"a": A, "b": B}), model.predict({"b": B}))


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.zeros(30), "all values are zero"),
        (np.r_[-1.0, np.ones(29)], "negative in row 0"),
        (np.ones(29), r"shape == \(29,\)"),
        (np.r_[np.nan, np.ones(29)], "sample_weight contains NaN"),
    ],
)
def test_sample_weight(model, weight, message):
    with pytest.raises(ValueError, match=message):
        model.fit(DATA, Y, sample_weight=weight)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("class_weight", "error", "message"),
    [
        ("even", ValueError, "'class_weight' parameter of .* must be .*'balanced'.*Got 'even'"),
        ({5: 1.0}, ValueError, "classes that are not in y: 5"),
        (3, TypeError, "'class_weight' parameter of .* must be .*'balanced'.*Got 3"),
    ],
)
def test_class_weight(model, class_weight, error, message):
    # trust passes data on to an estimator that has its own
    names = [n for n in ("class_weight", "estimator__class_weight") if n in model.get_params()]
    if not names:
        assert type(model).__module__.startswith("consilience.boosting")
        return
    assert names[0] == "class_weight" or type(model).__module__.startswith("consilience.trust")
    with pytest.raises(error, match=message):
        model.set_params(**{names[0]: class_weight}).fit(DATA, Y)


def test_names_lost_in_a_pipeline():
    frame = pd.DataFrame(np.hstack([A, B]), columns=list("pqrst"))
    groups = {"a": ["p", "q"], "b": ["r", "s", "t"]}
    model = make_pipeline(StandardScaler(), LateFusionClassifier(views=groups))
    with pytest.raises(ValueError, match=r"no column names.*set_output\(transform='pandas'\)"):
        model.fit(frame, Y)
    model[0].set_output(transform="pandas")
    assert len(model.fit(frame, Y).predict(frame)) == 30


def test_estimator_that_cannot_be_weighted():
    from sklearn.neighbors import KNeighborsClassifier

    model = LateFusionClassifier(KNeighborsClassifier())
    assert model.fit(DATA, Y).score(DATA, Y) > 0.5
    with pytest.raises(ValueError, match=r"KNeighborsClassifier on view 'view0' does not support"):
        model.fit(DATA, Y, sample_weight=np.arange(1, 31))


def test_error_of_the_estimator_says_which_view():
    from sklearn.naive_bayes import GaussianNB

    with pytest.raises(TypeError) as caught:
        LateFusionClassifier(GaussianNB()).fit({"a": A, "t": sp.csr_array(B)}, Y)
    assert caught.value.__notes__ == ["raised by the estimator GaussianNB on view 't'"]


def test_voting_that_the_estimator_lacks():
    with pytest.raises(ValueError, match=r"requires predict_proba, which SVC of view 'view0'"):
        LateFusionClassifier(SVC()).fit(DATA, Y)
    with pytest.raises(ValueError, match=r"among \{'hard', 'soft', 'sum'\}\. Got 'loud'"):
        LateFusionClassifier(voting="loud").fit(DATA, Y)
