import sys

import numpy as np
import pytest
from msgspec.structs import replace
from sklearn.metrics import f1_score, log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from benchmark.studies import SUITE, tasks_on
from consilience import MultiViewData
from consilience.benchmark import RECIPES, Problem, plan, work
from consilience.benchmark.memory import limit_memory, measure_peak
from consilience.benchmark.metrics import COST_METRICS
from consilience.benchmark.predictions import Predictions
from consilience.benchmark.problems import ProblemCache, make_disturbed_views
from consilience.benchmark.protocol import Folds, Holdout, Official, with_presence
from consilience.benchmark.suite import parse_suite
from consilience.benchmark.tasks import (
    Condition,
    Task,
    parameter_name,
    task_hash,
    with_estimator_spec,
)
from consilience.benchmark.work import DIAGNOSTICS, execute, prepare_task_data, warm_up
from consilience.datasets import make_multiview_classification
from consilience.fusion import BestViewClassifier
from consilience.methods import Method

DATA, Y = make_multiview_classification(120, n_classes=3, strength=2.0, random_state=0)
NAMES = np.array(["a", "b", "c"])[Y]
PROBLEM = Problem(DATA, Y)


def task(method="Concat", **options):
    split = options.pop("split", Holdout(5, 0.25))
    return with_estimator_spec(Task(data="mine", method=method, split=split, index=1, **options))


def test_metrics_are_those_of_scikit_learn():
    t = task("Early fusion", positive_class=2, keep_predictions=True)
    outcome = execute(t, PROBLEM)
    parts = prepare_task_data(t, PROBLEM)
    y = (Y == 2).astype(int)
    model = (
        RECIPES["Early fusion"].make_estimator(0).fit(DATA[parts.rows.train], y[parts.rows.train])
    )
    test, y_true = DATA[parts.rows.test], y[parts.rows.test]
    y_pred, shares = model.predict(test), model.predict_proba(test)
    result = outcome.metrics
    assert result["accuracy"] == np.mean(y_pred == y_true)
    assert result["f1"] == pytest.approx(f1_score(y_true, y_pred))
    assert result["log_loss"] == pytest.approx(log_loss(y_true, shares))
    assert result["roc_auc"] == pytest.approx(roc_auc_score(y_true, shares[:, 1]))
    assert set(COST_METRICS) - set(result) <= {"tune_seconds", "peak_memory"}
    kept = Predictions.from_bytes(outcome.predictions)
    np.testing.assert_array_equal(kept.rows, parts.rows.test)
    np.testing.assert_array_equal(kept.classes[kept.y_pred], y_pred)
    np.testing.assert_array_equal(kept.scores, shares)


@pytest.mark.parametrize("labels", [NAMES, NAMES.astype(object), Y * 10 - 5], ids=["U", "O", "int"])
def test_labels_of_any_kind(labels):
    outcome = execute(
        task("MwMvC2", keep_predictions=True, diagnostics=("missing_views",)), Problem(DATA, labels)
    )
    assert outcome.status == "done", outcome.trace
    kept = Predictions.from_bytes(outcome.predictions)
    assert (kept.classes[kept.y_true] == labels[kept.rows].astype(kept.classes.dtype)).all()
    assert outcome.metrics["accuracy"] == np.mean(kept.y_true == kept.y_pred)


def test_a_class_that_training_rows_lack():
    y = Y.copy()
    y[:2] = 7  # balanced_subset keeps both of it or none
    t = task("Concat", split=Holdout(9, 0.5, stratified=False), keep_predictions=True)
    seen = set()
    for index in range(9):
        outcome = execute(replace(t, index=index), Problem(DATA, y))
        assert outcome.status == "done", outcome.trace
        kept = Predictions.from_bytes(outcome.predictions)
        seen.add((kept.y_true == -1).any())
        assert ("log_loss" in outcome.metrics) == (not (kept.y_true == -1).any())
    assert seen == {True, False}


def test_tuning_by_folds_is_grid_search():
    values = [1, 2, 8]
    t = task("Concat", grid={"estimator__max_depth": values})
    outcome = execute(t, PROBLEM)
    train = prepare_task_data(t, PROBLEM).rows.train
    search = GridSearchCV(
        RECIPES["Concat"].make_estimator(0),
        {"classifier__estimator__max_depth": values},
        cv=StratifiedKFold(5, shuffle=True, random_state=0),
    ).fit(DATA[train], Y[train])
    assert list(outcome.best_params.values()) == list(search.best_params_.values())
    assert outcome.metrics["tune_seconds"] > 0


