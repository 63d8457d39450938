"""MVML: multi-view metric learning, least squares on kernel features with a learned metric.

Each view's kernel becomes Nyström features; a positive semi-definite matrix A between all of them,
learned together with the coefficients, says which directions of which views matter. Several
classes are several targets of one problem and share A.

Reference: R. Huusari, H. Kadri, C. Capponi, "Multi-view metric learning in vector-valued kernel
spaces", AISTATS 2018.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from consilience._base import MultiViewClassifier
from consilience._compat import Progress
from consilience._kernel_views import (
    KERNEL_PARAMETERS,
    kernel_against,
    kernel_specs,
    linear_origin,
    present_rows,
    resolve_gamma,
)
from consilience._model_types import model_type
from consilience._parameters import (
    CLASS_WEIGHT,
    FRACTION,
    N_JOBS,
    POSITIVE_FACTOR,
    POSITIVE_INTEGER,
    RANDOM_STATE,
    TOLERANCE,
    VIEWS,
    StrOptions,
)
from consilience._targets import one_vs_rest_scores, one_vs_rest_signs
from consilience._warnings import warn_of_unseen_views, warn_user
from consilience.kernel._metric import LeastSquares, learn_dense, learn_sparse, solve_coefficients
from consilience.kernel._nystroem import NystroemMap
from consilience.views import MultiViewData
from consilience.views._pairwise import KINDS

__all__ = ["MVMLClassifier"]


@model_type("kernel.MVMLClassifier")
class MVMLClassifier(MultiViewClassifier):
    """MVML: kernel least squares with a metric learned between the views.

    With features Φ = (U_1, …, U_V)/V of all views, coefficients g and metric A ⪰ 0 minimise
    |Y − Φg|² + λ tr gᵀA⁻¹g + Ω(A), Y being ±1 for every class. This is one convex problem; it is
    solved to a duality gap. Ω is η|A|² ("dense": all directions of all views may work together)
    or η Σ_uv |A_uv| ("sparse": views that do not help are left out).

    A missing view is imputed with features of 0: with an intercept, its training mean.

    Parameters
    ----------
    metric : {"dense", "sparse", "covariance", "identity"}, default="dense"
        Learn A with one of the two Ω, or set it to ΦᵀΦ or I.
    reg : float, default=0.01
        λ, weight of tr gᵀA⁻¹g.
    metric_reg : float, default=0.01
        η, weight of Ω; not used by metrics that are not learned.
    n_landmarks : int or float in (0, 1), default=100
        Number of training samples, drawn at random, on which each view's features are built; all
        of them if there are fewer. A float is a share of the training samples, rounded.
    kernel : str, callable or dict of view -> these, default="rbf"
        "linear", "rbf", "poly", "sigmoid", "laplacian", "chi2", "cosine" or a function of two
        matrices. Kernel views are taken as they are, distance views as exp(−γD).
    gamma : {"scale", "auto", "median"}, float or dict of view -> these, default="scale"
        Width of the kernels: 1/(d Var X), 1/d, or 1 over the median of the squared distances.
    degree, coef0 : float, default=3, 1.0
        Of the poly and sigmoid kernels.
    fit_intercept : bool, default=True
        Centre targets and features.
    tol : float, default=1e-4
        Stop at this duality gap, relative to the objective.
    max_iter : int, default=1000
        Maximum number of iterations.
    views : None, list or dict, default=None
        Groups of columns when X is one matrix, or names of the views to use.
    class_weight : "balanced", dict or None, default=None
        Weights of the classes, multiplied into the sample weights.
    random_state : int, RandomState or None, default=None
        Draws the landmarks.
    n_jobs : int or None, default=None
        Number of threads over the views; None is 1.

    Attributes
    ----------
    metric_ : ndarray of shape (d, d)
        A, between the features of all views side by side.
    coef_ : dict of view -> ndarray of shape (n_features_of_view, n_targets)
        g_v/V, for one target (two classes) or one for each class: coefficients of U_v.
    intercept_ : ndarray of shape (n_targets,)
        Intercepts.
    objective_curve_ : ndarray
        The objective before and after each iteration; a single value if A is not learned.
    duality_gap_ : float
        Upper bound of how far the objective is above its minimum, relative to it.
    n_iter_ : int
        Number of iterations.
    landmarks_ : dict of view -> ndarray
        Rows of the training data (those of positive weight) that are landmarks.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    view_weights_ : ndarray of shape (n_views,)
        Root mean square of what each view adds to the decisions, summing to 1.
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
    MKLClassifier : One weight for each kernel, hinge loss.

    References
    ----------
    R. Huusari, H. Kadri, C. Capponi, "Multi-view metric learning in vector-valued kernel spaces",
    AISTATS 2018.

    Examples
    --------
    >>> from consilience.datasets import load_digits_views
    >>> from consilience.kernel import MVMLClassifier
    >>> digits = load_digits_views()
    >>> model = MVMLClassifier(random_state=0).fit(digits.data[:1000], digits.target[:1000])
    >>> model.score(digits.data[1000:], digits.target[1000:]) > 0.9
    True
    """

    _kinds = KINDS
    _reason_against_blocks = "its kernels compare all rows with each other"
    _parameter_constraints: dict[str, list[Any]] = {
        "metric": [StrOptions({"dense", "sparse", "covariance", "identity"})],
        "reg": [POSITIVE_FACTOR],
        "metric_reg": [POSITIVE_FACTOR],
        "n_landmarks": [POSITIVE_INTEGER, FRACTION],
        **KERNEL_PARAMETERS,
        "fit_intercept": ["boolean"],
        "tol": [TOLERANCE],
        "max_iter": [POSITIVE_INTEGER],
        "views": VIEWS,
        "class_weight": CLASS_WEIGHT,
        "random_state": RANDOM_STATE,
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        metric: str = "dense",
        *,
        reg: float = 0.01,
        metric_reg: float = 0.01,
        n_landmarks: int | float = 100,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: float = 3,
        coef0: float = 1.0,
        fit_intercept: bool = True,
        tol: float = 1e-4,
        max_iter: int = 1000,
        views: Any = None,
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.metric = metric
        self.reg = reg
        self.metric_reg = metric_reg
        self.n_landmarks = n_landmarks
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.views = views
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit(self, data: MultiViewData, codes: np.ndarray, weight: np.ndarray) -> None:
        specs = kernel_specs(data.view_names, self.kernel, self.gamma, self.degree, self.coef0)
        self.landmarks_ = self._draw_landmarks(data)
        warn_of_unseen_views(data.view_names, self.landmarks_)
        Y = one_vs_rest_signs(codes, len(self.classes_)).T

        def features(name: str) -> tuple[NystroemMap, np.ndarray]:
            landmarks = self.landmarks_[name]
            spec = resolve_gamma(specs[name], data, name, weight)
            # features of landmarks that span all columns are the same up to a rotation, once they
            # are centred, whatever the origin
            spans = self.fit_intercept and len(landmarks) >= data.widths[name]
            origin = linear_origin(spec, data, name, weight, spans)
            kernel = kernel_against(spec, data, name, landmarks, origin)
            nystroem = NystroemMap.from_landmarks(
                kernel, data, weight, landmarks, self.fit_intercept
            )
            return nystroem, nystroem.features(data)

        with Progress(self, n_tasks=len(self.landmarks_)) as progress:
            pairs = progress.map(features, list(self.landmarks_), "features")
        self._maps, blocks = zip(*pairs, strict=True)
        Phi = np.hstack(blocks) / len(blocks)
        self.intercept_ = np.zeros(Y.shape[1])
        if self.fit_intercept:
            self.intercept_ = np.average(Y, axis=0, weights=weight)
        ends = np.cumsum([block.shape[1] for block in blocks])
        slices = [slice(e - b.shape[1], e) for e, b in zip(ends, blocks, strict=True)]
        problem = LeastSquares(Phi, Y - self.intercept_, weight)
        coef = self._learn(problem, slices, Phi, weight)
        self._set_fitted_attributes(data.view_names, coef, slices, blocks, weight)

    def _draw_landmarks(self, data: MultiViewData) -> dict[str, np.ndarray]:
        """Landmarks of each view: the first rows of one random order that have it."""
        order = check_random_state(self.random_state).permutation(len(data))
        present = {name: data.present[order, v] for v, name in enumerate(data.view_names)}
        size = self.n_landmarks
        if not isinstance(size, Integral):
            size = max(1, round(size * len(data)))
        return {n: order[p][:size] for n, p in present.items() if p.any()}

    def _learn(
        self, problem: LeastSquares, slices: list[slice], Phi: np.ndarray, weight: np.ndarray
    ) -> np.ndarray:
        """Set the fitted metric A and its attributes, and return the coefficients g."""
        if self.metric in ("dense", "sparse"):
            settings: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter}
            if self.metric == "dense":
                solution = learn_dense(problem, self.reg, self.metric_reg, **settings)
            else:
                solution = learn_sparse(problem, slices, self.reg, self.metric_reg, **settings)
            self.metric_, coef, curve = solution.metric, solution.coef, solution.objective_curve
            self.duality_gap_ = solution.gap
            if solution.gap > self.tol:
                warn_user(
                    f"{type(self).__name__} stopped with a relative duality gap of "
                    f"{solution.gap:.1e}, tol is {self.tol:.1e}: raise max_iter (now "
                    f"{self.max_iter}), reg or tol",
                    ConvergenceWarning,
                )
        else:
            # Φ is divided by the number of views, the covariance is that of the features
            U = Phi * len(slices) * np.sqrt(weight)[:, None]
            self.metric_ = U.T @ U if self.metric == "covariance" else np.eye(Phi.shape[1])
            coef, value = solve_coefficients(problem, self.metric_, self.reg)
            curve, self.duality_gap_ = np.array([value]), 0.0
        self.objective_curve_, self.n_iter_ = curve, len(curve) - 1
        return coef

    def _set_fitted_attributes(
        self,
        names: tuple[str, ...],
        coef: np.ndarray,
        slices: list[slice],
        blocks: tuple[np.ndarray, ...],
        weight: np.ndarray,
    ) -> None:
        learned = [nystroem.kernel.name for nystroem in self._maps]
        parts = {name: coef[s] / len(slices) for name, s in zip(learned, slices, strict=True)}
        empty = np.zeros((0, coef.shape[1]))
        self.coef_ = {name: parts.get(name, empty) for name in names}
        shares = dict.fromkeys(names, 0.0)
        for name, U in zip(learned, blocks, strict=True):
            shares[name] = np.sqrt(weight @ ((U @ self.coef_[name]) ** 2).sum(axis=1))
        total = sum(shares.values())
        even = 1 / len(learned)
        self.view_weights_ = np.array(
            [shares[n] / total if total > 0 else even * (n in learned) for n in names]
        )

    def _scores(self, data: MultiViewData) -> np.ndarray:
        decisions = np.tile(self.intercept_, (len(data), 1))
        for nystroem in self._maps:
            if present_rows(data, nystroem.kernel.name).size:
                decisions += nystroem.features(data) @ self.coef_[nystroem.kernel.name]
        return one_vs_rest_scores(decisions)
