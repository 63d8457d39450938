"""Fusion from blocks: classifiers with partial_fit, logistic regression, and our own."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, Normalizer, StandardScaler
from sklearn.svm import SVC

from consilience import ConsilienceClassifier, MultiViewData
from consilience._solvers.logistic import logistic_sums, minimise_logistic
from consilience._training import TrainingRows
from consilience.distributed import BlockSequence
from consilience.fusion import (
    BestViewClassifier,
    EarlyFusionClassifier,
    LateFusionClassifier,
    StackingFusionClassifier,
    _stacking,
)
from consilience.fusion._block_learners import NumberedRows, left_out_rows
from consilience.margin import SMVMEDClassifier
from reference.blocks import make


def cut(data, y, weight=None, rows=90):
    return BlockSequence.cut(data, y, weight, rows=rows)


def exact():
    """Logistic regression that scikit-learn solves to the end, on scaled columns."""
    scaler = StandardScaler(with_mean=False)
    return make_pipeline(scaler, LogisticRegression(tol=1e-12, max_iter=5000, C=0.5))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_logistic_regression_by_sums_is_that_of_memory(n_classes):
    data, y, weight = make(400, n_classes)
    for model in (LateFusionClassifier(exact()), EarlyFusionClassifier(exact())):
        expected = model.fit(data, y, weight).predict_proba(data)
        result = model.fit(cut(data, y, weight)).predict_proba(data)
        np.testing.assert_allclose(result, expected, atol=1e-5)
    # the default, whose solver in memory stops earlier
    model = EarlyFusionClassifier(class_weight="balanced")
    expected = model.fit(data, y, weight).predict_proba(data)
    np.testing.assert_allclose(
        model.fit(cut(data, y, weight)).predict_proba(data), expected, atol=5e-3
    )


def test_newton_against_finite_differences():
    rng = np.random.RandomState(0)
    X, codes, weight = rng.randn(30, 3), rng.randint(3, size=30), rng.rand(30)
    theta, move = rng.randn(4, 3), rng.randn(4, 3)
    _, gradient, hessian = logistic_sums(X, codes, weight, theta, 3)
    step = 1e-6
    ahead, behind = (
        logistic_sums(sp.csr_array(X), codes, weight, theta + sign * step * move, 3)
        for sign in (1, -1)
    )
    assert (ahead[0] - behind[0])[0] / (2 * step) == pytest.approx((gradient * move).sum())
    change = (ahead[1] - behind[1]).T.ravel() / (2 * step)
    np.testing.assert_allclose(hessian @ move.T.ravel(), change, rtol=1e-5, atol=1e-7)
    sums = [(X, codes, weight), (X[:20], codes[:20], weight[:20])]
    both = minimise_logistic(
        lambda which, thetas: [
            logistic_sums(*sums[j], t, 3) for j, t in zip(which, thetas, strict=True)
        ],
        [(4, 3), (4, 3)],
        [1.0, 100.0],
    )
    for (theta, n_iter), rows, C in zip(both, sums, [1.0, 100.0], strict=True):
        _, gradient, _ = logistic_sums(*rows, theta, 3)
        gradient[:-1] += theta[:-1] / C
        assert np.abs(gradient).max() < 1e-6
        assert n_iter < 20


def test_partial_fit_sees_each_block_in_order():
    data, y, weight = make(500)
    for member, select in ((GaussianNB(), ["a", "b"]), (MultinomialNB(), ["c"])):
        model, part = LateFusionClassifier(member), data.select(select)
        keep = part.present.any(axis=1)
        part, own_y, own_weight = part[keep], y[keep], weight[keep]
        expected = model.fit(part, own_y, own_weight).predict_proba(part)
        result = model.fit(cut(part, own_y, own_weight)).predict_proba(part)
        np.testing.assert_allclose(result, expected, atol=1e-6)


def test_stochastic_gradients_with_scaling():
    data, y, weight = make(900)
    member = make_pipeline(MaxAbsScaler(), Normalizer(), SGDClassifier(random_state=0))
    for model in (LateFusionClassifier(member, voting="sum"), EarlyFusionClassifier(member)):
        first = model.fit(cut(data, y, weight)).decision_function(data)
        again = model.fit(cut(data, y, weight)).decision_function(data)
        np.testing.assert_array_equal(first, again)
        assert model.score(data, y) > 0.6
    scaler = model.estimator_[0]
    whole = MaxAbsScaler().fit(np.nan_to_num(data["a"][data.present[:, 0] & (weight > 0)]))
    np.testing.assert_allclose(scaler.max_abs_[:5], whole.max_abs_)


def test_sparse_views_stay_sparse():
    data, y, _ = make(300)
    narrow = MultiViewData({"c": data["c"]}, present=data.present[:, 2:])[data.present[:, 2]]
    own_y = y[data.present[:, 2]]
    model = EarlyFusionClassifier(SGDClassifier(random_state=0)).fit(cut(narrow, own_y))
    assert model._sparse == EarlyFusionClassifier(SGDClassifier()).fit(narrow, own_y)._sparse


@pytest.mark.parametrize("cv", [3, 0.3])
def test_stacking_and_best_view(cv, monkeypatch):
    data, y, weight = make(700)
    for model in (
        StackingFusionClassifier(exact(), cv=cv),
        BestViewClassifier(exact(), cv=cv, random_state=0),
    ):
        in_memory = model.fit(data, y, weight).score(data, y)
        first = model.fit(cut(data, y, weight, rows=90)).predict_proba(data)
        assert model.score(data, y) == pytest.approx(in_memory, abs=0.03)
        again = model.fit(cut(data, y, weight, rows=260)).predict_proba(data)
        np.testing.assert_allclose(first, again, atol=1e-6)
    assert model.best_view_ == "a"
    assert model.view_scores_.argmax() == 0
    monkeypatch.setattr(_stacking, "MAX_FINAL_ROWS", 150)
    model = StackingFusionClassifier(exact(), cv=cv).fit(cut(data, y, weight))
    assert model.score(data, y) > 0.65


def test_groups_are_left_out_together():
    rng = np.random.RandomState(0)
    groups = np.repeat([f"p{k}" for k in range(80)], 5)
    y = np.repeat(np.arange(80) % 2, 5)
    noise = rng.randn(80, 60)[np.repeat(np.arange(80), 5)]  # tells the patient, not the class
    views = {"a": noise, "b": rng.randn(400, 2) + 1.5 * y[:, None]}
    data = MultiViewData(views, groups=groups)
    # a single neighbour would know the patient: logistic regression without a penalty nearly does
    model = BestViewClassifier(LogisticRegression(C=1e4, max_iter=5000), cv=4)
    assert model.fit(cut(data, y)).best_view_ == "b"
    assert model.view_scores_[0] < 0.7
    assert model.fit(cut(data.with_groups(None), y)).view_scores_[0] > 0.7


def test_own_classifiers_as_members():
    data, y, weight = make(400)
    for member in (SMVMEDClassifier(), ConsilienceClassifier(10, random_state=0)):
        model = LateFusionClassifier({"a": member, "b": member, "c": member}, voting="hard")
        expected = model.fit(data, y, weight).predict(data)
        np.testing.assert_array_equal(model.fit(cut(data, y, weight)).predict(data), expected)
    model = EarlyFusionClassifier(SMVMEDClassifier())
    expected = model.fit(data, y, weight).decision_function(data)
    result = model.fit(cut(data, y, weight)).decision_function(data)
    np.testing.assert_allclose(result, expected, atol=1e-4)


def test_views_of_one_class_or_none_do_not_vote():
    data, y, _ = make(200, 2)
    present = data.present.copy()
    present[:, 0] = True
    present[:, 1] = False
    present[:, 2] &= y == "no"
    data = MultiViewData(dict(data.items()), present=present)
    model = LateFusionClassifier(GaussianNB())
    with (
        pytest.warns(UserWarning, match="view 'b' is present in no"),
        pytest.warns(UserWarning, match="view 'c' is present in training rows of only one class"),
    ):
        model.fit(cut(data, y))
    assert list(model.estimators_) == ["a"]


def test_dask_arrays():
    da = pytest.importorskip("dask.array")
    distributed = pytest.importorskip("distributed")
    data, y, weight = make(300)
    data = data.select(["a", "b"])[data.present[:, :2].any(axis=1)]
    y, weight = make(300)[1][: len(data)], weight[: len(data)]
    views = {name: da.from_array(X, chunks=(70, -1)) for name, X in data.items()}
    lazy = MultiViewData(views, present=data.present)
    models = [
        LateFusionClassifier(make_pipeline(StandardScaler(), GaussianNB())),
        StackingFusionClassifier(exact(), cv=2),
        EarlyFusionClassifier(SMVMEDClassifier()),
    ]
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
    )
    with cluster, distributed.Client(cluster):
        far = [model.fit(lazy, y, weight).decision_function(data) for model in models]
    for model, result in zip(models, far, strict=True):
        expected = model.fit(cut(data, y, weight, rows=70)).decision_function(data)
        np.testing.assert_allclose(result, expected, atol=1e-6)


def test_errors():
    data, y, weight = make(100)
    blocks = cut(data, y, weight)
    with pytest.raises(TypeError, match=r"cannot fit SVC on view 'b' from blocks.*partial_fit"):
        LateFusionClassifier({"a": None, "b": SVC(), "c": None}).fit(blocks)
    with pytest.raises(TypeError, match="cannot fit PCA on all views from blocks"):
        EarlyFusionClassifier(make_pipeline(PCA(), SGDClassifier())).fit(blocks)
    with pytest.raises(TypeError, match="does not support splitters"):
        StackingFusionClassifier(cv=[(np.arange(9), np.arange(9, 19))]).fit(blocks)
    wide = {"a": np.zeros((10, 3000)), "b": np.zeros((10, 2))}
    with pytest.raises(ValueError, match=r"3001 parameters, but blocks support 2000.*SGDClass"):
        EarlyFusionClassifier().fit(BlockSequence([({"a": wide["a"]}, np.arange(10) % 2)]))
    with pytest.raises(ValueError, match=r"data in blocks need linear kernels"):
        LateFusionClassifier(SMVMEDClassifier(kernel="rbf")).fit(blocks)


def test_views_of_different_blocks():
    data, y, _ = make(200, 2)
    names = data.view_names[:2]
    present = np.repeat(np.eye(2, dtype=bool), 100, axis=0)
    half = MultiViewData({name: data[name] for name in names}, present=present)
    model = LateFusionClassifier(exact())
    expected = model.fit(half, y).predict_proba(half)
    result = model.fit(cut(half, y, rows=100)).predict_proba(half)
    np.testing.assert_allclose(result, expected, atol=1e-5)


def test_logistic_regression_without_a_penalty_needs_memory():
    data, y, _ = make(100, 2)
    with pytest.raises(TypeError, match="with an L2 penalty"):
        LateFusionClassifier(LogisticRegression(C=np.inf)).fit(cut(data, y))


def test_groups_of_several_types_stay_together():
    rows = TrainingRows(
        MultiViewData({"a": np.zeros((4, 1))}, groups=np.array(["x", 3, 3.0, "x"], dtype=object)),
        np.zeros(4, dtype=int),
        np.ones(4),
    )
    floats = TrainingRows(
        MultiViewData({"a": np.zeros((2, 1))}, groups=[3.0, 4.5]), np.zeros(2, int), np.ones(2)
    )
    for cut_at in np.linspace(0.05, 0.95, 10):
        mask = left_out_rows(NumberedRows(rows, 0), (0.0, cut_at))
        other = left_out_rows(NumberedRows(floats, 4), (0.0, cut_at))
        assert mask[0] == mask[3]
        assert mask[1] == mask[2] == other[0]


@pytest.mark.parametrize("model", [BestViewClassifier(), StackingFusionClassifier()])
def test_groups_that_folds_cannot_use_are_errors(model):
    data, y, _ = make(100, 2)
    by_class = data.with_groups(np.where(y == y[0], "x", np.arange(100).astype(str)))
    with pytest.raises(ValueError, match=f"class '{y[0]}' occurs in only one group"):
        model.fit(cut(by_class, y, rows=30))
    blocks = [(data[:50].with_groups(np.arange(50)), y[:50]), (data[50:], y[50:])]
    with pytest.raises(ValueError, match="some blocks have groups and others do not"):
        model.fit(BlockSequence(blocks))


def test_hold_out_set_without_rows_is_an_error():
    data, y, _ = make(100, 2)
    with pytest.raises(ValueError, match="cv=1e-06 leaves out none of the 100 rows"):
        StackingFusionClassifier(cv=1e-6).fit(cut(data, y))
