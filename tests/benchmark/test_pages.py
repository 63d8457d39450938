"""Published pages: claims, curves, the record of the run, and that no suite is without a page."""

import csv
import hashlib
import os
import re
import tomllib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from benchmark.studies import FULL, SUITE
from benchmark.test_publish import study
from consilience.benchmark import load_suite, plan, suite_names
from consilience.benchmark.claims import Claim, judge_claim
from consilience.benchmark.curves import CurveDisplay, collect_panels
from consilience.benchmark.figures import _style
from consilience.benchmark.markdown import study_page
from consilience.benchmark.problems import ProblemCache
from consilience.benchmark.publish import raw_csv
from consilience.benchmark.published import (
    format_records,
    page_name,
    published_runs,
    read_page,
)
from consilience.benchmark.results import CellKey, collect_results
from consilience.benchmark.store import Record, Store
from consilience.benchmark.suite import SUITES, parse_suite
from consilience.benchmark.suite_curves import Curve
from consilience.benchmark.tasks import Condition, task_hash
from consilience.benchmark.work import Outcome, execute

RESULTS = Path(__file__).parents[2] / "docs" / "results"
MIRROR = Path(os.environ.get("CONSILIENCE_DATA") or Path(__file__).parents[3] / "shared" / "data")
WITHOUT_PAGE = {"smoke": "says nothing about methods"}
PUBLISHED = sorted(set(suite_names()) - set(WITHOUT_PAGE))
N_CELLS, MAX_CELL_SECONDS = 20, 40
# of accuracies, on another processor: it rounds differently, and solvers that stop at a tolerance,
# like that of logistic regression, end elsewhere, which changes single test rows of few cells
MAX_DIFFERENCE, MAX_DIFFERENT = 0.005, 3


# -- the pages in docs/results ---------------------------------------------------------------


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_suite_has_a_page_of_its_present_form(name):
    page = read_page((RESULTS / f"{page_name(name)}.md").read_text(encoding="utf-8"))
    assert page is not None, "the page does not say which suite it was made from"
    digest = hashlib.sha256((SUITES / f"{name}.toml").read_bytes()).hexdigest()
    assert page.sha256 == digest, "the suite has changed: publish its page again"
    assert page.command.startswith(f"consilience bench {name}")
    text = (RESULTS / f"{page_name(name)}.md").read_text(encoding="utf-8")
    for figure in re.findall(r"\]\(([\w-]+\.svg)\)", text):
        assert (RESULTS / figure).is_file()
    if load_suite(name).claims:
        assert text.count("**confirmed**") + text.count("**not ") == len(load_suite(name).claims)


@pytest.mark.parametrize("name", PUBLISHED)
def test_page_has_the_words_of_its_suite_and_verdicts_that_follow_from_its_numbers(name):
    suite, text = load_suite(name), (RESULTS / f"{page_name(name)}.md").read_text(encoding="utf-8")
    assert suite.description.strip() in text
    assert all(f"\n- {difference}\n" in text for difference in suite.differences)
    means = {}
    with (RESULTS / f"{page_name(name)}.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            values = {k: float(row.get(k) or 0) for k in Condition.__struct_fields__}
            condition = Condition(
                **{**values, "train_size": int(values["train_size"]) or None},
            )
            means[row["dataset"], condition, row["method"], row["metric"]] = row["mean"]
    keys = list(means)
    names = [list(dict.fromkeys(key[i] for key in keys)) for i in range(3)]

    def cell(key, metric):
        mean = means.get((*key, metric))
        return SimpleNamespace(n_tasks=mean is not None, mean=float(mean or "nan"))

    datasets, conditions, methods = names
    results = SimpleNamespace(datasets=datasets, conditions=conditions, methods=methods, cell=cell)
    for claim in suite.claims:
        assert f"| {claim.text} | {judge_claim(claim, results)} |" in text


def test_the_package_lists_what_the_pages_say():
    assert set(published_runs()) == set(PUBLISHED)
    listed = published_runs()
    for name in PUBLISHED:
        assert listed[name] == read_page(
            (RESULTS / f"{page_name(name)}.md").read_text(encoding="utf-8")
        )
    records = (SUITES / ".." / "published.toml").read_text(encoding="utf-8")
    assert records == format_records(RESULTS)


@pytest.mark.skipif(not FULL, reason="with CONSILIENCE_TEST_ALL=1")
@pytest.mark.skipif(not MIRROR.is_dir(), reason="the data sets are not there")
def test_random_cells_can_be_recomputed(monkeypatch):
    monkeypatch.setenv("CONSILIENCE_DATA", str(MIRROR))
    rng = np.random.default_rng()
    chosen, others = [], []
    for name in PUBLISHED:
        with (RESULTS / f"{page_name(name)}.csv").open(encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file) if row["metric"] == "accuracy"]
        timed = sorted((row for row in rows if row["mean"]), key=lambda row: float(row["seconds"]))
        quick = [row for row in timed if float(row["seconds"]) <= MAX_CELL_SECONDS] or timed[:1]
        first, *rest = rng.permutation(len(quick))  # one cell of each page, however slow
        chosen.append((name, quick[first]))
        others += [(name, quick[i]) for i in rest]
    more = rng.permutation(len(others))[: N_CELLS - len(chosen)]
    plans, problems, differences = {}, ProblemCache(), {}
    for name, row in [*chosen, *(others[i] for i in more)]:
        tasks = plans.setdefault(name, plan(load_suite(name))[0])
        cell = [task for task in tasks if _is_in(task, row) and task.index < int(row["splits"])]
        scores = {}
        for task in cell:
            problem = problems.get(task.data, task.data_parameters, task.data_source)
            accuracy = execute(task, problem).metrics["accuracy"]
            scores.setdefault(task.index, []).append(accuracy)
        mean = np.mean([np.mean(values) for values in scores.values()])
        differences[name, *row.values()] = abs(mean - float(row["mean"]))
    assert max(differences.values()) <= MAX_DIFFERENCE, differences
    assert sum(value > 1e-9 for value in differences.values()) <= MAX_DIFFERENT, differences


