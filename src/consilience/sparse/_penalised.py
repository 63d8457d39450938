"""What the penalised regressions share: their problem, predictions, panels and cross-validation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import log_softmax, softmax
from sklearn.exceptions import ConvergenceWarning

from consilience._base import MultiViewClassifier
from consilience._parameters import (
    CLASS_WEIGHT,
    POSITIVE_INTEGER,
    TOLERANCE,
    VIEWS,
    Number,
)
from consilience._solvers.penalised import (
    PathPoint,
    PathSolver,
    Penalty,
    StandardisedViews,
)
from consilience._training import check_magnitudes
from consilience._warnings import warn_of_unseen_views, warn_user
from consilience.views import MultiViewData

__all__ = ["SHARE", "Design", "PenalisedClassifier", "Setting", "log_losses", "spread_shares"]

SHARE = Number(Real, 0, 1, closed="right")
# steps of the path to a single penalty, down to a share of the largest one, and the gap of
# all but its last solution
PATH_FACTOR, PATH_MIN_SHARE = 0.7, 1e-8
PATH_TOL = 1e-4


@dataclass(frozen=True)
class Setting:
    """What is fixed along a path: share of the columns' penalty, and agreement."""

    l1_ratio: float
    rho: float = 0.0


@dataclass(frozen=True, eq=False)
class Design:
    """Standardised views whose columns are in the order of their groups.

    ``starts`` are the first columns of the groups, ``group_views`` their views and ``orders`` the
    numbers of each view's columns in the new order.
    """

    views: StandardisedViews
    starts: np.ndarray
    group_views: np.ndarray
    orders: list[np.ndarray]

    @classmethod
    def from_data(
        cls,
        data: MultiViewData,
        weight: np.ndarray,
        scale: bool,
        labels: dict[str, np.ndarray] | None = None,
    ) -> Design:
        """Views of the data; groups are the views, or columns of the same label in a view."""
        Xs, orders, sizes, group_views = [], [], [], []
        for v, name in enumerate(data.view_names):
            X = data[name]
            own = np.zeros(X.shape[1], dtype=np.intp)
            if labels is not None and name in labels:
                own = np.unique(labels[name], return_inverse=True)[1]
            order = np.argsort(own, kind="stable")
            counts = np.bincount(own)
            Xs.append(X if len(counts) == 1 else X[:, order])
            orders.append(order)
            sizes += counts.tolist()
            group_views += [v] * len(counts)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        views = StandardisedViews(Xs, data.present, weight, scale=scale)
        return cls(views, starts, np.array(group_views), orders)

    def coefficients(self, point: PathPoint) -> tuple[list[np.ndarray], np.ndarray]:
        """Coefficients (d_v x outputs) for the columns as given; what each view adds at 0."""
        coefs, offsets = self.views.raw_coefficients(point.coef)
        out = []
        for own, order in zip(coefs, self.orders, strict=True):
            out.append(np.empty_like(own))
            out[-1][order] = own
        return out, np.array(offsets)


def contributions(
    data: MultiViewData, names: Sequence[str], coefs: Sequence[np.ndarray], offsets: np.ndarray
) -> np.ndarray:
    """What each view adds to the scores (n x V x outputs); 0 where it is missing."""
    out = np.zeros((len(data), len(names), coefs[0].shape[1]))
    for v, name in enumerate(names):
        if name not in data.view_names:
            continue
        rows = data.present[:, data.view_names.index(name)]
        if coefs[v].any():
            out[rows, v] = np.asarray(data[name][rows] @ coefs[v]) + offsets[v]
    return out


def two_scores(scores: np.ndarray) -> np.ndarray:
    """Scores n x K; a single output is the log-odds of the second of two classes."""
    if scores.shape[1] > 1:
        return scores
    return np.hstack([-0.5 * scores, 0.5 * scores])


