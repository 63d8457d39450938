"""``compare --test``: a cohort that cannot be scored is refused first, or costs nothing else."""

import numpy as np
import pytest

from consilience.cli import main
from consilience.comparison.prediction import load_model, read_samples
from consilience.tables import FileArgument, ReadOptions

pytestmark = pytest.mark.usefixtures("serially", "undrawn")
QUICK = ["--methods", "Late fusion", "--cv", "2", "--repeats", "1", "--jobs", "1"]
QUICK += ["--metric", "f1", "--positive", "n", "--na", "-999"]


def write(path, n=30, columns=("hb", "crp"), label=True):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    header = [*columns, *(["ill"] if label else [])]
    rows = [[f"{v + c:.3f}" for v in rng.normal(size=len(columns))] for c in y]
    rows = [[*row, *(["yn"[c]] if label else [])] for row, c in zip(rows, y, strict=True)]
    path.write_text("\n".join(",".join(row) for row in [header, *rows]) + "\n")
    return path


def run(capsys, tmp_path, cohort):
    blood = write(tmp_path / "blood.csv")
    command = ["compare", f"blood={blood}", "--target", "ill", "--out", str(tmp_path / "study")]
    with pytest.raises(SystemExit) as end:
        main([*command, "--test", f"blood={cohort}", *QUICK])
    return end.value.code, capsys.readouterr().err


def test_cohort_without_labels_is_refused_before_anything_is_fitted(capsys, tmp_path):
    cohort = write(tmp_path / "new.csv", label=False)
    code, err = run(capsys, tmp_path, cohort)
    assert (code, err) == (
        2,
        "consilience: the files of --test have no label: none of them has the column 'ill'\n",
    )
    assert not (tmp_path / "study").exists()


def test_cohort_that_does_not_fit_costs_neither_model_nor_report(capsys, tmp_path):
    code, err = run(capsys, tmp_path, write(tmp_path / "new.csv", columns=("hb",)))
    assert code == 2
    assert "'crp'" in err.splitlines()[-1]
    names = {path.name for path in (tmp_path / "study").iterdir()}
    assert {"report.html", "model.skops", "model_card.md", "results.csv", "run.toml"} <= names
    code, err = run(capsys, tmp_path, write(tmp_path / "new.csv", n=32))
    assert code == 0
    model = load_model(tmp_path / "study")
    assert (model.metric, model.positive, model.na) == ("f1", "n", ("-999",))
    (tmp_path / "blood_new.csv").write_text("hb,crp\n0.5,-999\n-998,1.5\n")
    new = FileArgument(tmp_path / "blood_new.csv", "blood")
    np.testing.assert_array_equal(
        read_samples(model, [new], reading=ReadOptions(na=("-998",))).data["blood"],
        [[0.5, np.nan], [np.nan, 1.5]],
    )
    assert "(positive class: n)" in (tmp_path / "study" / "model_card.md").read_text()
    assert "(positive class: n)" in (tmp_path / "study" / "report.html").read_text()


def test_samples_that_the_model_was_trained_on_are_named(capsys, tmp_path):
    blood, study = write(tmp_path / "blood.csv"), tmp_path / "study"
    header, *rows = blood.read_text().splitlines()

    def keyed(name, first):
        lines = [f"id,{header}", *(f"P{first + i},{row}" for i, row in enumerate(rows))]
        (tmp_path / name).write_text("\n".join(lines))
        return f"blood={tmp_path / name}"

    command = ["compare", keyed("old.csv", 0), "--target", "ill", "--on", "id", "--out", str(study)]
    with pytest.raises(SystemExit) as end:
        main([*command, "--test", keyed("new.csv", 20), *QUICK])
    assert end.value.code == 0
    note = "--test: 10 of 30 samples have the 'id' of a sample that the model was trained on"
    assert note in " ".join(capsys.readouterr().out.split())
    assert note.replace("'", "&#39;") in (study / "report.html").read_text()


def test_a_data_set_has_no_external_cohort(tmp_path, capsys):
    cohort = tmp_path / "cohort.csv"
    cohort.write_text("a,ill\n1,yes\n")
    with pytest.raises(SystemExit) as end:
        main(["compare", "digits", "--test", str(cohort), "--out", str(tmp_path / "out")])
    assert end.value.code == 2
    assert capsys.readouterr().err == (
        "consilience: --test needs files as well, but digits is a data set\n"
    )
