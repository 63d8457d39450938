"""SMVMED: soft margin consistency between views.

Ways to the same solution: ``solve_joint``, one convex problem by semismooth Newton on columns,
``solve_joint_kernels``, by SMO on kernels, and ``alternate``, the paper's alternation over the
views (with its misprints mended), which converges to it.

Reference: L. Mao, S. Sun, "Soft margin consistency based scalable multi-view maximum entropy
discrimination", IJCAI 2016.
"""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import Any

import numpy as np

from consilience._compat import Progress
from consilience._docstring import fill_docstring
from consilience._model_types import model_type
from consilience._parameters import (
    POSITIVE_FACTOR,
    Number,
    StrOptions,
)
from consilience._solvers.coupled_margins import homotopy, minimise
from consilience._solvers.smo import MAX_ITER, solve_coupled
from consilience._solvers.solution import DualSolution, Solution, multipliers
from consilience._solvers.water_filling import coupling
from consilience._warnings import warn_user
from consilience.distributed._mixin import BlockwiseFitMixin
from consilience.margin._base import BinarySolution, MarginClassifier
from consilience.margin._design import Design
from consilience.margin._entries import ENTRIES
from consilience.margin._from_blocks import sample_rows, solve_blocks
from consilience.margin._kernel_design import KernelDesign
from consilience.views._params import per_view_values

__all__ = ["SMVMEDClassifier"]


def solve_joint(
    design: Any,
    y: np.ndarray,
    weight: np.ndarray,
    c: float,
    alpha: float,
    *,
    start: tuple[float, np.ndarray] | None = None,
    tol: float = 1e-8,
    max_iter: int = 200,
) -> Solution:
    """min ½ Σ|w_v|² + (c²/2) Σ_t ω_t min_{ξ_t ≥ u_t} ξ_tᵀ(I − αW)ξ_t; start = (c, θ) if known."""
    views = design.views
    first, theta = start if start is not None else (None, None)
    return homotopy(
        views,
        y,
        weight,
        lambda c: coupling(c, alpha, views.V),
        c,
        theta=theta,
        start=first,
        tol=tol,
        max_iter=max_iter,
    )


def solve_joint_kernels(
    design: KernelDesign,
    y: np.ndarray,
    weight: np.ndarray,
    c: float,
    alpha: float,
    *,
    lam0: np.ndarray | None = None,
    tol: float = 1e-3,
    max_iter: int = MAX_ITER,
) -> DualSolution:
    """The dual: max Σλ − ½ Σ_t (a|λ_t|² + b(Σ_v λ_tv)²)/ω_t − ½ Σ_v (yλ_v)ᵀK_v(yλ_v)."""
    a, b = coupling(c, alpha, design.V)
    return solve_coupled(
        design.sources,
        y,
        design.upper(np.inf),
        own=a / weight,
        shared=b / weight,
        tol=tol,
        max_iter=max_iter,
        lam0=lam0,
    )


