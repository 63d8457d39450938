"""Metrics agree with scikit-learn, and know what they need."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from consilience.benchmark.metrics import (
    LOWER_IS_BETTER,
    QUALITY_METRICS,
    ModelOutput,
    compute_metrics,
    find_metric,
    panel_size,
)
from consilience.datasets import make_multiview_classification
from consilience.fusion import LateFusionClassifier
from consilience.sparse import BlockSPLSDAClassifier
from consilience.views import ViewTransformer

CLASSES = np.array(["ill", "well"])


def output_of(rng, n, classes=CLASSES, kind="probability"):
    y = rng.permutation(np.arange(n) % len(classes))
    scores = rng.dirichlet(np.ones(len(classes)), size=n).round(2)
    scores[:, 0] = 1 - scores[:, 1:].sum(axis=1)
    y_pred = classes[scores.argmax(axis=1)]
    if kind == "decision":
        scores = scores[:, 1] - 0.5
    return classes[y], ModelOutput(y_pred, scores, kind, classes)


@pytest.mark.parametrize("n", [1, 4])
def test_test_rows_of_one_class_have_no_balanced_metrics(n):
    scores = np.tile([0.7, 0.3], (n, 1))
    for label, correct in (("ill", 1.0), ("well", 0.0)):
        output = ModelOutput(np.full(n, "ill"), scores, "probability", CLASSES)
        found = compute_metrics(np.full(n, label), output)
        assert set(found) == {"accuracy", "log_loss", "brier"}
        assert found["accuracy"] == correct
    # of several classes, those that occur count
    several = ModelOutput(np.array(["a", "b", "b"]), None, "none", np.array(["a", "b", "c"]))
    found = compute_metrics(np.array(["a", "a", "b"]), several, names=["balanced_accuracy"])
    assert found == {"balanced_accuracy": 0.75}


@given(st.integers(0, 2**16), st.sampled_from(["ill", "well", ""]))
def test_two_classes(seed, positive):
    rng = np.random.default_rng(seed)
    y, output = output_of(rng, 30)
    weight = rng.random(30)
    found = compute_metrics(y, output, positive=positive, weight=weight)
    assert set(found) == set(QUALITY_METRICS)
    label = positive or "well"
    is_positive, scores = y == label, output.scores[:, list(CLASSES).index(label)]
    weighted = {"sample_weight": weight}
    predicted = output.y_pred == label
    assert found["f1"] == pytest.approx(sk.f1_score(is_positive, predicted, **weighted))
    assert found["f1_macro"] == pytest.approx(
        sk.f1_score(y, output.y_pred, average="macro", **weighted)
    )
    assert found["mcc"] == pytest.approx(sk.matthews_corrcoef(y, output.y_pred, **weighted))
    assert found["brier"] == pytest.approx(sk.brier_score_loss(is_positive, scores, **weighted))
    assert found["average_precision"] == pytest.approx(
        sk.average_precision_score(is_positive, scores, **weighted)
    )
    assert found["roc_auc"] == pytest.approx(sk.roc_auc_score(is_positive, scores, **weighted))
    for name, value in found.items():
        low, high = find_metric(name).bounds
        assert low <= value <= high


@given(st.integers(0, 2**16), st.sampled_from([0.5, 0.8, 0.9, 0.95]))
def test_sensitivity_at_a_specificity(seed, specificity):
    y, output = output_of(np.random.default_rng(seed), 40)
    name = f"sensitivity@{specificity}"
    (value,) = compute_metrics(y, output, names=[name]).values()
    scores = output.scores[:, 1]
    reached = [
        np.mean(scores[y == "well"] >= t)
        for t in np.append(scores, np.inf)
        if np.mean(scores[y == "ill"] < t) >= specificity - 1e-12
    ]
    steps = [
        np.mean(scores[y == "well"] >= t)
        for t in np.append(scores, np.inf)
        if np.mean(scores[y == "ill"] < t) <= specificity
    ]
    assert max(reached) - 1e-9 <= value <= max(min(steps, default=1.0), max(reached)) + 1e-9


def test_sensitivity_of_perfect_and_constant_scores():
    y = np.repeat(CLASSES, 20)
    for scores, expected in ((np.r_[np.zeros(20), np.ones(20)], 1.0), (np.zeros(40), 0.05)):
        output = ModelOutput(y, scores, "decision", CLASSES)
        (value,) = compute_metrics(y, output, names=["sensitivity@0.95"]).values()
        assert value == pytest.approx(expected)


def test_what_is_undefined_is_left_out():
    rng = np.random.default_rng(0)
    names = (*QUALITY_METRICS, "sensitivity@0.9")
    y, output = output_of(rng, 30, np.array([0, 1, 2]))
    of_two = {"roc_auc", "average_precision", "sensitivity@0.9"}
    assert set(compute_metrics(y, output, names=names)) == set(names) - of_two
    y, output = output_of(rng, 30, kind="decision")
    probabilistic = {"log_loss", "brier"}
    assert set(compute_metrics(y, output, names=names)) == set(names) - probabilistic
    no_scores = ModelOutput(output.y_pred, None, "none", CLASSES)
    assert set(compute_metrics(y, no_scores, names=names)) == set(names) - probabilistic - of_two
    one_class = compute_metrics(y[y == "ill"], ModelOutput(y[y == "ill"], None, "none", CLASSES))
    assert one_class["accuracy"] == 1.0


def test_names():
    assert set(LOWER_IS_BETTER) >= {"log_loss", "brier", "fit_seconds"}
    for name in ("auc", "sensitivity", "Accuracy", None):
        with pytest.raises(ValueError, match="must be one of accuracy"):
            find_metric(name)
    for name in ("sensitivity@", "sensitivity@1", "sensitivity@high", "sensitivity@-0.5"):
        with pytest.raises(ValueError, match="must be a number between 0 and 1"):
            find_metric(name)


def test_panel_size_counts_the_columns_of_all_views():
    data, y = make_multiview_classification(60, random_state=0)
    model = BlockSPLSDAClassifier(1, keep=2)
    assert panel_size(model.fit(data, y)) == 2 * data.n_views
    assert panel_size(make_pipeline(ViewTransformer(StandardScaler()), model).fit(data, y)) == 6
    assert panel_size(LateFusionClassifier().fit(data, y)) is None
