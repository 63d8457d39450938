"""Every condition of the checks has a value that violates it alone, and its limits are allowed."""

import copy
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
)
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, NuSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from consilience._model_checks import check_model
from consilience._model_checks._arrays import (
    MAX_EMPTY_LENGTH,
    check_array,
    check_binary_tree,
    check_length,
    check_sparse,
)
from consilience._model_checks._own import (
    check_boosted_member,
    check_layout,
    check_left_out_rows,
    check_table_model,
    check_table_view,
)
from consilience._model_checks._sklearn import check_histogram_tree
from consilience.fusion import LateFusionClassifier
from consilience.tables import FileArgument, TableModel, read_tables
from consilience.views import MultiViewData
from consilience.views._layout import ViewLayout

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
y = rng.integers(0, 3, 40)
SPARSE = sp.csr_array(np.where(X > 0, X, 0.0))


def probabilistic():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return SVC(probability=True).fit(X, y)


HONEST = {
    "root": DecisionTreeClassifier(max_depth=1).fit(np.zeros((4, 2)), [0, 1, 0, 1]),
    "tree": DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y),
    "regressor": DecisionTreeRegressor(max_depth=2).fit(X, y),
    "extra": ExtraTreesClassifier(2).fit(X, y),
    "boosted": GradientBoostingClassifier(n_estimators=2).fit(X, y),
    "two": GradientBoostingClassifier(n_estimators=2).fit(X, y > 0),
    "zero": GradientBoostingClassifier(n_estimators=2, init="zero").fit(X, y),
    "histogram": HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=5).fit(X, y),
    "svc": SVC().fit(X, y),
    "binary": SVC().fit(X, y > 0),
    "sparse": SVC().fit(SPARSE, y),
    "kernel": SVC(kernel="precomputed").fit(X @ X.T, y),
    "nu": NuSVC(nu=0.2).fit(X, y),
    "probabilities": probabilistic(),
    "all": KNeighborsClassifier(40, algorithm="brute").fit(X, y),
    "one": KNeighborsClassifier(1, algorithm="brute", metric="cosine").fit(X, y),
    "of sparse": KNeighborsClassifier(2, algorithm="brute").fit(SPARSE, y),
    "words": TfidfVectorizer().fit(["one two", "two three"]),
    "many jobs": ExtraTreesClassifier(2, n_jobs=-1).fit(X, y),
}


@pytest.mark.parametrize("name", HONEST)
def test_honest_models_are_accepted(name):
    check_model(HONEST[name])


def put(index, value):
    def change(array):
        array = array.copy()
        array[index] = value
        return array

    return change


def ones_less(array):
    return array[:-1]


def of_two_outputs():
    return DecisionTreeClassifier(max_depth=1).fit(X, np.column_stack([y, y])).tree_


