"""Row labels of dataframes: sample ids, alignment of the views and of series with them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consilience import MultiViewData, as_multiview
from consilience.views._index import check_aligned

IDS = ["p3", "p1", "p2"]


def frame(index, columns=("x", "z")):
    return pd.DataFrame(
        np.arange(len(index) * len(columns)).reshape(len(index), -1), index, columns
    )


# -- sample ids -----------------------------------------------------------------------------------


def test_sample_ids_are_the_index():
    data = MultiViewData({"a": frame(IDS), "b": frame(IDS), "c": np.zeros((3, 2))})
    assert data.sample_ids.tolist() == IDS
    assert data[[2, 0]].sample_ids.tolist() == ["p2", "p3"]


@pytest.mark.parametrize("index", [pd.RangeIndex(3), [0, 1, 2], np.arange(3, dtype=np.uint8)])
def test_a_default_index_numbers_positions(index):
    data = MultiViewData({"a": frame(index), "b": frame([0, 1, 2])})
    assert data.sample_ids.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "index",
    [
        [7, 3, 5],
        pd.RangeIndex(1, 4),
        pd.MultiIndex.from_tuples([("p", 1), ("p", 2), ("q", 1)]),
        pd.date_range("2020-01-01", periods=3),
        pd.date_range("2020-01-01", periods=3, tz="UTC"),
        pd.CategoricalIndex(IDS),
        [1.5, 2.5, 3.5],
    ],
)
def test_any_type_of_label(index):
    data = MultiViewData({"a": frame(index), "b": frame(index)})
    assert data.sample_ids.tolist() == pd.Index(index).tolist()
    check_aligned(data, y=pd.Series([0, 1, 0], index=index))
    with pytest.raises(ValueError, match="y has the labels of the samples in a different order"):
        check_aligned(data, y=pd.Series([0, 1, 0], index=index)[::-1])


def test_series_of_documents_have_an_index():
    text = pd.Series(["one", "two", "three"], index=IDS)
    assert MultiViewData({"text": text}).sample_ids.tolist() == IDS
    with pytest.raises(ValueError, match="same row labels in a different order"):
        MultiViewData({"a": frame(IDS), "text": text[::-1]})


# -- views that do not agree ----------------------------------------------------------------------


@pytest.mark.parametrize("other", [["p3", "p1", "p9"], ["p3", "p1"]])
def test_different_sets_of_labels(other):
    with pytest.raises(
        ValueError, match=r"'a' and 'b' have .*'p2' is only in view 'a'.*from_table"
    ):
        MultiViewData({"a": frame(IDS), "b": frame(other)})


def test_the_same_labels_in_another_order():
    with pytest.raises(ValueError, match=r"'a' and 'b'.*in a different order.*from_tables"):
        MultiViewData({"a": frame(IDS), "b": frame(sorted(IDS))})
    with pytest.raises(ValueError, match=r"in a different order.*from_tables"):
        MultiViewData({"a": frame([0, 1, 2]), "b": frame([2, 1, 0])})


def test_labels_beside_positions():
    with pytest.raises(ValueError, match=r"view 'b' has a default index, but .*view 'a' have lab"):
        MultiViewData({"a": frame(IDS), "b": frame(range(3))})
    with pytest.raises(ValueError, match=r"view 'a' has a default index, but .*view 'b' have lab"):
        MultiViewData({"a": frame(range(3)), "b": frame(IDS)})


def test_repeated_labels():
    repeated = ["p1", "p1", "p2"]
    with pytest.raises(
        ValueError, match=r"index of view 'a' has repeated labels: 'p1'.*sample_ids"
    ):
        MultiViewData({"a": frame(repeated), "b": frame(repeated)})
    data = MultiViewData({"a": frame(repeated), "b": frame(repeated)}, sample_ids=repeated)
    assert data.groups.tolist() == repeated


def test_empty_labels():
    with pytest.raises(ValueError, match="the index of view 'a' has no label in row 1"):
        MultiViewData({"a": frame(["p1", None, "p2"])})


def test_given_ids_replace_the_index():
    data = MultiViewData({"a": frame(IDS), "b": frame(["q", "r", "s"])}, sample_ids=[7, 8, 9])
    assert data.sample_ids.tolist() == [7, 8, 9]
    assert MultiViewData({"a": frame(range(3))}, sample_ids=[2, 0, 1]).sample_ids[0] == 2
    with pytest.raises(ValueError, match="sample_ids and the index of view 'b' have the same"):
        MultiViewData({"b": frame(IDS)}, sample_ids=sorted(IDS))
    patients = pd.Series([5, 6, 7], index=sorted(IDS))
    with pytest.raises(ValueError, match="the index of sample_ids and that of view 'b'"):
        MultiViewData({"b": frame(IDS)}, sample_ids=patients)


def test_groups_with_an_index():
    groups = pd.Series(["g", "g", "h"], index=IDS)
    assert MultiViewData({"a": frame(IDS)}, groups=groups).groups.tolist() == ["g", "g", "h"]
    with pytest.raises(ValueError, match="groups has the labels of the samples in a different"):
        MultiViewData({"a": frame(IDS)}, groups=groups[::-1])


# -- series ---------------------------------------------------------------------------------------


def test_series_with_other_labels():
    data = MultiViewData({"a": frame(IDS)})
    with pytest.raises(ValueError, match=r"'q' is only in y; .*y\.to_numpy\(\)"):
        check_aligned(data, y=pd.Series([0, 1, 0], index=["p3", "p1", "q"]))
    check_aligned(data, y=pd.Series([0, 1, 0]))
    check_aligned(data, y=[0, 1, 0], weight=None, groups=pl.Series([0, 1, 0]))


def test_a_series_beside_a_default_index():
    data = MultiViewData({"a": frame(range(3))})
    check_aligned(data, y=pd.Series([0, 1, 0]))
    with pytest.raises(ValueError, match="different order"):
        check_aligned(data, y=pd.Series([0, 1, 0], index=[2, 0, 1]))
    with pytest.raises(ValueError, match="different labels"):
        check_aligned(data, y=pd.Series([0, 1, 0], index=IDS))
    check_aligned(data[[2, 0]], y=pd.Series([0, 1, 0])[[2, 0]])
    with pytest.raises(ValueError, match="different order"):
        check_aligned(data[[2, 0]], y=pd.Series([0, 1, 0])[[0, 2]])


@pytest.mark.parametrize("view", [np.zeros((3, 2)), pl.DataFrame({"x": [1, 2, 3]})])
def test_views_without_an_index_are_not_checked(view):
    check_aligned(MultiViewData({"a": view}), y=pd.Series([0, 1, 0], index=IDS))
    check_aligned(MultiViewData({"a": view})[::-1], y=pd.Series([0, 1, 0]))


def test_align():
    data = MultiViewData({"a": frame(IDS)})
    y = pd.Series({"p1": 1, "p2": 2, "p3": 3, "p4": 4})
    assert data.align(y).tolist() == [3, 1, 2]
    assert data.align(y).index.tolist() == IDS
    assert data[1:].align(y.to_frame("y"))["y"].tolist() == [1, 2]
    with pytest.raises(ValueError, match="no label for 1 of the 3 samples: 'p3'"):
        data.align(y.drop("p3"))
    with pytest.raises(ValueError, match="several rows for the samples 'p1'"):
        data.align(pd.concat([y, y[:1]]))
    with pytest.raises(TypeError, match="align requires a pandas Series or DataFrame"):
        data.align(y.to_numpy())


# -- other containers -----------------------------------------------------------------------------


def test_names_of_observations():
    anndata = pytest.importorskip("anndata")
    data = as_multiview(anndata.AnnData(np.ones((3, 2)), obs=pd.DataFrame(index=IDS)))
    with pytest.raises(ValueError, match="different order"):
        check_aligned(data, y=pd.Series([0, 1, 0], index=sorted(IDS)))


def test_coordinates():
    xr = pytest.importorskip("xarray")
    array = xr.DataArray(np.zeros((3, 2, 2)), dims=("sample", "view", "x"))
    assert as_multiview(array).sample_ids.tolist() == [0, 1, 2]
    named = array.assign_coords(sample=IDS)
    assert as_multiview(named).sample_ids.tolist() == IDS
    assert as_multiview(named.to_dataset("view")).sample_ids.tolist() == IDS


def test_kernels_are_matched_by_the_index():
    K = pd.DataFrame(np.eye(3) + 1, index=IDS, columns=IDS)
    data = MultiViewData({"k": K, "a": frame(IDS)}, kinds={"k": "kernel"})
    assert data.column_ids["k"].tolist() == IDS
    np.testing.assert_array_equal(
        data[[1]].against("k", data[[2, 0]].reference()), K.to_numpy()[[1]][:, [2, 0]]
    )


# -- joining on the index -------------------------------------------------------------------------


def test_join_on_the_index():
    data = MultiViewData.from_tables({"a": frame(["u", "v"]), "b": frame(["w", "u"])})
    assert data.sample_ids.tolist() == ["u", "v", "w"]
    assert data.present.tolist() == [[True, True], [True, False], [False, True]]
    assert data["a"].index.tolist() == ["u", "v", "w"]
    assert data["b"].loc["u"].tolist() == [2, 3]


def test_join_on_a_named_index_and_a_column():
    a = frame(pd.Index([3, 5], name="id"))
    b = pl.DataFrame({"id": [5, 4], "y": [1.0, 2.0]})
    data = MultiViewData.from_tables({"a": a, "b": b}, on="id")
    assert data.sample_ids.tolist() == [3, 5, 4]
    assert data.widths == {"a": 2, "b": 1}


def test_join_on_no_index():
    with pytest.raises(ValueError, match="table 'a' has a default index"):
        MultiViewData.from_tables({"a": frame(range(2)), "b": frame(["u", "v"])})
    with pytest.raises(ValueError, match="table 'a' has no index to join on; pass on="):
        MultiViewData.from_tables({"a": pl.DataFrame({"x": [1]})})
    with pytest.raises(ValueError, match="table 'a' has several rows with 'index' = 'u'"):
        MultiViewData.from_tables({"a": frame(["u", "u"])})
    with pytest.raises(ValueError, match="table 'a' has no 'index' in row 1"):
        MultiViewData.from_tables({"a": frame(["u", None])})
    named = frame(pd.RangeIndex(2, name="patient"))
    assert MultiViewData.from_tables({"a": named}).sample_ids.tolist() == [0, 1]


# -- properties -----------------------------------------------------------------------------------

LABELS = st.lists(st.text("abc", min_size=1, max_size=4), min_size=2, max_size=8, unique=True)


@settings(max_examples=25, deadline=None)
@given(LABELS, st.randoms(use_true_random=False))
def test_joining_does_not_depend_on_the_order_of_rows(ids, random):
    a, b = frame(ids), frame(ids)
    shuffled = random.sample(ids, len(ids))
    joined = MultiViewData.from_tables({"a": a, "b": b.loc[shuffled]})
    np.testing.assert_array_equal(joined["a"], a)
    np.testing.assert_array_equal(joined["b"], b)
    assert joined.sample_ids.tolist() == ids


@settings(max_examples=25, deadline=None)
@given(LABELS, st.randoms(use_true_random=False))
def test_permuted_rows_are_an_error_and_can_be_aligned(ids, random):
    shuffled = random.sample(ids, len(ids))
    y = pd.Series(range(len(ids)), index=ids)
    data = MultiViewData({"a": frame(ids).loc[shuffled], "b": frame(ids).loc[shuffled]})
    assert data.align(y).tolist() == [ids.index(label) for label in shuffled]
    check_aligned(data, y=data.align(y))
    if shuffled != ids:
        with pytest.raises(ValueError, match="different order"):
            check_aligned(data, y=y)
        with pytest.raises(ValueError, match="different order"):
            MultiViewData({"a": frame(ids).loc[shuffled], "b": frame(ids)})


# -- masks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["bool", "boolean", "bool[pyarrow]"])
def test_mask_of_other_rows(dtype):
    data = MultiViewData({"a": frame(IDS)})
    mask = pd.Series([True, False, False], index=IDS, dtype=dtype)
    assert data[mask].sample_ids.tolist() == ["p3"]
    assert data[mask.reset_index(drop=True)].sample_ids.tolist() == ["p3"]
    assert data[mask.to_numpy(bool)].sample_ids.tolist() == ["p3"]
    with pytest.raises(ValueError, match="mask has the labels of the samples in a different order"):
        data[mask.iloc[::-1]]
    with pytest.raises(ValueError, match="'p9' is only in mask"):
        data[mask.rename({"p1": "p9"})]


def test_series_of_positions_needs_no_labels_of_samples():
    data = MultiViewData({"a": frame(IDS)})
    assert data[pd.Series([2, 0], index=["p9", "p8"])].sample_ids.tolist() == ["p2", "p3"]
