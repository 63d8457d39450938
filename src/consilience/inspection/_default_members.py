"""What the members of a fitted ``ConsilienceClassifier`` make of each column.

This is the only module that reads their state. The scores of the kernel and the linear member are
divided among the columns by line integrals, those of trees along the paths of rows. The forest on
principal components counts by its linear part: the least-squares slopes of its scores in the
components, carried back to the columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp

from consilience._default._members import LOG_ODDS_SCALE
from consilience._default._rows import group_by_pattern
from consilience._default._trees import PRIOR_WEIGHT
from consilience.inspection._line_integrals import (
    RadialView,
    linear_agreement,
    radial_agreement,
    softmax_targets,
    to_dense,
)
from consilience.inspection._tree_paths import TreeTable, path_agreement, path_contributions
from consilience.inspection._tree_tables import boosted_table, forest_table
from consilience.views import MultiViewData

__all__ = ["DefaultMembers", "Evidence", "add_evidence", "encoded_columns"]

SLOPE_ROWS = 300  # reference rows from which the slopes of components are estimated
MIN_STEP = 1e-6  # differences of shares below it have the derivative in place of a quotient
TINY = 1e-300

Evidence = dict[str, np.ndarray]  # view -> agreement of its columns with the targets (n x d)


@dataclass(eq=False)
class DefaultMembers:
    """Accessor to the members of a fitted model."""

    model: Any
    _tables: dict[tuple[str, int], TreeTable] = field(default_factory=dict)
    _slopes: dict[str, np.ndarray] = field(default_factory=dict)

    def agreement(self, data: MultiViewData, targets: np.ndarray) -> Evidence:
        """Σ_k T_ik c_ijk for the columns j of all views and the score of class k.

        ``data`` are rows as the model has validated them.
        """
        return add_evidence(self.member_agreements(data, targets))

    @property
    def weights(self) -> list[float]:
        """Weights of the members, summing to 1."""
        return self.model.member_weights_.tolist()

    def member_agreements(self, data: MultiViewData, targets: np.ndarray) -> list[Evidence]:
        """The same for each member alone, whose sum it is."""
        data = self.model._in_name_order(data)
        mapped = self.model._columns.apply(data)
        out = []
        for name, member, factor in zip(
            self.model.member_names_, self.model._members, self.model._factors, strict=True
        ):
            part = self._member_agreement(name, member, data, mapped, factor * targets)
            out.append({view: self._join_categories(view, E) for view, E in part.items()})
        return out

    def _join_categories(self, view: str, E: np.ndarray) -> np.ndarray:
        """Evidence of the columns of a table, whose categories are columns of the model's own."""
        codes = self.model._table_codes.get(view)
        return E if codes is None else E @ encoded_columns(codes)

    def _member_agreement(
        self, name: str, member: Any, data: MultiViewData, mapped: Any, targets: np.ndarray
    ) -> Evidence:
        if name == "boosted":
            return self._boosted_agreement(member, data, mapped, targets)
        if name == "kernel":
            part = kernel_agreement(member, data, mapped.filled, targets)
        elif name == "linear":
            part = linear_member_agreement(member, data, mapped.filled, self._means(), targets)
        elif name == "columns":
            part = self._forest_agreement(name, member, data, mapped.raw, targets)
        elif name == "components":
            part = self._component_agreement(member, data, mapped, targets)
        else:
            raise TypeError(
                f"the importance of features is not known for the member {name!r} of "
                "ConsilienceClassifier"
            )
        return {view: self._unmap(view, E, data.widths[view]) for view, E in part.items()}

    def _unmap(self, view: str, E: np.ndarray, width: int) -> np.ndarray:
        """Evidence of mapped columns as that of the columns: skewed ones are mapped to two.

        Features of whole rows belong to all columns alike.
        """
        view_map = self.model._columns.maps[view]
        n_mapped, n_ranks, n_whole = view_map.part_widths
        out = np.zeros((len(E), width))
        out[:, view_map.columns] = E[:, :n_mapped]
        if n_ranks:
            ranks = view_map.ranks.columns
            out[:, view_map.columns[ranks]] += E[:, n_mapped : n_mapped + n_ranks]
        if n_whole:
            out[:, view_map.columns] += E[:, -n_whole:].sum(axis=1, keepdims=True) / n_mapped
        return out

    def _reference_rows(self) -> dict[str, Any]:
        """Mapped training rows of each view that has any."""
        views = self.model._members[0].reference_set.views
        return {view.name: view.rows for view in views if view.rows.shape[0]}

    def _means(self) -> dict[str, np.ndarray]:
        return {
            name: np.asarray(rows.mean(axis=0), dtype=np.float64).ravel()
            for name, rows in self._reference_rows().items()
        }

    def is_training_row(self, data: MultiViewData) -> np.ndarray:
        """Mask of the rows that equal, in every view, a training row that the model keeps."""
        data = self.model._in_name_order(self.model._validate_input(data, reset=False))
        filled = self.model._columns.apply(data).filled
        out: np.ndarray = np.asarray(data.present.any(axis=1))
        for name, rows in self._reference_rows().items():
            known = set(_row_bytes(rows, rows.dtype))
            is_known = np.array([key in known for key in _row_bytes(filled[name], rows.dtype)])
            out &= is_known | ~data.present[:, data.view_names.index(name)]
        return out

    # -- trees -----------------------------------------------------------------------------------

    def _table(self, name: str, view: int, forest: Any) -> TreeTable:
        key = name, view
        if key not in self._tables:
            self._tables[key] = forest_table(forest)
        return self._tables[key]

    def _forest_agreement(
        self, name: str, member: Any, data: MultiViewData, blocks: list[Any], targets: np.ndarray
    ) -> Evidence:
        """Agreement along the paths of a tree member, for the columns that it sees."""
        if member.joint is not None:
            table = self._table(name, -1, member.joint)
            return joint_agreement(table, data, blocks, targets)
        targets_of = single_view_targets(member, data.present, blocks, targets)
        out = {}
        for v, view_targets in targets_of.items():
            table = self._table(name, v, member.single[v])
            out[data.view_names[v]] = path_agreement(table, to_dense(blocks[v]), view_targets)
        return out

    def _component_agreement(
        self, member: Any, data: MultiViewData, mapped: Any, targets: np.ndarray
    ) -> Evidence:
        """Linear part of the components' effect, and paths through columns kept beside them."""
        columns = self.model._columns
        blocks = columns.components_of(mapped, data)
        paths = self._forest_agreement("components", member, data, blocks, targets)
        slopes, means = self._component_slopes(member), self._means()
        targets_of = dict.fromkeys(range(data.n_views), targets)
        if member.joint is None:
            targets_of = single_view_targets(member, data.present, blocks, targets)
        out = {}
        for v, view_targets in targets_of.items():
            name, components = columns.names[v], columns.components[v]
            if components is None:
                continue
            coef = components.directions @ slopes[name][: components.width]
            E = linear_agreement(mapped.filled[name], coef, means[name], view_targets)
            if blocks[v].shape[1] > components.width:
                E = E + paths[name][:, components.width :]
            E[~data.present[:, v]] = 0.0
            out[name] = E
        return out

    def _component_slopes(self, member: Any) -> dict[str, np.ndarray]:
        """Slopes of the forest's scores in the columns it sees (view -> columns x K)."""
        if not self._slopes:
            rows = {name: X[:SLOPE_ROWS] for name, X in self._reference_rows().items()}
            names = self.model._columns.names
            blocks = self.model._columns.components_of(SimpleNamespace(filled=rows), None)
            if member.joint is None:
                for v, forest in member.single.items():
                    table = self._table("components", v, forest)
                    self._slopes[names[v]] = path_slopes(table, blocks[v])
            else:
                used = [v for v, block in enumerate(blocks) if block is not None]
                table = self._table("components", -1, member.joint)
                slopes = path_slopes(table, np.hstack([blocks[v] for v in used]))
                ends = np.cumsum([blocks[v].shape[1] for v in used])
                parts = np.split(slopes, ends[:-1])
                self._slopes.update(zip([names[v] for v in used], parts, strict=True))
        return self._slopes

    def _boosted_agreement(
        self, member: Any, data: MultiViewData, mapped: Any, targets: np.ndarray
    ) -> Evidence:
        key = "boosted", -1
        if key not in self._tables:
            self._tables[key] = boosted_table(member, targets.shape[1], 1 / LOG_ODDS_SCALE)
        blocks = self.model._columns.as_given(data, mapped)
        part = joint_agreement(self._tables[key], data, blocks, targets)
        for view, E in part.items():
            width = data.widths[view]
            if E.shape[1] > width:  # quantiles of a row belong to all columns alike
                part[view] = E[:, :width] + E[:, width:].sum(axis=1, keepdims=True) / width
        return part


