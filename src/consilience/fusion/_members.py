"""A scikit-learn classifier on a single view, the building block of the fusion methods.

``fit_member`` fits it on the rows where the view is present. The outputs of the resulting
``ViewMember`` cover all classes, including those absent from these rows, and are NaN where the view
is missing, which each fusion method handles in its own way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from consilience._estimators import check_classifier, fit_weighted, takes_weight
from consilience._kernel_views import read_pairwise
from consilience._model_types import model_type
from consilience._warnings import warn_user
from consilience.views import MultiViewData
from consilience.views._pairwise import PAIRWISE, Reference, check_pairwise
from consilience.views._storage import format_list

__all__ = [
    "ViewMember",
    "best_method",
    "block_shares",
    "check_known_classes",
    "class_scores",
    "fit_member",
    "use_default",
]


def class_scores(estimator: Any, X: Any, method: str, classes: np.ndarray) -> np.ndarray:
    """Scores (n x K) of a fitted classifier for ``classes``, some of which may be unknown to it.

    An unknown class gets the probability 0, or the lowest decision value of the known classes;
    predictions are converted to votes, 1 for the predicted class.
    """
    output = getattr(estimator, method)(X)
    if method == "predict":
        return (output[:, None] == classes).astype(np.float64)
    if output.ndim == 1:
        output = np.column_stack([-output, output]) / 2
    known = np.searchsorted(classes, estimator.classes_)
    if np.array_equal(known, np.arange(len(classes))):
        return output
    scores = np.zeros((len(output), len(classes)))
    if method == "decision_function":
        scores[:] = output.min(axis=1, keepdims=True)
    scores[:, known] = output
    return scores


def check_known_classes(estimator: Any, classes: np.ndarray, where: str) -> None:
    """Raise an error if a fitted classifier has other classes, as a frozen one may have."""
    known, own = set(classes.tolist()), np.asarray(getattr(estimator, "classes_", classes))
    unknown = [label for label in own.tolist() if label not in known]
    if unknown:
        raise ValueError(
            f"{type(estimator).__name__} on {where} has classes that y does not have: "
            f"{format_list(unknown)}"
        )


def best_method(estimator: Any) -> str:
    """Name of the most informative prediction method of a classifier."""
    if hasattr(estimator, "predict_proba"):
        return "predict_proba"
    return "decision_function" if hasattr(estimator, "decision_function") else "predict"


@model_type("fusion.ViewMember")
@dataclass(eq=False)
class ViewMember:
    """A classifier fitted on one view, for a problem with ``classes``."""

    name: str
    estimator: Any
    classes: np.ndarray
    sparse: bool
    reference: Reference | None

    def output(self, data: MultiViewData, method: str) -> np.ndarray:
        """Scores of ``method`` for every row (n x K); NaN in rows without the view."""
        present = data.present[:, data.view_names.index(self.name)]
        scores = np.full((len(data), len(self.classes)), np.nan)
        if present.any():
            X = self._values(data if present.all() else data[present])
            scores[present] = class_scores(self.estimator, X, method, self.classes)
        return scores

    def _values(self, data: MultiViewData) -> Any:
        if self.reference is not None:
            return read_pairwise(data, self.name, self.reference)
        view = data[self.name]
        if self.sparse:
            return sp.csr_array(view)
        return view.toarray() if sp.issparse(view) else view


def fit_member(
    estimator: Any,
    data: MultiViewData,
    name: str,
    codes: np.ndarray,
    weight: np.ndarray,
    classes: np.ndarray,
    quiet: bool = False,
) -> ViewMember | None:
    """Fit a clone of ``estimator`` on the rows that have the view.

    If these have fewer than two classes, return None and, unless ``quiet``, warn.
    """
    v = data.view_names.index(name)
    rows = np.flatnonzero(data.present[:, v] & (weight > 0))
    if len(np.unique(codes[rows])) < 2 and quiet:
        return None
    if len(np.unique(codes[rows])) < 2:
        which = "no training rows" if len(rows) == 0 else "training rows of only one class"
        warn_user(f"view {name!r} is present in {which} and does not contribute to predictions")
        return None
    if len(rows) < len(data):
        data, codes, weight = data[rows], codes[rows], weight[rows]
    kind = data.kinds[name]
    estimator = use_default(estimator, data[name])
    check_classifier(estimator, f"view {name!r}")
    check_pairwise(estimator, kind, name)
    reference = data.reference() if kind in PAIRWISE else None
    X = read_pairwise(data, name, reference) if reference else data[name]
    fitted = fit_weighted(estimator, X, classes[codes], weight, f"view {name!r}")
    check_known_classes(fitted, classes, f"view {name!r}")
    return ViewMember(
        name=name,
        estimator=fitted,
        classes=classes,
        sparse=sp.issparse(X),
        reference=reference,
    )


def use_default(estimator: Any, X: Any) -> Any:
    """Return the estimator; for None, a logistic regression on scaled columns."""
    if estimator is not None:
        return estimator
    steps = [MaxAbsScaler() if sp.issparse(X) else StandardScaler()]
    steps.append(LogisticRegression(max_iter=1000))
    if get_config()["enable_metadata_routing"]:
        steps = [s.set_fit_request(sample_weight=True) if takes_weight(s) else s for s in steps]
    return make_pipeline(*steps)


def block_shares(estimator: Any, widths: list[Any]) -> np.ndarray | None:
    """Share of each block of columns in a linear or tree model, or None if it is unknown.

    Blocks are compared by the norm of their coefficients (which presumes columns on a common scale)
    or by the sum of their importances. For a pipeline the last step is used, provided that the
    other steps do not change the number of columns.
    """
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    coef, importances = getattr(last, "coef_", None), getattr(last, "feature_importances_", None)
    if coef is not None:
        coef = coef.toarray() if sp.issparse(coef) else np.asarray(coef)
        strength = (np.atleast_2d(coef) ** 2).sum(axis=0)
    elif importances is not None:
        strength = np.asarray(importances, dtype=np.float64)
    else:
        return None
    if len(strength) != sum(widths):
        return None
    blocks = np.add.reduceat(strength, np.cumsum([0, *widths[:-1]]))
    blocks = np.sqrt(blocks) if coef is not None else blocks
    total = blocks.sum()
    return blocks / total if total > 0 else np.full(len(blocks), 1 / len(blocks))
