"""Checks of scikit-learn's estimators and of the parts of them that compiled code reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from consilience._compat import (
    compiled_loss_types,
    compiled_tree_type,
    histogram_node_dtype,
    is_probabilistic_svm,
)
from consilience._model_checks._arrays import check_binary_tree, check_length, require

__all__ = ["CHECKS", "SUPPORTED", "check_tree"]

# estimators whose predictions are computed by NumPy, which checks shapes and indices itself
COMPUTED_BY_NUMPY = {
    "AdaBoostClassifier", "BaggingClassifier", "BernoulliNB", "Binarizer", "CategoricalNB",
    "ColumnTransformer", "ComplementNB", "DummyClassifier", "FeatureUnion", "FunctionTransformer",
    "GaussianNB", "GaussianRandomProjection", "IncrementalPCA", "KBinsDiscretizer",
    "KernelCenterer", "KernelPCA", "KNNImputer", "LabelBinarizer", "LabelEncoder",
    "LinearDiscriminantAnalysis", "LinearRegression", "LinearSVC", "LogisticRegression",
    "LogisticRegressionCV", "MaxAbsScaler", "MinMaxScaler", "MissingIndicator", "MLPClassifier",
    "MultinomialNB", "NearestCentroid", "Normalizer", "Nystroem", "OneHotEncoder",
    "OneVsOneClassifier", "OneVsRestClassifier", "OrdinalEncoder", "OutputCodeClassifier", "PCA",
    "PassiveAggressiveClassifier", "Perceptron", "Pipeline", "PowerTransformer",
    "QuadraticDiscriminantAnalysis", "QuantileTransformer", "RBFSampler", "Ridge",
    "RidgeClassifier", "RidgeClassifierCV", "RobustScaler", "SelectFromModel", "SelectKBest",
    "SelectPercentile", "SelfTrainingClassifier", "SGDClassifier", "SimpleImputer",
    "SparseRandomProjection", "StackingClassifier", "StandardScaler", "TfidfTransformer",
    "TruncatedSVD", "VarianceThreshold", "VotingClassifier",
}  # fmt: skip
INTERNAL_PREFIXES = ("sklearn._loss.", "sklearn.linear_model._sgd_fast.")
INTERNAL_TYPES = {"_BinMapper", "TreePredictor"}
TREE_CLASSIFIERS = ("DecisionTreeClassifier", "ExtraTreeClassifier")
SVM_KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")


def is_internal(kind: type) -> bool:
    """Whether a type is a part of scikit-learn's fitted estimators that holds plain values."""
    if kind in compiled_loss_types() or kind.__name__ in INTERNAL_TYPES:
        return True
    return f"{kind.__module__}.{kind.__qualname__}".startswith(INTERNAL_PREFIXES)


def check_tree(tree: Any) -> None:
    """Check the compiled part of a decision tree."""
    n_nodes = tree.node_count
    # the capacity is that of the arrays in the file; without them there is no memory to read
    require(0 < n_nodes <= tree.capacity, f"a tree has {n_nodes} of {tree.capacity} nodes")
    require(tree.n_outputs == 1, "trees with several outputs are not supported")
    left, right = tree.children_left, tree.children_right
    is_split = left != -1
    check_binary_tree(left, right, is_split)
    feature = tree.feature[is_split]
    require(
        ((feature >= 0) & (feature < tree.n_features)).all(), "a tree splits on unknown columns"
    )
    depth = int(tree.compute_node_depths().max()) - 1  # a root alone has the depth 1 there
    require(tree.max_depth >= depth, "a tree is deeper than it says")
    require(np.isfinite(tree.value).all(), "a tree has values that are not finite")


def check_histogram_tree(predictor: Any) -> None:
    """Check ``TreePredictor``; the columns of its splits are checked by its ensemble."""
    nodes = predictor.nodes
    require(
        isinstance(nodes, np.ndarray) and nodes.dtype == histogram_node_dtype() and nodes.ndim == 1,
        "the nodes of a tree have an unknown format",
    )
    require(len(nodes) > 0, "a tree has no nodes")
    check_binary_tree(nodes["left"], nodes["right"], nodes["is_leaf"] == 0)
    require(not nodes["is_categorical"].any(), "trees on categories are not supported")
    require(np.isfinite(nodes["value"]).all(), "a tree has values that are not finite")


