import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.ensemble import ExtraTreesClassifier

from consilience import MultiViewData
from consilience.fusion import EarlyFusionClassifier
from consilience.views._storage import missing_rows

N = 6
DENSE = np.arange(N * 3, dtype=np.float32).reshape(N, 3)
SPARSE = sp.random_array((N, 4), density=0.5, format="csr", random_state=0)
FRAME = pd.DataFrame({"p": np.arange(N), "q": np.arange(N) / 2})


@pytest.fixture
def data():
    return MultiViewData({"image": DENSE, "text": SPARSE, "table": FRAME})


def test_shape_length_and_names(data):
    assert data.shape == (N, 9)
    assert len(data) == N
    assert data.n_views == 3
    assert data.view_names == ("image", "text", "table")
    assert data.widths == {"image": 3, "text": 4, "table": 2}
    assert data.view_slices == {"image": slice(0, 3), "text": slice(3, 7), "table": slice(7, 9)}
    assert data.kinds == dict.fromkeys(data.view_names, "features")
    assert data.present.all()
    assert "image" in data
    assert "audio" not in data


def test_views_keep_their_storage(data):
    assert data["image"] is DENSE
    assert data["text"].format == "csr"
    assert data["text"].dtype == SPARSE.dtype
    assert data["table"] is FRAME


@pytest.mark.parametrize(
    "rows",
    [
        slice(1, 4),
        slice(None, None, -1),
        [0, 2, 2],
        np.array([-1, 0]),
        np.arange(N) % 2 == 0,
        [True, False, True, False, False, False],
        np.array([], dtype=int),
        [],
    ],
    ids=str,
)
def test_rows(data, rows):
    cut = data[rows]
    index = (
        np.arange(N)[np.asarray(rows, dtype=None if np.size(rows) else int)]
        if not isinstance(rows, slice)
        else np.arange(N)[rows]
    )
    np.testing.assert_array_equal(cut["image"], DENSE[index])
    np.testing.assert_array_equal(cut["text"].toarray(), SPARSE.toarray()[index])
    np.testing.assert_array_equal(cut["table"].to_numpy(), FRAME.to_numpy()[index])
    np.testing.assert_array_equal(cut.sample_ids, index)
    assert cut.present.shape == (len(index), 3)


def test_scikit_learn_cuts_with_an_ellipsis(data):
    assert data[[0, 1], ...].shape == (2, 9)
    assert data[[0, 1], :].shape == (2, 9)
    assert data[2].shape == (1, 9)
    assert data[-1].sample_ids.tolist() == [N - 1]


def test_slices_share_memory(data):
    assert np.shares_memory(data[1:4]["image"], DENSE)
    assert np.shares_memory(data.select(["image"])["image"], DENSE)


@pytest.mark.parametrize(
    "rows",
    [N, -N - 1, [N], [0, -N - 1], [True, False]],
    ids=["int", "low", "list", "low list", "mask"],
)
def test_rows_outside(data, rows):
    with pytest.raises(IndexError):
        data[rows]


@pytest.mark.parametrize("key", [(0, 1), ([0], "image"), ["image"], 1.5, [0.5], (slice(None),) * 3])
def test_what_does_not_pick_rows(data, key):
    with pytest.raises(TypeError, match=r"data\.select\(\[names\]\)"):
        data[key]


def test_unknown_view(data):
    with pytest.raises(KeyError, match=r"no view named 'audio'.*'image', 'text', 'table'"):
        data["audio"]
    with pytest.raises(KeyError, match="no view named 'audio'"):
        data.select(["image", "audio"])


def test_select(data):
    chosen = data.select(["table", "image"])
    assert chosen.view_names == ("table", "image")
    assert data.select("text").view_names == ("text",)
    with pytest.raises(ValueError, match="distinct"):
        data.select(["image", "image"])
    with pytest.raises(ValueError, match="distinct"):
        data.select([])


def test_is_not_an_array(data):
    with pytest.raises(TypeError, match=r"data\.to_array\(\).*data\.view_slices"):
        np.asarray(data)
    with pytest.raises(TypeError, match="not iterable"):
        list(data)


