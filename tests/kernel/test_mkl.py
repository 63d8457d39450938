"""MKL: optimality against generic solvers, identities with SVC, paths, missing views, manners."""

import os
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from consilience import MultiViewData
from consilience._kernel_views import KernelSpec
from consilience.datasets import make_multiview_classification
from consilience.kernel import LaplacianCompletion, MKLClassifier, MVMLClassifier
from consilience.kernel._mkl_steps import (
    FINAL_TOL,
    Machines,
    alternate,
    curvature,
    drop_tiny_weights,
    dual_norm,
    initial_weights,
    learn_weights,
    newton_step,
    solve_machines,
    solve_positive,
)
from consilience.kernel._training_kernels import TrainingKernel
from reference import mkl as reference

MANY = 200 if int(os.environ.get("CONSILIENCE_TEST_ALL", "0")) else 20


def make_problem(seed, n_samples, n_views, n_labels, repeated):
    """Kernels of unit mean diagonal (some of them useless or twice there), signs, bounds."""
    rng, n = np.random.RandomState(seed), n_samples
    labels = rng.randint(0, n_labels, n)
    labels[:3] = 0, 1, 2
    signs = np.array([np.where(labels == k, 1.0, -1.0) for k in range(1, labels.max() + 1)])
    signs = signs[(np.abs(signs.sum(axis=1)) < n)]
    Ks = []
    for _ in range(n_views):
        X = rng.randn(n, rng.randint(1, 4)) + rng.choice([0.0, 2.0]) * labels[:, None]
        kernel = rng.choice([linear_kernel, rbf_kernel])
        K = kernel(X - X.mean(axis=0))
        Ks.append(K / K.diagonal().mean())
    if repeated:
        Ks.append(Ks[0].copy())
    bounds = 10.0 ** rng.uniform(-1, 1.5) * rng.randint(1, 4, n)
    return Ks, signs, bounds


@st.composite
def problems(draw, max_rows=40):
    return make_problem(
        draw(st.integers(0, 10**6)),
        draw(st.integers(6, max_rows)),
        draw(st.integers(1, 5)),
        draw(st.sampled_from([2, 3])),
        draw(st.booleans()),
    )


@settings(max_examples=MANY)
@given(problems())
# all the curvature lies in an interval of 1e-5, across which the machines change by less than their
# first tolerance
@example(make_problem(1, 38, 3, 2, False))
def test_optimum_of_norm_one(problem):
    Ks, signs, bounds = problem
    solution, _ = learn_weights(Ks, signs, bounds, 1, tol=1e-7)
    assert solution.gap <= 1e-7
    assert solution.mu.sum() == pytest.approx(1)
    assert (solution.mu >= 0).all()
    # the gap is true: no primal value is below a dual one, and the generic solver's is as high
    best = reference.best_objective(Ks, signs, bounds)
    assert solution.bound <= best * (1 + 1e-6)
    assert solution.primal >= best * (1 - 1e-12)
    assert solution.primal == pytest.approx(best, rel=1e-6)
    # aᵀK_v a is equal where μ_v > 0 and no larger elsewhere
    used = solution.mu > 1e-4
    top = solution.squares.max()
    np.testing.assert_allclose(solution.squares[used], top, rtol=1e-2)
    assert solution.mu @ solution.squares == pytest.approx(top, rel=1e-5)


# the generic solver of older SciPy versions leaves the bounds by a rounding error, and says so
@pytest.mark.filterwarnings("ignore:Values in x were outside bounds:RuntimeWarning")
@settings(max_examples=MANY)
@given(problems(max_rows=15), st.sampled_from([1.2, 2.0, 4.0]))
def test_optimum_of_other_norms(problem, p):
    Ks, signs, bounds = problem
    solution, _ = learn_weights(Ks, signs, bounds, p, tol=1e-6, max_iter=2000)
    assert solution.gap <= 1e-6
    assert np.linalg.norm(solution.mu, p) == pytest.approx(1)
    best = reference.best_objective_of_norm(Ks, signs, bounds, p)
    # the generic solver stops below the best value, never above
    assert best <= solution.primal * (1 + 1e-6)
    assert solution.primal == pytest.approx(best, rel=1e-3)


