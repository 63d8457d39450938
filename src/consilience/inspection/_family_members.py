"""Contributions of columns in the methods of the package other than the default.

Each function returns an object with ``agreement(data, targets)``, or None if a fitted model has
parts (classifiers of the user, kernels that are not radial) whose contributions are not known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.svm import SVC, NuSVC

from consilience._core.binned import Tree
from consilience._kernel_views import FeatureKernel
from consilience.inspection._default_members import Evidence
from consilience.inspection._line_integrals import (
    RadialView,
    linear_agreement,
    radial_agreement,
    softmax_targets,
    to_dense,
)
from consilience.inspection._tree_paths import TreeTable, path_agreement
from consilience.inspection._tree_tables import join_tables, vote_table
from consilience.margin._machine import LinearExpansion
from consilience.views import MultiViewData
from consilience.vote._voters import CutVoters, TreeVoters

__all__ = [
    "ViewPart",
    "ViewParts",
    "boosting_parts",
    "early_fusion_parts",
    "landmark_parts",
    "late_fusion_parts",
    "linear_part",
    "logistic_part",
    "margin_parts",
    "present_shares",
    "vote_parts",
]

# agreement (n x d) of the columns of a view from its rows and targets
ViewPart = Callable[[Any, np.ndarray], np.ndarray]


@dataclass(eq=False)
class ViewParts:
    """Scores that are a sum over the views, weighted by ``shares`` among those a row has."""

    parts: dict[str, ViewPart]
    shares: Callable[[MultiViewData], np.ndarray]

    def agreement(self, data: MultiViewData, targets: np.ndarray) -> Evidence:
        """Σ_k T_ik c_ijk for the columns j of all views and the score of class k."""
        shares = self.shares(data)
        out = {}
        for v, name in enumerate(data.view_names):
            if name not in self.parts:
                continue
            E = np.zeros((len(data), data.widths[name]))
            rows = np.flatnonzero(data.present[:, v] & (shares[:, v] != 0))
            if len(rows):
                X = data[name][rows]
                E[rows] = self.parts[name](X, shares[rows, v, None] * targets[rows])
            out[name] = E
        return out


def problem_targets(targets: np.ndarray, n_problems: int) -> np.ndarray:
    """Targets of the binary problems whose decisions are turned into scores of the classes."""
    return (targets[:, 1:] - targets[:, :1]) / 2 if n_problems == 1 else targets


def present_shares(weights: np.ndarray) -> Callable[[MultiViewData], np.ndarray]:
    """Weights of the views, divided by their sum over those that a row has."""

    def shares(data: MultiViewData) -> np.ndarray:
        own = weights * data.present
        total = own.sum(axis=1, keepdims=True)
        return np.divide(own, total, out=np.zeros(own.shape), where=total > 0)

    return shares


# -- linear and radial machines ------------------------------------------------------------------


def linear_part(coef: np.ndarray, mean: np.ndarray) -> ViewPart:
    """Columns with coefficients (d x P) of binary problems."""
    return lambda X, T: linear_agreement(X, coef, mean, problem_targets(T, coef.shape[1]))


def radial_part(kernel: FeatureKernel, coef: np.ndarray) -> ViewPart:
    """Columns compared with reference rows, which have coefficients (m x P)."""
    against = kernel.against

    def agreement(X: Any, T: np.ndarray) -> np.ndarray:
        # the rows are shifted and scaled so that the kernel is exp(−|x − z|²)
        view = RadialView(against._prepare(X), against.Z, 1.0)
        return radial_agreement([view], 1.0, coef, problem_targets(T, coef.shape[1]), False)[0]

    return agreement


def is_radial(kernel: Any) -> bool:
    """Whether a view's kernel is exp(−γ|x − z|²) of its columns."""
    return isinstance(kernel, FeatureKernel) and kernel.against.kernel == "rbf"


def margin_parts(model: Any, means: dict[str, np.ndarray]) -> ViewParts | None:
    """Margin methods: coefficients of columns, or of support vectors of radial kernels."""
    parts: dict[str, ViewPart] = {}
    for name, expansion in zip(model.view_names_, model._machine.expansions, strict=True):
        if isinstance(expansion, LinearExpansion):
            parts[name] = linear_part(expansion.coef, means[name])
        elif is_radial(expansion.kernel):
            parts[name] = radial_part(expansion.kernel, expansion.coefs)
        else:
            return None
    weights = model._shares(len(model.view_names_)) * model._learned
    shares = present_shares(weights)
    if model.best_view_ is None:
        return ViewParts(parts, shares)
    chosen = model.view_names_.index(model.best_view_)

    def of_chosen(data: MultiViewData) -> np.ndarray:
        alone = np.arange(data.n_views) == chosen
        return np.where(data.present[:, [chosen]], alone, shares(data))

    return ViewParts(parts, of_chosen)


def landmark_parts(model: Any, means: dict[str, np.ndarray]) -> ViewParts | None:
    """Landmark machines with radial kernels; blocks of views that a row lacks count for nothing."""
    parts: dict[str, ViewPart] = {}
    for name, kernel in zip(model._projection.names, model._projection.kernels, strict=True):
        if kernel is None:
            continue
        if not is_radial(kernel):
            return None
        parts[name] = radial_part(kernel, model.coef_[:, model.block_slices_[name]].T)
    return ViewParts(parts, lambda data: data.present.astype(np.float64))


# -- votes of trees ------------------------------------------------------------------------------


def tree_part(table: TreeTable) -> ViewPart:
    """Columns on the paths of trees."""
    return lambda X, T: path_agreement(table, to_dense(X), T)


