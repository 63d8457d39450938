import csv
import io

import numpy as np
import pytest
from msgspec.structs import replace

from benchmark.studies import SUITE
from consilience.benchmark import plan
from consilience.benchmark.markdown import study_page
from consilience.benchmark.progress import Forecast, format_duration
from consilience.benchmark.publish import csv_text, raw_csv, summary_csv, write_results
from consilience.benchmark.results import CellKey, collect_results, compare_with_best
from consilience.benchmark.statistics import signed_rank
from consilience.benchmark.store import Store
from consilience.benchmark.suite import parse_suite
from consilience.benchmark.tasks import task_hash
from consilience.benchmark.work import Outcome

PAPER = """
[[paper]]
dataset = "synthetic"
[paper.results]
"Early fusion" = { accuracy = [0.5, 0.01] }
"Late fusion" = { accuracy = 0.61 }
Elsewhere = { accuracy = 0.9 }
"""
LEVEL = {"Early fusion": 0.7, "Late fusion": 0.6, "MwMvC2": 0.61}


def outcome_of(task, fail=(), level=LEVEL):
    if task.method in fail and task.index == 2:
        return Outcome(status="failed", error="ValueError: a | b <script>\nmore")
    noise = 0.01 * np.random.default_rng(task.index).normal()
    accuracy = level[task.method] + noise
    return Outcome(status="done", metrics={"accuracy": accuracy, "fit_seconds": 1.0})


def study(text=SUITE + PAPER, fail=(), leave=0, level=LEVEL):
    suite = parse_suite(text, "small")
    tasks, _ = plan(suite)
    with Store(":memory:") as store:
        store.register_runner()
        for task in tasks[: len(tasks) - leave]:
            store.add(task, outcome_of(task, fail, level), 0.0, 1.0)
        environments = list(store.environments().values())
        return suite, tasks, collect_results(tasks, store.records()), environments


def page(tmp_path, *args, **options):
    suite, _, results, environments = study(*args, **options)
    write_results(suite, results, environments, tmp_path, ["a note"])
    return (tmp_path / "small.md").read_text()


def test_page_shows_ours_beside_the_papers(tmp_path):
    text = page(tmp_path)
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| ")]
    by_method = {row[0].strip("| "): row for row in rows}
    early = by_method["Early fusion"]
    assert early[1].startswith("**0.70")  # best
    assert early[2] == "0.5 ± 0.01"
    assert by_method["Late fusion"][1].endswith("↓")  # same splits, always worse
    assert by_method["Late fusion"][2] == "0.61"
    assert "24 of 24 fits done, 0 failed" in text
    assert "scikit-learn 1." in text
    assert "cores" in text
    assert "1 of 2 numbers lie within one standard deviation" in text
    assert "Better than reported (1)" in text
    assert "Elsewhere | accuracy | 0.9" in text
    assert "- a note" in text


def test_all_of_the_best_methods_are_bold(tmp_path):
    text = page(tmp_path, SUITE + PAPER, level={**LEVEL, "MwMvC2": LEVEL["Early fusion"]})
    assert text.count("| **0.70") == 2


def test_a_method_that_is_ahead_in_most_splits_is_not_marked_as_worse():
    def outcome(task):
        is_first = task.method == "Early fusion"
        accuracy = float(is_first) if task.index == 0 else 0.5 + 0.001 * task.index * (not is_first)
        return Outcome(status="done", metrics={"accuracy": accuracy})

    suite = parse_suite(SUITE.replace("repeats = 8", "repeats = 20"), "small")
    tasks = plan(suite)[0]
    with Store(":memory:") as store:
        for task in tasks:
            store.add(task, outcome(task), 0.0, 1.0)
        results = collect_results(tasks, store.records())
    marks = compare_with_best(results, suite, "synthetic", results.conditions[0], "accuracy")
    assert marks == {"Early fusion": "best", "Late fusion": "", "MwMvC2": ""}


@pytest.mark.parametrize(("repeats", "significance"), [(5, 0.05), (6, 0.05), (6, 0.03125)])
def test_page_says_if_the_splits_are_too_few_for_the_test(tmp_path, repeats, significance):
    text = SUITE.replace("repeats = 8", f"repeats = {repeats}")
    text = page(tmp_path, f"significance = {significance}\n{text}")
    smallest = signed_rank(np.arange(1.0, repeats + 1), np.zeros(repeats)).p_value
    too_few = not smallest < significance
    assert ("a missing ↓ says nothing" in text) == too_few
    assert ("↓ |" in text) == (not too_few)


def test_unreached_paper_number_is_marked(tmp_path):
    text = page(tmp_path, SUITE + PAPER.replace("0.61 }", "[0.75, 0.02] }"))
    assert "Worse than reported (1):" in text
    assert "Late fusion, accuracy: 0.60" in text
    assert "paper 0.75 (-0.1" in text


