"""Which rows calibrate, with which labels and weights, and tables of numbers and categories."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import DataConversionWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold
from sklearn.pipeline import make_pipeline

from consilience import ConsilienceClassifier, MultiViewData
from consilience._copies import distinct_rows
from consilience.datasets import make_multiview_classification
from consilience.fusion import LateFusionClassifier
from consilience.io import load, save
from consilience.trust import (
    ConformalClassifier,
    PatternReliabilityDisplay,
    RobustPoolingClassifier,
    SelectiveClassifier,
    find_label_errors,
    find_mismatched_samples,
    next_view,
    view_opinions,
)
from consilience.trust._mismatch import evidence_of_view
from consilience.trust._next_view import read_costs
from consilience.trust._opinions import strongest_conflict, suspected_view
from consilience.trust._reference import ReferenceTable, patterns_to_predict
from consilience.views import ViewPreparer

DATA, Y = make_multiview_classification(400, n_classes=3, strength=4, random_state=0)
SMALL = ConsilienceClassifier(10, random_state=0)


def left_out_accuracy(model):
    left_out = model._left_out
    return (left_out.probabilities.argmax(axis=1) == left_out.codes).mean()


def test_training_rows_drawn_with_replacement_keep_their_labels():
    rng, folds = np.random.RandomState(0), np.arange(200) % 4
    splits = [
        (rng.choice(np.flatnonzero(folds != k), 200), np.flatnonzero(folds == k)) for k in range(4)
    ]
    model = ConformalClassifier(LateFusionClassifier(), cv=splits).fit(DATA[:200], Y[:200])
    assert left_out_accuracy(model) > 0.9


@pytest.mark.parametrize("kind", [ConformalClassifier, SelectiveClassifier])
def test_no_row_is_left_out_twice(kind):
    cv = RepeatedStratifiedKFold(n_splits=2, n_repeats=3, random_state=0)
    with pytest.raises(ValueError, match=f"cv of {kind.__name__} must leave out every row at most"):
        kind(LateFusionClassifier(), cv=cv).fit(DATA[:60], Y[:60])
    with pytest.raises(ValueError, match="row 0 is in 3 test sets"):
        find_label_errors(LateFusionClassifier(), DATA[:60], Y[:60], cv=cv)


def test_rows_without_weight_do_not_calibrate():
    weight, wrong = np.ones(200), Y[:200].copy()
    weight[:100], wrong[:100] = 0.0, (Y[:100] + 1) % 3
    splits = list(StratifiedKFold(4).split(np.zeros(200), Y[:200]))
    model = SelectiveClassifier(LateFusionClassifier(), 0.2, cv=splits)
    model.fit(DATA[:200], wrong, sample_weight=weight)
    assert len(model._left_out) == 100
    assert left_out_accuracy(model) > 0.9
    assert model.answer_rate_ > 0.5
    with pytest.raises(ValueError, match="leaves out no row of positive weight"):
        model.set_params(cv=[(np.arange(100, 200), np.arange(50))]).fit(
            DATA[:200], wrong, sample_weight=weight
        )


def test_left_out_rows_of_the_default_are_its_own_rows():
    """It is fitted without the rows of weight 0, whatever cv is."""
    weight = np.ones(150)
    weight[:50] = 0
    splits = list(StratifiedKFold(3).split(np.zeros(150), Y[:150]))
    for cv in (3, splits):
        model = ConformalClassifier(SMALL, method="left-out", cv=cv)
        assert left_out_accuracy(model.fit(DATA[:150], Y[:150], sample_weight=weight)) > 0.9


def test_samples_without_a_view_are_not_answered():
    model = SelectiveClassifier(LateFusionClassifier(), 0.1).fit(DATA[:300], Y[:300])
    present = np.ones((5, 3), dtype=bool)
    present[[1, 3]] = False
    some = MultiViewData(dict(DATA[300:305].items()), present=present)
    whole = model.is_answered(DATA[300:305])
    with pytest.warns(UserWarning, match="2 rows have no view"):
        np.testing.assert_array_equal(model.is_answered(some), whole & present[:, 0])
    assert whole[[1, 3]].any()


def test_advice_needs_to_know_what_a_sample_has():
    """With six views not every subset of them is in the table of a model."""
    data, y = make_multiview_classification(120, n_views=6, random_state=0)
    rows = np.arange(60)
    patterns = patterns_to_predict(np.ones((60, 6), dtype=bool))
    model = LateFusionClassifier().fit(data[60:], y[60:])

    def masked(part, pattern):
        present = np.tile(pattern, (len(part), 1))
        return MultiViewData(dict(part.items()), present=present)

    probabilities = np.stack([model.predict_proba(masked(data[rows], p)) for p in patterns])
    table = ReferenceTable(
        y[rows], np.ones((60, 6), dtype=bool), model.class_prior_, patterns, probabilities
    )
    one, two = np.ones((2, 6), dtype=bool)
    one[0], two[:2] = False, False
    assert table.find(one) is not None
    assert table.find(two) is None
    known = table.gains(model.predict_proba(masked(data[:3], one)), np.tile(one, (3, 1)))
    assert np.isfinite(known[:, 0]).all()
    unknown = table.gains(model.predict_proba(masked(data[:3], two)), np.tile(two, (3, 1)))
    assert (unknown == -np.inf).all()


def mixed_tables(n=150):
    rng = np.random.RandomState(0)
    y = rng.randint(3, size=n)
    letters = np.where(rng.rand(n) < 0.5, y, rng.randint(3, size=n))
    a = pd.DataFrame(
        {
            "c": [f"k{k}" for k in letters],
            "d": [f"m{k}" for k in rng.randint(4, size=n)],
            "x": np.round(np.abs(rng.randn(n) + y), 1),
            "z": rng.rand(n) * 5,
        }
    )
    return MultiViewData({"a": a, "b": pd.DataFrame({"u": rng.randn(n) + y})}), y


@pytest.mark.parametrize("method", ["left-out", "cv+"])
def test_tables_of_numbers_and_categories_are_fitted_as_by_the_classifier_itself(method, tmp_path):
    X, y = mixed_tables()
    plain = ConsilienceClassifier(10, random_state=0).fit(X[:100], y[:100])
    model = ConformalClassifier(SMALL, method=method, cv=2).fit(X[:100], y[:100])
    np.testing.assert_allclose(model.predict_proba(X[100:]), plain.predict_proba(X[100:]))
    save(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict_set(X[100:]), model.predict_set(X[100:]))


def test_opinions_and_advice_from_tables_with_categories():
    X, y = mixed_tables()
    plain = ConsilienceClassifier(10, random_state=0).fit(X[:100], y[:100])
    conformal = ConformalClassifier(SMALL, cv=2).fit(X[:100], y[:100])
    some = MultiViewData(dict(X[100:].items()), present=np.arange(100).reshape(50, 2) % 3 > 0)
    for model, reference in ((plain, X[:100]), (conformal, None)):
        result = view_opinions(model, X[100:], reference=reference)
        assert np.isfinite(result.p_values).all()
    gains = next_view(plain, some, reference=(X[:100], y[:100])).gains
    np.testing.assert_array_equal(np.isnan(gains), some.present)
    assert np.isfinite(next_view(conformal, some).gains[~some.present]).all()
    PatternReliabilityDisplay.from_estimator(conformal, some, y[100:])


def test_conflicts_are_compared_with_conflicts_of_the_same_prior():
    shares = {None: [], "balanced": []}
    for seed in range(6):
        data, y = make_multiview_classification(1500, n_classes=3, strength=1.5, random_state=seed)
        rows = np.r_[np.flatnonzero(y == 0), np.flatnonzero(y > 0)[:300]]
        rows = np.random.RandomState(seed).permutation(rows)
        for weights, own in shares.items():
            model = ConformalClassifier(LateFusionClassifier(class_weight=weights), cv=3)
            p = view_opinions(model.fit(data[rows[:400]], y[rows[:400]]), data[rows[400:]]).p_values
            own.append((p < 0.05).mean())
    for own in shares.values():
        assert 0.04 < np.mean(own) < 0.06


def test_opinions_of_a_pipeline():
    pipeline = make_pipeline(ViewPreparer(scale="standard"), LateFusionClassifier())
    model = ConformalClassifier(pipeline, cv=2).fit(DATA[:100], Y[:100])
    assert np.isfinite(view_opinions(model, DATA[100:110]).p_values).all()


def test_pairs_without_a_common_view_count_like_wrong_pairs():
    """Samples with two other views have the mean of two pieces of evidence, not their sum."""
    rng = np.random.RandomState(0)
    present = np.ones((40, 3), dtype=bool)
    present[:10, 0], present[30:, 1] = False, False
    evidence = {}
    for u in range(2):
        rows = np.flatnonzero(present[:, u])
        evidence[u, 2] = rows, rng.randn(len(rows), len(rows)) - 60 + 50 * np.eye(len(rows))
    S, kept = evidence_of_view(evidence, 2, present)
    assert len(kept) == 40
    np.testing.assert_allclose(S[:10, 30:], S[30:, :10].T)
    assert -61 < S[0, 39] < -59


def test_views_that_no_sample_has():
    present = np.ones((200, 3), dtype=bool)
    present[:, 1] = False
    some = MultiViewData(dict(DATA[:200].items()), present=present)
    with pytest.warns(UserWarning, match="present in no training rows"):
        model = RobustPoolingClassifier(LateFusionClassifier(), random_state=0).fit(some, Y[:200])
    assert model.score(some, Y[:200]) > 0.8
    result = find_mismatched_samples(some)
    assert np.isnan(result.areas["view1"])


def test_values_that_are_not_finite_are_no_samples():
    broken = {name: view.copy() for name, view in DATA[:100].items()}
    name = next(iter(broken))
    broken[name][3, 1] = np.inf
    with pytest.raises(ValueError, match=f"{name}"):
        find_mismatched_samples(broken)


def test_copies_with_a_wrong_label_are_all_found():
    rows = np.r_[np.arange(120), [1, 1]]
    labels = Y[rows].copy()
    labels[rows == 1] = (Y[1] + 1) % 3
    with pytest.warns(DataConversionWarning):
        result = find_label_errors(SMALL, DATA[rows], labels[:, None])
    assert {1, 120, 121} <= set(result.suspects.tolist())
    assert (result.probability[[120, 121]] == result.probability[1]).all()


def test_all_of_many_rows_are_looked_at(monkeypatch):
    monkeypatch.setattr("consilience.trust._label_errors.N_TESTED_ROWS", 50)
    labels = Y[:120].copy()
    labels[:3] = (labels[:3] + 1) % 3
    result = find_label_errors(SMALL, DATA[:120], labels, cv=2)
    assert (result.probability > 0).all()
    assert {0, 1, 2} <= set(result.suspects.tolist())


def test_few_rows_of_large_weight_are_few_rows():
    """The weights of other rows do not matter, nor does a single row of large weight."""
    rows = np.r_[np.flatnonzero(Y == 0)[:12], np.flatnonzero(Y > 0)[:100]]
    y, weight = Y[rows], np.where(Y[rows] == 0, 50.0, 0.1)
    model = ConformalClassifier(
        LateFusionClassifier(), method="split", conditional="class", calibration_size=0.5
    )
    p = model.fit(DATA[rows], y, sample_weight=weight).predict_p(DATA)
    assert p[:, 0].min() == pytest.approx(1 / (1 + (model._left_out.codes == 0).sum()))
    weight = np.ones(len(y))
    weight[model.set_params(random_state=0).fit(DATA[rows], y)._left_out.rows[0]] = 1e6
    model.set_params(conditional=None).fit(DATA[rows], y, sample_weight=weight)
    assert model.predict_p(DATA).min() == pytest.approx(0.5, abs=0.01)


def test_totals_of_all_probabilities_are_ties():
    """The less likely of two classes has all probability, not a rounding error less or more."""
    y = (Y > 0).astype(int)
    noise = np.random.RandomState(0).rand(400) < 0.3
    model = ConformalClassifier(
        LateFusionClassifier(), method="split", conditional=None, conformity_score="aps"
    )
    p = model.fit(DATA, np.where(noise, 1 - y, y)).predict_p(DATA).min(axis=1)
    assert len(np.unique(p)) == 1


def test_pipelines_with_rows_without_a_label_are_a_type_error():
    y = np.where(np.arange(100) % 4 == 0, -1, Y[:100])
    semi = make_pipeline(ViewPreparer(scale="standard"), ConsilienceClassifier(10, unlabelled=-1))
    with pytest.raises(TypeError, match="needs a label for every row"):
        ConformalClassifier(semi, method="split").fit(DATA[:100], y)


def test_views_of_which_no_calibration_row_tells_anything_are_not_suspected():
    robust = RobustPoolingClassifier(LateFusionClassifier(), random_state=0).fit(DATA, Y)
    present = np.ones((400, 3), dtype=bool)
    present[robust._left_out.rows, 2] = False
    with pytest.warns(UserWarning, match=r"if views 'view2' are off, and will not suspect them"):
        model = robust.fit(MultiViewData(dict(DATA.items()), present=present), Y)
    assert (model.predict_off(DATA)[:, 2] < 1e-20).all()
    assert (model.predict_off(DATA)[:, :2] > 1e-6).any()


def test_conflicts_are_compared_with_those_of_the_same_views():
    """Four views contradict each other more strongly than two."""
    shares = []
    for seed in range(4):
        data, y = make_multiview_classification(1600, n_views=4, strength=1.5, random_state=seed)
        present = np.ones((800, 4), dtype=bool)
        present[np.random.RandomState(seed).rand(800) < 0.8, 2:] = False
        some = MultiViewData(dict(data[:800].items()), present=present)
        model = ConformalClassifier(
            LateFusionClassifier(), method="split", calibration_size=0.6, random_state=0
        )
        model.fit(some, y[:800])
        for new in (data[800:], data[800:].select(["view0", "view1"])):
            p = view_opinions(model, new).p_values
            shares.append([(p[:, 0] < 0.1).mean(), (p[:, 1] < 0.1).mean()])
    np.testing.assert_allclose(np.mean(np.reshape(shares, (4, 2, 2)), axis=0), 0.1, atol=0.03)


def test_samples_without_any_view_are_like_all_reference_rows():
    """Whatever their order, which often is that of the classes."""
    model = LateFusionClassifier().fit(DATA[:100], Y[:100])
    lacking = MultiViewData(dict(DATA[:2].items()), present=np.zeros((2, 3), dtype=bool))
    order = 100 + np.argsort(Y[100:], kind="stable")
    p = model.predict_proba(DATA[100:].select(["view0"]))
    accuracy = (p.argmax(axis=1) == Y[100:]).mean()
    prior = (Y[100:] == model.class_prior_.argmax()).mean()
    for rows in (np.arange(100, 400), order):
        gains = next_view(model, lacking, reference=(DATA[rows], Y[rows])).gains
        np.testing.assert_allclose(gains[:, 0], accuracy - prior)


def test_rows_of_like_evidence_are_not_chosen_by_their_order():
    """A view that says the same of all rows: fifty of them, of all classes."""
    views = {"a": np.ones((400, 1)), "b": DATA["view0"]}
    model = LateFusionClassifier().fit(MultiViewData(views), Y)
    rows = np.argsort(Y, kind="stable")
    reference = MultiViewData({name: view[rows] for name, view in views.items()}), Y[rows]
    gain = next_view(model, {"a": views["a"][:1]}, reference=reference).gains[0, 1]
    whole = model.score(*reference) - (model.class_prior_.argmax() == Y).mean()
    assert gain == pytest.approx(whole, abs=0.15)


def test_a_series_of_costs_names_its_views():
    assert read_costs(pd.Series({"b": 5.0, "a": 1.0}), ["a", "b"]).tolist() == [1, 5]
    assert read_costs(pd.Series([1.0, 5.0]), ["a", "b"]).tolist() == [1, 5]
    with pytest.raises(ValueError, match="costs must name the views"):
        read_costs(pd.Series({"b": 5.0, "c": 1.0}), ["a", "b"])


@pytest.mark.parametrize("utility", [lambda p, y: p[:, 0].mean(), lambda p, y: np.log(p[:, 0] * 0)])
def test_utilities_are_finite_numbers_of_rows(utility):
    model = LateFusionClassifier().fit(DATA[:100], Y[:100])
    some = DATA[:2].select(["view0"])
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="finite number for each of"):
        next_view(model, some, utility=utility, reference=(DATA[100:], Y[100:]))


def test_of_two_views_in_conflict_none_is_distrusted():
    model = ConformalClassifier(LateFusionClassifier(), cv=2).fit(DATA[:200], Y[:200])
    two = view_opinions(model, DATA[200:].select(["view0", "view1"]))
    assert (np.nanmin(two.p_values, axis=1) < 0.05).any()
    assert two.distrust == [None] * 200
    assert set(view_opinions(model, DATA[200:]).distrust) > {None}


def test_robust_pooling_in_chunks(monkeypatch):
    robust = RobustPoolingClassifier(LateFusionClassifier(), random_state=0).fit(DATA, Y)
    expected = robust.predict_off(DATA)
    monkeypatch.setattr("consilience.trust._robust.FEATURE_CHUNK_ROWS", 7)
    np.testing.assert_allclose(robust.predict_off(DATA), expected, atol=1e-9)


@pytest.mark.parametrize(
    "options", [{}, {"cv": 4}, {"method": "split"}, {"method": "split", "calibration_size": 0.5}]
)
def test_copies_are_left_out_together(options):
    """Rows drawn again would be predicted by themselves."""
    rows = np.r_[np.arange(150), np.random.RandomState(0).choice(150, 100)]
    model = ConformalClassifier(LateFusionClassifier(), random_state=0, **options)
    left_out = model.fit(DATA[rows], Y[rows])._left_out
    assert len({*zip(rows[left_out.rows], left_out.fold, strict=True)}) == len(
        {*rows[left_out.rows]}
    )
    if options.get("method") == "split":
        kept = np.setdiff1d(np.arange(250), left_out.rows)
        assert not set(rows[kept]) & set(rows[left_out.rows])
    else:
        assert len(left_out) == 250


@pytest.mark.parametrize("kind", ["decimals", "binary", "categories", "sparse"])
def test_copies_of_rounded_and_discrete_rows(kind):
    """They have no column that tells all rows apart, but are never equal by chance."""
    rng = np.random.RandomState(0)
    X = {
        "decimals": np.round(rng.randn(150, 20), 1),
        "binary": (rng.rand(150, 300) < 0.05).astype(float),
        "categories": rng.randint(5, size=(150, 30)).astype(float),
        "sparse": sp.csr_array((rng.rand(150, 400) < 0.05).astype(float)),
    }[kind]
    rows = rng.permutation(np.repeat(np.arange(150), 4))
    first, copies = distinct_rows(MultiViewData({"a": X[rows], "b": X[rows]}))
    assert len(first) == 150
    assert (rows[first][copies] == rows).all()


@pytest.mark.parametrize("kind", ["age and sex", "one hot", "correlated answers"])
def test_rows_of_few_values_are_equal_by_chance(kind):
    rng = np.random.RandomState(0)
    X = {
        "age and sex": np.column_stack([rng.randint(20, 90, 150), rng.randint(2, size=150)]),
        "one hot": np.eye(5)[rng.randint(5, size=300)],
        "correlated answers": np.round(rng.randn(1000, 1) + 0.3 * rng.randn(1000, 4)),
    }[kind].astype(float)
    assert len(np.unique(X, axis=0)) < len(X)
    assert len(distinct_rows(MultiViewData({"a": X}))[0]) == len(X)
    assert len(distinct_rows(MultiViewData({"a": X[:, :1], "b": X[:, 1:]}))[0]) == len(X)


def test_copies_of_tables_and_documents():
    rng, rows = np.random.RandomState(0), np.r_[np.arange(60), np.arange(20)]
    frame = pd.DataFrame({"c": rng.choice(list("abc"), 60), "x": rng.randn(60), "z": rng.rand(60)})
    notes = np.array([f"note {i} {rng.randint(9)}" for i in range(60)])
    data = MultiViewData({"t": frame.iloc[rows].reset_index(drop=True), "notes": notes[rows]})
    assert len(distinct_rows(data)[0]) == 60


def test_classes_of_one_row():
    with pytest.raises(ValueError, match="no class has two rows that differ"):
        ConformalClassifier(LateFusionClassifier()).fit(DATA[:20], np.arange(20))
    model = ConformalClassifier(LateFusionClassifier(), method="split")
    with pytest.raises(ValueError, match=r"calibration_size=0.3 sets .* class 'b' has 1 rows"):
        model.fit(DATA[:20], np.array(["a"] * 19 + ["b"]))


def test_rows_of_few_discrete_columns_are_not_copies():
    """They are equal by chance, whether other rows have a view that tells them apart or not."""
    rng = np.random.RandomState(0)
    discrete, present = rng.randint(2, size=(200, 3)).astype(float), np.ones((200, 2), dtype=bool)
    present[100:, 1] = False
    for data in (
        MultiViewData({"a": discrete}),
        MultiViewData({"a": discrete, "b": rng.randn(200, 2)}, present=present),
    ):
        model = ConformalClassifier(LateFusionClassifier()).fit(data, rng.randint(2, size=200))
        assert model.n_calibration_rows_ == 200


@pytest.mark.parametrize("method", ["split", "cv+", "left-out"])
def test_copies_count_once_in_calibration(method):
    estimator = SMALL if method == "left-out" else LateFusionClassifier()
    model = ConformalClassifier(estimator, method=method, calibration_size=0.5, random_state=0)
    once = model.fit(DATA[:100], Y[:100])
    rows, n_rows = {*once._left_out.rows}, once.n_calibration_rows_
    three = model.fit(DATA[np.arange(300) % 100], Y[np.arange(300) % 100])
    assert three.n_calibration_rows_ == n_rows
    assert len(three._left_out) == 3 * n_rows
    assert three.predict_p(DATA[300:]).min() == pytest.approx(1 / (1 + n_rows))
    if method == "split":  # which rows are left out does not depend on copies
        assert {*three._left_out.rows % 100} == rows
    other = (Y[:100] + 1) % 3  # the same rows with another label are not the same
    both = model.fit(DATA[np.arange(200) % 100], np.r_[Y[:100], other])
    assert both.n_calibration_rows_ == 2 * n_rows


def test_robust_pooling_leaves_copies_out_together():
    rows = np.r_[np.arange(150), np.random.RandomState(0).choice(150, 100)]
    for cv in (0.3, 3):
        model = RobustPoolingClassifier(LateFusionClassifier(), cv=cv, random_state=0)
        left_out = model.fit(DATA[rows], Y[rows])._left_out
        pairs = {*zip(rows[left_out.rows], left_out.fold, strict=True)}
        assert len(pairs) == len({*rows[left_out.rows]})


def test_splits_that_separate_copies_give_a_warning():
    rows = np.r_[np.arange(100), 7]
    splits = [(np.arange(20, 101), np.arange(20))]
    model = ConformalClassifier(LateFusionClassifier(), cv=splits)
    with pytest.warns(UserWarning, match=r"split 0 of cv leaves out 1 rows \(such as row 7\) that"):
        model.fit(DATA[rows], Y[rows])
    groups = np.r_[np.arange(100), 7]
    with pytest.warns(UserWarning, match="1 groups among both"):  # which says the same
        model.fit(DATA[rows], Y[rows], groups=groups)


def test_distrust_allows_for_the_number_of_views():
    shares = []
    for n_views in (3, 8):
        data, y = make_multiview_classification(900, n_views=n_views, n_classes=3, random_state=0)
        model = LateFusionClassifier().fit(data[:200], y[:200])
        result = view_opinions(model, data[550:], reference=(data[200:550], y[200:550]))
        shares.append(np.mean([view is not None for view in result.distrust]))
        same = view_opinions(model, data[550:], reference=data[200:550])
        np.testing.assert_array_equal(result.p_values, same.p_values)
    assert max(shares) < 0.08
    assert min(shares) > 0.005


def test_few_reference_rows_cannot_distrust_a_view():
    model = LateFusionClassifier().fit(DATA[:200], Y[:200])
    with pytest.warns(UserWarning, match="distrust one of 3 views only with 60 or more .* are 59"):
        view_opinions(model, DATA[300:], reference=DATA[200:259])
    broken = {name: np.array(view) for name, view in DATA[300:].items()}
    other = np.array([np.flatnonzero(Y[:200] != label)[0] for label in Y[300:]])
    broken["view0"] = DATA["view0"][other]
    result = view_opinions(model, broken, reference=DATA[200:260])
    assert "view0" in result.distrust


def test_the_strongest_conflict_among_several():
    p = np.array([[0.01, 0.5, 0.2], [0.02, 0.5, np.nan], [np.nan] * 3, [0.9, 0.8, 0.7]])
    view, least = strongest_conflict(p)
    assert view.tolist() == [0, 0, -1, 2]
    np.testing.assert_allclose(least, [0.03, 0.04, np.nan, 1.0])
    assert suspected_view(p).tolist() == [0, -1, -1, -1]


def test_conflicts_without_a_row_to_compare_with_have_no_p_value():
    model = LateFusionClassifier().fit(DATA[:200], Y[:200])
    with pytest.warns(UserWarning, match="with 60 or more reference rows .* but there are 0"):
        result = view_opinions(
            model, DATA[300:], reference=DATA[200:300].select(["view0", "view1"])
        )
    assert np.isnan(result.p_values[:, 2]).all()
    assert np.isfinite(result.conflict).all()
    with pytest.raises(ValueError, match=r"reference of next_view must be a pair \(X, y\)"):
        next_view(model, DATA[300:].select(["view0"]), reference=DATA[200:300])


def test_views_that_do_not_vary_tell_nothing_of_mismatches():
    same = {"a": np.ones((60, 3)), "b": np.ones((60, 2))}
    result = find_mismatched_samples(same)
    assert result.areas == {"a": 0.5, "b": 0.5}
    assert len(result.suspects) == 0


@pytest.mark.parametrize("kind", [LateFusionClassifier, ConformalClassifier])
def test_named_columns_give_no_warning(kind):
    frames = {
        name: pd.DataFrame(view, columns=[f"{name}_{j}" for j in range(view.shape[1])])
        for name, view in DATA.items()
    }
    X = MultiViewData(frames)
    estimator = LateFusionClassifier()
    model = estimator if kind is LateFusionClassifier else kind(estimator)
    model.fit(X[:200], Y[:200])
    assert np.isfinite(view_opinions(model, X[200:], reference=X[200:]).p_values).all()
    assert np.isfinite(next_view(model, X[200:].select(["view1"]), reference=(X, Y)).gains).any()
    PatternReliabilityDisplay.from_estimator(model, X[200:], Y[200:])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8])
def test_robust_pooling_of_narrow_numbers(dtype):
    some = MultiViewData({name: (10 * view).astype(dtype) for name, view in DATA.items()})
    model = RobustPoolingClassifier(LateFusionClassifier(), random_state=0).fit(some, Y)
    assert model.score(some, Y) > 0.8


def test_views_are_split_by_the_classifier_outside():
    X, views = np.hstack([view for _, view in DATA.items()]), [10, 10, 10]
    model = ConformalClassifier(LateFusionClassifier(), views=views).fit(X, Y)
    assert model.predict_set(X).shape == (400, 3)
    with pytest.raises(ValueError, match="pass views= to it, not to LateFusionClassifier"):
        ConformalClassifier(LateFusionClassifier(views=views)).fit(X, Y)
    some = ConformalClassifier(LateFusionClassifier(views=["view0"])).fit(DATA, Y)
    assert some.estimator_.view_names_ == ["view0"]


def test_a_classifier_of_one_matrix_is_a_type_error():
    with pytest.raises(TypeError, match=r"LogisticRegression takes one matrix; wrap it, such as"):
        ConformalClassifier(LogisticRegression()).fit(DATA, Y)


def test_costs_that_are_no_numbers():
    model = LateFusionClassifier().fit(DATA[:200], Y[:200])
    with pytest.raises(ValueError, match="costs must be 3 positive numbers, got"):
        next_view(model, DATA[200:], dict.fromkeys(DATA.view_names, "a"), reference=(DATA, Y))
