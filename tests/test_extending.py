"""The examples of docs/extending.md run as they stand."""

import csv
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

from benchmark.studies import run_in_process
from consilience.datasets import load_digits_views
from consilience.methods import load_method

PAGE = Path(__file__).parents[1] / "docs" / "extending.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The files of the page, and two tables of patients."""
    if not PAGE.exists():
        pytest.skip("the documentation is not part of an installed package")
    folder = tmp_path_factory.mktemp("mine")
    blocks = re.findall(r"```(?:python|toml)\n# (\S+)\n(.*?)```", PAGE.read_text(), flags=re.S)
    assert len(blocks) == 5
    for name, text in blocks:
        (folder / name).write_text(text)
    rng = np.random.default_rng(0)
    ill = rng.integers(0, 2, 60)
    with open(folder / "blood.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["patient", "hb", "crp"])
        writer.writerows([i, *(rng.normal(size=2) + 2 * ill[i]).round(3)] for i in range(60))
    with open(folder / "clinic.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["patient", "site", "ill"])
        writer.writerows([i, "ns"[int(rng.integers(2))], "ny"[ill[i]]] for i in range(60))
    return folder


@pytest.fixture(autouse=True)
def _in_folder(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)


@pytest.mark.usefixtures("serially")
def test_compare_in_python(folder, capsys):
    exec(compile((folder / "compare_mine.py").read_text(), "compare_mine.py", "exec"), {})
    printed = capsys.readouterr().out
    assert "neighbours" in printed
    assert "centroids" in printed


def test_compare_on_the_command_line(folder, capsys):
    (command,) = re.findall(r"^consilience (compare .*)$", PAGE.read_text(), flags=re.M)
    arguments = command.replace(",Consilience", "").split()  # which takes longest
    run_in_process(*arguments, "--cv", "2", "--repeats", "1", "--quiet")
    printed = capsys.readouterr().out
    assert "my_methods:Neighbours: Neighbours on the concatenated views" in printed
    assert "my_methods:Centroids: Centroids\n" in printed
    assert "model:  study/model.skops (my_methods:Neighbours)" in printed
    np.savez(folder / "top_left.npz", x=np.zeros((3, 16)))
    run_in_process("predict", "study", "top_left=top_left.npz", "--trust", "my_methods")
    assert len(capsys.readouterr().out.splitlines()) == 4


def test_suite(folder):
    run_in_process("bench", "mine.toml", "--quiet")
    with open(folder / "bench" / "mine" / "results.csv") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * 2 * 6
    assert {row["status"] for row in rows} == {"done"}
    scores = [float(row["accuracy"]) for row in rows if row["dataset"] == "patients"]
    assert np.mean(scores) > 0.55


def test_record(folder):
    method = load_method("my_records:CENTROIDS")
    data, y = load_digits_views(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about pixels that are always black
        model = method.make_estimator(0).fit(data[:500], y[:500])
    assert np.mean(model.predict(data[500:700]) == y[500:700]) > 0.6
    assert list(method.grid) == ["shrink_threshold"]
