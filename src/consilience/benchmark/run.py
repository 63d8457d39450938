"""Run tasks: give those without a stored result to a pool, and store each result as it arrives."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from consilience.benchmark.cluster import DaskPool
from consilience.benchmark.pool import Pool, ProcessPool, WorkerSetup
from consilience.benchmark.problems import Problem
from consilience.benchmark.store import Record, Store
from consilience.benchmark.tasks import Task, task_hash

__all__ = ["pending_tasks", "run_tasks"]

POLL_SECONDS = 1.0  # between heartbeats and checks for results of other runners


def pending_tasks(tasks: Iterable[Task], store: Store, *, retry: bool = False) -> dict[str, Task]:
    """Tasks by hash that have no stored result; with ``retry``, also those that failed."""
    by_hash = {task_hash(task): task for task in tasks}
    statuses = store.statuses()
    if retry:
        store.delete([key for key in by_hash if statuses.get(key, "done") != "done"])
        statuses = store.statuses()
    return {key: task for key, task in by_hash.items() if key not in statuses}


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
    """Run all tasks that have no stored result; yield each result once it is stored.

    Parameters
    ----------
    tasks : iterable of Task
        In the order in which they should be run.
    store : Store
        Holds the results. Other runners may use it at the same time.
    problems : dict of name -> Problem, optional
        Data in memory that tasks refer to by name.
    jobs : int, default=1
        Number of worker processes; at least one, so that limits hold and crashes are contained.
    client : dask.distributed.Client, optional
        Run on this cluster instead.
    timeout : float, optional
        Seconds after which a task is stopped, including the loading of its data.
    memory : int, optional
        Bytes that a task may use beyond its data (Linux only).
    retry : bool, default=False
        Run tasks again that failed before.
    budget : float, optional
        Seconds after which no further task is started; running ones are finished.
    initializer : callable, optional
        Called first in every worker.

    Yields
    ------
    Record or None
        A result, or None about once a second while no task has ended.
    """
    setup = WorkerSetup(dict(problems or {}), timeout, memory, initializer)
    pending = pending_tasks(tasks, store, retry=retry)
    deadline = None if budget is None else time.monotonic() + budget
    pool: Pool = ProcessPool(jobs, setup) if client is None else DaskPool(client, setup)
    store.register_runner()
    with contextlib.closing(pool):
        yield from _run_pending(pool, store, pending, deadline)


def _run_pending(
    pool: Pool, store: Store, pending: dict[str, Task], deadline: float | None
) -> Iterator[Record | None]:
    """Claim, submit, wait and store until nothing is pending."""
    running: set[str] = set()
    last_heartbeat = time.monotonic()
    while True:
        out_of_time = deadline is not None and time.monotonic() >= deadline
        while not out_of_time and pool.n_free_slots() > 0:
            key = store.claim(key for key in pending if key not in running)
            if key is None:
                break
            running.add(key)
            pool.submit(pending[key])
        if not running and (out_of_time or not pending):
            return
        finished = pool.wait(POLL_SECONDS)
        for result in finished:
            key = task_hash(result.task)
            store.add(result.task, result.outcome, result.started, result.seconds)
            running.discard(key)
            del pending[key]
            yield store.record(key)
        if time.monotonic() - last_heartbeat >= POLL_SECONDS:
            store.heartbeat()
            last_heartbeat = time.monotonic()
            # other runners may have stored results in the meantime
            for key in set(store.statuses()) & set(pending) - running:
                del pending[key]
        if not finished:
            yield None