def _n_features(model: Any) -> int:
    # without this attribute scikit-learn does not check the number of columns
    n_features = getattr(model, "n_features_in_", None)
    is_count = type(n_features) is int and n_features > 0
    require(is_count, f"{type(model).__name__} lacks the number of its columns")
    return int(n_features)  # type: ignore[arg-type]


def _n_classes(model: Any) -> int:
    classes = model.classes_
    require(isinstance(classes, np.ndarray) and classes.ndim == 1, "classes must be an array")
    require(len(classes) > 0, "there must be a class")
    return len(classes)


def check_decision_tree(model: Any) -> None:
    """Check a single tree: its columns and classes are those of the estimator."""
    # the tree itself is checked when the walk comes to it
    require(type(model.tree_) is compiled_tree_type(), f"{type(model).__name__} has no tree")
    require(model.tree_.n_features == _n_features(model), "a tree was grown on other columns")
    require(model.n_outputs_ == 1, "trees with several outputs are not supported")
    n_values = _n_classes(model) if hasattr(model, "classes_") else 1
    require(model.tree_.max_n_classes == n_values, "a tree was grown for other classes")


def check_forest(model: Any) -> None:
    """Check a forest: its trees are called without checks of the input."""
    require(isinstance(model.estimators_, list) and model.estimators_, "a forest has no trees")
    for tree in model.estimators_:
        require(type(tree).__name__ in TREE_CLASSIFIERS, "the members of a forest must be trees")
        require(_n_features(tree) == _n_features(model), "a forest has trees of other columns")
        require(_n_classes(tree) == _n_classes(model), "a forest has trees of other classes")


def check_gradient_boosting(model: Any) -> None:
    """Check gradient boosting, which adds up the values of trees in compiled code."""
    n_classes = _n_classes(model)
    n_columns = 1 if n_classes == 2 else n_classes
    trees = model.estimators_
    is_table = isinstance(trees, np.ndarray) and trees.dtype == object and trees.ndim == 2
    require(is_table and trees.shape[1] == n_columns, "there must be a tree for each class")
    for tree in trees.ravel():
        require(type(tree).__name__ == "DecisionTreeRegressor", "the members must be trees")
        require(_n_features(tree) == _n_features(model), "the trees have other columns")
    require(model._loss.is_multiclass == (n_columns > 1), "the loss is for other classes")
    if not (isinstance(model.init_, str) and model.init_ == "zero"):
        require(type(model.init_).__name__ == "DummyClassifier", "init is not supported")
        check_length(model.init_.class_prior_, n_classes, "class_prior_")
        require(model.init_.n_outputs_ == 1, "init_ must have one output")
    else:
        require(model.n_trees_per_iteration_ == n_columns, "there must be a tree for each class")


def check_histogram_boosting(model: Any) -> None:
    """Check histogram gradient boosting: the columns of the splits, none of them categories."""
    require(model._preprocessor is None, "columns of categories are not supported")
    has_categories = np.any(model._bin_mapper.is_categorical_)
    require(not has_categories, "columns of categories are not supported")
    n_features = _n_features(model)
    for round_ in model._predictors:
        for predictor in round_:
            require(type(predictor).__name__ == "TreePredictor", "a tree is of another type")
            columns = predictor.nodes["feature_idx"][predictor.nodes["is_leaf"] == 0]
            is_known = (columns >= 0) & (columns < n_features)
            require(is_known.all(), "a tree splits on unknown columns")


