"""Numbers and commands of the page."""

import numpy as np
import pytest

from comparison.in_process import Store, problem_of, study
from consilience.benchmark.predictions import Predictions
from consilience.benchmark.statistics import corrected_interval
from consilience.comparison.report import build_page
from consilience.comparison.report.summaries import MIN_BIN_SAMPLES, calibration


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
