"""Selection of features at a false discovery rate, and how stable it is.

Two ways control the rate. Either the p-values of ``feature_importance`` are corrected by the
procedure of Benjamini and Hochberg, or every view gets a copy with its rows permuted, whose
features have nothing to do with the class: the number of copies that are more important than their
originals by some margin estimates how many originals are so by chance (R. F. Barber and E. J.
Candès, "Controlling the false discovery rate via knockoffs", Annals of Statistics 43, 2015, with
permuted copies in place of knockoffs).

Stability is the frequency with which a feature is among the strongest in models fitted on halves of
the samples, drawn in complementary pairs, with a bound on the expected number of features that are
frequent by chance (R. D. Shah and R. J. Samworth, "Variable selection with error control: another
look at stability selection", Journal of the Royal Statistical Society B 75, 2013).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp

from consilience._folds import encode_groups
from consilience.inspection._feature_data import FeatureData, read_features
from consilience.inspection._feature_data import feature_names as name_features
from consilience.inspection._feature_importance import (
    feature_importance,
    fit_clone,
    fold_evidence,
    q_values,
)
from consilience.inspection._feature_table import FeatureImportance, format_rows
from consilience.inspection._scoring import to_estimator_of_views
from consilience.views import MultiViewData
from consilience.views import _storage as storage

__all__ = ["FeatureSelection", "select_features"]

STABLE_FREQUENCY = 0.75  # threshold τ of the bound
METHODS = ("agreement", "copies")


@dataclass(frozen=True, eq=False)
class FeatureSelection:
    """Selected features and their stability.

    Attributes
    ----------
    selected_ : dict of view -> list
        Names of the selected features, or their numbers in views without names, the most important
        ones first.
    mask_ : ndarray of shape (n_features,)
        True for the selected features, in the order of ``importance_``.
    importance_ : FeatureImportance
        Importance of all features.
    frequency_ : ndarray of shape (n_features,) or None
        Share of the halves in which each feature is among the strongest.
    n_strongest_ : int
        Number of features that are the strongest in a half.
    max_false_stable_ : float or None
        Bound on the expected number of features that have a frequency of 0.75 or more but whose
        probability of being among the strongest is below average.
    fdr : float
        False discovery rate.
    method : str
        How it was controlled.

    Examples
    --------
    >>> from consilience.datasets import make_multiview_classification
    >>> from consilience.fusion import LateFusionClassifier
    >>> from consilience.inspection import select_features
    >>> data, y = make_multiview_classification(60, n_views=2, n_features=3, random_state=0)
    >>> result = select_features(LateFusionClassifier(), data, y, cv=2, n_pairs=1)
    >>> result.mask_.shape, result.method
    ((6,), 'agreement')
    """

    selected_: dict[str, list[Any]]
    mask_: np.ndarray
    importance_: FeatureImportance
    frequency_: np.ndarray | None
    n_strongest_: int
    max_false_stable_: float | None
    fdr: float
    method: str

    @property
    def stable_(self) -> np.ndarray:
        """True for the features with a frequency of 0.75 or more."""
        if self.frequency_ is None:
            raise AttributeError("there is no frequency: select_features was called with n_pairs=0")
        return self.frequency_ >= STABLE_FREQUENCY

    def __str__(self) -> str:
        total = int(self.mask_.sum())
        lines = [f"{total} of {len(self.mask_)} features at a false discovery rate of {self.fdr:g}"]
        best = np.flatnonzero(self.mask_)
        best = best[np.argsort(-self.importance_.importance[best], kind="stable")]
        rows = [("view", "feature", "importance", "q", "frequency", "higher in")]
        for j in best:
            often = "" if self.frequency_ is None else f"{self.frequency_[j]:.2f}"
            rows.append(
                (
                    str(self.importance_.view[j]),
                    str(self.importance_.feature[j]),
                    f"{self.importance_.importance[j]:.3f}",
                    f"{self.importance_.q_value[j]:.3f}",
                    often,
                    str(self.importance_.higher_in[j]),
                )
            )
        lines += [format_rows(rows)] if total else []
        if self.max_false_stable_ is not None:
            lines.append(
                f"of features with a frequency of {STABLE_FREQUENCY} or more, at most "
                f"{self.max_false_stable_:.2g} are expected to be so by chance"
            )
        return "\n".join(lines)


def select_features(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    fdr: float = 0.1,
    method: str = "agreement",
    cv: Any = 5,
    n_pairs: int = 10,
    groups: Any = None,
    sample_weight: Any = None,
    feature_names: Mapping[str, Any] | None = None,
    random_state: int = 0,
) -> FeatureSelection:
    """Select features of all views at a false discovery rate.

    Parameters
    ----------
    estimator : classifier
        As in ``feature_importance``.
    X : MultiViewData, matrix or any multi-view input
        Samples.
    y : array of shape (n_samples,)
        Labels.
    fdr : float in (0, 1), default=0.1
        Expected share of features without any relation to the class among those selected.
    method : {"agreement", "copies"}, default="agreement"
        "agreement" corrects the p-values of ``feature_importance``. "copies" fits the models on the
        views and on copies of them with permuted rows, at twice the cost or more; it needs no
        p-values, but at least 1 / fdr features must stand out for any to be selected.
    cv : int, splitter or iterable of splits, default=5
        Folds, as in ``feature_importance``.
    n_pairs : int, default=10
        Number of complementary pairs of halves for the frequency of selection, each of which takes
        two fits on half of the rows; 0 for none.
    groups : array of shape (n_samples,), optional
        Groups of rows that are kept together.
    sample_weight : array of shape (n_samples,), optional
        Weights of the rows.
    feature_names : dict of view -> list, optional
        Names of the columns of views that have none of their own.
    random_state : int, default=0
        Seed of the halves and copies.

    Returns
    -------
    FeatureSelection

    See Also
    --------
    feature_importance : The importance that the selection rests on.
    ViewFeatureSelector : The same as a step of a pipeline.

    Examples
    --------
    >>> from consilience.datasets import make_multiview_biomarkers
    >>> from consilience.fusion import LateFusionClassifier
    >>> from consilience.inspection import select_features
    >>> problem = make_multiview_biomarkers(200, n_features=[20, 40], random_state=1)
    >>> result = select_features(LateFusionClassifier(), problem.data, problem.target)
    >>> {view: len(features) for view, features in result.selected_.items()}
    {'view0': 5, 'view1': 5}
    """
    if not 0 < fdr < 1:
        raise ValueError(f"fdr must be between 0 and 1, got {fdr!r}")
    if method not in METHODS:
        raise ValueError(f"method must be 'agreement' or 'copies', got {method!r}")
    if not isinstance(n_pairs, int) or n_pairs < 0:
        raise ValueError(f"n_pairs must be an integer >= 0, got {n_pairs!r}")
    read = read_features(estimator, X, y, groups, sample_weight, "select_features")
    estimator = to_estimator_of_views(estimator, X)
    views, features = name_features(read.data, feature_names)
    options = {"cv": cv, "sample_weight": sample_weight, "random_state": random_state}
    if method == "agreement":
        importance = feature_importance(
            estimator, read.data, read.y, feature_names=feature_names, **options
        )
        mask = importance.q_value <= fdr
    else:
        given = {view: features[views == view].tolist() for view in read.data.view_names}
        importance, mask = _contest(estimator, read, given, fdr, options, random_state)
    importance = replace(importance, view=views, feature=features)
    frequency, n_strongest, bound = None, 0, None
    if n_pairs:
        n_strongest = max(1, int(np.sqrt(len(mask) / 2)))
        frequency = half_frequencies(estimator, read, n_strongest, n_pairs, random_state)
        bound = n_strongest**2 / ((2 * STABLE_FREQUENCY - 1) * len(mask))
    selected: dict[str, list[Any]] = {name: [] for name in read.data.view_names}
    for j in np.argsort(-importance.importance, kind="stable"):
        if mask[j]:
            selected[importance.view[j]].append(importance.feature[j])
    return FeatureSelection(selected, mask, importance, frequency, n_strongest, bound, fdr, method)


# -- permuted copies -----------------------------------------------------------------------------


def _contest(
    estimator: Any,
    read: FeatureData,
    names: Mapping[str, list[Any]],
    fdr: float,
    options: dict[str, Any],
    seed: int,
) -> tuple[FeatureImportance, np.ndarray]:
    """Importance of the features beside their permuted copies, and which of them win."""
    rng = np.random.RandomState(seed)
    widths = read.data.widths
    # the partner of a feature may be a copy
    named = {view: [*own, *(f"{name} (permuted)" for name in own)] for view, own in names.items()}
    data = with_copies(read.data, rng)
    result = feature_importance(estimator, data, read.y, feature_names=named, **options)
    is_copy = np.concatenate([np.arange(2 * width) >= width for width in widths.values()])
    # an importance below 0 means that a feature is of no use, not that its copy is
    positive = np.maximum(result.importance, 0.0)
    margin = positive[~is_copy] - positive[is_copy]
    own = result.take(~is_copy)
    own = replace(own, q_value=q_values(own.p_value))
    return own, margin >= contest_threshold(margin, fdr)


def contest_threshold(margin: np.ndarray, fdr: float) -> float:
    """Smallest t > 0 with (1 + #{margin <= −t}) / #{margin >= t} at most ``fdr``, or infinity."""
    for t in np.unique(np.abs(margin[margin != 0])):
        if 1 + (margin <= -t).sum() <= fdr * (margin >= t).sum():
            return float(t)
    return np.inf


def with_copies(data: MultiViewData, rng: np.random.RandomState) -> MultiViewData:
    """Every view beside a copy of it, whose rows are permuted among those that have the view."""
    views = {}
    for v, name in enumerate(data.view_names):
        rows = np.arange(len(data))
        present = np.flatnonzero(data.present[:, v])
        rows[present] = rng.permutation(present)
        views[name] = _side_by_side(data._views[name], storage.take_rows(data._views[name], rows))
    return data._replace(views)


def _side_by_side(view: Any, copy: Any) -> Any:
    if storage.is_dataframe(view):
        frame = nw.from_native(view, eager_only=True)
        other = nw.from_native(copy, eager_only=True)
        columns = [
            nw.new_series(
                f"{name} (permuted)",
                other[:, j].to_list(),
                frame[:, j].dtype,
                backend=frame.implementation,
            )
            for j, name in enumerate(frame.columns)
        ]
        return frame.with_columns(*columns).to_native()
    return sp.csr_array(sp.hstack([view, copy])) if sp.issparse(view) else np.hstack([view, copy])


# -- complementary pairs -------------------------------------------------------------------------


def half_frequencies(
    estimator: Any, read: FeatureData, n_strongest: int, n_pairs: int, seed: int
) -> np.ndarray:
    """Share of the halves in which each feature is among the strongest of a model fitted on it."""
    rng = np.random.RandomState(seed)
    counts = np.zeros(read.data.shape[1])
    for _ in range(n_pairs):
        is_first = draw_half(read, rng)
        for half in (np.flatnonzero(is_first), np.flatnonzero(~is_first)):
            counts[strongest(estimator, read, half, n_strongest, seed)] += 1
    return counts / (2 * n_pairs)


def draw_half(read: FeatureData, rng: np.random.RandomState) -> np.ndarray:
    """Mask of a random half of the rows of each class, or of the groups."""
    if read.data.groups is not None:
        numbers = encode_groups(read.data.groups)
        n_groups = int(numbers.max()) + 1
        return rng.permutation(np.arange(n_groups) % 2 == 0)[numbers]
    is_first = np.zeros(len(read.codes), dtype=bool)
    for k in range(len(read.classes)):
        rows = rng.permutation(np.flatnonzero(read.codes == k))
        is_first[rows[: (len(rows) + rng.randint(2)) // 2]] = True
    return is_first


def strongest(
    estimator: Any, read: FeatureData, rows: np.ndarray, n_strongest: int, seed: int
) -> np.ndarray:
    """Features that contribute most to the fit of a model on some rows; only these are used."""
    missing = np.setdiff1d(np.arange(len(read.classes)), read.codes[rows])
    if len(missing):
        raise ValueError(
            f"class {read.classes[missing[0]]!r} is too rare to be in both halves of the samples; "
            "leave it out or use n_pairs=0"
        )
    model = fit_clone(estimator, read, rows)
    totals = np.bincount(read.codes[rows], weights=read.weight[rows])
    data, codes, weight = read.data[rows], read.codes[rows], read.weight[rows]
    evidence = fold_evidence(model, data, data, codes, weight, totals / totals.sum(), seed)
    order = np.argsort(-evidence.sums, kind="stable")[:n_strongest]
    return order[evidence.sums[order] > 0]
