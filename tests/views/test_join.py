import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from consilience import MultiViewData
from consilience.views._join import check_keys, outer_join

FRAMES = [pd.DataFrame, pl.DataFrame, pa.table]


def test_rows_of_keys():
    ids, rows = outer_join({"a": ["u", "v"], "b": ["w", "u"], "c": []})
    assert ids == ["u", "v", "w"]
    assert {name: r.tolist() for name, r in rows.items()} == {
        "a": [0, 1, -1],
        "b": [1, -1, 0],
        "c": [-1, -1, -1],
    }


def test_empty_and_duplicate_keys():
    check_keys([3, 1, 2], table="t", on="id")
    with pytest.raises(ValueError, match=r"^t\.csv has no 'id' in row 2$"):
        check_keys(["a", None, "a"], table="t.csv", on="id", first_row=1)
    with pytest.raises(ValueError, match=r"^t has several rows with 'id' = 'a', 'c'$"):
        check_keys(["a", "b", "c", "a", "c"], table="t", on="id")


@pytest.mark.parametrize("frame", FRAMES)
def test_outer_join_of_dataframes(frame):
    rna = frame({"patient": ["p3", "p1"], "g1": [1.0, 2.0], "g2": [3.0, 4.0]})
    protein = frame({"level": [7, 8, 9], "patient": ["p2", "p1", "p4"]})
    data = MultiViewData.from_tables({"rna": rna, "protein": protein}, on="patient")
    assert data.sample_ids.tolist() == ["p3", "p1", "p2", "p4"]
    assert data.present.tolist() == [[True, False], [True, True], [False, True], [False, True]]
    assert data.widths == {"rna": 2, "protein": 1}
    array = data.to_array()
    np.testing.assert_array_equal(array[1], [2, 4, 8])
    np.testing.assert_array_equal(array[3, 2], 9)
    assert np.isnan(array[2, :2]).all()


def test_libraries_may_be_mixed():
    data = MultiViewData.from_tables(
        {
            "a": pd.DataFrame({"id": [1, 2], "x": [0.5, 1]}),
            "b": pl.DataFrame({"id": [2], "y": [3]}),
        },
        on="id",
    )
    assert data.present.tolist() == [[True, False], [True, True]]


def test_a_row_without_values_is_missing():
    table = pd.DataFrame({"id": [1, 2], "x": [np.nan, 1]})
    assert MultiViewData.from_tables({"a": table}, on="id").present.tolist() == [[False], [True]]


@pytest.mark.parametrize(
    ("tables", "error", "message"),
    [
        ({}, TypeError, "dict of view name -> dataframe"),
        ([pd.DataFrame({"id": [1]})], TypeError, "dict of view name -> dataframe"),
        ({"a": np.zeros((2, 2))}, TypeError, "table 'a' must be a dataframe, got ndarray"),
        ({"a": pd.DataFrame({"x": [1]})}, ValueError, "table 'a' has no column 'id'.*'x'"),
        ({"a": pd.DataFrame({"id": [1]})}, ValueError, "no column other than the key"),
        ({"a": pd.DataFrame({"id": [], "x": []})}, ValueError, "table 'a' has no rows"),
        (
            {"a": pd.DataFrame({"id": [1, 2, 1], "x": [1, 2, 3]})},
            ValueError,
            "table 'a' has several rows with 'id' = 1",
        ),
        (
            {"a": pd.DataFrame({"id": pd.array([1, None], dtype="Int64"), "x": [1, 2]})},
            ValueError,
            "table 'a' has no 'id' in row 1",
        ),
        (
            {"a": pl.DataFrame({"id": ["u", None], "x": [1, 2]})},
            ValueError,
            "table 'a' has no 'id' in row 1",
        ),
        (
            {
                "a": pd.DataFrame({"id": [1], "x": [1]}),
                "b": pd.DataFrame({"id": ["1"], "x": [1]}),
            },
            TypeError,
            "key 'id' has different types.*'a' has int, 'b' has str",
        ),
    ],
)
def test_invalid_tables_raise(tables, error, message):
    with pytest.raises(error, match=message):
        MultiViewData.from_tables(tables, on="id")
