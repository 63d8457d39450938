"""Contributions of transformed columns, carried back to the columns before the transformation."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin
from sklearn.decomposition import PCA, FastICA, TruncatedSVD
from sklearn.feature_selection import SelectorMixin
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler

from consilience.inspection._default_members import Evidence, add_evidence, encoded_columns
from consilience.inspection._line_integrals import linear_agreement, to_dense
from consilience.views import MultiViewData
from consilience.views import _storage as storage
from consilience.views._base_transform import BaseViewTransformer
from consilience.views._preparation import ColumnPreparer

__all__ = ["BackgroundNeeded", "PipelineEvidence"]

PROJECTIONS = (PCA, TruncatedSVD, FastICA)


class BackgroundNeeded(ValueError):
    """Raised if contributions need a mean row that the model does not keep."""


class PipelineEvidence:
    """Contributions of the columns before the steps of a pipeline.

    Columns that are scaled, selected, imputed or encoded keep their contributions. Those of
    components count by their linear part, the least-squares slopes of a component's contributions
    in the component, which are carried back to the columns by the matrix of the projection.
    """

    def __init__(
        self, steps: list[Any], evidence: Any, n_classes: int, background: MultiViewData | None
    ) -> None:
        self.steps, self.evidence, self.n_classes = steps, evidence, n_classes
        self.background = background

    def agreement(self, data: MultiViewData, targets: np.ndarray) -> Evidence:
        """Σ_k T_ik c_ijk (view -> n x d) for the columns of the input."""
        return add_evidence(self.member_agreements(data, targets))

    @property
    def weights(self) -> list[float]:
        """Weights of the members of the last step, summing to 1."""
        return self.evidence.weights

    def member_agreements(self, data: MultiViewData, targets: np.ndarray) -> list[Evidence]:
        """The same for each member of the last step."""
        stages = [data]
        for step in self.steps:
            stages.append(step.transform(stages[-1]))
        last = stages[-1]
        projected = [name for name in last.view_names if self._is_projected(name)]
        by_class = self._contributions(last) if projected else [{}] * len(self.weights)
        members = self.evidence.member_agreements(last, targets)
        return [
            {name: self._before(name, stages, member, own, targets) for name in data.view_names}
            for member, own in zip(members, by_class, strict=True)
        ]

    def _before(
        self,
        name: str,
        stages: list[MultiViewData],
        evidence: Evidence,
        by_class: dict[str, np.ndarray],
        targets: np.ndarray,
    ) -> np.ndarray:
        """Evidence of the input columns of a view."""
        data = stages[0]
        if name not in evidence:
            return np.zeros((len(data), data.widths[name]))
        if name in by_class and self._is_projected(name):
            return self._project_back(name, data, by_class[name], targets)
        return self._carry_back(name, evidence[name], stages)

    def _contributions(self, data: MultiViewData) -> list[dict[str, np.ndarray]]:
        """Contributions in each member to the scores of all classes (view -> K x n x d)."""
        parts = [
            self.evidence.member_agreements(data, np.tile(row, (len(data), 1)))
            for row in np.eye(self.n_classes)
        ]
        return [
            {name: np.stack([part[m][name] for part in parts]) for name in data.view_names}
            for m in range(len(self.weights))
        ]

    def _parts_of(self, name: str) -> list[Any]:
        return [
            part
            for step in self.steps
            if isinstance(step, BaseViewTransformer)
            for part in view_parts(step.transformers_[name])
        ]

    def _is_projected(self, name: str) -> bool:
        return any(isinstance(part, PROJECTIONS) for part in self._parts_of(name))

    def _carry_back(self, name: str, E: np.ndarray, stages: list[MultiViewData]) -> np.ndarray:
        for step, before, after in zip(
            reversed(self.steps), reversed(stages[:-1]), reversed(stages[1:]), strict=True
        ):
            if isinstance(step, BaseViewTransformer):
                for part in reversed(view_parts(step.transformers_[name])):
                    E = columns_before(part, E, name)
            else:
                E = columns_by_name(step, E, name, before, after)
        return E

    def _project_back(
        self, name: str, data: MultiViewData, contributions: np.ndarray, targets: np.ndarray
    ) -> np.ndarray:
        """Linear part of the contributions of components (K x n x p)."""
        if self.background is None:
            raise BackgroundNeeded(
                f"view {name!r} is reduced to components; pass rows as background, with whose mean "
                "contributions are compared"
            )
        rows = np.flatnonzero(data.present[:, data.view_names.index(name)])
        known = self.background.present[:, self.background.view_names.index(name)]
        start = np.nanmean(to_dense(self.background[name][np.flatnonzero(known)]), axis=0)
        X = to_dense(data[name][rows])
        if np.isnan(X).any():
            raise TypeError(
                f"view {name!r} has empty cells before its components; impute them first"
            )
        matrix = np.eye(X.shape[1])
        for part in self._parts_of(name):
            matrix = matrix @ step_matrix(part, matrix.shape[1], name)
        components = (X - start) @ matrix
        products = np.einsum("kip,ip->pk", contributions[:, rows], components)
        squares = (components**2).sum(axis=0)[:, None]
        slopes = np.divide(products, squares, out=np.zeros_like(products), where=squares > 0)
        out = np.zeros((len(data), X.shape[1]))
        out[rows] = linear_agreement(X, matrix @ slopes, start, targets[rows])
        return out


def view_parts(transformer: Any) -> list[Any]:
    """The transformers of a view, one after the other."""
    if isinstance(transformer, Pipeline):
        return [part for _, step in transformer.steps for part in view_parts(step)]
    return [transformer]


def columns_before(part: Any, E: np.ndarray, name: str) -> np.ndarray:
    """Evidence of the columns that a transformer was given, from that of its output."""
    if part in (None, "passthrough") or isinstance(part, OneToOneFeatureMixin):
        return E
    if isinstance(part, SelectorMixin):
        support = part.get_support()
        out = np.zeros((len(E), len(support)))
        out[:, support] = E
        return out
    if isinstance(part, ColumnPreparer):
        codes = part.codes_
        return E if codes is None or not codes.has_categories else E @ encoded_columns(codes)
    if keeps_names(part):
        return E
    raise TypeError(
        f"the columns that {type(part).__name__} makes of view {name!r} cannot be traced back to "
        "features; transform the view before, and pass the result"
    )


def keeps_names(part: Any) -> bool:
    """Whether the columns of the output have the names of those of the input."""
    width = getattr(part, "n_features_in_", None)
    if isinstance(part, FunctionTransformer) or width is None:
        return False
    names_in = list(getattr(part, "feature_names_in_", [f"x{j}" for j in range(width)]))
    try:
        return names_in == [str(name) for name in part.get_feature_names_out()]
    except (AttributeError, ValueError):
        return False


def columns_by_name(
    step: Any, E: np.ndarray, name: str, before: MultiViewData, after: MultiViewData
) -> np.ndarray:
    """Evidence of the columns before a step that selects some of them by name."""
    names_in, names_out = storage.column_names(before[name]), storage.column_names(after[name])
    if names_in is None and names_out is None and before.widths[name] == E.shape[1]:
        return E
    if names_in is None or names_out is None or not set(names_out) <= set(names_in):
        raise TypeError(
            f"the columns that {type(step).__name__} makes of view {name!r} cannot be traced back "
            "to features; transform the view before, and pass the result"
        )
    out = np.zeros((len(E), len(names_in)))
    out[:, [names_in.index(column) for column in names_out]] = E
    return out


def step_matrix(part: Any, width: int, name: str) -> np.ndarray:
    """Matrix (d x k) of a linear step of a view."""
    if isinstance(part, PROJECTIONS):
        matrix = np.asarray(part.components_).T
        is_whitened = isinstance(part, PCA) and part.whiten
        return matrix / np.sqrt(part.explained_variance_) if is_whitened else matrix
    if part in (None, "passthrough"):
        return np.eye(width)
    scale: Any = getattr(part, "scale_", None)
    if isinstance(part, OneToOneFeatureMixin) and np.shape(scale) == (width,):
        return np.diag(np.asarray(scale) if isinstance(part, MinMaxScaler) else 1 / scale)
    raise TypeError(
        f"{type(part).__name__} beside components of view {name!r} cannot be traced back to "
        "features; use a scaler, or transform the view before"
    )