FORGED = [
    ("tree", "tree_", lambda _: of_two_outputs(), "other classes|several outputs"),
    ("tree", "n_outputs_", lambda _: 2, "several outputs"),
    ("tree", "n_features_in_", float, "number of its columns"),
    ("tree", "n_features_in_", lambda _: 0, "number of its columns"),
    ("tree", "classes_", lambda c: c[:, None], "classes must be an array"),
    ("tree", "classes_", list, "classes must be an array"),
    ("tree", "classes_", lambda c: c[:0], "there must be a class"),
    ("extra", "estimators_", lambda _: [], "no trees"),
    ("extra", "estimators_", tuple, "no trees"),
    ("extra", "classes_", ones_less, "other classes"),
    ("boosted", "estimators_", lambda t: t[:, :2], "a tree for each class"),
    ("boosted", "estimators_", lambda t: t.ravel(), "a tree for each class"),
    ("boosted", "estimators_", lambda t: t.tolist(), "a tree for each class"),
    ("boosted", "estimators_", put((0, 0), HONEST["tree"]), "the members must be trees"),
    ("boosted", "estimators_", put((1, 2), DecisionTreeRegressor().fit(X[:, :2], y)), "other col"),
    ("boosted", "_loss", lambda _: HONEST["two"]._loss, "other classes"),
    ("two", "_loss", lambda _: HONEST["boosted"]._loss, "other classes"),
    ("boosted", "init_", lambda _: LogisticRegression().fit(X, y), "init is not supported"),
    ("boosted", "init_", lambda _: DummyClassifier().fit(X, y > 0), "class_prior_ must have 3"),
    ("zero", "n_trees_per_iteration_", lambda n: n + 1, "a tree for each class"),
    ("histogram", "_preprocessor", lambda _: HONEST["svc"], "categories are not supported"),
    ("histogram", "_predictors", lambda p: [[HONEST["tree"]], *p[1:]], "another type"),
    ("histogram", "n_features_in_", lambda _: 1, "unknown columns"),
    ("svc", "_n_support", lambda n: n.astype(np.int64), "must hold counts"),
    ("svc", "_n_support", ones_less, "_n_support must have 3"),
    ("svc", "_n_support", lambda n: n + np.array([-n[0] - 1, n[0] + 1, 0], n.dtype), "counts"),
    ("svc", "support_", lambda s: s.astype(np.int64), "must hold row numbers"),
    ("svc", "kernel", lambda _: np.dot, "the kernel is"),
    ("svc", "_sparse", int, "_sparse does not fit"),
    ("svc", "support_vectors_", lambda v: v.astype(np.float32), "must be numbers"),
    ("svc", "support_vectors_", np.asfortranarray, "contiguous"),
    ("svc", "_dual_coef_", np.asfortranarray, "contiguous"),
    ("svc", "_dual_coef_", lambda c: c.astype(np.float32), "must be numbers"),
    ("svc", "_dual_coef_", lambda c: c[:, :-1], "another shape"),
    ("svc", "_dual_coef_", sp.csr_array, "does not fit _sparse"),
    ("svc", "_probA", lambda _: np.zeros(3), "_probA must have 0"),
    ("svc", "probability", lambda _: True, "_probA must have 3"),
    ("svc", "_effective_probability", lambda _: True, "_probA must have 3"),
    ("probabilities", "_probB", ones_less, "_probB must have 3"),
    ("binary", "_intercept_", lambda b: np.r_[b, b], "_intercept_ must have 1"),
    ("sparse", "_dual_coef_", lambda c: sp.csr_array(np.eye(*c.shape)), "has gaps"),
    ("kernel", "shape_fit_", lambda _: (39, 39), "shape_fit_ must fit"),
    ("kernel", "support_", put(0, 40), "must hold row numbers"),
    ("kernel", "support_", put(0, -1), "must hold row numbers"),
    ("one", "_fit_X", lambda v: v.astype(int), "_fit_X must be a matrix"),
    ("one", "_fit_X", lambda v: v[0], "_fit_X must be a matrix"),
    ("one", "_fit_X", lambda v: v.tolist(), "_fit_X must be a matrix"),
    ("one", "n_samples_fit_", lambda n: n - 1, "another number of rows"),
    ("one", "outputs_2d_", lambda _: True, "several outputs"),
    ("one", "_y", ones_less, "_y must have 40"),
    ("one", "_y", lambda c: c.astype(np.int32), "numbers of classes"),
    ("one", "n_neighbors", float, "n_neighbors is 1.0"),
    ("one", "metric", lambda _: np.dot, "metric must be a string"),
    ("one", "effective_metric_", lambda _: 1, "effective_metric_ must be a string"),
    ("one", "metric_params", lambda _: {"V": 1}, "parameters of a metric"),
    ("one", "effective_metric_params_", lambda _: {"p": 2, "w": 3}, "parameters of a metric"),
    ("words", "vocabulary_", list, "vocabulary_ must be a dict"),
    ("words", "vocabulary_", lambda v: {**v, "more": 5}, "numbered from 0"),
    ("words", "vocabulary_", lambda v: {w: float(n) for w, n in v.items()}, "numbered from 0"),
    ("many jobs", "n_jobs", lambda _: -(10**9), "n_jobs is -1000000000"),
    ("many jobs", "n_jobs", lambda _: True, "n_jobs is True"),
]


