"""MωMvC² from blocks of rows is that of all rows in memory."""

import numpy as np
import pytest

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
