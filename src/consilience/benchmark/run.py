"""Run tasks: give those that are not in the store to a pool, and store each result as it comes."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from consilience.benchmark.cluster import DaskPool
from consilience.benchmark.pool import FinishedTask, Pool, ProcessPool, WorkerSetup
from consilience.benchmark.problems import Problem
from consilience.benchmark.store import Record, Store
from consilience.benchmark.tasks import Task, task_hash

__all__ = ["pending_tasks", "run_tasks"]

POLL_SECONDS = 1.0  # seconds between signs of life and looks at other runners


def pending_tasks(tasks: Iterable[Task], store: Store, *, retry: bool = False) -> dict[str, Task]:
    """Tasks by address that the store has no result for, or, with ``retry``, no good one."""
    wanted = {task_hash(task): task for task in tasks}
    statuses = store.statuses()
    if retry:
        store.forget([key for key in wanted if statuses.get(key, "done") != "done"])
        statuses = store.statuses()
    return {key: task for key, task in wanted.items() if key not in statuses}


def run_tasks(
    tasks: Iterable[Task],
    store: Store,
    *,
    problems: Mapping[str, Problem] | None = None,
    jobs: int = 1,
    client: Any = None,
    timeout: float | None = None,
    memory: int | None = None,
    retry: bool = False,
    budget: float | None = None,
    initializer: Callable[[], None] | None = None,
) -> Iterator[Record | None]:
    """Do all tasks that the store has no result for; yield each result once it is stored.

    Parameters
    ----------
    tasks : iterable of Task
        In the order in which they should be done.
    store : Store
        Where results are and go. Other runners may work on it at the same time.
    problems : dict of name -> Problem, optional
        Data in memory that tasks refer to by name.
    jobs : int, default=1
        Number of worker processes; at least one, so that limits hold and crashes are contained.
    client : dask.distributed.Client, optional
        Run on this cluster instead.
    timeout : float, optional
        Seconds after which a task is stopped, loading of data included.
    memory : int, optional
        Bytes that a task may take beyond its data (Linux).
    retry : bool, default=False
        Do tasks again that failed before.
    budget : float, optional
        Seconds after which no further task is begun; those under way are finished.
    initializer : callable, optional
        Called first in every worker.

    Yields
    ------
    Record or None
        A result; None from time to time, when nothing has ended.
    """
    setup = WorkerSetup(dict(problems or {}), timeout, memory, initializer)
    waiting = pending_tasks(tasks, store, retry=retry)
    end = None if budget is None else time.monotonic() + budget
    pool: Pool = ProcessPool(jobs, setup) if client is None else DaskPool(client, setup)
    store.register_runner()
    with contextlib.closing(pool):
        yield from _drive(pool, store, waiting, end)


def _drive(pool: Pool, store: Store, waiting: dict[str, Task], end: float | None) -> Iterator:
    """Until nothing is waiting: claim, submit, wait, store."""
    running: set[str] = set()
    last_beat = time.monotonic()
    while True:
        over = end is not None and time.monotonic() >= end
        while not over and pool.free() > 0:
            key = store.claim(key for key in waiting if key not in running)
            if key is None:
                break
            running.add(key)
            pool.submit(waiting[key])
        if not running and (over or not waiting):
            return
        finished = pool.wait(POLL_SECONDS)
        for done in finished:
            yield _keep(store, done, waiting, running)
        if time.monotonic() - last_beat >= POLL_SECONDS:
            store.beat()
            last_beat = time.monotonic()
            # results of other runners
            for key in set(store.statuses()) & set(waiting) - running:
                del waiting[key]
        if not finished:
            yield None


def _keep(store: Store, done: FinishedTask, waiting: dict[str, Task], running: set[str]) -> Record:
    key = task_hash(done.task)
    store.add(done.task, done.outcome, done.started, done.seconds)
    running.discard(key)
    del waiting[key]
    return store.record(key)