def test_curvature_is_the_derivative_of_the_slope():
    rng = np.random.RandomState(0)
    y = np.where(np.arange(40) % 2, 1.0, -1.0)
    Ks = [rbf_kernel(rng.randn(40, 2) + y[:, None]) for _ in range(3)]
    mu, step = np.array([0.5, 0.3, 0.2]), 1e-6
    solve = lambda mu: solve_machines(Ks, mu, y[None], np.full(40, 5.0), 1, 1e-11)  # noqa: E731
    here = solve(mu)
    H = curvature(Ks, here)
    for v in range(3):
        moved = solve(mu + step * np.eye(3)[v])
        np.testing.assert_allclose(
            (here.squares - moved.squares) / (2 * step), H[v], rtol=1e-3, atol=1e-3
        )


def machines(mu, primal=1.0, dual=1.0, bound=0.0, squares=None):
    mu = np.asarray(mu, dtype=float)
    squares = np.ones(len(mu)) if squares is None else np.asarray(squares, dtype=float)
    nothing = np.empty(0)
    return Machines(mu, nothing, nothing, squares, primal, dual, bound, nothing, [])


def test_gap_is_relative_and_never_negative():
    assert machines([1.0], primal=4.0, bound=3.0).gap == 0.25
    assert machines([1.0], primal=4.0, bound=5.0).gap == 0.0
    assert machines([1.0], primal=0.0, bound=0.0).gap == 0.0


@pytest.mark.parametrize(("p", "weight"), [(1, 0.25), (2, 0.5), (None, 0.25)])
def test_initial_weights(p, weight):
    np.testing.assert_allclose(initial_weights(4, p), np.full(4, weight))


@pytest.mark.parametrize("p", [1, 1.5, 2, 4])
def test_alternation_and_dual_norm(p):
    q = np.array([4.0, 1.0, 0.0])
    conjugate = np.inf if p == 1 else p / (p - 1)
    assert dual_norm(q, p) == pytest.approx(np.linalg.norm(q, conjugate))
    assert dual_norm(np.zeros(3), p) == 0
    mu = alternate(machines([0.5, 0.25, 0.25], squares=q), p)
    assert np.linalg.norm(mu, p) == pytest.approx(1)
    np.testing.assert_allclose(mu / mu[0], np.array([1.0, 0.25, 0.0]) ** (2 / (p + 1)))
    still = machines([0.5, 0.5], squares=[0.0, 0.0])
    assert alternate(still, p) is still.mu


def test_newton_step_halves_until_the_objective_is_lower():
    current, target, seen = machines([0.5, 0.5], primal=2.0, dual=2.0), np.array([1.0, 0.0]), []

    def solve(mu, tol, duals, lower_at=0.125):
        seen.append((mu[0] - 0.5, tol))
        # exactly solved, so that the value is known at once
        value = 1.0 if mu[0] - 0.5 <= lower_at * 0.5 else 3.0
        return machines(mu, primal=value, dual=value)

    found = newton_step(current, target, solve, 1e-3)
    assert seen == [(0.5, 1e-3), (0.25, 1e-3), (0.125, 1e-3), (0.0625, 1e-3)]
    assert found.primal == 1.0
    seen.clear()
    assert newton_step(current, target, lambda *args: solve(*args, lower_at=0), 1e-3) is None
    assert len(seen) == 12


