"""Every classifier can be saved, whatever it was fitted on, and predicts the same when loaded."""

import numpy as np
import pytest
from sklearn.base import clone

from common.estimators import CLASSIFIERS
from consilience import MultiViewData
from consilience.io import load, save


def awkward_problem():
    """Three classes; copies of rows, a constant column, missing views and weights of zero."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 3
    a, b = rng.normal(size=(40, 4)) + y[:, None], rng.normal(size=(40, 3))
    a[5:10], b[5:10], a[20], b[20], a[:, 3] = 0, 0, a[21], b[21], 1
    present = np.ones((40, 2), dtype=bool)
    present[12:16, 0] = present[17, 1] = False
    weight = np.where(np.arange(40) < 2, 0.0, 1.0)
    return MultiViewData({"a": a, "b": b}, present=present), y, weight


@pytest.mark.parametrize("views", [["a", "b"], ["b"]], ids=["two views", "one view"])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_models_of_awkward_data_can_be_saved(name, views, tmp_path):
    data, y, weight = awkward_problem()
    rows = data.select(views).present.any(axis=1)
    data, y, weight = data.select(views)[rows], y[rows], weight[rows]
    model = clone(CLASSIFIERS[name]).fit(data, y, sample_weight=weight)
    save(model, tmp_path / "model.skops")
    loaded = load(tmp_path / "model.skops")
    np.testing.assert_array_equal(loaded.predict(data), model.predict(data))