def test_cannot_be_changed(data):
    with pytest.raises(AttributeError):
        data.present = None
    with pytest.raises(AttributeError):
        data.anything = 1
    with pytest.raises(ValueError, match="read-only"):
        data.present[0, 0] = False
    with pytest.raises(TypeError):
        data["image"] = DENSE


def test_to_array(data):
    expected = np.hstack([DENSE, SPARSE.toarray(), FRAME.to_numpy()])
    np.testing.assert_array_equal(data.to_array(), expected)
    np.testing.assert_array_equal(data.to_array(sparse=True).toarray(), expected)


def test_to_array_marks_missing_views():
    present = np.ones((N, 2), dtype=bool)
    present[1, 0] = present[2, 1] = False
    ints = np.arange(N * 3).reshape(N, 3)
    data = MultiViewData({"a": ints, "b": SPARSE}, present=present)
    for sparse in (False, True):
        array = data.to_array(sparse=sparse)
        array = array.toarray() if sparse else array
        assert np.isnan(array[1, :3]).all()
        assert np.isnan(array[2, 3:]).all()
        assert np.isnan(array).sum() == 3 + 4
        again = MultiViewData({n: array[:, s] for n, s in data.view_slices.items()})
        np.testing.assert_array_equal(again.present, present)


@pytest.mark.parametrize("make", [np.array, pd.DataFrame, pl.DataFrame, pa.table, sp.csr_array])
def test_rows_of_nan_are_missing(make):
    values = np.ones((N, 2))
    values[1] = np.nan
    values[2, 0] = np.nan  # partly missing is for fit to refuse
    if make in (pd.DataFrame, pl.DataFrame, pa.table):
        view = make({"p": values[:, 0], "q": values[:, 1]})
    else:
        view = make(values)
    data = MultiViewData({"a": view, "b": DENSE})
    np.testing.assert_array_equal(np.flatnonzero(~data.present[:, 0]), [1])
    assert data.present[:, 1].all()


def test_nulls_of_a_frame_are_missing():
    frame = pl.DataFrame({"p": [1, None, 3], "q": ["x", None, None]})
    assert MultiViewData({"a": frame}).present[:, 0].tolist() == [True, False, True]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_columns_of_present_are_matched_by_name(frame):
    views = {"a": np.ones((3, 2)), "b": np.ones((3, 1))}
    mask = frame({"b": [True, True, False], "a": [True, False, True]})
    expected = [[True, True], [False, True], [True, False]]
    assert MultiViewData(views, present=mask).present.tolist() == expected
    with pytest.raises(
        ValueError, match="columns of present must be named like the views, 'a', 'b"
    ):
        MultiViewData(views, present=frame({"b": [True] * 3, "c": [True] * 3}))
    numbered = pd.DataFrame(expected)
    assert MultiViewData(views, present=numbered).present.tolist() == expected


def test_given_present_is_taken_as_it_is():
    data = MultiViewData({"a": np.full((2, 1), np.nan)}, present=[[True], [False]])
    assert data.present[:, 0].tolist() == [True, False]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"views": [DENSE]}, TypeError, "must be a dict.*as_multiview"),
        ({"views": {}}, ValueError, "at least one view"),
        ({"views": {1: DENSE}}, TypeError, "non-empty strings, got 1"),
        ({"views": {"a": DENSE, "b": DENSE[:2]}}, ValueError, "'a' has 6, 'b' has 2"),
        ({"views": {"a": DENSE}, "present": np.ones((N, 2), bool)}, ValueError, r"\(6, 1\)"),
        ({"views": {"a": DENSE}, "present": np.ones((N, 1))}, TypeError, "bool array"),
        ({"views": {"a": DENSE}, "sample_ids": [1]}, ValueError, "sample_ids must have 6 entries"),
        ({"views": {"a": DENSE}, "kinds": {"b": "kernel"}}, ValueError, "do not exist: 'b'"),
        ({"views": {"a": DENSE}, "kinds": {"a": "graph"}}, ValueError, "got 'graph'"),
        ({"views": {"a": DENSE}, "kinds": {"a": "kernel"}}, ValueError, "not square.*column_ids"),
        ({"views": {"a": DENSE}, "column_ids": {"a": [1, 2, 3]}}, ValueError, "for features: 'a'"),
        (
            {"views": {"a": DENSE}, "kinds": {"a": "kernel"}, "column_ids": {"a": [1, 1, 2]}},
            ValueError,
            "not unique",
        ),
        ({"views": {"a": pl.LazyFrame({"p": [1]})}}, TypeError, r"collect\(\)"),
        (
            {"views": {"a": np.full((2, 2, 2), "x")}},
            ValueError,
            r"\(2, 2, 2\) must contain numbers",
        ),
        ({"views": {"a": np.float64(1)}}, ValueError, "two-dimensional"),
    ],
)
def test_invalid_arguments_raise(arguments, error, message):
    with pytest.raises(error, match=message):
        MultiViewData(**arguments)


