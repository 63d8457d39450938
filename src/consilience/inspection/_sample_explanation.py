"""explain_sample: what the prediction for one sample rests on."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from consilience.inspection._evidence import find_evidence
from consilience.inspection._feature_data import feature_names, numeric_view, read_views
from consilience.inspection._feature_table import format_rows
from consilience.inspection._group_permutation import GroupPermutation, class_scores
from consilience.inspection._pipeline_steps import BackgroundNeeded
from consilience.inspection._scoring import with_presence
from consilience.inspection._shapley import (
    MAX_EXACT_VIEWS,
    exact_shapley_values,
    sampled_gains,
)
from consilience.views import MultiViewData

__all__ = ["SampleExplanation", "explain_sample"]

N_ORDERS = 50  # orders of the views that are drawn if there are too many views


@dataclass(frozen=True, eq=False)
class SampleExplanation:
    """What the prediction for one sample rests on; printing it shows a text.

    Attributes
    ----------
    prediction : label
        Predicted class.
    target : label
        Class whose score is explained, by default the predicted one.
    score : float
        Its probability, or its decision value if the model has no probabilities.
    base : float
        The score without any view, which is the share of the class in training.
    views : list of dict
        For each view ``view``, ``is_present``, ``contribution`` (Shapley value; they add up to
        ``score − base``), and what would be if the view were missing: ``score_without`` and
        ``prediction_without``, None for the only view that the sample has.
    features : list of dict
        The strongest features: ``view``, ``feature``, ``value`` (None if it is no number) and
        ``contribution`` to the score of the class before it becomes a probability, compared with
        the mean over the classes. Empty if the contributions are not known for the model.
    has_probabilities : bool
        Whether scores are probabilities.
    exact : bool
        Whether the contributions of views are exact, or from random orders of the views.

    Examples
    --------
    >>> from consilience.datasets import make_multiview_classification
    >>> from consilience.fusion import LateFusionClassifier
    >>> from consilience.inspection import explain_sample
    >>> data, y = make_multiview_classification(60, n_views=2, n_features=3, random_state=0)
    >>> explanation = explain_sample(LateFusionClassifier().fit(data[1:], y[1:]), data[:1])
    >>> [view["view"] for view in explanation.views]
    ['view0', 'view1']
    """

    prediction: Any
    target: Any
    score: float
    base: float
    views: list[dict[str, Any]]
    features: list[dict[str, Any]]
    has_probabilities: bool
    exact: bool

    def __str__(self) -> str:
        kind = "probability" if self.has_probabilities else "score"
        lines = [
            f"predicted {self.prediction!s}; {kind} of {self.target!s} {self.score:.3f}, "
            f"without any view {self.base:.3f}"
        ]
        rows = [("view", "contribution", f"{kind} without it", "prediction without it")]
        for view in self.views:
            if not view["is_present"]:
                rows.append((str(view["view"]), "missing", "", ""))
                continue
            without = view["score_without"]
            rows.append(
                (
                    str(view["view"]),
                    f"{view['contribution']:+.3f}",
                    "" if without is None else f"{without:.3f}",
                    "" if without is None else str(view["prediction_without"]),
                )
            )
        lines += ["", format_rows(rows), ""]
        if not self.features:
            return "\n".join([*lines, "contributions of features are not known for this model"])
        rows = [("view", "feature", "value", f"for {self.target!s}")]
        for feature in self.features:
            value = feature["value"]
            rows.append(
                (
                    str(feature["view"]),
                    str(feature["feature"]),
                    "" if value is None else f"{value:.4g}",
                    f"{feature['contribution']:+.4f}",
                )
            )
        return "\n".join([*lines, format_rows(rows)])


def explain_sample(
    model: Any,
    X: Any,
    *,
    target: Any = None,
    n_features: int = 10,
    background: Any = None,
    random_state: int = 0,
) -> SampleExplanation:
    """Explain the prediction for one sample by its views and its strongest features.

    Parameters
    ----------
    model : fitted classifier
        A classifier of this package, or a Pipeline that accepts several views.
    X : MultiViewData, matrix or any multi-view input
        One sample, such as ``data[[5]]``.
    target : label, optional
        Class whose score is explained; by default the predicted one.
    n_features : int, default=10
        Number of features, those with the largest contributions in absolute value.
    background : MultiViewData, matrix or any multi-view input, optional
        Samples, such as the training samples, with whose mean the features are compared.
        ``ConsilienceClassifier`` keeps its own; other methods need it for contributions of
        features.
    random_state : int, default=0
        Seed of the orders of views, if there are more than 8.

    Returns
    -------
    SampleExplanation

    See Also
    --------
    feature_importance : Importance over many samples.

    Examples
    --------
    >>> from consilience import ConsilienceClassifier
    >>> from consilience.datasets import make_multiview_biomarkers
    >>> from consilience.inspection import explain_sample
    >>> problem = make_multiview_biomarkers(120, n_features=[5, 10], random_state=0)
    >>> model = ConsilienceClassifier(n_estimators=30, random_state=0)
    >>> model = model.fit(problem.data[:100], problem.target[:100])
    >>> result = explain_sample(model, problem.data[[110]])
    >>> total = sum(view["contribution"] for view in result.views)
    >>> abs(total - (result.score - result.base)) < 1e-9
    True
    """
    check_is_fitted(model)
    data = read_views(model, X, "explain_sample")
    if len(data) != 1:
        raise ValueError(f"explain_sample explains one sample, got {len(data)}; pass data[[row]]")
    classes = np.asarray(model.classes_)
    scores = class_scores(model, data)[0]
    target = classes[scores.argmax()] if target is None else target
    if target not in classes:
        raise ValueError(f"target must be one of {classes.tolist()}, got {target!r}")
    k = int(np.flatnonzero(classes == target)[0])
    worth = _Worth(model, data, k)
    views, exact = _explain_views(worth, data, classes, random_state)
    return SampleExplanation(
        prediction=classes[scores.argmax()],
        target=target,
        score=float(scores[k]),
        base=worth(np.zeros(data.n_views, dtype=bool)),
        views=views,
        features=_explain_features(model, data, k, n_features, background, random_state),
        has_probabilities=hasattr(model, "predict_proba"),
        exact=exact,
    )


class _Worth:
    """Score of a class when only some of the views are present."""

    def __init__(self, model: Any, data: MultiViewData, k: int) -> None:
        self.model, self.data, self.k = model, data, k

    def scores(self, mask: np.ndarray) -> np.ndarray:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*have no view at all", category=UserWarning)
            return class_scores(self.model, with_presence(self.data, self.data.present & mask))[0]

    def __call__(self, mask: np.ndarray) -> float:
        return float(self.scores(mask)[self.k])


def _explain_views(
    worth: _Worth, data: MultiViewData, classes: np.ndarray, seed: int
) -> tuple[list[dict[str, Any]], bool]:
    """Shapley values of the views that the sample has, and the score without each of them."""
    own = np.flatnonzero(data.present[0])
    exact = len(own) <= MAX_EXACT_VIEWS

    def own_worth(mask: np.ndarray) -> float:
        full = np.zeros(data.n_views, dtype=bool)
        full[own[mask]] = True
        return worth(full)

    if exact:
        values = exact_shapley_values(own_worth, len(own))
    else:
        rng = np.random.RandomState(seed)
        values = sampled_gains(own_worth, len(own), N_ORDERS, rng).mean(axis=0)
    rows = []
    for v, name in enumerate(data.view_names):
        row = {"view": name, "is_present": v in own, "contribution": 0.0}
        row |= {"score_without": None, "prediction_without": None}
        if v in own:
            row["contribution"] = float(values[np.flatnonzero(own == v)[0]])
        if v in own and len(own) > 1:
            without = worth.scores(np.arange(data.n_views) != v)
            row["score_without"] = float(without[worth.k])
            row["prediction_without"] = classes[without.argmax()]
        rows.append(row)
    return rows, exact


def _explain_features(
    model: Any, data: MultiViewData, k: int, n_features: int, background: Any, seed: int
) -> list[dict[str, Any]]:
    """The strongest features, or none if the model's contributions are not known."""
    if background is not None:
        background = read_views(model, background, "explain_sample")
    n_classes = len(model.classes_)
    targets = np.full((1, n_classes), -1.0 / n_classes)
    targets[0, k] += 1.0
    try:
        evidence = find_evidence(model, background, seed)
        if isinstance(evidence, GroupPermutation):
            return []
        parts = evidence.agreement(data, targets)
    except BackgroundNeeded:
        return []
    contributions = np.concatenate([parts[name][0] for name in data.view_names])
    views, names = feature_names(data)
    values = np.concatenate([_values(data, name) for name in data.view_names])
    order = np.argsort(-np.abs(contributions), kind="stable")[:n_features]
    return [
        {
            "view": views[j],
            "feature": names[j],
            "value": None if np.isnan(values[j]) else float(values[j]),
            "contribution": float(contributions[j]),
        }
        for j in order
        if contributions[j] != 0
    ]


def _values(data: MultiViewData, name: str) -> np.ndarray:
    X = numeric_view(data, name)
    X = X.toarray() if hasattr(X, "toarray") else X
    is_present = data.present[0, data.view_names.index(name)]
    return np.where(is_present, np.asarray(X, dtype=np.float64)[0], np.nan)
