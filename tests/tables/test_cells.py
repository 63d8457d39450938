"""Cells of text files are in the column and row, and have the value, that a person would read."""

from math import nan

import numpy as np
import openpyxl
import pyarrow as pa
import pytest

from consilience.tables import (
    FileArgument,
    ReadOptions,
    Table,
    TableError,
    _text_files,
    join_tables,
    read_file,
    read_tables,
)
from consilience.tables._table import number_column, text_column

THOUSANDS = "points taken as separators of thousands in 'x'"


@pytest.fixture
def read(tmp_path):
    """Read a text as a file of a table."""

    def read_text(text, name="t.csv", **options):
        (tmp_path / name).write_text(text)
        return read_file(tmp_path / name, **options)["t"]

    return read_text


@pytest.fixture(params=["narrow", "wide"])
def width(request, monkeypatch):
    """Both readers of text files, whatever the number of columns is."""
    if request.param == "wide":
        monkeypatch.setattr(_text_files, "MIN_WIDE_COLUMNS", 1)
    return request.param


@pytest.mark.usefixtures("width")
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_rows_that_end_with_a_delimiter(read, delimiter):
    lines = ["age,crp,sex", *(f"{30 + i},{i}.5,{'fm'[i % 2]}," for i in range(80))]
    table = read("\n".join(lines).replace(",", delimiter) + "\n")
    assert table.columns == ["age", "crp", "sex"]
    assert number_column(table, "age").tolist() == list(range(30, 110))
    assert text_column(table, "sex")[:3] == ["f", "m", "f"]
    assert "delimiter at the end of every row ignored" in table.note
    # a value after it, even far below, means that the first cell is a name
    lines[75] += "7"
    table = read("\n".join(lines).replace(",", delimiter) + "\n")
    assert table.columns == ["index", "age", "crp", "sex"]
    assert number_column(table, "age")[:2].tolist() == [0.5, 1.5]
    assert number_column(table, "sex")[74] == 7
    assert "first column taken as row names" in table.note


COMMAS = "w;x\n" + "".join(f"7{i},5;{{}}\n" for i in range(4))  # a column of decimal commas


@pytest.mark.usefixtures("width")
@pytest.mark.parametrize(
    ("cells", "numbers", "note"),
    [
        (["950", "1.500", "-12.000.750", "n.d."], [950, 1500, -12000750, nan], THOUSANDS),
        (["1.500", "2.250", "3.125", ""], [1500, 2250, 3125, nan], THOUSANDS),
        (["1.234,5", "0,25", " 2.000 ", "1e3"], [1234.5, 0.25, 2000, 1000], THOUSANDS),
        (["0.125", "12.5", "3", "-"], [0.125, 12.5, 3, nan], "decimal points in 'x'"),
        (["0.25", "12.5", "1.125", "1.500"], [0.25, 12.5, 1.125, 1.5], "decimal points in 'x'"),
        (["1,5", "2,25", "3", "4"], [1.5, 2.25, 3, 4], ""),
    ],
)
def test_points_in_files_with_decimal_commas(read, cells, numbers, note):
    table = read(COMMAS.format(*cells))
    np.testing.assert_array_equal(number_column(table, "x"), numbers)
    assert table.note.removeprefix(table.path) == (
        ": delimiter semicolon, decimal comma" + (f", {note}" if note else "")
    )
    assert number_column(table, "w").tolist() == [70.5, 71.5, 72.5, 73.5]


@pytest.mark.usefixtures("width")
@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        (
            "price;rent;x\n1.500;2.300;1,5\n2.750;3.100;2,5\n",
            [[1500, 2750], [2300, 3100], [1.5, 2.5]],
        ),
        ("price;x\n1.234,50;3\n2.345.678,60;4\n", [[1234.5, 2345678.6], [3, 4]]),
        ("price;x\n1.500;3\n2.750;4\n", [[1.5, 2.75], [3, 4]]),
        ("price;x;z\n1.500;0.5;1,5\n2.750;12.5;2\n", [[1.5, 2.75], [0.5, 12.5]]),
    ],
)
def test_decimal_mark_of_files_with_points(read, text, numbers):
    table = read(text)
    for column, expected in zip(table.columns, numbers, strict=False):
        assert number_column(table, column).tolist() == expected


@pytest.mark.usefixtures("width")
def test_points_that_can_be_read_in_two_ways(read):
    for cell in "1.234,5", "1.234.567":
        with pytest.raises(TableError, match=f"separate thousands in '{cell}', but not in '2.25'"):
            read(COMMAS.format("950", cell, "2.25", "3"))
    with pytest.raises(TableError, match="with a comma, such as '1,5' in row 1, and with a point"):
        number_column(read(COMMAS.format("1,5", "2.25", "3", "4")), "x")
    # words and points are text
    assert text_column(read(COMMAS.format("1.500", "v2.1", "a", "b")), "x")[0] == "1.500"
    # and so is a key
    options = ReadOptions(text_columns=frozenset({"x"}))
    assert text_column(read(COMMAS.format("1.500", "2", "3", "4"), options=options), "x")[0] == (
        "1.500"
    )


