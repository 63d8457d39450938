"""Views as complete numeric columns: categories, empty cells, scaling."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from consilience import ConsilienceClassifier, MultiViewData
from consilience.fusion import LateFusionClassifier
from consilience.io import load, save
from consilience.views import ViewPreparer
from consilience.views._encode import encode_tables, fit_table_codes
from consilience.views._preparation import ColumnPreparer

FRAMES = [pd.DataFrame, pl.DataFrame, pa.table]
COLUMNS = {
    "age": [20.0, None, 40.0, 60.0],
    "site": ["b", None, "a", "a"],
    "count": [1, 2, 3, 4],
    "smoker": [True, False, True, True],
}


def numbers(n=60, d=5, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.randn(n, d) * 10.0 ** rng.randint(-3, 4, d) + rng.randn(d)
    X[rng.rand(n, d) < 0.1] = np.nan
    return X


# -- numeric arrays --------------------------------------------------------------------------


def test_equals_scikit_learn_on_numbers():
    X, new = numbers(), numbers(seed=1)
    imputer = SimpleImputer().fit(X)
    scaler = make_pipeline(SimpleImputer(), StandardScaler()).fit(X)
    plain, scaled = ColumnPreparer().fit(X), ColumnPreparer(scale="standard").fit(X)
    for rows in (X, new):
        np.testing.assert_allclose(plain.transform(rows), imputer.transform(rows), rtol=1e-12)
        np.testing.assert_allclose(scaled.transform(rows), scaler.transform(rows), atol=1e-12)


def test_equals_standard_scaler_on_complete_numbers():
    X, new = np.nan_to_num(numbers()), np.nan_to_num(numbers(seed=1))
    expected = StandardScaler().fit(X).transform(new)
    np.testing.assert_allclose(ColumnPreparer(scale="standard").fit(X).transform(new), expected)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int8, bool])
def test_complete_array_is_returned_unchanged(dtype):
    X = np.arange(12).reshape(4, 3).astype(dtype)
    assert ColumnPreparer().fit(X).transform(X) is X


def test_dtypes():
    X = numbers().astype(np.float32)
    for scale in (None, "standard", "variance"):
        assert ColumnPreparer(scale=scale).fit_transform(X).dtype == np.float32
    exact = ColumnPreparer(scale="standard").fit_transform(X.astype(np.float64))
    np.testing.assert_allclose(ColumnPreparer(scale="standard").fit_transform(X), exact, atol=1e-6)
    for X in (np.arange(6).reshape(3, 2), np.eye(3, dtype=bool), np.eye(3, dtype=np.float16)):
        out = ColumnPreparer(scale="standard").fit_transform(X)
        assert out.dtype == np.float64
        np.testing.assert_allclose(out, StandardScaler().fit_transform(X.astype(float)))
    cells = np.array([[1, None], [3, 2.0]], dtype=object)
    np.testing.assert_array_equal(ColumnPreparer().fit_transform(cells), [[1, 2], [3, 2]])


def test_new_empty_cells_are_imputed_with_training_means():
    X = np.array([[1.0, 10.0], [3.0, 30.0]])
    new = np.array([[np.nan, 40.0], [5.0, np.nan]])
    np.testing.assert_array_equal(ColumnPreparer().fit(X).transform(new), [[2, 40], [5, 20]])
    scaled = ColumnPreparer(scale="standard").fit(X).transform(new)
    np.testing.assert_allclose(scaled, [[0, 2], [3, 0]])
    integers = ColumnPreparer().fit(X.astype(int))
    np.testing.assert_array_equal(integers.transform(new), [[2, 40], [5, 20]])
    assert np.isnan(new).sum() == 2


@pytest.mark.parametrize("scale", [None, "standard", "variance"])
def test_column_that_is_empty_in_training_becomes_zero(scale):
    X = np.array([[np.nan, 1.0], [np.nan, 2.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (ColumnPreparer(scale=scale).fit_transform(X)[:, 0] == 0).all()
        frame = pd.DataFrame(X, columns=["a", "b"])
        assert (ColumnPreparer(scale=scale).fit_transform(frame)[:, 0] == 0).all()


def test_constant_columns_become_zero():
    X = np.column_stack([np.full(7, 0.1), np.full(7, 1e300), np.zeros(7), np.arange(7)])
    preparer = ColumnPreparer(scale="standard").fit(X)
    assert (preparer.transform(X)[:, :3] == 0).all()
    assert (preparer.transform(X + 5)[:, :3] == 0).all()


def test_large_offsets_and_huge_values():
    Z = np.random.RandomState(0).randn(50, 1)
    Z = (Z - Z.mean()) / Z.std()
    out = ColumnPreparer(scale="standard").fit_transform(Z + 1e9)
    np.testing.assert_allclose(out, Z, atol=1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        huge = ColumnPreparer(scale="standard").fit_transform(Z / np.abs(Z).max() * 1.7e308)
    np.testing.assert_allclose(huge, Z, atol=1e-9)


def test_infinite_values_are_left_for_the_classifier_to_name():
    X = np.arange(20.0).reshape(10, 2)
    X[4, 1] = np.inf
    for scale in (None, "standard", "variance"):
        out = ColumnPreparer(scale=scale).fit_transform(X)
        assert np.argwhere(~np.isfinite(out)).tolist() == [[4, 1]]
    model = make_pipeline(ViewPreparer(scale="standard"), LateFusionClassifier())
    with pytest.raises(ValueError, match="infinity: view 'a', row 4, column 1"):
        model.fit({"a": X}, np.arange(10) % 2)


# -- dataframes ------------------------------------------------------------------------------


@pytest.mark.parametrize("frame", FRAMES)
def test_dataframe_libraries_agree(frame):
    expected = [[20, 0, 1, 1, 1], [40, 0, 0, 2, 0], [40, 1, 0, 3, 1], [60, 1, 0, 4, 1]]
    np.testing.assert_array_equal(ColumnPreparer().fit_transform(frame(COLUMNS)), expected)
    scaled = ColumnPreparer(scale="standard").fit_transform(frame(COLUMNS))
    np.testing.assert_array_equal(scaled[:, 1:3], np.array(expected)[:, 1:3])
    np.testing.assert_allclose(scaled[:, 0], np.array([-1, 0, 0, 1]) * np.sqrt(2))
    expected = StandardScaler().fit_transform(np.array(expected, float)[:, 3:])
    np.testing.assert_allclose(scaled[:, 3:], expected)


@pytest.mark.parametrize("frame", FRAMES)
def test_unknown_categories_are_zero_in_all_columns(frame):
    preparer = ColumnPreparer().fit(frame(COLUMNS))
    new = {"age": [None], "site": ["unknown"], "count": [7], "smoker": [False]}
    np.testing.assert_array_equal(preparer.transform(frame(new)), [[40, 0, 0, 7, 0]])


def test_categories_are_those_of_the_default_classifier():
    rng = np.random.RandomState(0)
    sites = [f"s{k}" for k in rng.geometric(0.03, 300)]
    data = MultiViewData({"f": pd.DataFrame({"site": sites, "x": rng.randn(300)})})
    expected = encode_tables(data, fit_table_codes(data))
    prepared = ViewPreparer().fit_transform(data)
    assert prepared.widths == {"f": 31}
    np.testing.assert_array_equal(prepared["f"], expected["f"])


def test_numbers_of_dtype_category_are_categories():
    frame = pd.DataFrame({"grade": pd.Categorical([1, 3, None]), "x": [1.0, 2.0, 3.0]})
    out = ColumnPreparer().fit_transform(frame)
    np.testing.assert_array_equal(np.sort(out[:, :-1], axis=1)[:2], [[0, 1], [0, 1]])
    assert (out[0, :-1] != out[1, :-1]).all()
    np.testing.assert_array_equal(out[2, :-1], 0)
    np.testing.assert_array_equal(out[:, -1], frame["x"])


def test_nullable_pandas_columns():
    frame = pd.DataFrame(
        {
            "n": pd.array([1, None, 3], dtype="Int64"),
            "b": pd.array([True, None, False], dtype="boolean"),
            "s": pd.array(["u", None, "v"], dtype="string"),
        }
    )
    out = ColumnPreparer().fit_transform(frame)
    np.testing.assert_array_equal(out, [[1, 1, 1, 0], [2, 0.5, 0, 0], [3, 0, 0, 1]])


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("other", [{}, {"c": ["u", "v"]}], ids=["numbers", "with text"])
def test_column_that_is_no_longer_numeric(frame, other):
    preparer = ColumnPreparer(view_name="blood").fit(frame({"x": [1.0, 2.0], **other}))
    with pytest.raises(ValueError, match="view 'blood': column 'x' was numeric in fit but is not"):
        preparer.transform(frame({"x": ["high", "low"], **other}))


def test_other_columns_than_in_fit():
    preparer = ColumnPreparer(view_name="v").fit(pd.DataFrame(COLUMNS))
    with pytest.raises(ValueError, match="view 'v' has 2 columns, but had 4 in fit"):
        preparer.transform(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="column 0 was 'age' and is 'smoker' now"):
        preparer.transform(pd.DataFrame(COLUMNS)[["smoker", "site", "count", "age"]])
    with pytest.raises(ValueError, match="had categorical columns in fit but is not a dataframe"):
        preparer.transform(np.zeros((3, 4)))
    dated = pd.DataFrame({"d": pd.date_range("2020", periods=3)})
    with pytest.raises(ValueError, match="neither numeric nor categorical: 'd'"):
        ColumnPreparer().fit(dated)
    dated["d"] = dated["d"].dt.to_period("D")
    with pytest.raises(ValueError, match="column 'd' are no numbers, texts or categories"):
        ColumnPreparer().fit(dated)


def test_numeric_table_and_array_are_interchangeable():
    X = numbers()
    frame = pd.DataFrame(X, columns=list("abcde"))
    on_frame, on_array = (
        ColumnPreparer(scale="standard").fit(frame),
        ColumnPreparer(scale="standard").fit(X),
    )
    for preparer in (on_frame, on_array):
        np.testing.assert_allclose(preparer.transform(X), preparer.transform(frame))


# -- sparse views ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", [sp.csr_array, sp.csr_matrix, sp.csc_array, sp.coo_array, sp.csc_matrix]
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8, bool])
def test_sparse_formats(kind, dtype):
    X = np.array([[0, 3, 0], [-4, 0, 0], [2, 6, 0]]).astype(dtype)
    plain = ColumnPreparer().fit(kind(X)).transform(kind(X))
    np.testing.assert_array_equal(plain.toarray(), X)
    assert plain.dtype == dtype
    scaled = ColumnPreparer(scale="standard").fit_transform(kind(X))
    assert scaled.dtype == (np.float32 if dtype == np.float32 else np.float64)
    np.testing.assert_allclose(scaled.toarray(), MaxAbsScaler().fit_transform(X.astype(float)))
    assert scaled.nnz == np.count_nonzero(X)


def test_sparse_view_is_returned_unchanged():
    X = sp.csr_array(np.eye(3))
    assert ColumnPreparer().fit(X).transform(X) is X


def test_nan_in_sparse_views_is_left_for_the_classifier_to_name():
    X = sp.csr_array(np.arange(20.0).reshape(10, 2))
    X.data[4] = np.nan
    out = ColumnPreparer(scale="standard").fit_transform(X)
    assert np.flatnonzero(np.isnan(out.data)).tolist() == [4]
    model = make_pipeline(ViewPreparer(scale="standard"), LateFusionClassifier())
    with pytest.raises(ValueError, match="view 'a' is partially missing in row 2"):
        model.fit({"a": X}, np.arange(10) % 2)


def test_storage_is_that_of_fit():
    X = np.where(np.nan_to_num(numbers()) > 0, 1.0, 0.0)
    on_sparse = ColumnPreparer(scale="standard").fit(sp.csr_array(X))
    assert sp.issparse(on_sparse.transform(X))
    on_dense = ColumnPreparer(scale="standard").fit(X)
    np.testing.assert_array_equal(on_dense.transform(sp.csr_array(X)), on_dense.transform(X))


# -- several views ---------------------------------------------------------------------------


def mixed_data(n=40):
    rng = np.random.RandomState(0)
    y = np.arange(n) % 2
    table = pd.DataFrame({"x": rng.randn(n) + y, "c": rng.choice(["u", "v", None], n)})
    table.loc[3, "x"] = np.nan
    points = rng.randn(n, 3) + y[:, None]
    present = rng.rand(n, 4) > 0.2
    present[:, 3] = True
    views = {
        "table": table,
        "array": points,
        "sparse": sp.csr_array(np.where(points > 0.5, points, 0)),
        "kernel": rbf_kernel(points),
    }
    return MultiViewData(views, present=present, kinds={"kernel": "kernel"}), y


def test_missing_views_stay_missing_and_are_not_learned_from():
    data, _ = mixed_data()
    prepared = ViewPreparer(scale="standard").fit(data[:30]).transform(data)
    np.testing.assert_array_equal(prepared.present, data.present)
    for v, name in enumerate(("table", "array")):
        mask = data.present[:, v]
        view = data[name][mask]
        expected = ColumnPreparer(scale="standard").fit(view[: mask[:30].sum()]).transform(view)
        np.testing.assert_array_equal(prepared[name][mask], expected)
        assert np.isnan(prepared[name][~mask]).all()
    assert sp.issparse(prepared["sparse"])


def test_view_absent_from_new_data_or_from_training():
    data, _ = mixed_data()
    step = ViewPreparer().fit(data)
    alone = step.transform(data.select(["array", "kernel"]))
    assert alone.view_names == data.view_names
    assert not alone.present[:, [0, 2]].any()
    present = np.array(data.present)
    present[:, 1] = False
    unseen = MultiViewData({n: data[n] for n in data.view_names}, present, kinds=data.kinds)
    with pytest.warns(UserWarning, match="view 'array' is missing in every training row"):
        step = ViewPreparer().fit(unseen)
    assert not step.transform(data).present[:, 1].any()


def test_kernel_views_are_untouched():
    data, _ = mixed_data()
    prepared = ViewPreparer(scale="standard").fit(data[:30]).transform(data)
    assert prepared["kernel"] is data["kernel"]
    assert prepared.kinds == data.kinds
    np.testing.assert_array_equal(prepared.column_ids["kernel"], data.column_ids["kernel"])


def test_documents_need_a_vectoriser():
    data = MultiViewData({"text": np.array(["red apple", "green pear"]), "b": np.eye(2)})
    with pytest.raises(TypeError, match=r"view 'text' contains raw text; .*TfidfVectorizer"):
        ViewPreparer().fit(data)
    with pytest.raises(TypeError, match="view 'X' contains raw text"):
        ColumnPreparer().fit(np.array(["red apple", "green pear"]))


def test_errors_name_the_view():
    step = ViewPreparer().fit({"a": pd.DataFrame({"x": [1.0, 2.0]}), "b": np.eye(2)})
    with pytest.raises(ValueError, match="view 'a': column 'x' was numeric"):
        step.transform({"a": pd.DataFrame({"x": ["u", "v"]}), "b": np.eye(2)})
    with pytest.raises(ValueError, match="view 'b' has dtype"):
        ViewPreparer().fit({"b": np.array([["u", "v"], ["w", "x"]])})


def test_column_groups_of_a_table():
    step = ViewPreparer(views={"a": ["age", "site"], "b": ["count"]})
    prepared = step.fit_transform(pd.DataFrame(COLUMNS))
    assert prepared.widths == {"a": 3, "b": 1}


def test_copies_pickles_and_files_agree(tmp_path):
    data, _ = mixed_data()
    step = ViewPreparer(scale="standard").fit(data)
    assert clone(step).get_params() == {"scale": "standard", "views": None}
    save(step, tmp_path / "step.skops")
    copies = [
        clone(step).fit(data),
        pickle.loads(pickle.dumps(step)),
        load(tmp_path / "step.skops"),
    ]
    for copy in copies:
        for name in ("table", "array"):
            np.testing.assert_array_equal(copy.transform(data)[name], step.transform(data)[name])


def test_step_of_a_pipeline():
    data, y = mixed_data()
    rows = data.present[:, :3].any(axis=1)
    data, y = data.select(["table", "array", "sparse"])[rows], y[rows]
    model = make_pipeline(ViewPreparer(), LateFusionClassifier()).set_params(
        viewpreparer__scale="standard"
    )
    assert cross_val_score(model, data, y, cv=4).mean() > 0.6


def test_model_file_of_the_default_on_tables(tmp_path):
    data, y = mixed_data()
    rows = data.present[:, 0]
    data, y = data.select(["table"])[rows], y[rows]
    model = ConsilienceClassifier(n_estimators=10, random_state=0).fit(data, y)
    save(model, tmp_path / "model.skops")
    np.testing.assert_array_equal(
        load(tmp_path / "model.skops").predict_proba(data), model.predict_proba(data)
    )
