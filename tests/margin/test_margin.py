"""The margin classifiers as estimators: identities between them, missing views, parameters."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, LinearSVC

from consilience import MultiViewData
from consilience.datasets import make_multiview_classification
from consilience.margin import (
    AMVMEDClassifier,
    MVMEDClassifier,
    SMVMEDClassifier,
    SMVMEDClassifierCV,
    SVM2KClassifier,
)

ALL = {
    "smvmed": SMVMEDClassifier(),
    "mvmed": MVMEDClassifier(),
    "exponential": MVMEDClassifier(prior="exponential"),
    "amvmed": AMVMEDClassifier(),
    "two-step": AMVMEDClassifier(form="two-step"),
    "svm2k": SVM2KClassifier(),
}


def problem(**settings):
    settings = {"n_samples": 90, "n_classes": 2, "strength": 1.0, "random_state": 0, **settings}
    return make_multiview_classification(**settings)


@pytest.mark.parametrize("n_views", [1, 2, 4])
def test_alpha_zero_is_independent_machines(n_views):
    data, y = problem(n_views=n_views)
    model = SMVMEDClassifier(1.5, alpha=0).fit(data, y)
    for v, name in enumerate(data.view_names):
        alone = SMVMEDClassifier(1.5, alpha=0).fit(data[name], y)
        ours = model.view_decision_function(data)[:, v]
        np.testing.assert_allclose(ours, alone.decision_function(data[name]), atol=1e-9)


def test_one_view_is_the_squared_hinge_machine():
    data, y = problem(n_views=1)
    X = data["view0"]
    ours = SMVMEDClassifier(1.5).fit(X, y)
    # liblinear punishes the intercept as well: a large scaling makes that negligible
    theirs = LinearSVC(C=1.5**2 / 2, tol=1e-10, intercept_scaling=1e3, max_iter=10**6).fit(X, y)
    np.testing.assert_allclose(ours.coef_["view0"], theirs.coef_[0], atol=1e-4)


def test_one_view_of_svm2k_is_the_hinge_machine():
    data, y = problem(n_views=1)
    X = data["view0"]
    ours = SVM2KClassifier(0.7).fit(X, y)
    theirs = SVC(kernel="linear", C=0.7, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 0.9])
def test_three_copies_are_a_larger_c(alpha):
    data, y = problem()
    rows = np.tile(np.arange(len(y)), 3)
    copies = SMVMEDClassifier(1.0, alpha=alpha).fit(data[rows], y[rows])
    larger = SMVMEDClassifier(np.sqrt(3), alpha=alpha).fit(data, y)
    np.testing.assert_allclose(
        copies.decision_function(data), larger.decision_function(data), atol=1e-9
    )


@pytest.mark.parametrize("n_views", [2, 3])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_alternation_reaches_the_joint_solution(n_views, missing):
    data, y = problem(n_views=n_views, missing_rate=missing)
    weight = np.random.RandomState(0).rand(len(y)) + 0.5
    for alpha in (0.2, 0.8):
        direct = SMVMEDClassifier(2.0, alpha=alpha).fit(data, y, sample_weight=weight)
        turns = clone(direct).set_params(solver="alternation", tol=1e-9, max_iter=2000)
        turns.fit(data, y, sample_weight=weight)
        np.testing.assert_allclose(
            turns.decision_function(data), direct.decision_function(data), atol=1e-6
        )
        assert turns.n_iter_ > 2


@pytest.mark.parametrize("n_views", [2, 3])
def test_mvmed_is_the_limit(n_views):
    data, y = problem(n_views=n_views)
    limit = MVMEDClassifier(2.0).fit(data, y).view_decision_function(data)
    differences = []
    for alpha in (0.9, 0.99, 0.9999):
        c = 2.0 / np.sqrt(n_views * (1 - alpha))
        model = SMVMEDClassifier(c, alpha=alpha)
        if alpha > 0.99:
            with pytest.warns(UserWarning, match="close to 1"):
                model.fit(data, y)
        else:
            model.fit(data, y)
        differences.append(np.abs(model.view_decision_function(data) - limit).max())
    assert differences[0] > differences[1] > differences[2]
    assert differences[2] < 1e-2


def test_equal_rho_is_mvmed():
    data, y = problem(n_views=2)
    # kernels K/ρ: columns times √2
    ours = AMVMEDClassifier(2.0, rho=0.5).fit(data, y)
    wider = MultiViewData({name: np.sqrt(2) * X for name, X in data.items()})
    theirs = MVMEDClassifier(2.0).fit(wider, y)
    np.testing.assert_allclose(
        ours.decision_function(data), theirs.decision_function(wider), atol=1e-6
    )


@pytest.mark.parametrize("form", ["exact", "two-step"])
def test_rho_of_two_views_is_the_weight_of_the_first(form):
    data, y = problem(n_views=2)
    one, both = (AMVMEDClassifier(rho=rho, form=form).fit(data, y) for rho in (0.3, [0.3, 0.7]))
    np.testing.assert_array_equal(one.decision_function(data), both.decision_function(data))
    other = AMVMEDClassifier(rho=0.7, form=form).fit(data, y)
    assert np.abs(one.decision_function(data) - other.decision_function(data)).max() > 1e-3


@pytest.mark.parametrize("rho", [0, 1])
def test_rho_is_a_whole_number(rho):
    data, y = problem(n_views=2)
    whole, real = (
        AMVMEDClassifier(rho=share, form="two-step").fit(data, y) for share in (rho, float(rho))
    )
    np.testing.assert_array_equal(whole.decision_function(data), real.decision_function(data))


def test_more_columns_than_rows():
    rng = np.random.RandomState(0)
    y = np.arange(40) % 2
    A, B = rng.randn(40, 300) + y[:, None], rng.randn(40, 500) * (rng.rand(40, 500) < 0.1)
    for model in ALL.values():
        wide = clone(model).fit([A, sp.csr_array(B)], y)
        # an orthonormal basis of the rows has the same inner products
        small = [X @ np.linalg.svd(X, full_matrices=False)[2].T for X in (A, B)]
        narrow = clone(model).fit(small, y)
        np.testing.assert_allclose(
            wide.decision_function([A, B]), narrow.decision_function(small), atol=1e-5
        )


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("name", ["smvmed", "svm2k"])
def test_large_column_of_a_wide_view_hides_no_other(name, storage):
    rng = np.random.RandomState(0)
    y = np.arange(40) % 2
    wide = rng.randn(40, 60) + y[:, None] * (np.arange(60) < 5)
    wide[:, -1] *= 1e7
    other, model = rng.randn(40, 3) + y[:, None], ALL[name]
    views = [storage(wide), other]
    # as many rows as it takes not to be wide
    long = clone(model).fit(
        [np.vstack([X, X]) for X in (wide, other)], np.tile(y, 2), np.full(80, 0.5)
    )
    np.testing.assert_allclose(
        clone(model).fit(views, y).decision_function(views),
        long.decision_function(views),
        atol=1e-4,
    )


@pytest.mark.parametrize("name", ALL)
def test_columns_without_entries(name):
    data, y = problem(sparsity=0.5, n_views=2)
    padded = {}
    for view, X in data.items():
        wide = sp.lil_array((X.shape[0], X.shape[1] + 4))
        wide[:, 2:-2] = X.toarray()
        padded[view] = sp.csr_array(wide)
    padded["nothing"] = sp.csr_array((len(y), 3))
    plain = clone(ALL[name]).fit({**dict(data.items()), "nothing": np.zeros((len(y), 3))}, y)
    model = clone(ALL[name]).fit(padded, y)
    np.testing.assert_allclose(
        model.decision_function(padded),
        plain.decision_function({**dict(data.items()), "nothing": np.zeros((len(y), 3))}),
        atol=1e-5,
    )
    for view in data.view_names:
        assert model.coef_[view].shape == (padded[view].shape[1],)
        assert not model.coef_[view][[0, 1, -2, -1]].any()
        np.testing.assert_allclose(model.coef_[view][2:-2], plain.coef_[view], atol=1e-6)
    assert not model.coef_["nothing"].any()


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_decisions_are_what_they_are_said_to_be(name, n_classes):
    data, y = problem(n_classes=n_classes, missing_rate=0.2, strength=2.0)
    model = clone(ALL[name]).fit(data, y)
    decisions = model.view_decision_function(data)
    assert np.isnan(decisions).any(axis=-1 if n_classes == 3 else None).sum() >= 1
    for v, view in enumerate(data.view_names):
        is_present = data.present[:, v]
        coef, intercept = np.atleast_2d(model.coef_[view]), np.atleast_2d(model.intercept_)[:, v]
        expected = data[view][is_present] @ coef.T + intercept
        ours = decisions[is_present, v]
        np.testing.assert_allclose(ours if n_classes == 3 else ours[:, None], expected)
    # weights of the views are equal here
    np.testing.assert_allclose(
        model.decision_function(data), np.nanmean(decisions, axis=1), atol=1e-9
    )
    assert model.kkt_residual_ < 1e-6
    assert model.n_iter_ >= 1
    assert model.score(data, y) > 0.6
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(data), model.decision_function(data))


@pytest.mark.parametrize("name", ALL)
def test_weights_and_threads(name):
    data, y = problem(n_classes=3, missing_rate=0.2, n_samples=60)
    weight = np.random.RandomState(0).randint(0, 4, size=len(y)).astype(float)
    rows = np.repeat(np.arange(len(y)), weight.astype(int))
    model = clone(ALL[name])
    once = clone(model).fit(data, y, sample_weight=weight).decision_function(data)
    again = clone(model).fit(data[rows], y[rows]).decision_function(data)
    np.testing.assert_allclose(once, again, atol=1e-6)


@pytest.mark.parametrize("name", ALL)
def test_storage(name):
    data, y = problem(sparsity=0.5, n_views=2)
    dense = {view: X.toarray() for view, X in data.items()}
    single = {view: X.astype(np.float32) for view, X in dense.items()}
    for X in dense.values():
        X.flags.writeable = False
    expected = clone(ALL[name]).fit(data, y).decision_function(data)
    ours = clone(ALL[name]).fit(dense, y)
    np.testing.assert_allclose(ours.decision_function(dense), expected, atol=1e-6)
    ours = clone(ALL[name]).fit(single, y)
    np.testing.assert_allclose(ours.decision_function(single), expected, atol=1e-3)


def test_combine():
    data, y = problem(strength=[0.0, 3.0, 0.5], n_samples=200)
    mean = SMVMEDClassifier().fit(data, y)
    assert mean.best_view_ is None
    assert mean.view_weights_.argmax() == 1
    assert mean.view_weights_.sum() == pytest.approx(1)
    best = SMVMEDClassifier(combine="best").fit(data, y)
    assert best.best_view_ == "view1"
    assert best.view_scores_.argmax() == 1
    named = SMVMEDClassifier(combine="view1").fit(data, y)
    for model in (best, named):
        assert model.view_weights_.tolist() == [0, 1, 0]
        decisions = model.view_decision_function(data)
        np.testing.assert_array_equal(model.decision_function(data), decisions[:, 1])
        without = model.decision_function(data.select(["view0", "view2"]))
        np.testing.assert_allclose(without, decisions[:, [0, 2]].mean(axis=1))


def test_combine_best_considers_the_mean():
    # views of equal strength with independent noise: together they are better than any of them
    data, y = problem(strength=[1.0, 1.0, 1.0], n_samples=300)
    best = SMVMEDClassifier(combine="best").fit(data, y)
    assert best.best_view_ is None
    assert best.view_scores_.shape == (3,)
    mean = SMVMEDClassifier().fit(data, y)
    np.testing.assert_array_equal(best.decision_function(data), mean.decision_function(data))
    assert (best.view_weights_ > 0).all()


def test_best_view_of_few_rows():
    """Scores are of rows left out, also if a class has one row only or there is one view."""
    rng = np.random.RandomState(0)
    noise = MultiViewData({"a": rng.randn(60, 50), "b": rng.randn(60, 20)})
    y = np.arange(60) % 2
    for classes in (y, np.where(np.arange(60) == 7, 2, y)):
        for data in (noise, noise.select(["a"])):
            model = SMVMEDClassifier(combine="best").fit(data, classes)
            assert (model.view_scores_ < 0.75).all()
    assert not hasattr(model.set_params(combine="mean").fit(noise, y), "view_scores_")
    with pytest.raises(ValueError, match="two classes need two rows or more"):
        SMVMEDClassifier(combine="best").fit(noise[:10], (np.arange(10) == 0).astype(int))


@pytest.mark.parametrize("name", ALL)
def test_view_that_no_training_row_has(name):
    data, y = problem(n_views=2)
    present = np.c_[np.ones(90, bool), np.zeros(90, bool)]
    half = MultiViewData(dict(data.items()), present=present)
    with pytest.warns(UserWarning, match="'view1' are present in no training row"):
        model = clone(ALL[name]).fit(half, y)
    decision = model.decision_function(data)
    np.testing.assert_allclose(decision, model.view_decision_function(data)[:, 0])
    assert model.view_weights_.tolist() == [1, 0]
    only = data.select(["view1"])
    assert np.isfinite(model.decision_function(only)).all()
    assert (model.predict(only) == model.classes_[model.class_prior_.argmax()]).all()


def test_cross_validation_chooses():
    data, y = problem(n_samples=120, n_classes=3, missing_rate=0.1)
    cs, alphas = [4.0, 0.25, 1.0], [0.5, 0.0]
    model = SMVMEDClassifierCV(cs, alphas=alphas, cv=3).fit(data, y)
    assert model.scores_.shape == (3, 2, 3)
    assert model.c_ in cs
    assert model.alpha_ in alphas
    assert model.best_score_ == pytest.approx(model.scores_.mean(axis=0).max())
    ascending = SMVMEDClassifierCV([0.25, 1.0, 4.0], alphas=[0.0, 0.5], cv=3).fit(data, y)
    assert (model.c_, model.alpha_) == (ascending.c_, ascending.alpha_)
    np.testing.assert_array_equal(model.scores_, ascending.scores_[:, [1, 0]][:, :, [2, 0, 1]])
    refit = SMVMEDClassifier(model.c_, alpha=model.alpha_).fit(data, y)
    np.testing.assert_allclose(
        model.decision_function(data), refit.decision_function(data), atol=1e-7
    )


def test_warm_path_scores_equal_cold_fits():
    data, y = problem(n_samples=120)
    rng = np.random.RandomState(0).permutation(120)
    splits = [(rng[:80], rng[80:]), (rng[40:], rng[:40])]
    cs, alphas = [0.25, 1.0, 16.0], [0.0, 0.7]
    model = SMVMEDClassifierCV(cs, alphas=alphas, cv=splits, n_jobs=2).fit(data, y)
    for k, (train, test) in enumerate(splits):
        for i, alpha in enumerate(alphas):
            for j, c in enumerate(cs):
                cold = SMVMEDClassifier(c, alpha=alpha).fit(data[train], y[train])
                assert model.scores_[k, i, j] == pytest.approx(cold.score(data[test], y[test]))


def test_alpha_one_is_refused_with_the_reason():
    data, y = problem()
    with pytest.raises(ValueError, match="coefficients are all 0"):
        SMVMEDClassifier(alpha=1).fit(data, y)
    with pytest.raises(
        ValueError, match=r"'alpha' parameter .* must be a float in the range \[0.0, 1.0\)"
    ):
        SMVMEDClassifier(alpha=1.5).fit(data, y)
    with pytest.warns(UserWarning, match="close to 1"):
        SMVMEDClassifier(alpha=0.995).fit(data, y)


def test_warning_with_advice():
    data, y = problem(strength=0.1, n_samples=300)
    with pytest.warns(ConvergenceWarning, match="raise max_iter .*StandardScaler"):
        SMVMEDClassifier(8.0, solver="alternation", max_iter=1).fit(data, y)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        SVM2KClassifier(max_iter=2).fit(data, y)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (SMVMEDClassifier(0), r"'c' parameter of SMVMEDClassifier must be a float in .* Got 0"),
        (
            SMVMEDClassifier(solver="sgd"),
            "'solver' parameter of SMVMEDClassifier must be a str among",
        ),
        (SMVMEDClassifier(combine="worst"), "combine must be 'mean', 'best' or one of the views"),
        (SMVMEDClassifier(tol=0), "'tol' parameter"),
        (SMVMEDClassifier(max_iter=0), "'max_iter' parameter"),
        (SMVMEDClassifier(max_iter=True), "'max_iter' parameter"),
        (SMVMEDClassifierCV([]), "'cs' parameter of SMVMEDClassifierCV must be a non-empty list"),
        (SMVMEDClassifierCV([1, -1]), r"each element a float in the range \[1e-100, 1e\+100\]"),
        (SMVMEDClassifierCV(alphas=[1.0]), "at alpha = 1 slacks that agree cost nothing"),
        (MVMEDClassifier("2"), "'c' parameter of MVMEDClassifier must be a float .* Got '2'"),
        (MVMEDClassifier(prior="flat"), "'prior' parameter .* must be a str among"),
        (MVMEDClassifier(1.0, prior="exponential"), "c must be above 1"),
        (AMVMEDClassifier(form="three-step"), "'form' parameter .* must be a str among"),
        (AMVMEDClassifier(rho=[1.5, -0.5, 0]), "'rho' parameter of AMVMEDClassifier must be"),
        (AMVMEDClassifier(rho=0.5), "rho must be 3 positive weights with sum 1"),
        (AMVMEDClassifier(rho=[0.5, 0.5, 0.5]), "rho must be 3 positive weights with sum 1"),
        (AMVMEDClassifier(rho=[0.5, 0.5]), "rho must be 3 positive weights with sum 1"),
        (AMVMEDClassifier(rho=[0.25] * 4), "rho must be 3 positive weights with sum 1"),
        (SVM2KClassifier(-1), r"'C' parameter .* must be a float in the range \[1e-100, "),
        (SVM2KClassifier({"view0": 1.0}), "C must have one entry for each of the views"),
        (SVM2KClassifier(D=0), "'D' parameter"),
        (SVM2KClassifier(epsilon=-0.1), r"'epsilon' parameter .* in the range \[0.0, 1e\+100\]"),
    ],
    ids=str,
)
def test_parameters(model, message):
    data, y = problem()
    with pytest.raises(ValueError, match=message):
        model.fit(data, y)


@pytest.mark.parametrize("prior", ["gaussian", "exponential"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_weights_of_zero_and_one_leave_a_view_out(prior, kernel):
    data, y = make_multiview_classification(60, n_views=2, strength=1.5, random_state=0)
    settings = {"prior": prior, "form": "two-step", "kernel": kernel}
    one = AMVMEDClassifier(2.0, rho=1.0, **settings).fit(data, y)
    almost = AMVMEDClassifier(2.0, rho=1 - 1e-9, **settings).fit(data, y)
    np.testing.assert_allclose(
        one.view_decision_function(data), almost.view_decision_function(data), atol=1e-3
    )
    first = data.select(data.view_names[:1])
    alone = AMVMEDClassifier(2.0, **settings).fit(first, y)
    np.testing.assert_allclose(
        one.decision_function(data), alone.decision_function(first), atol=1e-3
    )
    with pytest.raises(ValueError, match="form='exact' divides by rho"):
        AMVMEDClassifier(rho=0.0, prior=prior, kernel=kernel).fit(data, y)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_named_view_of_weight_zero_decides(kernel):
    data, y = make_multiview_classification(60, n_views=2, strength=1.5, random_state=0)
    model = AMVMEDClassifier(rho=1.0, form="two-step", kernel=kernel, combine="view1").fit(data, y)
    np.testing.assert_array_equal(
        model.decision_function(data), model.view_decision_function(data)[:, 1]
    )
    without = data.select(["view0"])
    np.testing.assert_array_equal(
        model.decision_function(without), model.view_decision_function(without)[:, 0]
    )