def test_newton_step_asks_for_a_sufficient_decrease():
    current = machines([0.5, 0.5], primal=2.0, dual=2.0, squares=[4.0, 0.0])
    target = np.array([1.0, 0.0])  # the slope is −1
    for decrease, is_enough in ((1.01e-4, True), (0.99e-4, False)):
        solve = lambda mu, *_, value=2.0 - decrease: machines(mu, value, value)  # noqa: E731
        step = newton_step(current, target, solve, 1e-3, max_halvings=1)
        assert (step is not None) == is_enough


def test_newton_step_solves_more_precisely_while_the_decrease_is_open():
    current, tols = machines([0.5, 0.5], primal=2.0, dual=2.0), []

    def solve(mu, tol, duals):
        tols.append(tol)
        return machines(mu, primal=3.0, dual=1.0)

    assert (
        newton_step(current, np.array([1.0, 0.0]), solve, 300 * FINAL_TOL, max_halvings=1) is None
    )
    np.testing.assert_allclose(tols, FINAL_TOL * np.array([300, 30, 3, 0.3]))


def test_newton_step_that_halves_the_gap_is_taken():
    # the machines leave 0.5 open, which hides a decrease if the gap is halved
    current = machines([0.5, 0.5], primal=2.0, dual=1.5, bound=1.0)
    for primal, bound, is_taken in ((2.5, 1.9, True), (2.6, 2.2, False), (2.5, 1.8, False)):
        trial = lambda mu, *_, p=primal, b=bound: machines(mu, p, p, b)  # noqa: E731
        step = newton_step(current, np.array([1.0, 0.0]), trial, 1e-3, max_halvings=1)
        assert (step is not None) == is_taken


def test_tiny_weights_are_dropped_if_the_gap_allows():
    current = machines([0.9, 0.1, 1e-5], bound=1.0)
    solved = drop_tiny_weights(current, 1e-6, lambda mu, *_: machines(mu, bound=1.0), 1e-3)
    np.testing.assert_allclose(solved.mu, [0.9, 0.1, 0.0])
    assert drop_tiny_weights(current, 1e-6, lambda mu, *_: machines(mu, bound=0.9), 1e-3) is current
    assert drop_tiny_weights(current, 1e-12, None, 1e-3) is current


def test_tolerance_of_the_first_machines(monkeypatch):
    tols = []

    def solve(Ks, mu, signs, bounds, p, tol, duals):
        tols.append(tol)
        return machines(mu, bound=1.0)

    monkeypatch.setattr("consilience.kernel._mkl_steps.solve_machines", solve)
    for tol in (1e-6, 1e-2):
        learn_weights([np.eye(2)], np.ones((1, 2)), np.ones(2), 2, tol=tol)
    np.testing.assert_allclose(tols, [1e-4, 1e-3])


def problem(**settings):
    settings = {"n_samples": 90, "n_classes": 3, "strength": 1.5, "random_state": 0, **settings}
    return make_multiview_classification(**settings)


def normalised(K):
    """Centred, mean diagonal 1."""
    K = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    return K / K.diagonal().mean()


def kernels_of(data, gamma=0.1):
    return MultiViewData(
        {name: rbf_kernel(X, gamma=gamma) for name, X in data.items()},
        kinds=dict.fromkeys(data.view_names, "kernel"),
    )


@pytest.mark.parametrize("normalize", ["centred", "trace", None])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_mean_is_the_machine_on_the_mean_kernel(normalize, n_classes):
    data, y = problem(n_classes=n_classes)
    Ks = [rbf_kernel(X, gamma=0.1) for _, X in data.items()]
    if normalize == "centred":
        Ks = [normalised(K) for K in Ks]
    K = np.mean(Ks, axis=0)
    model = MKLClassifier("mean", C=2.0, gamma=0.1, normalize=normalize, tol=1e-9).fit(data, y)
    ours = model.decision_function(data).reshape(len(y), -1)
    for k in range(ours.shape[1]):
        labels = (y == (k if n_classes > 2 else 1)).astype(int)
        svc = SVC(C=2.0, kernel="precomputed", tol=1e-8).fit(K, labels)
        np.testing.assert_allclose(ours[:, k], svc.decision_function(K), atol=1e-5)
    np.testing.assert_allclose(model.view_weights_, 1 / 3)


