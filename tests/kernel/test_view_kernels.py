"""Views as kernel views, and votes and completion on them."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from consilience import MultiViewData
from consilience._kernel_views import check_repeated_samples
from consilience.datasets import make_multiview_classification
from consilience.fusion import LateFusionClassifier
from consilience.kernel import LaplacianCompletion, MKLClassifier, ViewKernels
from consilience.margin import SMVMEDClassifier
from consilience.methods import METHODS


def with_missing(data, rows, view):
    present = data.present.copy()
    present[rows, view] = False
    return MultiViewData(dict(data.items()), present=present)


def test_kernels_against_the_training_samples():
    data, _ = make_multiview_classification(30, n_views=2, random_state=0)
    kernels = ViewKernels(gamma=0.1).fit(data[:20])
    result = kernels.transform(data[20:])
    assert set(result.kinds.values()) == {"kernel"}
    for name, X in data.items():
        np.testing.assert_allclose(result[name], rbf_kernel(X[20:], X[:20], gamma=0.1))


def test_votes_on_kernels_are_votes_on_features():
    data, y = make_multiview_classification(80, n_views=3, strength=1.0, random_state=1)
    kernel_vote = LateFusionClassifier(SVC(kernel="precomputed"), voting="hard")
    ours = make_pipeline(ViewKernels(gamma="auto"), kernel_vote).fit(data[:50], y[:50])
    plain = LateFusionClassifier(SVC(gamma="auto"), voting="hard").fit(data[:50], y[:50])
    np.testing.assert_array_equal(ours.predict(data[50:]), plain.predict(data[50:]))
    missing = with_missing(data, np.arange(10), 0)
    ours.fit(missing[:50], y[:50])
    plain.fit(missing[:50], y[:50])
    np.testing.assert_array_equal(ours.predict(missing), plain.predict(missing))


def test_distances_and_features_give_the_same_votes():
    data, y = make_multiview_classification(60, n_views=2, strength=1.0, random_state=2)
    distances = {name: euclidean_distances(X, squared=True) for name, X in data.items()}
    kinds = dict.fromkeys(distances, "distance")
    pairs = MultiViewData(distances, kinds=kinds)
    method = METHODS["Kernel SVMs"]
    assert set(method.kinds) == {"features", "kernel", "distance"}
    predictions = [
        method.make_estimator(0).fit(X[:40], y[:40]).predict(X[40:]) for X in (data, pairs)
    ]
    np.testing.assert_array_equal(*predictions)


def test_completion_by_the_view_that_most_samples_have():
    data, _ = make_multiview_classification(30, n_views=3, random_state=3)
    data = with_missing(data, np.arange(10), 0)
    data = with_missing(data, np.arange(8, 14), 2)
    kernels = ViewKernels().fit_transform(data)
    auto = LaplacianCompletion("most-present").fit(kernels)
    named = LaplacianCompletion("view1").fit(kernels)
    assert data.view_names[1] == "view1"
    assert auto.transform(kernels).present.all()
    np.testing.assert_allclose(auto.kernels_["view0"], named.kernels_["view0"])


def test_a_sample_without_the_reference_view_is_not_completed():
    data, y = make_multiview_classification(30, n_views=2, random_state=3)
    data = with_missing(data, np.arange(10), 0)
    data = with_missing(data, [29], 1)
    model = METHODS["Completed SVMs"].make_estimator(0)
    with pytest.warns(UserWarning, match="view 'view1' stays missing in 1 rows"):
        model.fit(data, y)
    kernels = ViewKernels().fit_transform(data)
    with pytest.warns(UserWarning, match="stays missing"):
        completed = LaplacianCompletion("most-present").fit_transform(kernels)
    assert completed.present[:, 0].all()
    assert not completed.present[29, 1]


# -- rows of the same id --------------------------------------------------------------------------


@pytest.mark.parametrize("completion", [False, True])
def test_measurements_of_a_patient_have_columns_of_their_own(completion):
    data, y = make_multiview_classification(60, n_views=2, strength=1.0, random_state=1)
    data = with_missing(data, np.arange(5), 0)
    patients = np.array([f"p{i // 3}" for i in range(60)])
    repeated = MultiViewData(dict(data.items()), present=data.present, sample_ids=patients)
    steps = [ViewKernels(), *([LaplacianCompletion()] if completion else [])]
    model = make_pipeline(*steps, LateFusionClassifier(SVC(kernel="precomputed"), voting="hard"))
    expected = model.fit(data[:45], y[:45]).predict(data)
    # whose row it is does not matter: kernels are between rows
    np.testing.assert_array_equal(model.fit(repeated[:45], y[:45]).predict(repeated), expected)
    kernels = ViewKernels().fit(repeated[:45]).transform(repeated[:45])
    square = kernels.against("view1", kernels.reference())
    np.testing.assert_allclose(square.diagonal(), 1)
    np.testing.assert_array_equal(kernels.groups, patients[:45])


def test_copies_of_a_row_have_one_column():
    data, _ = make_multiview_classification(20, n_views=2, random_state=0)
    rows = np.r_[0, 3, 0, 5, 3]
    assert ViewKernels().fit_transform(data[rows])["view0"].shape == (5, 3)
    missing = ViewKernels().fit_transform(with_missing(data, [0], 0)[rows])  # NaN in column 0
    assert LaplacianCompletion().fit_transform(missing).present.all()
    same = MultiViewData(dict(data.items()), sample_ids=np.arange(20) % 10)
    kernels = ViewKernels().fit_transform(same[np.r_[0, 10, 0, 10, 1]])
    assert kernels["view0"].shape == (5, 3)
    square = kernels.against("view0", kernels.reference())
    np.testing.assert_allclose(square[0], square[2])
    assert square[0, 1] < 0.999


@pytest.mark.parametrize("method", [ViewKernels(), LaplacianCompletion()])
def test_rows_of_an_id_that_differ_in_a_kernel(method):
    K = rbf_kernel(np.arange(4.0).reshape(-1, 1))
    matrix, ids = K[:, [0, 2, 3]], [7, 7, "b", "c"]
    data = MultiViewData(
        {"k": matrix}, sample_ids=ids, kinds={"k": "kernel"}, column_ids={"k": [7, "b", "c"]}
    )
    message = "rows 0 and 1 have the same sample id 7, but differ in view 'k', a kernel with one"
    with pytest.raises(ValueError, match=message):
        method.fit(data)
    copies = method.fit(data[[0, 2, 3, 0]]).transform(data[[0, 2, 3, 0]])
    assert copies["k"].shape == (4, 3)


@pytest.mark.parametrize("ids", [[1, "a", 2.5, "b"], [1, "a", 1, "a"]])
def test_ids_of_several_types(ids):
    X = np.arange(4.0).reshape(-1, 1)
    data = MultiViewData({"x": X, "z": X**2}, sample_ids=ids)
    kernels = ViewKernels(gamma=1.0).fit_transform(data)
    np.testing.assert_allclose(kernels["x"], rbf_kernel(X, gamma=1.0))
    completed = LaplacianCompletion().fit_transform(kernels)
    np.testing.assert_array_equal(completed["z"], kernels["z"])


def test_single_missing_values_are_named():
    data, _ = make_multiview_classification(30, n_views=2, random_state=0)
    views = {name: np.array(X) for name, X in data.items()}
    kernels = ViewKernels().fit(data)
    views["view1"][3, 2] = np.nan
    for method in (kernels.transform, ViewKernels().fit):
        with pytest.raises(ValueError, match=r"'view1' is partially missing in row 3 \(column 2\)"):
            method(views)


def test_kernels_of_truth_values():
    cluster, y = np.arange(40) % 7, np.arange(40) % 7 > 2
    K = cluster[:, None] == cluster
    kinds = {"K": "kernel"}
    whole, real = (MultiViewData({"K": K.astype(d)}, kinds=kinds) for d in (bool, float))
    for model in (MKLClassifier(), SMVMEDClassifier()):
        expected = clone(model).fit(real, y).decision_function(real)
        result = clone(model).fit(whole, y).decision_function(whole)
        np.testing.assert_allclose(result, expected)


def test_rows_of_one_sample_may_differ_in_features():
    X = np.array([[0.0], [1.0], [2.0]])
    check_repeated_samples(MultiViewData({"a": X}, sample_ids=["p", "p", "q"]))
