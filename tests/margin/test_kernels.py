"""The margin classifiers on kernels: every kernel, kernel views, missing views, memory."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import euclidean_distances, pairwise_kernels, rbf_kernel
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from consilience import MultiViewData
from consilience._solvers.kernels import KERNELS
from consilience._targets import one_vs_rest_signs
from consilience.datasets import make_multiview_classification
from consilience.margin import (
    AMVMEDClassifier,
    MVMEDClassifier,
    SMVMEDClassifier,
    SMVMEDClassifierCV,
    SVM2KClassifier,
)
from consilience.margin._combine import view_contributions
from consilience.margin._kernel_design import MIN_CACHED_ROWS, precision

ALL = {
    "smvmed": SMVMEDClassifier(),
    "mvmed": MVMEDClassifier(),
    "exponential": MVMEDClassifier(prior="exponential"),
    "amvmed": AMVMEDClassifier(),
    "two-step": AMVMEDClassifier(form="two-step"),
    "svm2k": SVM2KClassifier(),
}


def problem(**settings):
    settings = {"n_samples": 80, "n_views": 2, "strength": 1.0, "random_state": 0, **settings}
    return make_multiview_classification(**settings)


def kernel(name, **settings):
    settings = {"kernel": "rbf", "gamma": 0.1, "tol": 1e-9, **settings}
    return clone(ALL[name]).set_params(**settings)


@pytest.mark.parametrize("missing", [0.0, 0.25])
@pytest.mark.parametrize("name", ALL)
def test_both_solvers_agree_on_linear_kernels(name, missing):
    data, y = problem(missing_rate=missing, n_classes=3)
    weight = np.random.RandomState(0).randint(1, 4, len(y)).astype(float)
    direct = clone(ALL[name]).fit(data, y, sample_weight=weight)
    pairs = clone(ALL[name]).set_params(solver="smo", tol=1e-6).fit(data, y, sample_weight=weight)
    np.testing.assert_allclose(
        pairs.view_decision_function(data), direct.view_decision_function(data), atol=1e-4
    )
    for view in data.view_names:
        np.testing.assert_allclose(pairs.coef_[view], direct.coef_[view], atol=1e-4)
    assert pairs.kkt_residual_ <= 1e-6
    assert not hasattr(direct, "dual_coef_")


@pytest.mark.parametrize("name", ALL)
def test_decisions_are_what_they_are_said_to_be(name):
    for n_classes in (2, 3):
        data, y = problem(n_classes=n_classes, missing_rate=0.2, strength=2.0)
        model = kernel(name).fit(data, y)
        decisions = model.view_decision_function(data)
        for v, view in enumerate(data.view_names):
            is_present, X = data.present[:, v], data[view]
            K = pairwise_kernels(X[is_present], X[model.support_[view]], metric="rbf", gamma=0.1)
            dual = np.atleast_2d(model.dual_coef_[view])
            expected = K @ dual.T + np.atleast_2d(model.intercept_)[:, v]
            ours = decisions[is_present, v]
            np.testing.assert_allclose(ours if n_classes == 3 else ours[:, None], expected)
        assert not hasattr(model, "coef_")
        assert model.score(data, y) > 0.75
        # the shares of the views come from the solver's own decisions
        shares = np.ones(2) if "two" not in name and "amv" not in name else np.full(2, 0.5)
        signs = one_vs_rest_signs(y, n_classes)
        full = decisions if n_classes == 3 else decisions[:, :, None]
        expected = view_contributions(shares[:, None] * full, signs, np.ones(len(y)))
        np.testing.assert_allclose(model.view_weights_, expected, atol=1e-6)
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.decision_function(data), model.decision_function(data))
        # a new fit forgets the old attributes
        assert not hasattr(model.set_params(kernel="linear").fit(data, y), "dual_coef_")


@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel_equals_its_matrix(name):
    data, y = problem(sparsity=0.4)
    dense = {view: np.abs(X.toarray()) for view, X in data.items()}
    settings = {"gamma": 0.2} if name not in ("linear", "cosine") else {}
    given = MultiViewData(
        {view: pairwise_kernels(X, metric=name, **settings) for view, X in dense.items()},
        kinds=dict.fromkeys(dense, "kernel"),
    )
    model = SMVMEDClassifier(0.5, kernel=name, gamma=0.2, solver="smo", tol=1e-8)
    expected = SMVMEDClassifier(0.5, tol=1e-8).fit(given, y).decision_function(given)
    for stored in (dense, {view: sp.csr_array(X) for view, X in dense.items()}):
        ours = clone(model).fit(stored, y).decision_function(stored)
        np.testing.assert_allclose(ours, expected, atol=1e-6)


def test_one_kernel_and_gamma_for_each_view():
    data, y = problem()
    kernels = {"view0": "rbf", "view1": "linear"}
    model = SMVMEDClassifier(kernel=kernels, gamma={"view0": "median", "view1": 1.0}, tol=1e-8)
    model.fit(data, y)
    assert list(model.coef_) == ["view1"]
    assert list(model.dual_coef_) == ["view0", "view1"]
    function = {"view0": lambda A, B: rbf_kernel(A, B, gamma=0.1), "view1": "rbf"}
    ours = SMVMEDClassifier(kernel=function, gamma=0.1, tol=1e-8).fit(data, y)
    plain = SMVMEDClassifier(kernel="rbf", gamma=0.1, tol=1e-8).fit(data, y)
    np.testing.assert_allclose(
        ours.decision_function(data), plain.decision_function(data), atol=1e-6
    )


def test_one_view_is_the_support_vector_machine():
    data, y = problem(n_views=1)
    X = data["view0"]
    for gamma in ("scale", "auto", 0.3):
        ours = SVM2KClassifier(0.7, kernel="rbf", gamma=gamma, tol=1e-8).fit(X, y)
        theirs = SVC(C=0.7, gamma=gamma, tol=1e-8).fit(X, y)
        np.testing.assert_allclose(
            ours.decision_function(X), theirs.decision_function(X), atol=1e-6
        )
        # row numbers of the user's matrix
        np.testing.assert_array_equal(ours.support_["view0"], np.sort(theirs.support_))


@pytest.mark.parametrize("name", ALL)
def test_weights_are_repetitions(name):
    data, y = problem(n_classes=3, missing_rate=0.2, n_samples=60)
    weight = np.random.RandomState(0).randint(0, 4, size=len(y)).astype(float)
    rows = np.repeat(np.arange(len(y)), weight.astype(int))
    for gamma in ("scale", "median"):
        once = kernel(name, gamma=gamma).fit(data, y, sample_weight=weight)
        again = kernel(name, gamma=gamma).fit(data[rows], y[rows])
        np.testing.assert_allclose(
            once.decision_function(data), again.decision_function(data), atol=1e-5
        )


def pairwise(data, kind):
    """The views as matrices between samples."""
    make = euclidean_distances if kind == "distance" else lambda X: rbf_kernel(X, gamma=0.1)
    return MultiViewData(
        {view: make(X) for view, X in data.items()}, kinds=dict.fromkeys(data.view_names, kind)
    )


@pytest.mark.parametrize("name", ALL)
def test_kernel_views_in_a_search(name):
    data, y = problem(n_classes=3)
    given, parameter = pairwise(data, "kernel"), "C" if name == "svm2k" else "c"
    cv = StratifiedKFold(3, shuffle=True, random_state=0)
    grid = {parameter: [1.5, 4.0]}
    plain = GridSearchCV(kernel(name, kernel="rbf", gamma=0.1), grid, cv=cv).fit(data, y)
    ours = GridSearchCV(clone(ALL[name]).set_params(tol=1e-9), grid, cv=cv).fit(given, y)
    np.testing.assert_array_equal(
        ours.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"]
    )
    np.testing.assert_allclose(
        ours.decision_function(given), plain.decision_function(data), atol=1e-5
    )


def test_distance_views():
    data, y = problem()
    given = pairwise(data, "distance")
    model = SMVMEDClassifier(tol=1e-8).fit(given[:60], y[:60])
    D = given["view0"][:60, :60]
    K = {view: np.exp(-given[view] / given[view][:60, :60].mean()) for view in data.view_names}
    assert model._machine.expansions[0].kernel.gamma == pytest.approx(1 / D.mean())
    explicit = MultiViewData(K, kinds=dict.fromkeys(K, "kernel"))
    theirs = SMVMEDClassifier(tol=1e-8).fit(explicit[:60], y[:60])
    np.testing.assert_allclose(
        model.decision_function(given[60:]), theirs.decision_function(explicit[60:]), atol=1e-6
    )


@pytest.mark.parametrize("kind", ["kernel", "distance"])
@pytest.mark.parametrize("name", ALL)
def test_missing_kernel_rows_are_never_read(name, kind):
    data, y = problem(n_classes=3)
    given = pairwise(data, kind)
    present = np.ones((len(y), 2), dtype=bool)
    present[::7, 0] = present[3::7, 1] = False
    spoiled = {}
    for v, view in enumerate(data.view_names):
        K, gone = given[view].copy(), ~present[:, v]
        K[gone] = K[:, gone] = np.nan
        spoiled[view] = K
    clean = MultiViewData(dict(given.items()), present=present, kinds=given.kinds)
    poison = MultiViewData(spoiled, present=present, kinds=given.kinds)
    model = clone(ALL[name]).set_params(tol=1e-8)
    expected = clone(model).fit(clean, y).decision_function(clean)
    np.testing.assert_allclose(model.fit(poison, y).decision_function(poison), expected, atol=1e-9)
    assert model.score(poison, y) > 0.6


@pytest.mark.parametrize("name", ALL)
def test_a_small_cache_changes_nothing(name):
    data, y = problem(n_samples=300)
    model = clone(ALL[name]).set_params(kernel="rbf", tol=1e-5)
    expected = clone(model).fit(data, y).decision_function(data)
    small = clone(model).set_params(cache_size=0.62).fit(data, y).decision_function(data)
    np.testing.assert_allclose(small, expected, atol=1e-4)
    with pytest.raises(ValueError, match=r"cache_size=0.1 MB holds .* rows of 300 samples"):
        clone(model).set_params(cache_size=0.1).fit(data, y)


def test_precision():
    assert precision(1000, 2, 16, 1e-8) == (np.float64, 1000)
    assert precision(1000, 2, 15, 1e-8) == (np.float32, 1000)
    assert precision(1000, 2, 16, 1e-3) == (np.float32, 1000)
    assert precision(1000, 2, 4, 1e-8) == (np.float32, 524)
    assert precision(50, 0, 1e-3, 1e-3) == (np.float32, 50)
    # rounding errors of 1e-7 times 1e4 are no smaller than the tolerance
    assert precision(1000, 2, 16, 1e-3, 1.0, 1e4) == (np.float64, 1000)
    assert precision(1000, 2, 8, 1e-3, 1.0, 1e4) == (np.float64, 524)
    assert precision(1000, 2, 16, 1e-3, 1.0, 100.0) == (np.float32, 1000)


def test_the_cache_that_is_asked_for_suffices():
    with pytest.raises(ValueError, match=r"cache_size=1 MB holds 0 kernel rows") as refused:
        precision(100_000, 3, 1, 1e-3)
    needed = float(str(refused.value).split("at least ")[1].split(" MB")[0])
    dtype, rows = precision(100_000, 3, needed, 1e-3)
    assert (dtype, rows) == (np.float32, MIN_CACHED_ROWS)
    with pytest.raises(ValueError, match="too few to work with"):
        precision(100_000, 3, needed - 0.1, 1e-3)
    with pytest.raises(ValueError, match=r"give at least 0\.1 MB"):
        precision(10, 1, 1e-9, 1e-3)


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("missing", [0.0, 0.25])
@pytest.mark.parametrize("name", ALL)
def test_columns_far_from_the_origin(name, missing, store):
    data, y = problem(missing_rate=missing)
    views = {view: np.nan_to_num(X) for view, X in data.items()}
    data = MultiViewData(views, present=data.present)
    shifted = {view: store(X + 3000) for view, X in views.items()}
    far = MultiViewData(shifted, present=data.present)
    model = clone(ALL[name]).set_params(kernel={"view0": "linear", "view1": "rbf"}, gamma=0.1)
    expected = clone(model).fit(data, y).view_decision_function(data)
    ours = clone(model).fit(far, y).view_decision_function(far)
    np.testing.assert_allclose(ours, expected, atol=5e-3)


@pytest.mark.parametrize("name", ALL)
def test_given_kernels_of_columns_far_from_the_origin(name):
    data, y = problem()
    decisions = []
    for offset in (0, 3000):
        kernels = {view: (X + offset) @ (X + offset).T for view, X in data.items()}
        given = MultiViewData(kernels, kinds=dict.fromkeys(kernels, "kernel"))
        model = clone(ALL[name]).fit(given[:60], y[:60])
        decisions.append(model.view_decision_function(given))
    np.testing.assert_allclose(*decisions, atol=5e-3)


def test_entries_that_hardly_differ():
    data, y = problem()
    far = MultiViewData({view: X + 300 for view, X in data.items()})
    model = SMVMEDClassifier(kernel="poly", degree=2, gamma=1e-3)
    exact = clone(model).set_params(tol=1e-6).fit(far, y).decision_function(far)
    np.testing.assert_allclose(model.fit(far, y).decision_function(far), exact, atol=5e-3)


@pytest.mark.parametrize("name", ALL)
def test_several_classes_share_kernels(name):
    data, y = problem(n_samples=290, n_classes=3)
    model = clone(ALL[name]).set_params(kernel="rbf", tol=1e-6)
    one = clone(model).fit(data, y).decision_function(data)
    two = clone(model).set_params(n_jobs=2).fit(data, y).decision_function(data)
    np.testing.assert_array_equal(one, two)
    small = clone(model).set_params(cache_size=0.6, n_jobs=2)
    np.testing.assert_allclose(small.fit(data, y).decision_function(data), one, atol=1e-3)


def test_cross_validation():
    data, y = problem(n_samples=120, missing_rate=0.1)
    for size in (2000, 0.3):
        model = SMVMEDClassifierCV(
            [4.0, 0.5], alphas=[0.5, 0.0], cv=3, kernel="rbf", cache_size=size, n_jobs=2
        ).fit(data, y)
        for k, (train, test) in enumerate(StratifiedKFold(3).split(y, y)):
            cold = SMVMEDClassifier(4.0, alpha=0.5, kernel="rbf").fit(data[train], y[train])
            assert model.scores_[k, 0, 0] == pytest.approx(
                cold.score(data[test], y[test]), abs=0.03
            )
        refit = SMVMEDClassifier(model.c_, alpha=model.alpha_, kernel="rbf").fit(data, y)
        np.testing.assert_allclose(
            model.decision_function(data), refit.decision_function(data), atol=1e-2
        )


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_storage(dtype):
    data, y = problem()
    views = {view: np.round(4 * X).astype(dtype) for view, X in data.items()}
    for X in views.values():
        X.flags.writeable = False
    model = SMVMEDClassifier(kernel="rbf", gamma=0.02, tol=1e-8).fit(views, y)
    plain = {view: X.astype(float) for view, X in views.items()}
    expected = clone(model).fit(plain, y).decision_function(plain)
    np.testing.assert_allclose(model.decision_function(views), expected, atol=1e-6)
    frames = {view: np.asfortranarray(X) for view, X in views.items()}
    np.testing.assert_allclose(model.decision_function(frames), expected, atol=1e-6)


def test_huge_values():
    data, y = problem()
    for kernel, factor in (("rbf", 1e150), ("linear", 1e60)):
        huge = {view: factor * X for view, X in data.items()}
        model = SMVMEDClassifier(1e-30, kernel=kernel, solver="smo", max_iter=1000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(huge, y)
        assert np.isfinite(model.decision_function(huge)).all()


def test_warns_with_advice():
    data, y = problem()
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        SMVMEDClassifier(kernel="rbf", max_iter=3).fit(data, y)


KERNEL_VIEW = MultiViewData({"k": np.eye(80)}, kinds={"k": "kernel"})
SKEW = np.eye(80) + np.triu(np.ones((80, 80)), 1)


@pytest.mark.parametrize(
    ("model", "data", "message"),
    [
        (SMVMEDClassifier(kernel="gauss"), None, "'kernel' parameter of SMVMEDClassifier must be"),
        (SMVMEDClassifier(kernel="precomputed"), None, "but view 'view0' has features"),
        (SVM2KClassifier(kernel={"view0": "rbf"}), None, "kernel must have one entry for each"),
        (MVMEDClassifier(kernel="rbf", gamma=-1), None, "'gamma' parameter of MVMEDClassifier"),
        (SMVMEDClassifier(kernel="rbf", cache_size=0), None, "'cache_size' parameter"),
        (SMVMEDClassifier(kernel="rbf", solver="newton"), None, "view 'view0' has another kernel"),
        (MVMEDClassifier(solver="primal"), KERNEL_VIEW, "view 'k' has another kernel"),
        (AMVMEDClassifier(kernel="chi2"), None, "chi2 kernel needs values >= 0, but view 'view0'"),
        (
            SMVMEDClassifier(),
            MultiViewData({"k": SKEW}, kinds={"k": "kernel"}),
            "view 'k' is not symmetric",
        ),
        (
            SMVMEDClassifier(),
            MultiViewData({"k": -np.eye(80)}, kinds={"k": "distance"}),
            "view 'k' holds distances, but has -1.0",
        ),
    ],
    ids=str,
)
def test_refuses(model, data, message):
    views, y = problem()
    with pytest.raises(ValueError, match=message):
        model.fit(views if data is None else data, y)


@pytest.mark.parametrize("prior", ["gaussian", "exponential"])
@pytest.mark.parametrize("seed", [8291, 2897, 7204])
def test_nearly_singular_kernels(seed, prior):
    """Views of one column: pair steps alone do not reach a small gap in 10⁷ iterations."""
    data, y = make_multiview_classification(
        40, n_views=3, n_features=[1, 1, 1], strength=0.5, random_state=seed
    )
    model = MVMEDClassifier(kernel="rbf", prior=prior, tol=1e-9).fit(data, y)
    assert model.kkt_residual_ <= 1e-9
    assert model.n_iter_ < 1_000_000