@pytest.mark.parametrize("norm", [1, 2, "mean"])
@pytest.mark.parametrize("normalize", ["centred", "trace", None])
def test_decisions_are_those_of_the_weighted_kernel(norm, normalize):
    data, y = problem(missing_rate=0.2)
    model = MKLClassifier(norm, C=3.0, gamma=0.1, normalize=normalize, tol=1e-7).fit(data, y)
    total = np.zeros((90, 90))
    for v, X in enumerate(dict(data.items()).values()):
        rows = np.flatnonzero(data.present[:, v])
        K = rbf_kernel(X[rows], gamma=0.1)
        K = normalised(K) if normalize == "centred" else K
        total[np.ix_(rows, rows)] += model.kernel_weights_[v] * K
        g = model.dual_coef_[:, rows]
        assert model.kernel_squares_[v] == pytest.approx((g @ K * g).sum(), rel=1e-6)
    expected = total @ model.dual_coef_.T + model.intercept_
    np.testing.assert_allclose(model.decision_function(data), expected, atol=1e-8)
    assert set(model.support_) == set(np.flatnonzero(model.dual_coef_.any(axis=0)))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(data), model.decision_function(data))


def test_noise_gets_no_weight():
    data, y = problem(strength=[3.0, 0.0, 0.0], n_samples=200, n_classes=2)
    sparse = MKLClassifier(1, C=1.0).fit(data, y)
    assert sparse.view_weights_.argmax() == 0
    spread = MKLClassifier(2, C=1.0).fit(data, y)
    assert (spread.view_weights_ > 0).all()
    assert sparse.view_weights_[0] > spread.view_weights_[0]
    assert sparse.duality_gap_ <= 1e-5


@pytest.mark.parametrize("norm", [1, 2, "mean"])
def test_kernel_views_equal_features_in_a_search(norm):
    data, y = problem(missing_rate=0.2)
    model = MKLClassifier(norm, gamma=0.1, tol=1e-8)
    kernels, distances = {}, {}
    for v, (name, X) in enumerate(data.items()):
        is_present = data.present[:, v]
        K = rbf_kernel(np.where(is_present[:, None], X, 0.0), gamma=0.1)
        K[~is_present], K[:, ~is_present] = np.nan, np.inf  # never read
        kernels[name] = K
        distances[name] = -np.log(
            K, where=np.outer(is_present, is_present), out=np.full_like(K, np.nan)
        )
    features = GridSearchCV(model, {"C": [0.1, 10.0]}, cv=3).fit(data, y)
    for views, kind in ((kernels, "kernel"), (distances, "distance")):
        kinds = dict.fromkeys(views, kind)
        pairwise = MultiViewData(views, present=data.present, kinds=kinds)
        here = clone(model).set_params(gamma=1.0)
        search = GridSearchCV(here, {"C": [0.1, 10.0]}, cv=3).fit(pairwise, y)
        np.testing.assert_allclose(
            search.cv_results_["mean_test_score"], features.cv_results_["mean_test_score"]
        )
        np.testing.assert_allclose(
            here.fit(pairwise[:60], y[:60]).decision_function(pairwise),
            clone(model).fit(data[:60], y[:60]).decision_function(data),
            atol=1e-6,
        )


def test_completed_kernels():
    data, y = problem(n_views=2)
    kernels = kernels_of(data)
    present = np.ones((90, 2), dtype=bool)
    present[::3, 1] = False
    holes = MultiViewData(dict(kernels.items()), present=present, kinds=kernels.kinds)
    model = make_pipeline(LaplacianCompletion(), MKLClassifier(C=5.0)).fit(holes[:60], y[:60])
    assert model.score(holes[60:], y[60:]) > 0.6


