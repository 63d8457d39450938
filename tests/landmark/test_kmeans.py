"""Distinct rows and k-means centres."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans

from consilience.landmark import _kmeans
from consilience.landmark._kmeans import distinct_rows, kmeans_centres, kmeans_medoids


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
def test_distinct_rows(store):
    rng = np.random.RandomState(0)
    X = rng.randint(0, 3, size=(2000, 2)).astype(float)
    index = distinct_rows(store(X), 9)
    expected, first = np.unique(X, axis=0, return_index=True)
    np.testing.assert_array_equal(index, first)
    np.testing.assert_array_equal(X[index], expected)
    assert distinct_rows(store(X), 8) is None


def blobs(n=600, seed=0):
    rng = np.random.RandomState(seed)
    where = rng.randint(0, 5, size=n)
    return 10 * np.eye(5)[where] + rng.standard_normal((n, 5)), rng


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
def test_centres_are_as_good_as_scikit_learns(dtype, store):
    X, _ = blobs()
    X = X.astype(dtype)
    centres = kmeans_centres(store(X), 5, np.ones(len(X)), np.random.RandomState(0))
    theirs = KMeans(5, n_init=3, random_state=0).fit(X).cluster_centers_
    order = centres.argmax(axis=1).argsort(), theirs.argmax(axis=1).argsort()
    np.testing.assert_allclose(centres[order[0]], theirs[order[1]], atol=1e-3)


def test_weights_pull_centres():
    X, rng = blobs()
    weight = rng.randint(1, 4, size=len(X)).astype(float)
    centres = kmeans_centres(X, 5, weight, np.random.RandomState(0))
    tiny = kmeans_centres(X.astype(np.float32), 5, 1e-300 * weight, np.random.RandomState(0))
    np.testing.assert_allclose(tiny, centres, atol=1e-4)
    near = ((X[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    for j, centre in enumerate(centres):
        np.testing.assert_allclose(
            centre, np.average(X[near == j], axis=0, weights=weight[near == j])
        )


def test_a_centre_without_rows_stays():
    centres = np.array([[0.0], [100.0]])
    moved = _kmeans.cluster_means(np.array([[1.0], [3.0]]), np.array([0, 0]), np.ones(2), centres)
    np.testing.assert_array_equal(moved, [[2.0], [100.0]])


def test_medoids_are_distinct_samples():
    X, rng = blobs(200)
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 50)
    chosen = kmeans_medoids(K, 5, np.ones(200), rng)
    assert len(set(chosen.tolist())) == 5
    assert set(X[chosen].argmax(axis=1)) == set(range(5))


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
def test_centres_of_float32_rows_far_from_the_origin(store):
    X = (blobs()[0] + 1e5).astype(np.float32)
    rngs = [np.random.RandomState(0), np.random.RandomState(0)]
    single = kmeans_centres(store(X), 5, np.ones(len(X)), rngs[0])
    double = kmeans_centres(X.astype(np.float64), 5, np.ones(len(X)), rngs[1])
    np.testing.assert_allclose(single, double, atol=1e-6)
