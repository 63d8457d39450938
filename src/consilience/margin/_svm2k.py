"""SVM-2K: two support vector machines whose decisions agree.

Every pair of views is one problem; with more than two views a view's decision is the mean over its
pairs, and a single view is a plain support vector machine.

Reference: J. Farquhar, D. Hardoon, H. Meng, J. Shawe-Taylor, S. Szedmák, "Two view learning:
SVM-2K, theory and practice", NIPS 2005.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from numbers import Real
from typing import Any

import numpy as np

from consilience._docstring import fill_docstring
from consilience._model_types import model_type
from consilience._parameters import (
    POSITIVE_FACTOR,
    Number,
    PerView,
)
from consilience._solvers.centred_views import CentredViews
from consilience._solvers.hinge_sums import Hinges, approximate
from consilience._solvers.interior_point import Constraints, Loss, solve_margins
from consilience._solvers.smo import MAX_ITER, solve_coupled
from consilience._solvers.smo import solve_pair as solve_pair_smo
from consilience._solvers.solution import DualSolution, Solution, multipliers, summarise
from consilience._solvers.working_set import Pieces, has_many_rows, solve_near
from consilience.margin._base import BinarySolution, MarginClassifier
from consilience.margin._design import Design
from consilience.margin._entries import ENTRIES
from consilience.margin._kernel_design import KernelDesign
from consilience.views import MultiViewData
from consilience.views._params import per_view

__all__ = ["SVM2KClassifier"]

# constraints: ξ_v ≥ 1 − z_v and ξ_v ≥ 0 for both views, η ≥ ±(z₁ − z₂) − ε and η ≥ 0
SLOTS = np.array([0, 0, 1, 1, 2, 2, 2])
SIGNS = np.array([[1, 0], [0, 0], [0, 1], [0, 0], [1, -1], [-1, 1], [0, 0]], dtype=np.float64)


def agreement(present: np.ndarray, epsilon: float) -> Constraints:
    """Constraints of two views; where one is missing there is nothing to agree on."""
    bounds = np.array([1, 0, 1, 0, -epsilon, -epsilon, 0], dtype=np.float64)
    on = np.ones((len(present), 7), dtype=bool)
    on[:, 0], on[:, 2] = present[:, 0], present[:, 1]
    on[:, 4] = on[:, 5] = present.all(axis=1)
    return Constraints(SLOTS, SIGNS, bounds, on, np.zeros(7))


def hinge(present: np.ndarray) -> Constraints:
    """Constraints of one view: ξ ≥ 1 − z, ξ ≥ 0."""
    on = np.column_stack([present[:, 0], np.ones(len(present), dtype=bool)])
    return Constraints(SLOTS[:2], SIGNS[:2, :1], np.array([1.0, 0.0]), on, np.zeros(2))


def hinges_of_pair(present: np.ndarray, C: Sequence[float], D: float, epsilon: float) -> Hinges:
    """The loss of two views, or of one; a disagreement is two hinges, one in either direction."""
    if present.shape[1] == 1:
        return Hinges(np.eye(1), np.ones(1), np.array(C), present.T)
    both = present.all(axis=1)
    return Hinges(
        np.array([[1, 0], [0, 1], [1, -1], [-1, 1]], dtype=np.float64),
        np.array([1, 1, -epsilon, -epsilon], dtype=np.float64),
        np.array([*C, D, D], dtype=np.float64),
        np.stack([*present.T, both, both]),
    )


def solve_pair(
    views: CentredViews,
    y: np.ndarray,
    weight: np.ndarray,
    C: Sequence[float],
    D: float,
    epsilon: float,
    *,
    tol: float = 1e-11,
    max_iter: int = 100,
) -> Solution:
    """min ½Σ|w_v|² + Σ_t ω_t [Σ_v C_v max(0, 1 − z_v) + D max(0, |f₁ − f₂| − ε)]."""
    if views.V == 1:
        loss, constraints = Loss.linear(C), hinge(views.present)
    else:
        loss, constraints = Loss.linear([*C, D]), agreement(views.present, epsilon)
    if not has_many_rows(views):
        return solve_margins(views, y, weight, loss, constraints, tol=tol, max_iter=max_iter)
    pieces = Pieces(views, y, weight, loss, constraints)
    approximation = approximate(pieces, hinges_of_pair(views.present, C, D, epsilon))
    return solve_near(pieces, approximation, tol=tol, max_iter=max_iter)


def pairs_of_views(n_views: int) -> list[tuple[int, ...]]:
    """All pairs; a single view is by itself."""
    return list(combinations(range(n_views), 2)) or [(0,)]


def solve_pairs(
    views: CentredViews,
    y: np.ndarray,
    weight: np.ndarray,
    C: Sequence[float],
    D: float,
    epsilon: float,
    *,
    tol: float = 1e-11,
    max_iter: int = 100,
) -> Solution:
    """Every pair of views by itself; each view's parameters are the mean over its pairs."""
    V = views.V
    theta, lam, solutions = np.zeros(views.size), np.zeros((views.n, V)), []
    for pair in pairs_of_views(V):
        part = views.select_views(pair)
        solution = solve_pair(
            part, y, weight, [C[v] for v in pair], D, epsilon, tol=tol, max_iter=max_iter
        )
        theta[views.positions(pair)] += solution.theta / max(V - 1, 1)
        lam[:, pair] += multipliers(solution) / max(V - 1, 1)
        solutions.append(solution)
    return Solution(theta, **summarise(solutions), lam=lam)


