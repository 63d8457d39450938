"""Labels that are probably wrong, by predictions for rows left out.

Labels are ranked by the probability that a classifier fitted without the row gives them. Suspects
are the rows for which another class is predicted, and that another class claims with at least its
mean confidence in its own rows (C. Northcutt, L. Jiang and I. Chuang, "Confident learning:
estimating uncertainty in dataset labels", JAIR 70, 2021).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import Bunch, column_or_1d

from consilience._default._kernel import N_TESTED_ROWS
from consilience.trust._conformal import ConformalClassifier

__all__ = ["confident_claims", "find_label_errors"]


def confident_claims(q: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Mask of rows that another class claims with at least its mean confidence in its own rows."""
    n_classes = q.shape[1]
    own = q[np.arange(len(codes)), codes]
    totals = np.maximum(np.bincount(codes, minlength=n_classes), 1)
    thresholds = np.bincount(codes, weights=own, minlength=n_classes) / totals
    claims = np.where(q >= thresholds, q, 0.0)
    return (claims.argmax(axis=1) != codes) & (claims.max(axis=1) > 0)


def find_label_errors(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = 5,
    groups: Any = None,
    random_state: Any = None,
) -> Bunch:
    """Find samples whose label is probably wrong.

    Parameters
    ----------
    estimator : classifier or None
        An unfitted classifier of several views; None means ``ConsilienceClassifier``, which is
        fitted once up to 5000 samples, as it has left-out predictions of its own. Others, and
        the default with more samples, are fitted without each fold.
    X : MultiViewData, or any input of several views
        Samples.
    y : array of shape (n_samples,)
        Labels, some of them perhaps wrong.
    cv : int, splitter or iterable of splits, default=5
        Folds, for classifiers that are fitted without each of them; every sample is left out at
        most once.
    groups : array of shape (n_samples,), optional
        Groups of rows that are left out together.
    random_state : int, RandomState or None, default=None
        Seed of the classifier, if it has none of its own.

    Returns
    -------
    Bunch
        ``suspects``, numbers of the rows, the most suspicious first; ``label``, for each the class
        predicted without the row; ``view``, None for each, as it is the label that is wrong;
        ``probability`` (n_samples,), of all classes but the one given, without the row, by which
        labels are ranked; 0 for rows that were never left out.

    Notes
    -----
    The suspects are a list to look through, not one with a known rate of errors: where classes
    overlap, most of them can have right labels (102 of 140 on landuse21, with 10 % of its labels
    wrong). Look at the first ones first.

    Examples
    --------
    >>> import numpy as np
    >>> from consilience.datasets import make_multiview_classification
    >>> from consilience.fusion import LateFusionClassifier
    >>> from consilience.trust import find_label_errors
    >>> data, y = make_multiview_classification(400, n_classes=3, strength=8, random_state=0)
    >>> labels = y.copy()
    >>> labels[:10] = (labels[:10] + 1) % 3
    >>> result = find_label_errors(LateFusionClassifier(), data, labels)
    >>> sorted(result.suspects.tolist())
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    """
    labels = column_or_1d(y)
    model = ConformalClassifier(estimator, cv=cv, random_state=random_state)
    # the default leaves out a sample of the rows only where these are many
    own = model._takes_tables() and len(labels) <= N_TESTED_ROWS
    model.set_params(method="left-out" if own else "cv+")
    rows, q = model.fit(X, y, groups=groups)._left_out_predictions()
    codes = np.searchsorted(model.classes_, labels[rows])
    probability = np.zeros(len(labels))
    probability[rows] = 1.0 - q[np.arange(len(rows)), codes]
    predicted = q.argmax(axis=1)
    claimed = np.flatnonzero(confident_claims(q, codes) & (predicted != codes))
    claimed = claimed[np.argsort(-probability[rows[claimed]], kind="stable")]
    return Bunch(
        suspects=rows[claimed],
        view=[None] * len(claimed),
        label=model.classes_[predicted[claimed]],
        probability=probability,
    )