@pytest.mark.parametrize(("name", "attribute", "change", "message"), FORGED)
def test_each_condition_is_checked(name, attribute, change, message):
    model = copy.deepcopy(HONEST[name])
    setattr(model, attribute, change(getattr(model, attribute, None)))
    with pytest.raises(ValueError, match=message):
        check_model(model)


def test_powers_of_a_metric_are_allowed():
    model = copy.deepcopy(HONEST["one"])
    model.metric_params = model.effective_metric_params_ = {"p": 3, "w": None}
    check_model(model)


def test_nodes_of_histogram_trees():
    def check(change):
        predictor = copy.deepcopy(HONEST["histogram"]._predictors[0][0])
        predictor.nodes = change(predictor.nodes)
        check_histogram_tree(predictor)

    check(lambda nodes: nodes)
    for change, message in [
        (lambda nodes: nodes.tolist(), "unknown format"),
        (lambda nodes: nodes[:, None], "unknown format"),
        (lambda nodes: nodes["value"], "unknown format"),
        (lambda nodes: nodes[:0], "no nodes"),
    ]:
        with pytest.raises(ValueError, match=message):
            check(change)


def matrix(**parts):
    """A sparse matrix of 3 rows and 4 columns with some of its parts replaced."""
    indices, indptr = np.array([0, 3, 1], np.int32), np.array([0, 2, 2, 3], np.int32)
    out = sp.csr_array((np.ones(3), indices, indptr), shape=(3, 4))
    for name, value in parts.items():
        setattr(out, name, value)
    return out


def test_sparse_matrices():
    check_sparse(matrix())
    check_sparse(sp.csc_array(matrix()))
    check_sparse(sp.csr_array((0, 5)))
    check_sparse(matrix(data=np.ones(3, dtype=bool)))
    flagged = matrix()
    flagged.has_sorted_indices = flagged.has_canonical_format = True
    check_sparse(flagged)
    assert "_has_canonical_format" not in vars(flagged)
    for forged, message in [
        (sp.coo_array(matrix()), "CSR or CSC"),
        (matrix(data=np.ones(3, dtype=complex)), "hold numbers"),
        (matrix(data=np.array([1, np.nan, 1])), "not finite"),
        (matrix(data=np.ones(2)), "does not fit the entries"),
        (matrix(indices=np.array([0, 4, 1], np.int32)), "beyond its shape"),
        (matrix(indices=np.array([0, -1, 1], np.int32)), "beyond its shape"),
        (matrix(indices=np.array([0, 1], np.int32)), "does not fit the entries"),
        (matrix(indices=np.array([0.0, 3, 1])), "must be integers"),
        (matrix(indices=np.array([0, 3, 1], np.int64)), "must be integers"),
        (matrix(indptr=np.array([0, 2, 3], np.int32)), "does not fit the shape"),
        (matrix(indptr=np.array([1, 2, 2, 3], np.int32)), "does not fit the shape"),
        (matrix(indptr=np.array([0, 3, 2, 3], np.int32)), "must not decrease"),
        (matrix(_shape=(3, 2**31 + 1)), "a sparse matrix is"),
    ]:
        with pytest.raises(ValueError, match=message):
            check_sparse(forged)
    column = sp.csc_array(matrix())
    column.indices = column.indices + 1  # rows beyond the last, of which there are 3
    with pytest.raises(ValueError, match="beyond its shape"):
        check_sparse(column)


def test_arrays():
    check_array(np.zeros((MAX_EMPTY_LENGTH, 0)))
    with pytest.raises(ValueError, match="no elements"):
        check_array(np.zeros((MAX_EMPTY_LENGTH + 1, 0)))
    check_length(np.zeros(2), 2, "a")
    for array, message in [([0, 0], "a must be an array"), (np.zeros((2, 1)), "a must have 2 en")]:
        with pytest.raises(ValueError, match=message):
            check_length(array, 2, "a")


