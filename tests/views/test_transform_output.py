"""ViewTransformer: names of columns, dataframes, views that are dropped or not listed."""

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KernelCenterer,
    MaxAbsScaler,
    OneHotEncoder,
    StandardScaler,
)

from consilience import MultiViewData, ViewTransformer
from consilience.fusion import LateFusionClassifier

RNG = np.random.RandomState(0)
A, B = RNG.randn(6, 2), RNG.randn(6, 3)
IDS = [f"p{i}" for i in range(6)]
FRAMES = {"a": pd.DataFrame(A, IDS, ["u", "v"]), "b": pd.DataFrame(B, IDS, ["x", "y", "z"])}
ARRAYS = {"a": A, "b": B}
Y = np.array([0, 1] * 3)


# -- dataframes ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "library", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"]
)
def test_dataframe_in_dataframe_out(library):
    columns = {"u": A[:, 0], "v": A[:, 1]}
    step = ViewTransformer(StandardScaler()).fit({"a": library(columns), "b": B})
    out = step.transform({"a": library(columns), "b": B})
    assert type(out["a"]) is type(library(columns))
    assert nw.from_native(out["a"]).columns == ["u", "v"]
    np.testing.assert_allclose(np.asarray(out["a"]), StandardScaler().fit_transform(A))
    assert isinstance(out["b"], np.ndarray)
    assert step.view_feature_names_in_["a"].tolist() == ["u", "v"]


def test_new_columns_get_the_names_of_the_transformer():
    data = {"a": FRAMES["a"], "c": pd.DataFrame({"c": list("rgrgrg")}, IDS)}
    step = ViewTransformer({"a": PCA(1), "c": OneHotEncoder(sparse_output=False)})
    out = step.fit_transform(data)
    assert list(out["a"].columns) == ["pca0"]
    assert list(out["c"].columns) == ["c_g", "c_r"]
    assert list(out["a"].index) == IDS
    names = step.get_feature_names_out().tolist()
    assert names == ["a__pca0", "c__c_g", "c__c_r"]


def test_missing_rows_of_dataframes_are_null_and_keep_their_labels():
    present = np.array([[False, True], [True, True]] * 3)
    data = MultiViewData(FRAMES, present=present)
    for transformer in (StandardScaler(), StandardScaler().set_output(transform="pandas")):
        out = ViewTransformer(transformer).fit_transform(data)
        assert list(out["a"].index) == IDS
        assert out["a"].loc[["p0", "p2", "p4"]].isna().all(axis=None)
        np.testing.assert_allclose(out["a"][present[:, 0]], StandardScaler().fit_transform(A[1::2]))
        np.testing.assert_array_equal(out.present, present)
    table = pd.DataFrame({"w": list("xyxyxy"), "n": range(6)}, IDS)
    data = MultiViewData({"a": table, "b": B}, present=present)
    out = ViewTransformer(FunctionTransformer()).fit_transform(data)
    assert out["a"]["w"].fillna("-").tolist() == list("-y-y-y")
    assert list(out["a"].index) == IDS


def test_outputs_without_names_stay_as_they_are():
    words = pd.DataFrame({"c": list("rgrgrg")}, IDS)
    data = {"a": FRAMES["a"], "b": FRAMES["b"], "c": words}
    nameless = make_pipeline(FunctionTransformer(np.asarray))
    out = ViewTransformer({"a": nameless, "b": FunctionTransformer(np.log1p), "c": OneHotEncoder()})
    with np.errstate(invalid="ignore"):
        out = out.fit_transform(data)
    assert isinstance(out["a"], np.ndarray)
    assert list(out["b"].columns) == ["x", "y", "z"]  # the function is applied to the dataframe
    assert out["c"].format == "csr"


def test_objects_and_all_dtypes_survive():
    frame = pl.DataFrame({"c": ["r", None, "r", "g", "g", "r"], "d": list("uvuvuv")})
    step = ViewTransformer(SimpleImputer(strategy="most_frequent", missing_values=None))
    out = step.fit_transform({"a": frame, "b": frame})["a"]
    assert out["c"].to_list() == ["r", "r", "r", "g", "g", "r"]
    half = pd.DataFrame(A.astype(np.float32), columns=["u", "v"])
    assert (ViewTransformer(StandardScaler()).fit_transform({"a": half})["a"].dtypes == "f4").all()


