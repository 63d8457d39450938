"""Accents, invisible characters, errors of spreadsheets and codes in files of newcomers."""

import numpy as np
import openpyxl
import pandas as pd
import pytest

from consilience.comparison.inputs import read_files, read_views
from consilience.comparison.prediction import read_samples
from consilience.fusion import LateFusionClassifier
from consilience.tables import FileArgument, TableError, TableModel, read_file, read_tables
from consilience.tables._table import number_column, text_column

N = 12
X = [f"{(7 * i) % 12 - 5}.{i % 3}5" for i in range(N)]
Y = ["ill", "well"] * (N // 2)
ONE, TWO = "\u00e9t\u00e9", "e\u0301te\u0301"  # the same word, with two characters more


def write(path, **columns):
    lines = [",".join(columns), *(",".join(row) for row in zip(*columns.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return FileArgument(path, path.stem)


def test_accents_of_keys_labels_categories_and_names(tmp_path):
    keys = [f"{ONE}{i:02}" for i in range(N)]
    others = [key.replace(ONE, TWO) if i % 2 else key for i, key in enumerate(keys)]
    a = write(
        tmp_path / "a.csv", id=keys, x=X, c=[ONE, TWO, "tea"] * 4, **{TWO: [ONE, TWO, "b"] * 4}
    )
    b = write(tmp_path / "b.csv", id=others, w=X[::-1])
    given = read_files([a, b], target=ONE, on="id")
    assert given.target == ONE
    assert (given.summary.classes, given.summary.counts) == (["b", ONE], [4, 8])
    assert given.problem.data.present.all()
    assert given.views["a"].categories == (("c", ("tea", ONE)),)
    assert len(given.problem.data) == N
    # the words that mean missing are those of the column, however its name is spelled
    write(tmp_path / "a.csv", x=X, **{TWO: ["None", "b", "d"] * 4})
    notes = "\n".join(read_tables([a], target=ONE).notes)
    assert f"{ONE!r} is 'None' in 4 rows, which is read as a missing label" in notes


def test_accents_of_dataframes_and_new_files(tmp_path):
    frame = pd.DataFrame({"x": list(map(float, X)), "c": [TWO, "tea", "milk"] * 4})
    file = write(tmp_path / "a.csv", x=X, c=[ONE, "tea", "milk"] * 4)
    given = read_views({"a": frame}, Y)
    values = given.views["a"].values(read_file(file.path)["a"])
    assert values["c"].to_pylist() == frame["c"].tolist()


def test_invisible_characters_and_minus_signs(tmp_path):
    labels = ["a", "a\u00a0", "\u200bb", "b"] * 3
    file = write(tmp_path / "a.csv", x=[x.replace("-", "\u2212") for x in X], y=labels)
    given = read_files([file], target="y")
    assert given.summary.classes == ["a", "b"]
    np.testing.assert_array_equal(given.problem.data["a"].ravel(), list(map(float, X)))
    words = write(tmp_path / "b.csv", x=["\u2212", "+", "\u2212"] * 4)
    assert text_column(read_file(words.path)["b"], "x")[:2] == ["\u2212", "+"]


def test_signs_of_zeros(tmp_path):
    file = write(tmp_path / "a.csv", x=X, c=["-0", "0", "1"] * 4, y=["-0", "0", "+0", "1"] * 3)
    given = read_files([file], target="y", categorical=["c"])
    assert given.problem.target.tolist() == [0, 0, 0, 1] * 3
    assert given.views["a"].categories == (("c", ("0", "1")),)


def test_errors_of_spreadsheets_are_missing(tmp_path):
    file = write(
        tmp_path / "a.csv",
        x=["#VALUE!", *X[1:]],
        c=["u", "v", "#DIV/0!"] * 4,
        y=["#REF!", "ill", "well"] * 4,
    )
    given = read_files([file], target="y")
    assert given.summary.classes == ["ill", "well"]
    assert "'y' is '#REF!' in 4 rows" in "\n".join(given.summary.notes)
    assert given.views["a"].categories == (("c", ("v",)),)
    book = openpyxl.Workbook()
    for row in (["x", "c", "y"], [1.5, "u", "a"], ["#NUM!", "#NAME?", "b"], [3, "v", "#N/A"]):
        book.active.append(row)
    book.save(tmp_path / "b.xlsx")
    table = read_file(tmp_path / "b.xlsx")["b"]
    np.testing.assert_array_equal(number_column(table, "x"), [1.5, np.nan, 3])
    assert text_column(table, "c") == ["u", None, "v"]
    assert text_column(table, "y") == ["a", "b", None]


def test_classes_that_look_alike_are_named(tmp_path):
    file = write(tmp_path / "a.csv", x=X, y=["Yes", "yes", "'no'", "no"] * 3)
    notes = [note for note in read_tables([file], target="y").notes if "the classes" in note]
    told = "of y differ only in case, blanks or quotation marks; if they are the same, spell"
    assert len(notes) == 2
    assert notes[0].startswith(f"the classes \"'no'\", 'no' {told}")
    assert notes[1].startswith(f"the classes 'Yes', 'yes' {told}")
    assert read_tables([write(file.path, x=X, y=Y)], target="y").notes == []


@pytest.mark.parametrize(
    ("cells", "trait"),
    [
        (["01234", "98765", "00501"], "have leading zeros"),
        ([f"1000000000000000000{i}" for i in (1, 2, 3)], "have so many digits that different"),
        (["1234", "98765", "0"], ""),
        (["0.5", "12345678901234567", "1"], ""),
    ],
)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_codes_that_are_read_as_numbers_are_named(tmp_path, cells, trait, ending):
    file = write(tmp_path / "a.csv", x=X, code=cells * 4, y=Y)
    if ending == "parquet" and trait.endswith("different"):
        frame = pd.read_csv(file.path).assign(code=[2**60 + i % 3 for i in range(N)])
        frame.to_parquet(tmp_path / "a.parquet")
        file = FileArgument(tmp_path / "a.parquet", "a")
    notes = "\n".join(read_tables([file], target="y").notes)
    told = f"a.{file.path.suffix[1:]}: the whole numbers of column 'code' {trait}"
    assert (told in notes) == bool(trait)
    assert ("add --categorical code" in notes) == bool(trait)
    quiet = read_tables([file], target="y", categorical=["code"]).notes
    assert "--categorical" not in "\n".join(quiet)


@pytest.mark.parametrize("line", ["sep=;", '"sep=;"', "SEP=;"])
def test_a_line_that_names_the_delimiter(tmp_path, line):
    (tmp_path / "a.csv").write_text(f"{line}\nx;y\n1,5;a\n2,5;b\n")
    table = read_file(tmp_path / "a.csv")["a"]
    assert table.columns == ["x", "y"]
    assert number_column(table, "x").tolist() == [1.5, 2.5]


def test_line_ends_of_several_kinds(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"x,y\r1,a\r2,b\n3,a\n")
    with pytest.raises(TableError, match="end with a carriage return alone, others do not; save"):
        read_file(tmp_path / "a.csv")
    (tmp_path / "a.csv").write_bytes(b"x,y\r\n1,a\n2,b\r\n3,a\n")
    assert number_column(read_file(tmp_path / "a.csv")["a"], "x").tolist() == [1, 2, 3]


@pytest.mark.parametrize("cell", ["\uff11.5", "1_000"])
def test_numbers_of_python_only(tmp_path, cell):
    file = write(tmp_path / "a.csv", x=[cell, *X[1:]], y=Y)
    with pytest.raises(TableError, match=f"column 'x' contains numbers, but '{cell}' in row 1"):
        read_tables([file], target="y")


def test_models_find_the_target_in_new_files(tmp_path):
    file = write(tmp_path / "a.csv", x=X, z=X[::-1], **{TWO: Y})
    given = read_files([file], target=TWO)
    model = LateFusionClassifier().fit(given.problem.data, given.problem.target)
    table_model = TableModel(model, given.views, "Late fusion", given.target)
    assert read_samples(table_model, [file]).labels == Y
