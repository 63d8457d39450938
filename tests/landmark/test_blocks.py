"""MVL-SVM from blocks of rows against all rows in memory."""

import numpy as np
import pytest

from consilience._solvers import squared_hinge
from consilience.distributed import BlockSequence
from consilience.landmark import MVLSVMClassifier
from reference.blocks import make, mvlsvm


@pytest.mark.parametrize("params", [{}, {"fit_intercept": False}, {"class_weight": "balanced"}])
def test_blocks_agree_with_memory(monkeypatch, params):
    monkeypatch.setattr(squared_hinge, "MIN_SAMPLE_ROWS", 30)  # smaller than the data
    monkeypatch.setattr(squared_hinge, "SAMPLE_ROWS_PER_COLUMN", 1)
    data, y, weight = make(180)
    model = mvlsvm(tol=1e-9, **params)
    expected = model.fit(data, y, weight).decision_function(data)
    result = model.fit(BlockSequence.cut(data, y, weight, rows=70)).decision_function(data)
    np.testing.assert_allclose(result, expected, atol=1e-5)


@pytest.mark.parametrize("imputation", ["em", "ridge", "least_squares"])
def test_landmarks_and_imputation_of_a_sample_that_holds_all_rows(imputation):
    data, y, weight = make(150)
    model = MVLSVMClassifier(8, imputation=imputation, random_state=0)
    expected = model.fit(data, y, weight).decision_function(data)
    result = model.fit(BlockSequence.cut(data, y, weight, rows=40)).decision_function(data)
    np.testing.assert_allclose(result, expected, atol=1e-6)
