"""What the margin methods share: binary problems, combination of views, fitted attributes.

For one binary problem a method provides ``_solve_columns(design, y, weight, tol, max_iter)`` and
``_solve_kernels(design, y, weight, tol, max_iter)`` -> ``BinarySolution``; if views are weighted
unequally, also ``_shares(n_views)``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from consilience._base import MultiViewClassifier
from consilience._compat import Progress
from consilience._folds import split_rows
from consilience._kernel_views import KERNEL_PARAMETERS
from consilience._model_types import model_type
from consilience._parameters import (
    CLASS_WEIGHT,
    MEGABYTES,
    N_JOBS,
    POSITIVE_INTEGER,
    TOLERANCE,
    VIEWS,
    PerView,
    StrOptions,
)
from consilience._solvers.kernels import KERNELS
from consilience._solvers.smo import MAX_ITER
from consilience._solvers.solution import DualSolution, Solution
from consilience._targets import one_vs_rest_scores, one_vs_rest_signs
from consilience._training import check_magnitudes
from consilience._warnings import warn_of_unseen_views, warn_user
from consilience.margin._combine import accuracy, combine_views, view_contributions
from consilience.margin._design import Design
from consilience.margin._kernel_design import KernelDesign
from consilience.margin._machine import KernelSpec, LinearExpansion
from consilience.views import MultiViewData
from consilience.views._params import per_view

__all__ = ["BinarySolution", "MarginClassifier", "run_tasks"]

N_FOLDS = 5


@model_type("margin.BinarySolution")
@dataclass
class BinarySolution:
    """Solution of one binary problem in terms of the original data.

    A solver's θ refers to centred and possibly reduced columns; these are the coefficients
    of the raw columns by view, or for kernels those of the training samples, with the decisions at
    the training samples (V x n).
    """

    coefs: list[np.ndarray]
    intercepts: np.ndarray
    n_iter: int
    residual: float
    converged: bool
    decisions: np.ndarray | None = None

    @classmethod
    def from_theta(cls, design: Any, solution: Solution) -> BinarySolution:
        """From a solver's θ to coefficients of the raw columns."""
        coefs, intercepts = design.parameters(solution.theta)
        return cls(coefs, intercepts, solution.n_iter, solution.residual, solution.converged)

    @classmethod
    def from_dual(cls, g: np.ndarray, solution: DualSolution) -> BinarySolution:
        """From signed multipliers g (V x n)."""
        return cls(
            list(g),
            solution.bias,
            solution.n_iter,
            solution.residual,
            solution.converged,
            solution.decisions,
        )


def run_tasks(
    progress: Progress,
    function: Callable[[Any], Any],
    items: Iterable[Any],
    name: str,
    sequential: bool,
) -> list[Any]:
    """Results of ``function`` for every item, on threads unless it has to be ``sequential``."""
    if not sequential:
        return progress.map(function, items, name)
    results = []
    for item in items:
        results.append(function(item))
        progress.tick(name)
    return results


