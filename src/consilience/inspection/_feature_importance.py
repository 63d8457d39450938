"""Importance of features: how well they agree with the labels, in the model, alone and in pairs.

A model's score of class k for row i is a sum of contributions c_ijk of the features j. With
T_ik = 1[y_i = k] − (share of class k), the agreement of feature j with the label of row i is

    e_ij = Σ_k T_ik c_ijk.

Its mean over rows that the model has not learned from is the covariance of the feature's
contributions with the labels; over all features it adds up to the covariance of the score with the
labels. For a forest it is the impurity decrease without its bias (X. Li, Y. Wang, S. Basu, K.
Kumbier, B. Yu, "A debiased MDI feature importance measure for random forests", NeurIPS 2019). What
counts here is the same without the size of the contributions, which a model that has to estimate
many of them knows badly: z = Σ_i e_ij / √Σ_i e_ij² in each fold; if the model has members, their
mean by the members' weights.

A feature that has nothing to do with the class has contributions that agree and disagree equally
often, whatever the model has made of it, so that z has mean 0 and variance 1 in each fold. The sum
of z over F folds, divided by √F, has at most the tail of the length of a normal vector with K − 1
coordinates: which of the K classes a feature speaks for is learned in the other folds, and if the
sum is large they all have learned the same. This gives p-values; docs/results/features.md shows how
they behave.

A model divides its credit among features that say the same, and cannot estimate many weak effects
from few rows. So z is averaged with that of the feature by itself, and a feature with a partner
that makes it informative is found by a test of pairs (``_association``, ``_combined_evidence``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from consilience._folds import encode_groups, split_rows
from consilience.inspection._association import (
    Association,
    alone_association,
    pair_association,
    score_columns,
)
from consilience.inspection._combined_evidence import combine_evidence, largest_log_p, mean_z
from consilience.inspection._evidence import find_evidence, member_evidence
from consilience.inspection._feature_data import (
    FeatureData,
    class_effects,
    read_features,
)
from consilience.inspection._feature_data import feature_names as name_features
from consilience.inspection._feature_table import FeatureImportance
from consilience.inspection._scoring import to_estimator_of_views
from consilience.inspection._training_rows import check_no_training_rows
from consilience.views import MultiViewData

__all__ = ["feature_importance"]

FOLD_Z = 1.645  # z at which a feature is significant in a fold: one-sided, at a level of 5 %


@dataclass(frozen=True, eq=False)
class FoldEvidence:
    """Evidence of the rows of a fold: their weight, Σ_i e_ij, z_j, and the number of rows."""

    mass: float
    sums: np.ndarray
    z: np.ndarray
    n_units: int


def fold_evidence(
    model: Any,
    background: MultiViewData | None,
    test: MultiViewData,
    codes: np.ndarray,
    weight: np.ndarray,
    prior: np.ndarray,
    seed: int,
) -> FoldEvidence:
    """Evidence of rows that the model has not learned from; the rows of a group count as one."""
    targets = (np.eye(len(prior))[codes] - prior) * weight[:, None]
    numbers = None if test.groups is None else encode_groups(test.groups)
    sums, z = np.zeros(test.shape[1]), np.zeros(test.shape[1])
    for member_weight, E in member_evidence(find_evidence(model, background, seed), test, targets):
        E = E if numbers is None else _sum_groups(E, numbers)
        sums += E.sum(axis=0)
        z += member_weight * agreement_z(E)
    n_units = int((weight > 0).sum()) if numbers is None else int(numbers.max()) + 1
    return FoldEvidence(float(weight.sum()), sums, z, n_units)


def _sum_groups(E: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    totals = np.zeros((numbers.max() + 1, E.shape[1]))
    np.add.at(totals, numbers, E)
    return totals


def agreement_z(E: np.ndarray) -> np.ndarray:
    """Σ_i e_ij / √Σ_i e_ij², 0 for features without contributions."""
    sums, norms = E.sum(axis=0), np.sqrt(np.einsum("ij,ij->j", E, E))
    return np.divide(sums, norms, out=np.zeros_like(sums), where=norms > 0)


def total_z(fold_z: np.ndarray, coverage: float) -> np.ndarray:
    """Σ_f z_f / √F, of variance 1 or less for features without a relation to the class.

    Rows that are in several test sets (``coverage`` on average) count once.
    """
    return np.asarray(fold_z.sum(axis=0) / np.sqrt(len(fold_z) * coverage))


def q_values(p: np.ndarray) -> np.ndarray:
    """Smallest false discovery rate at which each p-value is rejected (Benjamini–Hochberg)."""
    order = np.argsort(p, kind="stable")
    scaled = p[order] * len(p) / np.arange(1, len(p) + 1)
    out = np.empty(len(p))
    out[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return out


def feature_importance(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = 5,
    groups: Any = None,
    sample_weight: Any = None,
    feature_names: Mapping[str, Any] | None = None,
    random_state: int = 0,
) -> FeatureImportance:
    """Measure what each feature of each view says about the class.

    Clones of the estimator are fitted on folds, and the contributions of each feature to the
    scores of the rows left out are compared with their labels. ``in_model`` says how well they
    agree, from −1 to 1, and ``contribution`` how much of the score's covariance with the labels is
    due to the feature. Contributions are conditional on the other features: what two features, in
    the same or in different views, say equally well is credited to both in parts.

    ``alone`` is the agreement of the feature by itself, whatever the model makes of it, and
    ``importance`` the mean of the two: around 0 for a feature of no use. A feature that
    informs about the class only together with another one is found by a test of all pairs, and its
    importance is that of the pair if this is larger.

    The contributions are those of the model itself for ``ConsilienceClassifier``, the boosting,
    margin, vote, landmark and sparse methods and the fusion of linear classifiers. For all others,
    groups of correlated features are permuted and share the loss equally.

    Parameters
    ----------
    estimator : classifier
        A classifier of this package, or a Pipeline of ``ViewTransformer`` steps and one. It is not
        changed, except that ``cv="prefit"`` takes it as it is fitted.
    X : MultiViewData, matrix or any multi-view input
        Samples. A single matrix is split into views by the estimator's ``views``.
    y : array of shape (n_samples,)
        Labels.
    cv : int, splitter, iterable of splits or "prefit", default=5
        Folds; stratified, and with groups whole groups, if it is a number. "prefit" takes a fitted
        estimator, and X must hold rows that it has not learned from.
    groups : array of shape (n_samples,), optional
        Groups of rows that are kept together and count as one observation in ``q_value``; by
        default the groups of a MultiViewData.
    sample_weight : array of shape (n_samples,), optional
        Weights of the rows, in fit and in the importance.
    feature_names : dict of view -> list, optional
        Names of the columns of views that have none of their own.
    random_state : int, default=0
        Seed of the permutations, where they are needed.

    Returns
    -------
    FeatureImportance

    See Also
    --------
    select_features : Features at a given false discovery rate.
    view_shapley : Importance of whole views.

    Notes
    -----
    ``q_value`` rests on the null hypothesis that a feature is independent of the class, also
    together with the other features. A feature that is only correlated with an informative one
    is not independent of the class, and may be selected for good reason.

    Pairs are examined if rows · columns² · classes is at most 2 · 10¹¹ (300 rows with 25 000
    columns). Columns of categories have the model's evidence only.

    Examples
    --------
    >>> from consilience import ConsilienceClassifier
    >>> from consilience.datasets import make_multiview_biomarkers
    >>> from consilience.inspection import feature_importance
    >>> problem = make_multiview_biomarkers(120, n_features=[20, 40], random_state=0)
    >>> model = ConsilienceClassifier(n_estimators=30, random_state=0)
    >>> result = feature_importance(model, problem.data, problem.target)
    >>> best = result.top(1)
    >>> bool(problem.informative[best.view[0]][best.feature[0]])
    True
    """
    read = read_features(estimator, X, y, groups, sample_weight, "feature_importance")
    names = name_features(read.data, feature_names)
    if isinstance(cv, str) and cv == "prefit":
        tests = [np.arange(len(read.codes))]
        folds = [_prefit_evidence(estimator, read, random_state)]
    else:
        estimator = to_estimator_of_views(estimator, X)
        splits = list(split_rows(cv, read.codes, read.data, read.classes))
        tests = [test for _, test in splits]
        folds = [_split_evidence(estimator, read, *split, random_state) for split in splits]
    return summarise_folds(folds, tests, read, names)


def _split_evidence(
    estimator: Any, read: FeatureData, train: np.ndarray, test: np.ndarray, seed: int
) -> FoldEvidence:
    """Evidence of the test rows for a clone fitted on the training rows."""
    missing = np.setdiff1d(np.arange(len(read.classes)), read.codes[train])
    if len(missing):
        raise ValueError(
            f"class {read.classes[missing[0]]!r} has no training rows in one of the folds; use "
            "fewer folds or leave it out"
        )
    model = fit_clone(estimator, read, train)
    totals = np.bincount(read.codes[train], weights=read.weight[train])
    return fold_evidence(
        model,
        read.data[train[read.weight[train] > 0]],
        read.data[test],
        read.codes[test],
        read.weight[test],
        totals / totals.sum(),
        seed,
    )


def fit_clone(estimator: Any, read: FeatureData, rows: np.ndarray) -> Any:
    """A clone fitted on some of the rows, with weights where they differ."""
    weight = read.weight[rows]
    model = clone(estimator)
    if (weight == 1).all():
        return model.fit(read.data[rows], read.y[rows])
    if hasattr(model, "steps"):
        return model.fit(
            read.data[rows], read.y[rows], **{f"{model.steps[-1][0]}__sample_weight": weight}
        )
    return model.fit(read.data[rows], read.y[rows], sample_weight=weight)


def _prefit_evidence(model: Any, read: FeatureData, seed: int) -> FoldEvidence:
    check_is_fitted(model)
    unknown = np.setdiff1d(read.classes, model.classes_)
    if len(unknown):
        raise ValueError(f"y has labels that the estimator was not fitted on: {unknown.tolist()}")
    check_no_training_rows(model, read.data)
    codes = np.searchsorted(model.classes_, read.y)
    # the shares of these rows: with others, a contribution that all rows have would agree
    totals = np.bincount(codes, read.weight, len(model.classes_))
    prior = totals / totals.sum()
    return fold_evidence(model, read.data, read.data, codes, read.weight, prior, seed)


def summarise_folds(
    folds: list[FoldEvidence],
    tests: list[np.ndarray],
    read: FeatureData,
    names: tuple[np.ndarray, np.ndarray],
) -> FeatureImportance:
    """Importances, their spread over folds, q-values and effects."""
    units = None if read.data.groups is None else encode_groups(read.data.groups)
    columns = score_columns(read, units, tests)
    alone, pair = alone_association(columns), pair_association(columns)
    has_numbers = columns.S.any(axis=0)
    model_z = np.array([fold.z for fold in folds])
    tested = np.concatenate(tests)
    tested = tested[read.weight[tested] > 0]
    coverage = len(tested) / max(len(np.unique(tested)), 1)
    n_classes = len(read.classes)
    in_model = total_z(model_z, coverage)
    single = np.where(has_numbers, mean_z(in_model, alone.z), in_model)
    pair_log_p = None if pair is None else largest_log_p(pair.z, pair.n_choices)
    p, z, is_pair = combine_evidence(single, pair_log_p, n_classes)
    fold_z = np.where(has_numbers, mean_z(model_z, alone.fold_z), model_z)
    if pair is not None:
        fold_z = np.where(is_pair, pair.fold_z, fold_z)
    sizes = np.sqrt([max(fold.n_units, 1) for fold in folds])[:, None]
    root_n = np.sqrt(max(sum(fold.n_units for fold in folds) / coverage, 1))
    views, features = names
    return FeatureImportance(
        view=views,
        feature=features,
        column=name_features(read.data)[1],
        importance=z / root_n,
        std=(fold_z / sizes).std(axis=0),
        in_model=in_model / root_n,
        alone=np.where(has_numbers, alone.z / root_n, np.nan),
        partner=_partner_names(views, features, pair, is_pair),
        contribution=np.sum([fold.sums for fold in folds], axis=0)
        / sum(fold.mass for fold in folds),
        frequency=(fold_z > FOLD_Z).mean(axis=0),
        p_value=p,
        q_value=q_values(p),
        class_effect=class_effects(read.data, read.codes, read.weight, n_classes),
        classes=read.classes,
        n_folds=len(folds),
    )


def _partner_names(
    views: np.ndarray, features: np.ndarray, pair: Association | None, is_pair: np.ndarray
) -> np.ndarray:
    """View and name of the partner of features that are important in a pair, else empty."""
    out = np.full(len(views), "", dtype=object)
    if pair is not None and pair.partner is not None:
        for j in np.flatnonzero(is_pair):
            other = pair.partner[j]
            out[j] = f"{views[other]}: {features[other]}"
    return out
