"""Sparse group lasso: few views, and few columns of each.

Reference: N. Simon, J. Friedman, T. Hastie, R. Tibshirani, "A sparse-group lasso", Journal of
Computational and Graphical Statistics 22 (2013); adaptive weights: H. Zou, "The adaptive lasso and
its oracle properties", Journal of the American Statistical Association 101 (2006).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from consilience._docstring import fill_docstring
from consilience._model_types import model_type
from consilience._parameters import NON_NEGATIVE, ListOf, Number, PerView
from consilience._solvers.penalised import Penalty
from consilience._solvers.ridge_path import ridge_coefficients
from consilience.sparse._cross_validation import CVMixin
from consilience.sparse._entries import ENTRIES
from consilience.sparse._penalised import SHARE, Design, PenalisedClassifier, Setting
from consilience.views import MultiViewData
from consilience.views._params import per_view
from consilience.views._storage import format_list

__all__ = ["SparseGroupLogisticClassifier", "SparseGroupLogisticClassifierCV"]

L1_RATIO = Number(Real, 0, 1, closed="both")
# penalty of the ridge regression whose coefficients make adaptive weights, as a share of its λ_max
RIDGE_SHARE = 1e-3
MAX_ADAPTIVE = 10.0  # larger powers leave one column


def sparse_group_penalty(
    design: Design, factors: np.ndarray, l1_ratio: float, column_factors: np.ndarray
) -> Penalty:
    """λ Σ_g f_g (l1_ratio Σ_j c_j |b_j| + (1 − l1_ratio) √d_g |B_g|)."""
    widths = np.diff(design.starts)
    group = factors[design.group_views]
    l1 = l1_ratio * np.repeat(group, widths) * column_factors
    tau = (1 - l1_ratio) * group * np.sqrt(widths)
    return Penalty(design.starts, l1, tau, np.zeros(len(widths)))


def adaptive_factors(coef: np.ndarray, gamma: float) -> np.ndarray:
    """|b_j|^−γ of first estimates, scaled to a median of 1 and bounded."""
    sizes = np.linalg.norm(coef, axis=1)
    typical = np.median(sizes[sizes > 0]) if (sizes > 0).any() else 1.0
    return np.clip(np.maximum(sizes / typical, 1e-10) ** -gamma, 1e-3, 1e3)


class SparseGroupBase(PenalisedClassifier):
    """Parameters that the classifier with and without cross-validation share."""

    _parameter_constraints: dict[str, list[Any]] = {
        **PenalisedClassifier._parameter_constraints,
        "column_groups": [None, Mapping],
        "unpenalised": [None, ListOf(str)],
        "view_penalties": [PerView(NON_NEGATIVE)],
        "adaptive": [Number(Real, 0, MAX_ADAPTIVE, closed="both")],
    }

    column_groups: Any
    unpenalised: Any
    view_penalties: Any
    adaptive: float

    def _check_views(self, data: MultiViewData) -> None:
        per_view(self.view_penalties, data.view_names, "view_penalties")
        for parameter in ("column_groups", "unpenalised"):
            given = getattr(self, parameter) or ()
            unknown = [name for name in given if name not in data.view_names]
            if unknown:
                raise ValueError(
                    f"{parameter} names unknown views: {format_list(unknown)}; the views are "
                    f"{format_list(data.view_names)}"
                )
        if len(self.unpenalised or ()) == data.n_views:
            raise ValueError("unpenalised must leave at least one view to be penalised")
        for name, labels in (self.column_groups or {}).items():
            width = data[name].shape[1]
            if np.ndim(labels) != 1 or len(labels) != width:
                raise ValueError(
                    f"column_groups[{name!r}] must have one label for each of the {width} columns "
                    f"of the view, got shape {np.shape(labels)}"
                )

    def _labels(self, data: MultiViewData) -> dict[str, np.ndarray] | None:
        if self.column_groups is None:
            return None
        return {name: np.asarray(labels) for name, labels in self.column_groups.items()}

    def _make_penalty(
        self, design: Design, names: Sequence[str], setting: Setting, codes: np.ndarray
    ) -> Penalty:
        given = per_view(self.view_penalties, tuple(names), "view_penalties")
        free = self.unpenalised or ()
        factors = np.array([0.0 if n in free else float(given[n]) for n in names])
        columns = np.ones(design.views.shape[1])
        if self.adaptive > 0:
            coef = ridge_coefficients(design.views, codes, len(self.classes_), RIDGE_SHARE)
            columns = adaptive_factors(coef, self.adaptive)
        return sparse_group_penalty(design, factors, setting.l1_ratio, columns)


SHARED = {
    **ENTRIES,
    "group_parameters": """
        column_groups : dict of view -> labels of its columns, or None, default=None
            Groups of columns within views, such as pathways; a view that is not named is one group.
        unpenalised : list of views or None, default=None
            Views whose columns are always used, such as age and sex.
        view_penalties : float or dict of view -> float, default=1.0
            Factors of the penalties of the views.
        adaptive : float, default=0.0
            Power γ of adaptive weights: the penalty of a column is divided by the size of its
            coefficient in a ridge regression to this power.
    """,
}


@model_type("sparse.SparseGroupLogisticClassifier")
@fill_docstring(**SHARED)
class SparseGroupLogisticClassifier(SparseGroupBase):
    """Logistic regression that selects views, and columns of the selected views.

    The penalty of a view (or other group) g of d columns is
    l1_ratio Σ_j |b_j| + (1 − l1_ratio) √d |B_g|, where b_j are the coefficients of a column for
    all classes: a column is selected for all classes or for none. A view that a row lacks counts
    as its mean over the training rows that have it, and so adds nothing to the score.

    Parameters
    ----------
    {penalty}
    l1_ratio : float in [0, 1], default=0.5
        Share of the columns' penalty; 1 is the lasso, 0 the group lasso.
    {group_parameters}
    {standardize}
    {tol}
    {views}
    {class_weight}

    Attributes
    ----------
    {coefficients}
    {convergence}
    {fitted_input}

    See Also
    --------
    SparseGroupLogisticClassifierCV : Chooses penalty and l1_ratio by cross-validation.
    CooperativeClassifier : Elastic net whose views agree.

    References
    ----------
    N. Simon, J. Friedman, T. Hastie, R. Tibshirani, "A sparse-group lasso", Journal of
    Computational and Graphical Statistics 22 (2013).

    Examples
    --------
    >>> from consilience.datasets import make_multiview_classification
    >>> from consilience.sparse import SparseGroupLogisticClassifier
    >>> data, y = make_multiview_classification(200, random_state=0)
    >>> model = SparseGroupLogisticClassifier(penalty=0.2).fit(data, y)
    >>> sorted(model.selected_) == sorted(data.view_names)
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {
        **SparseGroupBase._parameter_constraints,
        "penalty": [SHARE],
        "l1_ratio": [L1_RATIO],
    }

    def __init__(
        self,
        penalty: float = 0.1,
        *,
        l1_ratio: float = 0.5,
        column_groups: Any = None,
        unpenalised: Any = None,
        view_penalties: Any = 1.0,
        adaptive: float = 0.0,
        standardize: bool = True,
        tol: float = 1e-8,
        max_iter: int = 1000,
        views: Any = None,
        class_weight: Any = None,
    ) -> None:
        self.penalty = penalty
        self.l1_ratio = l1_ratio
        self.column_groups = column_groups
        self.unpenalised = unpenalised
        self.view_penalties = view_penalties
        self.adaptive = adaptive
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter
        self.views = views
        self.class_weight = class_weight

    def _setting(self) -> Setting:
        return Setting(self.l1_ratio)