class MarginClassifier(MultiViewClassifier):
    """Base of the margin methods; multiclass problems are solved one-vs-rest."""

    _kinds: tuple[str, ...] = ("features", "kernel", "distance")
    # defaults of tol and max_iter, for columns and for SMO
    _column_limits: dict[str, Any] = {"tol": 1e-9, "max_iter": 100}
    _kernel_limits: dict[str, Any] = {"tol": 1e-3, "max_iter": MAX_ITER}
    _parameter_constraints: dict[str, list[Any]] = {
        **KERNEL_PARAMETERS,
        "kernel": [PerView(StrOptions({*KERNELS, "precomputed"}), callable)],
        "cache_size": [MEGABYTES],
        "solver": [StrOptions({"auto", "primal", "smo"})],
        "combine": [str],
        "tol": [None, TOLERANCE],
        "max_iter": [None, POSITIVE_INTEGER],
        "views": VIEWS,
        "class_weight": CLASS_WEIGHT,
        "n_jobs": N_JOBS,
    }
    # what can be changed after a fit, and the values for which it cannot
    _predict_parameters = {"combine": ("best",)}

    def _fit(self, data: MultiViewData, codes: np.ndarray, weight: np.ndarray) -> None:
        names = data.view_names
        self._check_views(data)
        signs = one_vs_rest_signs(codes, len(self.classes_))
        folds = self._folds(codes, data) if self.combine == "best" else []
        with Progress(self, n_tasks=len(signs) * (1 + len(folds))) as progress:
            design = self._design(data, weight, len(signs))
            solved = self._solve_all(progress, design, signs, weight)
            self._warn_after_fit(solved, names, data)
            self._set_fitted_attributes(data, design, solved)
            if folds:
                decisions = self._out_of_fold(progress, data, signs, weight, folds)
            elif isinstance(design, KernelDesign):
                at_samples: list[Any] = [s.decisions for s in solved]
                decisions = np.stack([f.T for f in at_samples], axis=2)
                decisions[~data.present] = np.nan
            else:
                decisions = self._machine.decisions(data, names)
        self._learned = data.present.any(axis=0)
        self._set_view_attributes(names, decisions, codes, signs, weight, bool(folds))

    if TYPE_CHECKING:  # of each method

        def _solve_columns(
            self, design: Design, y: np.ndarray, weight: np.ndarray, tol: float, max_iter: int
        ) -> BinarySolution: ...
        def _solve_kernels(
            self, design: KernelDesign, y: np.ndarray, weight: np.ndarray, tol: float, max_iter: int
        ) -> BinarySolution: ...

    def _design(self, data: MultiViewData, weight: np.ndarray, n_problems: int) -> Any:
        """Columns of the views, or their kernels if one is not linear or the solver needs them."""
        if not self._on_kernels(data):
            check_magnitudes(data)
            return Design([data[name] for name in data.view_names], data.present, weight)
        return KernelDesign(
            data,
            self._specs(data),
            weight,
            cache_size=self.cache_size,
            tol=self._limits(True)["tol"],
            n_problems=n_problems,
            **self._kernel_factors(data.n_views),
        )

    def _kernel_factors(self, n_views: int) -> dict[str, np.ndarray]:
        return {}

    def _on_kernels(self, data: MultiViewData) -> bool:
        return self.solver == "smo" or bool(self._nonlinear_views(data))

    def _nonlinear_views(self, data: MultiViewData) -> list[str]:
        """Views that need a kernel."""
        return [
            name
            for name, spec in zip(data.view_names, self._specs(data), strict=True)
            if spec.kernel != "linear" or data.kinds[name] != "features"
        ]

    def _specs(self, data: MultiViewData) -> list[KernelSpec]:
        kernels = per_view(self.kernel, data.view_names, "kernel")
        gammas = per_view(self.gamma, data.view_names, "gamma")
        return [
            KernelSpec(kernels[name], gammas[name], self.degree, self.coef0)
            for name in data.view_names
        ]

    def _limits(self, on_kernels: bool) -> dict[str, Any]:
        """Tolerance and maximum number of iterations of the solver."""
        default = self._kernel_limits if on_kernels else self._column_limits
        return {
            name: value if getattr(self, name) is None else getattr(self, name)
            for name, value in default.items()
        }

    def _solve(self, design: Any, y: np.ndarray, weight: np.ndarray) -> BinarySolution:
        on_kernels = isinstance(design, KernelDesign)
        solve: Callable[..., Any] = self._solve_kernels if on_kernels else self._solve_columns
        return solve(design, y, weight, **self._limits(on_kernels))

    def _solve_all(
        self, progress: Progress, design: Any, signs: np.ndarray, weight: np.ndarray
    ) -> list[BinarySolution]:
        return run_tasks(
            progress, lambda y: self._solve(design, y, weight), signs, "solve", design.sequential
        )

    def _out_of_fold(
        self,
        progress: Progress,
        data: MultiViewData,
        signs: np.ndarray,
        weight: np.ndarray,
        folds: list[tuple[np.ndarray, np.ndarray]],
    ) -> np.ndarray:
        """Decisions (n x V x P) for each fold, from machines fitted on the other folds."""
        out = np.full((len(data), data.n_views, len(signs)), np.nan)
        for train, test in folds:
            design = self._design(data[train], weight[train], len(signs))
            solved = self._solve_all(progress, design, signs[:, train], weight[train])
            machine, _, _ = design.machine(solved)
            decisions = machine.decisions(data[test], data.view_names)
            decisions[:, ~data.present[train].any(axis=0)] = np.nan  # nothing was learned of them
            out[test] = decisions
        return out

    def _folds(self, codes: np.ndarray, data: MultiViewData) -> list[tuple[np.ndarray, np.ndarray]]:
        n_folds = N_FOLDS
        if data.groups is None:
            counts = np.sort(np.bincount(codes))
            if counts[-2] == 1 and data.n_views == 1:
                return []
            if counts[-2] == 1:
                raise ValueError(
                    "combine='best' compares the views on rows left out, for which two classes "
                    "need two rows or more; use combine='mean'"
                )
            n_folds = min(N_FOLDS, max(2, int(counts[0])))
        with warnings.catch_warnings():  # a class of one row is in one fold only
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            return split_rows(n_folds, codes, data, self.classes_)

    def _set_fitted_attributes(
        self, data: MultiViewData, design: Any, solved: list[BinarySolution]
    ) -> None:
        self._machine, supports, duals = design.machine(solved)
        names, one = data.view_names, len(solved) == 1
        for attribute in ("coef_", "dual_coef_", "support_", "view_scores_"):
            self.__dict__.pop(attribute, None)  # of an earlier fit
        linear = {
            name: expansion.coef[:, 0] if one else expansion.coef.T
            for name, expansion in zip(names, self._machine.expansions, strict=True)
            if isinstance(expansion, LinearExpansion)
        }
        if linear:
            self.coef_ = linear
        if supports is not None:
            self.dual_coef_ = {
                name: dual[:, 0] if one else dual.T for name, dual in zip(names, duals, strict=True)
            }
            ids = data.sample_ids
            self.support_ = {name: ids[s] for name, s in zip(names, supports, strict=True)}
        intercepts = self._machine.intercepts
        self.intercept_ = intercepts[:, 0] if one else intercepts.T
        self.n_iter_ = max(s.n_iter for s in solved)
        self.kkt_residual_ = max(s.residual for s in solved)

    def _set_view_attributes(
        self,
        names: Sequence[str],
        decisions: np.ndarray,
        codes: np.ndarray,
        signs: np.ndarray,
        weight: np.ndarray,
        has_folds: bool,
    ) -> None:
        """Set the view that decides, if there is one, and the weights of the views."""
        self.best_view_: str | None = None
        if self.combine == "best":
            self.view_scores_ = self._accuracies(decisions, codes, weight)
            if not has_folds:  # of the training rows, which say nothing
                self.view_scores_[:] = np.nan
            self.best_view_ = self._choose_view(names, decisions, codes, weight)
        elif self.combine != "mean":
            self.best_view_ = self.combine
        if self.best_view_ is None:
            shares = self._shares(len(names))
            self.view_weights_ = view_contributions(shares[:, None] * decisions, signs, weight)
        else:
            self.view_weights_ = np.array([float(name == self.best_view_) for name in names])

    def _set_predict_parameters(self, *, combine: str) -> None:
        """Change how the fitted views are combined; only predictions follow, no attributes."""
        if combine not in ("mean", *self.view_names_):
            raise ValueError(
                f"combine must be 'mean' or one of the views "
                f"{', '.join(map(repr, self.view_names_))}; got {combine!r}"
            )
        self.combine, self.best_view_ = combine, None if combine == "mean" else combine

    def _choose_view(
        self, names: Sequence[str], decisions: np.ndarray, codes: np.ndarray, weight: np.ndarray
    ) -> str | None:
        """The view that decides best, or None if the mean is at least as accurate as any view."""
        shares = self._shares(len(names))
        candidates = [None, *range(len(names))]
        scores = [
            accuracy(combine_views(decisions, shares, chosen), codes, weight)
            for chosen in candidates
        ]
        best = candidates[int(np.argmax(scores))]
        return None if best is None else names[best]

    def _accuracies(
        self, decisions: np.ndarray, codes: np.ndarray, weight: np.ndarray
    ) -> np.ndarray:
        """Accuracy of every view on the rows that have it."""
        out = np.zeros(decisions.shape[1])
        for v in range(len(out)):
            rows = ~np.isnan(decisions[:, v, 0])
            if rows.any():
                out[v] = accuracy(decisions[rows, v], codes[rows], weight[rows])
        return out

    def _shares(self, n_views: int) -> np.ndarray:
        return np.ones(n_views)

    def _scores(self, data: MultiViewData) -> np.ndarray:
        decisions = self._machine.decisions(data, self.view_names_)
        decisions[:, ~self._learned] = np.nan
        shares = self._shares(len(self.view_names_))
        chosen = None if self.best_view_ is None else self.view_names_.index(self.best_view_)
        scores = one_vs_rest_scores(combine_views(decisions, shares, chosen))
        is_used = shares > 0
        if chosen is not None:
            is_used[chosen] = True
        # rows that have only views of which nothing was learned
        scores[np.isnan(decisions[:, is_used, 0]).all(axis=1)] = self.class_prior_
        return scores

    def view_decision_function(self, X: Any) -> np.ndarray:
        """Decision of every view by itself; NaN where a view is missing.

        Parameters
        ----------
        X : MultiViewData, matrix, or any input that ``as_multiview`` reads
            Samples with the views seen in fit; a container may lack some of them.

        Returns
        -------
        ndarray of shape (n_samples, n_views) or (n_samples, n_views, n_classes)
        """
        data, _ = self._validate_for_predict(X)
        decisions = self._machine.decisions(data, self.view_names_)
        return decisions[:, :, 0] if decisions.shape[2] == 1 else decisions

    def _check_views(self, data: MultiViewData) -> None:
        """Check the parameters that depend on the names and kinds of the views."""
        names = data.view_names
        if self.combine not in ("mean", "best", *names):
            raise ValueError(
                f"combine must be 'mean', 'best' or one of the views "
                f"{', '.join(map(repr, names))}; got {self.combine!r}"
            )
        for name, spec in zip(names, self._specs(data), strict=True):
            if spec.kernel == "precomputed" and data.kinds[name] == "features":
                raise ValueError(
                    f"kernel='precomputed' needs a view of kind 'kernel', but view {name!r} has "
                    "features; pass MultiViewData with kinds, or another kernel"
                )
        nonlinear = self._nonlinear_views(data)
        if nonlinear and self.solver not in ("auto", "smo"):
            raise ValueError(
                f"solver={self.solver!r} works on the columns of linear kernels, but view "
                f"{nonlinear[0]!r} has another kernel; use solver='smo' or 'auto'"
            )

    def _warn_after_fit(
        self, solved: list[BinarySolution], names: Sequence[str], data: MultiViewData
    ) -> None:
        worst = max(s.residual for s in solved)
        if not all(s.converged for s in solved):
            limits = self._limits(self._on_kernels(data))
            warn_user(
                f"{type(self).__name__} stopped with a residual of {worst:.1e}, tol is "
                f"{limits['tol']:.1e}: raise max_iter (now {limits['max_iter']}) or tol, "
                "regularise more, or scale the columns, e.g. by ViewTransformer(StandardScaler())",
                ConvergenceWarning,
            )
        seen = [name for v, name in enumerate(names) if data.present[:, v].any()]
        warn_of_unseen_views(names, seen)