def test_a_pipeline_predicts_the_same_from_frames_and_arrays():
    model = make_pipeline(ViewTransformer(StandardScaler()), LateFusionClassifier())
    from_frames = clone(model).fit(FRAMES, Y).predict_proba(FRAMES)
    from_arrays = clone(model).fit(ARRAYS, Y).predict_proba(ARRAYS)
    np.testing.assert_allclose(from_frames, from_arrays)


@pytest.mark.parametrize("transformer", [StandardScaler(), "passthrough"], ids=str)
def test_a_view_that_is_absent_stays_missing(transformer):
    step = ViewTransformer(transformer).fit(FRAMES)
    for transform in (None, "pandas"):
        out = step.set_output(transform=transform).transform({"b": FRAMES["b"]})
        assert out.present.tolist() == [[False, True]] * 6
        assert np.shape(out["a"]) == (6, 2)


# -- set_output ------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [FRAMES, ARRAYS], ids=["frames", "arrays"])
@pytest.mark.parametrize(("name", "library"), [("pandas", pd), ("polars", pl)])
def test_set_output(name, library, data):
    step = ViewTransformer({"a": StandardScaler(), "b": "passthrough"}).set_output(transform=name)
    out = clone(step).fit(data).transform(data)
    assert isinstance(out["a"], library.DataFrame)
    assert isinstance(out["b"], library.DataFrame)
    assert list(out["a"].columns) == (["u", "v"] if data is FRAMES else ["x0", "x1"])
    np.testing.assert_allclose(out["a"].to_numpy(), StandardScaler().fit_transform(A))
    np.testing.assert_array_equal(out["b"].to_numpy(), B)
    if name == "pandas":
        assert list(out["b"].index) == (IDS if data is FRAMES else list(range(6)))


def test_set_output_default_returns_what_the_transformers_return():
    step = ViewTransformer(StandardScaler()).set_output(transform="default")
    assert isinstance(step.fit_transform(FRAMES)["a"], np.ndarray)
    step.set_output(transform=None)  # unchanged
    assert isinstance(step.fit_transform(FRAMES)["a"], np.ndarray)
    with pytest.raises(ValueError, match=r"'default', 'pandas', 'polars' or None, got 'list'"):
        step.set_output(transform="list")


def test_output_of_a_whole_pipeline_and_of_the_configuration():
    model = make_pipeline(ViewTransformer(StandardScaler()), ViewTransformer(PCA(1)))
    out = model.set_output(transform="polars").fit_transform(FRAMES)
    assert isinstance(out["a"], pl.DataFrame)
    with config_context(transform_output="pandas"):
        out = ViewTransformer({"a": "passthrough", "b": PCA(2)}).fit_transform(ARRAYS)
        assert list(out["a"].columns) == ["x0", "x1"]
        assert list(out["b"].columns) == ["pca0", "pca1"]


def test_set_output_of_sparse_views_and_kernels():
    words = pd.DataFrame({"c": list("rgrgrg")})
    step = ViewTransformer(OneHotEncoder()).set_output(transform="pandas")
    with pytest.raises(ValueError, match="view 'c' is sparse, which dataframes do not support"):
        step.fit_transform({"c": words})
    data = MultiViewData(
        {"k": rbf_kernel(B), "l": rbf_kernel(A)}, kinds={"k": "kernel", "l": "kernel"}
    )
    step = ViewTransformer({"k": KernelCenterer(), "l": "passthrough"})
    out = step.set_output(transform="pandas").fit_transform(data)
    assert out.kinds == {"k": "kernel", "l": "kernel"}
    assert len(step.get_feature_names_out()) == 12


# -- names -----------------------------------------------------------------------------------


def test_names_are_those_of_a_column_transformer():
    frame = pd.concat(FRAMES.values(), axis=1)
    groups = {"a": ["u", "v"], "b": ["z", "x"]}
    steps = {"a": StandardScaler(), "b": PCA(2)}
    step = ViewTransformer(steps, views=groups).fit(frame)
    columns = ColumnTransformer([(v, t, groups[v]) for v, t in steps.items()]).fit(frame)
    expected = columns.get_feature_names_out().tolist()
    assert step.get_feature_names_out().tolist() == expected
    assert step.get_feature_names_out(frame.columns).tolist() == expected
    with pytest.raises(ValueError, match="input_features is not equal to feature_names_in_"):
        step.get_feature_names_out(list("abcde"))


