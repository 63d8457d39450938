import re
from pathlib import Path

import pytest

from benchmark.studies import FULL, N_TASKS, SUITE
from consilience.benchmark import load_suite, plan, suite_names
from consilience.benchmark.planning import select_tasks
from consilience.benchmark.suite import parse_suite
from consilience.benchmark.tasks import task_hash
from consilience.datasets import DatasetError, available

MIRROR = Path(__file__).parents[3] / "shared" / "data"
SHIPPED = [
    "default",
    "mumbo-synthetic",
    "mvlsvm-complete",
    "mvlsvm-missing",
    "mwmvc2-curves",
    "mwmvc2-table1",
    "overview",
    "shareboost-noise",
    "smoke",
    "smvmed-indoor",
    "smvmed-table1",
]


def test_all_suites_are_shipped():
    assert set(suite_names()) >= set(SHIPPED)


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_suite_is_valid(name, monkeypatch):
    if MIRROR.is_dir():
        monkeypatch.setenv("CONSILIENCE_DATA", str(MIRROR))
    suite = load_suite(name)
    assert suite.name == name
    assert suite.title
    if name not in ("default", "smoke", "overview"):
        assert suite.reference
    needed = {c.name for c in suite.datasets if not c.optional} - {"synthetic", "disturbed"}
    if not needed <= set(available()):
        with pytest.raises(DatasetError, match="consilience fetch"):
            plan(suite)
        return
    tasks, _ = plan(suite)
    tasks = tasks if FULL else tasks[::20]
    assert len({task_hash(task) for task in tasks}) == len(tasks) > 0


@pytest.mark.parametrize(
    ("name", "dataset", "method", "metric", "value"),
    [
        ("mwmvc2-table1", "MNIST_1", "MwMvC2", "accuracy", 0.8659),
        ("mwmvc2-table1", "MNIST_2", "MVMLsp", "f1", 0.4318),
        ("smvmed-table1", "Ads", "SMVMED", "accuracy", 0.9640),
        ("smvmed-indoor", "Indoor", "SVM-2K", "fit_seconds", 3113.19),
        ("shareboost-noise", "Gender", "iBoost", "accuracy", 0.85),
        ("shareboost-noise", "Gender", "iBoost", "accuracy", 0.53),
        ("mumbo-synthetic", "eta = 0.25", "MuMBo", "accuracy", 0.832),
    ],
)
def test_the_papers_numbers_are_beside_ours(name, dataset, method, metric, value):
    suite = load_suite(name)
    assert value in [
        suite.paper_result(dataset, condition, method, metric)[0]
        for condition in suite.protocol.conditions()
        if suite.paper_result(dataset, condition, method, metric)
    ]


def test_every_number_of_a_paper_has_a_condition_of_its_suite():
    for suite in map(load_suite, SHIPPED):
        conditions = suite.protocol.conditions()
        assert all(suite.condition_for(entry) in conditions for entry in suite.paper), suite.name


def test_plan_goes_split_by_split():
    tasks, notes = plan(parse_suite(SUITE, "small"))
    assert (len(tasks), notes) == (N_TASKS, [])
    assert [task.index for task in tasks] == sorted(task.index for task in tasks)
    assert [task.method for task in tasks[:3]] == ["Early fusion", "Late fusion", "MwMvC2"]
    assert tasks[3].data_parameters["random_state"] == 1  # a new draw for every repeat


def test_conditions_beside_the_combinations():
    text = changed("[protocol]", "[protocol]\nmore = [{ train_size = 9, junk_views = 2 }]")
    suite = parse_suite(text, "small")
    *usual, last = suite.protocol.conditions()
    assert usual == parse_suite(SUITE, "small").protocol.conditions()
    assert str(last) == "train_size = 9, junk_views = 2"
    tasks, _ = plan(suite)
    assert len(tasks) == 2 * N_TASKS
    assert len(select_tasks(tasks, ["junk_views=2"])) == N_TASKS
    fewer, _ = plan(parse_suite(text.replace("junk_views = 2", "junk_views = 2, splits = 3"), "s"))
    assert {task.index for task in select_tasks(fewer, ["junk_views=2"])} == {0, 1, 2}
    assert len(fewer) == N_TASKS + 3 * 3


def test_select():
    tasks, _ = plan(parse_suite(SUITE, "small"))
    some = select_tasks(tasks, ["method=MwMvC2", "split=0", "split=3"])
    assert [(task.method, task.index) for task in some] == [("MwMvC2", 0), ("MwMvC2", 3)]
    with pytest.raises(ValueError, match="unknown method 'Nobody'; known are Early fusion"):
        select_tasks(tasks, ["method=Nobody"])
    with pytest.raises(ValueError, match=r"KEY one of dataset, .* got 'colour=red'"):
        select_tasks(tasks, ["colour=red"])


def test_plans_have_a_size_that_can_be_run():
    suite = parse_suite(
        SUITE.replace("repeats = 8", "repeats = 10000").replace(
            "train_size = 60", f"train_size = {list(range(20, 60))}"
        ),
        "large",
    )
    with pytest.raises(ValueError, match="the study would have 1200000 fits, but at most 500000"):
        plan(suite)