@pytest.mark.parametrize(
    ("left", "right", "message"),
    [
        ([1, -1, 3, -1, -1], [2, -1, 4, -1, -1], None),
        ([1, -1, 3, -1, -1], [2, -1, 5, -1, -1], "follow"),
        ([1, -1, 2, -1, -1], [2, -1, 4, -1, -1], "follow"),
        ([1, -1, 3, -1, -1], [3, -1, 4, -1, -1], "no tree"),
        ([1, -1, -1, -1, -1], [2, -1, -1, -1, -1], "no tree"),
    ],
)
def test_binary_trees(left, right, message):
    left, right = np.array(left), np.array(right)
    if message is None:
        check_binary_tree(left, right, left >= 0)
        return
    with pytest.raises(ValueError, match=message):
        check_binary_tree(left, right, left >= 0)


def boosted_member():
    """Two rounds of two trees each: a stump and a leaf."""

    class Member:
        pass

    member = Member()
    member.starts = np.array([0, 3, 4, 7, 8])
    stump, leaf = [0, -1, -1], [-1]
    member.nodes = {
        "feature": np.array((stump + leaf) * 2, np.int32),
        "threshold": np.zeros(8),
        "left": np.array([1, -1, -1, -1] * 2, np.int32),
        "right": np.array([2, -1, -1, -1] * 2, np.int32),
        "missing_left": np.array([0, 1, 0.5, 0] * 2, np.float32),
        "value": np.zeros(8, np.float32),
    }
    member.base = np.zeros(2)
    return member


def test_boosted_trees_of_the_default():
    check_boosted_member(boosted_member())
    for change, message in [
        ({"starts": [0, 3, 4, 7, 8]}, "lack their starts"),
        ({"starts": np.array([[0, 3, 4, 7, 8]])}, "lack their starts"),
        ({"starts": np.array([0, 3, 4, 7, 8], np.int32)}, "lack their starts"),
        ({"starts": np.array([], np.int64)}, "lack their starts"),
        ({"starts": np.array([1, 3, 4, 7, 8])}, "lack their starts"),
        ({"starts": np.array([0, 3, 3, 7, 8])}, "overlap"),
        ({"starts": np.array([0, 3, 4, 7, 9])}, "must have 9 entries"),
        ({"starts": np.array([0, 3, 4, 8])}, "complete rounds"),
        ({"base": np.zeros(3)}, "complete rounds"),
        ({"base": np.zeros(0)}, "base scores"),
        ({"base": np.zeros((2, 1))}, "base scores"),
        ({"base": [0.0, 0.0]}, "base scores"),
        ({"base": np.zeros(2, np.float32)}, "base scores"),
        ({"nodes": None}, "lack arrays"),
    ]:
        member = boosted_member()
        vars(member).update(change)
        with pytest.raises(ValueError, match=message):
            check_boosted_member(member)
    for name, index, value, message in [
        ("left", 0, 3, "follow their parents"),
        ("left", 0, 0, "follow their parents"),
        ("right", 4, 3, "follow their parents"),
        ("right", 4, -1, "follow their parents"),
        ("missing_left", 5, 1.5, "must be shares"),
        ("missing_left", 5, -0.5, "must be shares"),
    ]:
        member = boosted_member()
        member.nodes[name][index] = value
        with pytest.raises(ValueError, match=message):
            check_boosted_member(member)
    for change, message in [
        ({"value": np.zeros(8)}, "value of boosted trees must be f4"),
        ({"value": np.zeros(7, np.float32)}, "value must have 8"),
        ({"more": np.zeros(8)}, "lack arrays"),
    ]:
        member = boosted_member()
        member.nodes.update(change)
        with pytest.raises(ValueError, match=message):
            check_boosted_member(member)