@pytest.mark.parametrize("norm", [1, 2, "mean"])
def test_path_equals_single_fits(norm):
    data, y = problem()
    Cs = [10.0, 0.1, 1.0]
    model = MKLClassifier(norm, tol=1e-8)
    path = model.path(data, y, Cs)
    assert not hasattr(model, "classes_")
    for C, solution in zip(Cs, path, strict=True):
        assert solution.C == C
        assert not hasattr(solution, "_training")
        alone = clone(model).set_params(C=C).fit(data, y)
        np.testing.assert_allclose(
            solution.decision_function(data), alone.decision_function(data), atol=1e-3
        )
        np.testing.assert_allclose(solution.view_weights_, alone.view_weights_, atol=1e-3)


def test_warm_start():
    data, y = problem()
    model = MKLClassifier(2, warm_start=True, tol=1e-8).fit(data, y)
    cold, expected = model.n_iter_, model.decision_function(data)
    model.fit(data, y)
    assert model.n_iter_ < cold
    np.testing.assert_allclose(model.decision_function(data), expected, atol=1e-3)
    # other C, other labels, fewer rows, other views, another norm
    alone = MKLClassifier(2, C=0.01, tol=1e-8).fit(data, y)
    model.set_params(C=0.01).fit(data, y)
    np.testing.assert_allclose(
        model.decision_function(data), alone.decision_function(data), atol=1e-3
    )
    model.fit(data, y[::-1])
    model.fit(data[:50], y[:50])
    model.fit(data.select(["view0"])[:50], y[:50])
    model.set_params(norm=1).fit(data, y)
    assert model.duality_gap_ <= 1e-8


@pytest.mark.parametrize("norm", [1, 2, "mean"])
def test_view_that_no_training_row_has(norm):
    data, y = problem(n_views=2)
    half = MultiViewData(dict(data.items()), present=np.tile([True, False], (90, 1)))
    with pytest.warns(UserWarning, match="'view1' are present in no training row"):
        model = MKLClassifier(norm).fit(half, y)
    assert model.view_weights_.tolist() == [1, 0]
    np.testing.assert_array_equal(model.decision_function(data), model.decision_function(half))
    answer = model.decision_function(data.select(["view1"]))
    np.testing.assert_allclose(answer, np.tile(model.intercept_, (90, 1)))


@pytest.mark.parametrize("norm", [1, 2, "mean"])
def test_constant_views_say_nothing(norm):
    data, y = problem(n_views=2, n_classes=2)
    flat = MultiViewData({"a": data["view0"], "b": np.full((90, 3), 7.0)})
    model = MKLClassifier(norm, C=5.0).fit(flat, y)
    assert model.score(flat, y) > 0.7
    nothing = MKLClassifier(norm).fit([np.ones((90, 2)), np.zeros((90, 1))], y)
    assert np.isfinite(nothing.decision_function([np.ones((90, 2)), np.zeros((90, 1))])).all()


