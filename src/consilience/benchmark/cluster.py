"""A Dask cluster as a pool: each of its threads keeps a worker process of its own machine."""

from __future__ import annotations

import threading
import time
from typing import Any

from consilience.benchmark.pool import FinishedTask, ProcessPool, WorkerSetup
from consilience.benchmark.tasks import Task
from consilience.benchmark.work import Outcome

__all__ = ["DaskPool"]


class DaskPool:
    """A Dask cluster; each of its threads runs tasks in a worker process of its own machine.

    So a task has the same limits there, and a crash costs that task and no Dask worker.
    """

    def __init__(self, client: Any, setup: WorkerSetup) -> None:
        self._client, self._setup = client, setup
        self._running: dict[Any, Task] = {}
        self._shared = client.scatter(setup, broadcast=True, hash=False)

    def free(self) -> int:
        """Twice the threads of the cluster, so that none waits for the next task."""
        return 2 * max(1, sum(self._client.nthreads().values())) - len(self._running)

    def submit(self, task: Task) -> None:
        """Send a task to the cluster."""
        future = self._client.submit(_in_own_process, task, self._shared, pure=False)
        self._running[future] = task

    def wait(self, seconds: float) -> list[FinishedTask]:
        """Tasks that ended, or were lost with the Dask worker that had them."""
        deadline = time.monotonic() + seconds
        while True:
            over = [future for future in self._running if future.done()]
            if over or time.monotonic() >= deadline:
                return [self._take(future) for future in over]
            time.sleep(0.02)

    def _take(self, future: Any) -> FinishedTask:
        task = self._running.pop(future)
        try:
            return future.result()
        except Exception as error:
            lost = Outcome(status="crashed", error=f"{type(error).__name__}: {error}")
            return FinishedTask(task, lost, time.time(), 0.0)

    def close(self) -> None:
        """Call back what has not been done, and end the processes of the cluster's threads."""
        self._client.cancel(list(self._running), force=True)
        self._running.clear()
        self._client.run(_close_pools)


_POOLS: dict[int, tuple[WorkerSetup, ProcessPool]] = {}  # on a Dask worker, by thread


def _in_own_process(task: Task, setup: WorkerSetup) -> FinishedTask:
    """On a Dask worker: run the task in a process that this thread keeps for the next ones."""
    thread = threading.get_ident()
    known, pool = _POOLS.get(thread, (None, None))
    if pool is None or known is not setup:
        if pool is not None:
            pool.close()
        pool = ProcessPool(1, setup)
        _POOLS[thread] = setup, pool
    pool.submit(task)
    while not (done := pool.wait(60.0)):
        pass
    return done[0]


def _close_pools() -> None:
    while _POOLS:
        _POOLS.popitem()[1][1].close()
