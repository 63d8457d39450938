"""Tables joined by key."""

import numpy as np
import pyarrow as pa
import pytest

from consilience.tables import Table, TableError, join_tables
from consilience.tables._join import sample_rows


def table(path, **columns):
    return Table(path, pa.table(columns))


def test_keys_are_compared_as_text():
    tables = {"a": table("a.csv", id=["1", "01"]), "b": table("b.csv", id=["01", " 2 "])}
    ids, rows = sample_rows(tables, "id")
    assert ids == ["1", "01", "2"]
    np.testing.assert_array_equal(rows["a"], [0, 1, -1])
    np.testing.assert_array_equal(rows["b"], [-1, 0, 1])


def test_numeric_and_text_keys_match():
    tables = {"a": table("a.parquet", id=[1.0, 2.0]), "b": table("b.csv", id=["2", "1"])}
    ids, rows = sample_rows(tables, "id")
    assert ids == ["1", "2"]
    np.testing.assert_array_equal(rows["b"], [1, 0])


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (["u", None], "^a.csv has no 'id' in row 2$"),
        (["u", "  "], "^a.csv has no 'id' in row 2$"),
        (["u", "u"], "^a.csv has several rows with 'id' = 'u'$"),
    ],
)
def test_empty_and_duplicate_keys(keys, message):
    with pytest.raises(TableError, match=message):
        sample_rows({"a": table("a.csv", id=keys)}, "id")


def test_samples_in_order_of_their_keys():
    tables = {
        "a": table("a.csv", id=["r", "q", "p"], x=["3", "2", "1"], y=["u", "v", "u"]),
        "b": table("b.csv", id=["r", "q", "s"], z=["k", "l", "k"]),
    }
    joined = join_tables(tables, target="y", on="id")
    assert joined.data.sample_ids.tolist() == ["p", "q", "r"]
    assert joined.data.present.tolist() == [[True, False], [True, True], [True, True]]
    assert joined.target.tolist() == ["u", "v", "u"]
    assert joined.notes == ["left out: 1 samples that have no label ('s')"]
