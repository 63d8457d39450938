"""Features of rows in the default classifier: added where they help, and only there."""

import numpy as np
import pytest
import scipy.sparse as sp

from consilience import ConsilienceClassifier, MultiViewData
from consilience._default import _row_features
from consilience._default._columns import fit_columns
from consilience._default._row_features import choose_row_features
from consilience.inspection._evidence import find_evidence
from consilience.io import load, save


def shake(rng, is_jerky, columns=30):
    """Normal values, or as large ones that nearly all are −1 or 1."""
    smooth = rng.normal(size=(len(is_jerky), columns))
    jerky = np.sign(smooth) + 0.3 * rng.normal(size=smooth.shape)
    return np.where(is_jerky[:, None], jerky / np.sqrt(1.09), smooth)


def signals(n=120, seed=0, columns=30):
    """A sensor that jerks in one class, at any time, and columns that say nothing of it."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return {"noise": rng.normal(size=(n, columns)), "shaking": shake(rng, y == 1, columns)}, y


def has_quantiles(model):
    return {name for name, fitted in model._columns.maps.items() if fitted.quantiles is not None}


def test_a_view_whose_values_are_spread_otherwise_in_a_class_gets_them():
    views, y = signals(400)
    data = MultiViewData(views)
    model = ConsilienceClassifier(random_state=0).fit(data[:100], y[:100])
    assert has_quantiles(model) == {"shaking"}
    assert model.score(data[100:], y[100:]) > 0.93
    # the order of the columns in time does not matter to them
    order = np.random.default_rng(1).permutation(30)
    turned = MultiViewData({"noise": views["noise"], "shaking": views["shaking"][:, order]})
    other = ConsilienceClassifier(random_state=0).fit(turned[:100], y[:100])
    assert has_quantiles(other) == {"shaking"}
    assert other.score(turned[100:], y[100:]) > 0.93


def test_without_them_the_classifier_is_much_worse(monkeypatch):
    views, y = signals(400)
    data = MultiViewData(views)
    monkeypatch.setattr(_row_features, "MIN_GAIN", 2.0)
    model = ConsilienceClassifier(random_state=0).fit(data[:100], y[:100])
    assert not has_quantiles(model)
    assert model.score(data[100:], y[100:]) < 0.9


@pytest.mark.parametrize(
    "change",
    [
        lambda X: X[:, :15],  # too few columns
        lambda X: sp.csr_array(np.where(np.abs(X) > 1.5, X, 0.0)),
        lambda X: np.maximum(X, 0.0),  # a histogram
        lambda X: np.argsort(np.argsort(X, axis=1), axis=1),  # all rows spread alike
    ],
    ids=["narrow", "sparse", "histogram", "alike"],
)
def test_other_views_do_not(change):
    views, y = signals()
    data = MultiViewData({"shaking": change(views["shaking"])})
    assert not has_quantiles(ConsilienceClassifier(20, random_state=0).fit(data, y))


def test_tables_of_categories_do_not():
    pd = pytest.importorskip("pandas")
    views, y = signals()
    table = pd.DataFrame(views["shaking"]).rename(columns=str)
    data = MultiViewData({"numbers": table})
    assert has_quantiles(ConsilienceClassifier(20, random_state=0).fit(data, y)) == {"numbers"}
    mixed = MultiViewData({"mixed": table.assign(kind=np.where(y == 1, "a", "b"))})
    assert not has_quantiles(ConsilienceClassifier(20, random_state=0).fit(mixed, y))


def test_a_gain_that_may_be_chance_is_not_enough():
    gains = np.array([5.0, -1.0, -1.0, -1.0, -1.0, -1.0, 0.5, 0.5])
    assert not _row_features._is_clear(gains, None)
    assert _row_features._is_clear(np.full(20, 0.1) + np.arange(20) / 100, None)
    # eight rows of two groups are two observations, not eight
    gains = np.repeat([1.0, 0.1], 4) + np.tile([0.0, 0.01], 4)
    assert _row_features._is_clear(gains, None)
    assert not _row_features._is_clear(gains, np.repeat([0, 1], 4))
    # a view that only one fold has; and folds that no row is in do not count
    assert not _row_features._is_clear(gains, np.full(8, 3))
    steady = np.repeat([1.0, 1.1, 1.2], 2)
    assert _row_features._is_clear(steady, np.repeat([0, 5, 9], 2))


def test_groups_are_left_out_together():
    """Only one person jerks: that says something about other rows of hers, nothing of others."""
    rng = np.random.default_rng(0)
    person = np.arange(150) % 5
    y, weight = (person == 0).astype(int), np.ones(150)
    data = MultiViewData({"x": shake(rng, person == 0)})
    columns, mapped = fit_columns(data, weight)
    prior = np.array([0.8, 0.2])
    for folds, expected in ((None, True), (person, False)):
        chosen, _ = choose_row_features(columns, mapped, data, y, weight, prior, folds)
        assert (chosen.maps["x"].quantiles is not None) == expected


def test_rows_without_the_view_have_no_part():
    views, y = signals(200)
    present = np.ones((200, 2), dtype=bool)
    present[::3, 1] = False
    hidden = views["shaking"].copy()
    hidden[::3] = 1e6  # never read
    models = [
        ConsilienceClassifier(20, random_state=0).fit(
            MultiViewData({"noise": views["noise"], "shaking": X}, present=present), y
        )
        for X in (views["shaking"], hidden)
    ]
    assert has_quantiles(models[0]) == {"shaking"}
    rows = MultiViewData(views)[:20]
    p = [model.predict_proba(rows) for model in models]
    np.testing.assert_array_equal(p[0], p[1])
    alone = models[0].predict_proba(rows.select(["noise"]))
    assert np.isfinite(alone).all()


def test_evidence_of_quantiles_is_shared_by_the_columns_of_the_view():
    views, y = signals(160)
    data = MultiViewData(views)
    model = ConsilienceClassifier(20, random_state=0).fit(data[:120], y[:120])
    assert "boosted" in model.member_names_
    assert has_quantiles(model) == {"shaking"}
    E = find_evidence(model, None).agreement(data[120:], np.eye(2)[y[120:]] - 0.5)
    assert {name: part.shape for name, part in E.items()} == dict.fromkeys(E, (40, 30))
    assert E["shaking"].sum(axis=1).mean() > 5 * abs(E["noise"].sum(axis=1).mean())


def test_maps_of_other_views_stay_as_they_are():
    views, y = signals()
    data = MultiViewData(views)
    weight = np.ones(len(y))
    columns, mapped = fit_columns(data, weight)
    chosen, extended = choose_row_features(
        columns, mapped, data, y, weight, np.array([0.5, 0.5]), None
    )
    assert chosen.maps["noise"] is columns.maps["noise"]
    assert extended.filled["noise"] is mapped.filled["noise"]
    again = chosen.apply(data)
    for name in views:
        np.testing.assert_array_equal(again.filled[name], extended.filled[name])


def test_boosted_trees_see_columns_as_given_and_quantiles():
    views, y = signals()
    data, weight = MultiViewData(views), np.ones(len(y))
    columns, mapped = fit_columns(data, weight)
    chosen, extended = choose_row_features(
        columns, mapped, data, y, weight, np.array([0.5, 0.5]), None
    )
    noise, shaking = chosen.as_given(data, extended)
    np.testing.assert_array_equal(noise, views["noise"])
    np.testing.assert_array_equal(shaking[:, :30], views["shaking"])
    np.testing.assert_array_equal(shaking[:, 30:], extended.raw[1][:, 30:])


# -- patterns of signals ---------------------------------------------------------------------


def bumps(n=300, seed=0, columns=60):
    """A bump of one of two shapes, anywhere in a slowly wandering signal."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = 0.3 * np.cumsum(rng.normal(size=(n, columns)), axis=1)
    t = np.arange(16)
    shapes = np.stack([4 * t / 15, 4 - 4 * t / 15])  # rises slowly and falls at once, or mirrored
    for i, start in enumerate(rng.integers(0, columns - 16, n)):
        X[i, start : start + 16] += shapes[y[i]]
    return X, y


