"""BinnedTreeClassifier: a compiled decision tree on binned features.

Features are binned once, into at most 255 bins, and the tree is grown on histograms of the bins
(``consilience._core.binned``). If no feature has more distinct values than bins, the splits are
those of scikit-learn's ``DecisionTreeClassifier``.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from consilience._core.binned import MAX_DEPTH, BinnedView
from consilience._core.exact import exact_sums, exact_total
from consilience._model_types import model_type
from consilience._parameters import (
    CLASS_WEIGHT,
    POSITIVE_INTEGER,
    RANDOM_STATE,
    Number,
    StrOptions,
    validate_parameters,
)
from consilience._targets import check_labels, check_weights
from consilience._training import TrainingClasses, unique_classes, weigh_classes
from consilience.distributed._binned_rows import bin_blocks
from consilience.distributed._blocks import comes_in_blocks
from consilience.distributed._matrix import read_matrix_blocks
from consilience.distributed._trees import TreeSpec, grow_trees
from consilience.views._index import check_series, row_labels
from consilience.views._sparse import validate_sparse

__all__ = ["BinnedTreeClassifier"]


@model_type("BinnedTreeClassifier")
class BinnedTreeClassifier(ClassifierMixin, BaseEstimator):
    """Decision tree on binned features.

    A greedy tree with the Gini criterion. Ties between splits are resolved in favour of the first
    feature, then of the lowest threshold; ties between classes in favour of the first class. NaN is
    supported: every split learns on which side to put it, by default on the heavier one.

    Parameters
    ----------
    max_depth : int, default=30
        Maximum depth of the tree, at most 30.
    criterion : {"gini"}, default="gini"
        Impurity that splits minimise.
    splitter : {"best", "random"}, default="best"
        ``"random"`` draws one threshold per feature between the minimum and the maximum in the
        node and chooses the best of them.
    max_bins : int, default=255
        Maximum number of bins per feature, at most 255.
    min_samples_leaf : int, default=1
        Minimum number of samples with positive weight in a leaf.
    min_weight_fraction_leaf : float, default=0.0
        Minimum share of a leaf in the sum of the weights, at most 0.5.
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        Number or fraction of features drawn in each node; None means all. If none of them allows a
        split, the others are tried in random order.
    class_weight : dict, "balanced" or None, default=None
        Factors of the sample weights by class.
    random_state : int, RandomState instance or None, default=None
        Seed of the random thresholds and features.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_classes_ : int
        Number of labels.
    tree_ : consilience._core.binned.Tree
        The fitted tree: NumPy arrays over its nodes.
    feature_importances_ : ndarray of shape (n_features,)
        Share of each feature in the decrease of impurity.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if the input had names.

    See Also
    --------
    sklearn.tree.DecisionTreeClassifier : Exact tree, without bins.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from consilience import BinnedTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = BinnedTreeClassifier(max_depth=3).fit(X, y)
    >>> round(tree.score(X, y), 3)
    0.973
    >>> tree.predict_depths(X[[0, 60, 120]])
    array([[0, 0, 0],
           [1, 1, 1],
           [1, 2, 2]])
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "max_depth": [Number(Integral, 1, MAX_DEPTH, closed="both")],
        "criterion": [StrOptions({"gini"})],
        "splitter": [StrOptions({"best", "random"})],
        "max_bins": [Number(Integral, 2, 255, closed="both")],
        "min_samples_leaf": [POSITIVE_INTEGER],
        "min_weight_fraction_leaf": [Number(Real, 0, 0.5, closed="both")],
        "max_features": [
            None,
            StrOptions({"sqrt", "log2"}),
            POSITIVE_INTEGER,
            Number(Real, 0, 1, closed="right"),
        ],
        "class_weight": CLASS_WEIGHT,
        "random_state": RANDOM_STATE,
    }

    def __init__(
        self,
        max_depth: int = MAX_DEPTH,
        *,
        criterion: str = "gini",
        splitter: str = "best",
        max_bins: int = 255,
        min_samples_leaf: int = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = None,
        class_weight: Any = None,
        random_state: Any = None,
    ) -> None:
        self.max_depth = max_depth
        self.criterion = criterion
        self.splitter = splitter
        self.max_bins = max_bins
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.class_weight = class_weight
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : array, CSR or CSC matrix of shape (n_samples, n_features)
            Training samples; values may be NaN. Also a dask array, or a ``BlockSequence`` of
            matrices in place of all three parameters; the tree is the same.
        y : array of shape (n_samples,)
            Labels, numbers or strings.
        sample_weight : array of shape (n_samples,), optional
            Weights >= 0; rows with weight 0 are ignored.

        Returns
        -------
        self
        """
        validate_parameters(self)
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        if comes_in_blocks(X):
            return self._fit_blocks(X, y, sample_weight, seed)
        check_series(row_labels(X), y=y, sample_weight=sample_weight)
        X = self._validate_samples(X, reset=True)
        y = check_labels(y, X.shape[0], type(self).__name__)
        weight = check_weights(sample_weight, len(y))
        if not weight.all():
            rows = np.flatnonzero(weight)
            X, y, weight = X[rows], y[rows], weight[rows]
        classes, codes = np.unique(y, return_inverse=True)
        factors = self._set_classes([(classes, exact_sums(weight, codes, len(classes)))]).factors
        weight = weight * factors[codes]
        self.tree_ = BinnedView(X, weight=weight, max_bins=self.max_bins).grow(
            codes,
            weight,
            n_classes=self.n_classes_,
            seed=seed,
            **self.grow_params(X.shape[1], exact_total(weight)),
        )
        return self

    def _set_classes(self, parts: list[tuple[np.ndarray, list[int]]]) -> TrainingClasses:
        """Set the classes from the label totals of all blocks."""
        self.classes_ = unique_classes(parts)
        self.n_classes_ = len(self.classes_)
        return weigh_classes(self.classes_, parts, self.class_weight)

    def _fit_blocks(self, X: Any, y: Any, sample_weight: Any, seed: int) -> Self:
        training, self.n_features_in_, names = read_matrix_blocks(
            X, y, sample_weight, self._set_classes, type(self).__name__
        )
        self.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        params = {**self.grow_params(self.n_features_in_, 0.0), "seed": seed}
        spec = TreeSpec(0, None, self.n_classes_, params, self.min_weight_fraction_leaf)
        (self.tree_,) = grow_trees(bin_blocks(training, [self.max_bins]), [spec])
        return self

    def grow_params(self, n_features: int, total_weight: float) -> dict[str, Any]:
        """Keyword arguments of ``BinnedView.grow`` for a tree on ``n_features`` columns.

        Parameters
        ----------
        n_features : int
            Number of columns.
        total_weight : float
            Sum of the sample weights.

        Returns
        -------
        dict
        """
        validate_parameters(self)
        return {
            "max_depth": self.max_depth,
            "min_samples_leaf": self.min_samples_leaf,
            "min_weight_leaf": self.min_weight_fraction_leaf * total_weight,
            "max_features": count_features(self.max_features, n_features),
            "splitter": self.splitter,
        }

    def predict(self, X: Any) -> np.ndarray:
        """Predict labels.

        Parameters
        ----------
        X : array, CSR or CSC matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        leaves = self.apply(X)
        return self.classes_[self.tree_.decision[leaves]]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Share of each class in the weight of the leaf.

        Parameters
        ----------
        X : array, CSR or CSC matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        leaves = self.apply(X)
        value = self.tree_.value[leaves]
        return value / value.sum(axis=1, keepdims=True)

    def apply(self, X: Any) -> np.ndarray:
        """Leaf that each sample reaches.

        Parameters
        ----------
        X : array, CSR or CSC matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        X = self._validate_samples(X)
        return self.tree_.apply(X)

    def predict_depths(self, X: Any, n_depths: int | None = None) -> np.ndarray:
        """Predict labels with the tree pruned to each depth.

        Column k − 1 contains the predictions of the tree grown with ``max_depth=k``.

        Parameters
        ----------
        X : array, CSR or CSC matrix of shape (n_samples, n_features)
            Samples.
        n_depths : int, optional
            Number of depths; the depth of the tree by default.

        Returns
        -------
        ndarray of shape (n_samples, n_depths)
        """
        X = self._validate_samples(X)
        return self.classes_[self.tree_.predict_depths(X, n_depths)]

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share of each feature in the decrease of impurity."""
        check_is_fitted(self)
        is_split = self.tree_.feature >= 0
        gains = np.bincount(
            self.tree_.feature[is_split],
            weights=self.tree_.gain[is_split],
            minlength=self.n_features_in_,
        )
        return gains / gains.sum() if gains.any() else gains

    def get_depth(self) -> int:
        """Depth of the tree."""
        check_is_fitted(self)
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Number of leaves."""
        check_is_fitted(self)
        return int((self.tree_.feature < 0).sum())

    def _validate_samples(self, X: Any, reset: bool = False) -> Any:
        """Validate samples without copying dtypes that the compiled code supports."""
        if not reset:
            check_is_fitted(self)
        return validate_data(
            self,
            validate_sparse(X, "X") if sp.issparse(X) else X,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan",
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


def count_features(max_features: Any, n_features: int) -> int:
    """``max_features`` as a number in 1 … n_features."""
    if max_features is None:
        return n_features
    if max_features in ("sqrt", "log2"):
        return max(1, int(getattr(np, max_features)(n_features)))
    if isinstance(max_features, Integral):
        return min(int(max_features), n_features)
    return max(1, int(max_features * n_features))
