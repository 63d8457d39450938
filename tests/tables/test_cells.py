"""Cells of text files are in the column and row, and have the value, that a person would read."""

import pytest

from consilience.tables import _text_files, read_file
from consilience.tables._table import number_column, text_column


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
