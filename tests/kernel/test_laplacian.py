"""Laplacian completion: reference numbers, the slow twin, new rows, missing values never read."""

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from consilience import MultiViewData
from consilience.fusion import LateFusionClassifier
from consilience.kernel import LaplacianCompletion
from reference import laplacian as reference

GOLDEN = Path(__file__).parents[1] / "golden"
MANY = 200 if int(os.environ.get("CONSILIENCE_TEST_ALL", "0")) else 20


def container(Ks, present, **settings):
    views = {f"k{v}": K for v, K in enumerate(Ks)}
    return MultiViewData(views, present=present, kinds=dict.fromkeys(views, "kernel"), **settings)


def random_kernels(seed, n, n_views, rate=0.3, kernel=rbf_kernel):
    rng = np.random.RandomState(seed)
    Ks = [kernel(rng.randn(n, rng.randint(1, 4))) for _ in range(n_views)]
    present = rng.rand(n, n_views) > rate
    present[np.arange(n), rng.randint(0, n_views, n)] = True
    present[:2] = True
    return Ks, present


def poisoned(Ks, present):
    """NaN in every row and column of a missing sample."""
    out = [K.copy() for K in Ks]
    for v, K in enumerate(out):
        K[~present[:, v]] = np.nan
        K[:, ~present[:, v]] = np.inf
    return out


