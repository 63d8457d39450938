"""SVM-2K: two support vector machines whose decisions agree.

Every pair of views is one problem; with more than two views a view's decision is the mean over its
pairs, and a single view is a plain support vector machine.

Reference: J. Farquhar, D. Hardoon, H. Meng, J. Shawe-Taylor, S. Szedmák, "Two view learning:
SVM-2K, theory and practice", NIPS 2005.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from consilience._parameters import NON_NEGATIVE, POSITIVE, PerView
from consilience._solvers.interior_point import Constraints, Loss, solve_margins
from consilience._solvers.smo import MAX_ITER, solve_coupled
from consilience._solvers.smo import solve_pair as solve_pair_smo
from consilience._solvers.solution import DualSolution, Solution, summarise
from consilience.margin._base import BinarySolution, MarginClassifier
from consilience.views._params import per_view

__all__ = ["SVM2KClassifier"]

# constraints: ξ_v ≥ 1 − z_v and ξ_v ≥ 0 for both views, η ≥ ±(z₁ − z₂) − ε and η ≥ 0
SLOTS = np.array([0, 0, 1, 1, 2, 2, 2])
SIGNS = np.array([[1, 0], [0, 0], [0, 1], [0, 0], [1, -1], [-1, 1], [0, 0]], dtype=np.float64)


def agreement(present, epsilon):
    """Constraints of two views; where one is missing there is nothing to agree on."""
    bounds = np.array([1, 0, 1, 0, -epsilon, -epsilon, 0], dtype=np.float64)
    on = np.ones((len(present), 7), dtype=bool)
    on[:, 0], on[:, 2] = present[:, 0], present[:, 1]
    on[:, 4] = on[:, 5] = present.all(axis=1)
    return Constraints(SLOTS, SIGNS, bounds, on, np.zeros(7))


def hinge(present):
    """Constraints of one view: ξ ≥ 1 − z, ξ ≥ 0."""
    on = np.column_stack([present[:, 0], np.ones(len(present), dtype=bool)])
    return Constraints(SLOTS[:2], SIGNS[:2, :1], np.array([1.0, 0.0]), on, np.zeros(2))


def solve_pair(views, y, weight, C, D, epsilon, *, tol=1e-11, max_iter=100):
    """min ½Σ|w_v|² + Σ_t ω_t [Σ_v C_v max(0, 1 − z_v) + D max(0, |f₁ − f₂| − ε)]."""
    if views.V == 1:
        costs, constraints = C, hinge(views.present)
    else:
        costs, constraints = [*C, D], agreement(views.present, epsilon)
    loss = Loss.linear(costs)
    return solve_margins(views, y, weight, loss, constraints, tol=tol, max_iter=max_iter)


def solve_pairs(views, y, weight, C, D, epsilon, *, tol=1e-11, max_iter=100):
    """Every pair of views by itself; each view's parameters are the mean over its pairs."""
    V = views.V
    pairs = list(combinations(range(V), 2)) or [(0,)]
    theta, lam, solutions = np.zeros(views.size), np.zeros((views.n, V)), []
    for pair in pairs:
        part = views.select_views(pair)
        solution = solve_pair(
            part, y, weight, [C[v] for v in pair], D, epsilon, tol=tol, max_iter=max_iter
        )
        theta[views.positions(pair)] += solution.theta / max(V - 1, 1)
        lam[:, pair] += solution.lam / max(V - 1, 1)
        solutions.append(solution)
    return Solution(theta, **summarise(solutions), lam=lam)


def solve_pairs_kernels(design, y, weight, C, D, epsilon, *, tol=1e-3, max_iter=MAX_ITER):
    """The same on kernels; signed multipliers and intercepts are the means over a view's pairs."""
    V = design.V
    g, bias, solutions = np.zeros((V, design.n)), np.zeros(V), []
    decisions = np.zeros((V, design.n))
    upper = design.upper(np.outer(C, weight))
    for pair in list(combinations(range(V), 2)) or [(0,)]:
        sources, limits = [design.sources[v] for v in pair], {"tol": tol, "max_iter": max_iter}
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
    solver : {"auto", "primal", "smo"}, default="auto"
        "primal" works on the columns by interior points, "smo" on kernels; "auto" takes the latter
        where a kernel is not linear.
    combine : "mean", "best" or the name of a view, default="mean"
        The mean of the views' decisions, or the decision of the view that does best in 5-fold
        cross-validation, or of a given view (the mean of the others where it is missing).
    tol : float or None, default=None
        Relative duality gap and residuals to reach on columns, None is 1e-9 and 1e-7 will do
        where rounding allows no more; gap of the optimality conditions for SMO, None is 1e-3.
    max_iter : int or None, default=None
        Most steps of the solver; None is 100, for SMO 10⁷ pairs.
    views : None, list or dict, default=None
        Groups of columns when X is one matrix, or names of the views to use.
    class_weight : "balanced", dict or None, default=None
        Weights of the classes, multiplied into the sample weights.
    n_jobs : int or None, default=None
        Number of threads over classes; None is 1.

    Attributes
    ----------
    coef_ : dict of view -> ndarray of shape (n_features,) or (n_classes, n_features)
        Coefficients; for more than two classes one row for each against the rest.
    dual_coef_ : dict of view -> ndarray of shape (n_support,) or (n_classes, n_support)
        Coefficients of the support vectors, for kernels; ``coef_`` then has the views whose
        kernel is linear.
    support_ : dict of view -> ndarray of shape (n_support,)
        Sample ids (row numbers unless given) of the support vectors, for kernels.
    intercept_ : ndarray of shape (n_views,) or (n_classes, n_views)
        Intercepts. Where the solution leaves them free within an interval, a point inside it.
    n_iter_ : int
        Steps taken, the most of any class and pair.
    kkt_residual_ : float
        Largest of the relative duality gap and residuals, the largest of any class and pair.
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
        "C": [PerView(POSITIVE)],
        "D": [POSITIVE],
        "epsilon": [NON_NEGATIVE],
    }

    def __init__(
        self,
        C=1.0,
        *,
        D=1.0,
        epsilon=0.01,
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

    def _check_views(self, data):
        super()._check_views(data)
        per_view(self.C, data.view_names, "C")

    def _solve_columns(self, design, y, weight, tol, max_iter):
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

    def _solve_kernels(self, design, y, weight, tol, max_iter):
        C = list(per_view(self.C, tuple(self.view_names_), "C").values())
        solution = solve_pairs_kernels(
            design, y, weight, C, self.D, self.epsilon, tol=tol, max_iter=max_iter
        )
        return BinarySolution.from_dual(solution.dual, solution)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # to agree with a group of few columns can be too poor for scikit-learn's accuracy check
        tags.classifier_tags.poor_score = self.views is not None and self.kernel != "linear"
        return tags
