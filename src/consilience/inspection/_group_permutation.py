"""Importance of features in any classifier, by permuting groups of correlated ones.

The score of a row changes when the values of a group are replaced by those of another row; how much
the change agrees with the label is the group's evidence. Features that are correlated share their
information, so that permuting one of them alone shows little: they are permuted together and share
the evidence equally. A group begins as a whole view and is halved while its evidence is the largest
and the number of evaluations allows, down to clusters of correlated features.
"""

from __future__ import annotations

import heapq
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp

from consilience.inspection._default_members import Evidence
from consilience.inspection._redundancy import correlation_clusters, standardise_columns
from consilience.views import MultiViewData
from consilience.views import _storage as storage

__all__ = ["GroupPermutation"]

MAX_EVALUATIONS = 300  # number of groups that are permuted
N_REPEATS = 2  # permutations of each group
MIN_CORRELATION = 0.5  # with the representative of a cluster, within which nothing is divided
MAX_CLUSTERED_CELLS = 50_000_000  # of views whose columns are clustered; others are taken in order


class GroupPermutation:
    """Evidence for the features of a fitted classifier from permuted groups of them."""

    def __init__(self, model: Any, background: MultiViewData, seed: int) -> None:
        self.model, self.seed = model, seed
        self.order = {
            name: _by_cluster(storage.take_rows(view, np.flatnonzero(is_present)), name)
            for (name, view), is_present in zip(
                background.items(), background.present.T, strict=True
            )
        }

    def agreement(self, data: MultiViewData, targets: np.ndarray) -> Evidence:
        """Σ_k T_ik (score − score with permuted values), divided among the features of a group."""
        rng = np.random.RandomState(self.seed)
        rows = [rng.permutation(len(data)) for _ in range(N_REPEATS)]
        base = (targets * class_scores(self.model, data)).sum(axis=1)

        def evidence(name: str, columns: np.ndarray) -> np.ndarray:
            total = np.zeros(len(data))
            for permutation in rows:
                changed = permute_columns(data, name, columns, permutation)
                total += base - (targets * class_scores(self.model, changed)).sum(axis=1)
            return total / N_REPEATS

        out = {name: np.zeros((len(data), data.widths[name])) for name in data.view_names}
        queue: list[tuple[float, int, str, list[np.ndarray], np.ndarray]] = []
        n_evaluations = 0

        def add(name: str, clusters: list[np.ndarray]) -> None:
            nonlocal n_evaluations
            n_evaluations += 1
            part = evidence(name, np.concatenate(clusters))
            heapq.heappush(queue, (-part.sum(), n_evaluations, name, clusters, part))

        for name in data.view_names:
            add(name, self.order[name])
        while queue:
            gain, _, name, clusters, part = heapq.heappop(queue)
            if len(clusters) == 1 or gain >= 0 or n_evaluations + 2 > MAX_EVALUATIONS:
                columns = np.concatenate(clusters)
                out[name][:, columns] = part[:, None] / len(columns)
                continue
            half = len(clusters) // 2
            add(name, clusters[:half])
            add(name, clusters[half:])
        return out


def class_scores(model: Any, data: MultiViewData) -> np.ndarray:
    """Probabilities of the classes, or decision values (n x K)."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(data))
    if hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(data))
        return np.column_stack([-scores, scores]) / 2 if scores.ndim == 1 else scores
    return (np.asarray(model.predict(data))[:, None] == model.classes_).astype(np.float64)


def permute_columns(
    data: MultiViewData, name: str, columns: np.ndarray, permutation: np.ndarray
) -> MultiViewData:
    """Values of some columns from other rows, among the rows that have the view."""
    rows = np.arange(len(data))
    present = np.flatnonzero(data.present[:, data.view_names.index(name)])
    rows[present] = present[np.argsort(np.argsort(permutation[present]))]
    view = data._views[name]
    shuffled = storage.with_index_of(storage.take_rows(view, rows), view)
    return data._replace({**data._views, name: _replace_columns(view, shuffled, columns)})


def _replace_columns(view: Any, other: Any, columns: np.ndarray) -> Any:
    if len(columns) == storage.n_columns(view):
        return other
    if storage.is_dataframe(view):
        frame = nw.from_native(view, eager_only=True)
        source = nw.from_native(other, eager_only=True)
        return frame.with_columns(*(source[:, int(j)] for j in columns)).to_native()
    if sp.issparse(view):
        chosen = np.zeros(view.shape[1])
        chosen[columns] = 1.0
        kept = sp.diags_array(1.0 - chosen)
        return sp.csr_array(view @ kept + other @ sp.diags_array(chosen))
    out = view.copy()
    out[:, columns] = other[:, columns]
    return out


def _by_cluster(view: Any, name: str) -> list[np.ndarray]:
    """Clusters of correlated columns, from the rows that have the view."""
    width = storage.n_columns(view)
    if storage.n_rows(view) * width > MAX_CLUSTERED_CELLS or _has_categories(view):
        return [np.array([j]) for j in range(width)]
    X = storage.to_numeric(view, name)
    X = X.toarray() if sp.issparse(X) else X
    labels, leaders = correlation_clusters(standardise_columns(X), MIN_CORRELATION)
    return [np.flatnonzero(labels == cluster) for cluster in range(len(leaders))]


def _has_categories(view: Any) -> bool:
    if not storage.is_dataframe(view):
        return False
    frame = nw.from_native(view, eager_only=True)
    columns = [frame[:, j] for j in range(frame.shape[1])]
    return any(storage.column_to_numeric(column, column.dtype) is None for column in columns)