def _is_in(task, row):
    fields = Condition.__struct_fields__
    condition = {key: "" if value is None else str(value) for key, value in _values(task)}
    return (task.dataset_name, task.method_name) == (row["dataset"], row["method"]) and all(
        condition[key] == row[key] for key in fields
    )


def _values(task):
    return [(key, getattr(task.condition, key)) for key in Condition.__struct_fields__]


# -- claims ----------------------------------------------------------------------------------


def verdict(**claim):
    _, _, results, _ = study()
    return judge_claim(Claim("so it is said", **claim), results)


def test_claims_are_decided_by_means():
    assert verdict(method="Early fusion").word == "confirmed"
    failed = verdict(method="Late fusion")
    assert failed.word == "not confirmed"
    assert "holds in 0 of 1 comparisons; synthetic, train_size = 60: -0.1" in failed.reason
    assert "against Early fusion" in failed.reason
    assert verdict(method="Late fusion", others=["MwMvC2"], margin=0.02).word == "confirmed"
    assert verdict(method="Late fusion", others=["MwMvC2"]).word == "not confirmed"
    assert verdict(method="Early fusion", at=[Condition()]).word == "not run yet"
    assert str(verdict(verdict="not testable: no data")) == "**not testable**: no data"


def test_a_claim_says_which_methods_failed():
    claim = Claim("so it is said", method="Early fusion")
    missing = "1 cell has no mean: synthetic, train_size = 60: {}".format
    _, _, results, _ = study(fail=["MwMvC2"])
    judged = judge_claim(claim, results)
    assert judged.word == "confirmed"
    assert judged.reason.startswith("in all 1 comparisons that could be made, closest synthetic")
    assert judged.reason.endswith(missing("MwMvC2"))
    _, _, results, _ = study(fail=["Early fusion"])
    judged = judge_claim(claim, results)
    assert (judged.word, judged.reason) == ("not run yet", missing("Early fusion"))
    _, _, results, _ = study(fail=["MwMvC2"])
    judged = judge_claim(Claim("so it is said", method="Late fusion"), results)
    assert judged.word == "not confirmed"
    assert judged.reason.endswith("against Early fusion; 1 cell has no mean: synthetic, "
                                  "train_size = 60: MwMvC2")  # fmt: skip


def test_the_closest_comparison_of_a_claim_whatever_methods_are_called():
    text = SUITE.replace('recipe = "MwMvC2"', 'recipe = "MwMvC2"\nlabel = "ours: 0.5 first"')
    text = text.replace("train_size = 60", "train_size = [20, 60]")

    def outcome(task):
        gap = 0.00002 if task.condition.train_size == 60 else 0.00004  # the same in four digits
        accuracy = 0.5 + gap * (task.method == "Late fusion")
        return Outcome(status="done", metrics={"accuracy": accuracy})

    _, results = collected(text, outcome)
    claim = Claim("so it is said", method="Late fusion", others=["ours: 0.5 first"])
    assert judge_claim(claim, results).reason == (
        "in all 2 comparisons, closest synthetic, train_size = 60: +0.0000 against ours: 0.5 first"
    )


