"""Suites on data of one's own: files and functions, with methods of one's own."""

import csv
import re
import shutil

import numpy as np
import pytest
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, cross_val_score

from benchmark.studies import run_in_process
from consilience import as_multiview
from consilience.benchmark import load_suite, plan
from consilience.benchmark.protocol import Folds, split_rows
from consilience.benchmark.suite import parse_suite
from consilience.benchmark.tasks import task_hash
from consilience.methods import METHODS

MODULE = """
import numpy as np
from sklearn.naive_bayes import GaussianNB
from sklearn.utils import Bunch


class Mine(GaussianNB):
    pass


def load(n=60, shift=1.0, random_state=0):
    rng = np.random.default_rng(random_state)
    y = np.arange(n) % 2
    views = {"a": rng.normal(size=(n, 3)) + shift * y[:, None], "b": rng.normal(size=(n, 2))}
    return Bunch(data=views, target=y, groups=np.arange(n) // 4)


def pair():
    bunch = load()
    return bunch.data, bunch.target


def nothing():
    return 3
"""
SUITE = """
title = "Mine"
seed = 5

[protocol]
split = { kind = "folds", n = 3 }

[[datasets]]
name = "by function"
loader = "own_suite_module:load"
parameters = { n = 48, shift = 2.0 }

[[datasets]]
name = "by pair"
loader = "own_suite_module:pair"

[[datasets]]
name = "tables"
files = ["a.csv", "second=b.npz", "c.parquet"]
target = "y"

[[methods]]
recipe = "own_suite_module:Mine"
label = "naive Bayes"

[[methods]]
recipe = "Late fusion"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    import pyarrow as pa
    from pyarrow import parquet

    (tmp_path / "own_suite_module.py").write_text(MODULE)
    (tmp_path / "suite.toml").write_text(SUITE)
    rng = np.random.default_rng(0)
    y = np.arange(30) % 2
    lines = [
        f"{a},{'uv'[int(a > 0.5)]},{b}" for a, b in zip(rng.normal(size=30) + y, y, strict=True)
    ]
    (tmp_path / "a.csv").write_text("x,site,y\n" + "\n".join(lines) + "\n")
    np.savez(tmp_path / "b.npz", z=rng.normal(size=(30, 4)) + y[:, None])
    parquet.write_table(pa.table({"q": rng.normal(size=30)}), tmp_path / "c.parquet")
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_a_suite_of_ones_own(folder, monkeypatch):
    monkeypatch.chdir(folder.parent)  # paths and modules are found from the suite's folder
    run_in_process("bench", folder / "suite.toml", "--out", folder / "out", "--quiet")
    with open(folder / "out" / "results.csv") as file:
        results = list(csv.DictReader(file))
    assert len(results) == 3 * 2 * 3
    assert {row["status"] for row in results} == {"done"}
    assert {row["method"] for row in results} == {"naive Bayes", "Late fusion"}
    import own_suite_module

    bunch = own_suite_module.load(48, 2.0)
    expected = cross_val_score(
        METHODS["Late fusion"].make_estimator(5),
        as_multiview(bunch.data),
        bunch.target,
        groups=bunch.groups,
        cv=StratifiedGroupKFold(3, shuffle=True, random_state=5),
    )
    scores = [
        float(row["accuracy"])
        for row in results
        if (row["dataset"], row["method"]) == ("by function", "Late fusion")
    ]
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-12)


def test_holdouts_of_own_data_are_of_whole_groups(folder):
    text = (folder / "suite.toml").read_text()
    assert not any(task.whole_groups for task in plan(load_suite(folder / "suite.toml"))[0])
    holdout = re.sub(r"split = .*", 'split = { kind = "holdout", repeats = 2, test = 0.25 }', text)
    (folder / "holdout.toml").write_text(holdout)
    tasks, _ = plan(load_suite(folder / "holdout.toml"))
    assert {task.dataset_name for task in tasks if task.whole_groups} == {"by function"}


def test_hashes_follow_the_content_not_the_place(folder, tmp_path_factory):
    def hashes(place):
        tasks, _ = plan(load_suite(place / "suite.toml"))
        return [task_hash(task) for task in tasks if task.data == "tables"]

    first = hashes(folder)
    other = tmp_path_factory.mktemp("other")
    shutil.copytree(folder, other, dirs_exist_ok=True)
    assert hashes(other) == first
    text = (other / "a.csv").read_text()
    (other / "a.csv").write_text(text.replace("u", "w"))
    assert not set(hashes(other)) & set(first)


BAD = {
    "no target": ('files = ["a.csv"]', "needs target, the column of its files"),
    "both": ('files = ["a.csv"]\ntarget = "y"\nloader = "m:f"', "has both files and a loader"),
    "no function": ('loader = "own_suite_module"', "loader must be like module:function"),
    "option without files": ('loader = "m:f"\non = "id"', "has 'on', which needs files"),
    "parameters of files": ('files = ["a.csv"]\ntarget = "y"\nseeded = true', "are for loaders"),
    "unknown": ("", "unknown data set 'd'"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_entries(case):
    entry, message = BAD[case]
    text = SUITE[: SUITE.index("[[datasets]]")] + f'[[datasets]]\nname = "d"\n{entry}\n'
    text += '[[methods]]\nrecipe = "Concat"\n'
    with pytest.raises(ValueError, match=message):
        parse_suite(text, "s")


def test_a_registered_name_cannot_be_taken():
    text = SUITE.replace('name = "by pair"', 'name = "digits"').replace(
        "own_suite_module:Mine", "Concat"
    )
    with pytest.raises(ValueError, match="is a registered data set"):
        parse_suite(text, "s")


@pytest.mark.parametrize(
    ("loader", "message"),
    [
        ("own_suite_module:nothing", "must return a Bunch with data and target"),
        ("own_suite_module:none_such", "cannot be imported: AttributeError"),
        ("no_such_module:load", "cannot be imported: ModuleNotFoundError"),
    ],
)
def test_bad_loaders(folder, loader, message):
    text = SUITE.replace("own_suite_module:pair", loader)
    with pytest.raises(ValueError, match=message):
        plan(parse_suite(text, "s", str(folder)))


def test_missing_files(folder):
    (folder / "c.parquet").unlink()
    with pytest.raises(ValueError, match=r"there is no file '.*c\.parquet'"):
        plan(load_suite(folder / "suite.toml"))


def test_unknown_own_method(folder):
    text = SUITE.replace("own_suite_module:Mine", "own_suite_module:Yours")
    with pytest.raises(ValueError, match="has no 'Yours'"):
        parse_suite(text, "s", str(folder))


def test_folds_of_the_engine_are_those_of_scikit_learn():
    splitter = StratifiedKFold(3, shuffle=True, random_state=5)
    y = np.arange(30) % 3
    for index, (train, test) in enumerate(splitter.split(y, y)):
        rows = split_rows(Folds(3), index, y, seed=5)
        np.testing.assert_array_equal(rows.train, train)
        np.testing.assert_array_equal(rows.test, test)


def test_identifiers_in_files_are_no_features(folder):
    text = (folder / "a.csv").read_text().splitlines()
    lines = ["code," + text[0]] + [f"P{i},{line}" for i, line in enumerate(text[1:])]
    before = plan(load_suite(folder / "suite.toml"))[0]
    (folder / "a.csv").write_text("\n".join(lines))
    tasks, notes = plan(load_suite(folder / "suite.toml"))
    assert [task_hash(task) for task in tasks] == [task_hash(task) for task in before]
    assert notes[0].startswith("tables: left out: column 'code' (identifier: every value is")
    suite = (
        (folder / "suite.toml").read_text().replace('target = "y"', 'target = "y"\nkeep = ["code"]')
    )
    tasks, notes = plan(parse_suite(suite, "s", str(folder)))
    assert notes == []
    assert {task_hash(task) for task in tasks} != {task_hash(task) for task in before}