def test_tuning_by_validation_rows_trains_on_training_rows_only():
    t = task("Concat", split=Holdout(5, 0.25, 0.25), grid={"estimator__max_depth": [1, 2, 3, 8]})
    outcome = execute(t, PROBLEM)
    rows = prepare_task_data(t, PROBLEM).rows
    scores = []
    for depth in (1, 2, 3, 8):
        model = RECIPES["Concat"].build(0).set_params(estimator__max_depth=depth)
        model.fit(DATA[rows.train], Y[rows.train])
        scores.append([model.score(DATA[part], Y[part]) for part in (rows.validation, rows.test)])
    best = max(scores, key=lambda pair: pair[0])[0]
    chosen = [1, 2, 3, 8].index(outcome.best_params["estimator__max_depth"])
    assert scores[chosen][0] == best
    assert outcome.metrics["accuracy"] == scores[chosen][1]


def test_repeats_of_official_splits_differ_in_the_seed_of_the_method():
    rows = np.arange(120)
    problem = Problem(DATA, Y, splits={"only": {"train": rows[:60], "test": rows[60:]}})
    repeats = [
        task("MVL-SVM", split=Official(4), settings={"landmarks": "random", "n_landmarks": 3}),
        task("MVL-SVM", split=Official(1), settings={"landmarks": "random", "n_landmarks": 3}),
    ]
    assert repeats[1].method_seed == task().method_seed == 0  # as in cross_val_score
    repeated = [execute(replace(repeats[0], index=i), problem).metrics for i in range(4)]
    assert len({metrics["accuracy"] for metrics in repeated}) > 1
    again = execute(replace(repeats[1], index=0), problem).metrics
    assert again["accuracy"] == repeated[0]["accuracy"]


def test_a_grid_that_fails_fails_the_task():
    outcome = execute(task("SMVMED", grid={"alpha": [0.5, 1.0]}), PROBLEM)
    assert outcome.status == "failed"
    assert "'alpha' parameter of SMVMEDClassifier" in outcome.error


def test_alterations():
    condition = Condition(train_size=30, label_noise=0.2, missing=0.3)
    t = task(condition=condition)
    parts = prepare_task_data(t, PROBLEM)
    assert len(parts.rows.train) == 30
    assert (parts.train_labels != Y[parts.rows.train]).sum() == 6
    assert (~parts.data.present).sum() == round(0.3 * 360)
    np.testing.assert_array_equal(parts.target, Y)  # test labels are never touched
    again = prepare_task_data(t, PROBLEM)
    np.testing.assert_array_equal(parts.train_labels, again.train_labels)
    np.testing.assert_array_equal(parts.data.present, again.data.present)
    assert str(condition) == "train_size = 30, label_noise = 0.2, missing = 0.3"
    # the same rows are tested whatever is done to the others
    np.testing.assert_array_equal(
        parts.test_row_numbers, prepare_task_data(task(), PROBLEM).test_row_numbers
    )


def test_junk_views_leave_the_rest_as_it_is():
    plain = prepare_task_data(task(condition=Condition(train_size=30)), PROBLEM)
    t = task(condition=Condition(train_size=30, junk_views=2))
    parts = prepare_task_data(t, PROBLEM)
    assert parts.data.n_views == plain.data.n_views + 2
    np.testing.assert_array_equal(parts.rows.train, plain.rows.train)
    np.testing.assert_array_equal(
        parts.data["junk 1"], prepare_task_data(t, PROBLEM).data["junk 1"]
    )
    assert (
        parts.data["junk 1"] != prepare_task_data(replace(t, index=2), PROBLEM).data["junk 1"]
    ).any()
    assert execute(t, PROBLEM).status == "done"


def test_complete_rows():
    lacking = np.arange(0, len(Y), 3)
    present = PROBLEM.data.present.copy()
    present[lacking, 0] = False
    problem = Problem(MultiViewData(dict(PROBLEM.data.items()), present=present), Y)
    parts = prepare_task_data(task(complete=True), problem)
    assert parts.data.present.all()
    assert len(parts.target) == len(Y) - len(lacking)
    assert not set(parts.test_row_numbers) & set(lacking)
    np.testing.assert_array_equal(Y[parts.test_row_numbers], parts.target[parts.rows.test])
    fewer = prepare_task_data(task(complete=True, sample=40), problem)
    assert len(fewer.target) == 40
    assert not set(fewer.test_row_numbers) & set(lacking)


