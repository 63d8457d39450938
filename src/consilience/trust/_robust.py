"""RobustPoolingClassifier: a view that is off for a sample loses its say for this sample."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from consilience._docstring import fill_docstring
from consilience._folds import Split, split_holdout, split_rows
from consilience._model_types import model_type
from consilience._parameters import CV, FRACTION, N_JOBS, RANDOM_STATE, VIEWS, HasMethods
from consilience.trust._conformal import LEFT_OUT_ENTRIES
from consilience.trust._cross_view import CrossViewModel, check_feature_views, fit_cross_views
from consilience.trust._left_out import LeftOutClassifier, class_probabilities
from consilience.trust._opinions import conflict, opinions_of, without_each_view
from consilience.trust._robust_steps import (
    NeighbourDistances,
    draw_donors,
    evidence_of_p_value,
    fit_log_odds,
    fit_neighbour_distances,
    pool,
)
from consilience.views import MultiViewData

__all__ = ["RobustPoolingClassifier"]

MIN_CALIBRATION_ROWS = 10


@fill_docstring(**LEFT_OUT_ENTRIES)
@model_type("trust.RobustPoolingClassifier")
class RobustPoolingClassifier(LeftOutClassifier):
    """A classifier that does not trust a view which is off for a sample.

    A view of a sample can be corrupted, or belong to another sample. It is suspected if it is far
    from all training rows, if the class it speaks for contradicts the other views, or if its
    values do not fit theirs. The probabilities are the mean of those from all views and of those
    without each view, weighted by how likely it is that nothing, or this view, is off.

    Parameters
    ----------
    {estimator}
    off_rate : float, default=0.1
        Share of samples that are expected to have a view that is off.
    cv : float, int, splitter or iterable of splits, default=0.3
        Rows on which suspicion is calibrated by a fit without them; a float is the share of a
        random part. The classifier itself is fitted on all rows.
    {views}
    {left_out_seed}

    Attributes
    ----------
    {left_out_fitted}
    {fitted_input}

    See Also
    --------
    view_opinions : What each view alone says.

    Notes
    -----
    Views must have feature columns. A prediction costs 2 V + 1 predictions of the classifier for V
    views. Samples that have a single view are predicted from it as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from consilience import MultiViewData
    >>> from consilience.datasets import make_multiview_classification
    >>> from consilience.fusion import LateFusionClassifier
    >>> from consilience.trust import RobustPoolingClassifier
    >>> data, y = make_multiview_classification(800, n_classes=3, random_state=0)
    >>> broken = dict(data[400:].items())
    >>> broken["view0"] = broken["view0"] + 10 * np.random.RandomState(0).randn(400, 10)
    >>> broken = MultiViewData(broken)
    >>> plain = LateFusionClassifier().fit(data[:400], y[:400])
    >>> robust = RobustPoolingClassifier(LateFusionClassifier(), random_state=0)
    >>> robust = robust.fit(data[:400], y[:400])
    >>> bool(robust.score(broken, y[400:]) > plain.score(broken, y[400:]) + 0.05)
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "estimator": [None, HasMethods(["fit", "predict"])],
        "off_rate": [FRACTION],
        "cv": [*CV, FRACTION],
        "views": VIEWS,
        "random_state": RANDOM_STATE,
        "n_jobs": N_JOBS,
    }
    method = "hold-out"

    _cross_views: CrossViewModel
    _neighbours: list[NeighbourDistances]
    _log_odds: np.ndarray

    def __init__(
        self,
        estimator: Any = None,
        off_rate: float = 0.1,
        *,
        cv: Any = 0.3,
        views: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.off_rate = off_rate
        self.cv = cv
        self.views = views
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _splits(self, data: MultiViewData, codes: np.ndarray) -> list[Split]:
        check_feature_views(data, type(self).__name__)
        if isinstance(self.cv, float):
            return [split_holdout(codes, data, self.classes_, self.cv, self.random_state)]
        return split_rows(self.cv, codes, data, self.classes_)

    def _fit(self, data: MultiViewData, codes: np.ndarray, weight: np.ndarray) -> None:
        self._cross_views = fit_cross_views(data)
        self._neighbours = [
            fit_neighbour_distances(C[~np.isnan(C).any(axis=1)])
            for C in self._cross_views.transform(data)
        ]
        super()._fit(data, codes, weight)

    def _calibrate(self) -> None:
        """Logistic regressions that tell left-out rows from rows with a view of another one."""
        left_out = self._left_out
        n_views = left_out.present.shape[1]
        everything = np.ones(n_views, dtype=bool)
        rows = np.arange(len(left_out))
        data = left_out.data(rows, everything)
        alone, without = np.empty((2, len(rows), n_views, len(self.classes_)))
        for k, estimator in enumerate(left_out.estimators):
            own = np.flatnonzero(left_out.fold == k)
            if len(own):
                alone[own] = opinions_of(estimator, data[own], self.classes_)
                without[own] = without_each_view(estimator, data[own], self.classes_)
        Cs = self._cross_views.transform(data)
        rng = check_random_state(self.random_state)
        self._log_odds = np.stack(
            [self._calibrate_view(v, alone, without, Cs, rng) for v in range(n_views)]
        )

    def _calibrate_view(
        self,
        v: int,
        alone: np.ndarray,
        without: np.ndarray,
        Cs: list[np.ndarray],
        rng: np.random.RandomState,
    ) -> np.ndarray:
        rows = np.flatnonzero(~np.isnan(without[:, v]).any(axis=1))
        codes = self._left_out.codes[rows]
        if len(rows) < MIN_CALIBRATION_ROWS or len(np.unique(codes)) < 2:
            return np.array([0.0, 0.0, 0.0])  # distances alone tell whether the view is off
        donors = rows[draw_donors(codes, rng)]
        own_Cs = [C[rows] for C in Cs]
        pairs = [
            self._features(v, alone[source, v], without[rows, v], own_Cs, Cs[v][source])
            for source in (rows, donors)
        ]
        return fit_log_odds(*pairs)

    def _features(
        self, v: int, alone: np.ndarray, without: np.ndarray, Cs: list[np.ndarray], Cv: np.ndarray
    ) -> np.ndarray:
        """Conflict in classes and disagreement in components of view v with the others."""
        agreement = self._cross_views.agreement(Cs, v, Cv)
        return np.column_stack(
            [conflict(alone, without, self.class_prior_), -np.arcsinh(agreement)]
        )

    def _odds(self, data: MultiViewData, alone: np.ndarray, without: np.ndarray) -> np.ndarray:
        """Odds (n x V) that each view is off; 0 where it is missing or the only one."""
        odds = np.zeros(data.present.shape)
        Cs = self._cross_views.transform(data)
        for v in range(data.n_views):
            rows = np.flatnonzero(~np.isnan(without[:, v]).any(axis=1))
            if len(rows) == 0:
                continue
            own = [C[rows] for C in Cs]
            features = self._features(v, alone[rows, v], without[rows, v], own, own[v])
            logits = self._log_odds[v, 0] + features @ self._log_odds[v, 1:]
            evidence = evidence_of_p_value(self._neighbours[v].p_values(own[v]))
            odds[rows, v] = evidence * np.exp(np.minimum(logits, 50.0))
        return odds * self.off_rate / data.n_views

    def _scores(self, data: MultiViewData) -> np.ndarray:
        full = class_probabilities(self.estimator_, data, self.classes_)
        if data.n_views == 1:
            return full
        alone = opinions_of(self.estimator_, data, self.classes_)
        without = without_each_view(self.estimator_, data, self.classes_)
        return pool(full, without, self._odds(data, alone, without))

    def predict_off(self, X: Any) -> np.ndarray:
        """Probability that each view of each sample is off.

        Parameters
        ----------
        X : MultiViewData, matrix, or any input that ``as_multiview`` reads
            Samples with the views seen in fit; a container may lack some of them.

        Returns
        -------
        ndarray of shape (n_samples, n_views)
            NaN where a sample lacks a view; 0 for the only view of a sample.
        """
        data = self._validate_for_predict(X)[0]
        alone = opinions_of(self.estimator_, data, self.classes_)
        without = without_each_view(self.estimator_, data, self.classes_)
        odds = self._odds(data, alone, without)
        shares = odds / (1.0 + odds.sum(axis=1, keepdims=True))
        return np.where(data.present, shares, np.nan)
