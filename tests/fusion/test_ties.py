"""How late fusion decides between classes with equally many votes."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.tree import DecisionTreeClassifier

from consilience import MultiViewData
from consilience.fusion import LateFusionClassifier
from consilience.fusion._ties import break_ties


def vote_of_two(ties, seed=0, n=400, share_of_last=0.5):
    """Two views that say the opposite of each other: every vote is a tie."""
    rng = np.random.default_rng(0)
    y = (rng.random(n) < share_of_last).astype(int)
    noise = rng.normal(size=(n, 1))
    data = MultiViewData({"a": np.c_[y, noise], "b": np.c_[y, noise]})
    tree = DecisionTreeClassifier(max_depth=1, random_state=0)
    model = LateFusionClassifier(tree, voting="hard", ties=ties, random_state=seed).fit(data, y)
    opposite = MultiViewData({"a": np.c_[y, noise], "b": np.c_[1 - y, noise]})
    return model, opposite


def test_ties_go_to_the_prior_or_the_first_class():
    model, data = vote_of_two("prior", share_of_last=0.8)
    assert (model.predict(data) == 1).all()
    model, data = vote_of_two("first", share_of_last=0.8)
    assert (model.predict(data) == 0).all()


def test_random_ties_are_even_and_belong_to_the_row():
    model, data = vote_of_two("random")
    predictions = model.predict(data)
    assert abs(predictions.mean() - 0.5) < 0.1
    np.testing.assert_array_equal(predictions, model.predict_proba(data).argmax(axis=1))
    order = np.random.default_rng(1).permutation(len(data))
    np.testing.assert_array_equal(model.predict(data[order]), predictions[order])
    np.testing.assert_array_equal(model.predict(data[7:8]), predictions[7:8])
    sparse = MultiViewData({name: sp.csr_array(view) for name, view in data.items()})
    np.testing.assert_array_equal(model.predict(sparse), predictions)
    other, _ = vote_of_two("random", seed=1)
    assert (other.predict(data) != predictions).any()


def test_rules_differ_in_ties_only():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 6)), rng.integers(3, size=90)
    data = MultiViewData({"a": X[:, :2], "b": X[:, 2:4], "c": X[:, 4:]})
    tree = DecisionTreeClassifier(max_depth=6, random_state=0)
    models = [
        LateFusionClassifier(tree, voting="hard", ties=ties, random_state=0).fit(data, y)
        for ties in ("prior", "first", "random")
    ]
    X = rng.normal(size=(90, 6))
    data = MultiViewData({"a": X[:, :2], "b": X[:, 2:4], "c": X[:, 4:]})
    scores = [model.decision_function(data) for model in models]
    for other in scores[1:]:
        np.testing.assert_allclose(other, scores[0], atol=1e-8)
    top = np.sort(scores[0], axis=1)
    clear = top[:, 2] - top[:, 1] > 1e-6
    assert 0 < clear.sum() < len(y)
    for model in models[1:]:
        np.testing.assert_array_equal(model.predict(data)[clear], models[0].predict(data)[clear])


def test_unknown_rule():
    with pytest.raises(ValueError, match="The 'ties' parameter of LateFusionClassifier"):
        LateFusionClassifier(ties="loud").fit(np.eye(4), [0, 1, 0, 1])


def test_random_terms_are_added_to_ties_alone():
    scores = np.array([[1.0, 1.0, 0.0], [2.0, 1.0, 0.0], [0.0, 3.0, 3.0]])
    data = MultiViewData({"a": np.arange(6.0).reshape(3, 2)})
    out = break_ties(scores, "random", np.full(3, 1 / 3), data, 0)
    np.testing.assert_array_equal(out[1], scores[1])
    assert (out[[0, 2]] != scores[[0, 2]]).all()
    np.testing.assert_allclose(out, scores, atol=1e-8)