def test_sample():
    t = task(sample=60)
    parts = prepare_task_data(t, PROBLEM)
    assert len(parts.target) == 60
    np.testing.assert_array_equal(Y[parts.test_row_numbers], parts.target[parts.rows.test])
    other = prepare_task_data(replace(t, index=2), PROBLEM)
    assert set(parts.test_row_numbers) != set(other.test_row_numbers)


def test_warnings_are_noted():
    data, y = make_multiview_classification(60, random_state=0)
    outcome = execute(task("SMVMED", settings={"alpha": 0.995}), Problem(data, y))
    assert any("alpha = 0.995 is close to 1" in note for note in outcome.notes)


def test_address_is_of_the_content():
    first = task()
    assert task_hash(first) == task_hash(task())
    assert task_hash(first) == task_hash(replace(first, method_label="a", dataset_label="b"))
    assert task_hash(first) == task_hash(replace(first, split=Holdout(50, 0.25)))  # more repeats
    others = [
        replace(first, seed=1),
        replace(first, index=2),
        replace(first, method="Mono"),
        replace(first, settings={"estimator__max_depth": 2}),
        replace(first, condition=Condition(missing=0.1)),
        replace(first, split=Holdout(5, 0.3)),
        replace(first, positive_class=0),
        replace(first, data_hash=PROBLEM.fingerprint()),
        replace(first, keep_predictions=True),
        with_estimator_spec(
            replace(first, settings={"estimator": DecisionTreeClassifier(max_depth=2)})
        ),
    ]
    addresses = {task_hash(replace(t, settings={}) if t is others[-1] else t) for t in others}
    assert len(addresses | {task_hash(first)}) == len(others) + 1


def test_address_of_official_splits_has_the_seed_of_the_method():
    once, twice, often = (
        [replace(task(), split=Official(repeats), index=index) for index in (0, 1)]
        for repeats in (1, 2, 5)
    )
    assert [t.method_seed for t in once + twice] == [0, 0, 0, 1]
    assert task_hash(once[0]) == task_hash(twice[0])
    assert task_hash(once[1]) != task_hash(twice[1])
    assert task_hash(twice[1]) == task_hash(often[1])


def test_fingerprint_is_of_the_content():
    same = Problem(DATA[np.arange(120)], Y.copy())
    assert Problem(DATA, Y).fingerprint() == same.fingerprint()
    changed = Y.copy()
    changed[0] = 2 - changed[0] if changed[0] != 1 else 0
    assert Problem(DATA, changed).fingerprint() != same.fingerprint()
    assert Problem(DATA.select(["view1", "view0", "view2"]), Y).fingerprint() != same.fingerprint()


def test_short_names_of_parameters():
    model = RECIPES["SMVMED"].make_estimator(0)
    assert parameter_name(model, "alpha") == "classifier__alpha"
    assert parameter_name(model, "preparation") == "preparation"
    with pytest.raises(ValueError, match="SMVMEDClassifier has no parameter 'depth'; it has alpha"):
        parameter_name(model, "depth")


def test_problems_are_loaded_once():
    problems = ProblemCache({"mine": PROBLEM})
    assert problems.get("mine", {}) is PROBLEM
    first = problems.get("synthetic", {"random_state": 0})
    assert problems.get("synthetic", {"random_state": 0}) is first
    assert problems.get("synthetic", {"random_state": 1}) is not first


def test_disturbed_views_show_the_other_class():
    data, y = make_disturbed_views(4000, disturbed=[0.5, 0.0, 0.2], strength=8.0, random_state=0)
    for view, share in zip(("view0", "view1", "view2"), (0.5, 0.0, 0.2), strict=True):
        model = DecisionTreeClassifier(max_depth=8, random_state=0)
        if share < 0.5:
            score = model.fit(data[view][:3000], y[:3000]).score(data[view][3000:], y[3000:])
            assert score == pytest.approx(1 - share, abs=0.06)
    with pytest.raises(ValueError, match="2 entries for 3 views"):
        make_disturbed_views(disturbed=[0.1, 0.2])


