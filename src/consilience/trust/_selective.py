"""SelectiveClassifier: answers only where the error rate is known to be low.

The threshold on the confidence (the largest probability) is the lowest for which the hypothesis
"more than ``max_error`` of the answers are wrong" is rejected, on rows left out. Thresholds are
tested from the highest to the lowest, each at level δ = 1 − ``confidence``, up to the first that is
not rejected, so that no correction for their number is needed: A. Angelopoulos, S. Bates,
E. Candès, M. Jordan and L. Lei, "Learn then test: calibrating predictive algorithms to achieve risk
control", Annals of Applied Statistics, 2025.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import binom

from consilience._default._rows import group_by_pattern
from consilience._docstring import fill_docstring
from consilience._folds import Split
from consilience._model_types import model_type
from consilience._parameters import FRACTION, StrOptions
from consilience._warnings import warn_user
from consilience.trust._conformal import LEFT_OUT_ENTRIES
from consilience.trust._left_out import (
    LEFT_OUT_PARAMETERS,
    MIN_PATTERN_ROWS,
    LeftOutClassifier,
    describe_patterns,
)
from consilience.views import MultiViewData

__all__ = ["SelectiveClassifier", "lowest_safe_threshold"]

# fixed in advance, as the tests require: log-odds of the confidence from 16 down to −8
LOG_ODDS = np.linspace(16.0, -8.0, 241)
THRESHOLDS = 1.0 / (1.0 + np.exp(-LOG_ODDS))


def lowest_safe_threshold(
    confidence: np.ndarray, is_wrong: np.ndarray, max_error: float, delta: float
) -> float:
    """Lowest of ``THRESHOLDS`` at which an error rate above ``max_error`` is rejected.

    P(Binomial(n_t, max_error) <= wrong answers) <= δ at this and all higher thresholds that answer
    a quarter of the rows, and enough for a rejection: n_t >= log δ / log(1 − max_error). Infinite
    if there is none.
    """
    order = np.argsort(-confidence, kind="stable")
    n_answered = np.searchsorted(-confidence[order], -THRESHOLDS, side="right")
    n_wrong = np.append(0, np.cumsum(is_wrong[order]))[n_answered]
    least = max(np.log(delta) / np.log1p(-max_error), len(confidence) / 4)
    can_reject = n_answered >= least
    is_rejected = binom.cdf(n_wrong, n_answered, max_error) <= delta
    safe = np.inf
    for threshold, rejected in zip(THRESHOLDS[can_reject], is_rejected[can_reject], strict=True):
        if not rejected:
            break
        safe = float(threshold)
    return safe


@fill_docstring(**LEFT_OUT_ENTRIES)
@model_type("trust.SelectiveClassifier")
class SelectiveClassifier(LeftOutClassifier):
    """Answers only where it is confident enough to keep the error rate below a limit.

    With probability ``confidence`` (over the draw of the calibration rows), at most a share
    ``max_error`` of its answers for new rows is wrong. ``predict`` labels every row;
    ``is_answered`` tells which labels are answers, and from which the classifier abstains.

    Parameters
    ----------
    {estimator}
    max_error : float, default=0.05
        Largest acceptable share of wrong answers.
    confidence : float, default=0.9
        Probability with which this limit is kept.
    {left_out}
    conditional : {"pattern"} or None, default="pattern"
        Which rows a new row is compared with. "pattern": those with the same views, so that the
        limit holds for rows that lack a view as well. Where fewer than 50 rows have just these
        views, rows with more views are predicted from these views only, which is valid if views
        are missing completely at random ("left-out" cannot do so, nor can kernel and distance
        views). None: all rows.
    {views}
    {left_out_seed}

    Attributes
    ----------
    {left_out_fitted}
    threshold_ : float
        Least probability of the predicted class for an answer; infinite if no threshold is safe.
        With ``conditional="pattern"`` that of rows with all views; others have their own.
    answer_rate_ : float
        Share of the calibration rows that get an answer, copies aside; those that lack views as
        fewer than 50 others do count as if all rows were compared with.
    {fitted_input}

    See Also
    --------
    ConformalClassifier : Sets of classes instead of no answer.

    Notes
    -----
    The limit holds for ``method="split"``, if rows are drawn alike and errors do not become more
    frequent as confidence grows; that tests start at a quarter of the rows makes it approximate
    (in 200 simulations with confidence 0.9 it was exceeded in 6 %). For "cv+" and "left-out"
    nothing is guaranteed. Without a single
    error, at least log(1 − confidence) / log(1 − max_error) calibration rows are needed, which are
    45 with the default values. Weights are used in the fit but not in the calibration.

    Examples
    --------
    >>> from consilience.datasets import make_multiview_classification
    >>> from consilience.fusion import LateFusionClassifier
    >>> from consilience.trust import SelectiveClassifier
    >>> data, y = make_multiview_classification(800, n_classes=3, strength=2, random_state=0)
    >>> model = SelectiveClassifier(LateFusionClassifier(), max_error=0.1).fit(data[:400], y[:400])
    >>> answered = model.is_answered(data[400:])
    >>> bool(model.score(data[400:][answered], y[400:][answered]) > 0.85)
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {
        **LEFT_OUT_PARAMETERS,
        "max_error": [FRACTION],
        "confidence": [FRACTION],
        "conditional": [None, StrOptions({"pattern"})],
    }

    def __init__(
        self,
        estimator: Any = None,
        max_error: float = 0.05,
        *,
        confidence: float = 0.9,
        method: str = "cv+",
        cv: Any = None,
        calibration_size: float = 0.3,
        conditional: str | None = "pattern",
        views: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.max_error = max_error
        self.confidence = confidence
        self.method = method
        self.cv = cv
        self.calibration_size = calibration_size
        self.conditional = conditional
        self.views = views
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _calibrate(self, data: MultiViewData, splits: list[Split]) -> None:
        left_out, complete = self._left_out, np.ones(data.n_views, dtype=bool)
        by_pattern = self.conditional == "pattern"
        self.threshold_ = self._safe_threshold(complete if by_pattern else None)
        thresholds = np.full(len(left_out), self._safe_threshold(None))
        if by_pattern:
            for pattern, own in group_by_pattern(left_out.present):
                # those of rare patterns need further predictions, and wait until they are asked for
                if pattern.all() or len(own) >= MIN_PATTERN_ROWS or not left_out.can_mask:
                    thresholds[own] = self._safe_threshold(pattern)
        is_distinct = left_out.weight > 0
        confidence = left_out.probabilities[is_distinct].max(axis=1)
        self.answer_rate_ = float((confidence >= thresholds[is_distinct]).mean())
        if self.answer_rate_ == 0:
            warn_user(
                f"no threshold keeps the error rate below max_error={self.max_error} with "
                f"confidence {self.confidence} on {len(confidence)} calibration rows, so no row "
                "will be answered"
            )

    def _safe_threshold(self, pattern: np.ndarray | None) -> float:
        """Threshold for rows with the views of a pattern; None stands for all rows."""
        rows, probabilities = self._calibration_rows(pattern)
        is_distinct = self._left_out.weight[rows] > 0
        rows, probabilities = rows[is_distinct], probabilities[is_distinct]
        is_wrong = probabilities.argmax(axis=1) != self._left_out.codes[rows]
        confidence = probabilities.max(axis=1)
        return lowest_safe_threshold(confidence, is_wrong, self.max_error, 1 - self.confidence)

    def is_answered(self, X: Any) -> np.ndarray:
        """Whether the classifier is confident enough to answer.

        Parameters
        ----------
        X : MultiViewData, matrix, or any input that ``as_multiview`` reads
            Samples with the views seen in fit; a container may lack some of them.

        Returns
        -------
        ndarray of bool of shape (n_samples,)
            False for samples without any view, which no calibration row was like.
        """
        data, has_view = self._validate_for_predict(X)
        out = np.zeros(len(data), dtype=bool)
        rows = np.flatnonzero(has_view)
        if len(rows) == 0:
            return out
        confidence = self._scores(data[rows]).max(axis=1)
        if self.conditional is None:
            out[rows] = confidence >= self.threshold_
            return out
        unanswered = []
        for pattern, own in group_by_pattern(data.present[rows]):
            threshold = self._safe_threshold(pattern)
            out[rows[own]] = confidence[own] >= threshold
            if np.isinf(threshold):
                unanswered.append((pattern, len(own)))
        if unanswered and self.answer_rate_ > 0:
            warn_user(
                f"no threshold keeps the error rate below max_error={self.max_error} for "
                f"{describe_patterns(data, unanswered)}, so none of these is answered"
            )
        return out
