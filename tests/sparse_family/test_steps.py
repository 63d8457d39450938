"""Shares of views and weights of stacked views, one step at a time."""

import numpy as np

from consilience.sparse._penalised import spread_shares
from consilience.sparse._stacked import StackedPenalisedClassifier


def test_shares_are_standard_deviations():
    parts = np.zeros((2, 2, 1))
    parts[:, 0, 0], parts[:, 1, 0] = [-3.0, 3.0], [4.0, 6.0]
    np.testing.assert_allclose(spread_shares(parts, np.ones(2)), [0.75, 0.25])
    np.testing.assert_allclose(spread_shares(np.ones((2, 2, 1)), np.ones(2)), [0.5, 0.5])


def test_without_folds_the_weights_of_views_have_the_largest_penalty():
    model = StackedPenalisedClassifier()
    codes = np.arange(20) % 2
    left_out = np.random.RandomState(0).randn(20, 2, 2) + np.eye(2)[codes][:, None]
    assert model._fit_weights(left_out, codes, np.ones(20), [])
    np.testing.assert_allclose(model.final_coef_, 0, atol=1e-6)