def test_folds_of_one_round_share_their_draw():
    tasks = tasks_on("mine", ["Concat"], n=3)
    assert [t.repeat for t in tasks] == [0, 0, 0]


class GroupRecorder(BestViewClassifier):
    """Keeps the groups of every fit."""

    seen: list = []

    def _fit(self, data, codes, weight):
        self.seen.append(data.groups)
        super()._fit(data, codes, weight)


@pytest.mark.parametrize("from_data", [False, True])
def test_groups_reach_the_inner_folds_of_methods(from_data, monkeypatch):
    monkeypatch.setattr(GroupRecorder, "seen", [])
    groups = np.random.default_rng(0).permutation(np.arange(120) // 4)
    problem = Problem(DATA.with_groups(groups), Y) if from_data else Problem(DATA, Y, groups=groups)
    mine = Method("mine", "", "", lambda _: GroupRecorder(), preparation="standard")
    t = Task(
        data="d", method="mine", split=Folds(3, 1), index=0, grid={"cv": [2, 3]}, tuning_folds=2
    )
    outcome = execute(t, problem, {"mine": mine})
    assert outcome.status == "done", outcome.error
    train = groups[prepare_task_data(t, problem).rows.train]
    assert len(GroupRecorder.seen) == 5  # two folds for each of two values, and the fit
    np.testing.assert_array_equal(GroupRecorder.seen[-1], train)
    for seen in GroupRecorder.seen[:-1]:
        assert set(np.unique(seen, return_counts=True)[1]) == {4}


def test_scores_of_every_round_are_stored():
    text = SUITE.replace(
        'recipe = "MwMvC2"',
        'recipe = "ShareBoost"\nsettings = { n_estimators = 7 }\ndiagnostics = ["staged"]',
    )
    (task,) = [t for t in plan(parse_suite(text, "s"))[0] if t.method == "ShareBoost"][:1]
    problem = ProblemCache().get(task.data, task.data_parameters)
    outcome = execute(task, problem)
    staged = outcome.diagnostics["staged"]
    assert list(staged) == [str(n) for n in range(1, len(staged) + 1)]
    assert list(staged.values())[-1] == outcome.metrics["accuracy"]
    with pytest.raises(ValueError, match="unknown diagnostic of 'ShareBoost' 'shapley'"):
        parse_suite(text.replace("staged", "shapley"), "s")


def test_metrics_of_labels_only():
    text = SUITE.replace("metrics =", "scores = false\nmetrics =")
    with_scores, without = (plan(parse_suite(t, "s"))[0][0] for t in (SUITE, text))
    assert task_hash(with_scores) != task_hash(without)
    problem = ProblemCache().get(without.data, without.data_parameters)
    all_metrics, few = execute(with_scores, problem).metrics, execute(without, problem).metrics
    assert few["accuracy"] == all_metrics["accuracy"]
    assert "roc_auc" in all_metrics
    assert "roc_auc" not in few
    bad = text.replace('metrics = ["accuracy"', 'metrics = ["roc_auc"')
    with pytest.raises(ValueError, match="the metric 'roc_auc' needs scores"):
        parse_suite(bad, "s")


class ByOneView:
    """Says the sign of the first present view's only column, its size is the score."""

    classes_ = np.array(["neg", "pos"])

    def fit(self, X, y):
        return self

    def decision_function(self, X):
        X = [X.present[:, v] * X[name][:, 0] for v, name in enumerate(X.view_names)]
        return np.where(X[0] != 0, X[0], X[1])

    def predict(self, X):
        return self.classes_[(self.decision_function(X) > 0).astype(int)]


def two_views():
    """The first view is right in 3 of 4 rows, the second in 1 of 3; one row has no second."""
    data = MultiViewData(
        {"a": np.array([[1.0], [-2], [3], [-4]]), "b": np.array([[-1.0], [-1], [-1], [0]])},
        present=np.array([[1, 1], [1, 1], [1, 1], [1, 0]], dtype=bool),
    )
    return data, np.array(["pos", "pos", "pos", "neg"])


def test_what_single_views_say():
    X, y = two_views()
    found = DIAGNOSTICS["single_views"](
        ByOneView(), work.TestRows(X, y, None), work.TestMetric("accuracy", "pos")
    )
    assert found["alone"] == {"a": 0.75, "b": 0.0}
    assert found["pairs"] == {'["a", "b"]': 0.75}
    assert found["agreement"] == {'["a", "b"]': pytest.approx(1 / 3)}
    rows, truth, scores = found["scores"]["a"]
    order = work._importance_rows(work.TestRows(X, y, None))
    assert rows == [0, 1, 2, 3]
    assert truth == (order.y_true == "pos").astype(int).tolist()
    assert scores == order.X["a"][:, 0].tolist()
    assert len(found["scores"]["b"][0]) == 3
    missing = DIAGNOSTICS["missing_views"](
        ByOneView(), work.TestRows(X, y, None), work.TestMetric("accuracy")
    )
    assert missing == {"a": 0.0, "b": 0.75}


def test_diagnostics_are_weighted_as_the_scores_are():
    X, y = two_views()
    rows, measure = work.TestRows(X, y, np.array([5.0, 1.0, 1.0, 1.0])), work.TestMetric("accuracy")
    found = DIAGNOSTICS["single_views"](ByOneView(), rows, measure)
    assert found["alone"] == {"a": 7 / 8, "b": 0.0}
    assert DIAGNOSTICS["missing_views"](ByOneView(), rows, measure)["b"] == 7 / 8
    shapley = DIAGNOSTICS["shapley"](ByOneView(), rows, measure)
    without_views = measure.value(ByOneView(), with_presence(X, np.zeros((4, 2), bool)), *rows[1:])
    assert sum(shapley.values()) == pytest.approx(7 / 8 - without_views)
    equal = rows._replace(weight=None)
    weighted, unweighted = (
        DIAGNOSTICS["permutation"](ByOneView(), part, measure)["a"] for part in (rows, equal)
    )
    assert weighted != unweighted


def test_a_view_that_no_row_has_says_nothing():
    X, y = two_views()
    X = MultiViewData({"a": X["a"], "b": X["b"]}, present=np.tile([True, False], (4, 1)))
    found = DIAGNOSTICS["single_views"](
        ByOneView(), work.TestRows(X, y, None), work.TestMetric("accuracy")
    )
    assert np.isnan(found["alone"]["b"])
    assert np.isnan(found["agreement"]['["a", "b"]'])
    assert list(found["scores"]) == ["a"]
    missing = DIAGNOSTICS["missing_views"](
        ByOneView(), work.TestRows(X, y, None), work.TestMetric("accuracy")
    )
    assert np.isnan(missing["a"])


def test_importance_is_computed_on_some_rows(monkeypatch):
    monkeypatch.setattr(work, "MAX_IMPORTANCE_ROWS", 30)
    X, y = DATA[:60], NAMES[:60]
    model = RECIPES["Late fusion"].make_estimator(0).fit(X, y)
    assert len(work._importance_rows(work.TestRows(X, y, None)).X) == 30
    for name in ("permutation", "shapley"):
        found = DIAGNOSTICS[name](model, work.TestRows(X, y, None), work.TestMetric("accuracy"))
        assert list(found) == list(X.view_names)
        losses = DIAGNOSTICS[name](model, work.TestRows(X, y, None), work.TestMetric("log_loss"))
        assert sum(found.values()) > 0
        assert sum(losses.values()) > 0  # a smaller loss is better
    assert work.TestMetric("log_loss")(model, X, y) == -work.TestMetric("log_loss").value(
        model, X, y
    )


def test_methods_are_warmed_up_on_few_rows(monkeypatch):
    seen = []

    class Model:
        def fit(self, X, y):
            seen.append(("fit", len(y), len(X.view_names)))
            return self

        def predict(self, X):
            seen.append(("predict", len(X), len(X.view_names)))
            raise ValueError

    monkeypatch.setattr(work, "build_method", lambda *_: Model())
    warm_up(task())
    assert seen == [("fit", 30, 2), ("predict", 30, 2)]


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
def test_memory_is_limited_and_measured():
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with limit_memory(None):
        np.ones(2**20)
    with limit_memory(2**26):
        np.ones(2**20)
        with pytest.raises(MemoryError):
            np.ones(2**25)
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
    metrics = {}
    with measure_peak(metrics):
        np.ones(2**23)
    assert 0.9 * 2**26 < metrics["peak_memory"] < 2**27
