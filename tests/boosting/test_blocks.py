"""Boosting on blocks of rows is boosting on all rows."""

import numpy as np
import pytest

from consilience import MultiViewData
from consilience.boosting import (
    IBoostClassifier,
    MuMBoClassifier,
    MVWABClassifier,
    RShareBoostClassifier,
    ShareBoostClassifier,
)
from consilience.boosting._mumbo import CostMatrix
from consilience.distributed import BlockSequence

rng = np.random.default_rng(0)
y = np.arange(60) % 3
PRESENT = rng.random((60, 2)) < 0.8
PRESENT[~PRESENT.any(axis=1)] = True
X = MultiViewData(
    {"a": rng.normal(size=(60, 3)) + y[:, None], "b": rng.normal(size=(60, 2)) - y[:, None]},
    present=PRESENT,
)
WEIGHT = rng.random(60) * 3


@pytest.mark.parametrize(
    "kind",
    [
        IBoostClassifier,
        MuMBoClassifier,
        MVWABClassifier,
        RShareBoostClassifier,
        ShareBoostClassifier,
    ],
)
def test_blocks_give_the_model_of_all_rows(kind):
    model = kind(n_estimators=3, random_state=0).fit(X, y, sample_weight=WEIGHT)
    parts = [slice(0, 17), slice(17, 40), slice(40, 60)]
    blocks = BlockSequence([(X[part], y[part], WEIGHT[part]) for part in parts])
    other = kind(n_estimators=3, random_state=0).fit(blocks)
    np.testing.assert_array_equal(other.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize(
    "params", [{"resample": True}, {"warm_start": True}, {"n_iter_no_change": 2}]
)
def test_settings_that_need_all_rows(params):
    model = IBoostClassifier(**params)
    with pytest.raises(ValueError, match="data in blocks need resample=False"):
        model.fit(BlockSequence([(X, y)]))


def test_large_costs_are_rescaled_row_by_row(monkeypatch):
    costs, plain = (CostMatrix(np.array([0, 1, 2]), 3, np.array([1.0, 2, 3])) for _ in range(2))
    predictions, mask = np.array([1, 1, 0]), np.array([True, True, True])
    for matrix, limit in ((plain, np.inf), (costs, 7.0)):
        monkeypatch.setattr("consilience.boosting._mumbo.RESCALE_ABOVE", limit)
        for alpha in (1.0, 1.0):
            matrix.update(predictions, alpha, mask)
    np.testing.assert_allclose(costs.dense(), plain.dense())
    np.testing.assert_allclose(costs.dense().sum(axis=1), 0, atol=1e-12)
    assert costs.total[[0, 2]].tolist() == [1, 1]
    assert costs.total[1] == 2
    np.testing.assert_allclose(plain.base[0], [0, np.exp(2), 1])
    np.testing.assert_allclose(costs.row_weights(), plain.row_weights())
    np.testing.assert_allclose(costs.row_weights()[1], 2 * 2 * np.exp(-2))