def test_names_of_columns_without_names():
    step = ViewTransformer({"a": StandardScaler(), "b": "passthrough"}).fit(ARRAYS)
    names = step.get_feature_names_out()
    assert names.tolist() == ["a__x0", "a__x1", "b__x0", "b__x1", "b__x2"]
    assert step.get_feature_names_out(list("pqrst")).tolist() == [
        "a__p", "a__q", "b__r", "b__s", "b__t",
    ]  # fmt: skip
    with pytest.raises(ValueError, match=r"number of features \(5\), got 2"):
        step.get_feature_names_out(["p", "q"])
    groups = ViewTransformer(StandardScaler(), views={"a": [3, 0], "b": [1]}).fit(np.hstack([A, B]))
    assert groups.get_feature_names_out(list("pqrst")).tolist() == ["a__s", "a__p", "b__q"]


def test_names_of_texts_and_of_transformers_without_names():
    words = np.array(["red apple", "green pear"] * 3)
    step = ViewTransformer({"t": TfidfVectorizer(), "a": FunctionTransformer()})
    step.fit({"t": words, "a": A})
    with pytest.raises(AttributeError, match="FunctionTransformer of view 'a' does not provide"):
        step.get_feature_names_out()
    step.set_params(a="drop").fit({"t": words, "a": A})
    assert step.get_feature_names_out().tolist() == ["t__apple", "t__green", "t__pear", "t__red"]


# -- drop and remainder ----------------------------------------------------------------------


def test_dropped_views():
    step = ViewTransformer({"a": "drop", "b": StandardScaler()}).fit(FRAMES)
    out = step.transform(FRAMES)
    assert out.view_names == ("b",)
    assert out.present.shape == (6, 1)
    assert step.view_names_ == ["a", "b"]
    assert step.transformers_["a"] == "drop"
    assert step.get_feature_names_out().tolist() == ["b__x", "b__y", "b__z"]
    # a view that is dropped may be missing, in training or later
    assert step.transform({"b": FRAMES["b"]}).view_names == ("b",)
    empty = {"a": FRAMES["a"] * np.nan, "b": FRAMES["b"]}
    assert ViewTransformer({"a": "drop", "b": PCA(1)}).fit_transform(empty).view_names == ("b",)


@pytest.mark.parametrize(
    ("remainder", "expected"),
    [("drop", ["b"]), ("passthrough", ["a", "b", "c"]), (MaxAbsScaler(), ["a", "b", "c"])],
)
def test_remainder(remainder, expected):
    data = {**ARRAYS, "c": 3 * A}
    step = ViewTransformer({"b": StandardScaler()}, remainder=remainder)
    out = step.fit(data).transform(data)
    assert list(out.view_names) == expected
    np.testing.assert_allclose(out["b"], StandardScaler().fit_transform(B))
    if remainder == "passthrough":
        assert out["c"] is data["c"]
    elif remainder != "drop":
        np.testing.assert_allclose(out["c"], A / np.abs(A).max(axis=0))
        assert step.transformers_["a"] is not step.transformers_["c"]


def test_remainder_is_checked_and_its_parameters_are_reachable():
    step = ViewTransformer({"b": StandardScaler()}, remainder=PCA(1))
    assert step.get_params()["remainder__n_components"] == 1
    assert step.set_params(remainder__n_components=2).fit_transform(ARRAYS).widths["a"] == 2
    with pytest.raises(ValueError, match=r"'remainder' parameter .* Got 'keep'"):
        ViewTransformer({"b": PCA()}, remainder="keep").fit(ARRAYS)
    with pytest.raises(ValueError, match="unknown: 'c'"):
        ViewTransformer({"c": PCA()}, remainder="drop").fit(ARRAYS)
    with pytest.raises(ValueError, match="missing: 'a'"):
        ViewTransformer({"b": PCA()}).fit(ARRAYS)
