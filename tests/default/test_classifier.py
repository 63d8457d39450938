"""ConsilienceClassifier as its users meet it."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.metrics import log_loss
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel

from consilience import ConsilienceClassifier, MultiViewData, io
from consilience._default import _columns, _kernel
from consilience._solvers import linalg, nystrom
from consilience.datasets import make_multiview_classification


def model(**params):
    return ConsilienceClassifier(40, random_state=0, **params)


def problem(n=160, **params):
    settings = {"n_views": 3, "n_features": 6, "strength": 2.5, "n_classes": 3, "random_state": 0}
    return make_multiview_classification(n, **{**settings, **params})


def test_attributes_and_explanation():
    data, y = problem()
    fitted = model().fit(data[:100], y[:100])
    assert fitted.member_names_ == ["kernel", "linear", "columns", "components", "boosted"]
    assert fitted.member_weights_.sum() == pytest.approx(1)
    assert (fitted.member_scores_ > 0.6).all()
    assert fitted.score(data[100:], y[100:]) > 0.8
    explanation = fitted.explain()
    assert [row["view"] for row in explanation.views] == ["view0", "view1", "view2"]
    assert all(row["adds"] < row["alone"] for row in explanation.views)
    assert str(explanation).startswith("member ")
    alone = fitted.member_decision_function(data[100:])
    assert alone.shape == (5, 60, 3)
    np.testing.assert_allclose(alone[:-1].sum(axis=2), 1)
    np.testing.assert_allclose(alone[-1].sum(axis=1), 0, atol=1e-12)  # log-odds


def test_junk_views_get_no_weight():
    data, y = problem(n_views=1)
    rng = np.random.RandomState(0)
    junk = {f"junk{j}": rng.randn(len(y), 30) for j in range(2)}
    fitted = model().fit(MultiViewData({"good": data["view0"], **junk}), y)
    assert fitted.view_weights_[0] > 0.9


def test_probabilities_are_calibrated():
    gaps = []
    for seed in range(4):
        data, y = problem(600, strength=1.2, random_state=seed)
        p = model().fit(data[:100], y[:100]).predict_proba(data[100:])
        gaps.append(p.max(axis=1).mean() - (p.argmax(axis=1) == y[100:]).mean())
        assert log_loss(y[100:], p) < log_loss(y[100:], np.full_like(p, 1 / 3)) - 0.1
    # a hundred rows leave some luck in each
    assert np.mean(gaps) == pytest.approx(0, abs=0.05)


def test_a_rare_class_is_found():
    data, y = problem(800, n_classes=2, class_weights=[9, 1], strength=3)
    fitted = model().fit(data[:150], y[:150])
    result = fitted.predict(data[150:])[y[150:] == 1]
    assert result.mean() > 0.5
    balanced = model(class_weight="balanced").fit(data[:150], y[:150])
    assert balanced.predict(data[150:])[y[150:] == 1].mean() >= result.mean()


@pytest.mark.parametrize("rate", [0.0, 0.3])
def test_views_absent_at_prediction(rate):
    data, y = problem(300, missing_rate=rate)
    fitted = model().fit(data[:150], y[:150])
    complete, _ = problem(300)
    for names in (["view0"], ["view1", "view2"]):
        assert fitted.score(complete.select(names)[150:], y[150:]) > 0.55
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(
        again.decision_function(data[150:]), fitted.decision_function(data[150:])
    )


def test_a_row_is_predicted_alike_alone_and_among_others():
    data, y = problem(200, missing_rate=0.3)
    fitted = model().fit(data[:150], y[:150])
    together = fitted.decision_function(data[150:])
    alone = np.vstack([fitted.decision_function(data[[i]]) for i in range(150, 200)])
    np.testing.assert_allclose(alone, together, atol=1e-9)


def test_a_view_missing_in_all_training_rows():
    data, y = problem(80)
    present = np.ones((80, 3), dtype=bool)
    present[:, 1] = False
    rare = MultiViewData(dict(data.items()), present=present)
    with pytest.warns(UserWarning, match="'view1' are present in no training row"):
        fitted = model().fit(rare, y)
    assert fitted.view_weights_[1] == 0
    assert fitted.score(data, y) > 0.8
    only = fitted.predict_proba(data.select(["view1"]))
    np.testing.assert_allclose(only, only[:1].repeat(80, axis=0))
    assert fitted.explain().views[1]["adds"] == 0


def test_tables_with_categories_and_empty_cells():
    rng = np.random.RandomState(0)
    y = np.arange(120) % 2
    table = pd.DataFrame(
        {
            "amount": np.where(rng.rand(120) < 0.2, np.nan, rng.randn(120) + y),
            "colour": np.where(y == 1, "red", "blue").astype(object),
        }
    )
    table.loc[rng.rand(120) < 0.2, "colour"] = None
    data = MultiViewData({"t": table, "x": rng.randn(120, 3) + 0.3 * y[:, None]})
    fitted = model().fit(data[:80], y[:80])
    assert fitted.score(data[80:], y[80:]) > 0.8
    flat = pd.concat([table, pd.DataFrame(data["x"], columns=list("abc"))], axis=1)
    doors = model(views={"t": ["amount", "colour"], "x": list("abc")}).fit(flat[:80], y[:80])
    np.testing.assert_allclose(
        doors.decision_function(flat[80:]), fitted.decision_function(data[80:]), atol=1e-8
    )
    broken = np.array(data["x"])
    broken[4, 1] = np.inf
    with pytest.raises(ValueError, match="Input contains infinity: view 'x', row 4, column 1"):
        model().fit({"t": table, "x": broken}, y)


def test_empty_cells_say_something():
    rng = np.random.RandomState(0)
    y = np.arange(200) % 2
    X = rng.randn(200, 4)
    X[y == 1, 0] = np.where(rng.rand(100) < 0.9, np.nan, X[y == 1, 0])
    assert model().fit(X[:100], y[:100]).score(X[100:], y[100:]) > 0.85


@pytest.mark.parametrize("rate", [0.0, 0.2])
def test_kernel_and_distance_views(rate):
    data, y = problem(150, n_views=2, missing_rate=rate)
    K, D = rbf_kernel(data["view0"]), euclidean_distances(data["view1"])
    K[~data.present[:, 0]] = np.nan
    K[:, ~data.present[:, 0]] = np.nan
    views = {"k": K, "d": D, "f": data["view0"][:, :2]}
    kinds = {"k": "kernel", "d": "distance"}
    present = np.column_stack([data.present, data.present[:, 0]])
    both = MultiViewData(views, kinds=kinds, present=present)
    for names, members in ((["k", "d"], 2), (["k", "d", "f"], 5)):
        part = both.select(names)
        known = np.flatnonzero(part.present.any(axis=1))
        part, labels = part[known], y[known]
        fitted = model().fit(part[:100], labels[:100])
        assert len(fitted.member_names_) == members
        assert fitted.score(part[100:], labels[100:]) > 0.7
        rest = part[100 + np.flatnonzero(part.present[100:, 1])]
        assert len(fitted.predict(rest.select(["d"]))) == len(rest)


def test_sparse_views_stay_sparse():
    data, y = problem(200, sparsity=0.95, n_features=200)
    fitted = model().fit(data[:120], y[:120])
    assert all(sp.issparse(view.rows) for view in fitted._members[0].reference_set.views)
    dense = MultiViewData({name: view.toarray() for name, view in data.items()})
    np.testing.assert_allclose(
        model().fit(dense[:120], y[:120]).decision_function(dense[120:]),
        fitted.decision_function(data[120:]),
        atol=1e-6,
    )


def let_few_rows_count_as_many(monkeypatch):
    """Landmarks and single precision from 200 rows on."""
    for name in ("EIGEN_MAX_ROWS", "EXACT_MAX_ROWS"):
        monkeypatch.setattr(_kernel, name, 200)
    for name in ("N_LANDMARKS", "N_IMPUTED_LANDMARKS"):
        monkeypatch.setattr(_kernel, name, 100)
    monkeypatch.setattr(_kernel, "TUNING_ROWS", 60)
    monkeypatch.setattr(_kernel, "CHUNK_ROWS", 64)
    monkeypatch.setattr(_columns, "FLOAT64_MAX_CELLS", 100)


@pytest.mark.parametrize("rate", [0.0, 0.2])
def test_more_rows_than_the_kernel_holds(monkeypatch, rate):
    data, y = problem(500, missing_rate=rate)
    exact = model().fit(data[:300], y[:300])
    let_few_rows_count_as_many(monkeypatch)
    near = model().fit(data[:300], y[:300])
    assert len(near._members[0].reference_set) == 100
    assert near.score(data[300:], y[300:]) > exact.score(data[300:], y[300:]) - 0.05
    rest = data[300 + np.flatnonzero(data.present[300:, 0])].select(["view0"])
    assert len(near.predict(rest)) == len(rest)


@pytest.mark.parametrize("rate", [0.0, 0.2])
def test_threads_do_not_change_the_model_of_many_rows(monkeypatch, rate):
    data, y = problem(300, missing_rate=rate)
    let_few_rows_count_as_many(monkeypatch)
    monkeypatch.setattr(linalg, "BLOCK_ORDER", 32)
    one, two = (model(n_jobs=n_jobs).fit(data, y) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.decision_function(data), two.decision_function(data))
    np.testing.assert_array_equal(one.out_of_fold_probabilities_, two.out_of_fold_probabilities_)


@pytest.mark.parametrize(("n_tested", "n_folds"), [(20, 1), (60, 2), (200, 4)])
def test_only_as_many_folds_as_needed_are_left_out(monkeypatch, n_tested, n_folds):
    data, y = problem(200)
    let_few_rows_count_as_many(monkeypatch)
    for name in ("EIGEN_MAX_ROWS", "EXACT_MAX_ROWS"):
        monkeypatch.setattr(_kernel, name, 150)
    monkeypatch.setattr(_kernel, "N_TESTED_ROWS", n_tested)
    tested = []

    def spy(*args, **options):
        tested.append((args[6], args[7]))
        return nystrom.nystrom_ridge(*args, **options)

    monkeypatch.setattr(_kernel, "nystrom_ridge", spy)
    fitted = model().fit(data, y)
    ((rows, folds),) = tested
    assert len(np.unique(rows)) == n_tested
    assert len(np.unique(folds[rows])) == n_folds
    assert np.isfinite(fitted.out_of_fold_probabilities_).any(axis=1).sum() == n_tested
    tested.clear()
    model().fit(data, y, groups=np.arange(200) // 2)
    ((rows, folds),) = tested
    np.testing.assert_array_equal(rows, np.arange(n_tested))
    assert len(np.unique(folds[rows])) == 4


def test_time_budget():
    data, y = problem(100)
    hasty = ConsilienceClassifier(1000, random_state=0, time_budget=1e-9).fit(data, y)
    assert len(hasty._members[2].joint) == 10
    patient = ConsilienceClassifier(20, random_state=0, time_budget=1e9).fit(data, y)
    np.testing.assert_array_equal(
        patient.decision_function(data),
        ConsilienceClassifier(20, random_state=0).fit(data, y).decision_function(data),
    )


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_estimators": 5}, r"'n_estimators' parameter .* \[10, 1000000\]\. Got 5"),
        ({"n_estimators": 20.0}, r"'n_estimators' parameter .* Got 20.0"),
        ({"time_budget": 0}, r"'time_budget' parameter .* \(0\.0, inf\)\. Got 0"),
        ({"time_budget": "long"}, r"'time_budget' parameter .* Got 'long'"),
    ],
)
def test_bad_parameters(params, message):
    data, y = problem(30)
    with pytest.raises(ValueError, match=message):
        ConsilienceClassifier(**params).fit(data, y)


def test_odd_data():
    rng = np.random.RandomState(0)
    y = np.arange(40) % 2
    constant = MultiViewData({"c": np.ones((40, 3)), "z": sp.csr_array((40, 5))})
    p = model().fit(constant, y).predict_proba(constant)
    np.testing.assert_allclose(p, 0.5, atol=1e-6)
    frozen = (rng.randn(40, 3) + 2 * y[:, None]).astype(np.float32)
    frozen.flags.writeable = False
    assert model().fit(frozen, y).score(frozen, y) > 0.8
    huge = np.asfortranarray(rng.randn(40, 3) + 2 * y[:, None]) * 1e300
    assert model().fit(huge, y).score(huge, y) > 0.8
    whole = rng.randint(-5, 5, size=(40, 3)) + 5 * y[:, None]
    assert model().fit(whole.astype(np.int8), y).score(whole, y) > 0.8
    single = np.r_[np.zeros(39, int), 1]
    assert set(model().fit(frozen, single).predict(frozen)) <= {0, 1}
    two = model().fit(frozen[:2], y[:2])
    assert len(two.predict(frozen)) == 40


@pytest.mark.parametrize("rate", [0.0, 0.3])
@pytest.mark.parametrize("dtype", [np.float64, np.int64])
def test_boosting_takes_part_where_rows_suffice(rate, dtype, tmp_path):
    data, y = problem(400, missing_rate=rate)
    views = {name: (10 * np.nan_to_num(X)).astype(dtype) for name, X in data.items()}
    data = MultiViewData(views, present=data.present)
    fitted = model().fit(data[:250], y[:250])
    assert fitted.member_names_ == ["kernel", "linear", "columns", "components", "boosted"]
    assert fitted.member_scores_[-1] > 0.6
    assert fitted.score(data[250:], y[250:]) > 0.75
    again = model(n_jobs=2).fit(data[:250], y[:250])
    np.testing.assert_array_equal(again.predict_proba(data[250:]), fitted.predict_proba(data[250:]))
    io.save(fitted, tmp_path / "model.skops")
    loaded = io.load(tmp_path / "model.skops")
    np.testing.assert_array_equal(
        loaded.predict_proba(data[250:]), fitted.predict_proba(data[250:])
    )
    assert "boosted" not in model().fit(data[:49], y[:49]).member_names_


def test_few_strong_columns_among_many():
    rng = np.random.default_rng(0)
    y = np.arange(650) % 3
    views = {name: rng.normal(size=(650, 300)) for name in "ab"}
    for view in views.values():
        view[:, :3] += 2.5 * np.eye(3)[y]
    data = MultiViewData(views)
    fitted = model().fit(data[:150], y[:150])
    score = fitted.score(data[150:], y[150:])
    assert score > 0.9
    # a member that sees all columns alike would not do
    kernel = fitted.member_decision_function(data[150:])[0]
    assert (kernel.argmax(axis=1) == y[150:]).mean() < score - 0.05
