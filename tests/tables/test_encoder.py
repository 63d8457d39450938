"""Columns of numbers and text as an array of numbers."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from consilience.tables import TableEncoder

FRAMES = [pd.DataFrame, pl.DataFrame, pa.table]
COLUMNS = {"age": [20.0, None, 40.0], "site": ["a", "b", "a"]}


@pytest.mark.parametrize("frame", FRAMES)
def test_dataframe_libraries_agree(frame):
    encoded = TableEncoder().fit_transform(frame(COLUMNS))
    scaled = np.array([-1.0, 0.0, 1.0]) * np.sqrt(1.5)
    np.testing.assert_allclose(encoded, np.column_stack([scaled, [1, 0, 1], [0, 1, 0]]))


@pytest.mark.parametrize("frame", FRAMES)
def test_unknown_category_has_no_column_and_missing_number_is_the_mean(frame):
    encoder = TableEncoder().fit(frame(COLUMNS))
    new = frame({"age": [30.0, None], "site": ["c", "b"]})
    np.testing.assert_allclose(encoder.transform(new), [[0, 0, 0], [0, 0, 1]])


def test_rare_categories_share_a_column():
    sites = ["a"] * 5 + ["b"] * 4 + ["c", "d"]
    encoded = TableEncoder(max_categories=3).fit_transform(pd.DataFrame({"site": sites}))
    assert encoded.shape == (11, 3)
    np.testing.assert_array_equal(encoded.sum(axis=0), [5, 4, 2])
