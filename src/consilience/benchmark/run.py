"""Run tasks: give those without a stored result to a pool, and store each result as it arrives."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from consilience.benchmark.cluster import DaskPool
from consilience.benchmark.pool import InProcessPool, Pool, ProcessPool, WorkerSetup
from consilience.benchmark.problems import Problem
from consilience.benchmark.store import Record, Store
from consilience.benchmark.tasks import Task, task_hash
from consilience.methods import Method, is_from_main

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
    methods: Mapping[str, Method] | None = None,
    jobs: int = 1,
    client: Any = None,
    timeout: float | None = None,
    memory: int | None = None,
    retry: bool = False,
    budget: float | None = None,
    hard: bool = False,
    fit_limit: float | None = None,
    initializer: Callable[[], None] | None = None,
    pool: Pool | None = None,
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
    methods : dict of name -> Method, optional
        Own methods that tasks refer to by name. Those whose classes are defined in ``__main__``
        run in this process, after all others and without limits.
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
    hard : bool, default=False
        Whether running tasks are stopped at the end of the budget instead, without a result.
    fit_limit : float, optional
        Seconds after which a task is stopped without a result; it is not run again.
    initializer : callable, optional
        Called first in every worker.
    pool : Pool, optional
        Run in this pool, which stays open, instead; it has its own data, methods and limits.

    Yields
    ------
    Record or None
        A result, or None about once a second while no task has ended.

    Examples
    --------
    >>> from consilience.benchmark import Problem, Store, Task, run_tasks
    >>> from consilience.benchmark.protocol import Folds
    >>> from consilience.datasets import make_multiview_classification
    >>> problem = Problem(*make_multiview_classification(60, random_state=0))
    >>> task = Task(data="mine", method="Late fusion", split=Folds(2, 1), index=0)
    >>> with Store(":memory:") as store:
    ...     records = [r for r in run_tasks([task], store, problems={"mine": problem}) if r]
    >>> records[0].done
    True
    """
    methods = dict(methods or {})
    here = {name: methods.pop(name) for name in list(methods) if is_from_main(methods[name])}
    setup = WorkerSetup(problems or {}, methods, timeout, memory, initializer)
    pending = pending_tasks(tasks, store, retry=retry)
    pending_here = {key: pending.pop(key) for key in list(pending) if pending[key].method in here}
    deadline = None if budget is None else time.monotonic() + budget
    limits = _Limits(deadline, hard, fit_limit)
    store.register_runner()
    if pending and pool is not None:
        yield from _run_pending(pool, store, pending, limits)
    elif pending:
        own_pool: Pool = ProcessPool(jobs, setup) if client is None else DaskPool(client, setup)
        with contextlib.closing(own_pool):
            yield from _run_pending(own_pool, store, pending, limits)
    if pending_here:
        in_process = InProcessPool(replace(setup, methods=here, timeout=None, memory=None))
        yield from _run_pending(in_process, store, pending_here, limits)


@dataclass(frozen=True)
class _Limits:
    """When tasks are no longer started, whether running ones are stopped then, and how long."""

    deadline: float | None
    hard: bool
    fit_limit: float | None

    @property
    def is_over(self) -> bool:
        return self.deadline is not None and time.monotonic() >= self.deadline

    @property
    def poll_seconds(self) -> float:
        """How long to wait for a result: not beyond the end if that is hard."""
        if self.deadline is None or not self.hard:
            return POLL_SECONDS
        return min(POLL_SECONDS, max(0.0, self.deadline - time.monotonic()))


def _run_pending(
    pool: Pool, store: Store, pending: dict[str, Task], limits: _Limits
) -> Iterator[Record | None]:
    """Claim, submit, wait and store until nothing is pending."""
    running: set[str] = set()
    last_heartbeat = time.monotonic()

    def stop(longer_than: float = 0.0) -> None:
        stopped = [task_hash(task) for task in pool.cancel(longer_than)]
        store.release(stopped)
        for key in stopped:
            running.discard(key)
            del pending[key]

    while True:
        is_over = limits.is_over
        while not is_over and pool.n_free_slots() > 0:
            key = store.claim(key for key in pending if key not in running)
            if key is None:
                break
            running.add(key)
            pool.submit(pending[key])
        if is_over and limits.hard:
            stop()
            return
        if not running and (is_over or not pending):
            return
        finished = pool.wait(limits.poll_seconds)
        for result in finished:
            key = task_hash(result.task)
            store.add(result.task, result.outcome, result.started, result.seconds)
            running.discard(key)
            del pending[key]
            yield store.record(key)
        if limits.fit_limit is not None:
            stop(limits.fit_limit)
        if time.monotonic() - last_heartbeat >= POLL_SECONDS:
            store.heartbeat()
            last_heartbeat = time.monotonic()
            # other runners may have stored results in the meantime
            for key in set(store.statuses()) & set(pending) - running:
                del pending[key]
        if not finished:
            yield None
