"""MωMvC² from blocks of rows is that of all rows in memory."""

from types import SimpleNamespace

import numpy as np
import pytest

from consilience.datasets import make_multiview_classification
from consilience.distributed import BlockSequence
from consilience.vote import MwMvC2Classifier
from reference.blocks import make


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"voters": "trees", "view_weights": "loss", "class_weight": "balanced"},
        {"view_weights": "paper", "min_weight_fraction_leaf": 0.02},
    ],
)
def test_blocks_give_the_model_of_all_rows(params):
    data, y, weight = make(90)
    model = MwMvC2Classifier(**params, random_state=0).fit(data, y, weight)
    blocks = BlockSequence.cut(data, y, weight, rows=40)
    other = MwMvC2Classifier(**params, random_state=0).fit(blocks)
    np.testing.assert_array_equal(other.predict_proba(data), model.predict_proba(data))
    np.testing.assert_array_equal(other.rho_, model.rho_)
    for one, two in zip(other.training_bound_, model.training_bound_, strict=True):
        np.testing.assert_array_equal(one, two)


def test_every_problem_is_a_task_for_callbacks():
    pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks since 1.9")
    begun = []
    callback = SimpleNamespace(
        setup=lambda estimator, context: None,
        teardown=lambda estimator, context: None,
        on_fit_task_begin=lambda estimator, context: begun.append(context.task_name),
        on_fit_task_end=lambda estimator, context: None,
    )
    data, y = make_multiview_classification(80, n_views=2, n_classes=4, random_state=0)
    model = MwMvC2Classifier(n_iter=2, random_state=0).set_callbacks(callback)
    model.fit(BlockSequence.cut(data, y, rows=40))
    assert len(begun) == 6  # the fit, its voters, and a problem for each class
