"""``compare --test``: a cohort that cannot be scored is refused first, or costs nothing else."""

import numpy as np
import pytest

from consilience.cli import main
from consilience.comparison._copies import count_copies
from consilience.comparison.prediction import load_model, read_samples
from consilience.tables import FileArgument, ReadOptions
from consilience.views import MultiViewData

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


@pytest.mark.parametrize("digits", [3, 2])
def test_rows_that_the_model_was_trained_on_are_noticed_without_a_key(capsys, tmp_path, digits):
    """By their values, exact or rounded."""
    old, new, study = tmp_path / "old.csv", tmp_path / "new.csv", tmp_path / "study"
    rng = np.random.default_rng(0)
    rows = [[*rng.normal(size=4), "fm"[i % 3 == 0], "yn"[i % 2]] for i in range(120)]
    header = "a,b,c,d,sex,ill\n"

    def lines(chosen, digits):
        cells = ([*(f"{v:.{digits}f}" for v in row[:4]), *row[4:]] for row in chosen)
        return "".join(",".join(row) + "\n" for row in cells)

    old.write_text(header + lines(rows[:100], 3))
    new.write_text(header + lines(rows[80:], digits))
    command = ["compare", f"v={old}", "--target", "ill", "--out", str(study), *QUICK]
    with pytest.raises(SystemExit) as end:
        main([*command, "--test", f"v={new}"])
    assert end.value.code == 0
    warning = "--test: 20 of 40 samples have the values of a sample that the model was trained on"
    assert f"warning: {warning}" in " ".join(capsys.readouterr().out.split())
    assert warning in (study / "report.html").read_text()
    assert warning in (study / "model_card.md").read_text()


def test_equal_rows_of_few_values_are_no_copies():
    rng = np.random.default_rng(0)
    few = MultiViewData({"v": rng.integers(2, size=(200, 3)).astype(float)})
    assert count_copies(few[:40], few[40:]) == 0
    many = MultiViewData({"v": rng.normal(size=(200, 3)), "w": rng.normal(size=(200, 3))})
    assert count_copies(many[:40], many[40:]) == 0
    assert count_copies(many[:40], many[30:]) == 10
    assert count_copies(many[:40].select(["w"]), many[30:]) == 10
    present = np.ones((200, 2), dtype=bool)
    present[35:, 0] = False
    partial = MultiViewData(dict(many.items()), present=present)
    assert count_copies(partial[:40], partial[30:]) == 10
