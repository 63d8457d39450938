"""RobustPoolingClassifier: a view that is off for a sample loses its say for this sample."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from consilience._docstring import fill_docstring
from consilience._folds import Split
from consilience._model_types import model_type
from consilience._parameters import (
    CV,
    FRACTION,
    N_JOBS,
    RANDOM_STATE,
    VIEWS,
    HasMethods,
    StrOptions,
)
from consilience._warnings import warn_user
from consilience.trust._conformal import LEFT_OUT_ENTRIES
from consilience.trust._cross_view import CrossViewModel, check_feature_views, fit_cross_views
from consilience.trust._faults import MIN_ROWS, alter_rows
from consilience.trust._left_out import LeftOutClassifier, class_probabilities
from consilience.trust._left_out_splits import leave_folds_out, leave_share_out
from consilience.trust._opinions import conflict, opinions_of, without_each_view
from consilience.trust._rhythm import RhythmModel, fit_rhythms
from consilience.trust._robust_steps import (
    Detector,
    Examples,
    estimate_rates,
    even_rates,
    fit_detector,
    pool,
    silent_detector,
    view_odds,
)
from consilience.views import MultiViewData
from consilience.views._storage import format_list

__all__ = ["RobustPoolingClassifier"]

N_FEATURES = 5  # of each view of a row
FEATURE_CHUNK_ROWS = 4096  # rows that are compared with training rows at once


def _folds_of(fold: np.ndarray) -> list[np.ndarray]:
    """Numbers of the left-out rows of each fold."""
    return [np.flatnonzero(fold == k) for k in range(int(fold.max()) + 1)]


@fill_docstring(**LEFT_OUT_ENTRIES)
@model_type("trust.RobustPoolingClassifier")
class RobustPoolingClassifier(LeftOutClassifier):
    """A classifier that does not trust a view which is off for a sample.

    A view of a sample can be corrupted, or belong to another sample. It is suspected if it is far
    from all training rows, if the class it speaks for contradicts the other views, or if its
    values, or for signals the times at which they change, do not fit theirs. The probabilities
    are the mean of those from all views and of those without each view, weighted by how likely it
    is that nothing, or this view, is off.

    Parameters
    ----------
    {estimator}
    off_rate : float or "batch", default=0.1
        Share of samples that are expected to have a view that is off. "batch" estimates it from
        the samples that are predicted together, which recognises more views of other samples if
        there are many, and suspects fewer if there are none; the prediction of a sample then
        depends on the others.
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
    What it looks like if a view is off is learnt from left-out rows of which one view is exchanged
    with that of a row of another class, or has noise of 0.6 to 30 standard deviations of each
    column. A view of another sample is recognised where views predict each other well; elsewhere
    the sample does not tell which of its views is wrong. A view with little noise is kept.

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
        "off_rate": [FRACTION, StrOptions({"batch"})],
        "cv": [*CV, FRACTION],
        "views": VIEWS,
        "random_state": RANDOM_STATE,
        "n_jobs": N_JOBS,
    }
    method = "hold-out"

    _cross_views: CrossViewModel
    _rhythms: RhythmModel | None
    _detector: Detector

    def __init__(
        self,
        estimator: Any = None,
        off_rate: float | str = 0.1,
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
        if isinstance(self.cv, (float, np.floating)):
            share, seed = float(self.cv), self.random_state
            return [leave_share_out(share, data, codes, self.classes_, seed, "cv")]
        return leave_folds_out(self.cv, data, codes, self.classes_)

    def _fit(self, data: MultiViewData, codes: np.ndarray, weight: np.ndarray) -> None:
        self._cross_views = fit_cross_views(data)
        self._rhythms = fit_rhythms(data, self._cross_views)
        super()._fit(data, codes, weight)

    def _calibrate(self, data: MultiViewData, splits: list[Split]) -> None:
        """Learn to tell which view of a left-out row was altered."""
        rng = check_random_state(self.random_state)
        parts = [
            self._examples(estimator, data[train], data[test], self._left_out.codes[own], rng)
            for own, (train, test), estimator in zip(
                _folds_of(self._left_out.fold), splits, self._left_out.estimators, strict=True
            )
        ]
        examples = Examples(*(np.concatenate(part) for part in zip(*parts, strict=True)))
        self._warn_of_untested_views(data, examples)
        if (examples.fault > 0).any():
            self._detector = fit_detector(examples)
        else:
            self._detector = silent_detector(*examples.features.shape[1:])

    def _warn_of_untested_views(self, data: MultiViewData, examples: Examples) -> None:
        """Say which views will never be suspected, because too few rows show what that is like."""
        tested = np.unique(examples.view[examples.fault > 0])
        seen: np.ndarray = np.asarray(data.present.any(axis=0))
        names = [n for v, n in enumerate(data.view_names) if seen[v] and v not in tested]
        if names and data.n_views > 1:
            warn_user(
                f"{type(self).__name__} cannot learn what it looks like if views "
                f"{format_list(names)} are off, and will not suspect them: this takes at least "
                f"{MIN_ROWS} left-out rows of two classes with such a view and another one"
            )

    def _examples(
        self,
        estimator: Any,
        train: MultiViewData,
        test: MultiViewData,
        codes: np.ndarray,
        rng: np.random.RandomState,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Features of left-out rows, fault and view of each, and likelihoods of their class.

        Rows that are left out take no part in the prediction of views either.
        """
        altered = alter_rows(test, codes, rng)
        full, alone, without = altered.predict(estimator, self.classes_)
        cross_views = fit_cross_views(train)
        models = cross_views, fit_rhythms(train, cross_views)
        features = self._features(*models, altered.data, alone, without)
        own = np.arange(len(full))[:, None], altered.codes[:, None]
        likelihood = np.hstack([full[own], without[own[0], np.arange(test.n_views), own[1]]])
        return features, altered.fault, altered.view, np.where(np.isnan(likelihood), 0, likelihood)

    def _features(
        self,
        cross_views: CrossViewModel,
        rhythms: RhythmModel | None,
        data: MultiViewData,
        alone: np.ndarray,
        others: np.ndarray,
    ) -> np.ndarray:
        """Conflict in classes, disagreement in components and rhythms, strangeness (n x V x 5).

        NaN where a view is missing or the only one.
        """
        features = np.zeros((*data.present.shape, N_FEATURES))
        for start in range(0, len(data), FEATURE_CHUNK_ROWS):
            rows = slice(start, start + FEATURE_CHUNK_ROWS)
            part = data[rows]
            Cs, features[rows, :, 3:] = cross_views.transform(part)
            for v, C in enumerate(Cs):
                features[rows, v, 1] = -np.arcsinh(cross_views.agreement(Cs, v, C))
            if rhythms is not None:
                features[rows, :, 2] = -np.arcsinh(rhythms.agreements(part))
        features[:, :, 0] = conflict(alone, others, self.class_prior_)
        features[np.isnan(others).any(axis=2)] = np.nan
        return features

    def _odds(self, data: MultiViewData, without: np.ndarray) -> np.ndarray:
        """Odds (n x V) that each view is off; 0 where it is missing or the only one."""
        alone = opinions_of(self.estimator_, data, self.classes_)
        odds = self._detector.odds(
            self._features(self._cross_views, self._rhythms, data, alone, without)
        )
        is_batch = isinstance(self.off_rate, str)
        rates = estimate_rates(odds) if is_batch else even_rates(float(self.off_rate))
        return view_odds(odds, rates)

    def _scores(self, data: MultiViewData) -> np.ndarray:
        full = class_probabilities(self.estimator_, data, self.classes_)
        if data.n_views == 1:
            return full
        without = without_each_view(self.estimator_, data, self.classes_)
        return pool(full, without, self._odds(data, without))

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
        without = without_each_view(self.estimator_, data, self.classes_)
        odds = self._odds(data, without)
        shares = odds / (1.0 + odds.sum(axis=1, keepdims=True))
        return np.where(data.present, shares, np.nan)