def has_patterns(model):
    return {name for name, fitted in model._columns.maps.items() if fitted.patterns is not None}


def test_a_signal_whose_shapes_differ_gets_patterns(monkeypatch):
    X, y = bumps()
    noise = np.random.default_rng(1).normal(size=X.shape)
    data = MultiViewData({"noise": noise, "signal": X})
    model = ConsilienceClassifier(random_state=0).fit(data[:100], y[:100])
    assert has_patterns(model) == {"signal"}
    accuracy = model.score(data[100:], y[100:])
    monkeypatch.setattr(_row_features, "MIN_GAIN", 2.0)
    plain = ConsilienceClassifier(random_state=0).fit(data[:100], y[:100])
    assert not has_patterns(plain)
    assert accuracy > plain.score(data[100:], y[100:]) + 0.05


def test_the_order_of_the_columns_makes_the_signal():
    X, y = bumps()
    order = np.random.default_rng(1).permutation(60)
    model = ConsilienceClassifier(20, random_state=0).fit({"signal": X[:, order]}, y)
    assert not has_patterns(model)


def test_signals_with_missing_views_and_cells():
    X, y = bumps()
    noise = np.random.default_rng(1).normal(size=X.shape)
    present = np.ones((300, 2), dtype=bool)
    present[::4, 1] = False
    X[1, 10:14] = np.nan
    hidden = X.copy()
    hidden[::4] = 1e6  # never read
    p = []
    for signal in (X, hidden):
        data = MultiViewData({"noise": noise, "signal": signal}, present=present)
        model = ConsilienceClassifier(20, random_state=0).fit(data, y)
        assert has_patterns(model) == {"signal"}
        p.append(model.predict_proba(data[:40]))
        assert np.isfinite(model.predict_proba(data[:40].select(["noise"]))).all()
    np.testing.assert_array_equal(*p)


def test_evidence_of_patterns_is_shared_by_the_columns_of_the_view():
    X, y = bumps()
    noise = np.random.default_rng(1).normal(size=X.shape)
    data = MultiViewData({"noise": noise, "signal": X})
    model = ConsilienceClassifier(20, random_state=0).fit(data[:200], y[:200])
    assert has_patterns(model) == {"signal"}
    E = find_evidence(model, None).agreement(data[200:], np.eye(2)[y[200:]] - 0.5)
    assert {name: part.shape for name, part in E.items()} == dict.fromkeys(E, (100, 60))
    assert E["signal"].sum(axis=1).mean() > 5 * abs(E["noise"].sum(axis=1).mean())


def test_model_files_keep_patterns(tmp_path):
    X, y = bumps()
    model = ConsilienceClassifier(20, random_state=0).fit({"signal": X}, y)
    assert has_patterns(model) == {"signal"}
    save(model, tmp_path / "signals.zip")
    loaded = load(tmp_path / "signals.zip")
    np.testing.assert_array_equal(
        loaded.predict_proba({"signal": X}), model.predict_proba({"signal": X})
    )
