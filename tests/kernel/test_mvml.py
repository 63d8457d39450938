"""MVML: reference numbers, the least objective by a generic solver, monotone and PSD, manners."""

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import block_diag
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV

from consilience import MultiViewData
from consilience.datasets import make_multiview_classification
from consilience.kernel import MVMLClassifier
from consilience.kernel._metric import (
    LeastSquares,
    learn_dense,
    learn_sparse,
    relative_gap,
    solve_coefficients,
)
from reference import mvml as reference

GOLDEN = Path(__file__).parents[1] / "golden"
MANY = 200 if int(os.environ.get("CONSILIENCE_TEST_ALL", "0")) else 20


def golden():
    g, inputs = np.load(GOLDEN / "mvml.npz"), np.load(GOLDEN / "mvlsvm.npz")
    train = [inputs[f"X{v}_train"][g["order"]] for v in range(3)]
    return g, train, [inputs[f"X{v}_test"] for v in range(3)]


@pytest.fixture
def first_rows(monkeypatch):
    """Landmarks are the first rows, as in the reference numbers."""
    draw = lambda self, data: {n: np.arange(self.n_landmarks) for n in data.view_names}  # noqa: E731
    monkeypatch.setattr(MVMLClassifier, "_draw_landmarks", draw)


@pytest.mark.parametrize(("metric", "key"), [("identity", "I"), ("covariance", "cov")])
def test_reference_numbers(first_rows, metric, key):
    g, train, test = golden()
    model = MVMLClassifier(
        metric, reg=float(g["lam"]), n_landmarks=int(g["p"]), gamma="auto", fit_intercept=False
    )
    ours = model.fit(train, g["y"]).decision_function(test)
    np.testing.assert_allclose(ours, g[f"mine_{key}_dec_test"], rtol=0, atol=2e-10)


def test_reference_objective_is_reached(first_rows):
    g, train, _ = golden()
    model = MVMLClassifier(
        reg=float(g["lam"]),
        metric_reg=float(g["eta"]),
        n_landmarks=int(g["p"]),
        gamma="auto",
        fit_intercept=False,
    )
    model.fit(train, g["y"])
    assert (np.diff(g["mine_full_hist"]) < 0).all()
    # they stopped the alternation early, so ours is lower
    assert model.objective_curve_[-1] <= g["mine_full_hist"][-1]
    assert model.duality_gap_ <= 1e-4


@st.composite
def problems(draw, max_width=6, max_views=4):
    """Features of views (dependent columns too), targets, weights."""
    rng = np.random.RandomState(draw(st.integers(0, 10**6)))
    n, V = draw(st.integers(5, 40)), draw(st.integers(1, max_views))
    sizes = [rng.randint(1, max_width + 1) for _ in range(V)]
    Phi = rng.randn(n, sum(sizes)) @ np.diag(10.0 ** rng.uniform(-2, 1, sum(sizes)))
    if draw(st.booleans()):
        Phi[:, -1] = Phi[:, 0]
    Y = np.sign(Phi @ rng.randn(sum(sizes), draw(st.integers(1, 3))) + rng.randn(n, 1))
    weight = rng.randint(1, 4, n).astype(float)
    lam, eta = 10.0 ** rng.uniform(-3, 1, 2)
    return Phi, Y, weight, sizes, lam, eta


def learn(moments, sizes, lam, eta, kind, **settings):
    if kind == "dense":
        return learn_dense(moments, lam, eta, **settings)
    ends = np.cumsum(sizes)
    views = [slice(e - s, e) for e, s in zip(ends, sizes, strict=True)]
    return learn_sparse(moments, views, lam, eta, **settings)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@settings(max_examples=MANY)
@given(problems())
def test_objective_falls_and_the_metric_is_positive(kind, problem):
    Phi, Y, weight, sizes, lam, eta = problem
    moments = LeastSquares(Phi, Y, weight)
    goal = {"tol": 1e-12} if kind == "dense" else {"tol": 1e-6, "max_iter": 300}
    solution = learn(moments, sizes, lam, eta, kind, **goal)
    assert (np.diff(solution.objective_curve) <= 0).all()
    A = solution.metric
    np.testing.assert_allclose(A, A.T)
    assert np.linalg.eigvalsh(A)[0] >= -1e-10 * max(1, np.linalg.norm(A))
    # where five rows leave everything open, the sparse one takes more than these steps
    assert solution.gap <= (1e-8 if kind == "dense" else 0.1)
    # what is said of the objective and of g is true
    given = Phi, Y, weight
    value = reference.objective(*given, A, solution.coef, lam, eta, sizes, kind)
    assert value == pytest.approx(solution.objective_curve[-1], rel=1e-5)
    coef, h = solve_coefficients(moments, A, lam)
    if kind == "dense":
        np.testing.assert_allclose(coef, solution.coef, atol=1e-4 * (1 + np.abs(coef).max()))
    again = reference.objective(*given, A, coef, lam, 0.0, sizes, kind)
    assert h == pytest.approx(again, rel=1e-5)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@settings(max_examples=MANY)
