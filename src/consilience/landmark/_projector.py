"""LandmarkProjector: views to their similarities with a few landmarks, as a transformer."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from consilience._model_types import model_type
from consilience._parameters import N_JOBS, RANDOM_STATE, VIEWS, validate_parameters
from consilience._targets import check_weights
from consilience.landmark._projection import LANDMARK_PARAMETERS, find_landmarks
from consilience.views import MultiViewData
from consilience.views._index import check_aligned
from consilience.views._input import read_input
from consilience.views._layout import check_values
from consilience.views._pairwise import KINDS

__all__ = ["LandmarkProjector"]


@model_type("landmark.LandmarkProjector")
class LandmarkProjector(TransformerMixin, BaseEstimator):
    """Similarities of every sample to landmarks, a block of columns for each view.

    Where a sample lacks a view its block is NaN.

    Parameters
    ----------
    n_landmarks : int or dict of view -> int, default=100
        Number of landmarks of each view. Where a view has no more distinct rows than that, they
        are its landmarks.
    landmarks : {"kmeans", "random"} or samples, default="kmeans"
        Centres of k-means in every view (of a kernel or distance view, the samples nearest to
        them); a random sample of rows, the same in all views; or landmarks of your own, as
        ``MultiViewData`` or anything ``as_multiview`` reads.
    kernel : str, callable or dict of view -> these, default="rbf"
        "rbf", "laplacian", "chi2", "cosine", "linear", "poly", "sigmoid", or a function of two
        matrices; not used for kernel and distance views.
    gamma : float, "auto", "scale", "median" or dict of view -> these, default="median"
        Coefficient of the kernel; "median" is 1 / median squared distance between training
        samples, "scale" 1 / (number of columns x variance) and "auto" 1 / number of columns, for
        scaled columns. Distance views become exp(−gamma D), where gamma is 1 / median or, for the
        other two, 1 / mean of D.
    views : None, list or dict, default=None
        Groups of columns when X is one matrix, or names of the views to use.
    random_state : int, RandomState or None, default=None
        Draws landmarks and starts k-means.
    n_jobs : int or None, default=None
        Number of threads over views and blocks of rows; None is 1.

    Attributes
    ----------
    block_slices_ : dict of view -> slice
        Columns of each view in what ``transform`` returns.
    view_names_ : list of str
        Names of the views.
    n_views_in_ : int
        Number of views.
    n_features_in_ : int
        Number of columns over all views.
    view_feature_names_in_ : dict of view -> ndarray of str
        Names of the columns, of the views that have names.

    See Also
    --------
    MVLSVMClassifier : A linear machine on these similarities.
    sklearn.kernel_approximation.Nystroem : For one view, with whitened similarities.

    References
    ----------
    V. Zantedeschi, R. Emonet, M. Sebban, "Fast and provably effective multi-view classification
    with landmark-based SVM", ECML PKDD 2018.

    Examples
    --------
    >>> from consilience.datasets import load_digits_views
    >>> from consilience.landmark import LandmarkProjector
    >>> digits = load_digits_views()
    >>> projector = LandmarkProjector(20, random_state=0)
    >>> projector.fit_transform(digits.data).shape == (1797, 20 * digits.data.n_views)
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {
        **LANDMARK_PARAMETERS,
        "views": VIEWS,
        "random_state": RANDOM_STATE,
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        n_landmarks: Any = 100,
        *,
        landmarks: Any = "kmeans",
        kernel: Any = "rbf",
        gamma: Any = "median",
        views: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.kernel = kernel
        self.gamma = gamma
        self.views = views
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LandmarkProjector:
        """Find the landmarks.

        Parameters
        ----------
        X : MultiViewData, matrix, or any input that ``as_multiview`` reads
            Training samples.
        y : ignored
            Not used.
        sample_weight : array of shape (n_samples,), optional
            Weights >= 0; a row of weight 0 counts as absent.

        Returns
        -------
        self
        """
        validate_parameters(self)
        data = self._validate_input(X, reset=True)
        check_aligned(data, sample_weight=sample_weight)
        weight = check_weights(sample_weight, len(data))
        if not weight.all():
            data, weight = data[np.flatnonzero(weight)], weight[weight > 0]
        self._projection, _ = find_landmarks(
            data,
            weight,
            n_landmarks=self.n_landmarks,
            landmarks=self.landmarks,
            kernel=self.kernel,
            gamma=self.gamma,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )
        slices = self._projection.slices
        self.block_slices_ = dict(zip(self.view_names_, slices, strict=True))
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Similarities to the landmarks.

        Parameters
        ----------
        X : MultiViewData, matrix, or any input that ``as_multiview`` reads
            Samples with the views seen in fit; a container may lack some of them.

        Returns
        -------
        ndarray of shape (n_samples, n_landmarks of all views)
        """
        check_is_fitted(self)
        return self._projection(self._validate_input(X, reset=False), self.n_jobs)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns: view and number of the landmark.

        Parameters
        ----------
        input_features : ignored
            Not used.

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        names = [
            f"{name}_landmark{j}"
            for name, where in self.block_slices_.items()
            for j in range(where.stop - where.start)
        ]
        return np.array(names, dtype=object)

    def _validate_input(self, X: Any, reset: bool) -> MultiViewData:
        return check_values(read_input(self, X, reset=reset), KINDS, type(self).__name__)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