def trend(accuracies, **claim):
    """Verdict on methods whose accuracies at train_size = 20, 40 and 60 are given."""
    text = SUITE.replace("train_size = 60", "train_size = [60, 20, 40]")

    def outcome(task):
        accuracy = accuracies[task.method][(20, 40, 60).index(task.condition.train_size)]
        return Outcome(status="done", metrics={"accuracy": accuracy})

    _, results = collected(text, outcome)
    return judge_claim(Claim("so it is said", **claim), results)


def test_claims_that_a_metric_improves_or_worsens_with_a_condition():
    flat = {"Early fusion": (0.5, 0.5, 0.5), "Late fusion": (0.5, 0.6, 0.7)}
    rising, bent = {**flat, "MwMvC2": (0.6, 0.7, 0.8)}, {**flat, "MwMvC2": (0.6, 0.75, 0.7)}
    confirmed = trend(rising, improves="train_size")
    assert confirmed.word == "confirmed"
    assert confirmed.reason.startswith("in all 6 comparisons (2 of them ties), closest synthetic,")
    failed = trend(bent, improves="train_size")
    assert str(failed) == (
        "**not confirmed**: holds in 5 of 6 comparisons; synthetic, MwMvC2, train_size = 60: "
        "-0.0500 against train_size = 40"
    )
    assert trend(bent, improves="train_size", method="Late fusion").word == "confirmed"
    assert trend(bent, improves="train_size", margin=0.05).word == "confirmed"
    worse = trend(rising, worsens="train_size", method="MwMvC2")
    assert "holds in 0 of 2 comparisons; synthetic, MwMvC2, train_size = 20: -0.1" in worse.reason
    assert trend(rising, worsens="train_size", method="Early fusion").word == "confirmed"
    assert trend(rising, improves="missing").word == "not run yet"


def test_claims_that_methods_are_in_order():
    accuracies = {
        "Early fusion": (0.5, 0.5, 0.5), "Late fusion": (0.5, 0.6, 0.4), "MwMvC2": (0.7, 0.7, 0.7),
    }  # fmt: skip
    order = ["Early fusion", "Late fusion", "MwMvC2"]
    failed = trend(accuracies, order=order)
    assert failed.reason == (
        "holds in 5 of 6 comparisons; synthetic, train_size = 60, Late fusion: -0.1000 against "
        "Early fusion"
    )
    assert trend(accuracies, order=order, at=[Condition(train_size=40)]).word == "confirmed"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('text = "a"', "needs one of a method, an order, improves, worsens and a verdict"),
        ('text = "a"\norder = ["MwMvC2"]\nmethod = "MwMvC2"', "needs one of a method"),
        ('text = "a"\nimproves = "missing"\nworsens = "missing"', "needs one of a method"),
        ('text = "a"\nimproves = "rounds"', "must name one of train_size, label_noise"),
        ('text = "a"\nimproves = "missing"\nothers = ["MwMvC2"]', "neither others nor at"),
        ('text = "a"\norder = ["MwMvC2", "Nobody"]', "unknown method of a claim 'Nobody'"),
        ('text = "a"\nverdict = "who knows"', "must begin with 'confirmed', 'not confirmed'"),
        ('text = "a"\nmethod = "Nobody"', "unknown method of a claim 'Nobody'"),
        ('text = "a"\nmethod = "MwMvC2"\ndatasets = ["b"]', "unknown data set of a claim 'b'"),
        ('text = "a"\nmethod = "MwMvC2"\nat = [{ train_size = 61 }]', "no fit has the condition"),
    ],
)
def test_bad_claims(text, message):
    with pytest.raises(ValueError, match=message):
        parse_suite(f"{SUITE}\n[[claims]]\n{text}", "small")


# -- curves ----------------------------------------------------------------------------------


def collected(text, outcome, keep=lambda task: True):
    suite = parse_suite(text, "small")
    tasks = [task for task in plan(suite)[0] if keep(task)]
    with Store(":memory:") as store:
        for task in tasks:
            store.add(task, outcome(task), 0.0, 1.0)
        return suite, collect_results(tasks, store.records())


def by_size(task):
    accuracy = 0.5 + task.condition.train_size / 1000 + 0.01 * task.index
    return Outcome(status="done", metrics={"accuracy": accuracy})


