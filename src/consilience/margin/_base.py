"""What the margin methods share: binary problems, combination of views, fitted attributes.

A method provides ``_check_parameters(names)``, ``_solve(design, y, weight)`` -> ``Solved`` for one
binary problem and, where views do not count alike, ``_shares(n_views)``.
"""

from __future__ import annotations

import numbers
import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold

from consilience._base import MultiViewClassifier
from consilience._compat import Progress
from consilience._targets import one_vs_rest_scores, one_vs_rest_signs
from consilience.margin._design import Design

__all__ = [
    "MarginClassifier",
    "Solved",
    "accuracy",
    "check_number",
    "combine_views",
    "view_decisions",
]

FOLDS = 5


@dataclass
class Solved:
    """One binary problem: coefficients by view, intercepts, steps, residual, convergence."""

    coefs: list
    intercepts: np.ndarray
    n_iter: int
    residual: float
    converged: bool

    @classmethod
    def of(cls, design, solution):
        """From a solver's θ to coefficients of the raw columns."""
        coefs, intercepts = design.parameters(solution.theta)
        return cls(coefs, intercepts, solution.n_iter, solution.residual, solution.converged)


def view_decisions(data, names, solved):
    """f_v(x) for all rows, views and problems, n x V x P; NaN where a view is missing."""
    out = np.full((len(data), len(names), len(solved)), np.nan)
    for v, name in enumerate(names):
        rows = np.flatnonzero(data.present[:, data.view_names.index(name)])
        if len(rows) == 0:
            continue
        X = data[name] if len(rows) == len(data) else data[name][rows]
        coef = np.stack([s.coefs[v] for s in solved], axis=1)
        out[rows, v] = X @ coef + [s.intercepts[v] for s in solved]
    return out


def combine_views(decisions, shares, chosen=None):
    """Decisions n x P: of the chosen view where it is there, else the mean of those that are.

    Views of share 0 are left out, rows that have no other get 0.
    """
    there = ~np.isnan(decisions[:, :, 0]) & (shares > 0)
    shares = shares * there
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)
    out = np.einsum("iv,ivp->ip", shares, np.where(there[:, :, None], decisions, 0.0))
    if chosen is not None:
        rows = there[:, chosen]
        out[rows] = decisions[rows, chosen]
    return out


def accuracy(decisions, codes, weight):
    """Weighted share of the rows whose class has the largest score."""
    return np.average(one_vs_rest_scores(decisions).argmax(axis=1) == codes, weights=weight)


def margin_shares(decisions, signs, weight):
    """Each view's share of what the views add to the margins over a constant answer."""
    there = ~np.isnan(decisions)
    f = np.where(there, decisions, 0.0)
    mass = np.maximum((weight[:, None, None] * there).sum(axis=0), 1e-300)
    mean = np.einsum("i,ivp->vp", weight, f) / mass
    gains = np.einsum("i,ivp,pi->v", weight, np.where(there, f - mean, 0.0), signs)
    gains = np.maximum(gains, 0.0)
    total = gains.sum()
    return gains / total if total > 0 else np.full(len(gains), 1 / len(gains))


def check_number(name, value, low, high=np.inf, *, closed=False):
    """A number in (low, high), or [low, high) if closed; an error that says so otherwise."""
    fine = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not fine or not (low <= value if closed else low < value) or not value < high:
        bounds = f"{'>=' if closed else '>'} {low}" + (f" and < {high}" if high < np.inf else "")
        raise ValueError(f"{name} must be a number {bounds}, got {value!r}")