def add_evidence(parts: list[Evidence]) -> Evidence:
    """Sum of several pieces of evidence; a view that one of them lacks counts as 0 there."""
    total: Evidence = {}
    for part in parts:
        for view, E in part.items():
            total[view] = total[view] + E if view in total else E
    return total


def _row_bytes(X: Any, dtype: Any) -> Iterator[bytes]:
    """The bytes of each row in this precision; −0 is 0."""
    for row in range(X.shape[0]):
        values = X[[row]].toarray() if sp.issparse(X) else X[[row]]
        yield (np.ascontiguousarray(values.astype(dtype)) + np.zeros(1, dtype=dtype)).tobytes()


def encoded_columns(codes: Any) -> np.ndarray:
    """Which column of a table (encoded columns x columns) each encoded column belongs to."""
    widths = [1 if values is None else len(values) for values in codes.categories]
    return np.eye(len(widths))[np.repeat(np.arange(len(widths)), widths)]


def joint_agreement(
    table: TreeTable, data: MultiViewData, blocks: list[Any], targets: np.ndarray
) -> Evidence:
    """Agreement along the paths of trees on all views; they end at columns that a row lacks."""
    used = [v for v, block in enumerate(blocks) if block is not None]
    widths = [blocks[v].shape[1] for v in used]
    X = np.hstack([to_dense(blocks[v]) for v in used])
    present = data.present[:, used]
    mask = None if present.all() else np.repeat(present, widths, axis=1)
    E = path_agreement(table, X, targets, mask)
    parts = np.split(E, np.cumsum(widths)[:-1], axis=1)
    return dict(zip([data.view_names[v] for v in used], parts, strict=True))


