"""Numbers of the ranking: test rows that count, weights, and differences of few splits."""

import numpy as np
import pytest
from msgspec.structs import replace
from scipy import stats

from comparison.test_study import planned
from consilience.benchmark.metrics import find_metric
from consilience.benchmark.problems import Problem
from consilience.comparison._row_weights import sum_weights
from consilience.comparison._splits import read_cv
from consilience.comparison.inputs import read_views
from consilience.comparison.ranking import (
    RankingRow,
    _add_p_values,
    _score_of_shares,
    effective_rows,
    min_difference_error,
    score_interval,
)
from consilience.comparison.record import Options, Run, read_run
from consilience.comparison.study import curve_sizes, n_follow_up_folds
from consilience.views import MultiViewData


def row(method, scores):
    scores = np.array(scores)
    return RankingRow(method, "", "", float(scores.mean()), 0.0, 1.0, 0.0, 0.0, scores)


@pytest.mark.parametrize(("n", "is_significant"), [(20, False), (100_000, True)])
def test_equal_differences_of_two_splits_are_no_proof(n, is_significant):
    run = planned([n // 2, n // 2], cv=2)
    _, other = _add_p_values(run, [row("a", [0.9, 0.9]), row("b", [0.8, 0.8])])
    # the methods disagree on at least a tenth of the rows
    assert other.p_value == pytest.approx(2 * stats.t.sf(np.sqrt(0.1 * n), 1))
    assert (other.p_value < 0.05) == is_significant


def test_least_error_of_a_difference():
    def error(metric, difference=0.2, counts=(60, 40)):
        return min_difference_error(planned(counts, metric=metric), difference, 10)

    assert error("accuracy") == error("accuracy", -0.2) == pytest.approx(np.sqrt(0.2 / 100))
    assert error("balanced_accuracy") == pytest.approx(np.sqrt(0.2 / 80))
    assert error("mcc") == pytest.approx(2 * np.sqrt(0.1 / 100))
    assert error("roc_auc") == pytest.approx(np.sqrt(0.2 / (3 * 60 * 40 / 101)))
    assert error("accuracy", 0.0) == 0
    assert error("log_loss") == error("brier") == 0


# -- rows that are tested --------------------------------------------------------------------


def read(cv, n=1000, groups=None, weight=None, y=None):
    y = np.arange(n) % 2 if y is None else y
    data = read_views({"v": np.random.default_rng(0).normal(size=(n, 2))}, y, groups, weight)
    data, options = read_cv(data, cv, Options(["Concat"], 0, 1, "accuracy", 0, False))
    return Run(version="0", command=[], options=options, data=data.summary)


def test_given_splits_count_the_rows_that_they_use():
    rows = np.random.default_rng(0).permutation(1000)
    run = read([(rows[:40], rows[40:60])])
    assert run.options.test_share == pytest.approx(1 / 3)  # for Nadeau and Bengio
    assert (run.train_rows, run.test_rows, run.data.tested.rows) == (40, 20, 20)
    assert effective_rows(run, find_metric("accuracy"), 1) == 20
    wilson = stats.binomtest(8, 20).proportion_ci(0.95, method="wilson")
    assert score_interval(run, np.array([0.4]), 0.5) == pytest.approx((wilson.low, wilson.high))
    assert curve_sizes(run) == [5, 10, 20]
    twice = read([(rows[:40], rows[40:60]), (rows[100:160], rows[50:80])])
    assert (twice.train_rows, twice.test_rows, twice.data.tested.rows) == (50, 25, 40)
    assert effective_rows(twice, find_metric("accuracy"), 2) == 40
    assert effective_rows(twice, find_metric("accuracy"), 1) == 25  # of a partial run
    assert read(5).data.tested_rows.rows == 1000


def test_classes_and_groups_of_the_rows_that_are_tested_count():
    y, groups = np.repeat([0, 1], 500), np.arange(1000) // 2
    train, test = np.r_[:20, 900:920], np.r_[100:130, 700:710]
    run = read([(train, test)], y=y, groups=groups)
    assert run.data.tested.groups == 20
    assert effective_rows(run, find_metric("balanced_accuracy"), 1) == pytest.approx(2 * 10 / 2)
    assert n_follow_up_folds(read([(train, test)] * 30, y=y)) == 13


def test_groups_are_not_divided_by_given_splits():
    groups = np.repeat(np.arange(250), 4)
    rows = np.arange(1000)
    splits = [(rows[:500], rows[500:]), (rows[rows % 4 != 0], rows[rows % 4 == 0])]
    with pytest.raises(ValueError, match="split 1 of cv has rows of group 0 among both"):
        read(splits, groups=groups)
    run = read(splits[:1], groups=groups)
    assert run.keeps_groups
    older = replace(run.options, given_train_rows=0.0)  # not checked then
    assert not replace(run, options=older).keeps_groups
    assert not read(splits).keeps_groups


def test_weights_count_in_chance_and_in_the_number_of_rows():
    y = np.repeat([0, 1], [80, 20])
    weight = np.where(y == 1, 4.0, 1.0)
    run = read(2, n=100, y=y, weight=weight)
    assert run.data.class_shares == [0.5, 0.5]
    assert _score_of_shares(run, "accuracy") == 0.5
    assert effective_rows(run, find_metric("accuracy"), 2) == pytest.approx(160**2 / 400)
    assert effective_rows(run, find_metric("balanced_accuracy"), 2) == 2 * 20
    plain = read(2, n=100, y=y)
    assert _score_of_shares(plain, "accuracy") == 0.8
    assert effective_rows(plain, find_metric("accuracy"), 2) == 100
    tested = read([(np.r_[:50, 90:100], np.r_[50:60, 80:90])], n=100, y=y, weight=weight)
    assert tested.data.class_shares == [0.5, 0.5]  # of all samples
    assert effective_rows(tested, find_metric("accuracy"), 1) == pytest.approx(50**2 / 170)
    with pytest.raises(ValueError, match="all rows that are tested have a weight of 0"):
        read([(np.arange(50), np.arange(50, 60))], n=100, weight=np.repeat([1.0, 0.0], 50))


def test_a_record_of_given_splits_can_be_read_again(tmp_path):
    run = read([(np.arange(40), np.arange(40, 60))], n=100, weight=np.ones(100))
    run.fingerprint = run.compute_fingerprint()
    run.write(tmp_path)
    assert read_run(tmp_path).data == run.data
    run.data.tested.squares.pop()
    run.write(tmp_path)
    with pytest.raises(ValueError, match=r"data.tested.squares must have one number for each"):
        read_run(tmp_path)


@pytest.mark.parametrize("scale", [1e-170, 1.0, 1e170])
def test_the_scale_of_weights_does_not_matter(scale):
    weight = scale * np.array([1.0, 2, 3, 4])
    problem = Problem(MultiViewData({"a": np.eye(4)}), np.array([0, 1, 0, 1]), sample_weight=weight)
    summed = sum_weights(problem)
    np.testing.assert_allclose(summed.effective_counts, [16 / 10, 36 / 20])
    summed.check(2)