def test_views_of_tables(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,y\n" + "1,m,u\n3,n,v\n" * 5)
    read = read_tables([FileArgument(tmp_path / "t.csv", None)], target="y")
    (view,) = read.views.values()
    check_table_view(view)
    for name, value, message in [
        ("columns", "ab", "columns must be names"),
        ("columns", (1, 2), "columns must be names"),
        ("date_columns", {"a": 1}, "date_columns must be names"),
        ("text_columns", None, "text_columns must be names"),
        ("words", ("a",), "words must be those of one column"),
        ("words", None, "words must be those of one column"),
        ("source", None, "source must be the name"),
        ("width", 0, "a table is 0 wide"),
        ("width", True, "a table is True wide"),
        ("sparse", 0, "sparse must be True or False"),
        ("spells_alike", 1, "spells_alike must be True or False"),
        ("decimal", ";", "decimal must be a point or a comma"),
        ("decimal", None, "decimal must be a point or a comma"),
        ("points", ["a"], "points must be those of columns"),
        ("points", (("a", "both"),), "points must be those of columns"),
        ("categories", {"b": ("u",)}, "must be those of columns"),
        ("categories", (("z", ("u",)),), "must be those of columns"),
        ("categories", (("b", ("u", 1)),), "categories must be text"),
        ("categories", (("b", ()),), "categories must be text"),
        ("first_index", 2, "begin at index 0 or 1"),
        ("first_index", True, "begin at index 0 or 1"),
        ("kind", "other", "cannot be a 'other' view"),
    ]:
        forged = copy.deepcopy(view)
        object.__setattr__(forged, name, value)
        with pytest.raises(ValueError, match=message):
            check_table_view(forged)
    words = copy.deepcopy(view)
    object.__setattr__(words, "columns", ("a",))
    object.__setattr__(words, "words", ("one", "two"))
    check_table_view(words)
    model = TableModel(LogisticRegression(), read.views, "m", "y", key="id")
    check_model(model)
    for name, value, message in [
        ("na", "-999", "na must be text"),
        ("na", (-999,), "na must be text"),
        ("metric", 1, "metric must be text"),
        ("positive", None, "positive must be text"),
    ]:
        forged_model = copy.copy(model)
        setattr(forged_model, name, value)
        with pytest.raises(ValueError, match=message):
            check_model(forged_model)
    model.estimator = LateFusionClassifier()
    model.estimator.view_names_ = list(read.views)
    check_table_model(model)
    model.estimator.view_names_ = ["other"]
    for estimator in (model.estimator, make_pipeline(model.estimator)):
        model.estimator = estimator
        with pytest.raises(ValueError, match="tables must be those of the fitted views"):
            check_table_model(model)


def test_layouts():
    def layout(**values):
        out = ViewLayout.from_data(MultiViewData({"a": X, "b": X[:, :2]}))
        for name, value in values.items():
            object.__setattr__(out, name, value)
        return out

    check_layout(layout())
    for change, message in [
        ({"names": ["a", "b"]}, "must hold tuples"),
        ({"names": ("a",)}, "differ in length"),
        ({"names": ("a", 1)}, "must be strings"),
        ({"names": ("a", "a")}, "must be different"),
        ({"kinds": ("features", "other")}, "cannot be a 'other' view"),
        ({"kinds": ("features", 1)}, "cannot be a 1 view"),
        ({"widths": (3, 0)}, "a view is 0 wide"),
        ({"widths": (3, 2.0)}, "a view is 2.0 wide"),
        ({"widths": (3, None)}, "a view is None wide"),
        ({"kinds": ("features", "kernel")}, "a view is 2 wide"),
        ({"columns": (None, ["a", "b"])}, "columns must be a tuple"),
        ({"columns": (None, ("a",))}, "a name for each column"),
        ({"names": (), "widths": (), "kinds": (), "columns": ()}, "must be different"),
    ]:
        with pytest.raises(ValueError, match=message):
            check_layout(layout(**change))
    check_layout(layout(widths=(3, (2, 2))))
    check_layout(layout(kinds=("features", "kernel"), widths=(3, None)))
    check_layout(layout(columns=(None, ("a", "b"))))


def test_left_out_rows():
    """Empty cells are allowed, infinite ones are not."""
    sparse = sp.csr_array(np.array([[0.0, np.nan], [1.0, 0.0]]))
    rows = SimpleNamespace(views={"a": np.array([[1.0, np.nan]]), "b": sparse, "c": np.arange(3)})
    check_left_out_rows(rows)
    check_left_out_rows(SimpleNamespace(views=None))
    for name in "ab":
        broken = copy.deepcopy(rows)
        values = broken.views[name]
        (values.data if sp.issparse(values) else values)[..., 0] = -np.inf
        with pytest.raises(ValueError, match="a value of the left-out rows is infinite"):
            check_left_out_rows(broken)