@given(problems(max_width=2, max_views=3))
def test_least_objective_of_a_generic_solver(kind, problem):
    Phi, Y, weight, sizes, lam, eta = problem
    moments = LeastSquares(Phi, Y, weight)
    solution = learn(moments, sizes, lam, eta, kind, tol=1e-8)
    least = reference.minimum(Phi, Y, weight, lam, eta, sizes, kind)
    value = solution.objective_curve[-1]
    assert value >= least * (1 - 1e-5)
    assert value * (1 - solution.gap) <= least * (1 + 1e-5)  # the gap is true
    assert value == pytest.approx(least, rel=1e-5 if kind == "dense" else 3e-3)


def problem(**settings):
    settings = {"n_samples": 90, "n_classes": 3, "strength": 2.0, "random_state": 0, **settings}
    return make_multiview_classification(**settings)


@pytest.mark.parametrize("metric", ["dense", "sparse", "covariance", "identity"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_attributes(metric, n_classes):
    data, y = problem(n_classes=n_classes, missing_rate=0.2)
    model = MVMLClassifier(metric, reg=0.1, n_landmarks=20, random_state=0).fit(data, y)
    assert model.score(data, y) > 0.7
    assert model.metric_.shape == (sum(len(c) for c in model.coef_.values()),) * 2
    assert all(len(rows) <= 20 for rows in model.landmarks_.values())
    for v, rows in enumerate(model.landmarks_.values()):
        assert data.present[rows, v].all()
    assert len(model.objective_curve_) == model.n_iter_ + 1
    assert model.view_weights_.sum() == pytest.approx(1)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(data), model.decision_function(data))


def test_sparse_metric_leaves_out_noise():
    data, y = problem(strength=[3.0, 0.0, 0.0], n_classes=2)
    model = MVMLClassifier("sparse", reg=1.0, metric_reg=5.0, random_state=0).fit(data, y)
    assert model.view_weights_[0] == pytest.approx(1)
    for v in (1, 2):
        assert not model.coef_[f"view{v}"].any()
    dense = MVMLClassifier(metric_reg=1.0, random_state=0).fit(data, y)
    assert (dense.view_weights_ > 0).all()


def test_all_rows_are_the_whole_kernel():
    data, y = problem(n_classes=2, n_views=1)
    X = data["view0"]
    model = MVMLClassifier("identity", reg=0.5, n_landmarks=90, gamma=0.1, fit_intercept=False)
    K = rbf_kernel(X, gamma=0.1)
    signs = np.where(y == 1, 1.0, -1.0)
    expected = K @ np.linalg.solve(K + 0.5 * np.eye(90), signs)
    np.testing.assert_allclose(model.fit(X, y).decision_function(X), expected, atol=1e-7)


def test_kernel_and_distance_views_equal_features():
    data, y = problem(missing_rate=0.2)
    gammas = {"view0": 0.1, "view1": 0.2, "view2": 0.05}
    plain = MVMLClassifier(gamma=gammas, n_landmarks=30, random_state=0)
    expected = plain.fit(data[:60], y[:60]).decision_function(data)
    kernels, distances = {}, {}
    for v, (name, X) in enumerate(data.items()):
        is_present = data.present[:, v]
        K = rbf_kernel(np.where(is_present[:, None], X, 0.0), gamma=gammas[name])
        K[~is_present], K[:, ~is_present] = np.nan, np.inf  # never read
        kernels[name] = K
        distances[name] = -np.log(
            K, where=np.outer(is_present, is_present), out=np.full_like(K, np.nan)
        )
    for views, kind in ((kernels, "kernel"), (distances, "distance")):
        kinds = dict.fromkeys(views, kind)
        pairwise = MultiViewData(views, present=data.present, kinds=kinds)
        model = clone(plain).set_params(gamma=1.0).fit(pairwise[:60], y[:60])
        np.testing.assert_allclose(model.decision_function(pairwise), expected, atol=1e-6)
        search = GridSearchCV(model, {"reg": [0.01, 1.0]}, cv=3).fit(pairwise, y)
        features = GridSearchCV(plain, {"reg": [0.01, 1.0]}, cv=3).fit(data, y)
        np.testing.assert_allclose(
            search.cv_results_["mean_test_score"], features.cv_results_["mean_test_score"]
        )


def test_storage():
    data, y = problem(sparsity=0.5)
    dense = {name: X.toarray() for name, X in data.items()}
    for X in dense.values():
        X.flags.writeable = False
    expected = MVMLClassifier(random_state=0).fit(data, y).decision_function(data)
    ours = MVMLClassifier(random_state=0).fit(dense, y).decision_function(dense)
    np.testing.assert_allclose(ours, expected, atol=1e-7)
    single = {name: sp.csc_array(X.astype(np.float32)) for name, X in dense.items()}
    ours = MVMLClassifier(random_state=0).fit(single, y).decision_function(single)
    np.testing.assert_allclose(ours, expected, atol=1e-3)


def test_view_that_no_training_row_has():
    data, y = problem(n_views=2)
    half = MultiViewData(dict(data.items()), present=np.tile([True, False], (90, 1)))
    with pytest.warns(UserWarning, match="'view1' are present in no training row"):
        model = MVMLClassifier(random_state=0).fit(half, y)
    assert model.view_weights_.tolist() == [1, 0]
    np.testing.assert_array_equal(model.decision_function(data), model.decision_function(half))
    answer = model.decision_function(data.select(["view1"]))
    np.testing.assert_allclose(answer, np.tile(model.intercept_, (90, 1)))


@pytest.mark.parametrize("metric", ["dense", "sparse"])
def test_view_of_zeros_with_a_linear_kernel(metric):
    data, y = problem(n_views=1)
    model = MVMLClassifier(metric, kernel="linear", random_state=0)
    with_zeros = {"view0": data["view0"], "zeros": np.zeros((90, 2))}
    assert model.fit(with_zeros, y).view_weights_.tolist() == [1, 0]
    assert model.coef_["zeros"].shape == (0, 3)
    model.fit({"zeros": np.zeros((90, 2))}, y)
    np.testing.assert_allclose(
        model.decision_function({"zeros": np.zeros((90, 2))}), np.tile(model.intercept_, (90, 1))
    )


def test_steps_that_do_not_suffice():
    data, y = problem()
    with pytest.warns(
        ConvergenceWarning, match=r"relative duality gap of .*raise max_iter \(now 2"
    ):
        model = MVMLClassifier(max_iter=2, random_state=0).fit(data, y)
    assert model.n_iter_ == 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"metric": "full"},
            "'metric' parameter of MVMLClassifier must be a str among .*'covariance'",
        ),
        ({"reg": 0}, "'reg' parameter .* Got 0 instead"),
        ({"metric_reg": np.inf}, "'metric_reg' parameter .* Got inf instead"),
        ({"tol": "small"}, "'tol' parameter .* Got 'small' instead"),
        ({"n_landmarks": 0}, "'n_landmarks' parameter .* Got 0 instead"),
        ({"max_iter": 2.5}, "'max_iter' parameter .* Got 2.5 instead"),
        ({"kernel": "gauss"}, "'kernel' parameter .* Got 'gauss' instead"),
        ({"gamma": {"view0": 1.0}}, "gamma must have one entry for each of the views.*missing"),
    ],
)
def test_bad_parameters(settings, message):
    data, y = problem()
    with pytest.raises(ValueError, match=message):
        MVMLClassifier(**settings).fit(data, y)


