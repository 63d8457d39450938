"""Multiple kernel learning: a support vector machine on a weighted sum of the views' kernels.

References: G. Lanckriet, N. Cristianini, P. Bartlett, L. El Ghaoui, M. Jordan, "Learning the kernel
matrix with semidefinite programming", JMLR 5, 2004; M. Kloft, U. Brefeld, S. Sonnenburg, A. Zien,
"lp-norm multiple kernel learning", JMLR 12, 2011.
"""

from __future__ import annotations

import copy
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from consilience._base import MultiViewClassifier
from consilience._compat import Progress
from consilience._kernel_views import KERNEL_PARAMETERS, kernel_specs, resolve_gamma
from consilience._model_types import model_type
from consilience._parameters import (
    CLASS_WEIGHT,
    MEGABYTES,
    N_JOBS,
    POSITIVE_FACTOR,
    POSITIVE_INTEGER,
    TOLERANCE,
    VIEWS,
    Number,
    StrOptions,
    validate_parameters,
)
from consilience._targets import one_vs_rest_scores, one_vs_rest_signs
from consilience._warnings import warn_of_unseen_views, warn_user
from consilience.kernel._mkl_steps import Machines, learn_weights
from consilience.kernel._training_kernels import Training, TrainingKernel
from consilience.views import MultiViewData
from consilience.views._pairwise import KINDS

__all__ = ["MKLClassifier"]


