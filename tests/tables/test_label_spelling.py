"""Labels and groups that programs spell in several ways, and files that must not be touched."""

import numpy as np
import pandas as pd
import pytest

from consilience.cli import main
from consilience.comparison.inputs import read_files
from consilience.tables import FileArgument, TableError
from consilience.tables._labels import _spell_alike

N = 30
RNG = np.random.default_rng(0)
VISIT = pd.DataFrame(
    {"pid": np.arange(N), "x": RNG.normal(size=N), "z": RNG.normal(size=N), "y": np.arange(N) % 2}
)


@pytest.mark.parametrize(
    ("cells", "known", "expected"),
    [
        (["1", "1.0", None, "2.0"], (), ["1", "1", None, "2.0"]),
        (["TRUE", "True"], (), ["True", "True"]),
        (["0.0", "1.0", "x"], ("0", "1"), ["0", "1", "x"]),
        (["0", "1"], ("0.0", "1.0"), ["0.0", "1.0"]),
        (["007", "7", "7.0"], (), ["007", "7", "7"]),
        (["a", "A"], (), ["a", "A"]),
    ],
)
def test_one_text_for_what_is_the_same(cells, known, expected):
    assert _spell_alike(cells, known) == expected


def test_batches_that_spell_groups_and_labels_differently(tmp_path):
    second = VISIT.astype({"pid": float, "y": float})
    second.loc[3, "pid"] = np.nan  # pandas writes the others as 7.0
    VISIT.to_csv(tmp_path / "one.csv", index=False)
    second.to_csv(tmp_path / "two.csv", index=False)
    files = [FileArgument(tmp_path / f"{name}.csv", "v") for name in ("one", "two")]
    given = read_files(files, target="y", groups="pid")
    assert sorted(set(given.problem.target)) == [0, 1]
    assert len(np.unique(given.problem.groups)) == N
    assert np.bincount(np.unique(given.problem.groups, return_inverse=True)[1]).max() == 2


def test_files_that_disagree_in_more_than_spelling(tmp_path):
    for name, y in (("a", VISIT["y"]), ("b", VISIT["y"].astype(float)), ("c", 1 - VISIT["y"])):
        table = VISIT[["pid", "x"]].rename(columns={"x": f"x_{name}"})
        table.assign(y=y).to_csv(tmp_path / f"{name}.csv", index=False)

    def read(*names):
        files = [FileArgument(tmp_path / f"{name}.csv", None) for name in names]
        return read_files(files, target="y", on="pid")

    assert sorted(set(read("a", "b").problem.target)) == [0, 1]
    with pytest.raises(TableError, match="--target y: the files disagree"):
        read("a", "c")


@pytest.mark.usefixtures("serially", "undrawn")
def test_files_to_read_are_not_written_and_no_test(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    VISIT.to_csv("one.csv", index=False)
    before = (tmp_path / "one.csv").read_bytes()
    quick = ["--target", "y", "--drop", "pid", "--methods", "Concat", "--cv", "2", "--repeats", "1"]

    def run(*arguments):
        with pytest.raises(SystemExit) as end:
            main(list(arguments))
        return end.value.code, capsys.readouterr().err

    code, error = run("compare", "one.csv", *quick, "--test", "one.csv", "--out", "out")
    assert (code, error) == (
        2, "consilience: --test one.csv: the comparison itself has the same content\n",
    )  # fmt: skip
    assert not (tmp_path / "out").exists()
    assert run("compare", "one.csv", *quick, "--jobs", "1", "--quiet", "--out", "out")[0] == 0
    for path in ("one.csv", "out/model.skops"):
        code, error = run("predict", "out", "one.csv", "--out", path)
        assert (code, error) == (
            2, f"consilience: --out {path} is a file to read; choose another name\n",
        )  # fmt: skip
    assert (tmp_path / "one.csv").read_bytes() == before
    labels = VISIT.astype({"y": float})
    labels.to_csv("new.csv", index=False)
    code, error = run("predict", "out", "one=new.csv", "--out", "predictions.csv")
    assert code == 0
    assert f"scored on {N} samples" in error
    # a folder of results within a folder of tables is not read again
    (tmp_path / "data").mkdir()
    (tmp_path / "one.csv").rename(tmp_path / "data" / "one.csv")
    (tmp_path / "out").rename(tmp_path / "data" / "out")
    assert run("compare", "data", *quick, "--jobs", "1", "--quiet")[0] == 0
