"""Simulations: do the intervals cover, and does the verdict claim no more than it should?

The full counts (``CONSILIENCE_TEST_ALL=1``) are those of the requirements; the small ones find
gross errors only.
"""

from types import SimpleNamespace

import numpy as np
import pytest

from comparison.simulation import FAST, Store, problem_with, simulate
from conftest import FULL
from consilience.comparison.inputs import _from_problem
from consilience.comparison.ranking import RankingRow, ranking, score_interval
from consilience.comparison.record import Options, Run
from consilience.comparison.report.verdict import _chance_sentence, verdict


def run_of(n, cv=5, repeats=2):
    problem = problem_with(0.0, n, np.random.default_rng(0))
    data = _from_problem("data", problem).summary
    return Run(
        version="0", command=[], options=Options([], cv, repeats, "accuracy", 0, False), data=data
    )


def split_scores(correct, run, rng):
    """Accuracies of the folds of all repeats, if a model is correct for these samples."""
    return np.concatenate(
        [
            [fold.mean() for fold in np.array_split(rng.permutation(correct), run.options.cv)]
            for _ in range(run.options.repeats)
        ]
    )


@pytest.mark.one_in(2)
@pytest.mark.parametrize("n", [60, 100])
@pytest.mark.parametrize("cv", [5, 10])
@pytest.mark.parametrize("accuracy", [0.5, 0.9, None])
def test_coverage_of_split_scores(n, cv, accuracy):
    is_extreme = accuracy is None
    accuracy = 1 - 1 / n if is_extreme else accuracy
    run, rng = run_of(n, cv), np.random.default_rng([n, cv])
    n_draws = 2000 if FULL else 300
    n_covered = 0
    for _ in range(n_draws):
        low, high = score_interval(run, split_scores(rng.random(n) < accuracy, run, rng), 0.5)
        assert 0 <= low < high <= 1
        n_covered += low <= accuracy <= high
    tolerance = 0.005 if FULL else 0.02  # three standard errors
    assert n_covered / n_draws >= 0.92 - tolerance
    if not is_extreme:
        assert n_covered / n_draws <= 0.98 + tolerance


@pytest.mark.parametrize("separation", [0.0, 2.7], ids=["accuracy 0.5", "accuracy 0.9"])
def test_coverage_of_real_studies(separation):
    rng = np.random.default_rng(0)
    n_studies = 200 if FULL else 4
    scores, intervals = {name: [] for name in FAST}, {name: [] for name in FAST}
    for _ in range(n_studies):
        with Store(":memory:") as store:
            run, results = simulate(problem_with(separation, 80, rng), store, repeats=2)
            for row in ranking(run, results):
                if not row.is_chance:
                    scores[row.method].append(row.score)
                    intervals[row.method].append((row.low, row.high))
    covered = []
    for name in FAST:
        truth = 0.5 if separation == 0 else np.mean(scores[name])
        low, high = np.array(intervals[name]).T
        covered += list((low <= truth) & (truth <= high))
    assert np.mean(covered) >= (0.92 if FULL else 0.75)
    if FULL:
        assert np.mean(covered) <= 0.98


def test_no_advantage_is_claimed_without_signal():
    rng = np.random.default_rng(1)
    n_studies, n_claims = 200 if FULL else 6, 0
    for number in range(n_studies):
        share = (0.5, 0.3)[number % 2]
        with Store(":memory:") as store:
            problem = problem_with(0.0, 60, rng, share=share)
            n_claims += "No method" not in verdict(*simulate(problem, store), store)[0]
    assert n_claims <= 0.08 * n_studies


@pytest.mark.one_in(4)
@pytest.mark.parametrize("metric", ["f1", "f1_macro", "mcc", "balanced_accuracy"])
def test_guessing_does_not_beat_chance_in_other_metrics(metric):
    # the most frequent class has an F1 of 0, which any guess surpasses
    rng = np.random.default_rng(2)
    n_studies, n_claims = 50 if FULL else 5, 0
    for _ in range(n_studies):
        with Store(":memory:") as store:
            run, results = simulate(problem_with(0.0, 60, rng), store, metric=metric)
            n_claims += any(row.beats_chance for row in ranking(run, results))
    assert n_claims <= max(1, 0.1 * n_studies)


def test_signal_is_found():
    with Store(":memory:") as store:
        problem = problem_with(2.7, 60, np.random.default_rng(0))
        run, results = simulate(problem, store)
        sentence = verdict(run, results, store)[0]
    assert sentence == "All 3 methods are significantly better than chance (accuracy 0.5000)."


@pytest.mark.parametrize(
    ("p_values", "begins"),
    [
        ([0.9], "No method is"),
        ([0.001], "m0 is"),
        ([0.001, 0.002], "Both methods are"),
        ([0.001, 0.9], "1 of 2 methods is"),
        ([0.001, 0.002, 0.9], "2 of 3 methods are"),
    ],
)
def test_how_many_methods_beat_chance(p_values, begins):
    rows = [
        RankingRow(f"m{i}", "", "", 0.8, 0.7, 0.9, 1, 1, np.ones(5), p_chance=p)
        for i, p in enumerate(p_values)
    ]
    chance = RankingRow("Chance", "", "", 0.5, 0.5, 0.5, 1, 1, np.ones(5))
    run = SimpleNamespace(options=SimpleNamespace(metric="accuracy"), metric_title="accuracy")
    sentence = _chance_sentence(run, rows, chance)
    assert sentence == f"{begins} significantly better than chance (accuracy 0.5000)."
