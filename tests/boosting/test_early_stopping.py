"""Rounds that are scored, and those that are kept."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from consilience.boosting import (
    IBoostClassifier,
    MuMBoClassifier,
    MVWABClassifier,
    RShareBoostClassifier,
    ShareBoostClassifier,
)

rng = np.random.RandomState(0)
Y = rng.randint(2, size=200)
NOISE = rng.randn(200, 4)


@pytest.mark.parametrize(
    "kind", [MuMBoClassifier, ShareBoostClassifier, IBoostClassifier, MVWABClassifier]
)
def test_a_round_without_errors_is_kept(kind):
    X = NOISE.copy()
    X[:, 0] = Y + 0.1 * rng.rand(200)
    model = kind(views=[2, 2], n_iter_no_change=5, random_state=0).fit(X, Y)
    assert model.score(X, Y) == 1


def test_learners_that_know_their_rows_by_heart():
    X = NOISE.copy()
    X[:, 0] += 2 * Y
    model = ShareBoostClassifier(
        DecisionTreeClassifier(random_state=0), views=[2, 2], n_iter_no_change=5, random_state=0
    )
    assert model.fit(X, Y).score(X, Y) > 0.8


@pytest.mark.parametrize("kind", [ShareBoostClassifier, RShareBoostClassifier])
def test_bounds_of_an_earlier_fit_are_gone(kind):
    model = kind(views=[2, 2], n_estimators=3, random_state=0).fit(NOISE, Y)
    assert len(model.training_bound_) == len(model.estimators_)
    assert not hasattr(model.fit(NOISE, np.arange(200) % 3), "training_bound_")