def test_blocks_between_views():
    data, y = problem()
    model = MVMLClassifier("sparse", reg=1.0, random_state=0).fit(data, y)
    blocks, start = [], 0
    for coef in model.coef_.values():
        blocks.append(model.metric_[start : start + len(coef), start : start + len(coef)])
        start += len(coef)
    np.testing.assert_array_equal(model.metric_, block_diag(*blocks))
    full = MVMLClassifier(random_state=0).fit(data, y).metric_
    assert np.abs(full[: len(blocks[0]), len(blocks[0]) :]).max() > 0


def test_landmarks_as_a_share_of_the_samples():
    data, y = make_multiview_classification(50, n_views=2, missing_rate=0.1, random_state=0)
    share, number = (
        MVMLClassifier(n_landmarks=size, random_state=0).fit(data, y) for size in (0.24, 12)
    )
    for name in data.view_names:
        np.testing.assert_array_equal(share.landmarks_[name], number.landmarks_[name])
    one = MVMLClassifier(n_landmarks=0.001, random_state=0).fit(data, y)
    assert {len(rows) for rows in one.landmarks_.values()} == {1}
    with pytest.raises(ValueError, match="'n_landmarks' parameter of MVMLClassifier"):
        MVMLClassifier(n_landmarks=1.5).fit(data, y)


def test_relative_gap():
    assert relative_gap(1.0, 4.0) == 0.25
    assert relative_gap(-1e-12, 4.0) == 0.0  # rounding errors
    assert relative_gap(1.0, 0.0) == 0.0


def test_learned_views_share_the_weight_of_coefficients_that_are_all_zero():
    X = np.arange(12.0)[:, None]
    model = MVMLClassifier(n_landmarks=2).fit({"a": X, "b": X % 5}, np.arange(12) % 2)
    slices, blocks = [slice(0, 2), slice(2, 4)], (np.ones((12, 2)), np.ones((12, 2)))
    weight = np.full(12, 1 / 12)
    model._set_fitted_attributes(("a", "b", "c"), np.zeros((4, 1)), slices, blocks, weight)
    np.testing.assert_array_equal(model.view_weights_, [0.5, 0.5, 0.0])
    coef = np.array([[1.0], [1.0], [3.0], [3.0]])
    model._set_fitted_attributes(("a", "b", "c"), coef, slices, blocks, weight)
    np.testing.assert_allclose(model.view_weights_, [0.25, 0.75, 0.0])
    np.testing.assert_array_equal(model.coef_["b"], [[1.5], [1.5]])
    assert model.coef_["c"].shape == (0, 1)
