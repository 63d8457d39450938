"""Numbers and commands of the page."""

import re

import numpy as np
import pytest
from msgspec.structs import replace

from comparison.in_process import Store, problem_of, study
from consilience.benchmark.predictions import Predictions
from consilience.benchmark.problems import Problem
from consilience.benchmark.statistics import corrected_interval
from consilience.comparison.ranking import RankingRow
from consilience.comparison.record import Options
from consilience.comparison.report import build_page
from consilience.comparison.report.curves import method_curves
from consilience.comparison.report.figures import importance_figure
from consilience.comparison.report.summaries import (
    MIN_BIN_SAMPLES,
    calibration,
    confusion_matrix,
    importance,
    out_of_fold_predictions,
)
from consilience.comparison.report.text import methods_paragraph
from consilience.comparison.report.verdict import _best_view_sentences, verdict


def predictions(confidence, right):
    scores = np.column_stack([confidence, 1 - confidence])
    y_true = np.where(right, 0, 1)
    return Predictions.from_labels(
        np.arange(len(y_true)),
        y_true,
        np.zeros(len(y_true), int),
        scores,
        "probability",
        np.arange(2),
    )


@pytest.mark.parametrize("seed", range(20))
def test_calibration_bins_hold_enough(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 400))
    confidence = 0.5 + 0.5 * rng.random(n) ** rng.uniform(0.1, 4)
    right = rng.random(n) < confidence
    result = calibration([predictions(confidence[: n // 2], right[: n // 2]),
                         predictions(confidence[n // 2 :], right[n // 2 :])])  # fmt: skip
    assert result.samples.sum() == n
    assert len(result.samples) == 1 or result.samples.min() >= MIN_BIN_SAMPLES
    assert (np.diff(result.confidence) > 0).all()
    # as if counted by hand: each bin is a run of samples in the order of their confidence
    order, start, gap = np.argsort(confidence), 0, 0.0
    for size, mean, share in zip(result.samples, result.confidence, result.accuracy, strict=True):
        part = order[start : start + size]
        np.testing.assert_allclose(mean, confidence[part].mean(), rtol=1e-6)
        np.testing.assert_allclose(share, right[part].mean())
        start, gap = start + size, gap + size * abs(mean - share)
    np.testing.assert_allclose(result.error, gap / n)


def test_calibration_bins_are_tenths_of_twenty_samples():
    # 19 samples are merged with the next bin; a confidence of 1 is in the last tenth
    sizes = {0.55: 20, 0.65: 19, 0.75: 1, 0.85: 19, 0.95: 1, 1.0: 19}
    confidence = np.repeat(list(sizes), list(sizes.values()))
    right = np.arange(len(confidence)) % 2 == 0
    result = calibration([predictions(confidence, right)])
    assert result.samples.tolist() == [20, 20, 39]
    means = [0.55, (19 * 0.65 + 0.75) / 20, (19 * 0.85 + 0.95 + 19) / 39]
    np.testing.assert_allclose(result.confidence, means, rtol=1e-6)
    # without the last sample, its bin would have 19: it stays with the one before
    assert calibration([predictions(confidence[:59], right[:59])]).samples.tolist() == [20, 39]
    apart = calibration([predictions(np.repeat([0.85, 0.95], 20), np.ones(40, bool))])
    assert apart.samples.tolist() == [20, 20]
    full = calibration([predictions(np.array([0.95, 1.0]).repeat([21, 20]), np.ones(41, bool))])
    assert full.samples.tolist() == [41]
    assert full.error == pytest.approx(21 * 0.05 / 41)


def test_calibration_needs_probabilities():
    fold = predictions(np.full(30, 0.9), np.ones(30, bool))
    margins = Predictions.from_labels(
        np.arange(2), np.arange(2), np.arange(2), np.eye(2), "margin", np.arange(2)
    )
    assert calibration([]) is None
    assert calibration([fold, margins]) is None


def test_interval_is_wider_than_that_of_independent_scores():
    scores = np.random.default_rng(0).normal(0.8, 0.02, size=10)
    low, high = corrected_interval(scores, 0.2)
    naive = 2.262 * scores.std(ddof=1) / np.sqrt(10)
    np.testing.assert_allclose((high - low) / 2, naive * np.sqrt(1 + 10 * 0.25), rtol=1e-3)
    assert np.isnan(corrected_interval(scores[:1], 0.2)).all()


def test_the_command_that_predicts_has_the_names_of_the_run():
    with Store(":memory:") as store:
        problem = problem_of(["rna", "my view", "c", "d"], ["a", "b"])
        run, result = study(problem, store, methods=["Concat"], on="patient id")
        page = build_page(run, result, store)
        start = (
            "consilience predict model.skops rna=NEW_FILE &#39;my view=NEW_FILE&#39; c=NEW_FILE "
        )
        assert f"{start}... --on &#39;patient id&#39; --out predictions.csv" in page
        run.single_file, run.on = True, ""
        command = "consilience predict model.skops NEW_FILE --out predictions.csv"
        assert command in build_page(run, result, store)


def row(method, score, low, high, p_value=np.nan):
    return RankingRow(method, "", "", score, low, high, 0.0, 0.0, np.array([score]),
                      p_value=p_value, p_chance=0.01)  # fmt: skip


@pytest.mark.parametrize(
    ("score", "p_value", "part"),
    [
        (0.60, 0.01, "significantly worse: the views complement each other"),
        (0.92, 0.40, "not significantly worse: combining views gains little here"),
        (0.60, 0.20, "worse, but not significantly so on these splits; more repeats may tell"),
    ],
)
def test_verdict_on_a_single_view_says_what_the_splits_can_tell(score, p_value, part):
    methods = [row("Consilience", 0.95, 0.9, 0.99), row("Best view", score, 0.3, 0.9, p_value)]
    (sentence,) = _best_view_sentences(methods)
    assert part in sentence
    assert f"{score:.4f}" in sentence


@pytest.mark.parametrize(("views", "methods"), [(["a"], ["Best view", "Concat"]),
                                                (["a", "b"], ["Best view"])])  # fmt: skip
def test_verdict_without_combinations_of_views_does_not_compare_with_them(views, methods):
    problem = problem_of(views, ["u", "v"], n_each=20)
    with Store(":memory:") as store:
        run, results = study(problem, store, methods=methods, cv=4)
        sentences = verdict(run, results, store)
    assert "is best" in sentences[1]
    assert not any("view" in sentence for sentence in sentences[2:])


@pytest.fixture(scope="module")
def tested_twice():
    """A study with given splits, in which some samples are tested twice and some never."""
    problem = problem_of(["a", "b"], ["u", "v"], n_each=12)
    rows = np.arange(24)
    tests = [rows[::3], rows[::2], rows[:18:3]]
    splits = {
        f"{i:05}": {"train": np.setdiff1d(rows, test), "test": test} for i, test in enumerate(tests)
    }
    problem = Problem(problem.data, problem.target, splits=splits)
    settings = Options(
        ["Best view", "Concat"], 3, 1, "accuracy", 0, False, splitter="your own",
        given_test_share=0.35, given_train_rows=15.0, given_test_rows=9.0,
    )  # fmt: skip
    store = Store(":memory:")
    yield (
        *study(problem, store, settings=settings),
        store,
        problem,
        np.unique(np.concatenate(tests)),
    )
    store.close()


def test_samples_that_are_tested_several_times_count_once(tested_twice):
    run, results, store, problem, tested = tested_twice
    folds = out_of_fold_predictions(store, results.main, "Concat")
    assert sorted(np.concatenate([fold.rows for fold in folds]).tolist()) == tested.tolist()
    counts = np.unique(problem.target[tested], return_counts=True)[1]
    assert confusion_matrix(run, folds).sum(axis=1).tolist() == counts.tolist()
    first = next(r for r in results.main.records if (r.task.method, r.task.index) == ("Concat", 0))
    whole = store.predictions(first.task_hash)
    assert len(folds[0].scores) == len(folds[0].rows) == len(whole.rows)
    np.testing.assert_array_equal(folds[0].scores, whole.scores)
    assert "every sample that is tested counts once" in build_page(run, results, store)


def test_paragraph_does_not_claim_a_fit_that_failed(tested_twice):
    run, results, _, _, _ = tested_twice
    assert methods_paragraph(run, results).endswith(", and was fitted to all samples.")
    run.refit_error = "ValueError: no"
    assert "fitted to all samples" not in methods_paragraph(run, results)
    run.refit_error = ""


def test_curves_leave_out_splits_with_one_training_class(tested_twice):
    run, results, store, _, _ = tested_twice
    folds = out_of_fold_predictions(store, results.main, "Concat")
    zeros = np.zeros(2, dtype=int)
    single = Predictions(zeros, zeros, zeros, folds[0].classes[:1], np.ones((2, 1)), "probability")
    expected = method_curves(run, "Concat", folds)
    assert method_curves(run, "Concat", [*folds, single]).roc_auc == expected.roc_auc
    assert method_curves(run, "Concat", [single]) is None


def test_views_have_no_bars_of_shapley_values_that_are_not_known():
    permutation = {"a": (0.3, 0.1), "b": (0.1, 0.1)}
    assert "Shapley" in importance_figure(permutation, permutation)
    assert "Shapley" not in importance_figure(permutation, {})


def test_what_the_page_leaves_out_is_said(tested_twice, undrawn):
    run, results, store, _, _ = tested_twice
    data = run.data
    more = [replace(data.views[0], name=f"view{v}") for v in range(4)]
    assert sum(pattern.samples for pattern in data.patterns) == data.samples
    cut = replace(data, views=[*data.views, *more], patterns=[*data.patterns, data.patterns[0]])
    cut.patterns.pop(0)
    cut.patterns[-1] = replace(data.patterns[0], samples=data.patterns[0].samples - 3)
    page = build_page(replace(run, data=cut), results, store)
    assert '<td class="n">3</td><td class="dim">other combinations, not shown' in page
    assert "Of 15 pairs, only the first 1, in the order of the views, were examined" in page
    assert "may also be due to other samples" in page
    assert "(the best 5 of 6)" in page


def test_verdict_names_the_metric_that_chance_is_tested_by(tested_twice):
    run, results, store, _, _ = tested_twice
    seen = replace(run, options=replace(run.options, metric="f1"))
    assert re.search(
        r"chance \(f1 \(v\) 0\.\d{4}; tested by mcc\)", verdict(seen, results, store)[0]
    )


def test_a_single_split_has_no_deviation(undrawn):
    problem = problem_of(["a", "b"], ["u", "v"], n_each=10)
    rows = np.arange(20)
    splits = {"00000": {"train": rows[rows % 3 > 0], "test": rows[::3]}}
    settings = Options(
        ["Concat"], 1, 1, "accuracy", 0, False, splitter="your own",
        given_test_share=0.35, given_train_rows=13.0, given_test_rows=7.0,
    )  # fmt: skip
    with Store(":memory:") as store:
        run, results = study(
            Problem(problem.data, problem.target, splits=splits), store, settings=settings
        )
        assert np.isnan([spread for _, spread in importance(results, "shapley").values()]).all()
        assert " ± –</td>" in build_page(run, results, store)
    assert "<svg" in importance_figure(importance(results, "permutation"), {})
