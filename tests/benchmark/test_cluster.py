"""A pool on a Dask cluster, with a cluster of plain objects in its place."""

import threading

import pytest

from benchmark.studies import task
from consilience.benchmark import cluster
from consilience.benchmark.cluster import ClusterLostError, DaskPool, n_threads
from consilience.benchmark.pool import FinishedTask, WorkerSetup
from consilience.benchmark.work import Outcome

DONE = Outcome(status="done")


class Future:
    def __init__(self, status, result):
        self.status, self._result = status, result

    def done(self):
        return self.status != "pending"

    def result(self):
        if isinstance(self._result, Exception):
            raise self._result
        return self._result


class Client:
    """Statuses and results of the tasks that will be submitted, in order."""

    def __init__(self, *futures):
        self.status, self.scheduler = "running", None
        self.futures, self.cancelled, self.scattered, self.ran = list(futures), [], 0, []
        self.failures = 0

    def nthreads(self):
        return {"a": 2, "b": 1}

    def scatter(self, setup, hash):
        if self.failures:
            self.failures -= 1
            raise OSError("a worker is gone")
        self.scattered += 1
        return setup

    def submit(self, function, task, setup, pure):
        return self.futures.pop(0)

    def cancel(self, futures, force):
        self.cancelled += futures

    def run(self, function):
        self.ran.append(function)


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(cluster, "RETRY_SECONDS", 0.0)
    monkeypatch.setattr(cluster, "POLL_SECONDS", 0.0)


def finished(index):
    return FinishedTask(task(index), DONE, 0.0, 1.0)


def test_threads_are_kept_busy():
    client = Client(Future("finished", finished(0)), Future("pending", None))
    assert n_threads(client) == 3
    pool = DaskPool(client, WorkerSetup())
    assert pool.n_free_slots() == 6
    pool.submit(task(0))
    pool.submit(task(1))
    assert pool.n_free_slots() == 4
    assert pool.wait(0) == [finished(0)]
    assert pool.running() == [task(1)]
    assert pool.wait(0) == []
    assert pool.cancel(longer_than=1.0) == []
    assert pool.cancel() == [task(1)]
    assert len(client.cancelled) == 1
    assert pool.running() == []
    assert pool.cancel() == []


def test_empty_clusters_count_as_one_thread():
    client = Client()
    client.nthreads = dict
    assert n_threads(client) == 1


def test_tasks_whose_data_are_lost_are_sent_again():
    lost = [Future("lost", None), Future("cancelled", None), Future("lost", None)]
    client = Client(*lost, Future("cancelled", RuntimeError("gone")))
    pool = DaskPool(client, WorkerSetup())
    pool.submit(task(0))
    for _ in range(3):
        assert pool.wait(0) == []
    assert client.scattered == 4
    (crash,) = pool.wait(0)
    assert crash.outcome.status == "crashed"
    assert crash.outcome.error == "RuntimeError: gone"


def test_a_connection_is_tried_some_times():
    client = Client()
    client.failures = cluster.MAX_CALLS - 1
    DaskPool(client, WorkerSetup())
    client.failures = cluster.MAX_CALLS
    with pytest.raises(ClusterLostError, match=r"the Dask scheduler at \? cannot be reached"):
        DaskPool(client, WorkerSetup())


def test_a_lost_scheduler_is_an_error():
    client = Client(Future("finished", None))
    pool = DaskPool(client, WorkerSetup())
    client.status = "closed"
    for call in (pool.n_free_slots, lambda: pool.submit(task(0)), lambda: pool.wait(0)):
        with pytest.raises(ClusterLostError):
            call()
    pool.close()
    assert client.ran == []
    client.status = "running"
    pool.close()
    assert client.ran == [cluster._close_pools]


def test_a_thread_keeps_its_worker_process(monkeypatch):
    made = []

    class Pool:
        def __init__(self, jobs, setup):
            assert jobs == 1
            self.setup, self.closed, self.waits = setup, False, 0
            made.append(self)

        def submit(self, task):
            self.task = task

        def wait(self, seconds):
            self.waits += 1
            return [FinishedTask(self.task, DONE, 0.0, 1.0)] if self.waits > 1 else []

        def close(self):
            self.closed = True

    monkeypatch.setattr(cluster, "ProcessPool", Pool)
    monkeypatch.setattr(cluster, "_POOLS", {})
    first, second = WorkerSetup(), WorkerSetup()
    assert cluster._run_in_own_process(task(0), first) == finished(0)
    assert cluster._run_in_own_process(task(1), first) == finished(1)
    assert len(made) == 1
    cluster._run_in_own_process(task(2), second)
    assert [pool.closed for pool in made] == [True, False]
    assert list(cluster._POOLS) == [threading.get_ident()]
    cluster._close_pools()
    assert made[1].closed
    assert cluster._POOLS == {}