SIZES = SUITE.replace("train_size = 60", "train_size = [20, 60]") + (
    '\n[[curves]]\ntitle = "Sizes"\nx = "train_size"\n'
    '\n[[paper]]\ndataset = "synthetic"\nat = { train_size = 60 }\n'
    "[paper.results]\nMwMvC2 = { accuracy = [0.7, 0.01] }\n"
)


def test_curve_of_a_condition():
    suite, results = collected(SIZES, by_size)
    (panel,) = collect_panels(suite, results, suite.curves[0])
    points = panel.ours["MwMvC2"]
    assert [point.x for point in points] == [20, 60]
    np.testing.assert_allclose([point.mean for point in points], [0.555, 0.595])
    assert points[0].deviation == pytest.approx(np.std(0.01 * np.arange(8), ddof=1))
    assert [(point.x, point.mean) for point in panel.paper["MwMvC2"]] == [(60, 0.7)]
    display = CurveDisplay.from_results(suite, results, suite.curves[0])
    assert len(display.axes_[0].lines) == 3
    assert "<svg" in display._repr_html_()
    assert display.axes_[0].get_title() == "synthetic"


def test_curve_of_rounds_from_stored_stages():
    def outcome(task):
        staged = {str(r): 0.1 * r + 0.01 * task.index for r in range(1, 4 + task.index % 2)}
        return Outcome(status="done", metrics={"accuracy": 0.5}, diagnostics={"staged": staged})

    suite, results = collected(SUITE, outcome, lambda task: task.method == "MwMvC2")
    (panel,) = collect_panels(suite, results, Curve(title="Rounds", x="rounds"))
    points = panel.ours["MwMvC2"]
    assert [point.x for point in points] == [1, 2, 3, 4]
    assert points[0].mean == pytest.approx(0.1 + 0.01 * 3.5)
    # runs that ended after three rounds stay where they were
    assert points[3].mean == pytest.approx(0.35 + 0.01 * 3.5)


def test_curve_of_rounds_has_the_methods_and_labels_that_are_asked_for():
    def outcome(task):
        return Outcome(status="done", metrics={"accuracy": 0.5}, diagnostics={"staged": {"1": 0.1}})

    before, _ = collected(SUITE, outcome)
    renamed = SUITE.replace('recipe = "MwMvC2"', 'recipe = "MwMvC2"\nlabel = "renamed"')
    suite = parse_suite(renamed, "small")
    with Store(":memory:") as store:
        for task in plan(before)[0]:
            store.add(task, outcome(task), 0.0, 1.0)
        results = collect_results(plan(suite)[0], store.records())
    (panel,) = collect_panels(suite, results, Curve(title="Rounds", x="rounds"))
    assert list(panel.ours) == ["Early fusion", "Late fusion", "renamed"]
    (panel,) = collect_panels(suite, results, Curve(title="R", x="rounds", methods=["renamed"]))
    assert list(panel.ours) == ["renamed"]
    assert "renamed" in raw_csv(results)
    assert "MwMvC2" not in raw_csv(results)
    with pytest.raises(ValueError, match="against rounds must have the metric 'accuracy'"):
        Curve(title="Rounds", x="rounds", metric="f1")


def test_curve_of_a_condition_leaves_out_all_rows_and_needs_one_point_for_each_value():
    suite, results = collected(
        SUITE.replace("train_size = 60", "train_size = 60\nmore = [{}, { missing = 0.1 }]"),
        lambda task: Outcome(status="done", metrics={"accuracy": 0.5}),
    )
    (panel,) = collect_panels(suite, results, Curve(title="Sizes", x="train_size"))
    assert [point.x for point in panel.ours["MwMvC2"]] == [60]
    text = SUITE.replace("train_size = 60", "train_size = [20, 60]\nmissing = [0.0, 0.1]")
    curve = '\n[[curves]]\ntitle = "M"\nx = "missing"\nfixed = ["train_size"]'
    with pytest.raises(ValueError, match="several points at missing = 0:"):
        parse_suite(text + curve, "small")


def test_curves_over_methods_are_of_the_only_condition():
    text = SUITE.replace('recipe = "MwMvC2"', 'recipe = "MwMvC2"\nlabel = "M, L = 10"')
    suite, results = collected(text, lambda task: Outcome(status="done", metrics={"accuracy": 0.5}))
    curve = Curve(title="L", x="method", pattern="(?P<name>.+), L = (?P<x>[0-9]+)")
    (panel,) = collect_panels(suite, results, curve)
    assert [point.x for point in panel.ours["M"]] == [10]


