"""What the study plans: folds, training sizes and follow-up tasks."""

from contextlib import nullcontext

import numpy as np
import pytest

from comparison.in_process import problem_of
from consilience.benchmark.problems import Problem
from consilience.comparison import study
from consilience.comparison.record import DataSummary, Options, Run
from consilience.views import MultiViewData

METHODS = ["Concat", "Late fusion", "Best view", "MVMED"]


def planned(counts, cv=5, *, methods=METHODS, metric="accuracy", tune=False, **options):
    classes = [f"class {k}" for k in range(len(counts))]
    data = DataSummary("name", sum(counts), "hash", classes, list(counts), [], [])
    settings = Options(list(methods), cv, 2, metric, 0, tune, **options)
    return Run(version="0", command=["consilience"], options=settings, data=data)


@pytest.mark.parametrize(
    ("run", "sizes"),
    [
        (planned([160, 40]), [10, 20, 40, 80]),
        (planned([160, 40], tune=True), [20, 40, 80]),
        (planned([161, 39]), [20, 40, 80]),
        (planned([119, 80]), [9, 19, 39, 79]),
        (planned([50, 50], splitter="mine", given_test_share=0.9), [5]),
        (planned([5, 5], tune=True), []),
    ],
)
def test_training_sizes_are_halves_with_all_classes(run, sizes):
    assert study.curve_sizes(run) == sizes


@pytest.mark.parametrize(
    ("run", "n_folds"),
    [
        (planned([50, 50]), 5),
        (planned([5000, 5000]), 3),
        (planned([5000, 5000], cv=2), 2),
        (planned([500, 500], cv=10), 5),
        (planned([501, 500], cv=10), 5),
        (planned([499, 500], cv=10), 6),
        (planned([4, 4], cv=800, splitter="mine", given_test_share=0.05), 500),
    ],
)
def test_follow_up_folds_reach_500_test_samples(run, n_folds):
    assert study.n_follow_up_folds(run) == n_folds


def test_follow_up_tasks(monkeypatch):
    run = planned([160, 40])
    monkeypatch.setattr(study, "ranked_methods", lambda *_: METHODS[::-1])
    importance, curve = study.follow_up_tasks(run, None)
    assert [(task.method, task.index) for task in importance] == [("MVMED", i) for i in range(5)]
    diagnostics = ("permutation", "shapley", "single_views")
    assert {task.diagnostics for task in importance} == {diagnostics}
    assert [(task.index, task.condition.train_size, task.method) for task in curve] == [
        (index, size, name)
        for index in range(5)
        for size in (10, 20, 40, 80)
        for name in METHODS[:0:-1]
    ]
    assert not any(task.keep_predictions for task in importance + curve)
    assert all(task.stratified for task in curve)


def test_missing_views_are_measured_in_the_first_repeat():
    tasks = study.main_tasks(planned([160, 40]))
    assert len(tasks) == 2 * 5 * len(METHODS)
    for task in tasks:
        assert task.diagnostics == (("missing_views",) if task.repeat == 0 else ())
        assert task.keep_predictions


def test_number_of_folds():
    problem = problem_of(["a"], ["class 0", "class 1"])
    for cv in (2, 4):
        study.check_cross_validation(planned([9, 4], cv), problem)
    for cv in (1, 5):
        with pytest.raises(ValueError, match=r"cv must be between 2 and 4, .* class 'class 1'"):
            study.check_cross_validation(planned([9, 4], cv), problem)
    with pytest.raises(ValueError, match="class 'class 1' has only one sample"):
        study.check_cross_validation(planned([9, 1], 2), problem)
    study.check_cross_validation(planned([9, 1], 5, splitter="mine"), problem)


def test_groups_of_folds():
    y = np.repeat(["class 0", "class 1"], 4)
    data = MultiViewData({"a": np.arange(8.0)[:, None]})
    problem = Problem(data, y, groups=np.array([0, 1, 2, 2, 0, 1, 1, 1]))
    for cv in (2, 3):
        study.check_cross_validation(planned([4, 4], cv), problem)
    with pytest.raises(ValueError, match="cv = 4 needs at least 4 groups, but there are 3"):
        study.check_cross_validation(planned([4, 4], 4), problem)
    problem = Problem(data, y, groups=np.array([0, 1, 2, 2, 0, 0, 0, 0]))
    with pytest.raises(ValueError, match="class 'class 1' occurs in only one group"):
        study.check_cross_validation(planned([4, 4], 2), problem)


@pytest.mark.parametrize("metric", ["balanced_accuracy", "f1", "f1_macro", "mcc", "roc_auc"])
def test_metrics_that_need_two_classes_in_every_test_set(metric):
    y = np.repeat(["class 0", "class 1"], 4)
    data = MultiViewData({"a": np.arange(8.0)[:, None]})
    splits = [([1, 2, 3, 5, 6, 7], [0, 4]), ([0, 4, 5], [1, 2])]
    parts = [dict(zip(("train", "test"), map(np.array, split), strict=True)) for split in splits]
    message = f"{metric} needs test sets .* that of split 1 has class 'class 0' only; use fewer"
    for used, is_wrong in ((parts[:1], False), (parts, True)):
        problem = Problem(data, y, splits={f"{i:05}": part for i, part in enumerate(used)})
        run = planned([4, 4], len(used), metric=metric, splitter="mine", given_test_share=0.25)
        with pytest.raises(ValueError, match=message) if is_wrong else nullcontext():
            study.check_cross_validation(run, problem)
        run = planned([4, 4], len(used), metric="accuracy", splitter="mine", given_test_share=0.25)
        study.check_cross_validation(run, problem)
    # whole groups may leave a fold without a class, too
    problem = Problem(data, y, groups=np.array([0, 0, 1, 2, 2, 3, 3, 3]))
    with pytest.raises(ValueError, match=f"{metric} needs test sets of at least two classes"):
        study.check_cross_validation(planned([4, 4], 4, metric=metric), problem)


def test_positive_class_and_metrics_of_two_classes():
    problem = problem_of(["a"], ["class 0", "class 1"])
    study.check_cross_validation(planned([9, 9], positive="class 1"), problem)
    with pytest.raises(ValueError, match="must be 'class 0' or 'class 1', got 'b'"):
        study.check_cross_validation(planned([9, 9], positive="b"), problem)
    with pytest.raises(ValueError, match="a positive class needs two classes, but there are 3"):
        study.check_cross_validation(planned([9, 9, 9], positive="class 1"), problem)
