"""SMVMED with c and alpha chosen by cross-validation along warm paths.

For every fold and alpha the problem is solved for ascending c, each solution starting the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from consilience._compat import Progress
from consilience._docstring import fill_docstring
from consilience._folds import split_rows
from consilience._model_types import model_type
from consilience._parameters import (
    CV,
    POSITIVE_FACTOR,
    ListOf,
    StrOptions,
)
from consilience._targets import one_vs_rest_signs
from consilience.margin._base import BinarySolution, MarginClassifier, run_tasks
from consilience.margin._combine import accuracy, combine_views
from consilience.margin._design import Design
from consilience.margin._entries import ENTRIES
from consilience.margin._kernel_design import KernelDesign
from consilience.margin._smvmed import (
    ALPHA,
    solve_joint,
    solve_joint_kernels,
    warn_if_close_to_one,
)
from consilience.views import MultiViewData

__all__ = ["SMVMEDClassifierCV"]


def warm_path(
    design: Any,
    y: np.ndarray,
    weight: np.ndarray,
    cs: np.ndarray,
    alpha: float,
    tol: float,
    max_iter: int,
) -> list[BinarySolution]:
    """Solutions for ascending c, each from the one before."""
    path: list[BinarySolution] = []
    start: Any = None
    limits: dict[str, Any] = {"tol": tol, "max_iter": max_iter}
    for c in cs:
        if isinstance(design, KernelDesign):
            dual = solve_joint_kernels(design, y, weight, c, alpha, lam0=start, **limits)
            start = dual.dual
            path.append(BinarySolution.from_dual(y * dual.dual, dual))
        else:
            primal = solve_joint(design, y, weight, c, alpha, start=start, **limits)
            start = (c, primal.theta)
            path.append(BinarySolution.from_theta(design, primal))
    return path


@model_type("margin.SMVMEDClassifierCV")
@fill_docstring(**ENTRIES)
class SMVMEDClassifierCV(MarginClassifier):
    """SMVMED that chooses c and alpha by cross-validation, then fits on all rows.

    Parameters
    ----------
    cs : array of floats, default=(2, 4, 8, 16, 32)
        Values of c to try.
    alphas : array of floats in [0, 1), default=(0, 0.1, ..., 0.9)
        Values of alpha to try.
    cv : int, splitter or splits, default=5
        Folds; a number means stratified folds in the order of the rows. The groups of ``fit`` are
        kept together, and passed to a splitter.
    {kernel_parameters}
    solver : {"auto", "newton", "smo"}, default="auto"
        "newton" works on the columns of linear kernels, "smo" on any kernels; "auto" chooses
        "smo" if a kernel is not linear.
    combine : "mean", "best" or the name of a view, default="mean"
        How the views' decisions become one, as in SMVMEDClassifier. For "best" the choice
        between the mean and a view comes after that of c and alpha, which are chosen by the mean.
    tol : float or None, default=None
        Residual of the optimality conditions to reach, as in SMVMEDClassifier; None means 1e-8,
        for SMO 1e-3.
    max_iter : int or None, default=None
        Maximum number of Newton iterations for one value of c, None means 200; maximum number
        of pairs for SMO, None means 10⁷.
    {views}
    class_weight : "balanced", dict or None, default=None
        Weights of the classes, multiplied into the sample weights, which multiply c².
    n_jobs : int or None, default=None
        Number of threads over folds and values of alpha; None means 1.

    Attributes
    ----------
    c_, alpha_ : float
        The pair of best mean accuracy; among ties the smallest c, then the smallest alpha.
    best_score_ : float
        Its mean accuracy over the folds.
    scores_ : ndarray of shape (n_folds, n_alphas, n_cs)
        Accuracies, weighted like the samples, in the order of ``alphas`` and ``cs``.
    {coefficients}
    {convergence}
    {view_attributes}
    {fitted_input}

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
        "cs": [ListOf(POSITIVE_FACTOR)],
        "alphas": [ListOf(ALPHA)],
        "cv": CV,
        "solver": [StrOptions({"auto", "newton", "smo"})],
    }

    def __init__(
        self,
        cs: Sequence[float] = (2, 4, 8, 16, 32),
        *,
        alphas: Sequence[float] = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
        cv: Any = 5,
        kernel: Any = "linear",
        gamma: Any = "scale",
        degree: float = 3,
        coef0: float = 1.0,
        cache_size: float = 2000,
        solver: str = "auto",
        combine: str = "mean",
        tol: float | None = None,
        max_iter: int | None = None,
        views: Any = None,
        class_weight: Any = None,
        n_jobs: int | None = None,
    ) -> None:
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
    def _drops_zero_weights(self) -> bool:
        # splits given as row numbers must keep their meaning
        return not hasattr(self.cv, "__iter__")

    def _check_parameter_relations(self) -> None:
        warn_if_close_to_one(max(self.alphas))

    def _fit(self, data: MultiViewData, codes: np.ndarray, weight: np.ndarray) -> None:
        self._check_views(data)
        cs, c_order = np.unique(np.asarray(self.cs, float), return_inverse=True)
        alphas, alpha_order = np.unique(np.asarray(self.alphas, float), return_inverse=True)
        folds = split_rows(self.cv, codes, data, self.classes_, weight)
        signs = one_vs_rest_signs(codes, len(self.classes_))

        def evaluate(task: Any) -> list[float]:
            (train, test), design, alpha = task
            return self._path_scores(data, codes, signs, weight, train, test, design, cs, alpha)

        with Progress(self, n_tasks=len(folds) * len(alphas)) as progress:
            tasks: list[Any] = []
            for train, test in folds:
                train = train[weight[train] > 0]
                part = data[train]
                design = self._design(part, weight[train], len(signs) * len(cs) * len(alphas))
                tasks += [((train, test), design, alpha) for alpha in alphas]
            sequential = any(design.sequential for _, design, _ in tasks)
            scores = run_tasks(progress, evaluate, tasks, "cross-validate", sequential)
        ascending = np.reshape(scores, (len(folds), len(alphas), len(cs)))
        self.scores_ = ascending[:, alpha_order][:, :, c_order]
        mean = ascending.mean(axis=0)
        # transposed: among ties the smallest c comes first
        best_c, best_alpha = np.unravel_index(mean.T.argmax(), mean.T.shape)
        self.best_score_ = mean[best_alpha, best_c]
        self.c_, self.alpha_ = float(cs[best_c]), float(alphas[best_alpha])
        kept = np.flatnonzero(weight)
        super()._fit(data[kept], codes[kept], weight[kept])

    def _path_scores(
        self,
        data: MultiViewData,
        codes: np.ndarray,
        signs: np.ndarray,
        weight: np.ndarray,
        train: np.ndarray,
        test: np.ndarray,
        design: Any,
        cs: np.ndarray,
        alpha: float,
    ) -> list[float]:
        """Accuracies on the test rows for all c."""
        limits = self._limits(isinstance(design, KernelDesign))
        paths = [warm_path(design, y[train], weight[train], cs, alpha, **limits) for y in signs]
        held_out, names = data[test], data.view_names
        learned = data.present[train].any(axis=0)
        chosen = names.index(self.combine) if self.combine in names else None
        scores = []
        for solved in zip(*paths, strict=True):
            decisions = design.machine(solved)[0].decisions(held_out, names)
            decisions[:, ~learned] = np.nan
            combined = combine_views(decisions, self._shares(len(names)), chosen)
            scores.append(accuracy(combined, codes[test], weight[test]))
        return scores

    def _solve_columns(
        self, design: Design, y: np.ndarray, weight: np.ndarray, tol: float, max_iter: int
    ) -> BinarySolution:
        solution = solve_joint(design, y, weight, self.c_, self.alpha_, tol=tol, max_iter=max_iter)
        return BinarySolution.from_theta(design, solution)

    def _solve_kernels(
        self, design: KernelDesign, y: np.ndarray, weight: np.ndarray, tol: float, max_iter: int
    ) -> BinarySolution:
        solution = solve_joint_kernels(
            design, y, weight, self.c_, self.alpha_, tol=tol, max_iter=max_iter
        )
        return BinarySolution.from_dual(y * solution.dual, solution)
