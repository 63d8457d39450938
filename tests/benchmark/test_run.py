import os
import signal
import sys
import threading
import time
import warnings

import msgspec
import numpy as np
import pytest
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, cross_val_score

from benchmark.misbehaving import MISBEHAVING, SPECS
from benchmark.studies import FULL, table
from benchmark.studies import tasks_on as registered_tasks_on
from consilience.benchmark import RECIPES, Problem
from consilience.benchmark.pool import InProcessPool, ProcessPool, WorkerSetup
from consilience.benchmark.results import collect_results, rank_methods
from consilience.benchmark.run import run_tasks
from consilience.benchmark.store import Store
from consilience.benchmark.tasks import task_hash
from consilience.datasets import make_multiview_classification

DATA, Y = make_multiview_classification(90, n_classes=3, strength=2.0, random_state=0)
GROUPS = np.repeat(np.arange(18), 5)
PROBLEMS = {
    "mine": Problem(DATA, Y),
    "grouped": Problem(DATA, Y, groups=GROUPS),
}
MEMORY = 2**30 if sys.platform == "linux" else None
TIMEOUT = 8.0  # several workers start at once, beside other tests
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")


def tasks_on(data, methods, n=3, **options):
    return registered_tasks_on(data, methods, n, own_specs=SPECS, **options)


def run(tasks, store, **options):
    options = {"problems": PROBLEMS, "methods": MISBEHAVING, **options}
    return [record for record in run_tasks(tasks, store, **options) if record is not None]


def in_process():
    return InProcessPool(WorkerSetup(PROBLEMS, MISBEHAVING))


# starting a worker costs seconds, so one run serves many tests

METHODS = ["MwMvC2", "rShareBoost", "Stacking fusion", "Early fusion"]


@pytest.fixture(scope="module")
def calm():
    """Well-behaved tasks, by one worker and by two."""
    tasks = [
        *tasks_on("mine", METHODS, seed=1, keep_predictions=True, diagnostics=("missing_views",)),
        *tasks_on("grouped", ["Concat"], keep_predictions=True),
        *tasks_on("grouped", ["SVM-2K"]),
    ]
    result = []
    for jobs in (1, 2):
        with Store(":memory:") as store:
            run(tasks, store, jobs=jobs)
            records = list(store.records())
            result.append((records, {r.task_hash: store.predictions(r.task_hash) for r in records}))
    return tasks, result


@pytest.fixture(scope="module")
def storm(tmp_path_factory):
    """Tasks that misbehave in every way, among others that do not."""
    hows = ["raise", "kill", "hang", "print", "never", "Early fusion"]
    hows += ["greed", "glut"] if sys.platform == "linux" else []
    hows += ["segfault", "exit"] if FULL else []  # each costs two workers
    tasks = [task for how in hows for task in tasks_on("mine", [how], n=2)[:1]]
    folder = tmp_path_factory.mktemp("once")
    outside = _with(tasks_on("mine", ["hang"], n=2)[1], once=str(folder / "hung"))
    stop = threading.Event()
    killer = threading.Thread(target=_kill_worker_that_hung, args=(folder / "hung", stop))
    killer.start()
    with Store(":memory:") as store:
        try:
            records = run([*tasks, outside], store, jobs=2, timeout=TIMEOUT, memory=MEMORY)
        finally:
            stop.set()
            killer.join()
        assert run(tasks, store) == []  # failures count as done
        again = run(tasks[:1], store, retry=True, pool=in_process())
        assert [r.outcome.status for r in again] == ["failed"]
        assert len(list(store.records())) == len(hows) + 1
    return {(r.task.method, r.task.index): r for r in records}


def _with(task, **settings):
    return msgspec.structs.replace(task, settings=settings)


def _kill_worker_that_hung(mark, stop):
    """SIGKILL, from outside, the worker that left its number before it began to hang."""
    while not stop.is_set():
        time.sleep(0.05)
        if mark.exists() and mark.read_text():
            os.kill(int(mark.read_text()), signal.SIGKILL)
            return


def test_scores_are_those_of_scikit_learn(calm):
    tasks, ((records, _), _) = calm
    cv = StratifiedKFold(3, shuffle=True, random_state=1)
    scores = cross_val_score(RECIPES["Early fusion"].make_estimator(1), DATA, Y, cv=cv)
    places = rank_methods(collect_results(tasks, records), "mine")
    (place,) = [place for place in places if place.method == "Early fusion"]
    assert place.score == pytest.approx(scores.mean())
    assert place.deviation == pytest.approx(scores.std(ddof=1))
    assert place.fit_seconds > 0
    assert [p.score for p in places] == sorted((p.score for p in places), reverse=True)


def test_number_of_workers_does_not_matter(calm):
    tasks, ((first, kept), (second, others)) = calm
    assert table(first) == table(second)
    assert len(first) == len(tasks) == 18
    for key in [task_hash(task) for task in tasks if task.keep_predictions]:
        np.testing.assert_array_equal(kept[key].scores, others[key].scores)
        np.testing.assert_array_equal(kept[key].y_pred, others[key].y_pred)


def test_tested_rows_are_all_rows_once_and_groups_stay_together(calm):
    tasks, ((_, kept), _) = calm
    for data in ("mine", "grouped"):
        method = "Concat" if data == "grouped" else "MwMvC2"
        keys = [task_hash(t) for t in tasks if t.data == data and t.method == method]
        rows = [kept[key].rows for key in keys]
        assert sorted(np.concatenate(rows)) == list(range(90))
        if data == "grouped":
            assert sum(len(set(GROUPS[part])) for part in rows) == 18


