"""Association of features with the classes on all rows, by themselves and in pairs.

With normal scores s_ij of the columns and T_ik = w_i (1[y_i = k] − share of class k), a feature by
itself has the score statistic

    z_jk = Σ_i T_ik s_ij / √Σ_i (T_ik s_ij)²,

whose variance is 1 or less if the feature is independent of the class, also if the spread differs
between classes. A pair has the product of two columns in place of s_ij; each feature keeps the
partner with which it agrees most. Nothing is learned here, so that no rows are left out: what is
chosen from, classes and partners, is accounted for in the p-values (``_combined_evidence``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import ndtri
from scipy.stats import rankdata

from consilience.inspection._feature_data import FeatureData, numeric_view

__all__ = ["Association", "alone_association", "normal_scores", "pair_association", "score_columns"]

BLOCK_COLUMNS = 512  # columns whose products with all others are computed at once
MAX_PAIR_PRODUCTS = 2e11  # rows · columns² · classes up to which pairs are examined


@dataclass(frozen=True, eq=False)
class Association:
    """The largest |z_jk| of each feature over the classes, z of the same in each fold, partners.

    ``n_choices`` is the number of statistics that the largest was chosen from; ``partner`` are
    numbers of columns.
    """

    z: np.ndarray
    fold_z: np.ndarray
    n_choices: int
    partner: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class ScoredColumns:
    """Normal scores of all columns (n x d), 0 where they are missing; targets of the classes.

    ``units`` are numbers of groups whose rows count as one observation, or None.
    """

    S: np.ndarray
    is_known: np.ndarray | None
    targets: np.ndarray
    units: np.ndarray | None
    folds: list[np.ndarray]


def normal_scores(X: np.ndarray) -> np.ndarray:
    """Normal quantiles of the ranks of each column; NaN stays."""
    X = np.ascontiguousarray(np.asarray(X, dtype=np.float64).T)
    counts = (~np.isnan(X)).sum(axis=1, keepdims=True)
    is_complete = counts.min(initial=X.shape[1]) == X.shape[1]
    ranks = rankdata(X, axis=1, nan_policy="propagate" if is_complete else "omit")
    return np.asarray(ndtri((ranks - 0.5) / np.maximum(counts, 1)).T)


def score_columns(
    read: FeatureData, units: np.ndarray | None, folds: Sequence[np.ndarray]
) -> ScoredColumns:
    """Scores of the rows that have a weight, centred, and the targets of the classes."""
    rows = np.flatnonzero(read.weight > 0)
    weight = read.weight[rows]
    prior = np.bincount(read.codes[rows], weight, len(read.classes)) / weight.sum()
    targets = (np.eye(len(prior))[read.codes[rows]] - prior) * weight[:, None]
    blocks = [_view_scores(read, v, rows) for v in range(read.data.n_views)]
    S = np.hstack(blocks)
    is_known = ~np.isnan(S)
    S = np.where(is_known, S, np.float32(0))
    mass = weight @ is_known
    S -= np.divide(weight @ S, mass, out=np.zeros(S.shape[1]), where=mass > 0)
    S[~is_known] = 0
    position = np.full(len(read.codes), -1)
    position[rows] = np.arange(len(rows))
    return ScoredColumns(
        S,
        None if is_known.all() else is_known,
        targets[:, 1:] if len(prior) == 2 else targets,
        None if units is None else np.unique(units[rows], return_inverse=True)[1],
        [position[fold][position[fold] >= 0] for fold in folds],
    )


def _view_scores(read: FeatureData, v: int, rows: np.ndarray) -> np.ndarray:
    """Scores of the columns of a view, NaN in rows without it and in columns of categories."""
    X = numeric_view(read.data, read.data.view_names[v])
    X = sp.csc_array(X[rows]) if sp.issparse(X) else X[rows]
    is_present = read.data.present[rows, v]
    out = np.full(X.shape, np.nan, dtype=np.float32)
    for start in range(0, X.shape[1], BLOCK_COLUMNS):
        columns = slice(start, start + BLOCK_COLUMNS)
        part = X[:, columns].toarray() if sp.issparse(X) else X[:, columns]
        out[is_present, columns] = normal_scores(part[is_present])
    return out


def unit_sums(E: np.ndarray, units: np.ndarray | None) -> np.ndarray:
    """Rows added up within groups."""
    if units is None:
        return E
    labels, numbers = np.unique(units, return_inverse=True)
    joined = sp.csr_array((np.ones(len(units)), (numbers, np.arange(len(units)))))
    return np.asarray(joined @ E) if len(labels) else E


def score_z(E: np.ndarray, units: np.ndarray | None) -> np.ndarray:
    """Σ_i e_ij / √Σ_i e_ij², 0 for features without any variation."""
    E = unit_sums(E, units)
    sums, norms = E.sum(axis=0, dtype=np.float64), np.sqrt(np.einsum("ij,ij->j", E, E))
    return np.divide(sums, norms, out=np.zeros_like(sums), where=norms > 0)


def _fold_z(E: np.ndarray, columns: ScoredColumns) -> np.ndarray:
    units = columns.units
    return np.array([score_z(E[f], None if units is None else units[f]) for f in columns.folds])


def alone_association(columns: ScoredColumns) -> Association:
    """Each feature by itself."""
    n_features, n_targets = columns.S.shape[1], columns.targets.shape[1]
    z, fold_z = np.zeros(n_features), np.zeros((len(columns.folds), n_features))
    for start in range(0, n_features, BLOCK_COLUMNS):
        block = slice(start, start + BLOCK_COLUMNS)
        S = columns.S[:, block]
        by_class = np.array([score_z(S * t[:, None], columns.units) for t in columns.targets.T])
        best = np.abs(by_class).argmax(axis=0)
        own = by_class[best, np.arange(S.shape[1])]
        z[block] = np.abs(own)
        fold_z[:, block] = _fold_z(S * columns.targets[:, best] * np.sign(own), columns)
    return Association(z, fold_z, n_targets)


def pair_association(columns: ScoredColumns) -> Association | None:
    """Each feature with its best partner; None if there are too many pairs or a single column."""
    (n, n_features), n_targets = columns.S.shape, columns.targets.shape[1]
    if n_features < 2 or float(n) * n_features**2 * n_targets > MAX_PAIR_PRODUCTS:
        return None
    z, partner = np.zeros(n_features), np.zeros(n_features, dtype=np.intp)
    fold_z = np.zeros((len(columns.folds), n_features))
    for t in columns.targets.astype(np.float32).T:
        best = best_partners(columns.S, t)
        for start in range(0, n_features, BLOCK_COLUMNS):
            block = np.arange(start, min(start + BLOCK_COLUMNS, n_features))
            E = _centred_products(columns, block, best[block]) * t[:, None]
            own = score_z(E, columns.units)
            is_larger = np.abs(own) > z[block]
            rows = block[is_larger]
            z[rows], partner[rows] = np.abs(own[is_larger]), best[rows]
            fold_z[:, rows] = _fold_z(E[:, is_larger] * np.sign(own[is_larger]), columns)
    return Association(z, fold_z, n_targets * (n_features - 1), partner)


def best_partners(S: np.ndarray, t: np.ndarray) -> np.ndarray:
    """argmax_l |Σ_i t_i s_ij s_il| over the other columns l, for each column j.

    Sums are symmetric in j and l: a block of columns is compared with itself and those after it.
    """
    n_features = S.shape[1]
    largest, partner = np.full(n_features, -1.0, dtype=S.dtype), np.zeros(n_features, np.intp)
    for start in range(0, n_features, BLOCK_COLUMNS):
        end = min(start + BLOCK_COLUMNS, n_features)
        sums = (S[:, start:end] * t[:, None]).T @ S[:, start:]
        np.abs(sums, out=sums)
        own = np.arange(end - start)
        sums[own, own] = -1
        for axis, columns in ((1, slice(start, end)), (0, slice(end, None))):
            part = sums if axis == 1 else sums[:, end - start :]
            top = part.max(axis=axis, initial=-1)
            is_larger = np.flatnonzero(top > largest[columns])
            chosen = part[is_larger] if axis == 1 else part[:, is_larger]
            improved = np.arange(n_features)[columns][is_larger]
            largest[improved] = top[is_larger]
            partner[improved] = start + chosen.argmax(axis=axis)
    return partner


def _centred_products(columns: ScoredColumns, first: Any, second: Any) -> np.ndarray:
    """Products of two columns less their mean, 0 where one of them is missing."""
    P = columns.S[:, first] * columns.S[:, second]
    if columns.is_known is None:
        return np.asarray(P - P.mean(axis=0))
    is_known = columns.is_known[:, first] & columns.is_known[:, second]
    means = P.sum(axis=0) / np.maximum(is_known.sum(axis=0), 1)
    return np.where(is_known, P - means, np.float32(0))