@pytest.mark.usefixtures("width")
def test_blanks_around_cells(read):
    cells = ["a", "b", "", "NA"] * 5
    text = "x, y, ill\n" + "".join(f"{i}.5, -9, {cell}\n" for i, cell in enumerate(cells))
    table = read(text.replace("\n7.5", "\n NaN"), options=ReadOptions(na=("-9",)))
    assert text_column(table, "ill")[:4] == ["a", "b", None, None]
    assert np.isnan(number_column(table, "y")).all()
    assert np.flatnonzero(np.isnan(number_column(table, "x"))).tolist() == [7]
    joined = join_tables({"t": table}, target="ill", drop=["y"])
    assert sorted(set(joined.target)) == ["a", "b"]


def test_blank_cells_in_other_files_are_missing():
    table = Table("t.parquet", pa.table({"a": ["u ", " ", None]}))
    assert text_column(table, "a") == ["u", None, None]
    encoded = Table("t.parquet", pa.table({"a": pa.array(["u ", " "]).dictionary_encode()}))
    assert text_column(encoded, "a") == ["u", None]


@pytest.mark.parametrize("comment", ["", "# of the laboratory\n"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_empty_lines_of_one_column_are_rows(read, comment, end):
    text = f"{comment}crp\n1.5\n\n2.5\n  \n3.5\n\n\n".replace("\n", end)
    values = number_column(read(text), "crp")
    np.testing.assert_array_equal(values, [1.5, nan, 2.5, nan, 3.5])
    # as pandas writes an empty cell, also at the end
    quoted = read(f'{comment}ill\na\n""\nb\n""\n')
    assert text_column(quoted, "ill") == ["a", None, "b", None]
    # lines between rows of several columns are none
    assert read(f"{comment}a,b\n1,2\n\n3,4\n").n_rows == 2


def test_empty_rows_of_a_sheet_of_one_column(tmp_path):
    book = openpyxl.Workbook()
    for row in (["crp"], [1.5], [], [2.5], []):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    np.testing.assert_array_equal(
        number_column(read_file(tmp_path / "t.xlsx")["t"], "crp"), [1.5, nan, 2.5]
    )


@pytest.mark.usefixtures("width")
def test_words_that_are_read_as_missing_labels_are_counted(read, tmp_path):
    labels = ["None", "mild", "severe", " NA ", "", "-9"] * 4
    text = "x,y,ill\n" + "".join(f"{i % 7}.5,NA,{label}\n" for i, label in enumerate(labels))
    (tmp_path / "t.csv").write_text(text)
    file = FileArgument(tmp_path / "t.csv", "t")
    reading = ReadOptions(na=("-9",))
    told = "which is read as a missing label; if it is a class, give it another name"
    joined = read_tables([file], target="ill", reading=reading, drop=["y"])
    assert sorted(set(joined.target)) == ["mild", "severe"]
    assert [note for note in joined.notes if "missing label" in note] == [
        f"{file.path}: 'ill' is 'NA' in 4 rows, {told}",
        f"{file.path}: 'ill' is 'None' in 4 rows, {told}",
    ]
    stacked = read_tables([file, file], target="ill", reading=reading, drop=["y"])
    assert f"{file.path}, {file.path}: 'ill' is 'None' in 8 rows, {told}" in stacked.notes


def test_words_that_are_read_as_missing_labels_in_a_sheet(tmp_path):
    book = openpyxl.Workbook()
    for row in [["x", "ill"], *([i % 7, ["None", "a", "b", None][i % 4]] for i in range(20))]:
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    joined = read_tables([FileArgument(tmp_path / "t.xlsx", "t")], target="ill")
    notes = [note for note in joined.notes if "missing label" in note]
    assert len(notes) == 1
    assert "'ill' is 'None' in 5 rows" in notes[0]


def test_one_class_beside_words_that_are_read_as_missing(tmp_path):
    file = FileArgument(tmp_path / "t.csv", "t")
    told = r"t.csv: 'ill' is 'None' in 4 rows, which is read as a missing label; if it is a class,"
    file.path.write_text("x,ill\n" + "1.5,None\n2.5,mild\n" * 4)
    with pytest.raises(
        TableError, match=f"only one class, 'mild'; at least two are needed; .*{told}"
    ):
        read_tables([file], target="ill")
    file.path.write_text("x,ill\n" + "1.5,None\n2.5,\n" * 4)
    with pytest.raises(TableError, match=f"no sample has both a view and a label; .*{told}"):
        read_tables([file], target="ill")


def test_only_missing_labels_are_counted(tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text("x,colour,ill\n1,red,a\n2,NA,b\n" * 2)
    book = openpyxl.Workbook()
    for row in (["colour", "ill"], ["NA", "NA"], ["red", "a"]):
        book.active.append(row)
    book.save(tmp_path / "b.xlsx")
    reads = []
    read = _text_files._read_narrow
    monkeypatch.setattr(
        _text_files, "_read_narrow", lambda *args, **kw: reads.append(args[4:]) or read(*args, **kw)
    )
    options = ReadOptions(text_columns=frozenset({"colour", "ill"}), labels="ill")
    assert read_file(tmp_path / "t.csv", options=options)["t"].missing_words == {}
    assert reads == [()]
    assert read_file(tmp_path / "b.xlsx", options=options)["b"].missing_words == {"ill": {"NA": 1}}


@pytest.mark.usefixtures("width")
def test_rows_that_end_with_a_delimiter_have_no_row_names(read):
    for text in ("a,b\ns1,1,\ns2,2,\n", "patient_id,b\ns1,1,\ns2,2,\n", "a,b\nu,1,\nu,2,\n"):
        table = read(text)
        assert table.columns == text.split("\n")[0].split(",")
        assert number_column(table, "b").tolist() == [1, 2]