def solve_pairs_kernels(
    design: KernelDesign,
    y: np.ndarray,
    weight: np.ndarray,
    C: Sequence[float],
    D: float,
    epsilon: float,
    *,
    tol: float = 1e-3,
    max_iter: int = MAX_ITER,
) -> DualSolution:
    """The same on kernels; signed multipliers and intercepts are the means over a view's pairs."""
    V = design.V
    g, bias, solutions = np.zeros((V, design.n)), np.zeros(V), []
    decisions = np.zeros((V, design.n))
    upper = design.upper(np.outer(C, weight))
    for pair in pairs_of_views(V):
        sources = [design.sources[v] for v in pair]
        limits: dict[str, Any] = {"tol": tol, "max_iter": max_iter}
        if V == 1:
            solution = solve_coupled(sources, y, upper, **limits)
            solution.dual = y * solution.dual
        else:
            both = np.where(design.present[:, pair].all(axis=1), D * weight, 0.0)
            solution = solve_pair_smo(sources, y, upper[list(pair)], both, epsilon, **limits)
        g[list(pair)] += solution.dual / max(V - 1, 1)
        bias[list(pair)] += solution.bias / max(V - 1, 1)
        decisions[list(pair)] += solution.decisions / max(V - 1, 1)
        solutions.append(solution)
    return DualSolution(g, bias, **summarise(solutions), decisions=decisions)


@model_type("margin.SVM2KClassifier")
@fill_docstring(**ENTRIES)
class SVM2KClassifier(MarginClassifier):
    """SVM-2K: support vector machines on the views, pairwise made to agree.

    A disagreement |f₁ − f₂| beyond epsilon costs D times the excess. A view that is missing costs
    nothing and need not agree; a prediction is the mean over the views that a row has.

    Parameters
    ----------
    C : float or dict of view -> float, default=1.0
        Cost of margins below 1.
    D : float, default=1.0
        Cost of disagreement.
    epsilon : float, default=0.01
        Disagreement that costs nothing.
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
    SMVMEDClassifier : Agreement of slacks instead of decisions.

    References
    ----------
    J. Farquhar, D. Hardoon, H. Meng, J. Shawe-Taylor, S. Szedmák, "Two view learning: SVM-2K,
    theory and practice", NIPS 2005.

    Examples
    --------
    >>> from consilience.datasets import make_multiview_classification
    >>> from consilience.margin import SVM2KClassifier
    >>> data, y = make_multiview_classification(200, n_views=2, strength=3.0, random_state=0)
    >>> model = SVM2KClassifier(D=0.5).fit(data, y)
    >>> model.score(data, y) > 0.9
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {
        **MarginClassifier._parameter_constraints,
        "C": [PerView(POSITIVE_FACTOR)],
        "D": [POSITIVE_FACTOR],
        "epsilon": [Number(Real, 0, 1e100, closed="both")],
    }

    def __init__(
        self,
        C: Any = 1.0,
        *,
        D: float = 1.0,
        epsilon: float = 0.01,
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
        self.C = C
        self.D = D
        self.epsilon = epsilon
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

    def _check_views(self, data: MultiViewData) -> None:
        super()._check_views(data)
        per_view(self.C, data.view_names, "C")

    def _solve_columns(
        self, design: Design, y: np.ndarray, weight: np.ndarray, tol: float, max_iter: int
    ) -> BinarySolution:
        C = list(per_view(self.C, tuple(self.view_names_), "C").values())
        solution = solve_pairs(
            design.views,
            y,
            weight,
            C,
            self.D,
            self.epsilon,
            tol=tol,
            max_iter=max_iter,
        )
        return BinarySolution.from_theta(design, solution)

    def _solve_kernels(
        self, design: KernelDesign, y: np.ndarray, weight: np.ndarray, tol: float, max_iter: int
    ) -> BinarySolution:
        C = list(per_view(self.C, tuple(self.view_names_), "C").values())
        solution = solve_pairs_kernels(
            design, y, weight, C, self.D, self.epsilon, tol=tol, max_iter=max_iter
        )
        return BinarySolution.from_dual(solution.dual, solution)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # to agree with a group of few columns can be too poor for scikit-learn's accuracy check
        tags.classifier_tags.poor_score = self.views is not None and self.kernel != "linear"
        return tags
