"""Rows that lack views: every pattern is predicted, and no prediction trains anything."""

import pickle
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel

import consilience.io
from consilience import ConsilienceClassifier, MultiViewData
from consilience._default import _classifier, _kernel, _linear, _members, _trees
from consilience.datasets import make_multiview_classification

# what fit calls; (module, name) as predict would look it up
TRAINING = [
    (_trees, "grow_forest"),
    (_kernel, "kernel_ridge"),
    (_kernel, "exact_ridge"),
    (_kernel, "nystrom_ridge"),
    (_linear, "feature_ridge"),
    (_linear, "kernel_ridge"),
    (_members, "fit_columns"),
    (_members, "fit_kernel_member"),
    (_members, "fit_linear_member"),
    (_members, "fit_tree_member"),
    (_classifier, "fit_stacking_weights"),
]
# what predict may call for a pattern of views, each time alike
CLOSED_FORM = [(_kernel, "solve_kernel_ridge"), (_trees, "side_by_side")]


def problem(missing_rate, n=260):
    data, y = make_multiview_classification(
        n, n_views=3, n_features=6, strength=2.5, n_classes=3, random_state=0
    )
    rng = np.random.RandomState(0)
    present = rng.random_sample((n, 3)) >= missing_rate
    present[~present.any(axis=1), 1] = True
    return MultiViewData(dict(data.items()), present=present), data, y


def model():
    return ConsilienceClassifier(40, random_state=0)


def count_calls(monkeypatch, functions):
    counts = dict.fromkeys((name for _, name in functions), 0)

    def counted(name, function):
        def call(*args, **params):
            counts[name] += 1
            return function(*args, **params)

        return call

    for module, name in functions:
        monkeypatch.setattr(module, name, counted(name, getattr(module, name)))
    return counts


def patterns(n_views):
    return [np.array(p) for p in product([False, True], repeat=n_views) if any(p)]


@pytest.mark.parametrize("rate", [0.0, 0.3])
def test_predict_trains_nothing_and_always_does_the_same_work(monkeypatch, tmp_path, rate):
    train, _, y = problem(rate)
    test, _, _ = problem(0.3)
    fitted = model().fit(train[:150], y[:150])
    consilience.io.save(fitted, tmp_path / "model.skops")
    unused = pickle.dumps(fitted)
    training = count_calls(monkeypatch, TRAINING)
    work = count_calls(monkeypatch, CLOSED_FORM)
    first = fitted.decision_function(test[150:])
    expected = dict(work)
    assert expected["solve_kernel_ridge"] == 6
    # each forest is walked by the complete rows and by the others, or there is one for each view
    assert expected["side_by_side"] == (0 if rate else 4)
    copies = [fitted, pickle.loads(unused), pickle.loads(pickle.dumps(fitted))]
    for again in [*copies, consilience.io.load(tmp_path / "model.skops")]:
        work.update(dict.fromkeys(work, 0))
        np.testing.assert_array_equal(again.decision_function(test[150:]), first)
        assert work == expected
    assert not any(training.values())
    # predictions leave nothing behind in the model
    assert pickle.dumps(fitted) == unused


@pytest.mark.parametrize("rate", [0.0, 0.3])
def test_every_pattern_beats_the_prior(rate):
    train, complete, y = problem(rate)
    fitted = model().fit(train[:150], y[:150])
    prior = np.bincount(y[150:]).max() / len(y[150:])
    scores = {}
    for pattern in patterns(3):
        present = np.tile(pattern, (len(y), 1))
        test = MultiViewData(dict(complete.items()), present=present)[150:]
        p = fitted.predict_proba(test)
        np.testing.assert_allclose(p.sum(axis=1), 1)
        scores[tuple(pattern)] = fitted.score(test, y[150:])
        for alone in fitted.member_decision_function(test):
            assert (alone.argmax(axis=1) == y[150:]).mean() > prior + 0.1
    assert min(scores.values()) > prior + 0.2
    assert scores[True, True, True] == max(scores.values())


def test_absent_values_are_not_read():
    train, complete, y = problem(0.0)
    fitted = model().fit(train[:150], y[:150])
    present = np.tile([True, False, True], (len(y), 1))
    other = {name: X.copy() for name, X in complete.items()}
    other["view1"] = np.full_like(other["view1"], 1e6)
    outputs = [
        fitted.decision_function(MultiViewData(views, present=present)[150:])
        for views in (dict(complete.items()), other)
    ]
    np.testing.assert_array_equal(*outputs)


def test_every_pattern_of_kernels_distances_and_features():
    _, complete, y = problem(0.0, 150)
    views = {
        "k": rbf_kernel(complete["view0"], gamma=0.1),
        "d": euclidean_distances(complete["view1"]),
        "f": complete["view2"],
    }
    kinds = {"k": "kernel", "d": "distance"}
    fitted = model().fit(MultiViewData(views, kinds=kinds)[:100], y[:100])
    for pattern in patterns(3):
        present = np.ones((150, 3), dtype=bool)
        present[100:] = pattern
        test = MultiViewData(views, kinds=kinds, present=present)[100:]
        assert fitted.score(test, y[100:]) > 0.45


def test_a_table_with_categories_may_be_missing_in_all_new_rows():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    table = pd.DataFrame({"site": np.array(["a", "b", "c"])[rng.integers(0, 3, 60)], "x": y + 0.1})
    other = rng.normal(size=(60, 2)) + 2 * y[:, None]
    data = MultiViewData({"table": table, "other": other})
    model = ConsilienceClassifier(n_estimators=10, random_state=0).fit(data, y)
    alone = model.predict_proba({"other": other})
    present = np.tile([False, True], (60, 1))
    hidden = MultiViewData({"table": table, "other": other}, present=present)
    np.testing.assert_array_equal(model.predict_proba(hidden), alone)
    assert np.mean(alone.argmax(axis=1) == y) > 0.8