def changed(old, new):
    assert old in SUITE
    return SUITE.replace(old, new, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (changed("metrics =", "measures ="), "unknown field `measures`"),
        (changed("train_size", "trainsize"), r"unknown field `trainsize` - at `\$.protocol`"),
        (changed("seeded", "seeeded"), r"unknown field `seeeded` - at `\$.datasets"),
        (changed("repeats = 8", "repeats = 8, rows = 3"), "unknown field `rows`"),
        (changed('kind = "holdout"', 'kind = "guess"'), "Invalid value 'guess'"),
        (changed("repeats = 8", 'repeats = "8"'), r"Expected `int`, got `str`.*repeats"),
        (changed("repeats = 8", "repeats = 0"), "repeats must be at least 1, got 0"),
        (changed("repeats = 8", "repeats = 1000000000"), "repeats must be at most 10000"),
        (changed("test = 0.2", "test = 1.5"), "test must be a fraction below 1"),
        (changed("test = 0.2", "test = nan"), "test must be a fraction below 1"),
        (changed("test = 0.2", "test = 10000000000"), "test must be a fraction below 1"),
        (changed("train_size = 60", "train_size = 0"), "train_size must be at least 1, got 0"),
        (changed("[protocol]", "[protocol]\nmissing = nan"), "missing must be at most 1, got nan"),
        (changed("[protocol]", "[protocol]\nlabel_noise = 2"), "label_noise must be at most 1"),
        (changed("[protocol]", "[protocol]\njunk_views = 1000000"), "junk_views must be at most"),
        (changed("[protocol]", "[protocol]\ntuning_folds = 1"), "tuning_folds must be at least 2"),
        (
            changed("[protocol]", "[protocol]\ntuning_metric = 'luck'"),
            "tuning_metric must be one",
        ),
        (changed("title", "seed = -1\ntitle"), "seed must be at least 0, got -1"),
        (changed("title", "significance = inf\ntitle"), "significance must be at most 1"),
        (changed("seeded = true", "sample = 0"), "sample of 'synthetic' must be at least 1"),
        (
            changed("seeded = true", "seeded = true\nseeded = true"),
            "the key 'seeded' is given twice",
        ),
        ("title = 'a'\ntitle = '''b\nc'''\n", "the key 'title' is given twice"),
        (SUITE + "\n[protocol]\n", "'protocol'"),
        (
            changed("[protocol]", "[protocol]\nmissing = [0.1, 0.2, 0.1]"),
            "the condition 'train_size = .*, missing = 0.1' is given twice",
        ),
        (changed("[protocol]", "[protocol]\nmore = [{ junk = 1 }]"), "unknown field `junk`"),
        (changed("[protocol]", "[protocol]\nmore = [{ splits = 0 }]"), "splits must be at least 1"),
        (
            changed("seeded = true", 'split = { kind = "official" }\ncomplete = true'),
            "'.*': an official split needs all rows",
        ),
        (changed("n_views = 2", "n_views = 2, n_views = 2"), "'n_views'"),
        (changed('"accuracy"', '"speed"'), "unknown metric 'speed'; known are accuracy"),
        (changed('"Late fusion"', '"Early fusion"'), "the method 'Early fusion' is given twice"),
        (
            f"{SUITE}\n[[methods]]\nrecipe = 'Mono'\nlabel = 'MwMvC2'\ndatasets = ['synthetic']",
            "the method 'MwMvC2' is given twice for data set 'synthetic'",
        ),
        (changed('"Late fusion"', '"Duo"'), "unknown method 'Duo'; known are Consilience,"),
        (changed('"synthetic"', '"nowhere"'), "unknown data set 'nowhere'; known are digits"),
        (changed('"MwMvC2"', '"MwMvC2"\nsettings = { depth = 3 }'), "no parameter 'depth'"),
        (changed('"MwMvC2"', '"MwMvC2"\ndatasets = ["x"]'), "unknown data set of 'MwMvC2' 'x'"),
        (changed("title", "seed = 'a'\ntitle"), r"Expected `int`, got `str` - at `\$.seed`"),
        (SUITE.split("[[methods]]")[0], "missing required field `methods`"),
        ("title = ", "Invalid value"),
    ],
)
def test_a_mistake_names_its_key(text, message):
    with pytest.raises(ValueError, match=message) as error:
        parse_suite(text, "mine")
    assert str(error.value).startswith("suite 'mine': ")
    assert "\n" not in str(error.value)


def test_files(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(SUITE)
    assert load_suite(path).name == "mine"
    with pytest.raises(ValueError, match="there is no file"):
        load_suite(tmp_path / "other.toml")
    with pytest.raises(
        ValueError, match="unknown suite 'mine'; known are default, default-natural"
    ):
        load_suite("mine")
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match=re.escape(f"{path} cannot be read")):
        load_suite(path)
