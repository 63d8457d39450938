"""Wide files are read block by block; the result is that of the reader of narrow files."""

import numpy as np
import pytest

from consilience.tables import ReadOptions, _text_files, _wide_files, read_file
from consilience.tables._table import number_column, text_column

N_COLUMNS = 30


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of a few rows, and files of a few columns are wide."""
    monkeypatch.setattr(_wide_files, "BLOCK_BYTES", 700)
    monkeypatch.setattr(_text_files, "MIN_WIDE_COLUMNS", N_COLUMNS)


def cells_of(rng, kind, n):
    """Cells of a column; its text, if any, comes late in the file."""
    numbers = [f"{v:.{rng.integers(0, 5)}f}" for v in rng.normal(scale=100, size=n)]
    if kind == "missing":
        return ["" if rng.random() < 0.3 else cell for cell in numbers]
    if kind == "late text":
        return [*numbers[: n - 3], "low", "", "high"]
    if kind == "text":
        return [str(word) for word in rng.choice(["case", "control", "n/a"], n)]
    if kind == "code":
        return [f"00{i}" for i in rng.integers(10, 99, n)]
    if kind == "blanks":
        return [f" {cell} " for cell in numbers]
    return numbers


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("decimal", [".", ","])
def test_wide_reader_agrees_with_narrow_reader(tmp_path, monkeypatch, request, seed, decimal):
    rng = np.random.default_rng(seed)
    kinds = rng.choice(["number", "missing", "late text", "text", "code", "blanks"], N_COLUMNS)
    if seed % 2:
        kinds = np.where(rng.random(N_COLUMNS) < 0.8, "number", kinds)  # few columns of text
    n = int(rng.integers(5, 40))
    columns = [cells_of(rng, kind, n) for kind in kinds]
    header = [f"c{j}" for j in range(N_COLUMNS)]
    lines = [header, *map(list, zip(*columns, strict=True))]
    if decimal == ",":
        lines = [[cell.replace(".", ",") for cell in line] for line in lines]
    if rng.random() < 0.5:
        lines[2][3] = f'"{lines[2][3]}"'
    path = tmp_path / "t.csv"
    path.write_text("\n".join(";".join(line) for line in lines) + "\n")
    options = ReadOptions(delimiter=";", decimal=decimal)
    narrow = read_file(path, options=options)["t"]
    request.getfixturevalue("small_blocks")
    wide = read_file(path, options=options)["t"]
    assert wide.columns == narrow.columns
    for name, kind in zip(header, kinds, strict=True):
        if kind in ("late text", "text", "code"):
            assert text_column(wide, name) == text_column(narrow, name)
        else:
            np.testing.assert_array_equal(number_column(wide, name), number_column(narrow, name))


@pytest.mark.usefixtures("small_blocks")
def test_rows_of_another_length_are_named(tmp_path):
    lines = [",".join(f"c{j}" for j in range(N_COLUMNS))] + [",".join(["1.5"] * N_COLUMNS)] * 20
    lines[17] += ",2"
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines))
    with pytest.raises(ValueError, match="row 17 has 31 cells, but the header has 30"):
        read_file(path)
