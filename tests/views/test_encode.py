"""Tables with categories as numbers."""

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
