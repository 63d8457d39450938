"""SMVMED from blocks of rows against all rows in memory."""

import numpy as np
import pytest

from consilience.distributed import BlockSequence
from consilience.margin import SMVMEDClassifier, _from_blocks
from reference.blocks import make


@pytest.mark.parametrize("combine", ["mean", "b"])
@pytest.mark.parametrize("alpha", [0.0, 0.9])
def test_blocks_agree_with_memory(monkeypatch, combine, alpha):
    monkeypatch.setattr(_from_blocks, "MIN_SAMPLE_ROWS", 30)  # smaller than the data
    monkeypatch.setattr(_from_blocks, "SAMPLE_ROWS_PER_COLUMN", 1)
    data, y, weight = make(180)
    model = SMVMEDClassifier(c=0.5, alpha=alpha, combine=combine, tol=1e-9)
    expected = model.fit(data, y, weight).decision_function(data)
    shares = model.view_weights_
    result = model.fit(BlockSequence.cut(data, y, weight, rows=70)).decision_function(data)
    np.testing.assert_allclose(result, expected, atol=1e-5)
    np.testing.assert_allclose(model.view_weights_, shares, atol=1e-6)
