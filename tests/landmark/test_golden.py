"""Reference numbers of MVL-SVM: similarities, both losses, intercepts free or punished, blocks."""

from pathlib import Path

import numpy as np
import pytest

from consilience._solvers.hinge import minimise_hinge
from consilience._solvers.row_sums import InMemoryRows
from consilience._solvers.squared_hinge import minimise_squared_hinge
from consilience.landmark import LandmarkProjector, MVLSVMClassifier
from consilience.landmark._imputation import least_squares

GOLDEN = Path(__file__).parents[1] / "golden" / "mvlsvm.npz"
CLOSE = {"rtol": 0, "atol": 1e-6}
SLICES = [slice(0, 8), slice(8, 16), slice(16, 24)]


@pytest.fixture(scope="module")
def g():
    return dict(np.load(GOLDEN))


def views(g, part):
    return [g[f"X{v}_{part}"] for v in range(3)]


def landmarks(g):
    return [X[g["landmark_idx"]] for X in views(g, "train")]


def test_similarities(g):
    projector = LandmarkProjector(landmarks=landmarks(g), gamma="auto").fit(views(g, "train"))
    np.testing.assert_allclose(projector.transform(views(g, "train")), g["M"], atol=1e-12)
    np.testing.assert_allclose(projector.transform(views(g, "test")), g["M_test"], atol=1e-12)
    np.testing.assert_allclose(projector.transform(landmarks(g)), g["P"], atol=1e-12)


@pytest.mark.parametrize(
    ("loss", "solver"),
    [
        ("squared_hinge", "auto"),
        ("squared_hinge", "newton"),
        ("squared_hinge", "newton-cg"),
        ("hinge", "auto"),
        ("hinge", "interior-point"),
    ],
)
def test_free_intercept(g, loss, solver):
    model = MVLSVMClassifier(
        landmarks=landmarks(g), gamma="auto", C=float(g["c"]), loss=loss, solver=solver
    )
    model.fit(views(g, "train"), g["y_train"])
    np.testing.assert_allclose(model.coef_, g[f"{loss}_regb0_coef"], **CLOSE)
    np.testing.assert_allclose(model.intercept_, g[f"{loss}_regb0_intercept"], **CLOSE)
    decisions = model.decision_function(views(g, "test"))
    np.testing.assert_allclose(decisions, g[f"{loss}_regb0_dec_test"], **CLOSE)
    np.testing.assert_array_equal(model.predict(views(g, "test")), g[f"{loss}_regb0_pred_test"])


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_punished_intercept(g, loss):
    # a column of ones without intercept
    X, n = np.c_[g["M"], np.ones(60)], 60
    signs = np.where(g["y_train"][:, None] == np.arange(3), 1.0, -1.0)
    cost = np.full(n, float(g["c"]) / n)
    if loss == "squared_hinge":
        rows = InMemoryRows(X, signs, cost, intercept=False)
        theta = minimise_squared_hinge(rows).theta
        power = 2
    else:
        result = [minimise_hinge(X, y, cost, intercept=False) for y in signs.T]
        theta = np.stack([solution.theta for solution in result], axis=1)
        power = 1
    np.testing.assert_allclose(theta[:-2].T, g[f"{loss}_regb1_coef"], **CLOSE)
    np.testing.assert_allclose(theta[-2], g[f"{loss}_regb1_intercept"], **CLOSE)
    assert (theta[-1] == 0).all()
    slacks = (1 - signs * (X @ theta[:-1])).clip(0)
    objectives = (theta**2).sum(axis=0) / 2 + cost @ slacks**power
    np.testing.assert_allclose(objectives, g[f"{loss}_regb1_obj"], **CLOSE)


@pytest.mark.parametrize(("ridge", "name"), [(0.0, "pinv"), (1e-3, "ridge1e_3")])
def test_imputed_blocks(g, ridge, name):
    for part, mask in (("", "mask_train"), ("_test", "mask_test")):
        M = g[f"M{part}"]
        ours = least_squares(M, ~g[mask], SLICES, g["P"], ridge=ridge)
        np.testing.assert_allclose(ours, g[f"imputed{part}_fill_{name}"], atol=1e-10)
        known = np.repeat(~g[mask], 8, axis=1)
        np.testing.assert_array_equal(ours[known], M[known])


def test_learning_from_imputed_blocks(g):
    y = np.where(g["y_train"] == 0, 1.0, -1.0)
    theta = minimise_hinge(g["imputed_fill_ridge1e_3"], y, np.full(60, float(g["c"]) / 60)).theta
    decisions = g["imputed_test_fill_ridge1e_3"] @ theta[:-1] + theta[-1]
    np.testing.assert_allclose(decisions, g["missing_hinge_class0_dec_test"], **CLOSE)