def test_failures_are_listed_and_not_averaged(tmp_path):
    text = page(tmp_path, fail=["MwMvC2"])
    assert "| MwMvC2 | 1 of 8 failed |" in text
    assert "ValueError: a \\| b &lt;script> | 1 |" in text
    assert "<script" not in text
    suite, _, results, _ = study(fail=["MwMvC2"])
    key = CellKey("synthetic", results.conditions[0], "MwMvC2")
    assert np.isnan(results.cell(key, "accuracy").mean)
    rows = list(csv.DictReader(io.StringIO(summary_csv(suite, results))))
    (row,) = [r for r in rows if r["method"] == "MwMvC2" and r["metric"] == "accuracy"]
    assert (row["mean"], row["failed"]) == ("", "1")


def test_pending_fits_are_counted(tmp_path):
    text = page(tmp_path, leave=3)
    assert "| MwMvC2 | 1 of 8 pending |" in text
    assert "21 of 24 fits done" in text


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        *[
            (c, f"'{c}")
            for c in ("=1+1", "+cmd", "-1+cmd|' /C calc'!A0", "@x", "\t=1", "-", "-1\n")
        ],
        *[(c, c) for c in ("-1", "+1.5", "-.5e-3", "-2.", "a=b", "")],
    ],
)
def test_formulas_are_written_as_text_and_numbers_as_they_are(cell, written):
    ((head,), (value,)) = csv.reader(io.StringIO(csv_text([cell], [[cell]]), newline=""))
    assert head == value == written


def test_csv_has_every_task_and_no_formula():
    text = SUITE.replace('recipe = "MwMvC2"', 'recipe = "MwMvC2"\nlabel = "=cmd()"')
    suite, tasks, results, _ = study(text)
    rows = list(csv.DictReader(io.StringIO(raw_csv(results))))
    assert len(rows) == len(tasks)
    assert {row["method"] for row in rows} == {"Early fusion", "Late fusion", "'=cmd()"}
    summary = list(csv.DictReader(io.StringIO(summary_csv(suite, results))))
    assert len(summary) == 6
    mean = np.mean([float(row["accuracy"]) for row in rows if row["method"] == "Late fusion"])
    (row,) = [r for r in summary if (r["method"], r["metric"]) == ("Late fusion", "accuracy")]
    assert float(row["mean"]) == pytest.approx(mean)


def test_conditions_become_columns(tmp_path):
    text = page(tmp_path, SUITE.replace("train_size = 60", "train_size = [20, 60]"))
    assert "| method | train_size = 20 | train_size = 60 |" in text


def test_many_data_sets_become_columns_and_ranks(tmp_path):
    start, end = SUITE.index("[[datasets]]"), SUITE.index("[[methods]]")
    part = SUITE[start:end]
    sets = [part.replace("seeded", f'label = "set {i}"\nseeded') for i in range(5)]
    text = page(tmp_path, SUITE[:start] + "".join(sets) + SUITE[end:])
    assert "| method | set 0 | set 1 | set 2 | set 3 | set 4 |" in text
    assert "(small-ranks.svg)" in text
    assert "over 5 data sets: Early fusion 1.00, MwMvC2 2.00, Late fusion 3.00." in text
    assert "Friedman test of equal ranks: p = 0.0067" in text
    figure = (tmp_path / "small-ranks.svg").read_text()
    assert all(method in figure for method in LEVEL)
    again = tmp_path / "again"
    page(again, SUITE[:start] + "".join(sets) + SUITE[end:])
    assert (again / "small-ranks.svg").read_text() == figure


def test_one_vs_rest_is_averaged_within_a_split():
    text = SUITE.replace("[protocol]", '[protocol]\ntargets = "one-vs-rest"')
    suite = parse_suite(text, "small")
    tasks, _ = plan(suite)
    assert {task.positive_class for task in tasks} == {0, 1}
    with Store(":memory:") as store:
        for task in tasks:
            metrics = {"accuracy": task.positive_class + 10.0 * task.index}
            store.add(task, Outcome(status="done", metrics=metrics), 0.0, 1.0)
        results = collect_results(tasks, store.records())
    cell = results.cell(results.cell_keys[0], "accuracy")
    assert cell.scores.tolist() == [0.5 + 10 * i for i in range(8)]
    assert "what one class against the rest takes" in study_page(suite, results, [])


def test_forecast_knows_slow_methods():
    tasks, _ = plan(parse_suite(SUITE, "small"))
    forecast = Forecast(tasks, jobs=2)
    assert forecast.seconds_left() is None
    for task in tasks[:3]:
        forecast.add(task, {"Early fusion": 1.0, "Late fusion": 2.0, "MwMvC2": 30.0}[task.method])
    assert forecast.seconds_left() == pytest.approx(7 * 33 / 2)
    assert format_duration(forecast.seconds_left()) == "0:01:56"
    assert format_duration(None) == "-:--:--"
    assert len({task_hash(task) for task in tasks}) == len(tasks)


def test_the_suite_of_the_default_leaves_the_page_about_the_classifier_alone(tmp_path):
    suite, _, results, environments = study()
    suite = replace(suite, name="default")
    page = tmp_path / "default.md"
    page.write_text("what to expect of it", encoding="utf-8")
    paths = write_results(suite, results, environments, tmp_path)
    assert page.read_text(encoding="utf-8") == "what to expect of it"
    assert {path.name for path in paths} >= {"default-bench.md", "default-bench.csv"}
    text = (tmp_path / "default-bench.md").read_text(encoding="utf-8")
    assert "`consilience bench default --results docs/results`" in text
