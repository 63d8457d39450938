"""Labels that are probably wrong, by predictions for rows left out.

If a label is wrong with probability η, then the probability that the label y of a row is right is
(1 − η) p(y) / q(y), where q are the probabilities of the labels as given, predicted without the
row, and p those of the true classes: q = (1 − η) p + η (1 − p) / (K − 1). It grows with q(y), by
which labels are ranked. η is estimated by confident learning: the share of the rows that another
class claims with at least its mean confidence in its own rows (C. Northcutt, L. Jiang and
I. Chuang, "Confident learning: estimating uncertainty in dataset labels", JAIR 70, 2021); only such
rows are suspects.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import Bunch

from consilience._parameters import FRACTION
from consilience.trust._conformal import ConformalClassifier
from consilience.trust._fdr import q_values_of_probabilities

__all__ = ["confident_claims", "find_label_errors", "wrong_label_probabilities"]

MIN_NOISE, MAX_NOISE = 1e-3, 0.45
TINY = 1e-12


def confident_claims(q: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Mask of rows that another class claims with at least its mean confidence in its own rows."""
    n_classes = q.shape[1]
    own = q[np.arange(len(codes)), codes]
    totals = np.maximum(np.bincount(codes, minlength=n_classes), 1)
    thresholds = np.bincount(codes, weights=own, minlength=n_classes) / totals
    claims = np.where(q >= thresholds, q, 0.0)
    return (claims.argmax(axis=1) != codes) & (claims.max(axis=1) > 0)


def wrong_label_probabilities(q: np.ndarray, codes: np.ndarray, noise: float) -> np.ndarray:
    """Probability that each label is wrong, from left-out probabilities of the labels as given."""
    own = np.maximum(q[np.arange(len(codes)), codes], TINY)
    share = noise / (q.shape[1] - 1)
    true = np.clip((own - share) / (1.0 - noise - share), 0.0, 1.0)
    return 1.0 - np.clip((1.0 - noise) * true / own, 0.0, 1.0)


def find_label_errors(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    fdr: float = 0.2,
    cv: Any = 5,
    groups: Any = None,
    random_state: Any = None,
) -> Bunch:
    """Find samples whose label is probably wrong.

    Parameters
    ----------
    estimator : classifier or None
        An unfitted classifier of several views; None means ``ConsilienceClassifier``, which is
        fitted once, as it has left-out predictions of its own. Others are fitted without each
        fold.
    X : MultiViewData, or any input of several views
        Samples.
    y : array of shape (n_samples,)
        Labels, some of them perhaps wrong.
    fdr : float, default=0.2
        Largest expected share of right labels among the suspects.
    cv : int, splitter or iterable of splits, default=5
        Folds, for all classifiers but ``ConsilienceClassifier``.
    groups : array of shape (n_samples,), optional
        Groups of rows that are left out together.
    random_state : int, RandomState or None, default=None
        Seed of the classifier, if it has none of its own.

    Returns
    -------
    Bunch
        ``suspects``, numbers of the rows, the most suspicious first; ``q_value`` of each, the
        expected share of right labels among the suspects up to this one; ``view``, None for
        each, as it is the label that is wrong; ``label``, the class predicted without the row;
        ``probability`` (n_samples,), that the label is wrong; ``score`` (n_samples,), by which
        labels are ranked, small for suspicious ones.

    Notes
    -----
    The q-values rest on the probabilities of the classifier, and on the assumption that a label is
    exchanged for any other one equally often. Where classes overlap, they are too small:
    ``docs/results/trust.md`` has what was measured.

    Examples
    --------
    >>> import numpy as np
    >>> from consilience.datasets import make_multiview_classification
    >>> from consilience.fusion import LateFusionClassifier
    >>> from consilience.trust import find_label_errors
    >>> data, y = make_multiview_classification(400, n_classes=3, strength=4, random_state=0)
    >>> labels = y.copy()
    >>> labels[:10] = (labels[:10] + 1) % 3
    >>> result = find_label_errors(LateFusionClassifier(), data, labels)
    >>> len(np.intersect1d(result.suspects, np.arange(10))) >= 9
    True
    """
    if not FRACTION.is_satisfied_by(fdr):
        raise ValueError(f"fdr must be a number between 0 and 1, got {fdr!r}")
    model = ConformalClassifier(estimator, cv=cv, random_state=random_state)
    model.set_params(method="left-out" if model._takes_tables() else "cv+")
    rows, q = model.fit(X, y, groups=groups)._left_out_predictions()
    codes = np.searchsorted(model.classes_, np.asarray(y))
    wrong = np.zeros(len(codes))
    score = np.ones(len(codes))
    is_claimed = np.zeros(len(codes), dtype=bool)
    is_claimed[rows] = confident_claims(q, codes[rows])
    noise = float(np.clip(is_claimed[rows].mean(), MIN_NOISE, MAX_NOISE))
    wrong[rows] = wrong_label_probabilities(q, codes[rows], noise)
    score[rows] = q[np.arange(len(rows)), codes[rows]]
    best = np.full(len(codes), -1)
    best[rows] = q.argmax(axis=1)
    # where the probability is 1 for many rows, the probability of their label orders them
    order = np.lexsort((score, -wrong))
    q_value = np.empty(len(codes))
    q_value[order] = q_values_of_probabilities(wrong[order])
    suspects = order[(q_value[order] <= fdr) & is_claimed[order]]
    return Bunch(
        suspects=suspects,
        view=[None] * len(suspects),
        q_value=q_value[suspects],
        label=model.classes_[best[suspects]],
        probability=wrong,
        score=score,
    )