def log_losses(scores: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Log loss of every row from its scores (n x K)."""
    return -log_softmax(scores, axis=1)[np.arange(len(codes)), codes]


def spread_shares(parts: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Share of each view in the standard deviations of what the views add; equal if all are 0."""
    mean = np.average(parts, axis=0, weights=weight)
    variances = np.average((parts - mean) ** 2, axis=0, weights=weight).sum(axis=1)
    total = np.sqrt(variances).sum()
    return np.sqrt(variances) / total if total > 0 else np.full(len(variances), 1 / len(variances))


class PenalisedClassifier(MultiViewClassifier):
    """Base of the methods that ``_solvers.penalised`` solves."""

    _parameter_constraints: dict[str, list[Any]] = {
        "standardize": ["boolean"],
        "tol": [TOLERANCE],
        "max_iter": [POSITIVE_INTEGER],
        "views": VIEWS,
        "class_weight": CLASS_WEIGHT,
    }

    if TYPE_CHECKING:  # of each method
        penalty: float
        standardize: bool
        tol: float
        max_iter: int

        def _make_penalty(
            self,
            design: Design,
            names: Sequence[str],
            setting: Setting,
            codes: np.ndarray,
        ) -> Penalty: ...
        def _setting(self) -> Setting: ...

    def _check_views(self, data: MultiViewData) -> None:
        """Check the parameters that refer to views."""

    def _labels(self, data: MultiViewData) -> dict[str, np.ndarray] | None:
        """Labels of the columns' groups; None if views are the groups."""
        return None

    def _fit(self, data: MultiViewData, codes: np.ndarray, weight: np.ndarray) -> None:
        self._check_views(data)
        design, solver = self._solver(data, codes, weight, self._setting())
        self._fit_point(data, weight, design, solver, self.penalty * solver.lam_max)

    def _solver(
        self, data: MultiViewData, codes: np.ndarray, weight: np.ndarray, setting: Setting
    ) -> tuple[Design, PathSolver]:
        check_magnitudes(data)
        design = Design.from_data(data, weight, self.standardize, self._labels(data))
        penalty = self._make_penalty(design, data.view_names, setting, codes)
        limits: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter}
        K = len(self.classes_)
        return design, PathSolver(design.views, codes, K, penalty, rho=setting.rho, **limits)

    def _fit_point(
        self,
        data: MultiViewData,
        weight: np.ndarray,
        design: Design,
        solver: PathSolver,
        lam: float,
    ) -> None:
        """Solve for one λ, and set the fitted attributes."""
        point = solve_from_above(solver, lam)
        if not point.converged:
            warn_user(
                f"{type(self).__name__} stopped at a duality gap of "
                f"{point.gap / solver.null_loss:.1e}, tol is {self.tol:.1e}: raise max_iter (now "
                f"{self.max_iter}) or tol, or penalise more",
                ConvergenceWarning,
            )
        seen = [name for v, name in enumerate(data.view_names) if data.present[:, v].any()]
        warn_of_unseen_views(data.view_names, seen)
        coefs, self._offsets = design.coefficients(point)
        self._coefs = coefs
        self.intercept_ = point.intercept
        one = len(self.classes_) == 2
        names = data.view_names
        self.coef_ = {n: c[:, 0] if one else c.T for n, c in zip(names, coefs, strict=True)}
        self.selected_ = {
            n: np.flatnonzero(c.any(axis=1)) for n, c in zip(names, coefs, strict=True)
        }
        parts = contributions(data, names, coefs, self._offsets)
        self.view_weights_ = spread_shares(parts, weight)
        self.lambda_, self.n_iter_ = float(point.lam), int(point.n_iter)
        self.duality_gap_ = float(max(point.gap, 0.0) / solver.null_loss)

    def _scores(self, data: MultiViewData) -> np.ndarray:
        parts = contributions(data, self.view_names_, self._coefs, self._offsets)
        return two_scores(parts.sum(axis=1) + self.intercept_)

    def _probabilities(self, data: MultiViewData) -> np.ndarray:
        return softmax(self._scores(data), axis=1)

    def view_decision_function(self, X: Any) -> np.ndarray:
        """What every view adds to the scores; NaN where a view is missing.

        Parameters
        ----------
        X : MultiViewData, matrix, or any input that ``as_multiview`` reads
            Samples with the views seen in fit; a container may lack some of them.

        Returns
        -------
        ndarray of shape (n_samples, n_views) or (n_samples, n_views, n_classes)
        """
        data, _ = self._validate_for_predict(X)
        parts = contributions(data, self.view_names_, self._coefs, self._offsets)
        for v, name in enumerate(self.view_names_):
            is_there = name in data.view_names
            parts[~data.present[:, data.view_names.index(name)] if is_there else slice(None), v] = (
                np.nan
            )
        return parts[:, :, 0] if parts.shape[2] == 1 else parts


def solve_from_above(solver: PathSolver, lam: float) -> PathPoint:
    """Solution at λ, by way of some larger ones."""
    n_steps = 0
    if 0 < lam < solver.lam_max:
        # nothing is gained by steps between values that are almost 0
        share = max(lam / solver.lam_max, PATH_MIN_SHARE)
        n_steps = int(np.log(share) / np.log(PATH_FACTOR))
    tol, n_iter = solver.tol, 0
    solver.tol = max(tol, PATH_TOL * solver.null_loss)
    for step in range(1, n_steps + 1):
        n_iter += solver.solve(solver.lam_max * PATH_FACTOR**step).n_iter
    solver.tol = tol
    point = solver.solve(lam)
    return replace(point, n_iter=n_iter + point.n_iter)


def path_losses(
    design: Design,
    solver: PathSolver,
    lams: np.ndarray,
    held_out: MultiViewData,
    codes: np.ndarray,
) -> Iterator[np.ndarray]:
    """Log losses of the left-out rows for every λ."""
    names = held_out.view_names
    for lam in lams:
        point = solver.solve(lam)
        coefs, offsets = design.coefficients(point)
        parts = contributions(held_out, names, coefs, offsets)
        yield log_losses(two_scores(parts.sum(axis=1) + point.intercept), codes)