def path_slopes(table: TreeTable, X: np.ndarray) -> np.ndarray:
    """Least-squares slopes (d x K) of the contributions of columns in these, over the rows."""
    centred = X - X.mean(axis=0)
    products = np.einsum("ijk,ij->jk", path_contributions(table, X), centred)
    return products / np.maximum((centred**2).sum(axis=0), TINY)[:, None]


def single_view_targets(
    member: Any, present: np.ndarray, blocks: list[Any], targets: np.ndarray
) -> dict[int, np.ndarray]:
    """Targets of the votes of each single view's forest (n x K), 0 in rows without the view.

    The votes s are pooled as softmax(log prior + Σ_v w_v log((s / prior + ε) / (1 + ε))).
    """
    prior = np.maximum(member.prior, TINY)
    weights = member.view_weights / member.view_weights.sum()
    logits, votes = np.tile(np.log(prior), (len(present), 1)), {}
    for v, forest in member.single.items():
        rows = np.flatnonzero(present[:, v])
        shares = np.tile(prior, (len(present), 1))
        if len(rows):
            shares[rows] = forest.predict(blocks[v][rows])
        votes[v] = shares
        logits += weights[v] * np.log((shares / prior + PRIOR_WEIGHT) / (1 + PRIOR_WEIGHT))
    pooled = softmax_targets(np.log(prior), logits, targets)
    out = {}
    for v, shares in votes.items():
        step = shares - prior
        ratio = (shares / prior + PRIOR_WEIGHT) / (1 + PRIOR_WEIGHT)
        is_step = np.abs(step) > MIN_STEP
        quotient = np.log(ratio) / np.where(is_step, step, 1.0)
        slope = np.where(is_step, quotient, 1 / (prior * (1 + PRIOR_WEIGHT) * ratio))
        out[v] = pooled * weights[v] * slope * present[:, v, None]
    return out


# -- the kernel and the linear member ------------------------------------------------------------


def kernel_agreement(
    member: Any, data: MultiViewData, mapped: dict[str, Any], targets: np.ndarray
) -> Evidence:
    """Agreement of the mapped columns in the kernel member; rows by the views they have."""
    out = {
        view.name: np.zeros((len(data), view.rows.shape[1]))
        for view in member.reference_set.views
        if view.rows.shape[0]
    }
    for pattern, rows in group_by_pattern(data.present & (member.view_weights > 0)):
        if not pattern.any():
            continue
        reference_set, coef, _ = member._solution(pattern)
        weights = member.view_weights[pattern] / member.view_weights[pattern].sum()
        views = []
        for v, weight in zip(np.flatnonzero(pattern).tolist(), weights, strict=True):
            view = reference_set.views[v]
            means, offsets = reference_set.means[v], reference_set.offsets[v]
            X = mapped[view.name][rows]
            views.append(RadialView(X, view.rows, 1 / view.scale, float(weight), means, offsets))
        parts = radial_agreement(views, member.width, coef, targets[rows], joint=True)
        for v, part in zip(np.flatnonzero(pattern).tolist(), parts, strict=True):
            out[reference_set.views[v].name][rows] = part
    return out


def linear_member_agreement(
    member: Any,
    data: MultiViewData,
    mapped: dict[str, Any],
    means: dict[str, np.ndarray],
    targets: np.ndarray,
) -> Evidence:
    """Agreement of the mapped columns in the linear member, whose scores are probabilities."""
    start, end = np.zeros(targets.shape[1]), np.zeros(targets.shape)
    for view in member.views:
        at_mean = means[view.name] @ view.coef
        is_present = data.present[:, data.view_names.index(view.name)]
        start = start + at_mean + view.intercept
        scores = np.asarray(mapped[view.name] @ view.coef)
        end += np.where(is_present[:, None], scores, at_mean) + view.intercept
    logit_targets = softmax_targets(start / member.n_different, end / member.n_different, targets)
    logit_targets /= member.n_different
    out = {}
    for view in member.views:
        is_present = data.present[:, data.view_names.index(view.name)]
        E = linear_agreement(mapped[view.name], view.coef, means[view.name], logit_targets)
        E[~is_present] = 0.0
        out[view.name] = E
    return out
