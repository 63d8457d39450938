"""Views as one: columns side by side, in which a missing view counts as its mean."""

import numpy as np
import pytest
import scipy.sparse as sp

from consilience._solvers.centred_views import CentredViews

RNG = np.random.default_rng(0)
XS = [RNG.normal(size=(9, 2)), RNG.normal(size=(9, 3)) + 5]


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("n_missing", [0, 4])
def test_merged_views_are_one_view(store, n_missing):
    present = np.ones((9, 2), dtype=bool)
    present[:n_missing, 1] = False
    views = CentredViews(
        [store(X * seen[:, None]) for X, seen in zip(XS, present.T, strict=True)], present
    )
    merged = views.merged()
    assert (merged.V, merged.d, merged.n) == (1, 5, 9)
    np.testing.assert_array_equal(merged.present, np.ones((9, 1)))
    theta = RNG.normal(size=6)
    centred = [X - X[seen].mean(axis=0) for X, seen in zip(XS, present.T, strict=True)]
    imputed = [np.where(seen[:, None], X, 0) for X, seen in zip(centred, present.T, strict=True)]
    expected = np.hstack(imputed) @ theta[:5] + theta[5]
    np.testing.assert_allclose(merged.matvec(theta)[:, 0], expected)
