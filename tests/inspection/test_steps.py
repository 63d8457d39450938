"""Steps of the importance of features that single formulas say."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.decomposition import PCA

from consilience import MultiViewData
from consilience.inspection._feature_data import class_effects
from consilience.inspection._group_permutation import class_scores
from consilience.inspection._pipeline_steps import PipelineEvidence


def test_effects_are_differences_of_means_in_standard_deviations():
    rng = np.random.default_rng(0)
    X, codes, weight = rng.normal(size=(12, 3)), np.arange(12) % 3, rng.uniform(0.5, 2.0, 12)
    X += codes[:, None]
    X[[0, 5], 1] = np.nan
    X[:, 2] = 7.0
    effects = class_effects(MultiViewData({"a": X}), codes, weight, 3)
    assert effects.shape == (3, 3)
    for j in range(2):
        known = ~np.isnan(X[:, j])
        x, y, w = X[known, j], codes[known], weight[known]
        means = np.array([np.average(x[y == k], weights=w[y == k]) for k in range(3)])
        within = np.sqrt(np.average((x - means[y]) ** 2, weights=w))
        rest = [np.average(x[y != k], weights=w[y != k]) for k in range(3)]
        np.testing.assert_allclose(effects[j], (means - rest) / within)
    np.testing.assert_array_equal(effects[2], 0.0)  # a constant column


def test_scores_of_classes():
    probabilities = np.array([[0.2, 0.8], [0.6, 0.4]])
    model = SimpleNamespace(predict_proba=lambda data: probabilities, decision_function=None)
    np.testing.assert_array_equal(class_scores(model, None), probabilities)
    model = SimpleNamespace(decision_function=lambda data: np.array([3.0, -1.0]))
    np.testing.assert_array_equal(class_scores(model, None), [[-1.5, 1.5], [0.5, -0.5]])
    model = SimpleNamespace(decision_function=lambda data: np.eye(3))
    np.testing.assert_array_equal(class_scores(model, None), np.eye(3))
    model = SimpleNamespace(
        predict=lambda data: np.array(["b", "a"]), classes_=np.array(["a", "b"])
    )
    np.testing.assert_array_equal(class_scores(model, None), [[0.0, 1.0], [1.0, 0.0]])


@pytest.mark.parametrize("whiten", [False, True])
def test_linear_contributions_of_components_are_those_of_columns(whiten):
    rng = np.random.default_rng(0)
    X, background = 3.0 + rng.normal(size=(8, 4)), 2.0 + rng.normal(size=(6, 4))
    pca = PCA(2, whiten=whiten).fit(background)
    slopes = np.array([[1.0, -2.0], [0.5, 3.0]])  # of components and classes
    components = pca.transform(X) - pca.transform(background).mean(axis=0)
    contributions = slopes.T[:, None, :] * components
    targets = rng.normal(size=(8, 2))
    evidence = SimpleNamespace(
        background=MultiViewData({"a": background}), _parts_of=lambda name: [pca]
    )
    out = PipelineEvidence._project_back(
        evidence, "a", MultiViewData({"a": X}), contributions, targets
    )
    total = np.einsum("ik,kip->i", targets, contributions)
    np.testing.assert_allclose(out.sum(axis=1), total)