def test_kept_predictions_give_the_metrics(calm):
    _, ((records, kept), _) = calm
    for record in records:
        if record.task.keep_predictions:
            result = kept[record.task_hash]
            accuracy = np.mean(result.y_true == result.y_pred)
            assert record.outcome.metrics["accuracy"] == pytest.approx(accuracy)
            np.testing.assert_array_equal(result.classes[result.y_true], Y[result.rows])
    probes = [r.outcome.diagnostics["missing_views"] for r in records if r.task.diagnostics]
    assert all(set(probe) == {"view0", "view1", "view2"} for probe in probes)


def test_preparation_is_fitted_inside_the_folds(calm):
    _, ((records, _), _) = calm
    model = RECIPES["SVM-2K"].make_estimator(0)
    cv = StratifiedGroupKFold(3, shuffle=True, random_state=0)
    expected = cross_val_score(model, DATA, Y, cv=cv, groups=GROUPS)
    result = {
        r.task.index: r.outcome.metrics["accuracy"] for r in records if r.task.method == "SVM-2K"
    }
    np.testing.assert_allclose([result[index] for index in range(3)], expected)


def test_well_behaved_tasks_finish_among_failing_ones(storm):
    for how in ("print", "never", "Early fusion"):
        assert storm[how, 0].done


def test_an_error_is_stored_with_its_traceback(storm):
    outcome = storm["raise", 0].outcome
    assert (outcome.status, outcome.error) == ("failed", "ValueError: cannot do this")
    assert "in _raise" in outcome.trace


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("kill", "the worker was killed by SIGKILL"),
        ("segfault", "the worker was killed by SIGSEGV"),
        ("exit", "the worker exited with code 7"),
    ][: 3 if FULL else 1],
)
def test_crash_fails_only_its_own_task(storm, how, message):
    outcome = storm[how, 0].outcome
    assert (outcome.status, outcome.error) == ("crashed", message)
    if how == "segfault":
        assert "in _segfault" in outcome.trace


def test_a_task_that_takes_too_long_is_stopped(storm):
    outcome = storm["hang", 0].outcome
    assert (outcome.status, outcome.error) == ("timeout", f"stopped after {TIMEOUT:.0f} seconds")
    assert "in _hang" in outcome.trace  # where it was
    assert TIMEOUT <= storm["hang", 0].seconds < 30


def test_task_is_retried_when_its_worker_is_killed_from_outside(storm):
    assert storm["hang", 1].done


def test_failures_are_not_averaged_away(storm):
    records = list(storm.values())
    tasks = [record.task for record in records]
    results = collect_results(tasks, records)
    places = {place.method: place for place in rank_methods(results, "mine")}
    assert places["raise"].failed
    assert np.isnan(places["raise"].score)
    assert places["hang"].failed  # one of two
    assert np.isnan(places["hang"].score)
    assert not places["never"].failed
    failed = {record.task.method for record in results.failures}
    assert failed - {"segfault", "exit", "glut"} == {"raise", "kill", "hang"}


@LINUX
def test_memory_is_limited_and_measured(storm):
    assert storm["glut", 0].outcome.status == "memory"
    assert "Unable to allocate 4.00 GiB" in storm["glut", 0].outcome.error
    peaks = {how: storm[how, 0].outcome.metrics["peak_memory"] for how in ("greed", "never")}
    assert 2**28 <= peaks["greed"] < 2**28 + 2**26
    assert peaks["never"] < 2**26


def test_an_empty_budget_and_data_that_cannot_be_loaded():
    with Store(":memory:") as store:
        assert run(tasks_on("mine", ["Concat"]), store, budget=0.0) == []
        (record,) = run(tasks_on("nowhere", ["never"], n=2)[:1], store)
    assert record.outcome.status == "failed"
    assert "unknown data set 'nowhere'" in record.outcome.error


@pytest.mark.parametrize("options", [{"timeout": 0.0}, {"memory": 0}, {"jobs": 0}])
def test_invalid_limits_raise(options):
    with Store(":memory:") as store, pytest.raises(ValueError, match="must be"):
        run(tasks_on("mine", ["never"]), store, **options)


def test_close_ends_all_processes():
    pool = ProcessPool(2, WorkerSetup(PROBLEMS, MISBEHAVING))
    for task in tasks_on("mine", ["hang"], n=2):
        pool.submit(task)
    pool.wait(0.1)
    processes = [worker.process for worker in pool._workers]
    pool.close()
    assert [process.poll() for process in processes] == [-signal.SIGKILL] * 2
    with pytest.raises(RuntimeError, match="closed"):
        pool.wait(0.1)


def test_on_a_dask_cluster(calm):
    distributed = pytest.importorskip("distributed")
    tasks, ((records, _), _) = calm
    some = [task for task in tasks if task.method == "MwMvC2"]
    bad = tasks_on("mine", ["raise", "kill"], n=2)[:2]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {"n_workers": 1, "threads_per_worker": 1, "processes": False}
        with (
            distributed.LocalCluster(**options, dashboard_address=None) as cluster,
            distributed.Client(cluster) as client,
            Store(":memory:") as store,
        ):
            result = table(run([*some, *bad], store, client=client))
    expected = table(records)
    for task in some:
        assert result[task_hash(task)] == expected[task_hash(task)]
    statuses = [result[task_hash(task)][1] for task in bad]
    assert statuses == ["failed", "crashed"]
