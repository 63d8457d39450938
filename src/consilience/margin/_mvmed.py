"""MVMED: maximum entropy discrimination with one margin for all views.

A sample has one slack, that of its worst view: a problem with kinks, solved by interior points on
columns and by SMO on kernels.

Reference: S. Sun, G. Chao, "Multi-view maximum entropy discrimination", IJCAI 2013.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from consilience._docstring import fill_docstring
from consilience._model_types import model_type
from consilience._parameters import (
    POSITIVE_FACTOR,
    StrOptions,
)
from consilience._solvers.centred_views import CentredViews
from consilience._solvers.coupled_margins import homotopy
from consilience._solvers.interior_point import Constraints, Loss, solve_margins
from consilience._solvers.smo import MAX_ITER, solve_coupled
from consilience._solvers.solution import DualSolution, Solution
from consilience._solvers.working_set import Approximation, Pieces, has_many_rows, solve_near
from consilience.margin._base import BinarySolution, MarginClassifier
from consilience.margin._design import Design
from consilience.margin._entries import ENTRIES
from consilience.margin._kernel_design import KernelDesign

__all__ = ["MVMEDClassifier"]

# the approximate solution: how far views may differ in their slack, relative to it, the residual
# to reach, and how near to a kink a sample may be to be in doubt
SOFTNESS, SOFT_TOL, KINK_WIDTH = 0.03, 0.01, 0.03


def worst_view(present: np.ndarray) -> Constraints:
    """ξ_t ≥ 1 − z_tv for every view that is present."""
    V = present.shape[1]
    return Constraints(np.zeros(V, dtype=int), np.eye(V), np.ones(V), present, np.zeros(V))


def worst_view_and_log(present: np.ndarray) -> Constraints:
    """The same, and − log ξ_t as a term of the objective."""
    V = present.shape[1]
    return Constraints(
        np.zeros(V + 1, dtype=int),
        np.eye(V + 1, V),
        np.append(np.ones(V), 0.0),
        np.column_stack([present, np.ones(len(present), dtype=bool)]),
        np.append(np.zeros(V), 1.0),
    )


def solve_worst_view(
    views: CentredViews,
    y: np.ndarray,
    weight: np.ndarray,
    c: float,
    prior: str,
    *,
    tol: float = 1e-11,
    max_iter: int = 100,
) -> Solution:
    """min ½ Σ|w_v|² + Σ_t ω_t q(max_v u_tv), q(ξ) = c²ξ²/2 or cξ − log(ξ) from 1/c on."""
    if prior == "gaussian":
        loss, constraints = Loss.quadratic(c), worst_view(views.present)
    else:
        loss, constraints = Loss.linear([c]), worst_view_and_log(views.present)
    if prior == "exponential" or not has_many_rows(views):
        return solve_margins(views, y, weight, loss, constraints, tol=tol, max_iter=max_iter)
    pieces = Pieces(views, y, weight, loss, constraints)
    return solve_near(pieces, soften(views, y, weight, c), tol=tol, max_iter=max_iter)


def soften(views: CentredViews, y: np.ndarray, weight: np.ndarray, c: float) -> Approximation:
    """Nearly one slack for all views: in SMVMED's dual a share of every multiplier's square."""
    first = homotopy(views, y, weight, lambda c: (SOFTNESS / c**2, 1 / c**2), c, tol=SOFT_TOL)
    return Approximation(first.theta, KINK_WIDTH, first.n_iter)


def solve_worst_view_kernels(
    design: KernelDesign,
    y: np.ndarray,
    weight: np.ndarray,
    c: float,
    prior: str,
    *,
    tol: float = 1e-3,
    max_iter: int = MAX_ITER,
) -> DualSolution:
    """The dual, by μ_t = Σ_v λ_tv: costs μ²/(2c²ω), or −ω log(1 − μ/(cω))."""
    gaussian = prior == "gaussian"
    return solve_coupled(
        design.sources,
        y,
        design.upper(np.inf),
        own=0.0 if gaussian else weight,
        shared=1 / (c**2 * weight) if gaussian else 0.0,
        c=0.0 if gaussian else c,
        tol=tol,
        max_iter=max_iter,
    )


def check_prior(prior: str, c: float) -> None:
    """The exponential prior needs c > 1."""
    if prior == "exponential" and c <= 1:
        raise ValueError(
            f"c must be above 1 for prior='exponential', got {c!r}: below, margins of 1 are not "
            "expected and no coefficient is worth its cost"
        )


@model_type("margin.MVMEDClassifier")
@fill_docstring(**ENTRIES)
class MVMEDClassifier(MarginClassifier):
    """MVMED: large margins with one slack per sample, that of its worst view.

    It is the limit of SMVMED for alpha to 1 with c² replaced by c²/(V(1 − alpha)). Missing views
    do not count among a sample's views; a prediction is the mean over the views that a row has.

    Parameters
    ----------
    c : float, default=2.0
        Parameter of the prior of the margins; the larger, the more a slack costs.
    {prior}
    {kernel_parameters}
    {solver}
    {combine}
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
    SMVMEDClassifier : Slacks of their own for the views.
    AMVMEDClassifier : Views of unequal weight.

    References
    ----------
    S. Sun, G. Chao, "Multi-view maximum entropy discrimination", IJCAI 2013.

    Examples
    --------
    >>> from consilience.datasets import make_multiview_classification
    >>> from consilience.margin import MVMEDClassifier
    >>> data, y = make_multiview_classification(200, strength=3.0, random_state=0)
    >>> model = MVMEDClassifier().fit(data, y)
    >>> model.score(data, y) > 0.9
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {
        **MarginClassifier._parameter_constraints,
        "c": [POSITIVE_FACTOR],
        "prior": [StrOptions({"gaussian", "exponential"})],
    }

    def __init__(
        self,
        c: float = 2.0,
        *,
        prior: str = "gaussian",
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
        self.prior = prior
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

    def _solve_columns(
        self, design: Design, y: np.ndarray, weight: np.ndarray, tol: float, max_iter: int
    ) -> BinarySolution:
        solution = solve_worst_view(
            design.views, y, weight, self.c, self.prior, tol=tol, max_iter=max_iter
        )
        return BinarySolution.from_theta(design, solution)

    def _solve_kernels(
        self, design: KernelDesign, y: np.ndarray, weight: np.ndarray, tol: float, max_iter: int
    ) -> BinarySolution:
        solution = solve_worst_view_kernels(
            design, y, weight, self.c, self.prior, tol=tol, max_iter=max_iter
        )
        return BinarySolution.from_dual(y * solution.dual, solution)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # the worst view sets the slack: a group of columns can be too poor for scikit-learn's
        # accuracy check
        tags.classifier_tags.poor_score = self.views is not None
        return tags
