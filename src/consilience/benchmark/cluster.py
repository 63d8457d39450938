"""A Dask cluster as a pool: each of its threads keeps one worker process on its own machine."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from consilience.benchmark.pool import FinishedTask, ProcessPool, WorkerSetup
from consilience.benchmark.tasks import Task, task_hash
from consilience.benchmark.work import Outcome

__all__ = ["ClusterLostError", "DaskPool", "n_threads"]

POLL_SECONDS = 0.02
MAX_LOSSES = 3  # of a task whose data were lost together with all workers that held them
RETRY_SECONDS = 1.0  # until the scheduler knows that a worker is gone


class ClusterLostError(RuntimeError):
    """The scheduler of a Dask cluster can no longer be reached."""


def n_threads(client: Any) -> int:
    """Number of threads of all workers of a cluster, at least 1."""
    return max(1, sum(client.nthreads().values()))


class DaskPool:
    """A Dask cluster whose threads run tasks in worker processes on their own machines.

    A task therefore has the same limits as on a single machine, and a crash costs that task only,
    not the Dask worker. The scheduler runs the tasks of a lost worker again elsewhere; if the
    scheduler itself is lost, every method raises ``ClusterLostError``.
    """

    def __init__(self, client: Any, setup: WorkerSetup) -> None:
        self._client = client
        self._running: dict[Any, Task] = {}
        self._losses: Counter[str] = Counter()
        self._setup = setup
        self._address = _address(client)
        with self._connected():
            self._share_setup()

    def _share_setup(self) -> None:
        for attempt in range(MAX_LOSSES):
            try:
                self._shared_setup = self._client.scatter(self._setup, broadcast=True, hash=False)
                return
            except KeyError:  # Dask's, if a worker is lost in the middle of it
                if attempt == MAX_LOSSES - 1:
                    raise self._lost() from None
                time.sleep(RETRY_SECONDS)

    @contextlib.contextmanager
    def _connected(self) -> Iterator[None]:
        """Turn errors of a lost connection into one of ours."""
        self._check_connection()
        try:
            yield
        except OSError:  # of sockets, and time-outs: the client may not know yet what happened
            raise self._lost() from None
        except RuntimeError:
            self._check_connection()
            raise

    def _check_connection(self) -> None:
        if self._client.status != "running":
            raise self._lost()

    def _lost(self) -> ClusterLostError:
        return ClusterLostError(
            f"the Dask scheduler at {self._address} cannot be reached any more; run the same "
            "study again to continue with the fits that are stored"
        )

    def n_free_slots(self) -> int:
        """Twice the number of threads less the running tasks, so that no thread sits idle."""
        with self._connected():
            return 2 * n_threads(self._client) - len(self._running)

    def submit(self, task: Task) -> None:
        """Send a task to the cluster."""
        with self._connected():
            future = self._client.submit(_run_in_own_process, task, self._shared_setup, pure=False)
        self._running[future] = task

    def wait(self, seconds: float) -> list[FinishedTask]:
        """Return the tasks that have ended or were lost together with their Dask worker."""
        deadline = time.monotonic() + seconds
        while True:
            done = [future for future in self._running if future.done()]
            self._check_connection()  # without it all tasks seem to be done
            finished = [self._pop_result(future) for future in done]
            if finished or time.monotonic() >= deadline:
                return [each for each in finished if each is not None]
            time.sleep(POLL_SECONDS)

    def _pop_result(self, future: Any) -> FinishedTask | None:
        """Result of a task; None if the data were lost, and it has been sent again with them."""
        task = self._running.pop(future)
        key = task_hash(task)
        if future.status in ("cancelled", "lost") and self._losses[key] < MAX_LOSSES:
            self._losses[key] += 1
            with self._connected():
                self._share_setup()
            self.submit(task)
            return None
        try:
            return future.result()
        except Exception as error:
            self._check_connection()  # or the task did not fail at all
            crash = Outcome(status="crashed", error=f"{type(error).__name__}: {error}")
            return FinishedTask(task, crash, time.time(), 0.0)

    def running(self) -> list[Task]:
        """Return the tasks that were sent and have not ended."""
        return list(self._running.values())

    def cancel(self, longer_than: float = 0.0) -> list[Task]:
        """Cancel all tasks; how long each of them has run is not known here."""
        tasks = [] if longer_than else self.running()
        if tasks:
            self._client.cancel(list(self._running), force=True)
            self._running.clear()
        return tasks

    def close(self) -> None:
        """Cancel unfinished tasks and stop the worker processes on the cluster."""
        if self._client.status != "running":
            return  # the worker processes end with their parents
        with contextlib.suppress(OSError, TimeoutError):
            self._client.cancel(list(self._running), force=True)
            self._running.clear()
            self._client.run(_close_pools)


def _address(client: Any) -> str:
    scheduler = client.scheduler
    return "?" if scheduler is None else str(scheduler.address)


_POOLS: dict[int, tuple[WorkerSetup, ProcessPool]] = {}  # on a Dask worker, by thread


def _run_in_own_process(task: Task, setup: WorkerSetup) -> FinishedTask:
    """Run the task, on a Dask worker, in a process that the current thread keeps and reuses."""
    thread = threading.get_ident()
    previous_setup, pool = _POOLS.get(thread, (None, None))
    if pool is None or previous_setup is not setup:
        if pool is not None:
            pool.close()
        pool = ProcessPool(1, setup)
        _POOLS[thread] = setup, pool
    pool.submit(task)
    while not (finished := pool.wait(60.0)):
        pass
    return finished[0]


def _close_pools() -> None:
    while _POOLS:
        _, (_, pool) = _POOLS.popitem()
        pool.close()