@model_type("kernel.MKLClassifier")
class MKLClassifier(MultiViewClassifier):
    """Multiple kernel learning: hinge-loss machines on Σ_v μ_v K_v with learned weights μ.

    The weights minimise the machines' objective, summed over the classes (one against the rest),
    under |μ|_p ≤ 1. p = 1 chooses few views, larger p spreads the weights, "mean" does not learn
    them.

    A missing view is imputed with its training mean in feature space (with the origin if kernels
    are not centred), in fit and in predict: its kernel is 0 there, whatever the matrix holds.

    Parameters
    ----------
    norm : float >= 1 or "mean", default=1
        p; or "mean" for equal weights 1/V, the mean of the kernels.
    C : float, default=1.0
        Inverse of the regularization: upper bound of the multipliers, times the sample weights.
    kernel : str, callable or dict of view -> these, default="rbf"
        "linear", "rbf", "poly", "sigmoid", "laplacian", "chi2", "cosine" or a function of two
        matrices. Kernel views are taken as they are, distance views as exp(−γD).
    gamma : {"scale", "auto", "median"}, float or dict of view -> these, default="scale"
        Width of the kernels: 1/(d Var X), 1/d, or 1 over the median of the squared distances.
    degree, coef0 : float, default=3, 1.0
        Of the poly and sigmoid kernels.
    normalize : {"centred", "trace", None}, default="centred"
        Centre the kernels and scale the mean of their diagonals to 1, or only scale them; with
        None, views with large kernels are at an advantage.
    tol : float, default=1e-5
        Stop at this duality gap, relative to the objective.
    max_iter : int, default=200
        Maximum number of changes of the weights.
    cache_size : float, default=4000
        Memory limit in MB for the kernels between training samples, one more than there are
        views; a fit that needs more raises an error.
    warm_start : bool, default=False
        Start from the weights and multipliers of the last fit, if it had the same labels.
    views : None, list or dict, default=None
        Groups of columns when X is one matrix, or names of the views to use.
    class_weight : "balanced", dict or None, default=None
        Weights of the classes, multiplied into the sample weights.
    n_jobs : int or None, default=None
        Number of threads over the views' kernels; None is 1.

    Attributes
    ----------
    kernel_weights_ : ndarray of shape (n_views,)
        μ, of the normalised kernels.
    view_weights_ : ndarray of shape (n_views,)
        The same, summing to 1.
    dual_coef_ : ndarray of shape (n_problems, n_train)
        Multipliers times labels ±1, for one problem (two classes) or one for each class; of the
        training rows that have a weight.
    support_ : ndarray
        Training rows that are support vectors of a problem.
    intercept_ : ndarray of shape (n_problems,)
        Intercepts.
    kernel_squares_ : ndarray of shape (n_views,)
        aᵀK_v a, summed over the problems: equal for all weights > 0 at the optimum of p = 1.
    duality_gap_ : float
        Upper bound of how far the objective is above its minimum, relative to it.
    n_iter_ : int
        Number of changes of the weights.
    classes_ : ndarray of shape (n_classes,)
        Labels.
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
    MVMLClassifier : Least squares with a metric between the views.
    LaplacianCompletion : Fills missing rows of kernel views.

    References
    ----------
    G. Lanckriet, N. Cristianini, P. Bartlett, L. El Ghaoui, M. Jordan, "Learning the kernel matrix
    with semidefinite programming", JMLR 5, 2004.

    M. Kloft, U. Brefeld, S. Sonnenburg, A. Zien, "lp-norm multiple kernel learning", JMLR 12, 2011.

    Examples
    --------
    >>> from consilience.datasets import load_digits_views
    >>> from consilience.kernel import MKLClassifier
    >>> digits = load_digits_views()
    >>> model = MKLClassifier(C=10.0).fit(digits.data[:500], digits.target[:500])
    >>> model.score(digits.data[500:], digits.target[500:]) > 0.9
    True
    >>> model.view_weights_.shape
    (4,)
    """

    _kinds = KINDS
    _reason_against_blocks = "its kernels compare all rows with each other"
    _parameter_constraints: dict[str, list[Any]] = {
        "norm": [Number(Real, 1, np.inf, closed="left"), StrOptions({"mean"})],
        "C": [POSITIVE_FACTOR],
        **KERNEL_PARAMETERS,
        "normalize": [StrOptions({"centred", "trace"}), None],
        "tol": [TOLERANCE],
        "max_iter": [POSITIVE_INTEGER],
        "cache_size": [MEGABYTES],
        "warm_start": ["boolean"],
        "views": VIEWS,
        "class_weight": CLASS_WEIGHT,
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        norm: float | str = 1,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: float = 3,
        coef0: float = 1.0,
        normalize: str | None = "centred",
        tol: float = 1e-5,
        max_iter: int = 200,
        cache_size: float = 4000,
        warm_start: bool = False,
        views: Any = None,
        class_weight: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.norm = norm
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.normalize = normalize
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.warm_start = warm_start
        self.views = views
        self.class_weight = class_weight
        self.n_jobs = n_jobs

    def path(self, X: Any, y: Any, Cs: list[float], sample_weight: Any = None) -> list[Any]:
        """Fit for several C: kernels are computed once, and each fit starts from the previous one.

        Parameters
        ----------
        X : MultiViewData, matrix, or any input that ``as_multiview`` reads
            Training samples.
        y : array of shape (n_samples,)
            Labels, numbers or strings.
        Cs : list of floats
            Values of C.
        sample_weight : array of shape (n_samples,), optional
            Weights >= 0; a row of weight 0 counts as absent.

        Returns
        -------
        list of MKLClassifier
            Fitted, one for each C in the given order. This classifier is left as it was.
        """
        for C in Cs:
            validate_parameters(clone(self).set_params(C=C))
        models: list[Any] = [None] * len(Cs)
        previous = None
        for i in np.argsort(Cs, kind="stable"):
            if previous is None:
                model = clone(self).set_params(C=Cs[i])
                model._training = None  # asks fit to keep the kernels
                model.fit(X, y, sample_weight)
            else:
                model = copy.copy(previous).set_params(C=Cs[i])
                with Progress(model, n_tasks=model.max_iter) as progress:
                    model._solve(model._training, progress, previous)
            models[i] = previous = model
        for model in models:
            del model._training
        return models

    def _fit(self, data: MultiViewData, codes: np.ndarray, weight: np.ndarray) -> None:
        names = data.view_names
        specs = kernel_specs(names, self.kernel, self.gamma, self.degree, self.coef0)
        seen = [name for v, name in enumerate(names) if data.present[:, v].any()]
        warn_of_unseen_views(names, seen)
        self._check_kernel_size(len(data), len(seen) + 1)

        def compute(name: str) -> TrainingKernel:
            spec = resolve_gamma(specs[name], data, name, weight)
            return TrainingKernel.from_view(spec, data, name, weight, self.normalize)

        with Progress(self, n_tasks=len(seen) + self.max_iter) as progress:
            kernels = progress.map(compute, seen, "kernel")
            training = Training(data, weight, codes, kernels)
            if hasattr(self, "_training"):
                self._training = training
            self._solve(training, progress, self if self.warm_start else None)

    def _solve(
        self, training: Training, progress: Progress, previous: MKLClassifier | None
    ) -> None:
        """Learn weights and machines, starting from those of ``previous`` if it fits."""
        signs = one_vs_rest_signs(training.codes, len(self.classes_))
        bounds = self.C * training.weight
        Ks = [kernel.matrix for kernel in training.kernels]
        p = None if self.norm == "mean" else float(self.norm)
        start = {} if previous is None else previous._start(signs, bounds, len(Ks), p)
        solution, n_iter = learn_weights(
            Ks,
            signs,
            bounds,
            p,
            tol=self.tol,
            max_iter=self.max_iter,
            tick=lambda: progress.tick("weights"),
            **start,
        )
        if solution.gap > self.tol:
            warn_user(
                f"{type(self).__name__} stopped with a relative duality gap of {solution.gap:.1e}, "
                f"tol is {self.tol:.1e}: raise max_iter (now {self.max_iter}) or tol, lower C, or "
                "scale the columns, e.g. by ViewTransformer(StandardScaler())",
                ConvergenceWarning,
            )
        self._bounds, self._signs, self._p, self.n_iter_ = bounds, signs, p, n_iter
        self._set_fitted_attributes(training, solution)

    def _start(
        self, signs: np.ndarray, bounds: np.ndarray, n_kernels: int, p: float | None
    ) -> dict[str, np.ndarray]:
        """Solution of the same problems, scaled into the bounds; empty if they are different."""
        same = getattr(self, "_signs", np.empty(0)).shape == signs.shape
        if not same or (self._signs != signs).any() or len(self._machines) != n_kernels:
            return {}
        start = {"duals": self.dual_coef_ * min(1.0, (bounds / self._bounds).min())}
        if self._p == p:
            start["mu"] = self._mu
        return start

    def _set_fitted_attributes(self, training: Training, solution: Machines) -> None:
        names = [kernel.name for kernel in training.kernels]
        self._mu = solution.mu
        self._machines = [
            kernel.machine(training.data, mu, solution.duals)
            for kernel, mu in zip(training.kernels, solution.mu, strict=True)
        ]
        is_learned = np.isin(self.view_names_, names)
        self.kernel_weights_ = np.zeros(len(is_learned))
        self.kernel_squares_ = np.zeros(len(is_learned))
        self.kernel_weights_[is_learned] = solution.mu
        self.kernel_squares_[is_learned] = solution.squares
        self.view_weights_ = self.kernel_weights_ / self.kernel_weights_.sum()
        self.dual_coef_, self.intercept_ = solution.duals, solution.biases
        self.support_ = np.flatnonzero(solution.duals.any(axis=0))
        self.duality_gap_ = float(solution.gap)

    def _scores(self, data: MultiViewData) -> np.ndarray:
        decisions = np.tile(self.intercept_, (len(data), 1))
        for machine in self._machines:
            decisions += machine.decide(data)
        return one_vs_rest_scores(decisions)

    def _check_kernel_size(self, n_samples: int, n_matrices: int) -> None:
        megabytes = n_matrices * n_samples**2 * 8 / 2**20
        if megabytes > self.cache_size:
            raise ValueError(
                f"{n_matrices} kernel matrices of {n_samples} samples take {megabytes:.0f} MB, "
                f"cache_size is {self.cache_size}: raise it, fit on fewer rows, or use "
                "MVMLClassifier, whose landmarks need little memory"
            )
