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
from consilience._kernel_views import KERNEL_PARAMETERS, kernel_specs, settle_gamma
from consilience._parameters import (
    CLASS_WEIGHT,
    N_JOBS,
    POSITIVE,
    POSITIVE_INTEGER,
    VIEWS,
    Number,
    StrOptions,
    validate_parameters,
)
from consilience._targets import one_vs_rest_scores, one_vs_rest_signs
from consilience._warnings import warn_of_unseen_views, warn_user
from consilience.kernel._mkl_steps import learn_weights
from consilience.kernel._training_kernels import Training, TrainingKernel
from consilience.views._pairwise import KINDS

__all__ = ["MKLClassifier"]


class MKLClassifier(MultiViewClassifier):
    """Multiple kernel learning: hinge-loss machines on Σ_v μ_v K_v with learned weights μ.

    The weights minimise the machines' objective, summed over the classes (one against the rest),
    under |μ|_p ≤ 1. p = 1 chooses few views, larger p spreads the weights, "mean" does not learn
    them.

    A missing view counts as being at its training mean (kernels are centred; otherwise at the
    origin), in fit and in predict: its kernel is 0 there, whatever the matrix holds.

    Parameters
    ----------
    norm : float >= 1 or "mean", default=1
        p, or equal weights 1/V: the plain sum of kernels.
    C : float, default=1.0
        Bound of the multipliers, times the sample weights.
    kernel : str, callable or dict of view -> these, default="rbf"
        "linear", "rbf", "poly", "sigmoid", "laplacian", "chi2", "cosine" or a function of two
        matrices. Kernel views are taken as they are, distance views as exp(−γD).
    gamma : {"scale", "auto", "median"}, float or dict of view -> these, default="scale"
        Width of the kernels: 1/(d Var X), 1/d, or 1 over the median of the squared distances.
    degree, coef0 : float, default=3, 1.0
        Of the poly and sigmoid kernels.
    normalize : {"centred", "trace", None}, default="centred"
        Kernels are centred and get a mean diagonal of 1, or only the latter; without, views of
        large kernels are at an advantage.
    tol : float, default=1e-5
        Duality gap to reach, relative to the objective.
    max_iter : int, default=200
        Most changes of the weights.
    cache_size : float, default=4000
        MB that the kernels between training samples, one more than there are views, may take; a
        fit that needs more is refused.
    warm_start : bool, default=False
        Start from the weights and multipliers of the last fit, if its training rows were as many.
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
        How far the objective is above the least at most, relative to it.
    n_iter_ : int
        Changes of the weights.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    view_names_ : list of str
        Names of the views.
    n_views_in_ : int
        Number of views.
    n_features_in_ : int
        Number of columns over all views.

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
    _parameter_constraints: dict[str, list[Any]] = {
        "norm": [Number(Real, 1, np.inf, closed="left"), StrOptions({"mean"})],
        "C": [POSITIVE],
        **KERNEL_PARAMETERS,
        "normalize": [StrOptions({"centred", "trace"}), None],
        "tol": [POSITIVE],
        "max_iter": [POSITIVE_INTEGER],
        "cache_size": [POSITIVE],
        "warm_start": ["boolean"],
        "views": VIEWS,
        "class_weight": CLASS_WEIGHT,
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        norm=1,
        *,
        C=1.0,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=1.0,
        normalize="centred",
        tol=1e-5,
        max_iter=200,
        cache_size=4000,
        warm_start=False,
        views=None,
        class_weight=None,
        n_jobs=None,
    ):
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

    def path(self, X, y, Cs, sample_weight=None):
        """Fit for several C: kernels are computed once, and each fit starts from the one before.

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
        solution, last = [None] * len(Cs), None
        for i in np.argsort(Cs, kind="stable"):
            if last is None:
                model = clone(self).set_params(C=Cs[i])
                model._training = None  # asks fit to leave it
                model.fit(X, y, sample_weight)
            else:
                model = copy.copy(last).set_params(C=Cs[i])
                with Progress(model, n_tasks=model.max_iter) as progress:
                    model._solve(model._training, progress, last)
            solution[i] = last = model
        for model in solution:
            del model._training
        return solution

    def _fit(self, data, codes, weight):
        names, is_seen = data.view_names, data.present.any(axis=0)
        specs = kernel_specs(names, self.kernel, self.gamma, self.degree, self.coef0)
        warn_of_unseen_views(names, is_seen)
        learned = [name for name, seen in zip(names, is_seen, strict=True) if seen]
        self._check_kernel_size(len(data), len(learned) + 1)

        def compute(name):
            spec = settle_gamma(specs[name], data, name, weight)
            return TrainingKernel.from_view(spec, data, name, weight, self.normalize)

        with Progress(self, n_tasks=len(learned) + self.max_iter) as progress:
            kernels = progress.map(compute, learned, "kernel")
            training = Training(data, weight, codes, kernels)
            if hasattr(self, "_training"):
                self._training = training
            self._solve(training, progress, self if self.warm_start else None)

    def _solve(self, training, progress, last):
        """Weights and machines for kernels that are there, from those of ``last`` if it fits."""
        signs = one_vs_rest_signs(training.codes, len(self.classes_))
        bounds = self.C * training.weight
        Ks = [kernel.matrix for kernel in training.kernels]
        p = None if self.norm == "mean" else self.norm
        start = {} if last is None else last._start(signs, bounds, len(Ks), p)
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

    def _start(self, signs, bounds, n_kernels, p):
        """What was learned for the same problems, scaled into the bounds; else nothing."""
        same = getattr(self, "_signs", np.empty(0)).shape == signs.shape
        if not same or (self._signs != signs).any() or len(self._machines) != n_kernels:
            return {}
        start = {"duals": self.dual_coef_ * min(1.0, (bounds / self._bounds).min())}
        if self._p == p:
            start["mu"] = self._mu
        return start

    def _set_fitted_attributes(self, training, solution):
        names = [kernel.name for kernel in training.kernels]
        self._mu = solution.mu
        self._machines = [
            kernel.machine(training.data, mu, solution.duals)
            for kernel, mu in zip(training.kernels, solution.mu, strict=True)
        ]
        everywhere = dict.fromkeys(self.view_names_, 0.0)
        weights = {**everywhere, **dict(zip(names, solution.mu.tolist(), strict=True))}
        squares = {**everywhere, **dict(zip(names, solution.squares.tolist(), strict=True))}
        self.kernel_weights_ = np.array(list(weights.values()))
        self.kernel_squares_ = np.array(list(squares.values()))
        self.view_weights_ = self.kernel_weights_ / self.kernel_weights_.sum()
        self.dual_coef_, self.intercept_ = solution.duals, solution.biases
        self.support_ = np.flatnonzero(solution.duals.any(axis=0))
        self.duality_gap_ = float(solution.gap)

    def _scores(self, data):
        decisions = np.tile(self.intercept_, (len(data), 1))
        for machine in self._machines:
            decisions += machine.decide(data)
        return one_vs_rest_scores(decisions)

    def _check_kernel_size(self, n_samples, n_matrices):
        need = n_matrices * n_samples**2 * 8 / 2**20
        if need > self.cache_size:
            raise ValueError(
                f"{n_matrices} kernel matrices of {n_samples} samples take {need:.0f} MB, "
                f"cache_size is {self.cache_size}: raise it, fit on fewer rows, or use "
                "MVMLClassifier, whose landmarks need little memory"
            )
