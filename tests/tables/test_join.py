"""Tables joined by key."""

import numpy as np
import pyarrow as pa
import pytest

from consilience.tables import Table, TableError, join_tables
from consilience.tables._join import sample_rows
from consilience.tables._keys import gains_by_spelling, normalise_keys


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


def keyed(spell, n_plain=0, n=100):
    """Two files of the same samples, whose keys are spelled differently but for some."""
    first = [f"P{i}" for i in range(1, n + 1)]
    second = first[:n_plain] + [spell(i) for i in range(n_plain + 1, n + 1)]
    return {
        "a": table("a.csv", id=first, u=[i % 7 + 0.5 for i in range(n)], ill=["x", "y"] * (n // 2)),
        "b": table("b.csv", id=second, v=[i % 5 + 0.5 for i in range(n)]),
    }


def test_keys_most_of_which_are_spelled_differently():
    message = "^1 of 100 'id' of a.csv are in another file, but 100 if case, blanks and leading"
    with pytest.raises(TableError, match=message):
        join_tables(keyed("P{:03}".format), target="ill", on="id")
    with pytest.raises(TableError, match=r"^40 of 100 .* but 100 if .*; add --normalise-keys, or"):
        join_tables(keyed("p {}".format, n_plain=40), target="ill", on="id")


def test_keys_some_of_which_are_spelled_differently():
    joined = join_tables(keyed("p{}".format, n_plain=90), target="ill", on="id")
    assert joined.notes[0] == (
        "90 of 100 'id' of a.csv are in another file, but 100 if case, blanks and leading zeros "
        "are ignored; add --normalise-keys if they are the same samples"
    )
    # samples of one file only, and keys of which two are the same without zeros
    for tables in (keyed("Q{}".format, 90), keyed(lambda i: f"P{max(i - 90, 1):0{i}}", 90)):
        (note,) = join_tables(tables, target="ill", on="id").notes
        assert note.startswith("left out: 10 samples that have no label")


def test_keys_are_shared_with_other_files_only():
    tables = {
        "a": table("a.csv", id=["p 1", "p2", None]),
        "free text of a": table("a.csv", id=["p 1", "p2", None]),
        "b": table("b.csv", id=["P01", "p2", None]),
    }
    assert gains_by_spelling(tables, "id") == dict.fromkeys(tables, (1, 2))
    normalised, notes = normalise_keys(tables, "id")
    assert normalised["b"].frame["id"].to_pylist() == ["p 1", "p2", None]
    assert "3 rows join that did not before" in notes[0]


def test_every_file_shares_keys_with_another():
    tables = {
        "a": table("a.csv", id=[*"pqrs"], x=[*"3210"], y=[*"uvuv"]),
        "b": table("b.csv", id=[*"pqrs"], z=[*"1214"]),
        "c": table("c.csv", id=[*"klmn"], w=[*"1215"]),
    }
    message = "^no 'id' of c.csv occurs in another file; its first is 'k'$"
    with pytest.raises(TableError, match=message):
        join_tables(tables, target="y", on="id")
    with pytest.raises(TableError, match=r"^no 'id' of a\.csv occurs in another file"):
        join_tables({name: tables[name] for name in ("a", "c")}, target="y", on="id")
    assert len(join_tables({name: tables[name] for name in ("a", "b")}, target="y", on="id").target)
    assert len(join_tables({"a": tables["a"]}, target="y", on="id").target) == 4
