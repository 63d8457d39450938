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


@pytest.mark.parametrize("kind", ["dense", "sparse", "very sparse", "both"])
def test_products_are_those_of_centred_columns(monkeypatch, kind):
    monkeypatch.setattr("consilience._solvers.centred_views.CHUNK_ENTRIES", 6)
    share = 1e-9 if kind != "very sparse" else 2.0
    monkeypatch.setattr("consilience._solvers.centred_views.SPARSE_PRODUCT_MAX_DENSITY", share)
    present = np.ones((9, 2), dtype=bool)
    present[:3, 1] = False
    stores = {"dense": [np.asarray] * 2, "both": [np.asarray, sp.csr_array]}
    held = [X * seen[:, None] for X, seen in zip(XS, present.T, strict=True)]
    views = CentredViews(
        [s(X) for s, X in zip(stores.get(kind, [sp.csr_array] * 2), held, strict=True)], present
    )
    centred = [
        np.where(seen[:, None], X - X[seen].mean(axis=0), 0)
        for X, seen in zip(XS, present.T, strict=True)
    ]
    weights = RNG.random((2, 2, 9)) * (present.T[:, None] & present.T)
    weights[1, 0] = weights[0, 1]
    weights[:, :, 8] = 0  # rows without weight are left out
    H = views.gram(lambda u, v: weights[u, v])
    extended = [np.column_stack([X, seen]) for X, seen in zip(centred, present.T, strict=True)]
    blocks = [[(extended[u].T * weights[u, v]) @ extended[v] for v in range(2)] for u in range(2)]
    order = [0, 1, 3, 4, 5, 2, 6]  # coefficients first, then intercepts
    expected = np.block(blocks)[np.ix_(order, order)]
    np.testing.assert_allclose(np.triu(H), np.triu(expected), atol=1e-12)
    norms = np.stack([(X**2).sum(axis=1) for X in centred], axis=1)
    np.testing.assert_allclose(views.square_norms, norms, atol=1e-12)
    np.testing.assert_allclose(views.max_row_norm, np.sqrt(norms.max(axis=0)))
    theta, R = RNG.normal(size=7), RNG.normal(size=(9, 2)) * present
    values = np.stack([centred[0] @ theta[:2] + theta[5], centred[1] @ theta[2:5] + theta[6]], 1)
    np.testing.assert_allclose(np.where(present, views.matvec(theta), 0), values * present)
    adjoint = [*(X.T @ r for X, r in zip(centred, R.T, strict=True)), R.sum(axis=0)]
    np.testing.assert_allclose(views.rmatvec(R), np.concatenate(adjoint), atol=1e-12)
    doubled = views.scaled(np.array([2.0, 3.0])).matvec(theta)
    np.testing.assert_allclose(doubled[:, 0], 2 * (values[:, 0] - theta[5]) + theta[5], atol=1e-12)
    assert views.positions([1]).tolist() == [2, 3, 4, 6]
