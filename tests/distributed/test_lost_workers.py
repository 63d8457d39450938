"""Workers and schedulers that are lost during a fit: the same model, or one sentence."""

import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import CancelledError
from types import SimpleNamespace

import pytest
from sklearn.base import clone

import distributed
from common.block_problems import LOOPBACK, MODELS, assert_same, lazy, make_problem
from consilience.distributed._connection import naming_lost_scheduler
from consilience.distributed._dask import DaskBlocks
from consilience.distributed._kept import WorkerBlocks
from consilience.distributed._states import WorkerStates

TEST_ALL = bool(int(os.environ.get("CONSILIENCE_TEST_ALL", "0")))


def have_two_workers(client):
    try:
        client.wait_for_workers(2, timeout=20)
    except TimeoutError:  # it came back late, and the cluster gave it up
        client.cluster.scale(2)
        client.wait_for_workers(2, timeout=120)


class Passes:
    """Counts the passes over blocks on workers, and kills a worker during one of them."""

    KINDS = ((DaskBlocks, "_submit"), (WorkerBlocks, "_submit"), (WorkerStates, "collect"))

    def __init__(self, client, kill_in=None, delay=0.0):
        self.client, self.kill_in, self.delay, self.number = client, kill_in, delay, 0
        self.killer = None

    def __enter__(self):
        self.patch = pytest.MonkeyPatch()
        for kind, name in self.KINDS:
            self.patch.setattr(kind, name, self._counted(getattr(kind, name)))
        return self

    def _counted(self, method):
        def counted(*args, **kwargs):
            self.number += 1
            if self.number == self.kill_in:
                have_two_workers(self.client)  # one is left
                pids = self.client.run(os.getpid)
                pid = pids[sorted(pids)[self.number % len(pids)]]
                self.killer = threading.Timer(self.delay, os.kill, (pid, signal.SIGKILL))
                self.killer.start()
            return method(*args, **kwargs)

        return counted

    def __exit__(self, *error):
        self.patch.undo()
        if self.killer is not None:
            self.killer.join()


@pytest.fixture(scope="module")
def processes():
    """Two workers in processes of their own."""
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=LOOPBACK
    )
    with cluster, distributed.Client(cluster, timeout=60) as client:
        yield client


def test_lost_workers_change_nothing(processes):
    """Worker processes are killed at random moments of fits: in any pass, at once or later."""
    X, y, weight = make_problem(2)
    moments, problems = random.Random(0), []
    for model in (MODELS[0], MODELS[4], MODELS[7]):  # all views, one view a round, deep trees
        expected = clone(model).fit(X, y, weight)
        with Passes(processes) as whole:
            clone(model).fit(lazy(X), y, weight)
        problems.append((model, expected, whole.number))
    for k in range(20 if TEST_ALL else 1):
        model, expected, n_passes = problems[k % len(problems)]
        have_two_workers(processes)
        moment = moments.randint(1, n_passes), moments.choice([0.0, 0.01, 0.03])
        with Passes(processes, *moment) as passes:
            again = clone(model).fit(lazy(X), y, weight)
        assert passes.killer is not None
        assert_same(again, expected)


def test_a_cluster_without_workers_is_waited_for_and_said_to_be(monkeypatch):
    """The first call finds no worker, later ones one that is slow and then done."""
    monkeypatch.setattr("consilience.distributed._states.POLL_SECONDS", 0.01)
    answers = [TimeoutError, TimeoutError, TimeoutError, "actor"]

    def result(timeout):
        answer = answers.pop(0)
        if answer is TimeoutError:
            raise TimeoutError
        return answer

    client = SimpleNamespace(nthreads=lambda: {} if len(answers) > 1 else {"one": 1})
    states = WorkerStates(client, [])
    with pytest.warns(UserWarning, match="no workers; fit waits until there is one") as caught:
        assert states._wait_for_actor(SimpleNamespace(result=result)) == "actor"
    assert len(caught) == 1


@pytest.mark.parametrize("status", ["running", "closed"])
@pytest.mark.parametrize("error", [CancelledError("task-1"), OSError("reset"), ValueError("row")])
def test_only_a_lost_scheduler_is_named(error, status):
    client = SimpleNamespace(status=status, nthreads=dict)
    expected = (type(error), str(error)) if status == "running" else (RuntimeError, r"fit again$")
    with pytest.raises(expected[0], match=expected[1]), naming_lost_scheduler(client):
        raise error


@pytest.mark.skipif(not TEST_ALL, reason="several processes and timeouts")
@pytest.mark.parametrize("moment", ["validate", "level_sums"])
def test_a_lost_scheduler_is_named_in_one_sentence(moment):
    """In the first pass, which validates, and in later ones."""
    script = f"""
import os, signal, sys
import dask.array as da, numpy as np, distributed
from consilience.boosting import MuMBoClassifier
from consilience.distributed import _dask, _states

scheduler = int(sys.argv[1])
def losing(method, pick):
    def lost(self, *args, **kwargs):
        if args[pick].__name__ == {moment!r}:
            os.kill(scheduler, signal.SIGKILL)
        return method(self, *args, **kwargs)
    return lost
_dask.DaskBlocks._submit = losing(_dask.DaskBlocks._submit, 0)
_states.WorkerStates.collect = losing(_states.WorkerStates.collect, 0)
rng = np.random.default_rng(0)
views = {{name: da.from_array(rng.normal(size=(60, 3)), chunks=(20, -1)) for name in "ab"}}
client = distributed.Client(sys.argv[2], timeout=10)
try:
    MuMBoClassifier(n_estimators=2).fit(views, rng.integers(2, size=60))
except RuntimeError as error:
    print("RuntimeError:", error)
os._exit(0)
"""
    with Scheduler() as (pid, address):
        done = subprocess.run(
            [sys.executable, "-c", script, str(pid), address],
            capture_output=True,
            text=True,
            timeout=240,
        )
    assert re.search(
        r"^RuntimeError: the connection to .* was lost .*fit again$", done.stdout, re.M
    )


class Scheduler:
    """A scheduler and a worker in processes of their own; yields the scheduler's, its address."""

    def __enter__(self):
        run = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1"]
        port = free_port()
        self.scheduler = subprocess.Popen(
            [*run, "--port", str(port), "--no-dashboard"], stderr=subprocess.DEVNULL
        )
        address = f"tcp://127.0.0.1:{port}"
        run = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-nanny"]
        self.worker = subprocess.Popen(
            [*run, "--no-dashboard", "--nthreads", "1", "--death-timeout", "60"],
            stderr=subprocess.DEVNULL,
        )
        return self.scheduler.pid, address

    def __exit__(self, *error):
        for process in (self.worker, self.scheduler):
            process.kill()
            process.wait()


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def test_errors_of_blocks_are_not_a_lost_scheduler(processes):
    """A file that cannot be read is named, though it is an OSError as well."""
    X, y, weight = make_problem(3)
    views = {"dense": lazy(X)["dense"].map_blocks(read_missing_file, dtype=float)}
    with pytest.raises(FileNotFoundError, match=r"rows\.npy"):
        clone(MODELS[0]).fit(views, y, weight)


def read_missing_file(block):
    raise FileNotFoundError(2, "No such file or directory", "rows.npy")