def boosting_parts(model: Any, means: dict[str, np.ndarray]) -> ViewParts | None:
    """Boosted trees; in a round of several members each has its share of the vote."""
    tables: dict[str, list[TreeTable]] = {}
    votes = np.eye(len(model.classes_))
    for round_ in model._rounds:
        total = sum(member.weight for member in round_.members)
        for member in round_.members:
            if not isinstance(member.hypothesis, Tree):
                return None
            share = round_.weight * member.weight / total if total else 0.0
            own = tables.setdefault(model.view_names_[member.view], [])
            own.append(vote_table(member.hypothesis, share * votes))
    parts = {name: tree_part(join_tables(own)) for name, own in tables.items()}
    return ViewParts(parts, lambda data: data.present.astype(np.float64))


def vote_parts(model: Any, means: dict[str, np.ndarray]) -> ViewParts | None:
    """Weighted votes of trees, for each of the binary problems."""
    n_problems, n_classes = len(model._weights), len(model.classes_)
    parts: dict[str, ViewPart] = {}
    for v, name in enumerate(model._voting):
        voters, tables = model.voters_[name], []
        if not isinstance(voters, (TreeVoters, CutVoters)):
            return None
        for s in range(voters.n_voters):
            votes = np.empty((n_classes, n_classes))
            for k in range(n_classes):
                weights = model._weights[k if n_problems > 1 else 0]
                # a vote for class l is +1 in its own problem and −1 in the others
                signs = np.where(np.arange(n_classes) == k, 1.0, -1.0)
                size = 1.0 if n_problems > 1 else 0.5
                votes[:, k] = size * weights.rho[v] * weights.pi[v][s] * signs
            tree, depth = _voter(voters, s)
            tables.append(vote_table(tree, votes, depth))
        parts[name] = tree_part(join_tables(tables))
    return ViewParts(parts, lambda data: data.present.astype(np.float64))


def _voter(voters: Any, s: int) -> tuple[Tree, int | None]:
    """Tree of a voter, and the depth it is pruned to."""
    return (voters.tree, s + 1) if isinstance(voters, CutVoters) else (voters.trees[s], None)


# -- fusion of linear classifiers ----------------------------------------------------------------


def linear_form(estimator: Any, n_classes: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Coefficients (d x K) and intercepts of a linear classifier on scaled columns, else None."""
    *steps, last = estimator.steps if isinstance(estimator, Pipeline) else [("", estimator)]
    coef = getattr(last[1], "coef_", None)
    if coef is None or not hasattr(last[1], "predict_proba"):
        return None
    if isinstance(last[1], (SVC, NuSVC)) and n_classes > 2:
        return None  # their coefficients are those of pairs of classes
    coef, intercept = np.atleast_2d(to_dense(coef)), np.atleast_1d(last[1].intercept_)
    if len(coef) == 1:
        coef = np.vstack([-coef, coef]) / 2
        intercept = np.concatenate([-intercept, intercept]) / 2
    if len(coef) != n_classes:
        return None
    coef = coef.T
    for _, step in reversed(steps):
        affine = _affine(step, len(coef))
        if affine is None:
            return None
        scale, shift = affine
        intercept, coef = intercept + shift @ coef, coef * scale[:, None]
    return coef, intercept


def _affine(step: Any, width: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Factors and shifts of the columns, x ↦ scale · x + shift, of a scaler."""
    if step in (None, "passthrough"):
        return np.ones(width), np.zeros(width)
    if isinstance(step, StandardScaler):
        scale = np.ones(width) if step.scale_ is None else 1 / step.scale_
        centre = step.mean_ if step.with_mean else np.zeros(width)
    elif isinstance(step, RobustScaler):
        scale = np.ones(width) if step.scale_ is None else 1 / step.scale_
        centre = np.zeros(width) if step.center_ is None else step.center_
    elif isinstance(step, MaxAbsScaler):
        scale, centre = 1 / step.scale_, np.zeros(width)
    elif isinstance(step, MinMaxScaler) and not step.clip:
        scale, centre = step.scale_, -step.min_ / step.scale_
    else:
        return None
    return scale, -centre * scale


def logistic_part(coef: np.ndarray, intercept: np.ndarray, mean: np.ndarray) -> ViewPart:
    """Columns of a logistic regression, whose probabilities are the scores."""

    def agreement(X: Any, T: np.ndarray) -> np.ndarray:
        start, end = mean @ coef + intercept, np.asarray(X @ coef) + intercept
        return linear_agreement(X, coef, mean, softmax_targets(start, end, T))

    return agreement


def late_fusion_parts(model: Any, means: dict[str, np.ndarray]) -> ViewParts | None:
    """A soft vote of logistic regressions, one for each view."""
    if model.voting != "soft":
        return None
    parts: dict[str, ViewPart] = {}
    for name, estimator in model.estimators_.items():
        form = linear_form(estimator, len(model.classes_))
        if form is None or name not in means:
            return None
        parts[name] = logistic_part(*form, means[name])
    return ViewParts(parts, present_shares(model.view_weights_))


def early_fusion_parts(model: Any, means: dict[str, np.ndarray]) -> ViewParts | None:
    """One linear classifier on all columns; its logits are the scores."""
    form = linear_form(model.estimator_, len(model.classes_))
    widths = [len(means[name]) for name in model.view_names_ if name in means]
    if form is None or len(form[0]) != sum(widths) or len(widths) < len(model.view_names_):
        return None
    coefs = np.split(form[0], np.cumsum(widths)[:-1])
    parts = {
        name: _logit_part(coef, means[name])
        for name, coef in zip(model.view_names_, coefs, strict=True)
    }
    return ViewParts(parts, lambda data: data.present.astype(np.float64))


def _logit_part(coef: np.ndarray, mean: np.ndarray) -> ViewPart:
    return lambda X, T: linear_agreement(X, coef, mean, T)
