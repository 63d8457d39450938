"""MVL-SVM and its projector as estimators: landmarks, kernels, missing views, bound, parameters."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import chi2_kernel, cosine_similarity, euclidean_distances, rbf_kernel
from sklearn.metrics.pairwise import laplacian_kernel as laplacian

from common.carriers import carriers
from consilience import MultiViewData
from consilience.datasets import load_digits_views, make_multiview_classification
from consilience.landmark import LandmarkProjector, MVLSVMClassifier
from consilience.landmark._bound import hoeffding_interval, stability_bound
from reference.landmark import similarities

CARRIERS = carriers()


def problem(**settings):
    settings = {"n_samples": 150, "n_classes": 3, "strength": 3.0, "random_state": 0, **settings}
    return make_multiview_classification(**settings)


def as_positive(data):
    return MultiViewData({name: np.abs(X) for name, X in data.items()})


@pytest.mark.parametrize("landmarks", ["kmeans", "random"])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_order_of_views_permutes_blocks(landmarks, missing):
    data, _ = problem(missing_rate=missing)
    turned = data.select(["view2", "view0", "view1"])
    settings = {"n_landmarks": 10, "landmarks": landmarks, "random_state": 0}
    one, other = (LandmarkProjector(**settings).fit(d) for d in (data, turned))
    M, N = one.transform(data), other.transform(turned)
    for name in data.view_names:
        is_present = data.present[:, data.view_names.index(name)]
        np.testing.assert_array_equal(
            M[:, one.block_slices_[name]], N[:, other.block_slices_[name]]
        )
        assert np.isnan(M[~is_present, one.block_slices_[name]]).all()
        assert np.isfinite(M[is_present, one.block_slices_[name]]).all()


def test_similarities_are_what_they_are_said_to_be():
    data, _ = problem(n_samples=40)
    chosen = data[[3, 7, 11]]
    M = LandmarkProjector(landmarks=chosen, gamma="auto").fit(data).transform(data)
    Xs, Zs = ([X for _, X in d.items()] for d in (data, chosen))
    np.testing.assert_allclose(M, similarities(Xs, Zs, [0.1] * 3), atol=1e-12)


@pytest.mark.parametrize(
    ("kernel", "function"),
    [
        ("linear", lambda X, Z: X @ Z.T),
        ("cosine", cosine_similarity),
        ("laplacian", lambda X, Z: laplacian(X, Z, gamma=0.2)),
        ("chi2", lambda X, Z: chi2_kernel(X, Z, gamma=0.2)),
        (lambda X, Z: 1 / (1 + euclidean_distances(X, Z)),) * 2,
    ],
    ids=["linear", "cosine", "laplacian", "chi2", "callable"],
)
def test_kernels(kernel, function):
    data = as_positive(problem(n_samples=50)[0])
    projector = LandmarkProjector(landmarks=data[:6], kernel=kernel, gamma=0.2).fit(data)
    expected = np.hstack([function(X, X[:6]) for _, X in data.items()])
    np.testing.assert_allclose(projector.transform(data), expected, atol=1e-10)
    sparse = MultiViewData({name: sp.csr_array(X) for name, X in data.items()})
    if isinstance(kernel, str):
        again = clone(projector).fit(sparse)
        np.testing.assert_allclose(again.transform(sparse), expected, atol=1e-10)


def test_kernel_and_gamma_of_each_view():
    data, y = problem()
    model = MVLSVMClassifier(
        {"view0": 5, "view1": 7, "view2": 9},
        kernel={"view0": "linear", "view1": "rbf", "view2": "cosine"},
        gamma={"view0": "auto", "view1": 0.3, "view2": "scale"},
        random_state=0,
    ).fit(data, y)
    assert [s.stop - s.start for s in model.block_slices_.values()] == [5, 7, 9]
    assert model.coef_.shape == (3, 21)
    assert model.score(data, y) > 0.8


@pytest.mark.parametrize("landmarks", ["kmeans", "random"])
def test_few_distinct_rows_are_the_landmarks(landmarks):
    X = np.random.RandomState(0).randint(0, 3, size=(200, 1)).astype(float)
    projector = LandmarkProjector(50, landmarks=landmarks, random_state=0).fit([X, X + X**2])
    assert projector.block_slices_ == {"view0": slice(0, 3), "view1": slice(3, 6)}
    blocks = projector.transform([X, X + X**2])
    np.testing.assert_allclose(blocks[:, :3], rbf_kernel(X, [[0.0], [1.0], [2.0]], gamma=1.0))


def test_random_landmarks_have_all_views():
    data, _ = problem(missing_rate=0.3)
    projector = LandmarkProjector(8, landmarks="random", random_state=0).fit(data)
    P = projector.transform(data[data.present.all(axis=1)])
    # each of them is 1 to itself in all views
    assert ((P > 1 - 1e-12).reshape(len(P), 3, 8).all(axis=1)).sum() == 8


@pytest.mark.parametrize("kind", ["kernel", "distance"])
@pytest.mark.parametrize("landmarks", ["kmeans", "random"])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_pairwise_views(kind, landmarks, missing):
    data, y = problem(missing_rate=missing, n_views=2)
    values = [np.nan_to_num(X) for _, X in data.items()]
    distances = [euclidean_distances(X, squared=True) for X in values]
    matrices = distances if kind == "distance" else [np.exp(-0.1 * D) for D in distances]
    pairs = MultiViewData(
        dict(zip("ab", matrices, strict=True)),
        kinds=dict.fromkeys("ab", kind),
        present=data.present,
    )
    train, test = np.arange(100), np.arange(100, 150)
    model = MVLSVMClassifier(20, landmarks=landmarks, gamma="auto", random_state=0)
    model.fit(pairs[train], y[train])
    assert model.coef_.shape == (3, 40)
    assert model.score(pairs[test], y[test]) > 0.6
    if kind == "distance" and missing == 0:
        # the scale is the mean over the training block only
        for kernel, D in zip(model._projection.kernels, distances, strict=True):
            assert kernel.gamma == pytest.approx(1 / D[:100, :100].mean())


@pytest.mark.parametrize("imputation", ["em", "ridge", "least_squares", "mean"])
def test_missing_views(imputation):
    data, y = problem(n_samples=400, missing_rate=0.3)
    model = MVLSVMClassifier(20, imputation=imputation, random_state=0)
    model.fit(data[:300], y[:300])
    assert model.score(data[300:], y[300:]) > 0.5
    rows = 300 + np.flatnonzero(data.present[300:, 1])
    assert np.isfinite(model.decision_function(data[rows].select(["view1"]))).all()


def test_row_without_views_gets_the_prior():
    data, y = problem()
    y = np.minimum(y, 1)
    model = MVLSVMClassifier(10, random_state=0).fit(data, y)
    present = np.ones((150, 3), dtype=bool)
    present[4] = False
    with pytest.warns(UserWarning, match="1 rows have no view at all.*rows 4"):
        decisions = model.decision_function(MultiViewData(dict(data.items()), present=present))
    assert decisions[4] == pytest.approx(model.class_prior_[1] - model.class_prior_[0])


def test_view_that_no_training_row_has():
    data, y = problem(n_views=2)
    present = np.c_[np.ones(150, bool), np.zeros(150, bool)]
    half = MultiViewData(dict(data.items()), present=present)
    with pytest.warns(UserWarning, match="'view1' are present in no training row"):
        model = MVLSVMClassifier(10, random_state=0).fit(half, y)
    assert model.view_weights_.tolist() == [1, 0]
    alone = MVLSVMClassifier(10, random_state=0).fit(half.select(["view0"]), y)
    np.testing.assert_allclose(
        model.decision_function(data), alone.decision_function(data["view0"]), atol=1e-6
    )
    assert np.isfinite(model.decision_function(data.select(["view1"]))).all()


@pytest.mark.parametrize("kind", ["kernel", "distance"])
@pytest.mark.parametrize("n_landmarks", [10, 100])
def test_samples_of_a_pairwise_view_that_are_repeated(kind, n_landmarks):
    data, y = problem(n_samples=60, n_views=1)
    X = data["view0"]
    matrix = rbf_kernel(X, gamma=0.05) if kind == "kernel" else euclidean_distances(X)
    pairs = MultiViewData({"a": matrix}, kinds={"a": kind})
    rows = np.r_[np.arange(0, 60, 3), np.arange(60)]
    model = MVLSVMClassifier(n_landmarks, C=1.0, random_state=0)
    repeated = model.fit(pairs[rows], y[rows]).decision_function(pairs)
    assert model.coef_.shape[1] == min(n_landmarks, 60)
    # the order of the landmarks, and so the start of k-means, is that of the rows
    first = np.r_[np.arange(0, 60, 3), np.setdiff1d(np.arange(60), np.arange(0, 60, 3))]
    weight = np.where(first % 3 == 0, 2.0, 1.0)
    weighted = model.fit(pairs[first], y[first], weight).decision_function(pairs)
    np.testing.assert_allclose(repeated, weighted, atol=1e-8)
    model.set_params(landmarks="random", n_landmarks=50).fit(pairs[rows], y[rows])
    assert len(set(model._projection.kernels[0].reference.ids)) == 50


@pytest.mark.parametrize("imputation", ["em", "ridge", "least_squares", "none"])
@pytest.mark.parametrize("landmarks", ["kmeans", "random"])
def test_view_that_no_training_row_has_changes_no_imputation(imputation, landmarks):
    data, y = problem(missing_rate=0.3)
    present = data.present & [True, True, False]
    present[:, 0] |= ~present.any(axis=1)
    unseen = MultiViewData({n: np.nan_to_num(X) for n, X in data.items()}, present=present)
    known = unseen.select(["view0", "view1"])
    settings = {"n_landmarks": 8, "landmarks": landmarks, "imputation": imputation}
    model = MVLSVMClassifier(**settings, random_state=0)
    expected = model.fit(known, y).decision_function(known)
    with pytest.warns(UserWarning, match="'view2' are present in no training row"):
        model.fit(unseen, y)
    np.testing.assert_array_equal(model.decision_function(unseen), expected)


@pytest.mark.parametrize(
    "settings",
    [
        {"solver": "newton"},
        {"solver": "newton-cg"},
        {"solver": "liblinear"},
        {"loss": "hinge"},
        {"loss": "hinge", "solver": "liblinear", "tol": 1e-4},
        {"loss": "hinge", "fit_intercept": False},
        {"fit_intercept": False},
    ],
    ids=str,
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_solvers(settings, n_classes):
    data, y = problem(n_classes=n_classes, n_samples=240)
    model = MVLSVMClassifier(15, C=10.0, random_state=0, **settings).fit(data, y)
    assert model.score(data, y) > 0.85
    assert model.n_iter_ >= 1
    if not settings.get("fit_intercept", True):
        assert (model.intercept_ == 0).all()
    if settings.get("loss") != "hinge" and settings.get("fit_intercept", True):
        auto = MVLSVMClassifier(15, C=10.0, random_state=0).fit(data, y)
        tolerance = 0.05 if settings.get("solver") == "liblinear" else 1e-5
        np.testing.assert_allclose(
            model.decision_function(data), auto.decision_function(data), atol=tolerance
        )


def test_view_weights_are_norms():
    data, y = problem(strength=[0.0, 3.0, 0.5])
    model = MVLSVMClassifier(10, random_state=0).fit(data, y)
    norms = [np.linalg.norm(model.coef_[:, s]) for s in model.block_slices_.values()]
    np.testing.assert_allclose(model.view_weights_, norms / np.sum(norms))


def test_storage_and_types():
    data, y = problem(sparsity=0.6)
    dense = {name: X.toarray() for name, X in data.items()}
    for X in dense.values():
        X.flags.writeable = False
    model = MVLSVMClassifier(20, landmarks=data[:20])
    expected = clone(model).fit(data, y).decision_function(data)
    ours = clone(model).fit(dense, y)
    np.testing.assert_allclose(ours.decision_function(dense), expected, atol=1e-4)
    single = {name: X.astype(np.float32) for name, X in dense.items()}
    projector = LandmarkProjector(20, random_state=0).fit(single)
    assert projector.transform(single).dtype == np.float32
    ours = clone(model).fit(single, y)
    assert (ours.predict(single) == clone(model).fit(dense, y).predict(dense)).mean() > 0.97
    again = pickle.loads(pickle.dumps(ours))
    np.testing.assert_array_equal(again.decision_function(single), ours.decision_function(single))


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
def test_float32_far_from_the_origin(store):
    data, y = problem(n_views=1)
    X = (data["view0"] + 2000 * np.eye(10)[0]).astype(np.float32)
    model = MVLSVMClassifier(10, landmarks="random", random_state=0)
    exact = model.fit({"a": X.astype(float)}, y).decision_function({"a": X.astype(float)})
    ours = model.fit({"a": store(X)}, y).decision_function({"a": store(X)})
    np.testing.assert_allclose(ours, exact, atol=1e-2 * np.abs(exact).max())


def test_training_rows_are_not_kept():
    data, y = problem(n_samples=3000, n_features=20)
    small = MVLSVMClassifier(5, random_state=0).fit(data, y)
    assert len(pickle.dumps(small)) < 0.05 * data.to_array().nbytes


@pytest.mark.parametrize("landmarks", ["kmeans", "random"])
def test_values_that_overflow(landmarks):
    data, y = problem()
    huge = {name: X * 1e200 for name, X in data.items()}
    model = MVLSVMClassifier(10, landmarks=landmarks, random_state=0)
    with pytest.raises(ValueError, match=r"view 'view0' has values too large, .* in row 0; scale"):
        model.fit(huge, y)
    sparse = np.ones((150, 2))
    sparse[:, 0] = np.arange(150)
    sparse[7, 1] = -1e200
    with pytest.raises(ValueError, match=r"view 'view0' has values too large, .* in row 7; scale"):
        model.fit([sp.csr_array(sparse), data["view1"]], y)
    with pytest.raises(ValueError, match=r"view 'view0' has values too large.*MaxAbsScaler"):
        MVLSVMClassifier(10, kernel="linear", landmarks=huge).fit(huge, y)


def test_default_gamma_suits_unscaled_views():
    digits = load_digits_views()
    views = {name: X * 100 for name, X in digits.data.items()}
    train, test = slice(0, 1000), slice(1000, None)
    accuracy = {}
    for gamma in ("auto", "median"):
        model = MVLSVMClassifier(50, gamma=gamma, random_state=0)
        model.fit({name: X[train] for name, X in views.items()}, digits.target[train])
        accuracy[gamma] = model.score(
            {name: X[test] for name, X in views.items()}, digits.target[test]
        )
    assert accuracy["auto"] < 0.5  # similarities of unscaled columns are all 0
    assert accuracy["median"] > 0.9
    assert MVLSVMClassifier().gamma == LandmarkProjector().gamma == "median"


@pytest.mark.parametrize("dtype", [np.float16, np.longdouble, np.int8, bool])
def test_odd_types(dtype):
    data, y = problem()
    odd = {name: np.clip(4 * X, 0, 100).astype(dtype) for name, X in data.items()}
    model = MVLSVMClassifier(10, random_state=0).fit(odd, y)
    double = {name: X.astype(np.float64) for name, X in odd.items()}
    np.testing.assert_allclose(
        model.decision_function(odd),
        clone(model).fit(double, y).decision_function(double),
        atol=1e-6,
    )


def test_views_that_say_nothing():
    _, y = problem(n_classes=2)
    model = MVLSVMClassifier(random_state=0).fit([np.ones((150, 2)), np.zeros((150, 1))], y)
    assert len(set(model.decision_function([np.ones((3, 2)), np.zeros((3, 1))]))) == 1


@pytest.mark.parametrize("carrier", CARRIERS)
def test_projector_takes_every_carrier(carrier):
    X, views, _ = CARRIERS[carrier]
    projector = LandmarkProjector(9, views=views, random_state=0)
    M = projector.fit_transform(X)
    assert M.shape == (60, 18)
    is_present = getattr(X, "present", np.ones((60, 2), dtype=bool))
    np.testing.assert_array_equal(np.isfinite(M), np.repeat(is_present, 9, axis=1))
    select_views = X[10:20] if not hasattr(X, "iloc") else X.iloc[10:20]
    np.testing.assert_allclose(
        clone(projector).fit(X).transform(select_views), M[10:20], atol=1e-12
    )


def test_feature_names():
    data, _ = problem()
    projector = LandmarkProjector(2, random_state=0).fit(data)
    names = ["view0_landmark0", "view0_landmark1", "view1_landmark0"]
    assert projector.get_feature_names_out()[:3].tolist() == names


def test_projector_weights():
    data, _ = problem(n_samples=60)
    weight = np.r_[np.zeros(30), np.ones(30)]
    one = LandmarkProjector(5, random_state=0).fit(data, sample_weight=weight)
    other = LandmarkProjector(5, random_state=0).fit(data[30:])
    np.testing.assert_allclose(one.transform(data), other.transform(data))


# -- the bound ----------------------------------------------------------------------------------


def bounded(**settings):
    data, y = problem(n_samples=300, n_classes=2)
    settings = {
        "landmarks": data[:5],
        "gamma": "auto",
        "loss": "hinge",
        "fit_intercept": False,
        "C": 0.1,
        **settings,
    }
    model = MVLSVMClassifier(**settings)
    return model, data[5:200], y[5:200], data[200:], y[200:]


def test_bound_is_the_formula():
    model, data, y, test, y_test = bounded()
    solution = model.fit(data, y).generalization_bound(0.1, test, y_test)
    n, c, p = 195, 0.1, 15
    signs = np.where(y == model.classes_[1], 1, -1)
    loss = np.maximum(0, 1 - signs * model.decision_function(data)).mean()
    spread = (4 * c * p + 1 + np.sqrt(2 * c * p)) * np.sqrt(np.log(10) / (2 * n))
    assert solution.bound == pytest.approx(loss + 2 * c * p / n + spread)
    assert solution.training_loss == pytest.approx(loss)
    assert solution.vacuous == (solution.bound > 1)
    assert solution.error == pytest.approx(1 - model.score(test, y_test))
    low, high = solution.error_interval
    assert low <= solution.error <= high
    assert high - solution.error == pytest.approx(np.sqrt(np.log(20) / 200))
    assert "vacuous" in str(solution)
    assert "held-out" in str(solution)


def test_held_out_labels_as_a_column():
    model, data, y, test, y_test = bounded()
    model.fit(data, y)
    expected = model.generalization_bound(X=test, y=y_test)
    assert model.generalization_bound(X=test, y=y_test[:, None]).error == expected.error
    assert model.generalization_bound(X=test, y=model.predict(test)).error == 0
    with pytest.raises(ValueError, match="99"):
        model.generalization_bound(X=test, y=y_test[1:])


def test_bound_of_a_tiny_c_says_something():
    assert stability_bound(0.5, 10**6, 0.01, 10, 0.05) < 1
    assert hoeffding_interval(0.0, 50, 0.05)[0] == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"loss": "squared_hinge"}, "loss='hinge'"),
        ({"fit_intercept": True}, "fit_intercept=False"),
        ({"landmarks": "random"}, "landmarks that were given"),
        ({"kernel": "linear"}, "one of the kernels"),
        ({"gamma": "median"}, "gamma as a number or 'auto'"),
        ({"gamma": {"view0": 0.1, "view1": "scale", "view2": 1}}, "gamma as a number or 'auto'"),
        ({"class_weight": {0: 2.0}}, "without weights"),
    ],
    ids=str,
)
def test_bound_only_where_it_holds(settings, message):
    model, data, y, _, _ = bounded(**settings)
    with pytest.raises(ValueError, match=f"the bound does not hold here.*{message}"):
        model.fit(data, y).generalization_bound()


def test_bound_of_a_kernel_without_gamma():
    model, data, y, _, _ = bounded(kernel="cosine", gamma="median")
    assert model.fit(data, y).generalization_bound().bound > 0


# -- parameters ---------------------------------------------------------------------------------

DATA = problem()[0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_landmarks": 0}, "'n_landmarks' parameter of MVLSVMClassifier must be an int .* Got 0"),
        ({"n_landmarks": {"view0": 3}}, "n_landmarks must have one entry for each of the views"),
        ({"landmarks": "grid"}, "'landmarks' parameter .* Got 'grid' instead"),
        ({"landmarks": None}, "'landmarks' parameter .* Got None instead"),
        ({"landmarks": {"view0": DATA["view0"]}}, "landmarks lack the views 'view1', 'view2'"),
        ({"landmarks": [DATA["view0"][:, :4]] * 3}, "view 'view0' has 4 columns, but had 10"),
        ({"kernel": "gauss"}, "'kernel' parameter .* Got 'gauss' instead"),
        ({"gamma": -1}, "'gamma' parameter .* Got -1 instead"),
        ({"C": 0}, "'C' parameter .* Got 0 instead"),
        ({"tol": "small"}, "'tol' parameter .* Got 'small' instead"),
        ({"max_iter": 0}, "'max_iter' parameter .* Got 0 instead"),
        ({"loss": "log"}, "'loss' parameter .* Got 'log' instead"),
        (
            {"solver": "interior-point"},
            "'solver' parameter .* auto, newton, newton-cg, liblinear for loss",
        ),
        (
            {"loss": "hinge", "solver": "newton"},
            "'solver' parameter .* auto, interior-point, gram, liblinear for loss",
        ),
        ({"imputation": "zero"}, "'imputation' parameter .* Got 'zero' instead"),
    ],
    ids=str,
)
def test_parameters(settings, message):
    data, y = problem()
    with pytest.raises(ValueError, match=message):
        MVLSVMClassifier(**settings).fit(data, y)


def test_chi2_of_negative_values_names_the_view():
    data, y = problem()
    with pytest.raises(ValueError, match="view 'view0'"):
        MVLSVMClassifier(kernel="chi2").fit(data, y)


def test_too_few_steps_are_told():
    data, y = problem(strength=0.3, n_samples=300)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        MVLSVMClassifier(30, C=1e6, max_iter=1, random_state=0).fit(data, y)


def test_delta():
    model, data, y, _, _ = bounded()
    with pytest.raises(ValueError, match="delta must be a float in the range"):
        model.fit(data, y).generalization_bound(1.5)


def test_projector_without_any_view():
    data, _ = problem(n_samples=20)
    nothing = MultiViewData(dict(data.items()), present=np.zeros((20, data.n_views), dtype=bool))
    with pytest.raises(ValueError, match="no training row has any view"):
        LandmarkProjector().fit(nothing)


def test_iterations_of_the_hinge_loss_are_limited():
    data, y = problem(n_samples=60)
    with pytest.warns(ConvergenceWarning, match=r"raise max_iter \(now 2\)"):
        model = MVLSVMClassifier(10, loss="hinge", max_iter=2, random_state=0).fit(data, y)
    assert model.n_iter_ == 2


def test_bound_refuses_labels_in_another_order():
    pd = pytest.importorskip("pandas")
    data, y = problem(n_samples=60, n_classes=2)
    frames = {name: pd.DataFrame(np.asarray(X)) for name, X in data.items()}
    settings = {"gamma": "auto", "loss": "hinge", "fit_intercept": False}
    model = MVLSVMClassifier(landmarks=data[:5], C=1.0, **settings).fit(data, y)
    labels = pd.Series(y, index=np.arange(60))[::-1]
    with pytest.raises(ValueError, match="order"):
        model.generalization_bound(X=frames, y=labels)
