"""Reference numbers: every method on stored inputs, to 1e-6."""

from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from consilience._solvers.kernel_rows import FullRows
from consilience._solvers.smo import solve_coupled
from consilience.margin import (
    AMVMEDClassifier,
    MVMEDClassifier,
    SMVMEDClassifier,
    SVM2KClassifier,
)
from consilience.margin._design import Design
from consilience.margin._smvmed import rounds_of_alternation, solve_joint

GOLDEN = Path(__file__).parents[1] / "golden"
CLOSE = {"rtol": 0, "atol": 1e-6}


def load(name):
    file = GOLDEN / f"{name}.npz"
    g = np.load(file)
    n_views = sum(f"X{v}" in g for v in range(5))
    train, test = ([g[f"X{v}{part}"] for v in range(n_views)] for part in ("", "_test"))
    return g, train, test, g["y"]


def assert_decisions(model, g, train, test, y):
    model.fit(train, y)
    np.testing.assert_allclose(model.view_decision_function(test).T, g["decision_test"], **CLOSE)
    if "decision_train" in g:
        ours = model.view_decision_function(train).T
        np.testing.assert_allclose(ours, g["decision_train"], **CLOSE)


@pytest.mark.parametrize("case", [0, 2, 5])
@pytest.mark.parametrize("solver", ["newton", "alternation", "smo"])
def test_smvmed(case, solver):
    g, *data = load(f"smvmed_{case}")
    limit = None if solver == "smo" else 500
    model = SMVMEDClassifier(
        float(g["c"]), alpha=float(g["alpha"]), solver=solver, tol=1e-10, max_iter=limit
    )
    assert_decisions(model, g, *data)


def test_smvmed_of_gaussian_kernels():
    g, train, test, y = load("smvmed_rbf_0")
    c, alpha, gamma = float(g["c"]), float(g["alpha"]), float(g["gamma"])
    model = SMVMEDClassifier(c, alpha=alpha, kernel="rbf", gamma=gamma, tol=1e-9)
    assert_decisions(model, g, train, test, y)
    np.testing.assert_allclose(model.intercept_, g["b"], **CLOSE)
    for v, name in enumerate(model.view_names_):
        lam = np.zeros(len(y))
        lam[model.support_[name]] = model.dual_coef_[name] * np.sign(y)[model.support_[name]]
        np.testing.assert_allclose(lam, g["lam"][v], **CLOSE)


@pytest.mark.parametrize("case", [0, 1])
def test_subproblem(case):
    file = GOLDEN / f"subproblem_{case}.npz"
    g = np.load(file)
    X, y, c = g["X"], g["y"].astype(float), float(g["c"])
    solution = solve_coupled(
        [FullRows(X @ X.T)],
        y,
        np.full((1, len(y)), np.inf),
        own=1 / c**2,
        linear=g["p"][None],
        tol=1e-10,
    )
    np.testing.assert_allclose(solution.dual[0], g["lam"], **CLOSE)
    np.testing.assert_allclose(solution.bias[0], g["b"], **CLOSE)
    np.testing.assert_allclose(X.T @ (y * solution.dual[0]), g["w"], **CLOSE)
    lam, w = solution.dual[0], X.T @ (y * solution.dual[0])
    value = g["p"] @ lam - lam @ lam / (2 * c**2) - w @ w / 2
    assert value == pytest.approx(float(g["dual_value"]), rel=1e-6)


@pytest.mark.parametrize("case", [0, 2, 5])
def test_multipliers_and_first_rounds(case):
    g, train, _, y = load(f"smvmed_{case}")
    y, c, alpha = y.astype(float), float(g["c"]), float(g["alpha"])
    present, ones = np.ones((len(y), len(train)), dtype=bool), np.ones(len(y))
    design = Design(train, present, ones)
    solution = solve_joint(design, y, ones, c, alpha)
    np.testing.assert_allclose(solution.lam.T, g["lam"], **CLOSE)
    assert solution.lam.sum() / 2 == pytest.approx(g["joint_dual_value"], abs=1e-6)
    rounds = rounds_of_alternation(design, y, ones, c, alpha, tol=1e-12)
    for k, (theta, lam) in enumerate(islice(rounds, len(g["path_lam"]))):
        np.testing.assert_allclose(lam.T, g["path_lam"][k], **CLOSE)
        np.testing.assert_allclose(design.parameters(theta)[1], g["path_b"][k], **CLOSE)


# solvers and how far they go
SOLVERS = [{"solver": "primal"}, {"solver": "smo", "tol": 1e-9}]


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
@pytest.mark.parametrize("prior", ["gaussian", "exponential"])
def test_mvmed(prior, solver):
    g, *data = load(f"mvmed_{prior}_41")
    assert_decisions(MVMEDClassifier(float(g["c"]), prior=prior, **solver), g, *data)


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
@pytest.mark.parametrize("prior", ["gaussian", "exponential"])
@pytest.mark.parametrize("form", ["exact", "two-step"])
def test_amvmed(prior, form, solver):
    g, *data = load(f"amvmed_{form.replace('-', '')}_{prior}_43")
    model = AMVMEDClassifier(float(g["c"]), rho=float(g["rho"]), prior=prior, form=form, **solver)
    assert_decisions(model, g, *data)


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
@pytest.mark.parametrize("case", [0, 1])
def test_svm2k(case, solver):
    g, train, test, y = load(f"svm2k_{case}")
    C = {"view0": float(g["C1"]), "view1": float(g["C2"])}
    model = SVM2KClassifier(C, D=float(g["D"]), epsilon=float(g["eps"]), **solver)
    assert_decisions(model, g, train, test, y)
    np.testing.assert_allclose(model.coef_["view0"], g["w0"], **CLOSE)
    np.testing.assert_allclose(model.intercept_, g["b"], **CLOSE)
