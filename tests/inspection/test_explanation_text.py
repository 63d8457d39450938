"""Explanations of samples as text, and scored columns of rows with a weight."""

import numpy as np

from consilience import MultiViewData
from consilience.inspection import SampleExplanation
from consilience.inspection._association import score_columns
from consilience.inspection._feature_data import FeatureData


def test_missing_views_of_an_explanation():
    held = {"is_present": True, "contribution": 0.25, "score_without": 0.5}
    views = [
        {"view": "rna", **held, "prediction_without": "v"},
        {"view": "image", "is_present": False},
    ]
    text = str(SampleExplanation("u", "u", 0.75, 0.5, views, [], True, True))
    rows = [line.split() for line in text.splitlines()]
    assert ["rna", "+0.250", "0.500", "v"] in rows
    assert ["image", "missing"] in rows


def test_folds_number_the_rows_that_have_a_weight():
    data = MultiViewData({"a": np.arange(6.0)[:, None]})
    codes, weight = np.arange(6) % 2, np.array([0.0, 1, 1, 1, 0, 1])
    read = FeatureData(data, codes, np.arange(2), codes, weight)
    scored = score_columns(read, None, [np.array([0, 1, 2]), np.array([3, 4, 5])])
    assert [fold.tolist() for fold in scored.folds] == [[0, 1], [2, 3]]
