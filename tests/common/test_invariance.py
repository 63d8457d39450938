"""What must not change a decision: input format, order of views and rows, names of labels."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from common.estimators import CLASSIFIERS, NO_PROBABILITIES, ORDER_FREE, TOLERANCE
from conftest import FULL
from consilience import MultiViewData, as_multiview
from consilience.datasets import make_multiview_classification

# of SelectiveClassifier, where the most confident rows of a random problem are all wrong
pytestmark = pytest.mark.filterwarnings("ignore:no threshold keeps the error rate")


@st.composite
def problems(draw, missing=True):
    """A random problem and the generator that permutes it."""
    n_views = draw(st.integers(1, 4))
    data, y = make_multiview_classification(
        draw(st.integers(40, 80)),
        n_views=n_views,
        n_features=draw(st.lists(st.integers(1, 6), min_size=n_views, max_size=n_views)),
        n_classes=draw(st.integers(2, 4)),
        strength=draw(st.floats(0.5, 3)),
        missing_rate=draw(st.sampled_from([0.0, 0.2])) if missing and n_views > 1 else 0.0,
        random_state=draw(st.integers(0, 10_000)),
    )
    return data, y, np.random.RandomState(draw(st.integers(0, 10_000)))


def scores(model, X):
    decisions = model.decision_function(X)
    if decisions.ndim == 1:
        decisions = np.column_stack([-decisions, decisions]) / 2
    return decisions


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", CLASSIFIERS)
@settings(max_examples=100 if FULL else 3)
@given(problem=problems())
def test_input_formats_agree(name, problem):
    data, y, _ = problem
    matrix = data.to_array()
    formats = {
        "container": (data, None),
        "dict": (dict(as_nan(data).items()), None),
        "list": ([view for _, view in as_nan(data).items()], None),
        "stacked": (matrix, list(data.widths.values())),
        "named groups": (matrix, data.view_slices),
    }
    answers = {
        kind: scores(clone(CLASSIFIERS[name]).set_params(views=views).fit(X, y), X)
        for kind, (X, views) in formats.items()
    }
    for answer in answers.values():
        np.testing.assert_allclose(answer, answers["container"], atol=TOLERANCE.get(name, 1e-6))


def as_nan(data):
    """The container rebuilt from its matrix with NaN blocks."""
    matrix = data.to_array()
    return MultiViewData({name: matrix[:, where] for name, where in data.view_slices.items()})


@pytest.mark.one_in(2)
# block sparse PLS-DA visits one view after the other and may end at another local maximum
@pytest.mark.parametrize("name", [name for name in ORDER_FREE if name != "BlockSPLSDAClassifier"])
@settings(max_examples=100 if FULL else 5)
@given(problem=problems())
def test_order_of_views_does_not_matter(name, problem):
    data, y, rng = problem
    model = clone(ORDER_FREE[name])
    expected = scores(model.fit(data, y), data)
    turned = data.select(rng.permutation(data.view_names).tolist())
    np.testing.assert_allclose(
        scores(model.fit(turned, y), data), expected, atol=TOLERANCE.get(name, 1e-6)
    )
    # and a container may bring its views in any order at prediction
    np.testing.assert_allclose(scores(model, turned), expected, atol=TOLERANCE.get(name, 1e-6))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ORDER_FREE)
@settings(max_examples=100 if FULL else 5)
@given(problem=problems())
def test_order_of_rows_does_not_matter(name, problem):
    data, y, rng = problem
    model, rows = clone(ORDER_FREE[name]), rng.permutation(len(y))
    expected = scores(model.fit(data, y), data)
    np.testing.assert_allclose(
        scores(model.fit(data[rows], y[rows]), data), expected, atol=TOLERANCE.get(name, 1e-6)
    )


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ORDER_FREE)
@settings(max_examples=100 if FULL else 5)
@given(problem=problems())
def test_names_of_labels_do_not_matter(name, problem):
    data, y, _ = problem
    model = clone(ORDER_FREE[name])
    expected = scores(model.fit(data, y), data)
    # names that turn the order of the classes round
    names = np.array([f"class {9 - k}" for k in range(y.max() + 1)])
    renamed = scores(model.fit(data, names[y]), data)
    np.testing.assert_allclose(renamed[:, ::-1], expected, atol=TOLERANCE.get(name, 1e-6))


HAVE_A_SINGLE_FIT = [
    "BlockSPLSDAClassifier",
    "CooperativeClassifier",
    "EarlyFusionClassifier",
    "SparseGroupLogisticClassifier",
]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_result_does_not_depend_on_n_jobs(name):
    data, y = make_multiview_classification(
        90, n_views=4, n_classes=3, missing_rate=0.2, random_state=1
    )
    model = clone(CLASSIFIERS[name])
    if "n_jobs" not in model.get_params():
        assert name in HAVE_A_SINGLE_FIT
        return
    seed = {"random_state": 0} if "random_state" in model.get_params() else {}
    expected = scores(model.set_params(n_jobs=1, **seed).fit(data, y), data)
    for n_jobs in (2, 4):
        answer = scores(clone(model).set_params(n_jobs=n_jobs).fit(data, y), data)
        np.testing.assert_array_equal(answer, expected)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_storage_may_differ_between_fit_and_predict(name):
    data, y = make_multiview_classification(60, n_classes=3, sparsity=0.6, random_state=0)
    dense = MultiViewData({name: view.toarray() for name, view in data.items()})
    for fitted, other in ((data, dense), (dense, data)):
        model = clone(CLASSIFIERS[name]).fit(fitted, y)
        np.testing.assert_allclose(scores(model, other), scores(model, fitted), atol=1e-9)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_values_of_missing_views_are_ignored(name):
    data, y = make_multiview_classification(80, n_classes=3, missing_rate=0.3, random_state=0)
    poison = {}
    for v, (view, matrix) in enumerate(data.items()):
        poison[view] = np.where(
            data.present[:, [v]], matrix, np.array([[np.nan, 1e300, -np.inf]])[:, [v % 3]]
        )
    poisoned = MultiViewData(poison, present=data.present)
    sparse = MultiViewData(
        {view: sp.csr_array(matrix) for view, matrix in poison.items()}, present=data.present
    )
    model = clone(CLASSIFIERS[name])
    expected = scores(model.fit(data, y), data)
    np.testing.assert_allclose(scores(model, poisoned), expected)
    np.testing.assert_allclose(scores(model.fit(poisoned, y), poisoned), expected)
    assert np.isfinite(scores(model.fit(sparse, y), sparse)).all()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_predictions_agree_with_scores(name):
    for n_classes in (2, 3):
        data, y = make_multiview_classification(80, n_classes=n_classes, random_state=0)
        labels = np.array(["x", "a", "m"])[y]
        model = clone(CLASSIFIERS[name]).fit(data, labels)
        best = scores(model, data).argmax(axis=1)
        np.testing.assert_array_equal(model.predict(data), model.classes_[best])
        if name in NO_PROBABILITIES:
            assert not hasattr(model, "predict_proba")
            continue
        probabilities = model.predict_proba(data)
        np.testing.assert_array_equal(probabilities.argmax(axis=1), best)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_list_input_is_a_list_of_views(name):
    data, y = make_multiview_classification(60, random_state=0)
    views = [view for _, view in data.items()]
    model = clone(CLASSIFIERS[name]).fit(views, y)
    assert model.view_names_ == ["view0", "view1", "view2"]
    assert model.n_views_in_ == 3
    assert model.n_features_in_ == 30
    np.testing.assert_array_equal(model.predict(tuple(views)), model.predict(as_multiview(views)))
    assert len(model.view_weights_) == 3
    assert model.view_weights_.sum() == pytest.approx(1)
