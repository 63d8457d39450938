"""Values that would crash compiled code are refused, each with a message that names the object."""

from contextlib import nullcontext

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from consilience import BinnedTreeClassifier, ConsilienceClassifier
from consilience._model_checks import check_model
from consilience._model_checks._trial import passed_trials
from consilience.fusion import LateFusionClassifier
from consilience.io import load, save
from consilience.kernel import MKLClassifier
from consilience.tables import FileArgument, TableModel, read_tables
from consilience.views import MultiViewData, ViewPreparer
from model_checks.zoo import frame_model

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
y = rng.integers(0, 3, 40)
SPARSE = sp.csr_array(np.where(X > 0, X, 0.0))


def edit_tree(name, index, value):
    def edit(model):
        state = model.tree_.__getstate__()
        state["nodes"] = state["nodes"].copy()
        state["nodes"][name][index] = value
        model.tree_.__setstate__(state)

    return edit


def set_tree(name, value):
    return lambda model: setattr(model.tree_, name, value)


def without_state(model):
    model.tree_ = type(model.tree_)(3, np.array([3]), 1)


def edit_nodes(name, index, value):
    def edit(model):
        model._predictors[0][0].nodes[name][index] = value

    return edit


def edit(attribute, change):
    return lambda model: setattr(model, attribute, change(getattr(model, attribute, None)))


def edit_sparse(attribute, part, change):
    def apply(model):
        matrix = getattr(model, attribute)
        setattr(matrix, part, change(getattr(matrix, part)))

    return apply


def put(index, value):
    def change(array):
        array = array.copy()
        array[index] = value
        return array

    return change


def last_tree(tree_edit):
    return lambda model: tree_edit(model.estimators_.ravel()[-1])


TREE = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
CASES = [
    (TREE, edit_tree("left_child", 0, 2**40), "children in a tree must follow"),
    (TREE, edit_tree("left_child", 0, 0), "children in a tree must follow"),
    (TREE, edit_tree("right_child", 0, -2), "children in a tree must follow"),
    (TREE, edit_tree("right_child", 0, 1), "a tree is no tree"),
    (TREE, edit_tree("feature", 0, 3), "unknown columns"),
    (TREE, edit_tree("feature", 0, -1), "unknown columns"),
    (TREE, set_tree("node_count", 10**6), "nodes"),
    (TREE, set_tree("node_count", 0), "nodes"),
    (TREE, set_tree("max_depth", 1), "deeper than it says"),
    (TREE, without_state, "0 nodes"),
    (TREE, edit("n_features_in_", lambda n: n + 1), "other columns"),
    (TREE, lambda model: delattr(model, "n_features_in_"), "number of its columns"),
    (TREE, edit("classes_", lambda c: c[:-1]), "other classes"),
    (TREE, edit("tree_", lambda tree: None), "has no tree"),
    (
        RandomForestClassifier(3).fit(X, y),
        edit("estimators_", lambda trees: [*trees[:2], LogisticRegression()]),
        "must be trees",
    ),
    (
        RandomForestClassifier(3).fit(X, y), edit("n_features_in_", lambda n: 2), "other columns",
    ),
    (
        GradientBoostingClassifier(n_estimators=2).fit(X, y),
        edit("classes_", lambda c: c[:2]),
        "a tree for each class",
    ),
    (
        GradientBoostingClassifier(n_estimators=2).fit(X, y),
        edit("_loss", lambda _: GradientBoostingClassifier(n_estimators=1).fit(X, y > 0)._loss),
        "other classes",
    ),
    *[
        (HistGradientBoostingClassifier(max_iter=1, min_samples_leaf=5).fit(X, y),
         edit_nodes(*change), message)
        for change, message in [
            (("left", 0, 2**31), "children"), (("left", 0, 0), "children"),
            (("feature_idx", 0, 3), "unknown columns"), (("feature_idx", 0, -1), "unknown columns"),
            (("is_categorical", 0, 1), "categories"), (("value", -1, np.nan), "not finite"),
        ]
    ],
    *[
        (SVC().fit(X, y), change, message)
        for change, message in [
            (edit("_n_support", put(0, 10**6)), "support_ must have"),
            (edit("_n_support", lambda n: np.array([n.sum() + 10**6, -(10**6), 0], np.int32)),
             "must hold counts"),
            (edit("support_vectors_", lambda v: v[:0]), "support_vectors_ must have"),
            (edit("support_vectors_", lambda v: v[:, :2]), "support_vectors_ must have"),
            (edit("_dual_coef_", lambda v: v[:1]), "_dual_coef_ has another shape"),
            (edit("_intercept_", lambda v: v[:1]), "_intercept_ must have 3 entries"),
            (edit("classes_", lambda v: v[:1]), "two classes"),
            (edit("_sparse", lambda v: True), "_sparse does not fit"),
            (edit("_effective_probability", lambda v: True), "_probA must have 3 entries"),
            (edit("kernel", lambda v: "other"), "the kernel is 'other'"),
        ]
    ],
    (SVC().fit(SPARSE, y), edit_sparse("support_vectors_", "indices", put(0, 2**30)), "beyond"),
    (SVC().fit(SPARSE, y), edit_sparse("_dual_coef_", "indptr", put(1, 10**6)), "indptr"),
    *[
        (KNeighborsClassifier(3, algorithm="brute").fit(X, y), change, message)
        for change, message in [
            (edit("_fit_X", lambda v: v[:0]), "no neighbours"),
            (edit("_fit_X", lambda v: v[:, :2]), "other columns"),
            (edit("_y", put(0, 3)), "numbers of classes"),
            (edit("_y", put(0, -1)), "numbers of classes"),
            (edit("n_neighbors", lambda k: 41), "n_neighbors is 41"),
            (edit("n_neighbors", lambda k: 0), "n_neighbors is 0"),
            (edit("_fit_method", lambda k: "kd_tree"), "algorithm='brute'"),
        ]
    ],
    (
        KNeighborsClassifier(3, algorithm="brute").fit(SPARSE, y),
        edit_sparse("_fit_X", "indices", put(0, 2**30)), "beyond its shape",
    ),
    (
        CountVectorizer().fit(["one two", "two three"]),
        edit("vocabulary_", lambda v: {**v, "two": 2**30}), "numbered from 0",
    ),
    (LogisticRegression().fit(X, y), edit("n_jobs", lambda _: 10**9), "n_jobs is 1000000000"),
    (LogisticRegression().fit(X, y), edit("random_state", lambda _: spoiled_state()), "position"),
    (LogisticRegression().fit(X, y), edit("coef_", lambda _: np.zeros((2**40, 0))), "no elements"),
]  # fmt: skip