@pytest.mark.parametrize("norm", [1, 2])
def test_kernels_that_are_not_positive(norm):
    data, y = problem()
    model = MKLClassifier(norm, kernel="sigmoid", gamma=0.5, coef0=-1.0, normalize=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert np.isfinite(model.fit(data, y).decision_function(data)).all()
    A = np.arange(6.0).reshape(3, 2)
    solved = solve_positive(np.diag([1.0, 2.0, -1.0]), A)
    np.testing.assert_allclose(solved[:2], A[:2] / [[1.0], [2.0]])


def test_views_that_hardly_vary():
    data, y = problem(n_views=1)
    with pytest.raises(ValueError, match=r"view 'view0' varies so little.*StandardScaler"):
        MKLClassifier().fit(data["view0"] * 1e-160, y)


def test_steps_that_do_not_suffice():
    data, y = problem()
    with pytest.warns(
        ConvergenceWarning, match=r"relative duality gap of .*raise max_iter \(now 1"
    ):
        MKLClassifier(3, max_iter=1, tol=1e-9).fit(data, y)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"norm": 0.5},
            r"'norm' parameter of MKLClassifier must be a float in the range \[1.* Got 0.5 instead",
        ),
        ({"norm": "sum"}, r"'norm' parameter .* or a str among \{'mean'\}. Got 'sum' instead"),
        (
            {"C": 0},
            r"'C' parameter of MKLClassifier must be a float in the range .* Got 0 instead",
        ),
        ({"C": np.nan}, "'C' parameter .* Got nan instead"),
        ({"C": True}, "'C' parameter .* Got True instead"),
        ({"tol": -1}, "'tol' parameter .* Got -1 instead"),
        ({"cache_size": 0.1}, "4 kernel matrices of 90 samples take 0 MB, cache_size is 0.1"),
        ({"max_iter": 0}, "'max_iter' parameter of MKLClassifier must be an int .* Got 0 instead"),
        ({"normalize": "unit"}, "'normalize' parameter .*'centred'.* or None. Got 'unit' instead"),
        ({"kernel": {"view0": "rbf"}}, "kernel must have one entry for each of the views.*missing"),
    ],
)
def test_bad_parameters(settings, message):
    data, y = problem()
    with pytest.raises(ValueError, match=message):
        MKLClassifier(**settings).fit(data, y)


def test_bad_path():
    data, y = problem()
    with pytest.raises(ValueError, match=r"'C' parameter of MKLClassifier .* Got -1 instead"):
        MKLClassifier().path(data, y, [1.0, -1])


@pytest.mark.parametrize("model", [MKLClassifier(), MVMLClassifier()], ids=["mkl", "mvml"])
def test_matrices_that_cannot_be_between_samples(model):
    rng = np.random.default_rng(0)
    y = np.arange(30) % 2
    lopsided = MultiViewData({"k": rng.random((30, 30))}, kinds={"k": "kernel"})
    with pytest.raises(ValueError, match="view 'k' is not symmetric between the training"):
        model.fit(lopsided, y)
    gaps = rng.random(30)
    negative = np.abs(gaps[:, None] - gaps) - 0.1
    with pytest.raises(ValueError, match="view 'k' holds distances, but has -0"):
        model.fit(MultiViewData({"k": negative}, kinds={"k": "distance"}), y)


@pytest.mark.parametrize("max_iter", [0, 1, 3])
def test_number_of_changes_of_the_weights(max_iter):
    problem = make_problem(0, 30, 3, 2, False)
    assert learn_weights(*problem, 2, tol=1e-12, max_iter=max_iter)[1] == max_iter
    assert learn_weights(*problem, 2, tol=10.0, max_iter=max_iter)[1] == 0


@pytest.mark.parametrize("normalize", [None, "trace", "centred"])
def test_scale_of_training_kernels(normalize):
    weight = np.array([1.0, 2.0, 3.0])
    kernels = {"a": np.diag([3.0, 6.0, 9.0]), "b": np.ones((3, 3))}
    data = MultiViewData(kernels, kinds=dict.fromkeys(kernels, "kernel"))
    spec = KernelSpec("linear", None)
    first, second = (
        TrainingKernel.from_view(spec, data, name, weight, normalize) for name in kernels
    )
    if normalize is None:
        assert first.scale == second.scale == 1.0
    elif normalize == "trace":
        assert first.scale == pytest.approx(1 / 7)  # (1 * 3 + 2 * 6 + 3 * 9) / 6
        assert second.scale == pytest.approx(1.0)
    else:
        assert weight @ first.matrix.diagonal() / 6 == pytest.approx(1.0)
        np.testing.assert_allclose(weight @ first.matrix, 0.0, atol=1e-12)
        assert second.scale == 1.0  # nothing is left to scale
