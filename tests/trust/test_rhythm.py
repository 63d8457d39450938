"""Rhythms of signals: windows, missing values, and views that belong to another sample."""

import numpy as np
import pytest
import scipy.sparse as sp

from consilience import MultiViewData
from consilience.fusion import LateFusionClassifier
from consilience.trust import RobustPoolingClassifier
from consilience.trust._cross_view import fit_cross_views
from consilience.trust._rhythm import MIN_CHANGE, fit_rhythms
from reference.trust import rhythm


def movements(n, n_points=80, n_views=3, seed=0):
    """Views that say nothing but when: noise whose strength rises in the same part of all views.

    Two classes differ in the frequency of a wave that each view has.
    """
    rng = np.random.default_rng(seed)
    y, start = rng.integers(2, size=n), rng.uniform(0, 0.7 * n_points, n)
    time = np.arange(n_points)
    moves = (time > start[:, None]) & (time < start[:, None] + n_points / 4)
    views = {}
    for v in range(n_views):
        phase = rng.uniform(0, 2 * np.pi, n)[:, None]
        wave = np.sin(phase + 2 * np.pi * (2 + y[:, None]) * time / n_points)
        steps = rng.normal(size=(n, n_points)) * np.where(moves, 1.0, 0.05)
        views[f"axis{v}"] = wave + np.cumsum(steps, axis=1)
    return MultiViewData(views), y


def exchanged(data, rows):
    """The first view of the rows is that of the next of them."""
    views = dict(data.items())
    views["axis0"] = np.array(views["axis0"])
    views["axis0"][rows] = views["axis0"][np.roll(rows, 1)]
    return MultiViewData(views)


@pytest.mark.parametrize("n_points", [16, 33, 80, 150])
def test_rhythms_equal_the_slow_ones(n_points):
    data, _ = movements(50, n_points)
    model = fit_rhythms(data, fit_cross_views(data))
    for name, one in model.rhythms.items():
        X = np.array(data[name])
        expected = rhythm(X, X, MIN_CHANGE)
        np.testing.assert_allclose(one(X), expected, rtol=1e-4, atol=1e-4)
        # the rows of a call do not matter to each other
        loud = np.vstack([X[:2], 1e6 * X[2:4]])
        np.testing.assert_array_equal(one(loud)[:2], one(X)[:2])
        assert np.isfinite(one(np.vstack([loud, np.full((1, n_points), np.nan)]))).all()


def test_only_two_signals_have_rhythms():
    data, _ = movements(60)
    noise = np.random.default_rng(0).normal(size=(60, 40))
    table = MultiViewData({"one": data["axis0"], "noise": noise, "few": data["axis1"][:, :15]})
    assert fit_rhythms(table, fit_cross_views(table)) is None
    both = MultiViewData({"noise": noise, "b": data["axis1"], "a": data["axis0"]})
    model = fit_rhythms(both, fit_cross_views(both))
    assert list(model.rhythms) == ["b", "a"]
    agreements = model.agreements(both)
    assert (agreements[:, 0] == 0).all()
    assert (agreements[:, 1:] != 0).all()


def test_rhythms_of_signals_that_are_missing():
    data, _ = movements(80)
    present = np.ones((80, 3), dtype=bool)
    present[:20, 0], present[10:30, 1], present[15:18] = False, False, False
    data = MultiViewData(dict(data.items()), present=present)
    agreements = fit_rhythms(data, fit_cross_views(data)).agreements(data)
    assert np.isfinite(agreements).all()
    assert (agreements[10:20] == 0).all()  # no other signal
    assert (agreements[40:] != 0).all()


def test_signals_that_no_row_of_a_call_has_or_that_are_sparse():
    data, y = movements(300)
    model = RobustPoolingClassifier(LateFusionClassifier(), random_state=0).fit(data, y)
    present = np.ones((60, 3), dtype=bool)
    present[:20, 0] = False
    part = MultiViewData(dict(data[:60].items()), present=present)
    expected = model.predict_off(part)
    assert np.isfinite(expected[:, 1:]).all()
    for rows in (slice(0, 1), slice(0, 20), slice(20, 60)):
        np.testing.assert_allclose(model.predict_off(part[rows]), expected[rows], atol=1e-12)
    without = model.predict_off(data[:20].select(["axis2", "axis1"]))
    np.testing.assert_allclose(without[:, 1:], expected[:20, 1:], atol=1e-12)
    sparse = MultiViewData({**dict(part.items()), "axis1": sp.csr_array(data[:60]["axis1"])})
    dense = MultiViewData(dict(part.items()))
    np.testing.assert_allclose(model.predict_off(sparse), model.predict_off(dense), atol=1e-12)


def test_signals_that_never_change_have_no_rhythm():
    data, _ = movements(100)
    flat = np.repeat(np.array(data["axis0"])[:, :1], 60, axis=1)
    data = MultiViewData({**dict(data.items()), "axis0": flat})
    model = fit_rhythms(data, fit_cross_views(data))
    assert list(model.rhythms) == ["axis1", "axis2"]
    assert np.isfinite(model.agreements(data)).all()


def test_a_signal_of_another_sample_is_known_by_its_rhythm():
    """Its values say nothing, and half of the exchanged views are of the same class."""
    data, y = movements(400)
    rows = np.arange(300, 360)
    broken = exchanged(data, rows)
    model = RobustPoolingClassifier(LateFusionClassifier(), random_state=0)
    model.fit(data[:300], y[:300])
    off = model.predict_off(broken[300:])[:, 0]
    assert np.mean(off[:60, None] > off[None, 60:]) > 0.9
    # clean rows are not suspected
    assert np.median(model.predict_off(data[300:]).max(axis=1)) < 0.1
