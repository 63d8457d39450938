"""Numbers with per cent signs, separators of thousands and units."""

from math import nan

import numpy as np
import openpyxl
import pandas as pd
import pytest

from consilience.comparison.inputs import read_files, read_views
from consilience.tables import (
    FileArgument,
    ReadOptions,
    TableError,
    _text_files,
    read_file,
    read_tables,
)
from consilience.tables._table import number_column, text_column

SEPARATED = "separators of thousands removed in 'x'"
POINTS = "points taken as separators of thousands in 'x'"
PER_CENT = "per cent signs removed in 'x'"
UNCLEAR = "points taken as decimal points in 'x' (if they separate thousands, add --decimal ,)"


def text(cells, others=("1", "2", "3", "4")):
    return "x\tz\n" + "".join(f"{x}\t{z}\n" for x, z in zip(cells, others, strict=False))


@pytest.fixture(params=["narrow", "wide"])
def read(request, tmp_path, monkeypatch):
    """Both readers of text files."""
    if request.param == "wide":
        monkeypatch.setattr(_text_files, "MIN_WIDE_COLUMNS", 1)

    def read_text(content, **options):
        (tmp_path / "t.tsv").write_text(content)
        return read_file(tmp_path / "t.tsv", options=ReadOptions(**options))["t"]

    return read_text


FRACTIONS = ("1.5", "2.25", "3.5", "4.75")


@pytest.mark.parametrize(
    ("cells", "others", "numbers", "note"),
    [
        (["12.5%", "3 %", "0", "-"], "1234", [12.5, 3, 0, nan], PER_CENT),
        (
            ["12,5%", "3,25 %", "0,0", ""],
            "1234",
            [12.5, 3.25, 0, nan],
            f"decimal comma, {PER_CENT}",
        ),
        (["1,234.56", "12,345", "950", "n.d."], "1234", [1234.56, 12345, 950, nan], SEPARATED),
        (["1,234,567", "-12,345", "0", "8"], "1234", [1234567, -12345, 0, 8], SEPARATED),
        (["1,234", "12,345", "0.5", ""], FRACTIONS, [1234, 12345, 0.5, nan], SEPARATED),
        (["1 234", "12\u202f345", "1'000", "7.5"], "1234", [1234, 12345, 1000, 7.5], SEPARATED),
        (["1 234,5", "12 345", "7", "8"], "1234", [1234.5, 12345, 7, 8], f"comma, {SEPARATED}"),
        (["1,234.5%", "2%", "3%", "4%"], "1234", [1234.5, 2, 3, 4], f"{PER_CENT}, {SEPARATED}"),
        (["1.234", "12.345.678", "7", "8"], "1234", [1234, 12345678, 7, 8], POINTS),
        (["1.234", "12.345.678", "7", ""], FRACTIONS, [1234, 12345678, 7, nan], POINTS),
    ],
)
def test_numbers_as_people_write_them(read, cells, others, numbers, note):
    table = read(text(cells, others))
    np.testing.assert_array_equal(number_column(table, "x"), numbers)
    np.testing.assert_array_equal(number_column(table, "z"), [float(z) for z in others])
    assert table.note.endswith(note)


