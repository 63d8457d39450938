"""Which columns are features, and which identify samples or are dates or free text."""

import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from consilience.comparison.inputs import read_views
from consilience.tables import (
    ColumnRole,
    FeatureSelector,
    Table,
    TableError,
    TableView,
    join_tables,
)
from consilience.tables._identity import _is_running
from consilience.tables._join import _complete_view
from consilience.tables._roles import inspect_column

RNG = np.random.default_rng(0)
N = 60
NUMBERS = RNG.permutation(N)
DAY = datetime.date(2024, 1, 30)
LEFT_OUT = {
    "text": ("code", [f"P{i}" for i in NUMBERS], "identifier: every value"),
    "nearly unique text": ("code", [f"P{max(i, 2)}" for i in NUMBERS], "identifier: nearly every"),
    "sentences of other words": ("c", [f"a{i} b{i} c{i}" for i in NUMBERS], "text: no word occurs"),
    "zero-padded": ("code", [f"{i * 977 % 9973:06}" for i in NUMBERS], "leading zeros"),
    "running": ("c", [str(i) for i in range(N)], "identifier: whole numbers"),
    "running from 100": ("c", (NUMBERS + 100).tolist(), "identifier: whole numbers"),
    "running in tens": ("c", (10 * NUMBERS).tolist(), "identifier: whole numbers"),
    "with gaps": ("c", sorted(RNG.choice(500, N, replace=False).tolist()), "whole numbers"),
    "as floats": ("c", [f"{i}.0" for i in NUMBERS], "identifier: whole numbers"),
    "large numbers": ("c", [str(10**18 + int(i)) for i in NUMBERS], "codes of many digits"),
    "shuffled, with a name": ("patient_id", RNG.integers(0, 10**9, N).tolist(), "every value"),
    "unnamed index": ("Unnamed: 0", [0, 1, 3], "index of a dataframe"),
    "index of parts": ("index", [*range(30), *range(30)], "index of a dataframe"),
    "dates": ("c", [str(DAY + datetime.timedelta(int(i) // 3)) for i in NUMBERS], "date"),
    "times": ("c", [f"2024-01-{i % 28 + 1:02} 08:{i:02}:00" for i in NUMBERS], "date"),
    "times with zone": ("c", [f"2024-01-{i % 28 + 1:02}T08:{i:02}:00Z" for i in NUMBERS], "date"),
    "day first": ("c", [f"{i % 28 + 1:02}/12/2024" for i in NUMBERS], "date"),
    "compact dates": ("c", [f"202401{i % 28 + 1:02}" for i in NUMBERS], "date, written like"),
    "seconds": ("c", (1_700_000_000 + 977 * NUMBERS).tolist(), "date: a time counted"),
    "milliseconds": ("c", (1e12 + 1e9 * NUMBERS + 0.5).tolist(), "date: a time counted"),
    "arrow dates": ("c", [DAY] * N, "date"),
}  # fmt: skip
FEATURES = {
    "measured": ("c", RNG.normal(size=N).tolist(), "number"),
    "measured, as text": ("id", [f"{x:.5f}" for x in RNG.normal(size=N)], "number"),
    "sorted": ("c", np.sort(RNG.normal(size=N)).tolist(), "number"),
    "counts": ("c", RNG.poisson(3e6, N).tolist(), "number"),
    "ages": ("c", RNG.integers(20, 90, N).tolist(), "number"),
    "an index that is measured": ("index", RNG.integers(20, 90, N).tolist(), "number"),
    "few rows": ("c", [3, 4, 5, 6], "number"),
    "years": ("c", RNG.integers(1990, 2024, N).tolist(), "number"),
    "sentences": ("c", [f"patient {i // 2} has fever" for i in NUMBERS], "text"),
    "categories": ("c", [f"site {i % 5}" for i in NUMBERS], "category"),
    "repeated ids": ("patient", [f"P{i // 5}" for i in range(N)], "category"),
    "few categories": ("c", ["u", "v", "w"], "category"),
    "bool": ("c", [True, False] * 5, "number"),
    "constant": ("id", [1] * N, "number"),
    "a quantity of patients": ("patient_age", RNG.permutation(90)[:8].tolist(), "number"),
    "a gene": ("ID1", RNG.integers(0, 10**9, N).tolist(), "number"),
    "intensities": ("c", RNG.uniform(1e9, 2e9, N).tolist(), "number"),
    "empty": ("id", [None, None], "category"),
}  # fmt: skip


@pytest.mark.parametrize("case", LEFT_OUT)
def test_columns_that_are_no_features(case):
    name, cells, reason = LEFT_OUT[case]
    assert reason in inspect_column(pa.chunked_array([pa.array(cells)]), name).reason


@pytest.mark.parametrize("case", FEATURES)
def test_features(case):
    name, cells, kind = FEATURES[case]
    array = pa.array(cells, pa.string()) if case == "empty" else pa.array(cells)
    content = inspect_column(pa.chunked_array([array]), name)
    assert (content.kind, content.reason) in ((kind, ""), ("number", "") if case == "empty" else ())


def test_measurements_are_hardly_ever_taken_for_identifiers():
    rng = np.random.default_rng(1)
    for n in (10, 30, 100):
        for scale in (20, 300, 10_000):
            columns = [rng.integers(0, scale, n) for _ in range(300)]
            columns += [rng.poisson(scale, n) for _ in range(300)]
            assert not any(inspect_column(pa.chunked_array([c]), "x").reason for c in columns)


def csv_table(path, **columns):
    return Table(path, pa.table({name: list(map(str, cells)) for name, cells in columns.items()}))


def two_tables(order=slice(None), key="id", other_key="id"):
    x = RNG.normal(size=N)
    y = ["u", "v"] * (N // 2)
    ids = np.array([f"P{i:02}" for i in range(N)])
    return {
        "a": csv_table("a.csv", **{key: ids}, x=x, y=y),
        "b": csv_table("b.csv", **{other_key: ids[order]}, z=x[order]),
    }


def test_a_key_in_several_files_must_be_used():
    with pytest.raises(TableError, match=r"^a.csv and b.csv both have the column 'id'.* --on id$"):
        join_tables(two_tables(), target="y")
    assert join_tables(two_tables(), target="y", on="id").data.n_views == 2


def test_a_key_under_another_name():
    joined = join_tables(two_tables(other_key="nr"), target="y")
    assert "'id' (identifier: every value is different), 'nr' (identif" in joined.notes[0]
    with pytest.raises(TableError, match=r"^'id' of a.csv and 'nr' of b.csv have the same values"):
        join_tables(two_tables(slice(None, None, -1), other_key="nr"), target="y")


def test_a_key_that_one_file_lacks():
    tables = {**two_tables(), "c": csv_table("c.csv", w=RNG.normal(size=N))}
    assert "'id' (identifier" in join_tables(tables, target="y").notes[0]


def test_roles():
    y = ["u", "v"] * (N // 2)
    table = csv_table(
        "a.csv", id=range(N), day=[DAY] * N, c=["k", "l", "l"] * (N // 3), s=[0, 1] * 30, y=y,
        x=RNG.normal(size=N), g=[i % 7 for i in range(N)],
    )  # fmt: skip
    joined = join_tables({"a": table}, target="y", groups="g", categorical=["s"])
    assert [(r.view, r.column, r.role, r.reason) for r in joined.roles] == [
        ("a", "id", "left out", "identifier: whole numbers, every one is different"),
        ("a", "day", "left out", "date"),
        ("a", "c", "category", ""),
        ("a", "s", "category", ""),
        ("a", "x", "number", ""),
        ("a", "y", "target", ""),
        ("a", "g", "groups", ""),
    ]
    assert joined.views["a"].columns == ["c", "s", "x"]
    kept = join_tables({"a": table}, target="y", keep=["day", "id"])
    assert kept.data["a"]["day"].to_pylist() == [(DAY - datetime.date(1970, 1, 1)).days] * N
    assert kept.notes == []
    with pytest.raises(TableError, match="--keep y: the key, the target and the groups are no"):
        join_tables({"a": table}, target="y", keep=["y"])
    with pytest.raises(TableError, match="no file has a column 'nope'"):
        join_tables({"a": table}, target="y", keep=["nope"])
    with pytest.raises(TableError, match=r"--views v: no column is a feature; 'id' is left out"):
        join_tables({"a": table}, target="y", views={"v": ["id"], "w": ["x"]})


@pytest.mark.parametrize(
    "cells",
    [
        ["2024-12-31", "2024-12-30"],
        ["31.12.2024", "30.12.2024"],
        ["31.12.24", "30.12.24"],
        ["31/12/2024", "30/12/2024"],
        ["12/31/2024", "12/30/2024"],
        ["31-12-2024", "30-12-2024"],
        ["2024/12/31", "2024/12/30"],
    ],
)
def test_dates_are_days(cells):
    table = csv_table("a.csv", day=cells * 5, y=["u", "v"] * 5)
    joined = join_tables({"a": table}, target="y", keep=["day"])
    assert joined.data["a"].ravel().tolist() == [20088.0, 20087.0] * 5
    # new rows that could be read in two ways are read as those of the comparison
    view = joined.views["a"]
    new = csv_table("new.csv", day=[cells[0].replace("31", "05")])
    assert view.values(new).ravel().tolist() == [20088.0 - 26]
    with pytest.raises(
        TableError, match=r"column 'day' must contain dates written like .*2024-12-31"
    ):
        view.values(csv_table("new.csv", day=["yesterday"]))


@pytest.mark.parametrize(
    ("training", "new", "day"),
    [
        (["2024-12-31", "2024-12-30"], "2024-03-05", "2024-03-05"),
        (["31.12.2024", "30.12.2024"], "05.03.2024", "2024-03-05"),
        (["31.12.2024", "30.12.2024"], "2024-03-05", "2024-03-05"),
        (["12/31/2024", "12/30/2024"], "05/03/2024", "2024-05-03"),
        (["31/12/2024", "30/12/2024"], "05/03/2024", "2024-03-05"),
        (["2024-12-31", "2024-12-30"], "05/03/2024", "dates written like 2024-12-31 or"),
        (["31.12.2024", "30.12.2024"], "05/03/2024", "like 31.12.2024, as in training, or like 2"),
        (["12/31/2024", "12/30/2024"], "25.03.2024", "like 12/31/2024, as in training, or like 2"),
        (["12/31/2024", "12/30/2024"], "05/03/24", "like 12/31/2024, as in training, or like 2"),
    ],
)
def test_dates_of_new_rows_have_the_format_of_training(training, new, day):
    table = csv_table("a.csv", day=training * 5, y=["u", "v"] * 5)
    view = join_tables({"a": table}, target="y", keep=["day"]).views["a"]
    frame = pd.DataFrame({"day": training * 5})
    given = read_views({"a": frame}, ["u"] * 5 + ["v"] * 5, keep=["day"])
    selector = FeatureSelector(given.roles)
    new_table, new_frame = csv_table("new.csv", day=[new]), pd.DataFrame({"day": [new]})
    if "like" in day:
        with pytest.raises(TableError, match=f"new.csv: column 'day' must contain .*{day}"):
            view.values(new_table)
        with pytest.raises(ValueError, match=f"view 'a': column 'day' must contain .*{day}"):
            selector.transform({"a": new_frame})
        return
    expected = (datetime.date.fromisoformat(day) - datetime.date(1970, 1, 1)).days
    assert view.values(new_table).tolist() == [[expected]]
    assert given.views["a"].values(new_table).tolist() == [[expected]]
    assert selector.transform({"a": new_frame})["a"]["day"].tolist() == [expected]


def test_times_of_days():
    table = csv_table("a.csv", t=["31.12.2024 06:00", "31.12.2024 18:00:00"] * 5, y=["u", "v"] * 5)
    joined = join_tables({"a": table}, target="y", keep=["t"])
    assert joined.data["a"].ravel().tolist() == [20088.25, 20088.75] * 5


def test_dates_that_can_be_read_in_two_ways():
    table = csv_table("a.csv", day=["01/02/2024", "02/03/2024"] * 5, y=["u", "v"] * 5)
    with pytest.raises(TableError, match="'day' may have the day or the month first; write them"):
        join_tables({"a": table}, target="y", keep=["day"])


@pytest.mark.parametrize("backend", [pd.DataFrame, pa.table])
def test_dates_in_dataframes_that_can_be_read_in_two_ways(backend):
    def frame(*cells):
        return backend({"day": list(cells) * 5, "x": [0.5, 1.5] * 5})

    y = ["u", "v", "v", "u", "u"] * 2
    with pytest.raises(ValueError, match="view 'a': the dates of column 'day' may have the day or"):
        read_views({"a": frame("01/02/2024", "02/03/2024")}, y, keep=["day"])
    # a column that is left out may be written in any way
    assert read_views({"a": frame("01/02/2024", "02/03/2024")}, y).problem.data.widths == {"a": 1}
    given = read_views({"a": frame("12/31/2024", "01/02/2024")}, y, keep=["day"])
    days = [20088.0, 19724.0]
    assert np.asarray(given.problem.data["a"]["day"])[:2].tolist() == days
    # new dates are read as those were
    new = FeatureSelector(given.roles).transform({"a": frame("01/02/2024", "01/02/2024")})
    assert np.asarray(new["a"]["day"])[0] == days[1]
    table = Table("new.csv", pa.table({"day": ["01/02/2024"], "x": [0.5]}))
    assert given.views["a"].values(table).tolist() == [[days[1], 0.5]]


TEXTS = [f"{'good very good' if i % 2 else 'bad'} product number {i}" for i in range(N)]


def test_free_text_is_a_view_of_words():
    y = ["u", "v"] * (N // 2)
    table = csv_table("a.csv", review=["", *TEXTS[1:]], x=RNG.normal(size=N), y=y)
    joined = join_tables({"a": table}, target="y")
    assert joined.data.view_names == ("a", "review")
    view = joined.views["review"]
    assert view.words == ("bad", "good", "number", "product", "very")
    assert joined.data["review"].toarray()[:3].tolist() == [
        [0, 0, 0, 0, 0],
        [0, 2, 1, 1, 1],
        [1, 0, 1, 1, 0],
    ]
    assert joined.data.present[:2].tolist() == [[True, False], [True, True]]  # without a text
    assert "'review' is free text; its 5 words are a view" in joined.notes
    assert [r.view for r in joined.roles if r.role == "text"] == ["review"]
    new = csv_table("new.csv", review=["Good, but BAD", ""])
    assert view.values(new).toarray().tolist() == [[1, 1, 0, 0, 0], [0] * 5]
    assert view.align(new, np.arange(2))[1].tolist() == [True, False]
    # the whole view is text, another one has the name, a category, and none of it
    for table, options, names in (
        (csv_table("a.csv", review=TEXTS, y=y), {}, ["a"]),
        (csv_table("a.csv", a=TEXTS, x=RNG.normal(size=N), y=y), {}, ["a", "a.a"]),
        (csv_table("a.csv", a=TEXTS, b=TEXTS, y=y), {}, ["a", "b"]),
        (csv_table("a.csv", b=TEXTS, y=y, x=[1, 2] * 30), {"categorical": ["b"]}, ["a"]),
        (csv_table("a.csv", b=TEXTS, y=y, x=[1, 2] * 30), {"drop": ["b"]}, ["a"]),
    ):
        assert list(join_tables({"a": table}, target="y", **options).views) == names


def test_columns_to_drop():
    table = csv_table("a.csv", x=RNG.normal(size=N), z=[1, 2] * 30, y=["u", "v"] * 30)
    joined = join_tables({"a": table}, target="y", drop=["z"])
    assert joined.views["a"].columns == ["x"]
    assert ("z", "left out", "in no view") in [(r.column, r.role, r.reason) for r in joined.roles]
    with pytest.raises(TableError, match="no file has a column 'Z' \\(did you mean 'z'"):
        join_tables({"a": table}, target="y", drop=["Z"])
    with pytest.raises(TableError, match="--drop z: the column is also one to use"):
        join_tables({"a": table}, target="y", drop=["z"], keep=["z"])


def test_keys_beside_a_matrix(tmp_path):
    ids = np.array([f"P{i}" for i in range(N)])
    table = csv_table("a.csv", code=ids, x=RNG.normal(size=N), y=["u", "v"] * (N // 2))
    frame = pa.table({"code": [*np.roll(ids, 3)[:-2].tolist(), "Q1", "Q2"]})
    matrix = Table("b.npz", frame, RNG.normal(size=(N, 3)))
    with pytest.raises(TableError, match=r"a.csv and b.npz both have the column 'code'"):
        join_tables({"a": table, "b": matrix}, target="y")
    assert join_tables({"a": table, "b": matrix}, target="y", on="code").data.n_views == 2


def test_the_index_of_a_dataframe_in_parquet(tmp_path):
    import pandas as pd

    from consilience.tables import read_file

    frame = pd.DataFrame({"x": RNG.normal(size=N)}, index=[f"P{i}" for i in range(N)])
    frame.to_parquet(tmp_path / "a.parquet")
    assert read_file(tmp_path / "a.parquet")["a"].columns == ["x", "index"]
    frame.set_index(np.zeros(N, dtype=int)).to_parquet(tmp_path / "a.parquet")
    assert read_file(tmp_path / "a.parquet")["a"].columns == ["x"]


@pytest.mark.parametrize(
    ("cells", "is_running"),
    [
        (["0", "1", "2"], True),
        (["3", "1", "2"], True),
        (["2", "3", "4"], False),
        (["1", "2", "2"], False),
        (["1", None, "3"], False),
    ],
)
def test_numbers_of_rows_run_from_0_or_1(cells, is_running):
    assert _is_running(cells) == is_running


def test_columns_left_out_are_those_of_the_view():
    roles = [
        ColumnRole("blood", "number", "left out", "numbers the rows"),
        ColumnRole("blood", "hb", "number"),
        ColumnRole("urine", "empty", "left out", "no values"),
    ]
    view = _complete_view(TableView(["hb"], [], 1, words=("a",)), "blood", None, roles)
    assert view.left_out == ("number",)
