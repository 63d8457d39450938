"""AMVMED: maximum entropy discrimination with views of unequal weight.

``solve_exact`` is MVMED with kernels K_v/ρ_v; ``solve_two_step`` learns one set of multipliers with
the kernel Σ ρ_v K_v and then an intercept for every view.

Reference: G. Chao, S. Sun, "Alternative multiview maximum entropy discrimination", IEEE
Transactions on Neural Networks and Learning Systems 27 (2016).
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from consilience._docstring import fill_docstring
from consilience._model_types import model_type
from consilience._parameters import (
    POSITIVE_FACTOR,
    ListOf,
    Number,
    StrOptions,
)
from consilience._solvers.centred_views import CentredViews
from consilience._solvers.coupled_margins import homotopy
from consilience._solvers.smo import MAX_ITER, solve_coupled
from consilience._solvers.solution import DualSolution, Solution, multipliers
from consilience._solvers.water_filling import coupling
from consilience.margin._base import BinarySolution, MarginClassifier
from consilience.margin._design import Design
from consilience.margin._entries import ENTRIES
from consilience.margin._kernel_design import KernelDesign
from consilience.margin._mvmed import check_prior, solve_worst_view, solve_worst_view_kernels
from consilience.views import MultiViewData

__all__ = ["AMVMEDClassifier"]

SHARE = Number(Real, 0, 1, closed="both")


def solve_exact(
    views: CentredViews,
    y: np.ndarray,
    weight: np.ndarray,
    c: float,
    rho: np.ndarray,
    prior: str,
    *,
    tol: float,
    max_iter: int,
) -> Solution:
    """MVMED on X_v/√ρ_v: f_v = K_v(yλ_v)/ρ_v + b_v."""
    factors = 1 / np.sqrt(rho)
    solution = solve_worst_view(
        views.scaled(factors), y, weight, c, prior, tol=tol, max_iter=max_iter
    )
    for where, factor in zip(views.slices, factors, strict=True):
        solution.theta[where] *= factor
    return solution


def solve_two_step(
    views: CentredViews,
    y: np.ndarray,
    weight: np.ndarray,
    c: float,
    rho: np.ndarray,
    prior: str,
    *,
    tol: float,
    max_iter: int,
) -> Solution:
    """One λ for the kernel Σ ρ_v K_v, then f_v = K_v(yλ) + b_v, b_v from support vectors."""
    joint = views.scaled(np.sqrt(rho)).merged()
    if prior == "gaussian":
        solution = homotopy(
            joint,
            y,
            weight,
            lambda c: coupling(c, 0.0, 1),
            c,
            tol=tol,
            max_iter=max_iter,
        )
    else:
        solution = solve_worst_view(joint, y, weight, c, prior, tol=tol, max_iter=max_iter)
    lam = multipliers(solution)[:, 0] / weight
    if prior == "exponential":
        lam = clear_inactive(lam, y * joint.matvec(solution.theta)[:, 0], c)
    theta = np.append(solution.theta[:-1], np.zeros(views.V))
    from_multipliers = views.rmatvec((y * lam * weight)[:, None] * views.present)
    for where, share in zip(views.slices, rho, strict=True):
        # a view of weight 0 takes no part in the kernel; its decision is that of the multipliers
        theta[where] = theta[where] / np.sqrt(share) if share > 0 else from_multipliers[where]
    theta[views.d :] = intercepts(views.matvec(theta), y, weight, lam, c, prior, views.present)
    solution.theta = theta
    return solution


def solve_two_step_kernels(
    design: KernelDesign,
    y: np.ndarray,
    weight: np.ndarray,
    c: float,
    prior: str,
    *,
    tol: float = 1e-3,
    max_iter: int = MAX_ITER,
) -> tuple[np.ndarray, DualSolution]:
    """The same on kernels; the design has Σ ρ_v K_v as its only source."""
    gaussian = prior == "gaussian"
    solution = solve_coupled(
        design.sources,
        y,
        np.full((1, design.n), np.inf),
        own=1 / (c**2 * weight) if gaussian else weight,
        c=0.0 if gaussian else c,
        tol=tol,
        max_iter=max_iter,
    )
    lam = solution.dual[0]
    centred = [design.centred(v) for v in range(design.V)]
    g = [part.coefs(y * lam) if hasattr(part, "coefs") else y * lam for part in centred]
    F = np.column_stack([view.times(g_v) for view, g_v in zip(design.views, g, strict=True)])
    solution.bias = intercepts(F, y, weight, lam / weight, c, prior, design.present)
    solution.decisions = (F + solution.bias).T
    return np.array(g), solution


def clear_inactive(lam: np.ndarray, margins: np.ndarray, c: float) -> np.ndarray:
    """λ without what interior points leave where the slack ξ = 1/(c − λ) is above 1 − margin."""
    return np.where(lam / c > 1 / (c - lam) - (1 - margins), lam, 0.0)


def intercepts(
    F: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    lam: np.ndarray,
    c: float,
    prior: str,
    present: np.ndarray,
) -> np.ndarray:
    """b_v = mean over the support vectors of y γ̂ − K_v(yλ), γ̂ the margin expected by the prior."""
    expected = 1 - lam / c**2 if prior == "gaussian" else 1 - 1 / (c - lam)
    support = (lam > 1e-6 * lam.max()) if lam.any() else np.ones(len(lam), dtype=bool)
    mass = weight[:, None] * (present & support[:, None])
    gaps = (y * expected)[:, None] - F
    return (mass * gaps).sum(axis=0) / np.maximum(mass.sum(axis=0), 1e-300)


@model_type("margin.AMVMEDClassifier")
@fill_docstring(**ENTRIES)
class AMVMEDClassifier(MarginClassifier):
    """AMVMED: large margins with views of unequal weight.

    A prediction is the mean of the views' decisions weighted by rho, over the views that a row
    has. In training, the exact form leaves missing views out; the two-step form, which adds the
    views' kernels, imputes them with their mean.

    Parameters
    ----------
    c : float, default=2.0
        Parameter of the prior of the margins; the larger, the more a slack costs.
    rho : float, array of shape (n_views,) or None, default=None
        Weights of the views, >= 0 and with sum 1; for two views the first is enough. None gives
        all views the same weight. A weight of 0 leaves a view out of the two-step form, and is not
        possible in the exact form, which divides by it.
    {prior}
    form : {"exact", "two-step"}, default="exact"
        The problem as stated, with one set of multipliers for each view; or the simplification
        with one shared set.
    {kernel_parameters}
    {solver}
    combine : "mean", "best" or the name of a view, default="mean"
        The mean of the views' decisions weighted by rho; the best of that mean and of every single
        view in 5-fold cross-validation; or the decision of a given view. Where the view that
        decides is missing, the mean of the others does.
    {tol}
    {max_iter}
    {views}
    {class_weight}
    {n_jobs}

    Attributes
    ----------
    {coefficients}
    {convergence}
    {view_attributes}
    {fitted_input}

    See Also
    --------
    MVMEDClassifier : All views weigh alike.

    References
    ----------
    G. Chao, S. Sun, "Alternative multiview maximum entropy discrimination", IEEE Transactions on
    Neural Networks and Learning Systems 27 (2016).

    Examples
    --------
    >>> from consilience.datasets import make_multiview_classification
    >>> from consilience.margin import AMVMEDClassifier
    >>> data, y = make_multiview_classification(200, n_views=2, strength=3.0, random_state=0)
    >>> model = AMVMEDClassifier(rho=0.3).fit(data, y)
    >>> model.score(data, y) > 0.9
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {
        **MarginClassifier._parameter_constraints,
        "c": [POSITIVE_FACTOR],
        "rho": [None, SHARE, ListOf(SHARE)],
        "prior": [StrOptions({"gaussian", "exponential"})],
        "form": [StrOptions({"exact", "two-step"})],
    }

    def __init__(
        self,
        c: float = 2.0,
        *,
        rho: Any = None,
        prior: str = "gaussian",
        form: str = "exact",
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
        self.rho = rho
        self.prior = prior
        self.form = form
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
        check_prior(self.prior, self.c)

    def _check_views(self, data: MultiViewData) -> None:
        super()._check_views(data)
        self._check_shares(self._shares(data.n_views))

    def _shares(self, n_views: int) -> np.ndarray:
        if self.rho is None:
            return np.full(n_views, 1 / n_views)
        if isinstance(self.rho, Real) and n_views == 2:
            return np.array([self.rho, 1 - self.rho], dtype=np.float64)
        rho = np.asarray(self.rho, dtype=np.float64)
        if rho.shape != (n_views,) or not np.isclose(rho.sum(), 1):
            raise ValueError(
                f"rho must be {n_views} positive weights with sum 1, one for each view, or None; "
                f"got {self.rho!r}"
            )
        return rho

    def _check_shares(self, rho: np.ndarray) -> None:
        if self.form == "exact" and (rho == 0).any():
            raise ValueError(
                f"form='exact' divides by rho, which must be above 0 for every view; got "
                f"rho={self.rho!r}; use form='two-step'"
            )

    def _solve_columns(
        self, design: Design, y: np.ndarray, weight: np.ndarray, tol: float, max_iter: int
    ) -> BinarySolution:
        solve = solve_exact if self.form == "exact" else solve_two_step
        rho = self._shares(design.views.V)
        solution = solve(
            design.views,
            y,
            weight,
            self.c,
            rho,
            self.prior,
            tol=tol,
            max_iter=max_iter,
        )
        return BinarySolution.from_theta(design, solution)

    def _kernel_factors(self, n_views: int) -> dict[str, np.ndarray]:
        rho = self._shares(n_views)
        return {"scales": 1 / rho} if self.form == "exact" else {"shares": rho}

    def _solve_kernels(
        self, design: KernelDesign, y: np.ndarray, weight: np.ndarray, tol: float, max_iter: int
    ) -> BinarySolution:
        limits: dict[str, Any] = {"tol": tol, "max_iter": max_iter}
        if self.form == "exact":
            solution = solve_worst_view_kernels(design, y, weight, self.c, self.prior, **limits)
            return BinarySolution.from_dual(y * solution.dual, solution)
        g, solution = solve_two_step_kernels(design, y, weight, self.c, self.prior, **limits)
        return BinarySolution.from_dual(g, solution)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # the worst view sets the slack: a group of columns can be too poor for scikit-learn's
        # accuracy check
        tags.classifier_tags.poor_score = self.views is not None
        return tags
