"""Which solver learns the machines, and which values are too large for squared distances."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from consilience.landmark import _learn
from consilience.landmark._landmarks import FeatureLandmarks


@pytest.mark.parametrize(
    ("solver", "max_flops", "chosen"),
    [
        ("interior-point", 0, "minimise_hinge"),
        ("auto", 8, "minimise_hinge"),  # 4 entries by 2 columns
        ("auto", 7, "minimise_by_liblinear"),
        ("liblinear", 8, "minimise_by_liblinear"),
    ],
)
def test_solver_of_the_hinge_loss(monkeypatch, solver, max_flops, chosen):
    calls = []
    solution = SimpleNamespace(theta=np.zeros(3), n_iter=4, converged=True)
    monkeypatch.setattr(
        _learn, "minimise_hinge", lambda *_, **__: calls.append("minimise_hinge") or solution
    )
    monkeypatch.setattr(
        _learn,
        "minimise_by_liblinear",
        lambda *_, **__: calls.append("minimise_by_liblinear") or (np.zeros(3), 4),
    )
    monkeypatch.setattr(_learn, "INTERIOR_POINT_MAX_FLOPS", max_flops)
    progress = SimpleNamespace(map=lambda function, items, _: [function(item) for item in items])
    theta, n_iter, converged = _learn.learn(
        np.eye(2), np.array([[1.0, -1.0], [-1.0, 1.0]]), np.ones(2),
        loss="hinge", intercept=True, solver=solver, tol=1e-4, max_iter=10,
        rng=np.random.RandomState(0), progress=progress, n_jobs=None,
    )  # fmt: skip
    assert calls == [chosen] * 2
    assert (theta.shape, n_iter, converged) == ((3, 2), 4, True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("container", [np.array, sp.csr_array])
@pytest.mark.parametrize("sign", [1, -1])
def test_largest_values(dtype, container, sign):
    largest = np.sqrt(np.finfo(dtype).max / 3) / 4
    X = np.zeros((4, 3), dtype=dtype)
    X[2, 1] = sign * 0.99 * largest
    view = SimpleNamespace(X=container(X), name="a", rows=np.array([0, 1, 7, 8]))
    FeatureLandmarks._check_magnitude(view)
    X[2, 1] = sign * 1.01 * largest
    view.X = container(X)
    with pytest.raises(ValueError, match=r"view 'a' has values too large .* in row 7"):
        FeatureLandmarks._check_magnitude(view)
