import pickle
import warnings

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

from consilience import BinnedTreeClassifier

# checks run, by scikit-learn version: a wrong tag would lower the number
N_CHECKS = {"1.9": 63}


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X, y


@pytest.mark.parametrize(
    "estimator",
    [
        BinnedTreeClassifier(),
        BinnedTreeClassifier(max_features="sqrt", random_state=0),
        BinnedTreeClassifier(splitter="random", random_state=0),
    ],
    ids=str,
)
def test_checks_of_scikit_learn(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(estimator, on_fail="raise", on_skip=None)
    assert {result["status"] for result in results} == {"passed"}
    version = ".".join(sklearn.__version__.split(".")[:2])
    assert len(results) == N_CHECKS.get(version, len(results))


@pytest.mark.parametrize("max_depth", [1, 2, 4, 8])
def test_predicts_as_scikit_learn_does(digits, max_depth):
    """17 values per feature: the same splits but for ties, which are rare in large leaves."""
    X, y = digits
    weight = np.random.default_rng(0).random(len(y))
    params = {"max_depth": max_depth, "min_samples_leaf": 20}
    ours = BinnedTreeClassifier(**params).fit(X, y, weight)
    theirs = DecisionTreeClassifier(**params, random_state=0).fit(X, y, weight)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-12)
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, atol=1e-12)
    assert ours.get_depth() == theirs.get_depth()
    # rounding makes scikit-learn split a pure node now and then
    assert ours.get_n_leaves() <= theirs.get_n_leaves() <= ours.get_n_leaves() + 2


@pytest.mark.parametrize("splitter", ["best", "random"])
def test_depths_are_refits(digits, splitter):
    X, y = digits
    y = np.array(list("abcdefghij"))[y]
    model = BinnedTreeClassifier(max_depth=7, splitter=splitter, random_state=0)
    model.fit(X[:1200], y[:1200])
    depths = model.predict_depths(X)
    assert depths.shape == (len(X), 7)
    for depth in range(1, 8):
        alone = clone(model).set_params(max_depth=depth).fit(X[:1200], y[:1200])
        np.testing.assert_array_equal(depths[:, depth - 1], alone.predict(X))
    np.testing.assert_array_equal(model.predict_depths(X, 9)[:, 8], model.predict(X))


def test_sparse_and_dense_are_the_same_data(digits):
    X, y = digits
    model = BinnedTreeClassifier(random_state=0, max_features=0.5).fit(X, y)
    for form in (sp.csr_array, sp.csc_array, sp.csr_matrix):
        other = clone(model).fit(form(X), y)
        np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(form(X)))


def test_missing_cells(digits):
    X, y = digits
    rng = np.random.default_rng(0)
    X = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    ours = BinnedTreeClassifier(max_depth=6, min_samples_leaf=10).fit(X[:1200], y[:1200])
    theirs = DecisionTreeClassifier(max_depth=6, min_samples_leaf=10, random_state=0)
    theirs.fit(X[:1200], y[:1200])
    assert ours.score(X[1200:], y[1200:]) >= theirs.score(X[1200:], y[1200:]) - 0.03
    # a column of NaN alone says nothing
    X[:, 3] = np.nan
    again = BinnedTreeClassifier(max_depth=6).fit(X, y)
    assert again.feature_importances_[3] == 0


def test_missing_at_prediction_only(digits):
    """Where no NaN was seen, they go to the side with more weight, as in scikit-learn."""
    X, y = digits
    ours = BinnedTreeClassifier(max_depth=5, min_samples_leaf=20).fit(X, y)
    theirs = DecisionTreeClassifier(max_depth=5, min_samples_leaf=20, random_state=0).fit(X, y)
    spoiled = np.where(np.random.default_rng(0).random(X.shape) < 0.3, np.nan, X)
    np.testing.assert_array_equal(ours.predict(spoiled), theirs.predict(spoiled))