def test_reference_numbers():
    file = GOLDEN / "laplacian.npz"
    g = np.load(file)
    present = np.column_stack([np.ones(20, dtype=bool), ~g["missing"]])
    model = LaplacianCompletion()
    filled = model.fit_transform(container([g["K_ref"], g["K_true"]], present))
    np.testing.assert_allclose(filled["k1"], g["K_completed"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(model.extensions_["k1"], g["T"], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(filled["k0"], g["K_ref"])


@settings(max_examples=MANY)
@given(st.integers(0, 10**6), st.integers(8, 25), st.integers(2, 4), st.booleans())
def test_equals_repeated_averaging(seed, n, n_views, spoil):
    Ks, present = random_kernels(seed, n, n_views)
    Ks = [(v + 1.0) * K for v, K in enumerate(Ks)]
    model = LaplacianCompletion()
    filled = model.fit_transform(container(poisoned(Ks, present) if spoil else Ks, present))
    assert filled.present.all()
    for v, K in enumerate(Ks):
        ours, known = filled[f"k{v}"], present[:, v]
        np.testing.assert_allclose(ours, reference.completed(Ks, present, v), atol=1e-8)
        np.testing.assert_array_equal(ours[np.ix_(known, known)], K[np.ix_(known, known)])
        assert np.linalg.eigvalsh(ours)[0] > -1e-9
        np.testing.assert_allclose(model.extensions_[f"k{v}"].sum(axis=1), 1)


@settings(max_examples=MANY)
@given(st.integers(0, 10**6))
def test_rows_are_completed_by_themselves(seed):
    Ks, present = random_kernels(seed, 30, 3)
    data, rng = container(poisoned(Ks, present), present), np.random.RandomState(seed)
    rows = rng.permutation(30)
    train, rest = rows[:20], rows[20:]
    model = LaplacianCompletion().fit(data[train])
    together = model.transform(data)
    # training rows stay where fit placed them
    for name, K in model.kernels_.items():
        np.testing.assert_allclose(together[train][name], K, atol=1e-10)
    for i in rest:
        alone = model.transform(data[[i]])
        for name in data.view_names:
            np.testing.assert_allclose(alone[name][0], together[name][i], atol=1e-12)


def test_new_rows_of_a_view_that_the_container_lacks():
    Ks, present = random_kernels(0, 30, 2, rate=0.0)
    data = container(Ks, present)
    model = LaplacianCompletion().fit(data[:20])
    filled = model.transform(data[20:].select(["k0"]))
    assert filled.present.all()
    W = Ks[0][20:, :20]
    expected = W / W.sum(axis=1, keepdims=True) @ Ks[1][:20, :20]
    np.testing.assert_allclose(filled["k1"], expected)


def test_cross_validation_equals_explicit_kernels():
    rng = np.random.RandomState(0)
    y = np.arange(90) % 3
    Ks = [rbf_kernel(rng.randn(90, 3) + 2 * np.eye(3)[y]) for _ in range(2)]
    present = np.ones((90, 2), dtype=bool)
    present[rng.permutation(90)[:30], 1] = False
    data, folds = container(poisoned(Ks, present), present), StratifiedKFold(3)
    voters = LateFusionClassifier(SVC(kernel="precomputed"), voting="sum")
    pipe = make_pipeline(LaplacianCompletion(), voters)
    ours = cross_val_predict(pipe, data, y, cv=folds, method="decision_function")
    for train, test in folds.split(Ks[0], y):
        filled = LaplacianCompletion().fit(data[train]).transform(data)
        scores = 0
        for name in data.view_names:
            svc = SVC(kernel="precomputed").fit(filled[name][train], y[train])
            scores = scores + svc.decision_function(filled[name][test]) / 2
        np.testing.assert_allclose(ours[test], scores, atol=1e-9)
    search = GridSearchCV(pipe, {"latefusionclassifier__voting": ["sum", "hard"]}, cv=3)
    assert search.fit(data, y).best_score_ > 0.8


def test_repeated_rows():
    Ks, present = random_kernels(1, 20, 2)
    data, rows = container(Ks, present), np.random.RandomState(0).randint(20, size=40)
    filled = LaplacianCompletion().fit_transform(data[rows])
    alone = LaplacianCompletion().fit(data[rows]).transform(data[np.unique(rows)])
    assert filled["k0"].shape == (40, len(np.unique(rows)))
    where = np.searchsorted(np.unique(rows), rows)
    # products of matrices of other shapes may differ in the last digit
    np.testing.assert_allclose(filled["k1"], alone["k1"][where], rtol=1e-13)


def test_samples_with_names():
    Ks, present = random_kernels(2, 20, 2)
    names = np.array([f"s{i}" for i in range(20)])
    model = LaplacianCompletion().fit(container(Ks, present, sample_ids=names)[:15])
    turned = np.arange(15)[::-1]
    new = MultiViewData(
        {f"k{v}": K[15:, turned] for v, K in enumerate(Ks)},
        present=present[15:],
        sample_ids=names[15:],
        kinds={"k0": "kernel", "k1": "kernel"},
        column_ids={"k0": names[turned], "k1": names[turned]},
    )
    expected = model.transform(container(Ks, present, sample_ids=names)[15:])
    np.testing.assert_allclose(model.transform(new)["k1"], expected["k1"])
    again = pickle.loads(pickle.dumps(model)).transform(new)
    np.testing.assert_array_equal(again["k1"], model.transform(new)["k1"])
    assert again.column_ids["k1"].tolist() == names[:15].tolist()


def test_rows_out_of_reach_stay_missing():
    block = np.kron(np.eye(2), np.ones((5, 5)))
    present = np.ones((10, 2), dtype=bool)
    present[5:, 1] = False  # the second block has no sample with view k1
    present[4, 1] = False
    data = container([block, rbf_kernel(np.arange(10.0)[:, None])], present)
    with pytest.warns(UserWarning, match=r"'k1' stays missing in 5 rows.*rows 5, 6, 7, 8, 9"):
        filled = LaplacianCompletion().fit_transform(data)
    assert filled.present[:5].all()
    assert filled.present[:, 0].all()
    assert not filled.present[5:, 1].any()
    np.testing.assert_allclose(filled["k1"][4, :4], data["k1"][:4, :4].mean(axis=0))


def test_likeness_below_zero_is_none():
    Ks, present = random_kernels(3, 15, 3, kernel=linear_kernel)
    filled = LaplacianCompletion().fit_transform(container(Ks, present))
    for v in range(3):
        np.testing.assert_allclose(
            filled[f"k{v}"], reference.completed(Ks, present, v), rtol=1e-6, atol=1e-6
        )


def test_named_reference_and_other_views():
    Ks, present = random_kernels(4, 20, 3)
    present[:, 0] = True
    X = np.random.RandomState(0).randn(20, 2)
    kinds = {"a": "kernel", "b": "kernel", "c": "kernel"}
    views = dict(zip("abc", Ks, strict=True))
    data = MultiViewData(
        {**views, "x": X}, present=np.c_[present, np.ones(20, dtype=bool)], kinds=kinds
    )
    filled = LaplacianCompletion("a").fit_transform(data)
    expected = reference.completed([Ks[0], Ks[1]], present[:, :2], 1)
    np.testing.assert_allclose(filled["b"], expected, atol=1e-8)
    assert filled["x"] is X
    assert filled.kinds == data.kinds
    some = LaplacianCompletion(["a", "b"], views=["a", "b"]).fit_transform(data)
    np.testing.assert_allclose(some["b"], expected, atol=1e-8)


def test_errors():
    Ks, present = random_kernels(5, 10, 2, rate=0.0)
    with pytest.raises(ValueError, match="completes kernel views, but X has none"):
        LaplacianCompletion().fit(np.eye(3))
    for wrong in ("z", [], ["k0", "z"]):
        with pytest.raises(ValueError, match="reference must name kernel views, 'k0', 'k1'; got"):
            LaplacianCompletion(wrong).fit(container(Ks, present))
    Ks[1][3, 4] = np.nan
    with pytest.raises(ValueError, match=r"view 'k1', row 3, in the column of sample 4"):
        LaplacianCompletion().fit(container(Ks, present))


def test_kernel_that_no_sample_has_stays_missing():
    Ks, present = random_kernels(0, 10, 2, rate=0.0)
    present[:, 1] = False
    with pytest.warns(UserWarning, match="view 'k1' stays missing in 10 rows"):
        filled = LaplacianCompletion().fit_transform(container(Ks, present))
    np.testing.assert_array_equal(filled.present, present)
