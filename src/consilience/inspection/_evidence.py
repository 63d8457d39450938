"""How well the contributions of features agree with the labels of rows left out, for any model.

``find_evidence`` chooses what a fitted model offers: exact contributions of the columns where they
are known, permutation of groups of correlated columns otherwise. In a pipeline, the contributions
of transformed columns are carried back to those of the input.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import OneToOneFeatureMixin
from sklearn.decomposition import PCA, FastICA, TruncatedSVD
from sklearn.feature_selection import SelectorMixin
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from consilience._default import ConsilienceClassifier
from consilience.boosting._base import BoostingClassifier
from consilience.fusion import EarlyFusionClassifier, LateFusionClassifier
from consilience.inspection._default_members import (
    DefaultMembers,
    Evidence,
    encoded_columns,
)
from consilience.inspection._family_members import (
    boosting_parts,
    early_fusion_parts,
    landmark_parts,
    late_fusion_parts,
    margin_parts,
    vote_parts,
)
from consilience.inspection._group_permutation import GroupPermutation
from consilience.inspection._line_integrals import linear_agreement, to_dense
from consilience.landmark import MVLSVMClassifier
from consilience.margin._base import MarginClassifier
from consilience.views import MultiViewData
from consilience.views._base_transform import BaseViewTransformer
from consilience.views._preparation import ColumnPreparer
from consilience.vote import MwMvC2Classifier

__all__ = ["find_evidence", "has_native_evidence"]

CHUNK_CELLS = 4_000_000  # rows times columns whose contributions are computed at once

# methods whose scores are sums of contributions of columns
FAMILIES = {
    MarginClassifier: margin_parts,
    BoostingClassifier: boosting_parts,
    MwMvC2Classifier: vote_parts,
    MVLSVMClassifier: landmark_parts,
    LateFusionClassifier: late_fusion_parts,
    EarlyFusionClassifier: early_fusion_parts,
}


class NativeEvidence:
    """Contributions of the columns of a classifier of the package."""

    def __init__(self, model: Any, members: Any) -> None:
        self.model, self.members = model, members

    def agreement(self, data: MultiViewData, targets: np.ndarray) -> Evidence:
        """Σ_k T_ik c_ijk (view -> n x d), in pieces of rows."""
        chunk_rows = max(1, CHUNK_CELLS // max(data.shape[1], 1))
        parts = []
        for start in range(0, len(data), chunk_rows):
            block = slice(start, start + chunk_rows)
            checked = self.model._validate_input(data[block], reset=False)
            part = self.members.agreement(checked, targets[block])
            parts.append({name: _of_view(part, name, data[block]) for name in data.view_names})
        return {name: np.vstack([part[name] for part in parts]) for name in data.view_names}


def _of_view(part: Evidence, name: str, data: MultiViewData) -> np.ndarray:
    """Evidence of a view; a view that the model does not use has none."""
    return part[name] if name in part else np.zeros((len(data), data.widths[name]))


def column_means(model: Any, data: MultiViewData) -> dict[str, np.ndarray]:
    """Mean row of each view, as the model reads it, over the rows that have the view."""
    checked = model._validate_input(data, reset=False)
    means = {}
    for v, (name, view) in enumerate(checked.items()):
        rows = np.flatnonzero(checked.present[:, v])
        if len(rows):
            X = view[rows]
            means[name] = (
                np.asarray(X.mean(axis=0)).ravel() if sp.issparse(X) else np.nanmean(X, axis=0)
            )
    return means


def has_native_evidence(model: Any) -> bool:
    """Whether the contributions of columns are known for the (last step of the) estimator."""
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    return isinstance(last, (ConsilienceClassifier, *FAMILIES))


def find_evidence(model: Any, background: MultiViewData | None, seed: int = 0) -> Any:
    """Return an object with ``agreement(data, targets)`` for a fitted model.

    ``background`` are rows that define the mean row and correlations; the default keeps its own.
    """
    if isinstance(model, Pipeline):
        return PipelineEvidence.from_pipeline(model, background, seed)
    if isinstance(model, ConsilienceClassifier):
        return NativeEvidence(model, DefaultMembers(model))
    if background is None:
        raise ValueError(
            f"{type(model).__name__} keeps no training rows: pass background=, rows whose mean the "
            "contributions are compared with"
        )
    for family, find_parts in FAMILIES.items():
        if isinstance(model, family):
            parts = find_parts(model, column_means(model, background))
            if parts is not None:
                return NativeEvidence(model, parts)
    return GroupPermutation(model, background, seed)


# -- pipelines -----------------------------------------------------------------------------------


class PipelineEvidence:
    """Contributions of the columns before the steps of a pipeline."""

    def __init__(self, steps: list[BaseViewTransformer], evidence: Any, n_classes: int) -> None:
        self.steps, self.evidence, self.n_classes = steps, evidence, n_classes

    @classmethod
    def from_pipeline(cls, model: Pipeline, background: MultiViewData | None, seed: int) -> Any:
        """Evidence of the last step, carried back; all steps before it must transform views."""
        *steps, (_, last) = model.steps
        steps = [step for _, step in steps if step not in (None, "passthrough")]
        is_native = has_native_evidence(last) and background is not None
        if not is_native or not all(isinstance(s, BaseViewTransformer) for s in steps):
            if background is None:
                raise ValueError("the pipeline keeps no training rows: pass background=")
            return GroupPermutation(model, background, seed)
        transformed = background
        for step in steps:
            transformed = step.transform(transformed)
        return cls(steps, find_evidence(last, transformed, seed), len(last.classes_))

    def agreement(self, data: MultiViewData, targets: np.ndarray) -> Evidence:
        """Σ_k T_ik c_ijk (view -> n x d) for the columns of the input."""
        stages = [data]
        for step in self.steps:
            stages.append(step.transform(stages[-1]))
        contributions: dict[str, list[np.ndarray]] = {}  # by class, only if a step needs it
        evidence = self.evidence.agreement(stages[-1], targets)
        linear_views = {
            name
            for step in self.steps
            for name, own in step.transformers_.items()
            if any(_linear_matrix(part) is not None for part in _parts(own))
        }
        if linear_views:
            for k in range(self.n_classes):
                one = np.tile(np.eye(self.n_classes)[k], (len(data), 1))
                for name, E in self.evidence.agreement(stages[-1], one).items():
                    contributions.setdefault(name, []).append(E)
        out = {}
        for name in data.view_names:
            if name not in evidence:
                out[name] = np.zeros((len(data), data.widths[name]))
            elif name in linear_views:
                out[name] = self._project_back(name, data, np.stack(contributions[name]), targets)
            else:
                out[name] = self._carry_back(name, evidence[name])
        return out

    def _carry_back(self, name: str, E: np.ndarray) -> np.ndarray:
        """Evidence of the input columns of a view whose steps keep, select or scale columns."""
        for step in reversed(self.steps):
            for part in reversed(_parts(step.transformers_[name])):
                E = _columns_before(part, E, name)
        return E

    def _project_back(
        self, name: str, data: MultiViewData, contributions: np.ndarray, targets: np.ndarray
    ) -> np.ndarray:
        """Linear part of the contributions (K x n x components), carried back to the columns."""
        present = data.present[:, data.view_names.index(name)]
        rows = np.flatnonzero(present)
        X = to_dense(data[name][rows])
        if np.isnan(X).any():
            raise TypeError(
                f"view {name!r} has empty cells before its components; impute them first"
            )
        start = X.mean(axis=0) if len(rows) > 1 else np.zeros(X.shape[1])
        matrix = np.eye(X.shape[1])
        for step in self.steps:
            for part in _parts(step.transformers_[name]):
                matrix = matrix @ _matrix(part, matrix.shape[1], name)
        components = (X - start) @ matrix
        products = np.einsum("kip,ip->pk", contributions[:, rows], components)
        squares = (components**2).sum(axis=0)[:, None]
        slopes = np.divide(products, squares, out=np.zeros_like(products), where=squares > 0)
        out = np.zeros((len(data), X.shape[1]))
        out[rows] = linear_agreement(X, matrix @ slopes, start, targets[rows])
        return out


def _parts(transformer: Any) -> list[Any]:
    """The transformers of a view, one after the other."""
    if isinstance(transformer, Pipeline):
        return [part for _, step in transformer.steps for part in _parts(step)]
    return [transformer]


def _is_unchanged(part: Any) -> bool:
    return part in (None, "passthrough") or isinstance(part, OneToOneFeatureMixin)


def _columns_before(part: Any, E: np.ndarray, name: str) -> np.ndarray:
    if _is_unchanged(part):
        return E
    if isinstance(part, SelectorMixin):
        support = part.get_support()
        out = np.zeros((len(E), len(support)))
        out[:, support] = E
        return out
    if isinstance(part, ColumnPreparer):
        codes = part.codes_
        if codes is None or not codes.has_categories:
            return E
        return E @ encoded_columns(codes)
    names_in, names_out = _names(part)
    if names_in is not None and names_in == names_out:
        return E
    raise TypeError(
        f"the columns that {type(part).__name__} makes of view {name!r} cannot be traced back to "
        "features; transform the view before, and pass the result"
    )


def _names(part: Any) -> tuple[list[str] | None, list[str] | None]:
    """Names of the columns before and after a transformer that keeps them."""
    width = getattr(part, "n_features_in_", None)
    if isinstance(part, FunctionTransformer) or width is None:
        return None, None
    names = [f"x{j}" for j in range(width)]
    names_in = list(getattr(part, "feature_names_in_", names))
    try:
        return names_in, [str(name) for name in part.get_feature_names_out()]
    except (AttributeError, ValueError):
        return None, None


def _linear_matrix(part: Any) -> np.ndarray | None:
    """Matrix (d x k) of a projection onto components; None for other transformers."""
    if not isinstance(part, (PCA, TruncatedSVD, FastICA)):
        return None
    matrix = np.asarray(part.components_).T
    if isinstance(part, PCA) and part.whiten:
        matrix = matrix / np.sqrt(part.explained_variance_)
    return matrix


def _matrix(part: Any, width: int, name: str) -> np.ndarray:
    """Matrix of a step of a view that has projections among its steps."""
    matrix = _linear_matrix(part)
    if matrix is not None:
        return matrix
    if part in (None, "passthrough"):
        return np.eye(width)
    scale = getattr(part, "scale_", None)
    if isinstance(part, OneToOneFeatureMixin) and scale is not None and np.shape(scale) == (width,):
        is_divisor = type(part).__name__ != "MinMaxScaler"
        return np.diag(1 / np.asarray(scale) if is_divisor else np.asarray(scale))
    raise TypeError(
        f"{type(part).__name__} beside components of view {name!r} cannot be traced back to "
        "features; use a scaler, or transform the view before"
    )