@pytest.mark.parametrize("class_weight", ["balanced", {0: 5, 3: 0.1}])
def test_class_weights_multiply_sample_weights(digits, class_weight):
    X, y = digits
    X, y = X[y < 4][:-100], y[y < 4][:-100]
    weight = np.random.default_rng(0).integers(1, 4, size=len(y))
    ours = BinnedTreeClassifier(max_depth=3, class_weight=class_weight).fit(X, y, weight)
    counts = np.bincount(y, weights=weight)
    if class_weight == "balanced":
        factors = counts.sum() / (4 * counts)
    else:
        factors = np.array([5, 1, 1, 0.1])
    other = BinnedTreeClassifier(max_depth=3).fit(X, y, weight * factors[y])
    np.testing.assert_allclose(ours.predict_proba(X), other.predict_proba(X), atol=1e-12)


def test_least_weight_of_a_leaf(digits):
    X, y = digits
    weight = np.random.default_rng(0).random(len(y))
    model = BinnedTreeClassifier(min_weight_fraction_leaf=0.05).fit(X, y, weight)
    leaves = model.tree_.value[model.tree_.feature < 0].sum(axis=1)
    assert leaves.min() >= 0.05 * weight.sum()
    assert leaves.min() < 0.1 * weight.sum()


def test_works_with_scikit_learn_tools(digits, tmp_path):
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(BinnedTreeClassifier(), {"max_depth": [1, 2, 3]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.9
    boosted = AdaBoostClassifier(BinnedTreeClassifier(max_depth=2), n_estimators=20)
    assert boosted.fit(X, y).score(X, y) > 0.97
    bagged = BaggingClassifier(BinnedTreeClassifier(), n_jobs=2, random_state=0)
    assert cross_val_score(bagged, *digits, cv=3).mean() > 0.85
    model = search.best_estimator_
    joblib.dump(model, tmp_path / "tree.joblib")
    for copy in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "tree.joblib", "r")):
        np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))


def test_one_class():
    model = BinnedTreeClassifier().fit([[0.0], [1.0]], ["a", "a"])
    assert model.predict([[5.0]]).tolist() == ["a"]
    assert model.predict_proba([[5.0]]).tolist() == [[1.0]]
    assert model.predict_depths([[5.0]]).tolist() == [["a"]]
    assert model.feature_importances_.tolist() == [0.0]
    assert model.get_depth() == 0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_depth", 0),
        ("max_depth", 31),
        ("max_depth", 2.0),
        ("max_depth", True),
        ("criterion", "entropy"),
        ("splitter", "worst"),
        ("max_bins", 256),
        ("min_samples_leaf", 0),
        ("min_weight_fraction_leaf", 0.6),
        ("max_features", 0),
        ("max_features", 1.5),
        ("max_features", "cube"),
        ("class_weight", "uneven"),
    ],
)
def test_invalid_parameters_raise(name, value):
    model = BinnedTreeClassifier(**{name: value})
    with pytest.raises(ValueError, match=name):
        model.fit([[0.0], [1.0]], [0, 1])


def test_weights_are_repeated_rows_beyond_the_bins():
    rng = np.random.RandomState(0)
    X = rng.randn(1000, 3)
    y = (X[:, 0] + 0.5 * rng.randn(1000) > 0).astype(int)
    weight = rng.randint(1, 6, size=1000)
    rows = np.repeat(np.arange(1000), weight)
    tree = BinnedTreeClassifier(2, min_samples_leaf=1)
    once = clone(tree).fit(X, y, sample_weight=weight).predict_proba(X)
    np.testing.assert_allclose(once, clone(tree).fit(X[rows], y[rows]).predict_proba(X))


def test_class_weight_may_name_a_class_that_a_fold_lacks():
    X, y = np.arange(8.0)[:, None], np.arange(8) % 2
    assert len(BinnedTreeClassifier(class_weight={0: 1, 1: 2, 2: 3}).fit(X, y).classes_) == 2
    with pytest.raises(ValueError, match="'max_bins' parameter"):
        BinnedTreeClassifier(max_bins="a").fit(X, y)


def test_a_stump_has_two_leaves():
    X = np.arange(8.0)[:, None]
    tree = BinnedTreeClassifier(max_depth=1).fit(X, X[:, 0] > 3)
    assert (tree.get_n_leaves(), tree.get_depth()) == (2, 1)


def test_a_tree_that_is_not_fitted_says_so():
    with pytest.raises(NotFittedError):
        BinnedTreeClassifier().predict(np.zeros((2, 3)))
