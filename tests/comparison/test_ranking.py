"""Numbers of the ranking: test rows that count, weights, and differences of few splits."""

import numpy as np
import pytest
from scipy import stats

from comparison.test_study import planned
from consilience.comparison.ranking import RankingRow, _add_p_values, min_difference_error


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
