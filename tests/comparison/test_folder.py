"""One study per folder: another one is refused or set aside, and files of two are never mixed."""

import copy
import math
import re
import shutil
import sqlite3
import time
from pathlib import Path
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest

from conftest import FULL
from consilience import compare
from consilience.cli import main
from consilience.comparison import execution
from consilience.comparison._record_checks import _check_map
from consilience.comparison.folder import claim_folder
from consilience.comparison.prediction import load_model
from consilience.comparison.record import SampleMap, read_run

RNG = np.random.default_rng(0)
Y = np.repeat([0, 1], 20)
VIEWS = {name: RNG.normal(size=(40, 3)) + Y[:, None] for name in ("blood", "image")}
QUICK = {"methods": ["Concat"], "cv": 2, "repeats": 1}
OTHER = {**QUICK, "methods": ["Late fusion"]}
pytestmark = pytest.mark.usefixtures("serially", "undrawn")


def fingerprints(folder):
    """Fingerprints in the run file, the report and the model."""
    page = (folder / "report.html").read_text()
    found = re.search(r'<meta name="consilience-run" content="(\w+)">', page)
    return read_run(folder).fingerprint, found[1], load_model(folder).fingerprint


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


OTHERS = {
    "data": ({"data": {**VIEWS, "blood": VIEWS["blood"] + 1}}, "of other data"),
    "metric": ({"metric": "f1"}, "with other settings: metric"),
    "methods": ({"methods": ["Late fusion"]}, "with other settings: methods"),
    "folds": ({"cv": 4}, "with other settings: cv"),
    "positive": ({"positive": 0}, "with other settings: positive"),
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a finished study."""
    from benchmark.studies import run_serially

    folder = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(execution, "run_tasks", run_serially)
        compare(VIEWS, Y, **QUICK, out=folder)
    return folder


@pytest.fixture
def out(finished, tmp_path):
    """A copy of it."""
    return shutil.copytree(finished, tmp_path / "study")


def test_another_study_is_refused_and_set_aside_by_force(out, tmp_path):
    first = fingerprints(out)
    assert len(set(first)) == 1
    before = files_of(out)
    for other, reason in OTHERS.values():
        options = {"data": VIEWS, **QUICK, **other}
        with pytest.raises(ValueError, match=f"study contains another study .*{reason}.*--force"):
            compare(y=Y, **options, out=out)
        assert files_of(out) == before
    result = compare(VIEWS, Y, **OTHER, out=out, force=True)
    assert files_of(tmp_path / "study.old-1") == before
    assert result.notes_ == [f"another study was set aside as {tmp_path / 'study.old-1'}"]
    second = fingerprints(out)
    assert len(set(second)) == 1
    assert set(first).isdisjoint(second)


def test_the_same_study_goes_on_with_other_costs(out):
    compare(VIEWS, Y, **QUICK, out=out, time_budget=60, allow_partial=True, force=True)
    assert not list(out.parent.glob("study.old*"))


@pytest.mark.parametrize("name", ["run.toml", "model.skops", "report.html", "results.sqlite"])
def test_remains_of_a_study_are_not_used(tmp_path, name):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / name).write_text("?")
    with pytest.raises(ValueError, match="contains another study"):
        compare(VIEWS, Y, **QUICK, out=tmp_path / "out")
    assert (tmp_path / "out" / name).read_text() == "?"


def test_other_files_do_not_matter(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    compare(VIEWS, Y, **QUICK, out=tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def in_folder(folder, name):
    """An input file of this name in a folder."""
    lines = [f"{a:.3f},{b:.3f},{'uv'[y]}" for a, b, y in zip(*VIEWS["blood"].T[:2], Y, strict=True)]
    (folder / name).write_text("\n".join(["a,b,ill", *lines]) + "\n")
    return folder / name


@pytest.mark.parametrize("is_test", [False, True])
def test_force_does_not_move_input_files(out, tmp_path, capsys, is_test):
    inside, outside = in_folder(out, "blood.csv"), in_folder(tmp_path, "other.csv")
    outside.write_text(outside.read_text().replace("0.", "1."))
    link = tmp_path / "link.csv"
    link.symlink_to(inside)
    for given in (inside, link, out / ".." / out.name / "blood.csv"):
        files = [f"v={outside}", "--test", f"v={given}"] if is_test else [f"v={given}"]
        before = files_of(out)
        with pytest.raises(SystemExit) as end:
            main(["compare", *files, "--target", "ill", "--out", str(out), "--force"])
        assert end.value.code == 2
        assert capsys.readouterr().err == (
            f"consilience: the folder {out} cannot be set aside, because it contains the input "
            f"{given}; choose another folder\n"
        )
        assert files_of(out) == before


@pytest.mark.parametrize("name", ["results.csv", "features.csv"])
def test_input_files_are_not_written_over(tmp_path, capsys, name):
    given = in_folder(tmp_path, name)
    link = tmp_path / "link.csv"
    link.symlink_to(given)
    for path in (given, link):
        before = files_of(tmp_path)
        with pytest.raises(SystemExit) as end:
            main(["compare", f"v={path}", "--target", "ill", "--out", str(tmp_path)])
        assert end.value.code == 2
        assert capsys.readouterr().err == (
            f"consilience: {path} is an input, and the study would write over it in {tmp_path}; "
            "choose another folder, or rename the file\n"
        )
        assert files_of(tmp_path) == before


class Killed(BaseException):
    """Nothing catches it."""


@pytest.mark.parametrize("step", ["run_study", "write_report"])
def test_a_killed_second_study_leaves_nothing_of_the_first(out, tmp_path, monkeypatch, step):
    before = files_of(out)

    def kill(*_, **__):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(execution, step, kill)
        with pytest.raises(Killed):
            compare(VIEWS, Y, **OTHER, out=out, force=True)
    assert files_of(tmp_path / "study.old-1") == before
    run = read_run(out)
    assert run.options.methods == ["Late fusion"]
    assert not (out / "report.html").exists()
    assert (out / "model.skops").exists() == (step == "write_report")
    with pytest.raises(ValueError, match="contains another study"):
        compare(VIEWS, Y, **QUICK, out=out)
    if step == "write_report":
        assert load_model(out).fingerprint == run.fingerprint
        run.best = ""  # as if it had ended between the model and the run file
        run.write(out)
        with pytest.raises(ValueError, match=r"describes no model of run \w+; run the comparison"):
            load_model(out)


def test_what_follows_from_the_splits_is_no_setting_of_its_own(out):
    """Studies from before it was recorded go on."""
    run = read_run(out)
    options = msgspec.structs.replace(run.options, given_train_rows=40.0, given_test_rows=20.0)
    assert msgspec.structs.replace(run, options=options).compute_fingerprint() == run.fingerprint


def test_predict_checks_that_model_and_run_belong_together(out, tmp_path, capsys):
    assert load_model(out).method == "Concat"
    run = read_run(out)
    run.target = "another"
    run.fingerprint = run.compute_fingerprint()
    run.write(out)
    for path in (out, out / "model.skops"):
        with pytest.raises(SystemExit) as end:
            main(["predict", str(path), "new.csv"])
        assert end.value.code == 2
        assert "does not belong to the comparison in" in capsys.readouterr().err
    shutil.copy(out / "model.skops", tmp_path / "alone.skops")
    assert load_model(tmp_path / "alone.skops").method == "Concat"


def test_a_folder_that_cannot_be_renamed(out, monkeypatch):
    run = read_run(out)
    run.fingerprint = "another"
    monkeypatch.chdir(out)
    with pytest.raises(ValueError, match="cannot be set aside"):
        claim_folder(Path(), run, force=True)


BAD_VALUES = (-1, 0, 10**8, 10**18, 0.5, math.nan, math.inf, "", "x", [], ["x"], True, {})


@pytest.mark.parametrize("is_same", [True, False])
def test_two_studies_that_begin_at_once_in_one_folder(out, tmp_path, monkeypatch, is_same):
    """The first to write its run file owns the folder; the other continues it or is refused."""
    mine = other = read_run(out)
    if not is_same:
        options = msgspec.structs.replace(mine.options, seed=mine.options.seed + 1)
        other = msgspec.structs.replace(mine, options=options)
        other = msgspec.structs.replace(other, fingerprint=other.compute_fingerprint())
    folder = tmp_path / "fresh"

    def holds_study(path):  # the run file comes after each look
        is_held = (path / "run.toml").exists()
        if path.exists() and not is_held:
            other.write(path)
        return is_held

    monkeypatch.setattr("consilience.comparison.folder.holds_study", holds_study)
    if is_same:
        assert claim_folder(folder, mine) is None
    else:
        with pytest.raises(ValueError, match="fresh contains another study"):
            claim_folder(folder, mine)
    assert read_run(folder).fingerprint == other.fingerprint


def places(value, path=()):
    """Paths to all values of a nested structure."""
    parts = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in parts:
        yield (*path, key)
        if isinstance(part, dict | list):
            yield from places(part, (*path, key))


def edits(content):
    """The content with each value replaced by each bad one, or left out."""
    for path in places(content):
        for bad in (*BAD_VALUES, None):
            edited = copy.deepcopy(content)
            part = edited
            for key in path[:-1]:
                part = part[key]
            if bad is None:
                del part[path[-1]]
            else:
                part[path[-1]] = bad
            yield path, bad, edited


def test_edited_run_files_are_one_sentence(out, capsys):
    """Or a report, if the value may be so; never a traceback or a plan without end."""
    content = msgspec.toml.decode((out / "run.toml").read_bytes())
    n_refused = n_accepted = 0
    for path, bad, edited in edits(content):
        (out / "run.toml").write_bytes(msgspec.toml.encode(edited))
        try:
            read_run(out)
        except ValueError as error:
            message = str(error)
        else:
            message = ""
        assert "\n" not in message, (path, bad)
        n_refused, n_accepted = n_refused + bool(message), n_accepted + (not message)
        if message:
            continue
        if n_accepted % (6 if FULL else 120) != 1:
            continue
        start = time.process_time()
        with pytest.raises(SystemExit) as end:
            main(["report", str(out)])
        assert end.value.code in (0, 2), (path, bad)
        assert time.process_time() - start < 10, (path, bad)
        assert capsys.readouterr().err.count("\n") == (end.value.code == 2), (path, bad)
    print(f"{n_refused} edits refused, {n_accepted} accepted")
    assert n_refused > n_accepted > 0


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("methods", ["Duo"], "options.methods has the unknown method 'Duo'"),
        ("cv", 10**8, "options.cv must be at most 100000"),
        ("repeats", 10**9, "options.repeats must be at most 10000"),
        ("metric", "luck", "options.metric must be one of"),
        ("samples", 0, "data.samples must be the sum of data.counts, got 0"),
    ],
)
def test_edited_values_are_named(out, capsys, key, value, sentence):
    content = msgspec.toml.decode((out / "run.toml").read_bytes())
    content["data" if key == "samples" else "options"][key] = value
    (out / "run.toml").write_bytes(msgspec.toml.encode(content))
    with pytest.raises(SystemExit) as end:
        main(["report", str(out)])
    err = capsys.readouterr().err
    assert end.value.code == 2
    assert f"run.toml is damaged: {sentence}" in err


def test_damaged_results_are_one_sentence(out, capsys):
    with sqlite3.connect(out / "results.sqlite") as db:
        db.execute("UPDATE results SET outcome = '{\"status\": 3}'")
    db.close()
    with pytest.raises(SystemExit) as end:
        main(["report", str(out)])
    assert end.value.code == 2
    assert re.search("consilience: the stored result .* is damaged", capsys.readouterr().err)


def test_a_map_of_samples_has_a_class_and_coordinates_for_each_row():
    data = SimpleNamespace(samples=3, classes=["u", "v"])
    good = SampleMap([0, 2], [1, 0], [0.5, -1.0], [0.0, 2.0])
    _check_map(SimpleNamespace(sample_map=None, data=data))
    _check_map(SimpleNamespace(sample_map=good, data=data))
    for change, message in [
        ({"x": [0.5]}, "sample_map must have as many rows as classes, x and y"),
        ({"rows": [0, 3]}, "sample_map.rows must be at most 2"),
        ({"classes": [2, 0]}, "sample_map.classes must be at most 1"),
        ({"y": [0.0, math.inf]}, "sample_map must be at most"),
    ]:
        bad = msgspec.structs.replace(good, **change)
        with pytest.raises(ValueError, match=message):
            _check_map(SimpleNamespace(sample_map=bad, data=data))
