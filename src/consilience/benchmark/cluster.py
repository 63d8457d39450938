"""A Dask cluster as a pool: each of its threads keeps one worker process on its own machine."""

from __future__ import annotations

import threading
import time
from typing import Any

from consilience.benchmark.pool import FinishedTask, ProcessPool, WorkerSetup
from consilience.benchmark.tasks import Task
from consilience.benchmark.work import Outcome

__all__ = ["DaskPool"]

POLL_SECONDS = 0.02


class DaskPool:
    """A Dask cluster whose threads run tasks in worker processes on their own machines.

    A task therefore has the same limits as on a single machine, and a crash costs that task only,
    not the Dask worker.
    """

    def __init__(self, client: Any, setup: WorkerSetup) -> None:
        self._client = client
        self._running: dict[Any, Task] = {}
        self._shared_setup = client.scatter(setup, broadcast=True, hash=False)

    def n_free_slots(self) -> int:
        """Twice the number of threads less the running tasks, so that no thread sits idle."""
        return 2 * max(1, sum(self._client.nthreads().values())) - len(self._running)

    def submit(self, task: Task) -> None:
        """Send a task to the cluster."""
        future = self._client.submit(_run_in_own_process, task, self._shared_setup, pure=False)
        self._running[future] = task

    def wait(self, seconds: float) -> list[FinishedTask]:
        """Return the tasks that have ended or were lost together with their Dask worker."""
        deadline = time.monotonic() + seconds
        while True:
            finished = [future for future in self._running if future.done()]
            if finished or time.monotonic() >= deadline:
                return [self._pop_result(future) for future in finished]
            time.sleep(POLL_SECONDS)

    def _pop_result(self, future: Any) -> FinishedTask:
        task = self._running.pop(future)
        try:
            return future.result()
        except Exception as error:
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
        self._client.cancel(list(self._running), force=True)
        self._running.clear()
        self._client.run(_close_pools)


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
