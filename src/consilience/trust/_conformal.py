"""ConformalClassifier: sets of classes that contain the right one with a chosen probability."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from consilience._default._rows import group_by_pattern
from consilience._docstring import fill_docstring
from consilience._folds import Split
from consilience._model_types import model_type
from consilience._parameters import FRACTION, StrOptions
from consilience._warnings import warn_user
from consilience.trust._conformal_steps import (
    aps_scores,
    effective_size,
    lac_scores,
    least_rows,
    p_values,
)
from consilience.trust._left_out import (
    LEFT_OUT_PARAMETERS,
    LeftOutClassifier,
    class_probabilities,
    describe_patterns,
)
from consilience.views import MultiViewData
from consilience.views._storage import format_list

__all__ = ["LEFT_OUT_ENTRIES", "ConformalClassifier"]

SCORES = {"lac": lac_scores, "aps": aps_scores}

LEFT_OUT_ENTRIES = {
    "estimator": """
        estimator : classifier, default=None
            A classifier of several views, of this package or a Pipeline that ends in one; None
            means ``ConsilienceClassifier``.
    """,
    "left_out": """
        method : {"cv+", "split", "left-out"}, default="cv+"
            Which rows the calibration rests on. "split" fits on a part of the rows and calibrates
            on the others. "cv+" fits without each of ``cv`` folds, and once on all rows.
            "left-out" uses the left-out probabilities that ``ConsilienceClassifier`` computes
            anyway, and costs no further fit.
        cv : int, splitter, iterable of splits or None, default=None
            Folds of "cv+". None means ten up to 1000 rows, five above. The groups of ``fit`` are
            kept together.
        calibration_size : float, default=0.3
            Share of the rows that "split" calibrates on.
    """,
    "left_out_seed": """
        random_state : int, RandomState or None, default=None
            Seed of the split; an int is also that of the classifier, if it has none of its own.
        n_jobs : int or None, default=None
            Number of threads over the folds; None means 1.
    """,
    "left_out_fitted": """
        estimator_ : classifier
            The fitted classifier behind ``predict`` and ``predict_proba``.
        view_weights_ : ndarray of shape (n_views,)
            Those of ``estimator_``, if it has them.
    """,
}


@fill_docstring(**LEFT_OUT_ENTRIES)
@model_type("trust.ConformalClassifier")
class ConformalClassifier(LeftOutClassifier):
    """Prediction sets that contain the right class with probability 1 − alpha.

    ``predict`` and ``predict_proba`` are those of the classifier; ``predict_set`` adds sets of
    classes. If new rows are drawn like the training rows, the right class is in the set with
    probability at least 1 − alpha for ``method="split"``. For "cv+" the guarantee is 1 − 2 alpha,
    less a term that vanishes as rows are added; measured were 0.90 to 0.92 with alpha=0.1. For
    "left-out" there is no guarantee.

    Parameters
    ----------
    {estimator}
    alpha : float, default=0.1
        Probability with which a set may miss the right class.
    {left_out}
    conditional : {"pattern", "class"} or None, default="pattern"
        Which rows a new row is compared with. "pattern": those with the same views, so that the
        sets hold for rows that lack a view as well. Where fewer than 50 rows have just these
        views, rows with more views are predicted from these views only, which is valid if views
        are missing completely at random ("left-out" cannot do so). "class": for each class the
        rows of this class, so that the sets hold for each class. None: all rows.
    conformity_score : {"lac", "aps"}, default="lac"
        1 − the probability of a class, which gives the smallest sets on average, or the total
        probability of all classes that are at least as likely, which gives larger sets to
        difficult rows and rarely an empty one.
    {views}
    {left_out_seed}

    Attributes
    ----------
    {left_out_fitted}
    n_calibration_rows_ : int
        Number of rows that the sets are calibrated on, copies aside.
    {fitted_input}

    See Also
    --------
    SelectiveClassifier : Answers only where the error rate is known to be low.

    Notes
    -----
    A class is in every set as long as fewer than 1 / alpha − 1 rows can be compared with. A set may
    be empty if no class looks like those seen; it counts as a miss. Rows of a group are not
    exchangeable one by one: with groups, the probability is one over new groups of similar size.
    Equal rows are left out together and count as one, unless they are equal by chance, in a few
    columns of few values. With unequal weights the probability is approximate; m rows then count
    like (Σw)² / Σw² rows.

    Examples
    --------
    >>> from consilience.datasets import make_multiview_classification
    >>> from consilience.fusion import LateFusionClassifier
    >>> from consilience.trust import ConformalClassifier
    >>> data, y = make_multiview_classification(800, n_classes=3, random_state=0)
    >>> model = ConformalClassifier(LateFusionClassifier(), random_state=0)
    >>> sets = model.fit(data[:400], y[:400]).predict_set(data[400:])
    >>> sets.shape
    (400, 3)
    >>> round(float(sets[range(400), y[400:]].mean()), 1)
    0.9
    """

    _parameter_constraints: dict[str, list[Any]] = {
        **LEFT_OUT_PARAMETERS,
        "alpha": [FRACTION],
        "conditional": [None, StrOptions({"pattern", "class"})],
        "conformity_score": [StrOptions(set(SCORES))],
    }

    def __init__(
        self,
        estimator: Any = None,
        alpha: float = 0.1,
        *,
        method: str = "cv+",
        cv: Any = None,
        calibration_size: float = 0.3,
        conditional: str | None = "pattern",
        conformity_score: str = "lac",
        views: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.alpha = alpha
        self.method = method
        self.cv = cv
        self.calibration_size = calibration_size
        self.conditional = conditional
        self.conformity_score = conformity_score
        self.views = views
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _calibrate(self, data: MultiViewData, splits: list[Split]) -> None:
        self.n_calibration_rows_ = int((self._left_out.weight > 0).sum())

    def predict_set(self, X: Any, *, alpha: float | None = None) -> np.ndarray:
        """Sets of classes that contain the right one with probability 1 − alpha.

        Parameters
        ----------
        X : MultiViewData, matrix, or any input that ``as_multiview`` reads
            Samples with the views seen in fit; a container may lack some of them.
        alpha : float, optional
            Another alpha than the one of the classifier.

        Returns
        -------
        ndarray of bool of shape (n_samples, n_classes)
            Whether a class is in the set, in the order of ``classes_``.
        """
        alpha = self.alpha if alpha is None else alpha
        if not FRACTION.is_satisfied_by(alpha):
            raise ValueError(f"alpha must be a number between 0 and 1, got {alpha!r}")
        return self._predict_p(X, alpha) > alpha

    def predict_p(self, X: Any) -> np.ndarray:
        """P-value of each class: small if the class would be a surprise.

        Parameters
        ----------
        X : MultiViewData, matrix, or any input that ``as_multiview`` reads
            Samples with the views seen in fit; a container may lack some of them.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return self._predict_p(X, None)

    def _predict_p(self, X: Any, alpha: float | None) -> np.ndarray:
        """P-values; with an alpha, a warning if they can never be as small."""
        data, has_view = self._validate_for_predict(X)
        out = np.ones((len(data), len(self.classes_)))  # rows without any view: every class
        rows = np.flatnonzero(has_view)
        patterns: Iterable[tuple[np.ndarray | None, np.ndarray]] = [(None, np.arange(len(rows)))]
        if self.conditional == "pattern":
            patterns = group_by_pattern(data.present[rows])
        full: list[tuple[np.ndarray | None, int]] = []  # patterns, and numbers of their rows
        for pattern, own in patterns:
            p, n_compared = self._p_values(data[rows[own]], pattern)
            out[rows[own]] = p
            if alpha is not None and n_compared < least_rows(alpha):
                full.append((pattern, len(own)))
        if alpha is not None:
            self._warn_of_full_sets(data, full, alpha)
        return out

    def _p_values(
        self, data: MultiViewData, pattern: np.ndarray | None
    ) -> tuple[np.ndarray, float]:
        """P-values of rows with the views of a pattern, and the number of rows they rest on.

        By class, the number is that of all classes.
        """
        if len(data) == 0:
            return np.empty((0, len(self.classes_))), np.inf
        score = SCORES[self.conformity_score]
        left_out = self._left_out
        rows, probabilities = self._calibration_rows(pattern)
        codes, weight, fold = left_out.codes[rows], left_out.weight[rows], left_out.fold[rows]
        own = score(probabilities)[np.arange(len(rows)), codes]
        estimators = left_out.estimators or [self.estimator_]
        scores = np.stack([score(class_probabilities(e, data, self.classes_)) for e in estimators])
        if self.conditional != "class":
            return p_values(scores, own, weight, fold), effective_size(weight)
        columns = []
        for k in range(len(self.classes_)):
            of_class = codes == k
            part = own[of_class], weight[of_class], fold[of_class]
            columns.append(p_values(scores[:, :, [k]], *part))
        return np.hstack(columns), effective_size(weight)

    def _warn_of_full_sets(
        self, data: MultiViewData, full: list[tuple[np.ndarray | None, int]], alpha: float
    ) -> None:
        """Say so if too few rows can be compared with for any class, or some, to be left out."""
        least = least_rows(alpha)
        takes = f"the {math.ceil(least)} calibration rows that alpha={alpha:.6g} takes"
        left_out = self._left_out
        if self.conditional == "class":
            few = [
                label
                for k, label in enumerate(self.classes_.tolist())
                if effective_size(left_out.weight[left_out.codes == k]) < least
            ]
            if few:
                warn_user(f"classes {format_list(few)} have fewer than {takes}: no set lacks them")
            return
        if full:
            warn_user(
                f"{describe_patterns(data, full)} have fewer than {takes} to be compared with: "
                "their sets have all classes"
            )