@pytest.mark.parametrize(("position", "is_valid"), [(-1, 0), (0, 1), (624, 1), (625, 0)])
def test_positions_of_random_states(position, is_valid):
    with nullcontext() if is_valid else pytest.raises(ValueError, match="position"):
        check_model(SVC(random_state=spoiled_state(position)))


@pytest.mark.parametrize(("kind", "is_valid"), [(int, 1), (np.float32, 1), (list, 0), (SVC, 0)])
def test_types_of_numbers_are_the_only_types_in_a_model(kind, is_valid):
    with nullcontext() if is_valid else pytest.raises(ValueError, match="cannot be a value"):
        check_model(CountVectorizer(dtype=kind))


def test_trials_call_the_first_and_the_last_method():
    """Labels are predicted in one trial, scores in the others."""
    model = LateFusionClassifier().fit({"a": X}, y)
    assert passed_trials(model) == ["labels", "dense"]
    two = LateFusionClassifier().fit({"a": X, "b": X**2}, y)
    assert passed_trials(two) == ["labels", "dense", "missing"]
    model.predict_proba = lambda rows: np.full((len(rows), 3), np.nan)
    assert passed_trials(model) == ["labels"]


def test_models_of_dataframes_are_checked_and_tried():
    model, _ = frame_model()
    check_model(model)
    assert passed_trials(model) == ["labels", "dense"]
    role = model[0].roles[0]
    with pytest.raises(ValueError, match=r"roles\.0: roles of columns must be text"):
        check_model(changed(model, role, reason=["x"]))
    object.__delattr__(role, "view")
    with pytest.raises(ValueError, match=r"roles\.0: view is missing"):
        check_model(model)


def spoiled_state(position=10**6):
    state = np.random.RandomState(0)
    values = state.get_state(legacy=False)
    values["state"]["pos"] = position
    state.set_state(values)
    return state


@pytest.mark.parametrize(("model", "change", "message"), CASES, ids=range(len(CASES)))
def test_forged_values_are_refused(model, change, message):
    import copy

    check_model(model)
    model = copy.deepcopy(model)
    change(model)
    with pytest.raises(ValueError, match=message):
        check_model(model)
    # wherever it is
    with pytest.raises(ValueError, match=message):
        check_model(make_pipeline("passthrough", model))


def changed(model, part, **values):
    for name, value in values.items():
        object.__setattr__(part, name, value)
    return model


def test_our_own_trees_are_checked():
    for name, value in [
        ("left", -2),
        ("right", 10**6),
        ("decision", 3),
        ("decision", -1),
        ("value", np.inf),
        ("depth", -1),
        ("depth", 10**6),
    ]:
        model = BinnedTreeClassifier(max_depth=3).fit(X, y)
        check_model(model)
        tree = next(v for v in vars(model).values() if type(v).__name__ == "Tree")
        array = getattr(tree, name).copy()
        array[-1 if value == 10**6 and name == "depth" else 0] = value
        with pytest.raises(ValueError, match=r"BinnedTreeClassifier\..*"):
            check_model(changed(model, tree, **{name: array}))


