"""Values, rows and types of workbooks and of Arrow, h5ad and npz files are those meant."""

import warnings
from datetime import datetime, timedelta
from math import nan

import anndata
import mudata
import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from common.omics import settled_mudata
from consilience.tables import (
    ReadOptions,
    Table,
    TableError,
    TableModel,
    TableView,
    _text_files,
    join_tables,
    read_file,
)
from consilience.tables._dates import to_days
from consilience.tables._stack import stack_tables
from consilience.tables._table import number_column
from consilience.tables._transpose import transpose_table

N = 8
LABELS = ["a", "b"] * (N // 2)


def save_book(path, **sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


# -- cells that mean missing ---------------------------------------------------------------------


def numbers_of(path, **options):
    table = read_file(path, options=ReadOptions(**options))[path.stem]
    return number_column(table, "x") if table.matrix is None else table.matrix[:, 0]


@pytest.mark.parametrize("na", ["-999", "-999.0", "-999,0"])
@pytest.mark.parametrize("ending", ["csv", "xlsx", "parquet", "feather", "npz", "h5ad"])
def test_number_that_means_missing_in_every_format(tmp_path, ending, na):
    x, path = np.array([1.5, -999.0, 2.5]), tmp_path / f"t.{ending}"
    if ending == "csv":
        path.write_text("x,y\n1.5,a\n-999.00,b\n2.5,a\n")
    elif ending == "xlsx":
        save_book(path, t=[["x", "y"], [1.5, "a"], [-999, "b"], [2.5, "a"]])
    elif ending == "parquet":
        pq.write_table(pa.table({"x": x}), path)
    elif ending == "feather":
        feather.write_feather(pa.table({"x": x}), path)
    elif ending == "npz":
        np.savez(path, X=x[:, None])
    else:
        obs, var = pd.DataFrame(index=list("pqr")), pd.DataFrame(index=["g"])
        anndata.AnnData(x[:, None], obs=obs, var=var).write(path)
    np.testing.assert_array_equal(numbers_of(path, na=(na,)), [1.5, nan, 2.5])


def test_keys_and_labels_mean_missing_only_as_spelled(tmp_path):
    (tmp_path / "t.csv").write_text("id,x\n007,7\n7,8\n7.0,7.0\n")
    options = ReadOptions(na=("7",), text_columns=frozenset({"id"}))
    columns = read_file(tmp_path / "t.csv", options=options)["t"].frame.to_pydict()
    assert columns == {"id": ["007", None, "7.0"], "x": [None, "8", None]}


def test_entries_of_a_sparse_matrix_cannot_be_missing(tmp_path):
    sp.save_npz(tmp_path / "t.npz", sp.csr_array([[0, -9.0], [1, 0]]))
    with pytest.raises(TableError, match=r"t\.npz is a sparse matrix with entries that mean"):
        read_file(tmp_path / "t.npz", options=ReadOptions(na=("-9",)))


# -- workbooks -----------------------------------------------------------------------------------


def test_numbers_beside_text_in_a_workbook_with_decimal_commas(tmp_path):
    cells = [1.234, 2.345, "n.d.", "3,5", 4]
    path = save_book(tmp_path / "t.xlsx", t=[["x", "w"], *([cell, 1] for cell in cells)])
    np.testing.assert_array_equal(numbers_of(path, decimal=","), [1.234, 2.345, nan, 3.5, 4])


def test_decimal_mark_of_training_holds_for_workbooks(tmp_path):
    path = save_book(tmp_path / "t.xlsx", t=[["x", "w"], ["1.500", 1], ["950", 2]])
    assert read_file(path, options=ReadOptions(decimal=","))["t"].decimal == ","
    assert numbers_of(path, default_decimal=",").tolist() == [1500, 950]
    assert numbers_of(path, default_decimal=",", decimal=".").tolist() == [1.5, 950]


def test_days_and_times_of_a_workbook(tmp_path):
    cells = [datetime(2024, 12, 31), None, datetime(2024, 12, 31, 18)]
    path = save_book(tmp_path / "t.xlsx", t=[["when", "x"], *([cell, 1] for cell in cells)])
    days = to_days(read_file(path)["t"].frame["when"])
    np.testing.assert_array_equal(days, [20088, nan, 20088.75])


# -- empty rows ----------------------------------------------------------------------------------

X_ROWS = [["x", "v"], [1, 2], [], [3, 4], [5, 6]]
Y_ROWS = [["z", "y"], [1, "a"], [2, "b"], [], [5, "a"]]


def as_csv(rows):
    return "\n".join(",".join(map(str, row)) for row in rows) + "\n\n"


@pytest.fixture(params=["sheets", "text"])
def read_rows(request, tmp_path):
    def read(x_rows, y_rows):
        if request.param == "sheets":
            return read_file(save_book(tmp_path / "t.xlsx", x=x_rows, y=y_rows))
        for name, rows in (("x", x_rows), ("y", y_rows)):
            (tmp_path / f"{name}.csv").write_text(as_csv(rows))
        return read_file(tmp_path / "x.csv") | read_file(tmp_path / "y.csv")

    return read


def test_empty_rows_in_different_places_shift_no_rows(read_rows):
    with pytest.raises(TableError, match="empty rows in different places, such as row 2 and row 3"):
        join_tables(read_rows(X_ROWS, Y_ROWS), target="y")


def test_empty_rows_in_the_same_places_or_one_file(read_rows):
    for y_rows in (Y_ROWS[:2] + [[]] + Y_ROWS[2:3] + Y_ROWS[4:], Y_ROWS[:3] + Y_ROWS[4:]):
        joined = join_tables(read_rows(X_ROWS, y_rows), target="y")
        assert joined.target.tolist() == ["a", "b", "a"]
        assert joined.data.to_array()[:, 0].tolist() == [1, 3, 5]


@pytest.mark.parametrize(
    ("text", "n_rows", "blank"),
    [
        ("a,b\n1,2\n\n3,4\n\n\n", 2, (1,)),
        ("a,b\n1,2\n,\n\n3,4\n,\n\n", 4, (2,)),
        ("a,b\n1,2\n,\n3,4\n", 3, ()),
        ("a\n1\n\n3\n\n", 3, ()),
        ('a,b\n1,"x\n\ny"\n', 1, ()),
    ],
)
@pytest.mark.parametrize("min_wide_columns", [2, 1000])
def test_blank_lines(tmp_path, monkeypatch, text, n_rows, blank, min_wide_columns):
    monkeypatch.setattr(_text_files, "MIN_WIDE_COLUMNS", min_wide_columns)
    (tmp_path / "t.csv").write_text(text)
    table = read_file(tmp_path / "t.csv")["t"]
    assert (table.n_rows, table.blank_rows) == (n_rows, blank)


@pytest.mark.parametrize("min_wide_columns", [2, 1000])
def test_blank_lines_only(tmp_path, monkeypatch, min_wide_columns):
    monkeypatch.setattr(_text_files, "MIN_WIDE_COLUMNS", min_wide_columns)
    (tmp_path / "t.csv").write_text("a,b\n\n\n")
    with pytest.raises(TableError, match="has no rows"):
        read_file(tmp_path / "t.csv")


def test_empty_rows_of_stacked_and_transposed_tables():
    frame = pa.table({"name": ["f", "g"], "s1": [1.0, 2.0]})
    tables = [Table("1", frame, blank_rows=(1,)), Table("2", frame), Table("3", frame, None)]
    tables[2] = Table("3", frame, blank_rows=(0,))
    assert stack_tables("v", tables, ["1", "2", "3"])[0].blank_rows == (1, 5)
    assert transpose_table(tables[0], "sample").blank_rows == ()


def test_quotation_mark_that_is_never_closed(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a,b\n1,"x"\n2,"y\n3,z\n4,z\n')
    with pytest.raises(TableError, match="a quotation mark in row 2 is never closed"):
        read_file(path)
    path.write_text('a,b\n1,5" pipe\n2,"y\n3,z"\n')
    assert read_file(path)["t"].frame["b"].to_pylist() == ['5" pipe', "y\n3,z"]


def test_commas_that_may_separate_thousands(tmp_path):
    (tmp_path / "t.csv").write_text('x,y\n"1,500",a\n"950",b\n')
    with pytest.raises(
        TableError, match=r"add --decimal . if commas separate thousands, or add --dec"
    ):
        numbers_of(tmp_path / "t.csv")


# -- Arrow ---------------------------------------------------------------------------------------


def test_texts_of_polars_are_texts(tmp_path):
    columns = {"id": [f"p{i}" for i in range(N)], "x": np.arange(N) / 3, "y": LABELS}
    pl.DataFrame(columns).write_ipc(tmp_path / "t.arrow")
    roles = join_tables(read_file(tmp_path / "t.arrow"), target="y").roles
    assert {role.column: role.role for role in roles}["id"] == "left out"


def test_column_without_a_cell(tmp_path):
    pq.write_table(pa.table({"x": pa.nulls(2), "z": [1.0, 2.0]}), tmp_path / "t.parquet")
    values = TableView(["x", "z"], [], 2).values(read_file(tmp_path / "t.parquet")["t"])
    np.testing.assert_array_equal(values, [[nan, 1], [nan, 2]])


def test_durations_are_seconds(tmp_path):
    times = [timedelta(days=1), timedelta(milliseconds=1500), None]
    pq.write_table(pa.table({"x": times}), tmp_path / "t.parquet")
    np.testing.assert_array_equal(numbers_of(tmp_path / "t.parquet"), [86400, 1.5, nan])


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary(1)])
def test_bytes_are_no_text(tmp_path, kind):
    pq.write_table(pa.table({"x": pa.array([b"1"], kind)}), tmp_path / "t.parquet")
    with pytest.raises(TableError, match=r"column 'x' contains .*binary.*, neither numbers nor"):
        read_file(tmp_path / "t.parquet")


# -- h5mu and h5ad -------------------------------------------------------------------------------


def test_labels_of_samples_whose_name_occurs_twice(tmp_path):
    obs, var = pd.DataFrame(index=list("abca")), pd.DataFrame(index=["g1", "g2"])
    with settled_mudata(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Observation names are not unique|obs_names are not")
        data = mudata.MuData({"rna": anndata.AnnData(np.ones((4, 2)), obs=obs, var=var)})
        data.obs["y"] = ["n", "j", "n", "j"]
        data.write(tmp_path / "t.h5mu")
    frame = read_file(tmp_path / "t.h5mu")["rna"].frame
    assert frame["y"].to_pylist() == ["n", "j", "n", "j"]


def test_names_of_a_dataframe_in_obsm(tmp_path):
    obs, var = pd.DataFrame(index=list("ab")), pd.DataFrame(index=["g"])
    data = anndata.AnnData(np.ones((2, 1)), obs=obs, var=var)
    data.obsm["clinic"] = pd.DataFrame({"age": [50.0, 60.0], "bmi": [20.0, 30.0]}, index=list("ab"))
    data.write(tmp_path / "t.h5ad")
    table = read_file(tmp_path / "t.h5ad", part="obsm/clinic")["t"]
    values = TableView(["bmi", "age"], [], 2).values(table)
    np.testing.assert_array_equal(values, [[20, 50], [30, 60]])


# -- matrices ------------------------------------------------------------------------------------


def test_texts_of_npz_files(tmp_path):
    y = np.array([b"no", b"yes"] * 3)
    np.savez(tmp_path / "t.npz", X=np.random.default_rng(0).normal(size=(6, 2)), y=y)
    assert join_tables(read_file(tmp_path / "t.npz"), target="y").target.tolist()[:2] == [
        "no",
        "yes",
    ]
    np.savez(tmp_path / "t.npz", X=np.ones((6, 2)), y=np.ones(6, dtype=complex))
    with pytest.raises(TableError, match="array 'y' contains complex128, neither numbers nor"):
        read_file(tmp_path / "t.npz")


def test_matrices_without_other_columns_are_stacked():
    tables = [Table(name, pa.table({}), np.full((2, 2), i)) for i, name in enumerate("ab")]
    stacked, _ = stack_tables("v", tables, ["a", "b"])
    assert stacked.matrix[:, 0].tolist() == [0, 0, 1, 1]
    assert stacked.frame["batch"].to_pylist() == ["a", "a", "b", "b"]


def test_columns_that_the_first_matrix_lacks_are_named():
    frame = pa.table({"y": ["a", "b"]})
    one = Table("one", frame, np.ones((2, 2)), ["g1", "g2"])
    two = Table("two", frame, np.ones((2, 3)), ["g2", "g3", "g1"])
    assert "left out, because one lacks them: 'g3'" in stack_tables("v", [one, two], ["1", "2"])[1]
    unnamed = Table("three", frame, np.ones((2, 2)))
    for tables in ([one, unnamed], [unnamed, one]):
        with pytest.raises(TableError, match="only some of its files have names of columns"):
            stack_tables("v", tables, ["1", "2"])


def test_own_column_of_batches_stays():
    frame = pa.table({"batch": [1.5, 2.5], "y": ["a", "b"]})
    stacked, _ = stack_tables("v", [Table("1", frame), Table("2", frame)], ["1", "2"])
    assert stacked.annotations == {}


# -- dataframes ----------------------------------------------------------------------------------


def test_index_of_pandas_is_no_unnamed_column():
    model = TableModel(None, {"v": TableView(None, [], 2)}, "m", "y")
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}, index=[7, 9])
    data = model.to_multiview({"v": frame})
    np.testing.assert_array_equal(data.to_array(), [[1, 3], [2, 4]])


@pytest.mark.parametrize(
    ("clock", "hours"),
    [("8:30 PM", 20.5), ("8:30 AM", 8.5), ("12:30 a.m.", 0.5), ("12:00:00 pm", 12)],
)
def test_hours_of_half_a_day(clock, hours):
    days = to_days(pa.chunked_array([[f"12/31/2024 {clock}"]]), "%m/%d/%Y")
    assert days[0] * 24 % 24 == pytest.approx(hours)


def test_dates_in_categories():
    cells = pa.chunked_array([pa.array(["2024-12-31", None]).dictionary_encode()])
    np.testing.assert_array_equal(to_days(cells), [20088, nan])
