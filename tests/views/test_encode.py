"""Tables with categories as numbers."""

from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pytest

from consilience import MultiViewData
from consilience.views._encode import encode_tables, fit_table_codes

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
