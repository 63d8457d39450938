"""Stacked penalised logistic regression (StaPLR): penalised views, combined by a sparse vote.

Reference: W. van Loon, M. Fokkema, B. Szabó, M. de Rooij, "Stacked penalized logistic regression
for selecting views in multi-view learning", Information Fusion 61 (2020).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning

from consilience._base import MultiViewClassifier
from consilience._compat import Progress
from consilience._docstring import fill_docstring
from consilience._folds import split_rows
from consilience._model_types import model_type
from consilience._parameters import CLASS_WEIGHT, CV, N_JOBS, TOLERANCE, VIEWS, Number, StrOptions
from consilience._solvers.penalised import PathSolver, Penalty, StandardisedViews, lambda_path
from consilience._solvers.ridge_path import RidgePath
from consilience._solvers.view_weights import (
    ViewWeights,
    largest_weight_penalty,
    solve_view_weights,
)
from consilience._training import check_magnitudes
from consilience._warnings import warn_of_unseen_views, warn_user
from consilience.sparse._cross_validation import choose_penalty
from consilience.sparse._entries import ENTRIES
from consilience.sparse._penalised import log_losses, two_scores
from consilience.views import MultiViewData

__all__ = ["StackedPenalisedClassifier"]

WEIGHT_PENALTIES = lambda_path(1.0, 1e-3, 15)


@dataclass(frozen=True, eq=False)
class LinearPoint:
    """Scores of a view: X coef + intercept (for raw columns)."""

    coef: np.ndarray
    intercept: np.ndarray
    converged: bool = True

    def probabilities(self, X: Any) -> np.ndarray:
        """Probabilities n x K."""
        return softmax(two_scores(np.asarray(X @ self.coef) + self.intercept), axis=1)


class ViewPath:
    """Elastic net logistic regression on one view, for descending λ."""

    def __init__(
        self,
        X: Any,
        codes: np.ndarray,
        weight: np.ndarray,
        n_classes: int,
        l1_ratio: float,
        scale: bool,
        tol: float,
    ) -> None:
        n, d = X.shape
        self.views = StandardisedViews([X], np.ones((n, 1), dtype=bool), weight, scale=scale)
        self._ridge = RidgePath(self.views, codes, n_classes, tol) if (
            l1_ratio == 0 and d > n
        ) else None  # fmt: skip
        if self._ridge is None:
            penalty = Penalty(
                np.array([0, d]), np.full(d, l1_ratio), np.zeros(1), np.array([1 - l1_ratio])
            )
            self._solver = PathSolver(self.views, codes, n_classes, penalty, tol=tol)

    @property
    def lam_max(self) -> float:
        """Largest λ of the path."""
        return self._ridge.lam_max if self._ridge is not None else self._solver.lam_max

    def solve(self, lam: float) -> LinearPoint:
        """Solution for raw columns."""
        if self._ridge is not None:
            coef, intercept = self._ridge.solve(lam)
            converged = self._ridge.converged
        else:
            point = self._solver.solve(lam)
            coef, intercept, converged = point.coef, point.intercept, point.converged
        coefs, offsets = self.views.raw_coefficients(coef)
        return LinearPoint(coefs[0], intercept + offsets[0], converged)


@dataclass(frozen=True, eq=False)
class FittedView:
    """A view's regression at its penalty, and its probabilities for rows left out (NaN: none)."""

    point: LinearPoint
    penalty: float
    left_out: np.ndarray