def rounds_of_alternation(
    design: Design,
    y: np.ndarray,
    weight: np.ndarray,
    c: float,
    alpha: float,
    tol: float = 1e-8,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield (θ, λ) after every round of the alternation: each view in turn given the others.

    With a = α/(V − 1) Σ_{u≠v} A_u, view v solves an L2 support vector machine for the margins
    1 − a/c², and A_v = a + λ_v. Where a view is missing its λ stays 0.
    """
    n, V = design.views.present.shape
    share = alpha / (V - 1) if V > 1 else 0.0
    parts = [design.views.select_views([v]) for v in range(V)]
    thetas: list[Any] = [None] * V
    A, lam = np.zeros((n, V)), np.zeros((n, V))
    theta = np.zeros(design.views.size)
    while True:
        for v, part in enumerate(parts):
            a = share * (A.sum(axis=1) - A[:, v])
            margins = 1 - a / (c**2 * weight)
            solution = minimise(
                part,
                y,
                weight,
                1 / c**2,
                0.0,
                target=margins[:, None],
                theta=thetas[v],
                tol=tol,
            )
            thetas[v], lam[:, v] = solution.theta, multipliers(solution)[:, 0]
            A[:, v] = a + lam[:, v]
            theta[design.views.positions([v])] = solution.theta
        yield theta.copy(), lam.copy()


def alternate(
    design: Design,
    y: np.ndarray,
    weight: np.ndarray,
    c: float,
    alpha: float,
    *,
    tol: float = 1e-8,
    max_iter: int = 200,
) -> Solution:
    """The alternation until λ changes by less than tol, relative to the largest λ."""
    last = np.zeros_like(design.views.present, dtype=np.float64)
    rounds = rounds_of_alternation(design, y, weight, c, alpha, min(tol, 1e-10))
    for n_iter in range(1, max_iter + 1):  # noqa: B007
        theta, lam = next(rounds)
        change = float(np.abs(lam - last).max() / max(np.abs(lam).max(), 1e-300))
        if change <= tol:
            break
        last = lam
    return Solution(theta, n_iter, change, change <= tol, lam)


class _Alpha(Number):
    """α in [0, 1); the message says why 1 is excluded."""

    def __init__(self) -> None:
        super().__init__(Real, 0, 1, closed="left")

    def __str__(self) -> str:
        return (
            f"{super().__str__()} (at alpha = 1 slacks that agree cost nothing, so the best "
            "coefficients are all 0; MVMEDClassifier is the limit of alpha to 1 with growing c)"
        )


ALPHA = _Alpha()


def warn_if_close_to_one(alpha: float) -> None:
    """Warn of an alpha for which the coefficients nearly vanish."""
    if alpha > 0.99:
        warn_user(
            f"alpha = {alpha} is close to 1, where the coefficients vanish; use alpha <= 0.99, or "
            "MVMEDClassifier for margins that agree fully"
        )


@model_type("margin.SMVMEDClassifier")
@fill_docstring(**ENTRIES)
class SMVMEDClassifier(BlockwiseFitMixin, MarginClassifier):
    """SMVMED: large margins in every view, with slacks that agree between the views.

    For two views the slacks ξ of a sample cost c²/2 · [(1 − α)(ξ₁² + ξ₂²) + α(ξ₁ − ξ₂)²]. This is
    one convex problem for any number of views, solved directly. Where a view is missing its slack
    is free; a prediction is the mean over the views that a row has.

    Parameters
    ----------
    c : float, default=1.0
        Weight of the slacks against the norm of the coefficients; c²/2 per sample.
    alpha : float in [0, 1), default=0.5
        Agreement of the slacks; 0 gives independent L2 support vector machines.
    {kernel_parameters}
    solver : {"auto", "newton", "smo", "alternation"}, default="auto"
        "newton" solves the joint problem on the columns of linear kernels, "smo" on any kernels;
        "auto" chooses between these two. "alternation" is the procedure of the paper on columns,
        which converges to the same solution, but slowly for alpha near 1.
    {combine}
    tol : float or None, default=None
        Relative residual of the optimality conditions to reach; for the alternation, relative
        change of the multipliers in a round; None means 1e-8. For SMO, gap of the optimality
        conditions in units of the decision function; None means 1e-3.
    max_iter : int or None, default=None
        Maximum number of Newton iterations for one value of c or of rounds of the alternation,
        None means 200; maximum number of pairs for SMO, None means 10⁷.
    {views}
    class_weight : "balanced", dict or None, default=None
        Weights of the classes, multiplied into the sample weights, which multiply c².
    {n_jobs}

    Attributes
    ----------
    {coefficients}
    {convergence}
    {view_attributes}
    {fitted_input}

    See Also
    --------
    SMVMEDClassifierCV : Chooses c and alpha by cross-validation.
    MVMEDClassifier : All views share one slack.

    References
    ----------
    L. Mao, S. Sun, "Soft margin consistency based scalable multi-view maximum entropy
    discrimination", IJCAI 2016.

    Examples
    --------
    >>> from consilience.datasets import load_digits_views
    >>> from consilience.margin import SMVMEDClassifier
    >>> digits = load_digits_views()
    >>> model = SMVMEDClassifier(c=0.1).fit(digits.data[:1000], digits.target[:1000])
    >>> model.score(digits.data[1000:], digits.target[1000:]) > 0.8
    True
    >>> model.view_decision_function(digits.data[:2]).shape == (2, digits.data.n_views, 10)
    True
    """

    _column_limits = {"tol": 1e-8, "max_iter": 200}
    _parameter_constraints: dict[str, list[Any]] = {
        **MarginClassifier._parameter_constraints,
        "c": [POSITIVE_FACTOR],
        "alpha": [ALPHA],
        "solver": [StrOptions({"auto", "newton", "smo", "alternation"})],
    }

    def __init__(
        self,
        c: float = 1.0,
        *,
        alpha: float = 0.5,
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
        self.c = c
        self.alpha = alpha
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

    def _check_parameter_relations(self) -> None:
        warn_if_close_to_one(self.alpha)

    def _check_blockwise_parameters(self) -> None:
        linear = all(kernel == "linear" for kernel in per_view_values(self.kernel))
        if self.solver in ("alternation", "smo") or self.combine == "best" or not linear:
            raise ValueError(
                "data in blocks need linear kernels, solver='auto' or 'newton', and "
                f"combine='mean' or a view; got kernel={self.kernel!r}, solver={self.solver!r}, "
                f"combine={self.combine!r}"
            )

    def _fit_blocks(self, training: Any) -> None:
        sample = sample_rows(training)
        data = sample.data
        self._check_views(data)
        with Progress(self, n_tasks=1) as progress:
            design, solved, shares = solve_blocks(
                training, sample, self.c, self.alpha, **self._limits(False)
            )
            progress.tick("solve")
        self._warn_after_fit(solved, data.view_names, data)
        self._set_fitted_attributes(data, design, solved)
        self._learned = np.asarray(training.present.any(axis=0))  # of all rows, not the sample's
        self.best_view_ = None if self.combine == "mean" else self.combine
        if self.best_view_ is not None:
            shares = np.array([float(name == self.best_view_) for name in data.view_names])
        self.view_weights_ = shares

    def _solve_columns(
        self, design: Design, y: np.ndarray, weight: np.ndarray, tol: float, max_iter: int
    ) -> BinarySolution:
        solve = alternate if self.solver == "alternation" else solve_joint
        solution = solve(design, y, weight, self.c, self.alpha, tol=tol, max_iter=max_iter)
        return BinarySolution.from_theta(design, solution)

    def _solve_kernels(
        self, design: KernelDesign, y: np.ndarray, weight: np.ndarray, tol: float, max_iter: int
    ) -> BinarySolution:
        solution = solve_joint_kernels(
            design, y, weight, self.c, self.alpha, tol=tol, max_iter=max_iter
        )
        return BinarySolution.from_dual(y * solution.dual, solution)
