"""One metric in the ranking, the importance of views, the table of missing views, the curves."""

import numpy as np
import pytest

from comparison.in_process import problem_of, study
from comparison.simulation import Store
from consilience import compare
from consilience.benchmark.work import TestMetric as Measure
from consilience.comparison.record import Options
from consilience.comparison.report import build_page, summaries

RNG = np.random.default_rng(0)
Y = np.repeat(["ill", "well"], [12, 28])
VIEWS = {name: RNG.normal(size=(40, 3)) + (Y == "ill")[:, None] for name in ("blood", "image")}
QUICK = {"methods": ["Concat"], "cv": 2, "repeats": 1}


def test_the_metric_is_used_everywhere():
    problem = problem_of(["a", "b"], ["x", "y"], n_each=20)
    values = {}
    for metric in ("accuracy", "brier"):
        with Store(":memory:") as store:
            settings = Options(["Concat"], 3, 1, metric, 0, False)
            run, results = study(problem, store, settings=settings)
            values[metric] = (
                summaries.importance(results, "permutation"),
                summaries.importance(results, "shapley"),
                summaries.missing_view_scores(results.main, ["Concat"])["Concat"],
            )
            page = build_page(run, results, store)
            assert f"{metric} lost when shuffled" in page
            assert f"<caption>{metric.capitalize()} on new samples that lack one view" in page
            assert f"<caption>{metric.capitalize()}, mean ± standard deviation" in page
    for by_accuracy, by_brier in zip(*values.values(), strict=True):
        assert set(by_accuracy) == set(by_brier) == {"a", "b"}
        assert by_accuracy != by_brier
    # importance is a gain also where lower is better, and the table has the metric itself
    permutation, _, missing = values["brier"]
    assert max(mean for mean, _ in permutation.values()) > 0
    assert all(0 < value < 0.5 for value in missing.values())


def test_scorers_are_larger_for_better_models():
    class Constant:
        classes_ = np.array([0, 1])

        def predict(self, X):
            return np.zeros(len(X), dtype=int)

        def predict_proba(self, X):
            return np.tile([0.9, 0.1], (len(X), 1))

    X, y = np.zeros((4, 1)), np.array([0, 0, 0, 1])
    assert Measure("brier")(Constant(), X, y) == pytest.approx(-(3 * 0.01 + 0.81) / 4)
    assert Measure("brier").value(Constant(), X, y) == pytest.approx((3 * 0.01 + 0.81) / 4)
    assert Measure("f1", "0").value(Constant(), X, y) == pytest.approx(6 / 7)
    assert np.isnan(Measure("roc_auc").value(Constant(), X[:3], y[:3]))


@pytest.mark.usefixtures("serially")
def test_the_positive_class_is_shown_and_can_be_chosen(tmp_path):
    scores = {}
    for positive in (None, "ill"):
        result = compare(VIEWS, Y, **QUICK, metric="f1", positive=positive)
        scores[positive] = dict(zip(result.ranking["method"], result.ranking["f1"], strict=True))
        page = result.report(tmp_path / "page.html").read_text()
        assert f"F1 ({positive or 'well'})" in page
        assert f"(f1 ({positive or 'well'})" in result.verdict_[0]
    assert scores[None]["Concat"] > scores["ill"]["Concat"]
    assert scores["ill"]["Chance"] == 0
    with pytest.raises(ValueError, match="positive class must be 'ill' or 'well', got 'sick'"):
        compare(VIEWS, Y, **QUICK, positive="sick")
    with pytest.raises(ValueError, match="a positive class needs two classes, but there are 4"):
        compare(VIEWS, np.arange(40) % 4, **QUICK, positive=1)


@pytest.mark.usefixtures("serially")
@pytest.mark.parametrize("metric", ["sensitivity@0.8", "average_precision", "mcc", "brier"])
def test_other_metrics_rank(metric):
    options = {**QUICK, "methods": ["Late fusion"], "metric": metric, "positive": "ill"}
    result = compare(VIEWS, Y, **options)
    rows = {row["method"]: row for row in result.ranking.to_dict("records")}
    sign = -1 if metric == "brier" else 1
    assert sign * rows["Late fusion"][metric] > sign * rows["Chance"][metric]
    assert rows["Late fusion"]["low"] < rows["Late fusion"][metric] < rows["Late fusion"]["high"]
    assert result.ranking["method"].tolist() == ["Late fusion", "Chance"]
