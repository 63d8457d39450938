"""Training rows without a label."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.special import softmax
from sklearn.metrics.pairwise import rbf_kernel

from consilience import ConsilienceClassifier, MultiViewData
from consilience._default._pseudo_labels import (
    PSEUDO_LABEL_WEIGHT,
    is_unlabelled,
    match_confidence,
    pseudo_label_weights,
)
from consilience.datasets import load_digits_views, make_multiview_classification


def model(**params):
    return ConsilienceClassifier(40, random_state=0, **params)


def problem(n=400, labelled=40, **params):
    """Data, labels, and the same labels with None after the first ones."""
    settings = {"n_views": 3, "n_features": 6, "strength": 1.5, "n_classes": 3, "random_state": 0}
    data, y = make_multiview_classification(n, **{**settings, **params})
    partial = y.astype(object)
    partial[labelled:] = None
    return data, y, partial


@pytest.mark.parametrize(
    ("y", "marker", "expected"),
    [
        ([0, -1, 1], -1, [0, 1, 0]),
        ([0, -1, 1], None, [0, 0, 0]),
        ([0, None, 1], None, [0, 1, 0]),
        ([0, None, -1], -1, [0, 1, 1]),
        ([0.0, np.nan, 1.0], np.nan, [0, 1, 0]),
        ([0.0, np.nan, 1.0], None, [0, 0, 0]),
        (["a", "?", "b"], "?", [0, 1, 0]),
        (["a", "?", "b"], -1, [0, 0, 0]),
        ([0, pd.NA, 1], pd.NA, [0, 1, 0]),
        ([0, np.nan, None, "a"], np.nan, [0, 1, 1, 0]),
        ([0, pd.NA, -1], -1, [0, 0, 1]),
        ([[0], [None], [1]], None, [0, 1, 0]),
    ],
)
def test_marks(y, marker, expected):
    assert is_unlabelled(y, marker).astype(int).tolist() == expected


def test_a_mark_is_one_label():
    data, y, _ = problem(60)
    with pytest.raises(ValueError, match=r"must be None or a scalar\. Got \[1, 2\]"):
        model(unlabelled=[1, 2]).fit(data, y)


@pytest.mark.parametrize(
    ("y", "marker", "message"),
    [
        (["a", "-1", "b"], -1, "unlabelled=-1 is no text, but y has the label '-1'"),
        ([0, -1, 1], "-1", "unlabelled='-1' is a text, but y has the label -1"),
        (np.array(["a", np.nan, "b"]), np.nan, "y has the label 'nan'; use unlabelled='nan'"),
    ],
)
def test_a_mark_that_is_spelled_like_a_label_of_another_type(y, marker, message):
    with pytest.raises(ValueError, match=message):
        model(unlabelled=marker).fit(np.eye(3), y)


def test_texts_and_numbers_beside_unlabelled_rows():
    with pytest.raises(TypeError, match="y has texts and other labels, such as 'a' and 1"):
        model().fit(np.eye(4), ["a", 1, None, "a"])


def test_guesses_weigh_what_they_are_worth():
    codes, weight = pseudo_label_weights(np.array([[0.2, 0.8], [0.5, 0.5]]))
    assert codes.tolist() == [1, 0]
    np.testing.assert_allclose(weight, [PSEUDO_LABEL_WEIGHT * 0.8, PSEUDO_LABEL_WEIGHT * 0.5])


@pytest.mark.parametrize("confidence", [0.4, 0.7, 0.99])
def test_confidence_is_set(confidence):
    logits = np.random.RandomState(0).randn(50, 3)
    factor = match_confidence(logits, confidence)
    assert softmax(factor * logits, axis=1).max(axis=1).mean() == pytest.approx(confidence)


def test_confidence_out_of_reach_stays_finite():
    assert 0 < match_confidence(np.zeros((5, 2)), 0.9) < 1e3
    assert 0 < match_confidence(np.eye(2), 0.1) < 1


def test_they_help_and_stay_calibrated():
    digits, gains, gaps = load_digits_views(), [], []
    for seed in range(4):
        order = np.random.RandomState(seed).permutation(len(digits.target))
        data, y = digits.data[order], digits.target[order]
        test, truth = data[500:], y[500:]
        few = model().fit(data[:60], y[:60])
        has_time_left = model(unlabelled=-1).fit(
            data[:500], np.where(np.arange(500) < 60, y[:500], -1)
        )
        gains.append(has_time_left.score(test, truth) - few.score(test, truth))
        gaps.append(
            has_time_left.predict_proba(test).max(axis=1).mean() - has_time_left.score(test, truth)
        )
        scores = has_time_left.member_scores_
        np.testing.assert_array_equal(scores[:-1], few.member_scores_)
        assert has_time_left.member_names_[-1] == "boosted"  # too few rows of a class before
        assert np.isnan(scores[-1])
        assert has_time_left.out_of_fold_score_ == few.out_of_fold_score_
    assert np.mean(gains) > 0.01
    assert np.mean(gaps) == pytest.approx(0, abs=0.06)


def test_all_marks_mean_the_same():
    data, y, partial = problem(120)
    minus, nan = y.copy(), y.astype(float)
    minus[40:], nan[40:] = -1, np.nan
    names = np.where(np.arange(120) < 40, np.array(["a", "b", "c"])[y], "?")
    expected = model().fit(data, partial)
    assert expected.classes_.dtype.kind == "i"
    for labels, marker in ((minus, -1), (nan, np.nan), (names, "?")):
        result = model(unlabelled=marker).fit(data, labels)
        np.testing.assert_array_equal(result.predict_proba(data), expected.predict_proba(data))
        assert len(result.classes_) == 3
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(expected)).predict(data), expected.predict(data)
    )


def test_minus_one_is_a_class_unless_asked_for():
    data, y, _ = problem(60)
    assert model().fit(data, y - 1).classes_.tolist() == [-1, 0, 1]
    with pytest.raises(ValueError, match="NaN"):
        model().fit(data, np.where(y == 1, np.nan, y))


def test_rows_of_no_weight_are_absent():
    data, _, partial = problem(120)
    weight = np.r_[np.ones(80), np.zeros(40)]
    given = weight.copy()
    expected = model().fit(data[:80], partial[:80])
    result = model(class_weight="balanced").fit(data, partial, sample_weight=weight)
    np.testing.assert_array_equal(weight, given)
    assert result.score(data[:40], partial[:40].astype(int)) > 0.6
    result = model().fit(data, partial, sample_weight=weight)
    np.testing.assert_array_equal(result.predict_proba(data), expected.predict_proba(data))


def test_all_kinds_of_views():
    data, y, partial = problem(150, 60, strength=3)
    rng = np.random.RandomState(0)
    present = rng.random_sample((150, 3)) < 0.8
    present[~present.any(axis=1)] = True
    mixed = MultiViewData(
        {
            "kernel": rbf_kernel(data["view0"], gamma=0.1),
            "sparse": sp.csr_array(np.where(np.abs(data["view1"]) > 1, data["view1"], 0)),
            "dense": data["view2"],
        },
        present=present,
        kinds={"kernel": "kernel"},
    )
    fitted = model().fit(mixed, partial)
    assert fitted.score(mixed[60:], y[60:]) > 0.7
    np.testing.assert_array_equal(
        model(n_jobs=2).fit(mixed, partial).predict_proba(mixed), fitted.predict_proba(mixed)
    )


def test_matrices_and_new_rows():
    data, y, partial = problem(150, 60, strength=3)
    X = np.hstack([data[name] for name in data.view_names])
    fitted = model(views=[range(6), range(6, 12), range(12, 18)]).fit(X[:120], partial[:120])
    assert fitted.score(X[120:], y[120:]) > 0.7


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([None] * 60, "no training row has one"),
        ([1] * 30 + [None] * 30, "at least 2 classes"),
        ([0, 1] * 25 + [None] * 9, "X has 60 samples, but y has 59"),
        ([0.5, 1.5] * 25 + [None] * 10, "continuous"),
    ],
)
def test_bad_labels(labels, message):
    data, _, _ = problem(60)
    with pytest.raises(ValueError, match=message):
        model().fit(data, labels)


@pytest.mark.parametrize("marker", [-1, np.nan, None])
def test_a_list_of_texts_with_a_marker(marker):
    data, y, _ = problem(n=90)
    labels = [["a", "b", "c"][k] for k in y[:60]] + [marker] * 30
    assert model(unlabelled=marker).fit(data, labels).classes_.tolist() == ["a", "b", "c"]


def test_members_that_only_the_second_fit_has():
    """Boosting needs more rows than have a label."""
    data, _, partial = problem(n=100, labelled=30)
    fitted = model().fit(data, partial)
    assert "boosted" in fitted.member_names_
    scores = dict(zip(fitted.member_names_, fitted.member_scores_, strict=True))
    assert np.isnan(scores.pop("boosted"))
    assert np.isfinite(list(scores.values())).all()
    assert "boosted" in str(fitted.explain())


def test_unlabelled_rows_that_are_copies_of_labelled_ones():
    data, y, _ = problem(n=60)
    rows = np.r_[np.arange(60), np.arange(30)]
    partial = y[rows].astype(object)
    partial[60:] = None
    fitted = model().fit(data[rows], partial)
    assert fitted.score(data, y) > 0.8


def test_left_out_probabilities_are_as_confident_as_predictions():
    data, y, partial = problem(labelled=60)
    left_out = model().fit(data, partial).out_of_fold_probabilities_[60:].max(axis=1)
    first = model().fit(data[:60], y[:60]).predict_proba(data[60:]).max(axis=1)
    assert left_out.mean() == pytest.approx(first.mean(), abs=1e-3)
