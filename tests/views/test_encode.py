"""Tables with categories as numbers."""

from datetime import date, time, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from consilience import MultiViewData
from consilience.views._encode import encode_tables, fit_codes, fit_table_codes
from consilience.views._storage import to_numeric

COLUMNS = {"x": [1.0, 2.0, None, 4.0], "colour": ["red", "blue", "red", None]}


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_one_column_for_each_category(frame):
    data = MultiViewData({"f": frame(COLUMNS), "n": np.zeros((4, 2))})
    codes = fit_table_codes(data)
    assert list(codes) == ["f"]
    out = encode_tables(data, codes)["f"]
    expected = [[1, 1, 0], [2, 0, 1], [np.nan, 1, 0], [4, 0, 0]]
    np.testing.assert_array_equal(out, expected)


def test_unknown_and_rare_categories():
    many = pd.DataFrame({"c": [f"k{i // 2}" for i in range(80)] + ["k3"] * 3})
    codes = fit_table_codes(MultiViewData({"f": many}))
    assert len(codes["f"].categories[0]) == 30
    assert codes["f"].categories[0][0] == "k3"
    new = codes["f"].encode(pd.DataFrame({"c": ["k3", "new", None]}), "f")
    assert new.sum(axis=1).tolist() == [1, 0, 0]


def test_pandas_categories_and_booleans():
    frame = pd.DataFrame({"c": pd.Categorical(["a", "b", "a"]), "b": [True, False, True]})
    codes = fit_table_codes(MultiViewData({"f": frame}))
    np.testing.assert_array_equal(codes["f"].encode(frame, "f"), [[1, 0, 1], [0, 1, 0], [1, 0, 1]])


def test_what_is_neither_number_nor_category():
    dated = pd.DataFrame({"d": pd.date_range("2020", periods=3)})
    with pytest.raises(ValueError, match="view 'f' has a column that is neither numeric nor"):
        fit_table_codes(MultiViewData({"f": dated}))
    codes = fit_table_codes(MultiViewData({"f": pd.DataFrame(COLUMNS)}))
    with pytest.raises(ValueError, match="view 'f' had categorical columns in fit"):
        codes["f"].encode(np.zeros((2, 2)), "f")
    with pytest.raises(ValueError, match="column 'x' was numeric in fit"):
        codes["f"].encode(pd.DataFrame({"x": ["a"], "colour": ["red"]}), "f")


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, 2], "column 'c' was categorical in fit but is numeric now, got 1"),
        ([None, 2.0], "column 'c' was categorical in fit but is numeric now, got 2.0"),
        ([True, False], "column 'c' was categorical in fit but is numeric now, got True"),
        (
            [date(2020, 1, 1), None],
            "column 'c' was categorical in fit but is not now",
        ),
    ],
)
def test_texts_that_arrive_as_something_else(frame, values, message):
    codes = fit_table_codes(MultiViewData({"f": frame({"c": ["1", "2", "1"]})}))["f"]
    with pytest.raises(ValueError, match=f"view 'f': {message}"):
        codes.encode(frame({"c": values}), "f")
    for empty in ([None, None], [np.nan, np.nan]):
        assert not codes.encode(frame({"c": empty}), "f").any()


def test_texts_beside_numbers():
    texts = fit_table_codes(MultiViewData({"f": pd.DataFrame({"c": ["u", "v", "u"]})}))["f"]
    out = texts.encode(pd.DataFrame({"c": ["v", 3]}), "f")
    assert out.tolist() == [[0, 1], [0, 0]]
    both = fit_table_codes(MultiViewData({"f": pd.DataFrame({"c": ["u", 1, "u"]})}))["f"]
    assert both.encode(pd.DataFrame({"c": [1, 1]}), "f").tolist() == [[0, 1], [0, 1]]


NA_CELLS = [None, np.nan, pd.NA, pd.NaT]


@pytest.mark.parametrize("empty", NA_CELLS)
@pytest.mark.parametrize("number", [float, Decimal])
def test_numbers_in_columns_of_objects_are_no_categories(number, empty):
    column = pd.Series([number(1), number(3), empty], dtype=object)
    data = MultiViewData({"f": pd.DataFrame({"x": column, "z": [1.0, 2.0, 3.0]})})
    assert fit_table_codes(data) == {}
    np.testing.assert_array_equal(data.to_array(), [[1, 1], [3, 2], [np.nan, 3]])


@pytest.mark.parametrize("value", [date(2020, 1, 1), pd.Timestamp("2020"), timedelta(1), time(1)])
def test_dates_in_columns_of_objects_are_no_categories(value):
    frame = pd.DataFrame({"d": pd.Series([value, None], dtype=object)})
    with pytest.raises(ValueError, match="values of column 'd' are no numbers, texts or"):
        fit_table_codes(MultiViewData({"f": frame}))


@pytest.mark.parametrize(
    "column",
    [
        pd.Categorical([3, 1, None, 1]),
        pd.Categorical([3, 1, None, 1], ordered=True),
        pd.Categorical([3.0, 1.0, None, 1.0]),
        pd.Series([3, 1, None, 1], dtype="Int64").astype("category"),
        pl.Series(["3", "1", None, "1"], dtype=pl.Categorical),
        pl.Series(["3", "1", None, "1"], dtype=pl.Enum(["1", "3"])),
        pa.chunked_array([pa.array([3, 1, None, 1]).dictionary_encode()]),
    ],
)
def test_categories_that_are_numbers_are_categories(column):
    frames = {"polars": pl.DataFrame, "pyarrow": pa.table}
    frame = frames.get(type(column).__module__.split(".")[0], pd.DataFrame)({"c": column})
    codes = fit_codes(frame, "v")
    assert [str(int(float(c))) for c in codes.categories[0]] == ["1", "3"]
    assert codes.encode(frame, "v").tolist() == [[0, 1], [1, 0], [0, 0], [1, 0]]
    with pytest.raises(ValueError, match="non-numeric columns: 'c'"):
        to_numeric(frame, "v")


def test_texts_where_categories_were_numbers():
    codes = fit_codes(pd.DataFrame({"c": pd.Categorical([3, 1])}), "v")
    assert codes.encode(pd.DataFrame({"c": [1.0, 3.0]}), "v").tolist() == [[1, 0], [0, 1]]
    with pytest.raises(
        ValueError, match="'c' was categorical in fit but is text now, got '1'; con"
    ):
        codes.encode(pd.DataFrame({"c": ["1", "3"]}), "v")
