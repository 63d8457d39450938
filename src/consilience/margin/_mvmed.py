"""MVMED: maximum entropy discrimination with one margin for all views.

A sample has one slack, that of its worst view: a problem with kinks, solved by interior points on
columns and by SMO on kernels.

Reference: S. Sun, G. Chao, "Multi-view maximum entropy discrimination", IJCAI 2013.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from consilience._parameters import POSITIVE, StrOptions
from consilience._solvers.interior_point import Constraints, Loss, solve_margins
from consilience._solvers.smo import MAX_ITER, solve_coupled
from consilience.margin._base import BinarySolution, MarginClassifier

__all__ = ["MVMEDClassifier"]


def worst_view(present):
    """ξ_t ≥ 1 − z_tv for every view that is there."""
    V = present.shape[1]
    return Constraints(np.zeros(V, dtype=int), np.eye(V), np.ones(V), present, np.zeros(V))


def worst_view_and_log(present):
    """The same, and − log ξ_t as a term of the objective."""
    V = present.shape[1]
    return Constraints(
        np.zeros(V + 1, dtype=int),
        np.eye(V + 1, V),
        np.append(np.ones(V), 0.0),
        np.column_stack([present, np.ones(len(present), dtype=bool)]),
        np.append(np.zeros(V), 1.0),
    )


def solve_worst_view(views, y, weight, c, prior, *, tol=1e-11, max_iter=100):
    """min ½ Σ|w_v|² + Σ_t ω_t q(max_v u_tv), q(ξ) = c²ξ²/2 or cξ − log(ξ) from 1/c on."""
    if prior == "gaussian":
        loss, constraints = Loss.quadratic(c), worst_view(views.present)
    else:
        loss, constraints = Loss.linear([c]), worst_view_and_log(views.present)
    return solve_margins(views, y, weight, loss, constraints, tol=tol, max_iter=max_iter)


def solve_worst_view_kernels(design, y, weight, c, prior, *, tol=1e-3, max_iter=MAX_ITER):
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


def check_prior(prior, c):
    """The exponential prior needs c > 1."""
    if prior == "exponential" and c <= 1:
        raise ValueError(
            f"c must be above 1 for prior='exponential', got {c!r}: below, margins of 1 are not "
            "expected and no coefficient is worth its cost"
        )


class MVMEDClassifier(MarginClassifier):
    """MVMED: large margins with one slack per sample, that of its worst view.

    It is the limit of SMVMED for alpha to 1 with c² replaced by c²/(V(1 − alpha)). Missing views
    do not count among a sample's views; a prediction is the mean over the views that a row has.

    Parameters
    ----------
    c : float, default=2.0
        Parameter of the prior of the margins; the larger, the more a slack costs.
    prior : {"gaussian", "exponential"}, default="gaussian"
        Cost of a slack ξ: c²ξ²/2, or cξ − 1 − log(cξ) above 1/c, which needs c > 1.
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
        Intercepts.
    n_iter_ : int
        Steps taken, the most of any class.
    kkt_residual_ : float
        Largest of the relative duality gap and residuals, the largest of any class.
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
        "c": [POSITIVE],
        "prior": [StrOptions({"gaussian", "exponential"})],
    }

    def __init__(
        self,
        c=2.0,
        *,
        prior="gaussian",
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

    def _check_parameter_relations(self):
        check_prior(self.prior, self.c)

    def _solve_columns(self, design, y, weight, tol, max_iter):
        solution = solve_worst_view(
            design.views, y, weight, self.c, self.prior, tol=tol, max_iter=max_iter
        )
        return BinarySolution.from_theta(design, solution)

    def _solve_kernels(self, design, y, weight, tol, max_iter):
        solution = solve_worst_view_kernels(
            design, y, weight, self.c, self.prior, tol=tol, max_iter=max_iter
        )
        return BinarySolution.from_dual(y * solution.dual, solution)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # the worst view sets the slack: a group of columns can be too poor for scikit-learn's
        # accuracy check
        tags.classifier_tags.poor_score = self.views is not None
        return tags