@model_type("sparse.SparseGroupLogisticClassifierCV")
@fill_docstring(**SHARED)
class SparseGroupLogisticClassifierCV(CVMixin, SparseGroupBase):
    """Sparse-group logistic regression with penalty and l1_ratio chosen by cross-validation.

    Parameters
    ----------
    l1_ratios : list of floats in [0, 1], default=(0.5, 0.95)
        Values of l1_ratio to try.
    {path}
    {group_parameters}
    {standardize}
    {tol}
    {views}
    {class_weight}
    n_jobs : int or None, default=None
        Number of threads over folds and values of l1_ratio; None means 1.

    Attributes
    ----------
    l1_ratio_ : float
        The chosen share.
    {cross_validation}
    {coefficients}
    {convergence}
    {fitted_input}

    See Also
    --------
    SparseGroupLogisticClassifier : The same with given penalty.

    References
    ----------
    N. Simon, J. Friedman, T. Hastie, R. Tibshirani, "A sparse-group lasso", Journal of
    Computational and Graphical Statistics 22 (2013).

    Examples
    --------
    >>> from consilience.datasets import make_multiview_classification
    >>> from consilience.sparse import SparseGroupLogisticClassifierCV
    >>> data, y = make_multiview_classification(200, random_state=0)
    >>> SparseGroupLogisticClassifierCV([0.5], n_penalties=5).fit(data, y).scores_.shape
    (5, 1, 5)
    """

    _parameter_constraints: dict[str, list[Any]] = {
        **SparseGroupBase._parameter_constraints,
        **CVMixin._parameter_constraints,
        "l1_ratios": [ListOf(L1_RATIO)],
    }

    def __init__(
        self,
        l1_ratios: Sequence[float] = (0.5, 0.95),
        *,
        n_penalties: int = 30,
        min_penalty: float = 0.01,
        cv: Any = 5,
        rule: str = "best",
        column_groups: Any = None,
        unpenalised: Any = None,
        view_penalties: Any = 1.0,
        adaptive: float = 0.0,
        standardize: bool = True,
        tol: float = 1e-8,
        max_iter: int = 1000,
        views: Any = None,
        class_weight: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.l1_ratios = l1_ratios
        self.n_penalties = n_penalties
        self.min_penalty = min_penalty
        self.cv = cv
        self.rule = rule
        self.column_groups = column_groups
        self.unpenalised = unpenalised
        self.view_penalties = view_penalties
        self.adaptive = adaptive
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter
        self.views = views
        self.class_weight = class_weight
        self.n_jobs = n_jobs

    def _settings(self) -> list[Setting]:
        return [Setting(float(l1_ratio)) for l1_ratio in self.l1_ratios]

    def _set_choice(self, setting: Setting) -> None:
        self.l1_ratio_ = setting.l1_ratio
