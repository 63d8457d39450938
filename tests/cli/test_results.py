"""``compare`` on files, and ``predict``, ``explain`` and ``report`` with what it wrote."""

import re

import numpy as np
import pytest

from consilience.cli import main
from consilience.comparison.record import read_run


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    """Run a command in a folder with two tables of 40 patients."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    lines = {"rna": ["id,g1,g2"], "labels": ["id,age,y"]}
    for i in range(40):
        lines["rna"].append(f"p{i},{rng.normal() + 3 * (i % 2):.4f},{rng.normal():.4f}")
        lines["labels"].append(f"p{i},{rng.normal():.3f},{'uv'[i % 2]}")
    for name, rows in lines.items():
        (tmp_path / f"{name}.csv").write_text("\n".join(rows) + "\n")
        (tmp_path / f"new_{name}.csv").write_text("\n".join(rows[:13]) + "\n")

    def call(*arguments):
        with pytest.raises(SystemExit) as end:
            main(list(arguments))
        captured = capsys.readouterr()
        return end.value.code, captured.out, captured.err

    return call


COMPARE = ["compare", "rna.csv", "labels.csv", "--on", "id", "--target", "y", "--cv", "2"]
COMPARE += ["--repeats", "1", "--methods", "Late fusion,Mono", "--quiet"]


@pytest.mark.usefixtures("serially", "undrawn")
def test_from_files_to_predictions(run, tmp_path):
    code, out, _ = run(*COMPARE, "--out", "study", "--jobs", "1")
    assert code == 0
    assert "40 samples, 2 views, 2 classes (u 20, v 20)" in out
    assert "Late fusion" in out
    assert "nothing was written" not in out
    assert read_run(tmp_path / "study").command == []  # not that of the process around the test
    assert re.search(r"report: study/report.html\nmodel:  study/model.skops \(.*\); card: ", out)
    assert "run the same command" not in out
    table = [line for line in out.splitlines() if line.startswith("│")]
    assert [row.split("│")[1].strip() for row in table] == ["1", "2", "-"]  # chance is last
    score, interval = (part.strip() for part in table[0].split("│")[3:5])
    assert float(score) > 0.7
    assert re.fullmatch(r"0\.\d{3} – [01]\.\d{3}", interval)

    code, out, err = run("predict", "study", "new_rna.csv", "new_labels.csv")
    assert code == 0
    assert out.splitlines()[0] == "id,predicted,true,p(u),p(v)"
    assert len(out.splitlines()) == 13
    assert "scored on 12 samples with a label (positive class: v): accuracy" in err
    assert "(these are scores of new samples only if" in err
    code, printed, _ = run("predict", "study", "new_rna.csv", "new_labels.csv", "--out", "a/p.csv")
    assert (code, printed) == (0, "12 predictions: a/p.csv\n")
    assert (tmp_path / "a" / "p.csv").read_text() == out

    code, out, err = run("explain", "study", "new_rna.csv", "new_labels.csv")
    assert code == 0
    assert "p0" in out
    assert "p10" not in out
    assert err == "and 2 more; choose with --sample\n"
    code, out, err = run("explain", "study", "new_rna.csv", "--sample", "p11")
    assert code == 0
    assert "p11" in out
    assert "more; choose" not in err
    code, _, err = run("explain", "study", "new_rna.csv", "--sample", "p99")
    assert code == 2
    assert err.endswith("--sample p99: there is no such sample (did you mean 'p9'?)\n")

    (tmp_path / "study" / "report.html").unlink()
    code, out, _ = run("report", "study")
    assert (code, out) == (0, "report: study/report.html\n")
    assert (tmp_path / "study" / "report.html").exists()
    (tmp_path / "study" / "results.sqlite").unlink()
    code, _, err = run("report", "study")
    assert (code, err) == (2, "consilience: study contains no results: it has no results.sqlite\n")


@pytest.mark.usefixtures("serially")
def test_without_a_folder_nothing_is_written(run, tmp_path):
    before = sorted(tmp_path.iterdir())
    code, out, _ = run(*COMPARE, "--jobs", "1")
    assert code == 0
    assert "nothing was written; use --out FOLDER to get a report and a model" in out
    assert "report:" not in out
    assert sorted(tmp_path.iterdir()) == before


def test_costs_need_advice(run):
    code, _, err = run("predict", "study", "new_rna.csv", "--costs", "rna=3")
    assert (code, err) == (2, "consilience: --costs needs --advice\n")
