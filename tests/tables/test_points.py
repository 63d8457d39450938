"""Points in files with decimal commas mean the same in all files of a view and in new files."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from consilience.comparison.inputs import read_files
from consilience.comparison.prediction import read_samples
from consilience.fusion import LateFusionClassifier
from consilience.tables import (
    FileArgument,
    ReadOptions,
    TableError,
    TableModel,
    TableView,
    read_file,
    read_tables,
)
from consilience.tables._arguments import table_of
from consilience.tables._table import number_column
from consilience.views import ViewPreparer

N = 12
W = [f"7{i},5" for i in range(N)]
DECIMALS = ["0.25", "12.5", "3.75"] * 4
THOUSANDS = ["1.500", "2.250", "3.125"] * 4


def write(path, x, ill=True):
    rows = zip(W, x, W[::-1], ["a", "b"] * N, strict=False)
    header = ("w", "x", "z", "ill")
    lines = [";".join(row if ill else row[:3]) for row in (header, *rows)]
    path.write_text("\n".join(lines) + "\n")
    return FileArgument(path, "v")


def fit(folder, x):
    given = read_files([write(folder / "v.csv", x)], target="ill")
    pipeline = make_pipeline(ViewPreparer(scale="standard"), LateFusionClassifier())
    pipeline.fit(given.problem.data, given.problem.target)
    return TableModel(pipeline, given.views, "Late fusion", given.target)


def x_of(samples):
    return np.asarray(samples.data["v"])[:, 1].tolist()


def test_meaning_of_training_holds_in_new_files(tmp_path):
    new = write(tmp_path / "new.csv", ["1.125"], ill=False)
    decimals, thousands = fit(tmp_path, DECIMALS), fit(tmp_path, THOUSANDS)
    assert dict(decimals.views["v"].points) == {"x": "decimals"}
    samples = read_samples(decimals, [new])
    assert x_of(samples) == [1.125]
    assert "decimal points in 'x'" in samples.notes[0]
    assert x_of(read_samples(thousands, [new])) == [1125]
    write(new.path, ["1.234.567"], ill=False)
    with pytest.raises(TableError, match=r"thousands in '1.234.567', but not in the training file"):
        read_samples(decimals, [new])
    write(new.path, ["0.25"], ill=False)
    with pytest.raises(TableError, match=r"thousands in the training files, but not in '0.25'"):
        read_samples(thousands, [new])
    # a comma beside such points makes them separators of thousands
    write(new.path, ["1.125", "2,5"], ill=False)
    with pytest.raises(TableError, match=r"thousands in '2,5', but not in the training files"):
        read_samples(decimals, [new])


def test_decimal_mark_of_training_holds_where_a_file_shows_none(tmp_path):
    model = fit(tmp_path, THOUSANDS)
    assert model.views["v"].decimal == ","
    new = FileArgument(tmp_path / "new.csv", "v")
    for text, expected in (
        ("w;x;z\n70;1.500;1\n", 1500),
        ("w;x;z\n70.5;1.500;1\n", 1.5),
        ("w,x,z\n70,1.500,1\n", 1.5),  # commas delimit
    ):
        new.path.write_text(text)
        assert x_of(read_samples(model, [new])) == [expected]


def test_views_that_disagree_about_a_column(tmp_path):
    model, other = fit(tmp_path, DECIMALS), fit(tmp_path, THOUSANDS)
    model.views["u"] = other.views["v"]
    new = write(tmp_path / "new.csv", ["1.125"], ill=False)
    with pytest.raises(
        TableError, match=r"view 'v': .* are decimals in the training files, but th"
    ):
        read_samples(model, [new])


def test_one_meaning_in_stacked_files(tmp_path):
    files = [write(tmp_path / f"{i}.csv", x) for i, x in enumerate((THOUSANDS, DECIMALS))]
    joined = read_tables(files, target="ill")
    expected = [float(cell) for cell in THOUSANDS + DECIMALS]
    assert np.asarray(joined.data["v"])[:, 1].tolist() == expected
    assert [note for note in joined.notes if "thousands" in note] == []
    assert sum("decimal points in 'x'" in note for note in joined.notes) == 2
    write(files[0].path, ["1.234.567", *THOUSANDS[1:]])
    with pytest.raises(TableError, match=r"0.csv: .* in '1.234.567', but not in .*1.csv"):
        read_tables(files, target="ill")


def test_views_without_recorded_points(tmp_path):
    """Older models know nothing of points."""
    model = fit(tmp_path, DECIMALS)
    for name in ("points", "decimal"):
        del model.views["v"].__dict__[name]
    new = write(tmp_path / "new.csv", ["1.125"], ill=False)
    assert x_of(read_samples(model, [new])) == [1125]


# -- transposed files -----------------------------------------------------------------------------


def turned(path, *rows):
    path.write_text("\n".join(["gene;s1;s2", *rows]) + "\n")
    return path.stem, read_file(path)[path.stem]


def test_points_of_a_transposed_file(tmp_path):
    notes = []
    file = turned(tmp_path / "a.csv", "A;1.500;2.250", "B;7;2,5", "C;1;n.d.")
    table = table_of("v", [file], notes, "sample")
    assert {name: points.meaning for name, points in table.points.items()} == {"A": "thousands"}
    assert number_column(table, "A").tolist() == [1500, 2250]
    assert notes[0].endswith("decimal comma, points taken as separators of thousands in 'A'")
    view = TableView(["A", "B"], [], 2, points=(("A", "decimals"),))
    with pytest.raises(TableError, match="'A' are decimals in the training files, but thousands"):
        view.values(table)


def test_points_of_transposed_files_mean_the_same(tmp_path):
    mixed = turned(tmp_path / "a.csv", "A;1.500;2.250", "B;0.25;2,5", "C;1;2,5")
    with pytest.raises(TableError, match="thousands in column 's2', but are decimal points in 's1"):
        table_of("v", [mixed], [], "sample")
    thousands = turned(tmp_path / "b.csv", "A;1.500;2.250", "B;7;8", "C;1,5;2,5")
    decimals = turned(tmp_path / "c.csv", "A;0.5;2.25", "B;7;8")
    options = ReadOptions(decimal=",")
    decimals = ("c", read_file(tmp_path / "c.csv", options=options)["c"])
    table = table_of("v", [thousands, decimals], [], "sample")
    assert number_column(table, "A").tolist() == [1.5, 2.25, 0.5, 2.25]
    assert number_column(table, "C")[:2].tolist() == [1.5, 2.5]