class MarginClassifier(MultiViewClassifier):
    """Base of the margin methods: several classes are one-vs-rest."""

    def _fit(self, data, codes, weight):
        names = data.view_names
        self._check_common(names)
        self._check_parameters(names)
        signs = one_vs_rest_signs(codes, len(self.classes_))
        folds = self._folds(codes) if self.combine == "best" and len(names) > 1 else []
        with Progress(self, n_tasks=len(signs) * (1 + len(folds))) as progress:
            solved = self._solve_all(progress, data, signs, weight)
            self._learned = data.present.any(axis=0)
            self._warn_of(solved, names)
            decisions = view_decisions(data, names, solved)
            if folds:
                decisions = self._out_of_fold(progress, data, signs, weight, folds)
        self._publish(names, solved)
        self._choose(names, decisions, codes, signs, weight)

    def _solve_all(self, progress, data, signs, weight):
        design = Design([data[name] for name in data.view_names], data.present, weight)
        return progress.map(lambda y: self._solve(design, y, weight), signs, "solve")

    def _out_of_fold(self, progress, data, signs, weight, folds):
        out = np.full((len(data), data.n_views, len(signs)), np.nan)
        for train, test in folds:
            solved = self._solve_all(progress, data[train], signs[:, train], weight[train])
            out[test] = view_decisions(data[test], data.view_names, solved)
        return out

    def _folds(self, codes):
        n_folds = min(FOLDS, np.bincount(codes).min())
        if n_folds < 2:
            return []
        return list(StratifiedKFold(n_folds).split(np.zeros(len(codes)), codes))

    def _publish(self, names, solved):
        one = len(solved) == 1
        self.coef_ = {
            name: solved[0].coefs[v] if one else np.stack([s.coefs[v] for s in solved])
            for v, name in enumerate(names)
        }
        self.intercept_ = solved[0].intercepts if one else np.stack([s.intercepts for s in solved])
        self.n_iter_ = max(s.n_iter for s in solved)
        self.kkt_residual_ = max(s.residual for s in solved)
        self._solved = solved

    def _choose(self, names, decisions, codes, signs, weight):
        """Shares of the views in the decision, and the one that decides if there is one."""
        self.best_view_ = None
        if self.combine == "best":
            self.view_scores_ = self._accuracies(decisions, codes, weight)
            self.best_view_ = names[int(self.view_scores_.argmax())]
        elif self.combine != "mean":
            self.best_view_ = self.combine
        if self.best_view_ is None:
            shares = self._shares(len(names))
            self.view_weights_ = margin_shares(shares[:, None] * decisions, signs, weight)
        else:
            self.view_weights_ = np.array([float(name == self.best_view_) for name in names])

    def _accuracies(self, decisions, codes, weight):
        out = np.zeros(decisions.shape[1])
        for v in range(len(out)):
            rows = ~np.isnan(decisions[:, v, 0])
            if rows.any():
                out[v] = accuracy(decisions[rows, v], codes[rows], weight[rows])
        return out

    def _shares(self, n_views):
        return np.ones(n_views)

    def _scores(self, data):
        decisions = view_decisions(data, self.view_names_, self._solved)
        shares = self._shares(len(self.view_names_)) * self._learned
        chosen = None if self.best_view_ is None else self.view_names_.index(self.best_view_)
        return one_vs_rest_scores(combine_views(decisions, shares, chosen))

    def view_decision_function(self, X):
        """Decision of every view by itself; NaN where a view is missing.

        Parameters
        ----------
        X : MultiViewData, matrix, or any input that ``as_multiview`` reads
            Samples with the views seen in fit; a container may lack some of them.

        Returns
        -------
        ndarray of shape (n_samples, n_views) or (n_samples, n_views, n_classes)
        """
        data, _ = self._read(X)
        decisions = view_decisions(data, self.view_names_, self._solved)
        return decisions[:, :, 0] if decisions.shape[2] == 1 else decisions

    def _check_common(self, names):
        if self.combine not in ("mean", "best", *names):
            raise ValueError(
                f"combine must be 'mean', 'best' or one of the views "
                f"{', '.join(map(repr, names))}; got {self.combine!r}"
            )
        check_number("tol", self.tol, 0.0)
        if not isinstance(self.max_iter, numbers.Integral) or self.max_iter < 1:
            raise ValueError(f"max_iter must be a whole number >= 1, got {self.max_iter!r}")

    def _warn_of(self, solved, names):
        worst = max(s.residual for s in solved)
        if not all(s.converged for s in solved):
            warnings.warn(
                f"{type(self).__name__} stopped with a residual of {worst:.1e}, tol is "
                f"{self.tol:.1e}: raise max_iter (now {self.max_iter}) or tol, lower c, or scale "
                "the columns, e.g. by ViewTransformer(StandardScaler())",
                ConvergenceWarning,
                stacklevel=4,
            )
        silent = [name for name, there in zip(names, self._learned, strict=True) if not there]
        if silent:
            warnings.warn(
                f"views {', '.join(map(repr, silent))} are present in no training row and take no "
                "part in the decision",
                UserWarning,
                stacklevel=4,
            )
