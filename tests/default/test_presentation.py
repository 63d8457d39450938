"""The default does not depend on how the same data are presented."""

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from consilience import ConsilienceClassifier, MultiViewData
from consilience._default._rows import merge_rows, project_rows
from consilience.datasets import load_digits_views, make_multiview_classification

N_TRAIN, N_TEST = 300, 400


def digits():
    data = load_digits_views()
    return {name: np.asarray(X) for name, X in data.data.items()}, data.target


def synthetic():
    data, y = make_multiview_classification(
        n_samples=N_TRAIN + N_TEST, n_views=3, n_classes=4, random_state=0
    )
    return dict(data.items()), y


def scaled(views):
    return {name: X * 4.0 ** (v - 5) for v, (name, X) in enumerate(views.items())}


def columns_scaled(views):
    rng = np.random.RandomState(1)
    return {name: X * 4.0 ** rng.randint(-9, 9, X.shape[1]) for name, X in views.items()}


def reversed_views(views):
    return {name: views[name] for name in reversed(views)}


def with_sample_ids(views):
    n = len(next(iter(views.values())))
    return MultiViewData(views, sample_ids=[f"s{n - i}" for i in range(n)])


def take(views, rows):
    if isinstance(views, MultiViewData):
        return views[rows]
    return {name: X[rows] for name, X in views.items()}


def fit_predict(views, y, train=None):
    train = np.arange(N_TRAIN) if train is None else train
    model = ConsilienceClassifier(30, random_state=0).fit(take(views, train), y[train])
    return model, model.predict_proba(take(views, np.arange(N_TRAIN, N_TRAIN + N_TEST)))


@pytest.fixture(scope="module", params=[digits, synthetic])
def problem(request):
    views, y = request.param()
    model, expected = fit_predict(views, y)
    return views, y, model, expected


@pytest.mark.parametrize("change", [scaled, reversed_views, with_sample_ids])
def test_equal_probabilities(problem, change):
    views, y, model, expected = problem
    other, probabilities = fit_predict(change(views), y)
    np.testing.assert_allclose(probabilities, expected, atol=1e-9)
    weights = dict(zip(other.view_names_, other.view_weights_, strict=True))
    assert weights == pytest.approx(
        dict(zip(model.view_names_, model.view_weights_, strict=True)), abs=1e-9
    )
    assert [view["view"] for view in other.explain().views] == other.view_names_


@pytest.mark.parametrize(
    ("dtype", "least"), [("bool", 0), ("u1", 3), ("f2", 0), ("longdouble", 0), (">f8", 0)]
)
def test_dtypes_agree(dtype, least):
    rng = np.random.RandomState(0)
    y = rng.randint(2, size=40)
    X = (rng.poisson(0.5, size=(40, 5)) + 2 * y[:, None] * (np.arange(5) < 2)) + least
    views = {"a": X.astype(dtype), "b": X[:, ::-1].astype(dtype)}
    as_floats = {name: view.astype(np.float64) for name, view in views.items()}
    outputs = [
        ConsilienceClassifier(10, random_state=0).fit(given, y).predict_proba(given)
        for given in (views, as_floats)
    ]
    np.testing.assert_array_equal(*outputs)


def test_columns_in_other_units():
    views, y = synthetic()
    np.testing.assert_allclose(
        fit_predict(columns_scaled(views), y)[1], fit_predict(views, y)[1], atol=1e-9
    )


@pytest.mark.parametrize("change", ["row order", "float32", "units"])
def test_almost_equal_labels(problem, change):
    views, y, _, expected = problem
    train = np.arange(N_TRAIN)
    if change == "row order":
        train = np.random.RandomState(0).permutation(N_TRAIN)
    elif change == "float32":
        views = {name: (X * 1.2345).astype(np.float32) for name, X in views.items()}
    else:
        views = {name: X * 1.2345 for name, X in views.items()}
    probabilities = fit_predict(views, y, train)[1]
    assert np.mean(probabilities.argmax(axis=1) != expected.argmax(axis=1)) < 0.01


SCRIPT = """
import sys
sys.path.insert(0, {folder!r})
from default.test_presentation import digits, fit_predict, synthetic
for problem in (digits, synthetic):
    print(*fit_predict(*problem())[1].argmax(axis=1))
"""


@pytest.mark.skipif(sys.platform == "darwin", reason="NumPy does not use OpenBLAS there")
def test_other_kernels_of_the_linear_algebra():
    script = SCRIPT.format(folder=os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    results = [
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "OPENBLAS_CORETYPE": kernel},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for kernel in ("Haswell", "Nehalem")
    ]
    first, second = (np.array(labels) for labels in results)
    assert len(first) == 2 * N_TEST
    assert np.mean(first != second) < 0.01


def test_rows_are_ordered_by_a_projection_that_rounding_hardly_moves():
    rng = np.random.RandomState(0)
    X = rng.randn(400, 5)
    X[X < -1] = 0
    codes, weight = np.arange(400) % 3, np.ones(400)
    data = MultiViewData({"a": X, "b": rng.randn(400, 2)})
    rows, totals, _ = merge_rows(data, codes, weight)
    assert sorted(rows) == list(range(400))
    assert (totals == 1).all()
    for view in (sp.csr_array(X), X * (1 + 1e-12 * rng.randn(400, 5))):
        other = MultiViewData({"a": view, "b": data["b"]})
        np.testing.assert_allclose(project_rows(other), project_rows(data), atol=1e-9)
        np.testing.assert_array_equal(merge_rows(other, codes, weight)[0], rows)
    # as good as random: neither the projection nor the classes follow the order
    assert abs(np.corrcoef(np.arange(400), project_rows(data)[rows])[0, 1]) < 0.2
    assert np.bincount(codes[rows[:90]]).min() > 15