def check_support_vectors(model: Any) -> None:
    """Check SVC and NuSVC: libsvm reads as many values as the counts of support vectors say."""
    n_classes = _n_classes(model)
    n_pairs = n_classes * (n_classes - 1) // 2
    require(n_classes > 1, "a support vector machine needs two classes")
    counts, support, vectors = model._n_support, model.support_, model.support_vectors_
    check_length(counts, n_classes, "_n_support")
    require(counts.dtype == np.int32 and (counts >= 0).all(), "_n_support must hold counts")
    n_vectors = int(counts.sum(dtype=np.int64))
    check_length(support, n_vectors, "support_")
    require(support.dtype == np.int32, "support_ must hold row numbers")
    kernel = model.kernel
    require(isinstance(kernel, str) and kernel in SVM_KERNELS, f"the kernel is {kernel!r}")
    is_sparse = model._sparse
    require(type(is_sparse) is bool and sp.issparse(vectors) == is_sparse, "_sparse does not fit")
    if kernel == "precomputed":
        n_rows = model.shape_fit_[0]
        require(n_rows == _n_features(model), "shape_fit_ must fit the columns")
        is_known = (support >= 0) & (support < n_rows)
        require(not is_sparse and is_known.all(), "support_ must hold row numbers")
    else:
        shape = (n_vectors, _n_features(model))
        require(vectors.shape == shape, f"support_vectors_ must have the shape {shape}")
    require(vectors.dtype == np.float64, "support_vectors_ must be numbers")
    coefs = model._dual_coef_
    require(sp.issparse(coefs) == is_sparse, "_dual_coef_ does not fit _sparse")
    require(coefs.shape == (n_classes - 1, n_vectors), "_dual_coef_ has another shape")
    require(not is_sparse or coefs.nnz == coefs.shape[0] * coefs.shape[1], "_dual_coef_ has gaps")
    require(coefs.dtype == np.float64, "_dual_coef_ must be numbers")
    if not is_sparse:
        is_contiguous = vectors.flags.c_contiguous and coefs.flags.c_contiguous
        require(is_contiguous, "the arrays of a support vector machine must be contiguous")
    check_length(model._intercept_, n_pairs, "_intercept_")
    n_coefs = n_pairs if is_probabilistic_svm(model) else 0
    for name in ("_probA", "_probB"):
        check_length(getattr(model, name), n_coefs, name)


def check_neighbours(model: Any) -> None:
    """Check nearest neighbours: the rows they are searched in, and the classes of these rows."""
    require(model._fit_method == "brute", "only algorithm='brute' is supported")
    rows, codes = model._fit_X, model._y
    is_matrix = sp.issparse(rows) or isinstance(rows, np.ndarray)
    require(is_matrix and rows.ndim == 2 and rows.dtype.kind == "f", "_fit_X must be a matrix")
    require(rows.shape[0] > 0, "there are no neighbours")
    require(rows.shape[1] == _n_features(model), "_fit_X has other columns")
    require(model.n_samples_fit_ == rows.shape[0], "n_samples_fit_ is another number of rows")
    require(not model.outputs_2d_, "several outputs are not supported")
    check_length(codes, rows.shape[0], "_y")
    is_code = codes.dtype == np.intp and codes.min() >= 0 and codes.max() < _n_classes(model)
    require(is_code, "_y must hold the numbers of classes")
    k = model.n_neighbors
    require(type(k) is int and 0 < k <= rows.shape[0], f"n_neighbors is {k!r}")
    for name in ("metric", "effective_metric_"):
        require(isinstance(getattr(model, name), str), f"{name} must be a string")
    for parameters in (model.metric_params, model.effective_metric_params_):
        has_only_power = not parameters or (
            set(parameters) <= {"p", "w"} and parameters.get("w") is None
        )
        require(has_only_power, "parameters of a metric are not supported")


def check_vocabulary(model: Any) -> None:
    """Check a vocabulary: its numbers become the indices of a sparse matrix."""
    words = model.vocabulary_
    require(isinstance(words, dict), "vocabulary_ must be a dict")
    numbers = np.array(list(words.values()))
    is_complete = numbers.dtype.kind == "i" and (np.sort(numbers) == np.arange(len(words))).all()
    require(is_complete, "the words of a vocabulary must be numbered from 0")


# checks of fitted estimators
CHECKS: dict[str, Callable[[Any], None]] = {
    "CountVectorizer": check_vocabulary,
    "DecisionTreeClassifier": check_decision_tree,
    "DecisionTreeRegressor": check_decision_tree,
    "ExtraTreeClassifier": check_decision_tree,
    "ExtraTreesClassifier": check_forest,
    "GradientBoostingClassifier": check_gradient_boosting,
    "HistGradientBoostingClassifier": check_histogram_boosting,
    "KNeighborsClassifier": check_neighbours,
    "NuSVC": check_support_vectors,
    "RandomForestClassifier": check_forest,
    "SVC": check_support_vectors,
    "TfidfVectorizer": check_vocabulary,
}
SUPPORTED = COMPUTED_BY_NUMPY | set(CHECKS)