def test_pickle(data):
    again = pickle.loads(pickle.dumps(data))
    assert again.view_names == data.view_names
    np.testing.assert_array_equal(again["image"], DENSE)


def test_repr_shows_the_views():
    present = np.ones((4, 2), dtype=bool)
    present[0, 1] = False
    views = {"a<b": np.zeros((4, 1)), "text": sp.csr_array((4, 12), dtype=np.float32)}
    data = MultiViewData(views, present=present)
    assert repr(data) == (
        "MultiViewData: 4 samples, 2 views\n"
        "  a<b   features  1 column    float64      0.0% missing\n"
        "  text  features  12 columns  CSR float32  25.0% missing"
    )
    page = data._repr_html_()
    assert "<td>a&lt;b</td>" in page
    assert "25.0% missing" in page
    assert "0 samples" in repr(data[:0])


def test_documents_are_a_view():
    data = MultiViewData({"text": np.array(["red apple", "green pear"]), "a": np.zeros((2, 1))})
    assert data.shape == (2, 2)
    assert data[[1]]["text"].tolist() == ["green pear"]
    assert "documents" in repr(data)


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
def test_long_indices_become_short(kind):
    """load_svmlight_file has 64-bit indices, and trees refuse them."""
    X = kind(np.eye(4))
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    data = MultiViewData({"a": X, "b": np.eye(4)})
    assert type(data["a"]) is kind
    assert data["a"].indices.dtype == data["a"].indptr.dtype == np.int32
    assert data["a"].data is X.data or np.shares_memory(data["a"].data, X.data)
    np.testing.assert_array_equal(data["a"].toarray(), np.eye(4))
    assert X.indices.dtype == np.int64
    EarlyFusionClassifier(ExtraTreesClassifier(3)).fit(data, [0, 1, 0, 1])


@pytest.mark.parametrize("null", [None, np.nan])
def test_rows_without_any_value_are_missing(null):
    cells = [[null, null], [null, "a"], ["b", null], ["c", "d"]]
    expected = [True, False, False, False]
    assert missing_rows(np.array(cells, dtype=object)).tolist() == expected
    assert missing_rows(pd.DataFrame(cells)).tolist() == expected


def test_rows_of_numbers_without_any_value_are_missing():
    X = np.array([[np.nan, np.nan], [np.nan, 1.0], [2.0, np.nan], [0.0, 0.0]])
    expected = [True, False, False, False]
    assert missing_rows(X).tolist() == expected
    assert missing_rows(sp.csr_array(X)).tolist() == expected
    assert missing_rows(np.stack([X, X], axis=2)).tolist() == expected
    assert missing_rows(X[:, :0]).tolist() == [False] * 4


@pytest.mark.parametrize("rows", [slice(None, None, -1), slice(1, 6, 2), slice(-2, -5, -1)])
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_slices_with_a_step(frame, rows):
    data = MultiViewData({"v": frame({"p": np.arange(N), "q": np.arange(N) / 2})})
    np.testing.assert_array_equal(data[rows].to_array(), FRAME.to_numpy()[rows])


def test_duplicate_column_names_of_arrow():
    table = pa.table([[1.0], [True], [2.0]], names=["x", "x", "y"])
    with pytest.raises(ValueError, match="view 'a' has duplicate column names: 'x'"):
        MultiViewData({"a": table})


def test_na_of_pandas_in_an_array_is_named():
    data = MultiViewData({"a": np.array([[1, 2], [pd.NA, 3]], dtype=object)})
    with pytest.raises(ValueError, match="view 'a' has dtype object and cannot be converted"):
        data.to_array()
