"""How well the contributions of features agree with the labels of rows left out, for any model.

``find_evidence`` chooses what a fitted model offers: exact contributions of the columns where they
are known, permutation of groups of correlated columns otherwise. In a pipeline, the contributions
of transformed columns are carried back to those of the input.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline

from consilience._default import ConsilienceClassifier
from consilience.boosting._base import BoostingClassifier
from consilience.fusion import EarlyFusionClassifier, LateFusionClassifier
from consilience.inspection._default_members import DefaultMembers, Evidence, add_evidence
from consilience.inspection._family_members import (
    boosting_parts,
    early_fusion_parts,
    landmark_parts,
    late_fusion_parts,
    margin_parts,
    vote_parts,
)
from consilience.inspection._group_permutation import GroupPermutation
from consilience.inspection._pipeline_steps import BackgroundNeeded, PipelineEvidence
from consilience.inspection._sparse_members import (
    block_spls_parts,
    penalised_parts,
    stacked_parts,
)
from consilience.landmark import MVLSVMClassifier
from consilience.margin._base import MarginClassifier
from consilience.sparse import StackedPenalisedClassifier
from consilience.sparse._block_splsda import BlockSPLSDABase
from consilience.sparse._penalised import PenalisedClassifier
from consilience.views import MultiViewData
from consilience.vote import MwMvC2Classifier

__all__ = ["find_evidence", "has_native_evidence", "member_evidence"]

CHUNK_CELLS = 4_000_000  # rows times columns whose contributions are computed at once

# methods whose scores are sums of contributions of columns
FAMILIES = {
    MarginClassifier: margin_parts,
    BoostingClassifier: boosting_parts,
    MwMvC2Classifier: vote_parts,
    MVLSVMClassifier: landmark_parts,
    LateFusionClassifier: late_fusion_parts,
    EarlyFusionClassifier: early_fusion_parts,
    PenalisedClassifier: penalised_parts,
    BlockSPLSDABase: block_spls_parts,
    StackedPenalisedClassifier: stacked_parts,
}


class NativeEvidence:
    """Contributions of the columns of a classifier of the package."""

    def __init__(self, model: Any, members: Any) -> None:
        self.model, self.members = model, members

    def agreement(self, data: MultiViewData, targets: np.ndarray) -> Evidence:
        """Σ_k T_ik c_ijk (view -> n x d)."""
        return add_evidence(self.member_agreements(data, targets))

    @property
    def weights(self) -> list[float]:
        """Weights of the members, summing to 1."""
        return getattr(self.members, "weights", [1.0])

    def member_agreements(self, data: MultiViewData, targets: np.ndarray) -> list[Evidence]:
        """The same for each member of the model, in pieces of rows."""
        chunk_rows = max(1, CHUNK_CELLS // max(data.shape[1], 1))
        blocks = [slice(i, i + chunk_rows) for i in range(0, len(data), chunk_rows)]
        parts = [self._block_agreements(data[block], targets[block]) for block in blocks]
        return [
            {name: np.vstack([part[m][name] for part in parts]) for name in data.view_names}
            for m in range(len(self.weights))
        ]

    def _block_agreements(self, data: MultiViewData, targets: np.ndarray) -> list[Evidence]:
        checked = self.model._validate_input(data, reset=False)
        if hasattr(self.members, "member_agreements"):
            parts = self.members.member_agreements(checked, targets)
        else:
            parts = [self.members.agreement(checked, targets)]
        return [{name: _of_view(part, name, data) for name in data.view_names} for part in parts]


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


def member_evidence(
    evidence: Any, data: MultiViewData, targets: np.ndarray
) -> list[tuple[float, np.ndarray]]:
    """Weight and agreement (n x all columns) of each member of a model; one if it has none."""
    if hasattr(evidence, "member_agreements"):
        parts = zip(evidence.weights, evidence.member_agreements(data, targets), strict=True)
    else:
        parts = zip([1.0], [evidence.agreement(data, targets)], strict=True)
    return [(w, np.hstack([part[name] for name in data.view_names])) for w, part in parts]


def has_native_evidence(model: Any) -> bool:
    """Whether the contributions of columns are known for the (last step of the) estimator."""
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    return isinstance(last, (ConsilienceClassifier, *FAMILIES))


def find_evidence(model: Any, background: MultiViewData | None, seed: int = 0) -> Any:
    """Return an object with ``agreement(data, targets)`` for a fitted model.

    ``background`` are rows that define the mean row and correlations; the default keeps its own.
    """
    if isinstance(model, Pipeline):
        return _find_pipeline_evidence(model, background, seed)
    if isinstance(model, ConsilienceClassifier):
        return NativeEvidence(model, DefaultMembers(model))
    if background is None:
        raise BackgroundNeeded(
            f"{type(model).__name__} keeps no training rows; pass some as background, with whose "
            "mean contributions are compared"
        )
    for family, find_parts in FAMILIES.items():
        if isinstance(model, family):
            parts = find_parts(model, column_means(model, background))
            if parts is not None:
                return NativeEvidence(model, parts)
    return GroupPermutation(model, background, seed)


def _find_pipeline_evidence(model: Pipeline, background: MultiViewData | None, seed: int) -> Any:
    """Evidence of the last step, carried back through the steps before it."""
    *steps, (_, last) = model.steps
    steps = [step for _, step in steps if step not in (None, "passthrough")]
    if not has_native_evidence(last):
        if background is None:
            raise BackgroundNeeded(
                f"{type(last).__name__} keeps no training rows; pass some as background, from "
                "which values are taken"
            )
        return GroupPermutation(model, background, seed)
    transformed = background
    for step in steps:
        transformed = None if transformed is None else step.transform(transformed)
    evidence = find_evidence(last, transformed, seed)
    if isinstance(evidence, GroupPermutation) and background is not None:
        return GroupPermutation(model, background, seed)
    return PipelineEvidence(steps, evidence, len(last.classes_), background)
