"""Views as kernel views, and votes and completion on them."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from consilience import MultiViewData
from consilience.datasets import make_multiview_classification
from consilience.fusion import LateFusionClassifier
from consilience.kernel import LaplacianCompletion, ViewKernels
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