def test_numbers_that_may_be_thousands_are_named(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text(text(["1.234", "12.345", "7", ""]))
    table = read_file(path)["t"]
    assert number_column(table, "x")[:2].tolist() == [1.234, 12.345]
    assert table.note == f"{path}: {UNCLEAR}"
    for decimal, numbers in ((",", [1234, 12345, 7]), (".", [1.234, 12.345, 7])):
        table = read_file(path, options=ReadOptions(decimal=decimal))["t"]
        assert number_column(table, "x")[:3].tolist() == numbers
        assert UNCLEAR not in table.note
    # nothing is unclear beside numbers that can be no thousands, in the column or another one
    for cells, others in (
        (["0.234", "1.5"], "12"),
        (["1.234", "1234"], "12"),
        (["1.234"], ["0.5"]),
    ):
        path.write_text(text(cells, others))
        assert read_file(path)["t"].note == ""


def test_numbers_written_in_two_ways_are_refused(read):
    with pytest.raises(
        TableError, match=r"with a per cent sign, such as '12%' in row 1, and without, .* '0.3' in"
    ):
        number_column(read(text(["12%", "0.3", "5%", "6%"])), "x")
    with pytest.raises(TableError, match=r"thousands in '1.234.567', but not in '2.5'"):
        read(text(["1.234.567", "2.5", "3", "4"]))
    table = read(text(["1,234", "5,678", "3", "4"]))
    with pytest.raises(TableError, match=r"add --decimal . if commas separate thousands, or add"):
        number_column(table, "x")
    assert number_column(read(text(["1,234", "5"]), decimal="."), "x").tolist() == [1234, 5]


def test_other_text_stays(read):
    for cells in (["1.2.3", "12.05.2024", "a", "b"], ["5%", "many", "x", "y"], ["1 234", "a", "b"]):
        table = read(text(cells))
        assert text_column(table, "x") == cells
        assert table.note == ""
    # and so does a key
    options = {"text_columns": frozenset({"x"})}
    assert text_column(read(text(["1,234.5", "5%"]), **options), "x") == ["1,234.5", "5%"]


def test_workbooks_and_arrow_files(tmp_path):
    book = openpyxl.Workbook()
    for row in (["x", "y", "z"], ["1,234.50", "12%", 1], ["7", "3%", 2]):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    frame = pd.DataFrame({"x": ["1,234.50", "7"], "y": ["12%", "3%"], "z": [1, 2]})
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_feather(tmp_path / "t.feather")
    for name in ("t.xlsx", "t.parquet", "t.feather"):
        (table,) = read_file(tmp_path / name).values()
        assert number_column(table, "x").tolist() == [1234.5, 7]
        assert number_column(table, "y").tolist() == [12, 3]
        assert table.note.endswith(f"per cent signs removed in 'y', {SEPARATED}")


# -- several files --------------------------------------------------------------------------------


def write(path, cells, others="12345678"):
    rows = zip(cells, others, ["a", "b"] * 4, strict=False)
    lines = ["x\tz\till", *("\t".join(row) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return FileArgument(path, "v")


TRAINING = {
    "points": ["1.234", "12.345.678", "7", "8", "9.000", "10", "11", "12"],
    "commas": ["1,234", "12,345,678", "7", "8", "9,000", "10", "11", "12"],
    "per cent": ["1%", "12%", "7%", "8%", "9.5%", "10%", "11%", "12%"],
}
MANY_FRACTIONS = ["1.5", "2.25", "3.5", "4.75"] * 2


@pytest.mark.parametrize(
    ("training", "new", "number"),
    [
        ("points", "1.234", 1234),
        ("points", "1234", 1234),
        ("commas", "1,234", 1234),
        ("commas", "0.5", 0.5),
        ("per cent", "12.5%", 12.5),
    ],
)
@pytest.mark.parametrize("wide", [False, True])
def test_new_files_are_read_as_those_of_training(
    tmp_path, monkeypatch, training, new, number, wide
):
    monkeypatch.setattr(_text_files, "MIN_WIDE_COLUMNS", 1 if wide else 1000)
    file = write(tmp_path / "v.tsv", TRAINING[training], MANY_FRACTIONS)
    view = read_tables([file], target="ill").views["v"]
    write(tmp_path / "new.tsv", [new])
    options = ReadOptions(points=view.points, default_decimal=view.decimal)
    table = read_file(tmp_path / "new.tsv", options=options)["new"]
    assert view.values(table)[0, 0] == number


@pytest.mark.parametrize(
    ("training", "new", "message"),
    [
        ("per cent", "0.125", "'x' has no per cent signs, but per cent signs in the training"),
        ("commas", "12.5%", "'x' has per cent signs, but no per cent signs in the training"),
        ("points", "0.5", "thousands in the training files, but not in '0.5'"),
    ],
)
def test_new_files_that_are_written_otherwise(tmp_path, training, new, message):
    file = write(tmp_path / "v.tsv", TRAINING[training], MANY_FRACTIONS)
    view = read_tables([file], target="ill").views["v"]
    write(tmp_path / "new.tsv", [new])
    options = ReadOptions(points=view.points, default_decimal=view.decimal)
    with pytest.raises(TableError, match=message):
        view.values(read_file(tmp_path / "new.tsv", options=options)["new"])


def test_stacked_files_are_written_in_one_way(tmp_path):
    first = write(tmp_path / "1.tsv", TRAINING["points"], MANY_FRACTIONS)
    second = write(tmp_path / "2.tsv", ["1.234"] * 8)
    joined = read_tables([first, second], target="ill")
    assert np.asarray(joined.data["v"])[8:, 0].tolist() == [1234.0] * 8
    assert [note for note in joined.notes if "points" in note] == [
        f"{file.path}: {POINTS}" for file in (first, second)
    ]
    third = write(tmp_path / "3.tsv", ["1.234", *"2345678"], ["0,5"] * 8)  # decimal commas
    joined = read_tables([third, second], target="ill")
    assert np.asarray(joined.data["v"])[[0, 8], 0].tolist() == [1234.0] * 2
    write(second.path, ["1.5"] * 8)
    with pytest.raises(TableError, match=r"thousands in .*1.tsv, but not in '1.5'"):
        read_tables([first, second], target="ill")
    write(first.path, TRAINING["per cent"])
    with pytest.raises(TableError, match=r"'x' of view 'v' has per cent signs in .*1.tsv, but not"):
        read_tables([first, second], target="ill")
    write(second.path, [""] * 8)
    assert read_tables([first, second], target="ill").views["v"].percents == ("x",)


def test_transposed_files(tmp_path):
    path = tmp_path / "t.tsv"

    def turned(*rows):
        path.write_text("\n".join(["gene\ts1\ts2", *rows]) + "\n")
        labels = tmp_path / "labels.tsv"
        labels.write_text("sample\till\ns1\ta\ns2\tb\n")
        files = [FileArgument(path, "v"), FileArgument(labels, "l")]
        return read_tables(files, target="ill", on="sample", transpose=["v"])

    joined = turned("a\t1%\t2%", "b\t3%\t5%")
    assert np.asarray(joined.data["v"]).tolist() == [[1, 3], [2, 5]]
    assert joined.views["v"].percents == ("a", "b")
    joined = turned("a\t1,234.5\t2,345.5", "b\t3\t5")
    assert np.asarray(joined.data["v"]).tolist() == [[1234.5, 3], [2345.5, 5]]
    with pytest.raises(TableError, match="per cent signs in column 's1', but not in 's2'"):
        turned("a\t1%\t2", "b\t3%\t5")
    with pytest.raises(TableError, match="points separate thousands in column 's1'"):
        turned("a\t1.234.567\t0.25", "b\t3\t2.5")


# -- units ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "has_unit"),
    [
        ([f"${i}.20" for i in range(8)], True),
        ([f"{i}.5 kg" for i in range(8)], True),
        (["3 kg", "5 lb", "7 kg", "9 lb"] * 2, True),
        (["-3mg", "5mg", "7mg", "1e-3mg"] * 2, True),
        ([f"P{i}" for i in range(8)], False),
        ([f"{i}{'ab'[i % 2]}" for i in range(8)], False),
        (["1st", "2nd", "3rd", "4th"] * 2, False),
        (["1x", "2x"] * 4, False),
        (["1 kg", "heavy", "2 kg", "3 kg"] * 2, False),
    ],
)
def test_columns_of_numbers_with_a_unit_are_named(tmp_path, cells, has_unit):
    (tmp_path / "v.tsv").write_text(text(cells, [f"{i}.5\t{'ab'[i % 2]}" for i in range(8)]))
    file = tmp_path / "v.tsv"
    file.write_text(file.read_text().replace("x\tz", "x\tz\till"))
    notes = "\n".join(read_files([FileArgument(file, "v")], target="ill").summary.notes)
    told = f"v.tsv: the numbers of column 'x' have a unit, such as {cells[0]!r}, so it is "
    assert (told in notes) == has_unit
    options = {"target": "ill", "categorical": ["x"]}
    assert "have a unit" not in "\n".join(read_tables([FileArgument(file, "v")], **options).notes)


def test_numbers_as_text_in_dataframes_are_named():
    y = ["a", "b"] * 10
    frame = pd.DataFrame(
        {
            "share": [f"{i}.5%" for i in range(20)],
            "price": [f"${i % 7}" for i in range(20)],
            "size": [f"{i}.5" for i in range(20)],
            "code": [f"{i % 3}" for i in range(20)],
            "z": np.arange(20) % 7 / 3,
        }
    )
    notes = "\n".join(read_views({"v": frame}, y).summary.notes)
    assert (
        "view 'v': the numbers of column 'share' are text, such as '0.5%', so it is left" in notes
    )
    assert "column 'price' are text, such as '$0', so it is used as categories; convert" in notes
    assert "column 'size' are text, such as '0.5', so it is left out" in notes
    assert "'code' are text" not in notes
