"""Metrics of predictions: what they are called, what they need, and how they are computed.

``find_metric`` describes a metric by its name; ``sensitivity@0.95`` (at a specificity of 0.95, or
any other) is one as well. Metrics of one class refer to the positive one: the second of two classes
in sorted order, unless another one is named.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    balanced_accuracy_score,
    f1_score,
    log_loss,
    matthews_corrcoef,
    roc_auc_score,
    roc_curve,
)

from consilience._suggest import suggest

__all__ = [
    "COST_METRICS",
    "DESCRIPTIVE_METRICS",
    "LOWER_IS_BETTER",
    "METRICS",
    "PANEL_SIZE",
    "QUALITY_METRICS",
    "Metric",
    "ModelOutput",
    "compute_metrics",
    "find_metric",
    "metric_names",
    "needs_scores",
    "panel_size",
    "positive_label",
    "predict_output",
]

SENSITIVITY = "sensitivity@"


@dataclass(frozen=True)
class ModelOutput:
    """Predictions of a model on test rows; scores are probabilities, decision values or None."""

    y_pred: np.ndarray
    scores: np.ndarray | None
    kind: str  # "probability", "decision" or "none"
    classes: np.ndarray

    def positive_scores(self, positive: Any) -> np.ndarray:
        """Scores that grow with the positive one of two classes."""
        if self.scores is None:
            raise ValueError("the model has no scores")
        is_second = positive == self.classes[1]
        if self.kind == "probability":
            return self.scores[:, 1 if is_second else 0]
        return self.scores if is_second else -self.scores


Compute = Callable[[np.ndarray, ModelOutput, Any, np.ndarray | None], float]


@dataclass(frozen=True)
class Metric:
    """A metric: how it is computed, from what, and its range.

    ``depends_on`` says which rows determine how precise it is: all, those of the rarest class,
    those of the positive class, or pairs of a positive and a negative one. ``chance_metric`` tells
    whether a method beats chance where the metric itself cannot: guessing at random has a better
    F1 than the constant prediction of the most frequent class. ``needs_two_test_classes`` if it is
    not defined, or would be a plain accuracy, for test rows of one class, as in leave-one-out.
    """

    name: str
    compute: Compute
    needs: Literal["labels", "scores", "probabilities"] = "labels"
    lower_is_better: bool = False
    bounds: tuple[float, float] = (0.0, 1.0)
    two_classes_only: bool = False
    of_positive_class: bool = False
    depends_on: Literal["rows", "rarest", "positive", "pairs"] = "rows"
    chance_metric: str = ""
    needs_two_test_classes: bool = False

    @property
    def sign(self) -> float:
        """1 if larger is better, else −1."""
        return -1.0 if self.lower_is_better else 1.0

    def is_defined(self, y_true: np.ndarray, output: ModelOutput) -> bool:
        """Whether it can be computed for these test rows and this output."""
        if self.needs_two_test_classes and len(np.unique(y_true)) < 2:
            return False
        if self.needs == "labels":
            return True
        if not np.isin(y_true, output.classes).all():
            return False
        if self.needs == "probabilities" and output.kind != "probability":
            return False
        if self.two_classes_only:
            return len(output.classes) == 2 and output.scores is not None
        return True


def _accuracy(y: np.ndarray, output: ModelOutput, _: Any, weight: np.ndarray | None) -> float:
    return accuracy_score(y, output.y_pred, sample_weight=weight)


def _balanced_accuracy(
    y: np.ndarray, output: ModelOutput, _: Any, weight: np.ndarray | None
) -> float:
    return balanced_accuracy_score(y, output.y_pred, sample_weight=weight)


def _f1(y: np.ndarray, output: ModelOutput, positive: Any, weight: np.ndarray | None) -> float:
    """F1 of the positive class; with more than two classes, the mean over classes."""
    if len(output.classes) != 2:
        return _f1_macro(y, output, positive, weight)
    return f1_score(y, output.y_pred, pos_label=positive, zero_division=0.0, sample_weight=weight)


def _f1_macro(y: np.ndarray, output: ModelOutput, _: Any, weight: np.ndarray | None) -> float:
    return f1_score(y, output.y_pred, average="macro", zero_division=0.0, sample_weight=weight)


def _mcc(y: np.ndarray, output: ModelOutput, _: Any, weight: np.ndarray | None) -> float:
    return matthews_corrcoef(y, output.y_pred, sample_weight=weight)


def _roc_auc(y: np.ndarray, output: ModelOutput, positive: Any, weight: np.ndarray | None) -> float:
    return roc_auc_score(y == positive, output.positive_scores(positive), sample_weight=weight)


def _average_precision(
    y: np.ndarray, output: ModelOutput, positive: Any, weight: np.ndarray | None
) -> float:
    scores = output.positive_scores(positive)
    return average_precision_score(y == positive, scores, sample_weight=weight)


def _log_loss(y: np.ndarray, output: ModelOutput, _: Any, weight: np.ndarray | None) -> float:
    return log_loss(y, output.scores, labels=output.classes, sample_weight=weight)


def _brier(y: np.ndarray, output: ModelOutput, _: Any, weight: np.ndarray | None) -> float:
    """Half of the squared distance of the probabilities from the truth, between 0 and 1."""
    assert output.scores is not None
    errors = ((output.scores - (y[:, None] == output.classes)) ** 2).sum(axis=1) / 2
    return float(np.average(errors, weights=weight))


def _sensitivity(
    y: np.ndarray,
    output: ModelOutput,
    positive: Any,
    weight: np.ndarray | None,
    *,
    specificity: float,
) -> float:
    """Sensitivity where the ROC curve, linear between its points, has this specificity."""
    scores = output.positive_scores(positive)
    false_alarms, hits, _ = roc_curve(
        y == positive, scores, sample_weight=weight, drop_intermediate=False
    )
    limit = 1 - specificity + 1e-12  # so that 1 − 0.95 allows 1 of 20
    i = int(np.flatnonzero(false_alarms <= limit)[-1])
    if i + 1 == len(false_alarms):
        return float(hits[i])
    share = (limit - false_alarms[i]) / (false_alarms[i + 1] - false_alarms[i])
    return float(hits[i] + share * (hits[i + 1] - hits[i]))


_ALL = (
    Metric("accuracy", _accuracy),
    Metric(
        "balanced_accuracy", _balanced_accuracy, depends_on="rarest", needs_two_test_classes=True
    ),
    Metric(
        "f1",
        _f1,
        of_positive_class=True,
        depends_on="positive",
        chance_metric="mcc",
        needs_two_test_classes=True,
    ),
    Metric("log_loss", _log_loss, "probabilities", True, (0.0, np.inf)),
    Metric(
        "roc_auc",
        _roc_auc,
        "scores",
        two_classes_only=True,
        depends_on="pairs",
        needs_two_test_classes=True,
    ),
    Metric(
        "f1_macro",
        _f1_macro,
        depends_on="rarest",
        chance_metric="mcc",
        needs_two_test_classes=True,
    ),
    Metric(
        "average_precision",
        _average_precision,
        "scores",
        two_classes_only=True,
        of_positive_class=True,
        depends_on="positive",
        chance_metric="roc_auc",
        needs_two_test_classes=True,
    ),
    Metric("mcc", _mcc, bounds=(-1.0, 1.0), needs_two_test_classes=True),
    Metric("brier", _brier, "probabilities", True),
)
_BY_NAME = {metric.name: metric for metric in _ALL}
QUALITY_METRICS = tuple(_BY_NAME)
# the only metrics that differ between two runs of a task
COST_METRICS = (
    "fit_seconds",
    "fit_wall_seconds",
    "predict_seconds",
    "predict_wall_seconds",
    "tune_seconds",
    "peak_memory",
)
# of the fitted model: the number of columns that a method with panels has selected
PANEL_SIZE = "panel_size"
# reported without a verdict about which method is best
DESCRIPTIVE_METRICS = (*COST_METRICS, PANEL_SIZE)
METRICS = (*QUALITY_METRICS, *DESCRIPTIVE_METRICS)
LOWER_IS_BETTER = (*(m.name for m in _ALL if m.lower_is_better), *COST_METRICS)


def metric_names() -> str:
    """List the metrics for messages."""
    return f"{', '.join(QUALITY_METRICS)} or {SENSITIVITY}SPECIFICITY (such as {SENSITIVITY}0.95)"


def find_metric(name: str, argument: str = "metric") -> Metric:
    """Return a metric by its name, which ``argument`` gave."""
    if isinstance(name, str) and name in _BY_NAME:
        return _BY_NAME[name]
    if isinstance(name, str) and name.startswith(SENSITIVITY):
        try:
            specificity = float(name.removeprefix(SENSITIVITY))
        except ValueError:
            specificity = np.nan
        if not 0 < specificity < 1:
            raise ValueError(f"the specificity in {name!r} must be a number between 0 and 1")
        return Metric(
            name,
            partial(_sensitivity, specificity=specificity),
            "scores",
            two_classes_only=True,
            of_positive_class=True,
            depends_on="positive",
            chance_metric="roc_auc",
            needs_two_test_classes=True,
        )
    hint = suggest(name, _BY_NAME) if isinstance(name, str) else ""
    raise ValueError(f"{argument} must be one of {metric_names()}, got {name!r}{hint}")


def needs_scores(name: str) -> bool:
    """Whether a metric is computed from probabilities or decision values, not from labels."""
    return name in _BY_NAME and _BY_NAME[name].needs != "labels"


def predict_output(model: Any, X: Any, y_pred: np.ndarray) -> ModelOutput:
    """Add to predicted labels the probabilities of the model, else its decision values."""
    for kind, method in (("probability", "predict_proba"), ("decision", "decision_function")):
        if hasattr(model, method):
            return ModelOutput(y_pred, getattr(model, method)(X), kind, model.classes_)
    return ModelOutput(y_pred, None, "none", model.classes_)


def panel_size(model: Any) -> int | None:
    """Number of columns in the panels of all views; None for a method without panels."""
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    panels = getattr(last, "selected_", None)
    return None if panels is None else sum(len(columns) for columns in panels.values())


def compute_metrics(
    y_true: np.ndarray,
    output: ModelOutput,
    *,
    names: Sequence[str] = QUALITY_METRICS,
    positive: str = "",
    weight: np.ndarray | None = None,
) -> dict[str, float]:
    """Compute the metrics that are defined; ``positive`` is the name of the positive class."""
    label = positive_label(output.classes, positive)
    metrics = [find_metric(name) for name in dict.fromkeys(names)]
    return {
        metric.name: float(metric.compute(y_true, output, label, weight))
        for metric in metrics
        if metric.is_defined(y_true, output)
    }


def positive_label(classes: np.ndarray, positive: str) -> Any:
    """The class of this name, else the last one."""
    named = [label for label in classes if str(label) == positive]
    return named[0] if named else classes[-1]
