"""Shares of columns, weights and fills of members, one step at a time."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from consilience.fusion._block_learners import advance, weight_argument
from consilience.fusion._from_blocks import all_columns
from consilience.fusion._members import block_shares


@pytest.mark.parametrize(
    ("coef", "shares"), [([[3.0, 0.0, 4.0]], [3 / 7, 4 / 7]), ([[0.0, 0.0, 0.0]], [0.5, 0.5])]
)
def test_shares_of_blocks_of_columns(coef, shares):
    np.testing.assert_allclose(block_shares(SimpleNamespace(coef_=np.array(coef)), [1, 2]), shares)


def test_blocks_without_rows_of_a_view_change_nothing():
    learner = SimpleNamespace(rows=lambda block: (np.zeros((0, 2)), np.zeros(0), np.zeros(0)))
    state = learner, 0
    assert advance(None, state) is state


class WithoutWeights:
    def partial_fit(self, X, y):
        return self


def test_weights_are_given_to_those_who_can_use_them():
    ones, twos = np.ones(3), np.full(3, 2.0)
    assert weight_argument(GaussianNB(), ones, True, "view") == {}
    assert weight_argument(GaussianNB(), twos, True, "view") == {"sample_weight": twos}
    assert weight_argument(WithoutWeights(), ones, True, "view") == {}
    assert weight_argument(WithoutWeights(), twos, False, "view") == {}
    with pytest.raises(ValueError, match="WithoutWeights on view does not support sample_weight"):
        weight_argument(WithoutWeights(), twos, True, "view")


@pytest.mark.parametrize(
    ("estimator", "is_sparse", "expected"),
    [
        (DecisionTreeClassifier(), False, np.nan),
        (DecisionTreeClassifier(), True, 2.0),
        (LogisticRegression(), False, 2.0),
    ],
)
def test_missing_cells_are_left_to_those_who_support_them(estimator, is_sparse, expected):
    overview = SimpleNamespace(
        counts=np.ones((1, 2)),
        sparse=np.array([is_sparse]),
        density=0.1,
        means={"a": np.full(3, 2.0)},
    )
    columns = all_columns(estimator, overview, 0.5)
    np.testing.assert_array_equal(columns.fills["a"], [expected] * 3)
