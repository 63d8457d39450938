"""Cooperative learning: elastic nets of the views whose contributions agree.

Reference: D. Y. Ding, S. Li, B. Narasimhan, R. Tibshirani, "Cooperative learning for multiview
analysis", PNAS 119 (2022).
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from consilience._docstring import fill_docstring
from consilience._model_types import model_type
from consilience._parameters import NON_NEGATIVE, POSITIVE_FACTOR, ListOf, Number, PerView
from consilience._solvers.penalised import Penalty
from consilience.sparse._cross_validation import CVMixin
from consilience.sparse._entries import ENTRIES
from consilience.sparse._penalised import SHARE, Design, PenalisedClassifier, Setting
from consilience.views import MultiViewData
from consilience.views._params import per_view

__all__ = ["CooperativeClassifier", "CooperativeClassifierCV"]

L1_RATIO = Number(Real, 0, 1, closed="both")


def elastic_net_penalty(design: Design, factors: np.ndarray, l1_ratio: float) -> Penalty:
    """λ Σ_v f_v Σ_j (l1_ratio |b_j| + (1 − l1_ratio) |b_j|²/2)."""
    l1 = l1_ratio * np.repeat(factors, np.diff(design.starts))
    return Penalty(design.starts, l1, np.zeros(len(factors)), (1 - l1_ratio) * factors)


class CooperativeBase(PenalisedClassifier):
    """Parameters that the classifier with and without cross-validation share."""

    _parameter_constraints: dict[str, list[Any]] = {
        **PenalisedClassifier._parameter_constraints,
        "l1_ratio": [L1_RATIO],
        "view_penalties": [PerView(POSITIVE_FACTOR)],
    }

    l1_ratio: float
    view_penalties: Any

    def _check_views(self, data: MultiViewData) -> None:
        per_view(self.view_penalties, data.view_names, "view_penalties")

    def _make_penalty(
        self, design: Design, names: Sequence[str], setting: Setting, codes: np.ndarray
    ) -> Penalty:
        given = per_view(self.view_penalties, tuple(names), "view_penalties")
        factors = np.array([float(given[name]) for name in names])
        return elastic_net_penalty(design, factors, setting.l1_ratio)


SHARED = {
    **ENTRIES,
    "net_parameters": """
        l1_ratio : float in [0, 1], default=0.9
            Share of the lasso in the elastic net; the rest is ridge.
        view_penalties : float or dict of view -> float, default=1.0
            Factors of the penalties of the views.
    """,
}


@model_type("sparse.CooperativeClassifier")
@fill_docstring(**SHARED)
class CooperativeClassifier(CooperativeBase):
    """Elastic net logistic regression with a penalty on disagreement between the views.

    With η_v the contribution of view v to the score, the loss plus ρ/2 Σ_{u<v} |η_u − η_v|², over
    the views that a row has, plus elastic nets is minimised jointly over all views. ρ = 0 is early
    fusion; the larger ρ, the closer the views' contributions. A view that a row lacks adds nothing
    to its score.

    Parameters
    ----------
    {penalty}
    rho : float, default=0.5
        Weight ρ of the agreement.
    {net_parameters}
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
    CooperativeClassifierCV : Chooses penalty and rho by cross-validation.
    SparseGroupLogisticClassifier : Selects views.

    References
    ----------
    D. Y. Ding, S. Li, B. Narasimhan, R. Tibshirani, "Cooperative learning for multiview analysis",
    PNAS 119 (2022).

    Examples
    --------
    >>> from consilience.datasets import make_multiview_classification
    >>> from consilience.sparse import CooperativeClassifier
    >>> data, y = make_multiview_classification(200, random_state=0)
    >>> model = CooperativeClassifier(rho=0.2).fit(data, y)
    >>> model.view_decision_function(data).shape[:2] == (200, len(data.view_names))
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {
        **CooperativeBase._parameter_constraints,
        "penalty": [SHARE],
        "rho": [NON_NEGATIVE],
    }

    def __init__(
        self,
        penalty: float = 0.1,
        *,
        rho: float = 0.5,
        l1_ratio: float = 0.9,
        view_penalties: Any = 1.0,
        standardize: bool = True,
        tol: float = 1e-8,
        max_iter: int = 1000,
        views: Any = None,
        class_weight: Any = None,
    ) -> None:
        self.penalty = penalty
        self.rho = rho
        self.l1_ratio = l1_ratio
        self.view_penalties = view_penalties
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter
        self.views = views
        self.class_weight = class_weight

    def _setting(self) -> Setting:
        return Setting(self.l1_ratio, self.rho)


@model_type("sparse.CooperativeClassifierCV")
@fill_docstring(**SHARED)
class CooperativeClassifierCV(CVMixin, CooperativeBase):
    """Cooperative learning with penalty and rho chosen by cross-validation.

    Parameters
    ----------
    rhos : list of floats, default=(0.0, 0.1, 0.5, 1.0)
        Weights of the agreement to try.
    {path}
    {net_parameters}
    {standardize}
    {tol}
    {views}
    {class_weight}
    n_jobs : int or None, default=None
        Number of threads over folds and values of rho; None means 1.

    Attributes
    ----------
    rho_ : float
        The chosen weight of the agreement.
    {cross_validation}
    {coefficients}
    {convergence}
    {fitted_input}

    See Also
    --------
    CooperativeClassifier : The same with given penalty and rho.

    References
    ----------
    D. Y. Ding, S. Li, B. Narasimhan, R. Tibshirani, "Cooperative learning for multiview analysis",
    PNAS 119 (2022).

    Examples
    --------
    >>> from consilience.datasets import make_multiview_classification
    >>> from consilience.sparse import CooperativeClassifierCV
    >>> data, y = make_multiview_classification(200, random_state=0)
    >>> CooperativeClassifierCV([0, 0.5], n_penalties=5).fit(data, y).scores_.shape
    (5, 2, 5)
    """

    _parameter_constraints: dict[str, list[Any]] = {
        **CooperativeBase._parameter_constraints,
        **CVMixin._parameter_constraints,
        "rhos": [ListOf(NON_NEGATIVE)],
    }

    def __init__(
        self,
        rhos: Sequence[float] = (0.0, 0.1, 0.5, 1.0),
        *,
        n_penalties: int = 30,
        min_penalty: float = 0.01,
        cv: Any = 5,
        rule: str = "best",
        l1_ratio: float = 0.9,
        view_penalties: Any = 1.0,
        standardize: bool = True,
        tol: float = 1e-8,
        max_iter: int = 1000,
        views: Any = None,
        class_weight: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.rhos = rhos
        self.n_penalties = n_penalties
        self.min_penalty = min_penalty
        self.cv = cv
        self.rule = rule
        self.l1_ratio = l1_ratio
        self.view_penalties = view_penalties
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter
        self.views = views
        self.class_weight = class_weight
        self.n_jobs = n_jobs

    def _settings(self) -> list[Setting]:
        return [Setting(self.l1_ratio, float(rho)) for rho in self.rhos]

    def _set_choice(self, setting: Setting) -> None:
        self.rho_ = setting.rho