@model_type("sparse.StackedPenalisedClassifier")
@fill_docstring(**ENTRIES)
class StackedPenalisedClassifier(MultiViewClassifier):
    """Penalised regressions of the views, combined by non-negative sparse weights: selects views.

    Each view has an elastic net logistic regression on the rows that have it, with the penalty of
    least log loss on left-out rows. Their left-out probabilities are the inputs of a second
    regression with one weight ≥ 0 for each view and a lasso penalty, chosen on the same folds.
    Views of weight 0 are not needed for predictions. A view that a row lacks counts as its mean
    output. For more than two classes a view has the same weight for all of them.

    Parameters
    ----------
    l1_ratio : float in [0, 1], default=0.0
        Share of the lasso in the views' penalties; 0 is ridge regression, which selects whole
        views, and larger values select columns as well.
    n_penalties : int, default=30
        Number of penalties of each view to try: a geometric sequence of shares of the largest one.
    min_penalty : float, default=1e-4
        Smallest of these shares.
    cv : int, splitter or splits, default=5
        Folds; a number means stratified folds in the order of the rows. The groups of ``fit`` are
        kept together, and passed to a splitter.
    rule : "best" or "1se", default="best"
        Which penalties are chosen: those of the smallest log loss, or the largest ones whose log
        loss is within a standard error of the smallest, which selects fewer views.
    {standardize}
    tol : float, default=1e-8
        Duality gap to reach, as a share of the loss without any column.
    {views}
    {class_weight}
    n_jobs : int or None, default=None
        Number of threads over the views; None means 1.

    Attributes
    ----------
    coef_ : dict of view -> ndarray of shape (n_features,) or (n_classes, n_features)
        Coefficients of the views' regressions.
    intercept_ : dict of view -> ndarray of shape (1,) or (n_classes,)
        Their intercepts.
    final_coef_ : ndarray of shape (n_views,)
        Weights of the views' probabilities, ≥ 0.
    final_intercept_ : ndarray of shape (n_classes,)
        Intercepts of the second regression.
    selected_ : dict of view -> ndarray
        The panel: numbers of the columns whose coefficients are not 0, none for views of weight 0.
    view_penalties_ : dict of view -> float
        The chosen shares.
    view_weights_ : ndarray of shape (n_views,)
        ``final_coef_`` divided by their sum; equal if all are 0.
    final_scores_ : ndarray of shape (n_folds, 1, 15)
        Log loss of the second regression on left-out rows, for descending penalties.
    duality_gap_ : float
        Upper bound of what is left to minimise in the second regression.
    {fitted_input}

    See Also
    --------
    SparseGroupLogisticClassifier : Selects views in one regression.
    consilience.fusion.StackingFusionClassifier : Stacking of any classifiers.

    References
    ----------
    W. van Loon, M. Fokkema, B. Szabó, M. de Rooij, "Stacked penalized logistic regression for
    selecting views in multi-view learning", Information Fusion 61 (2020).

    Examples
    --------
    >>> from consilience.datasets import make_multiview_classification
    >>> from consilience.sparse import StackedPenalisedClassifier
    >>> data, y = make_multiview_classification(200, random_state=0)
    >>> model = StackedPenalisedClassifier(n_penalties=10).fit(data, y)
    >>> bool((model.final_coef_ >= 0).all())
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "l1_ratio": [Number(Real, 0, 1, closed="both")],
        "n_penalties": [Number(Integral, 2, 10_000, closed="both")],
        "min_penalty": [Number(Real, 0, 1, closed="neither")],
        "cv": CV,
        "rule": [StrOptions({"best", "1se"})],
        "standardize": ["boolean"],
        "tol": [TOLERANCE],
        "views": VIEWS,
        "class_weight": CLASS_WEIGHT,
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        l1_ratio: float = 0.0,
        *,
        n_penalties: int = 30,
        min_penalty: float = 1e-4,
        cv: Any = 5,
        rule: str = "best",
        standardize: bool = True,
        tol: float = 1e-8,
        views: Any = None,
        class_weight: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.l1_ratio = l1_ratio
        self.n_penalties = n_penalties
        self.min_penalty = min_penalty
        self.cv = cv
        self.rule = rule
        self.standardize = standardize
        self.tol = tol
        self.views = views
        self.class_weight = class_weight
        self.n_jobs = n_jobs

    @property
    def _drops_zero_weights(self) -> bool:
        # splits given as row numbers must keep their meaning
        return not hasattr(self.cv, "__iter__")

    def _fit(self, data: MultiViewData, codes: np.ndarray, weight: np.ndarray) -> None:
        check_magnitudes(data)
        folds = split_rows(self.cv, codes, data, self.classes_, weight)
        names = data.view_names
        with Progress(self, n_tasks=len(names)) as progress:
            fitted = progress.map(
                lambda name: self._fit_view(data, name, codes, weight, folds), names, "fit view"
            )
        warn_of_unseen_views(names, [n for n, f in zip(names, fitted, strict=True) if f])
        if not any(fitted):
            raise ValueError("no view has training rows of at least two classes")
        K = len(self.classes_)
        left_out = np.stack(
            [np.full((len(data), K), np.nan) if f is None else f.left_out for f in fitted], axis=1
        )
        converged = self._fit_weights(left_out, codes, weight, folds)
        self._set_fitted_attributes(names, fitted)
        self._warn_if_not_converged(names, fitted, converged)

    def _fit_view(
        self,
        data: MultiViewData,
        name: str,
        codes: np.ndarray,
        weight: np.ndarray,
        folds: Sequence[Any],
    ) -> FittedView | None:
        """Path, cross-validation and solution of one view; None if it has but one class."""
        is_used = data.present[:, data.view_names.index(name)] & (weight > 0)
        X, K = data[name], len(self.classes_)

        def path(rows: np.ndarray, tol: float) -> ViewPath:
            parts = X[rows], codes[rows], weight[rows]
            return ViewPath(*parts, K, self.l1_ratio, self.standardize, tol)

        rows = np.flatnonzero(is_used)
        if len(np.unique(codes[rows])) < 2:
            return None
        whole = path(rows, self.tol)
        shares = lambda_path(1.0, self.min_penalty, self.n_penalties)
        lams = shares * whole.lam_max
        outputs = np.full((len(lams), len(data), K), np.nan)
        scores = []
        for train, test in folds:
            train, test = train[is_used[train]], test[is_used[test]]
            if len(np.unique(codes[train])) < 2 or len(test) == 0:
                continue
            own = path(train, self.tol)
            for number, lam in enumerate(lams):
                outputs[number, test] = own.solve(lam).probabilities(X[test])
            losses = -np.log(np.maximum(outputs[:, test, codes[test]], 1e-15))
            scores.append(np.average(losses, axis=1, weights=weight[test]))
        best = choose_penalty(np.array(scores)[:, None], self.rule)[1] if scores else 0
        for lam in lams[: best + 1]:
            point = whole.solve(lam)
        return FittedView(point, float(shares[best]), outputs[best])

    def _fit_weights(
        self, left_out: np.ndarray, codes: np.ndarray, weight: np.ndarray, folds: Sequence[Any]
    ) -> bool:
        """Weights of the views, with the penalty of least log loss on left-out rows.

        Returns whether they are as exact as was asked for.
        """
        rows = np.flatnonzero(~np.isnan(left_out).all(axis=(1, 2)) & (weight > 0))
        mass = weight[:, None, None] * ~np.isnan(left_out)
        self._means = np.nansum(mass * np.nan_to_num(left_out), axis=0) / np.maximum(
            mass.sum(axis=0), np.finfo(float).tiny
        )
        Z = np.where(np.isnan(left_out), 0.0, left_out - self._means)
        in_rows = np.zeros(len(codes), dtype=bool)
        in_rows[rows] = True
        largest = largest_weight_penalty(Z[rows], codes[rows], normalised(weight[rows]))
        lams = largest * WEIGHT_PENALTIES
        scores = []
        for train, test in folds:
            train, test = train[in_rows[train]], test[in_rows[test]]
            if len(test) == 0 or len(np.unique(codes[train])) < 2:
                continue
            path = weight_path(Z[train], codes[train], weight[train], lams, self.tol)
            losses = [
                log_losses(p.intercept + np.einsum("ivk,v->ik", Z[test], p.weights), codes[test])
                for p in path
            ]
            scores.append(np.average(losses, axis=1, weights=weight[test]))
        self.final_scores_ = np.array(scores)[:, None]
        best = choose_penalty(self.final_scores_, self.rule)[1] if scores else 0
        path = weight_path(Z[rows], codes[rows], weight[rows], lams[: best + 1], self.tol)
        self.final_coef_, self.final_intercept_ = path[-1].weights, path[-1].intercept
        self.duality_gap_ = float(max(path[-1].gap, 0.0))
        return path[-1].converged

    def _warn_if_not_converged(
        self, names: Sequence[str], fitted: Sequence[FittedView | None], weights_converged: bool
    ) -> None:
        pairs = zip(names, fitted, strict=True)
        inexact = [f"view {n!r}" for n, f in pairs if f is not None and not f.point.converged]
        inexact += [] if weights_converged else ["the weights of the views"]
        if inexact:
            warn_user(
                f"{type(self).__name__} stopped before tol={self.tol:.1e} was reached for "
                f"{', '.join(inexact)}: raise tol or min_penalty, or scale the columns, e.g. by "
                "ViewTransformer(StandardScaler())",
                ConvergenceWarning,
            )

    def _set_fitted_attributes(
        self, names: Sequence[str], fitted: Sequence[FittedView | None]
    ) -> None:
        # plain arrays for model files
        self._points = [None if f is None else (f.point.coef, f.point.intercept) for f in fitted]
        one = len(self.classes_) == 2
        total = self.final_coef_.sum()
        V = len(names)
        self.view_weights_ = self.final_coef_ / total if total > 0 else np.full(V, 1 / V)
        self.coef_, self.intercept_, self.selected_, self.view_penalties_ = {}, {}, {}, {}
        for v, (name, view) in enumerate(zip(names, fitted, strict=True)):
            if view is None:
                self.selected_[name] = np.array([], dtype=np.intp)
                continue
            coef = view.point.coef
            self.coef_[name] = coef[:, 0] if one else coef.T
            self.intercept_[name] = view.point.intercept
            used = coef.any(axis=1) & (self.final_coef_[v] > 0)
            self.selected_[name] = np.flatnonzero(used)
            self.view_penalties_[name] = view.penalty

    def _scores(self, data: MultiViewData) -> np.ndarray:
        out = np.tile(self.final_intercept_, (len(data), 1))
        for v, (name, parts) in enumerate(zip(self.view_names_, self._points, strict=True)):
            if parts is None or self.final_coef_[v] == 0 or name not in data.view_names:
                continue
            rows = np.flatnonzero(data.present[:, data.view_names.index(name)])
            probabilities = LinearPoint(*parts).probabilities(data[name][rows])
            out[rows] += self.final_coef_[v] * (probabilities - self._means[v])
        return out

    def _probabilities(self, data: MultiViewData) -> np.ndarray:
        return softmax(self._scores(data), axis=1)


def normalised(weight: np.ndarray) -> np.ndarray:
    """Weights that sum to 1."""
    return weight / weight.sum()


def weight_path(
    Z: np.ndarray, codes: np.ndarray, weight: np.ndarray, lams: np.ndarray, tol: float
) -> list[ViewWeights]:
    """Weights of the views for descending λ, each solution starting the next."""
    path: list[ViewWeights] = []
    for lam in lams:
        start = path[-1] if path else None
        path.append(solve_view_weights(Z, codes, normalised(weight), float(lam), start, tol))
    return path
