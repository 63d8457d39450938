"""SMVMED with c and alpha chosen by cross-validation along warm paths.

For every fold and alpha the problem is solved for ascending c, each solution starting the next.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import check_cv

from consilience._compat import Progress
from consilience._parameters import CV, POSITIVE, ListOf, StrOptions
from consilience._targets import one_vs_rest_signs
from consilience.margin._base import BinarySolution, MarginClassifier, run_tasks
from consilience.margin._combine import accuracy, combine_views
from consilience.margin._kernel_design import KernelDesign
from consilience.margin._smvmed import (
    ALPHA,
    solve_joint,
    solve_joint_kernels,
    warn_if_close_to_one,
)

__all__ = ["SMVMEDClassifierCV"]


def warm_path(design, y, weight, cs, alpha, tol, max_iter):
    """Solutions for ascending c, each from the one before."""
    path, start, limits = [], None, {"tol": tol, "max_iter": max_iter}
    if isinstance(design, KernelDesign):
        for c in cs:
            solution = solve_joint_kernels(design, y, weight, c, alpha, lam0=start, **limits)
            start = solution.dual
            path.append(BinarySolution.from_dual(y * solution.dual, solution))
        return path
    for c in cs:
        solution = solve_joint(design, y, weight, c, alpha, start=start, **limits)
        start = (c, solution.theta)
        path.append(BinarySolution.from_theta(design, solution))
    return path


class SMVMEDClassifierCV(MarginClassifier):
    """SMVMED that chooses c and alpha by cross-validation, then fits on all rows.

    Parameters
    ----------
    cs : array of floats, default=(2, 4, 8, 16, 32)
        Values of c to try.
    alphas : array of floats in [0, 1), default=(0, 0.1, ..., 0.9)
        Values of alpha to try.
    cv : int, splitter or splits, default=5
        Folds; a number stands for stratified folds in the order of the rows.
    kernel : str, function or dict of view -> either, default="linear"
        "linear", "rbf", "poly", "sigmoid", "laplacian", "chi2", "cosine" or a function (X, Z) ->
        matrix. Kernel views are used as they are, distance views as exp(−gamma D).
    gamma : "scale", "auto", "median", float or dict of view -> either, default="scale"
        γ of the kernels: 1/(d Var X), 1/d, 1/(median squared distance) or a number; for distance
        views 1/(mean distance) for the first two.
    degree, coef0 : float, default=3, 1.0
        Numbers of the "poly" (γx·z + coef0)^degree and "sigmoid" tanh(γx·z + coef0) kernels.
    cache_size : float, default=2000
        MB for kernel rows. They are float64 where tol is below 1e-4 and they fit, else float32,
        computed anew if they do not fit either.
    solver : {"auto", "newton", "smo"}, default="auto"
        "newton" works on the columns, "smo" on kernels; "auto" takes the latter where a kernel
        is not linear.
    combine : "mean", "best" or the name of a view, default="mean"
        How the views' decisions become one, as in SMVMEDClassifier. For "best" the view is
        chosen after c and alpha, which are chosen by the mean.
    tol : float or None, default=None
        As in SMVMEDClassifier: of the optimality conditions, None is 1e-8, for SMO 1e-3.
    max_iter : int or None, default=None
        Most Newton steps or pairs of SMO for one value of c; None is 200 or 10⁷.
    views : None, list or dict, default=None
        Groups of columns when X is one matrix, or names of the views to use.
    class_weight : "balanced", dict or None, default=None
        Weights of the classes, multiplied into the sample weights, which multiply c².
    n_jobs : int or None, default=None
        Number of threads over folds and values of alpha; None is 1.

    Attributes
    ----------
    c_, alpha_ : float
        The pair of best mean accuracy; of equals the smallest c, then the smallest alpha.
    best_score_ : float
        Its mean accuracy over the folds.
    scores_ : ndarray of shape (n_folds, n_alphas, n_cs)
        Accuracies, weighted like the samples.
    coef_ : dict of view -> ndarray of shape (n_features,) or (n_classes, n_features)
        Coefficients; for more than two classes one row for each against the rest.
    dual_coef_ : dict of view -> ndarray of shape (n_support,) or (n_classes, n_support)
        Coefficients of the support vectors, for kernels; ``coef_`` then has the views whose
        kernel is linear.
    support_ : dict of view -> ndarray of shape (n_support,)
        Sample ids (row numbers unless given) of the support vectors, for kernels.
    intercept_ : ndarray of shape (n_views,) or (n_classes, n_views)
        Intercepts.
    n_iter_ : int
        Steps of the last fit, the most of any class.
    kkt_residual_ : float
        Relative residual of the optimality conditions, the largest of any class.
    best_view_ : str or None
        The view that decides, if one does.
    view_scores_ : ndarray of shape (n_views,)
        Accuracies in cross-validation; for ``combine="best"`` only.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    view_weights_ : ndarray of shape (n_views,)
        Share of each view in what the views add to the margins over a constant answer.
    view_names_ : list of str
        Names of the views.
    n_views_in_ : int
        Number of views.
    n_features_in_ : int
        Number of columns over all views.

    See Also
    --------
    SMVMEDClassifier : The same with c and alpha given.

    References
    ----------
    L. Mao, S. Sun, "Soft margin consistency based scalable multi-view maximum entropy
    discrimination", IJCAI 2016.

    Examples
    --------
    >>> from consilience.datasets import make_multiview_classification
    >>> from consilience.margin import SMVMEDClassifierCV
    >>> data, y = make_multiview_classification(200, random_state=0)
    >>> model = SMVMEDClassifierCV(cs=[0.1, 1, 10], alphas=[0, 0.5]).fit(data, y)
    >>> model.scores_.shape
    (5, 2, 3)
    """

    _column_limits = {"tol": 1e-8, "max_iter": 200}
    _parameter_constraints: dict[str, list[Any]] = {
        **MarginClassifier._parameter_constraints,
        "cs": [ListOf(POSITIVE)],
        "alphas": [ListOf(ALPHA)],
        "cv": CV,
        "solver": [StrOptions({"auto", "newton", "smo"})],
    }

    def __init__(
        self,
        cs=(2, 4, 8, 16, 32),
        *,
        alphas=(0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
        cv=5,
        kernel="linear",
        gamma="scale",
        degree=3,
        coef0=1.0,
        cache_size=2000,
        solver="auto",
        combine="mean",
        tol=None,
        max_iter=None,
        views=None,
        class_weight=None,
        n_jobs=None,
    ):
        self.cs = cs
        self.alphas = alphas
        self.cv = cv
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.cache_size = cache_size
        self.solver = solver
        self.combine = combine
        self.tol = tol
        self.max_iter = max_iter
        self.views = views
        self.class_weight = class_weight
        self.n_jobs = n_jobs

    @property
    def _drops_zero_weights(self):
        # splits given as row numbers must keep their meaning
        return not hasattr(self.cv, "__iter__")

    def _check_parameter_relations(self):
        warn_if_close_to_one(max(self.alphas))

    def _fit(self, data, codes, weight):
        self._check_views(data)
        cs, alphas = np.sort(np.asarray(self.cs, float)), np.sort(np.asarray(self.alphas, float))
        folds = list(check_cv(self.cv, codes, classifier=True).split(np.zeros(len(data)), codes))
        signs = one_vs_rest_signs(codes, len(self.classes_))

        def evaluate(task):
            (train, test), design, alpha = task
            return self._path_scores(data, codes, signs, weight, train, test, design, cs, alpha)

        with Progress(self, n_tasks=len(folds) * len(alphas)) as progress:
            tasks = []
            for train, test in folds:
                train = train[weight[train] > 0]
                part = data[train]
                design = self._design(part, weight[train], len(signs) * len(cs) * len(alphas))
                tasks += [((train, test), design, alpha) for alpha in alphas]
            sequential = any(design.sequential for _, design, _ in tasks)
            scores = run_tasks(progress, evaluate, tasks, "cross-validate", sequential)
        self.scores_ = np.reshape(scores, (len(folds), len(alphas), len(cs)))
        mean = self.scores_.mean(axis=0)
        # transposed: of equals the smallest c comes first
        best_c, best_alpha = np.unravel_index(mean.T.argmax(), mean.T.shape)
        self.best_score_ = mean[best_alpha, best_c]
        self.c_, self.alpha_ = float(cs[best_c]), float(alphas[best_alpha])
        kept = np.flatnonzero(weight)
        super()._fit(data[kept], codes[kept], weight[kept])

    def _path_scores(self, data, codes, signs, weight, train, test, design, cs, alpha):
        """Accuracies on the test rows for all c."""
        limits = self._limits(isinstance(design, KernelDesign))
        paths = [warm_path(design, y[train], weight[train], cs, alpha, **limits) for y in signs]
        held, names = data[test], data.view_names
        shares = data.present[train].any(axis=0).astype(np.float64)
        chosen = names.index(self.combine) if self.combine in names else None
        return [
            accuracy(
                combine_views(design.machine(solved)[0].decisions(held, names), shares, chosen),
                codes[test],
                weight[test],
            )
            for solved in zip(*paths, strict=True)
        ]

    def _solve_columns(self, design, y, weight, tol, max_iter):
        solution = solve_joint(design, y, weight, self.c_, self.alpha_, tol=tol, max_iter=max_iter)
        return BinarySolution.from_theta(design, solution)

    def _solve_kernels(self, design, y, weight, tol, max_iter):
        solution = solve_joint_kernels(
            design, y, weight, self.c_, self.alpha_, tol=tol, max_iter=max_iter
        )
        return BinarySolution.from_dual(y * solution.dual, solution)