def test_forests_of_the_default_are_checked():
    model = ConsilienceClassifier(random_state=0).fit({"a": X, "b": X**2}, y)
    model.predict({"a": X, "b": X**2})
    check_model(model)
    forest = next(m for m in model._members if hasattr(m, "joint")).joint
    honest = dict(vars(forest))
    for name, value in [
        ("starts", forest.starts[::-1]), ("starts", forest.starts[:-1]),
        ("starts", np.zeros((9, 0), int)),
        ("left_share", forest.left_share + 2), ("leaf_shares", forest.leaf_shares[:-2]),
        ("left", forest.left * 0), ("right", forest.right.astype(float)), ("roots", None),
        ("left", forest.left * 0 - 99), ("roots", forest.roots + 1),
        ("feature", forest.feature[1:]), ("missing_left", forest.missing_left + 2),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=r"joint: "):
            check_model(changed(model, forest, **{name: value}))
        changed(model, forest, **honest)
        check_model(model)


def test_trees_of_a_forest_lie_one_after_the_other():
    model = ConsilienceClassifier(random_state=0).fit({"a": X, "b": X**2}, y)
    forest = next(m for m in model._members if hasattr(m, "joint")).joint
    sizes = np.diff(forest.starts)
    last = np.eye(len(forest.starts), dtype=np.int64)[-1]
    after_the_last = forest.left.copy()
    after_the_last[forest.starts[np.argmax(sizes > 0)]] = sizes[np.argmax(sizes > 0)]
    for name, value, message in [
        ("starts", forest.starts + last[::-1], "overlap"),
        ("starts", forest.starts - last, "overlap"),
        ("starts", forest.starts + 2 * np.roll(last, 3) * forest.starts[-1], "overlap"),
        ("left", after_the_last, "must follow their parents"),
    ]:
        honest = getattr(forest, name)
        with pytest.raises(ValueError, match=message):
            check_model(changed(model, forest, **{name: value}))
        check_model(changed(model, forest, **{name: honest}))


def test_models_of_kernels_are_tried_on_their_reference_samples():
    data = MultiViewData({"k": X @ X.T, "a": X}, kinds={"k": "kernel"})
    model = MKLClassifier().fit(data, y)
    assert passed_trials(model) == ["labels", "dense", "missing"]


def test_models_of_tables_with_dates_and_categories_are_tried(tmp_path):
    rows = [f"{i % 11},2024-0{i % 7 + 1}-01,{'uv'[i % 2]},{i % 3}" for i in range(28)]
    (tmp_path / "t.csv").write_text("\n".join(["x,day,kind,y", *rows]))
    read = read_tables([FileArgument(tmp_path / "t.csv", None)], target="y", keep=["day"])
    (view,) = read.views.values()
    assert view.date_columns
    assert view.text_columns
    pipeline = make_pipeline(ViewPreparer(scale="standard"), LateFusionClassifier())
    model = TableModel(pipeline.fit(read.data, read.target), read.views, "Late fusion", "y")
    assert passed_trials(model) == ["labels", "dense"]


def test_costs_of_tables(tmp_path):
    (tmp_path / "t.csv").write_text("\n".join(["x,y", *(f"{i % 11},{i % 3}" for i in range(28))]))
    read = read_tables([FileArgument(tmp_path / "t.csv", None)], target="y")
    fitted = LateFusionClassifier().fit(read.data, read.target)
    model = TableModel(fitted, read.views, "Late fusion", "y", costs=dict.fromkeys(read.views, 2))
    save(model, tmp_path / "m.skops")
    assert load(tmp_path / "m.skops").costs == dict.fromkeys(read.views, 2.0)
    for costs in ({"other": 1.0}, dict.fromkeys(read.views, -1.0), [1.0]):
        model.costs = costs
        with pytest.raises(ValueError, match="costs must be"):
            check_model(model)


def test_estimators_that_are_not_known_are_not_saved(tmp_path):
    model = make_pipeline(KMeans(2).fit(X), MultinomialNB())
    with pytest.raises(TypeError, match="KMeans of scikit-learn is not supported"):
        save(model, tmp_path / "m.skops")


def test_unfitted_models_are_saved(tmp_path):
    for model in (
        SVC(),
        DecisionTreeClassifier(),
        LateFusionClassifier(SVC()),
        RandomForestClassifier(),
    ):
        save(model, tmp_path / "m.skops")