def test_curve_over_data_sets_is_of_the_unaltered_data():
    text = SUITE.replace('name = "synthetic"', 'name = "synthetic"\nlabel = "eta = 0.5"')
    text = text.replace("train_size = 60", "label_noise = [0.3, 0.0]")
    suite, results = collected(
        text,
        lambda task: Outcome(status="done", metrics={"accuracy": task.condition.label_noise}),
    )
    curve = Curve(title="eta", x="dataset", pattern="eta = (?P<x>.+)")
    (panel,) = collect_panels(suite, results, curve)
    assert [point.mean for point in panel.ours["MwMvC2"]] == [0.0]


def test_many_curves_differ_in_colour_or_marker():
    assert len({tuple(_style(i).values()) for i in range(100)}) == 100


def test_curve_over_methods_and_data_sets():
    text = SUITE.replace('recipe = "MwMvC2"', 'recipe = "MwMvC2"\nlabel = "M, L = 10"')
    text = text.replace('name = "synthetic"', 'name = "synthetic"\nlabel = "eta = 0.5"')
    text = text.replace("train_size = 60", "")
    outcome = Outcome(status="done", metrics={"accuracy": 0.5})
    suite, results = collected(text, lambda task: outcome)
    pattern = "(?P<name>.+), L = (?P<x>[0-9]+)"
    (panel,) = collect_panels(suite, results, Curve(title="L", x="method", pattern=pattern))
    assert [point.x for point in panel.ours["M"]] == [10]
    assert set(panel.levels) == {"Early fusion", "Late fusion"}
    curve = Curve(title="eta", x="dataset", pattern="eta = (?P<x>.+)")
    (panel,) = collect_panels(suite, results, curve)
    assert [point.x for point in panel.ours["Late fusion"]] == [0.5]
    with pytest.raises(ValueError, match="must have the groups"):
        Curve(title="eta", x="dataset", pattern="eta")


# -- the record of a run ---------------------------------------------------------------------


def test_page_says_how_it_was_made_and_how_much_of_the_suite_it_is():
    suite, tasks, results, environments = study()
    page = read_page(study_page(suite, results, environments))
    assert (page.coverage, page.sha256) == ("in full", hashlib.sha256(_text()).hexdigest())
    assert page.version == environments[0]["consilience"]
    part = [task for task in tasks if task.index < 2]
    few = collect_results(part, _records(results, part), tasks)
    page = read_page(study_page(suite, few, environments, options=" --splits 2"))
    assert page.coverage == "in part (6 of 24 fits)"
    assert page.command == "consilience bench small --splits 2 --results docs/results"
    assert read_page("# no page of a suite") is None
    key = CellKey("synthetic", results.conditions[0], "MwMvC2")
    assert few.seconds(key) == 2.0


def test_page_in_full_says_how_many_fits_failed():
    suite, _, results, environments = study(fail=["MwMvC2"])
    page = read_page(study_page(suite, results, environments))
    assert page.coverage == "in full (1 of 24 fits failed)"


def test_page_in_part_says_of_how_many_fits():
    claim = '\n[[claims]]\ntext = "a"\nmethod = "MwMvC2"'
    suite, _, results, environments = study(SUITE + claim, leave=2)
    assert "Only 22 of 24 fits have been made" in study_page(suite, results, environments)


def test_page_in_full_names_the_data_sets_that_were_left_out():
    other = '\n[[datasets]]\nname = "flower17"\nlabel = "Flowers (17), b"\noptional = true\n'
    suite, _, results, environments = study()
    suite = parse_suite(SUITE + other, "small")
    page = read_page(study_page(suite, results, environments))
    assert page.coverage == "all data sets but Flowers (17), b"


def test_page_has_the_days_of_the_fits_and_not_of_the_start_of_the_run():
    suite, _, results, environments = study()
    text = study_page(suite, results, environments)  # all fits began at time 0
    assert "Run on 1970-01-01 with" in text
    assert read_page(text).date == "1970-01-01"


def test_records_of_pages_are_valid_toml(tmp_path):
    suite, _, results, environments = study()
    text = study_page(suite, results, environments, options=""" --only 'method="a\\b"'""")
    (tmp_path / "smoke.md").write_text(text, encoding="utf-8")
    command = tomllib.loads(format_records(tmp_path))["smoke"]["command"]
    assert command == read_page(text).command
    assert """'method="a\\b"'""" in command


def _text():
    from benchmark.test_publish import PAPER

    return (SUITE + PAPER).encode()


def _records(results, tasks) -> list[Record]:
    hashes = {task_hash(task) for task in tasks}
    return [record for record in results.records if record.task_hash in hashes]
