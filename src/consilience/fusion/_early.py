"""Early fusion: one classifier on the concatenation of all views."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from consilience._base import MultiViewClassifier
from consilience._compat import Progress
from consilience._estimators import fit_weighted, seeded
from consilience.fusion._members import (
    best_method,
    block_shares,
    class_scores,
    use_default,
)

__all__ = ["EarlyFusionClassifier"]

# a concatenation with fewer stored values than this share is kept sparse
SPARSE_BELOW = 0.3


def concatenate(data, fill, sparse):
    """Views side by side, rows of missing views replaced by ``fill[view]`` (one row each)."""
    blocks = []
    for v, (name, view) in enumerate(data.items()):
        missing = ~data.present[:, v]
        if missing.any():
            view = _fill_rows(view, missing, fill[name])
        blocks.append(view)
    if sparse:
        return sp.hstack([sp.csr_array(block) for block in blocks], format="csr")
    return np.hstack([block.toarray() if sp.issparse(block) else block for block in blocks])


def view_means(data, weight):
    """Weighted column means of each view over the rows that have it (zeros if no row has)."""
    means = {}
    for v, (name, view) in enumerate(data.items()):
        rows = np.flatnonzero(data.present[:, v])
        share = weight[rows] / weight[rows].sum() if len(rows) else weight[rows]
        means[name] = np.asarray(share @ view[rows], dtype=np.float64).reshape(1, -1)
    return means


def density(data):
    """Share of stored values in the concatenation."""
    stored = sum(view.nnz if sp.issparse(view) else view.size for _, view in data.items())
    return stored / max(1, len(data) * data.shape[1])


def _fill_rows(view, missing, row):
    if sp.issparse(view):
        kept = sp.diags_array((~missing).astype(np.float64)).tocsr() @ _without_rows(view, missing)
        return kept + sp.csr_array(missing[:, None].astype(np.float64)) @ sp.csr_array(row)
    filled = view.astype(np.result_type(view.dtype, np.float32), copy=True)
    filled[missing] = row
    return filled


def _without_rows(view, missing):
    """The same matrix with stored values of missing rows set to zero, whatever they were."""
    clean = sp.csr_array(view, copy=True)
    clean.data[np.repeat(missing, np.diff(clean.indptr))] = 0
    return clean


def _estimator_has_proba(self):
    estimator = getattr(self, "estimator_", self.estimator)
    return estimator is None or hasattr(estimator, "predict_proba")


class EarlyFusionClassifier(MultiViewClassifier):
    """One classifier on all views side by side.

    A missing view is replaced by its training means, or passed on as NaN if the classifier takes
    NaN. The concatenation is sparse when fewer than 30 % of its values are stored.

    Parameters
    ----------
    estimator : classifier, default=None
        Any scikit-learn classifier; None is a logistic regression on scaled columns.
    views : None, list or dict, default=None
        Groups of columns when X is one matrix, or names of the views to use.
    class_weight : "balanced", dict or None, default=None
        Weights of the classes, multiplied into the sample weights.
    random_state : int, RandomState or None, default=None
        Seeds the classifier where it has no seed of its own.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    view_weights_ : ndarray of shape (n_views,)
        Share of each view in the decision, from coefficients or importances; AttributeError where
        the classifier has neither.
    view_names_ : list of str
        Names of the views.
    n_views_in_ : int
        Number of views.
    n_features_in_ : int
        Number of columns over all views.

    See Also
    --------
    LateFusionClassifier : One classifier per view.

    Examples
    --------
    >>> from consilience.datasets import load_digits_views
    >>> from consilience.fusion import EarlyFusionClassifier
    >>> digits = load_digits_views()
    >>> model = EarlyFusionClassifier().fit(digits.data[:500], digits.target[:500])
    >>> model.score(digits.data[500:], digits.target[500:])
    0.9...
    """

    def __init__(self, estimator=None, *, views=None, class_weight=None, random_state=None):
        self.estimator = estimator
        self.views = views
        self.class_weight = class_weight
        self.random_state = random_state

    def _fit(self, data, codes, weight):
        self._sparse = any(sp.issparse(v) for _, v in data.items()) and density(data) < SPARSE_BELOW
        means = view_means(data, weight)
        probe = sp.csr_array((1, 1)) if self._sparse else np.zeros((1, 1))
        estimator = seeded({"": use_default(self.estimator, probe)}, self.random_state)[""]
        if get_tags(estimator).input_tags.allow_nan:
            means = {name: np.full_like(row, np.nan) for name, row in means.items()}
        self._fill = means
        X = concatenate(data, self._fill, self._sparse)
        with Progress(self, n_tasks=0):
            self.estimator_ = fit_weighted(estimator, X, self.classes_[codes], weight, "all views")

    def _scores(self, data):
        return self._answer(data, best_method(self.estimator_))

    def _answer(self, data, method):
        X = concatenate(data, self._fill, self._sparse)
        return class_scores(self.estimator_, X, method, self.classes_)

    @available_if(_estimator_has_proba)
    def predict_proba(self, X):
        """Probabilities of the classes, as the classifier gives them.

        Parameters
        ----------
        X : MultiViewData, matrix, or any input that ``as_multiview`` reads
            Samples with the views seen in fit.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return self._with_prior(X, lambda data: self._answer(data, "predict_proba"))

    @property
    def view_weights_(self):
        """Share of each view in the decision."""
        shares = None
        if hasattr(self, "estimator_"):
            shares = block_shares(self.estimator_, list(self._layout.widths))
        if shares is None:
            raise AttributeError(
                "view_weights_ needs a fitted classifier with coef_ or feature_importances_ "
                "over the columns of the views"
            )
        return shares
