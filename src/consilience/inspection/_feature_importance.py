"""Importance of features: how well their contributions agree with labels of rows left out.

A model's score of class k for row i is a sum of contributions c_ijk of the features j. With
T_ik = 1[y_i = k] − (share of class k), the agreement of feature j with the label of row i is

    e_ij = Σ_k T_ik c_ijk.

Its mean over rows that the model has not learned from is the covariance of the feature's
contributions with the labels; over all features it adds up to the covariance of the score with the
labels. For a forest it is the impurity decrease without its bias (X. Li, Y. Wang, S. Basu, K.
Kumbier, B. Yu, "A debiased MDI feature importance measure for random forests", NeurIPS 2019). The
importance is the same without the size of the contributions, which a model that has to estimate
many of them knows badly: the mean over the folds of Σ_i e_ij / √(n Σ_i e_ij²), between −1 and 1; if
the model has members, of their mean by the members' weights.

A feature that has nothing to do with the class has contributions that agree and disagree equally
often, whatever the model has made of it, so that z = Σ_i e_ij / √Σ_i e_ij² has mean 0 and variance
1 in each fold. The sum of z over F folds, divided by √F, has at most the tail of the length of a
normal vector with K − 1 coordinates: which of the K classes a feature speaks for is learned in the
other folds, and if the sum is large they all have learned the same. This gives p-values;
docs/results/features.md shows how they behave.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import chi2
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from consilience._folds import encode_groups, split_rows
from consilience.inspection._evidence import find_evidence, member_evidence
from consilience.inspection._feature_data import (
    FeatureData,
    class_effects,
    feature_names,
    read_features,
)
from consilience.inspection._feature_table import FeatureImportance
from consilience.inspection._training_rows import check_no_training_rows
from consilience.views import MultiViewData

__all__ = ["feature_importance"]

# the normal tail of a sum over few, skewed rows is right to about this factor, and selection from
# labels that say nothing should be empty more often than promised, not just as often
TAIL_FACTOR = 1.5
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


def total_z(folds: list[FoldEvidence]) -> np.ndarray:
    """Σ_f z_f / √F, of variance 1 or less for features without a relation to the class."""
    return np.sum([fold.z for fold in folds], axis=0) / np.sqrt(len(folds))


def agreement_p_values(z: np.ndarray, n_classes: int) -> np.ndarray:
    """p-values of positive agreement; 1 for features whose contributions disagree."""
    tail = TAIL_FACTOR * chi2.sf(z**2, n_classes - 1)
    return np.where(z > 0, np.minimum(tail, 1.0), 1.0)


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
    random_state: int = 0,
) -> FeatureImportance:
    """Measure how much each feature of each view contributes to correct predictions.

    Clones of the estimator are fitted on folds, and the contributions of each feature to the
    scores of the rows left out are compared with their labels. ``importance`` says how well they
    agree (from −1 to 1, around 0 for a feature of no use), ``contribution`` how much of the score's
    covariance with the labels is due to the feature. Contributions are conditional on the other
    features: what two features, in the same or in different views, say equally well is credited to
    both in parts.

    The contributions are those of the model itself for ``ConsilienceClassifier``, the boosting,
    margin, vote and landmark methods and the fusion of linear classifiers. For all others, groups
    of correlated features are permuted and share the loss equally.

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
    if isinstance(cv, str) and cv == "prefit":
        folds = [_prefit_evidence(estimator, read, random_state)]
    else:
        folds = [
            _split_evidence(estimator, read, train, test, random_state)
            for train, test in split_rows(cv, read.codes, read.data, read.classes)
        ]
    return summarise_folds(folds, read)


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
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    prior = np.asarray(getattr(last, "class_prior_", np.bincount(codes) / len(codes)))
    return fold_evidence(model, read.data, read.data, codes, read.weight, prior, seed)


def summarise_folds(folds: list[FoldEvidence], read: FeatureData) -> FeatureImportance:
    """Importances, their spread over folds, q-values and effects."""
    by_fold = np.array([fold.z / np.sqrt(max(fold.n_units, 1)) for fold in folds])
    n_classes = len(read.classes)
    p = agreement_p_values(total_z(folds), n_classes)
    is_selected = [fold.z > FOLD_Z for fold in folds]
    views, features = feature_names(read.data)
    return FeatureImportance(
        view=views,
        feature=features,
        importance=by_fold.mean(axis=0),
        std=by_fold.std(axis=0),
        contribution=np.sum([fold.sums for fold in folds], axis=0)
        / sum(fold.mass for fold in folds),
        frequency=np.mean(is_selected, axis=0),
        p_value=p,
        q_value=q_values(p),
        class_effect=class_effects(read.data, read.codes, read.weight, n_classes),
        classes=read.classes,
        n_folds=len(folds),
    )
