"""Coefficients of raw columns give the decisions of the centred views."""

import numpy as np
import pytest
import scipy.sparse as sp

from consilience.margin._design import Design


@pytest.mark.parametrize("complete", [True, False])
def test_parameters_of_raw_columns(complete):
    rng = np.random.default_rng(0)
    wide, narrow = 3.0 + rng.normal(size=(5, 8)), 2.0 + rng.normal(size=(5, 2))
    counts = rng.integers(0, 3, size=(5, 3)) * np.array([1.0, 0.0, 2.0])
    views = [wide, narrow, sp.csr_array(counts)]
    present = np.ones((5, 3), dtype=bool)
    if not complete:
        present[[0, 1, 2], [0, 1, 2]] = False
    for chosen in ([0, 1, 2], [1, 2]):
        Xs = [views[v] for v in chosen]
        design = Design(Xs, present[:, chosen], np.array([1.0, 2.0, 1.0, 3.0, 1.0]))
        theta = rng.normal(size=design.views.size)
        coefs, intercepts = design.parameters(theta)
        expected = np.column_stack(
            [X @ coef + b for X, coef, b in zip(Xs, coefs, intercepts, strict=True)]
        )
        is_known = present[:, chosen]
        np.testing.assert_allclose(design.views.matvec(theta)[is_known], expected[is_known])
