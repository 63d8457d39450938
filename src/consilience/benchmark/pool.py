"""The pool of worker processes that runs tasks.

A worker that is killed, crashes or exceeds the time limit loses only its own task and is replaced
by a fresh one.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import IO, Any, Protocol

from threadpoolctl import threadpool_limits

from consilience.benchmark.memory import can_limit_memory
from consilience.benchmark.problems import Problem, ProblemCache, ProblemFiles
from consilience.benchmark.tasks import Task
from consilience.benchmark.work import Outcome, execute
from consilience.benchmark.worker import pack, read_frame, write_frame
from consilience.methods import Method, with_own_methods

__all__ = ["FinishedTask", "InProcessPool", "Pool", "ProcessPool", "WorkerSetup"]

GRACE_SECONDS = 0.5  # for a worker to write its traceback before it is killed
MAX_ATTEMPTS = 2  # a crash may have an external cause, so the task is tried once more
STDERR_TAIL_BYTES = 20_000


@dataclass(frozen=True)
class WorkerSetup:
    """What every worker receives: own data and methods, limits, and a function to call first."""

    problems: Mapping[str, Problem | ProblemFiles] = field(default_factory=dict)
    methods: Mapping[str, Method] = field(default_factory=dict)
    timeout: float | None = None
    memory: int | None = None
    initializer: Callable[[], None] | None = None

    def __post_init__(self) -> None:
        if self.timeout is not None and not self.timeout > 0:
            raise ValueError(f"the time limit must be positive, got {self.timeout}")
        if self.memory is not None:
            if self.memory <= 0:
                raise ValueError(f"the memory limit must be positive, got {self.memory}")
            if not can_limit_memory():
                raise ValueError("a memory limit is supported on Linux only; leave it out")


@dataclass(frozen=True)
class FinishedTask:
    """A task that has ended, its outcome, start (seconds since the epoch) and duration."""

    task: Task
    outcome: Outcome
    started: float
    seconds: float


class Pool(Protocol):
    """A place where tasks run."""

    def n_free_slots(self) -> int:
        """Number of further tasks that can be submitted."""

    def submit(self, task: Task) -> None:
        """Start a task; called only while a slot is free."""

    def wait(self, seconds: float) -> list[FinishedTask]:
        """Return the tasks that have ended, waiting at most this long for the first."""

    def running(self) -> list[Task]:
        """Return the tasks that are being run."""

    def cancel(self, longer_than: float = 0.0) -> list[Task]:
        """Stop the tasks that have run longer than these seconds, and return them."""

    def close(self) -> None:
        """Stop all work immediately."""


class InProcessPool:
    """Runs one task after another in this process, for classes that only exist here.

    The limits of a setup do not apply, and a crash of a task ends everything.
    """

    def __init__(self, setup: WorkerSetup) -> None:
        self._problems = ProblemCache(setup.problems)
        self._methods = with_own_methods(setup.methods)
        self._task: Task | None = None

    def n_free_slots(self) -> int:
        """One until a task is submitted."""
        return 1 if self._task is None else 0

    def submit(self, task: Task) -> None:
        """Take a task; ``wait`` runs it."""
        self._task = task

    def wait(self, seconds: float) -> list[FinishedTask]:
        """Run the task; without one, wait for tasks that other processes run."""
        if self._task is None:
            time.sleep(seconds)
            return []
        task, self._task = self._task, None
        started, start = time.time(), time.monotonic()
        problem = self._problems.get(task.data, task.data_parameters, task.data_source)
        with threadpool_limits(1):  # as in a worker process
            outcome = execute(task, problem, self._methods)
        return [FinishedTask(task, outcome, started, time.monotonic() - start)]

    def running(self) -> list[Task]:
        """Return the task that was submitted."""
        return [] if self._task is None else [self._task]

    def cancel(self, longer_than: float = 0.0) -> list[Task]:
        """Take back a task that was not begun; one that runs in this process cannot be stopped."""
        tasks = self.running()
        self._task = None
        return tasks

    def close(self) -> None:
        """There is nothing to stop."""


class ProcessPool:
    """Worker processes on this machine, started when they are first needed."""

    def __init__(self, jobs: int, setup: WorkerSetup) -> None:
        if jobs < 1:
            raise ValueError(f"jobs must be at least 1, got {jobs}")
        self._jobs, self._timeout = jobs, setup.timeout
        self._setup = pack(setup)  # packed here so that the caller sees any error
        self._events: queue.SimpleQueue = queue.SimpleQueue()
        self._workers: list[_Worker] = []
        self._closed = False

    def n_free_slots(self) -> int:
        """Number of workers that are idle or could still be started."""
        return self._jobs - sum(worker.task is not None for worker in self._workers)

    def submit(self, task: Task, attempt: int = 1) -> None:
        """Give a task to an idle worker that has its data loaded, or to a new worker."""
        idle = [worker for worker in self._workers if worker.task is None]
        has_data = [worker for worker in idle if worker.data == (task.data, task.data_parameters)]
        if has_data or (idle and len(self._workers) == self._jobs):
            worker = (has_data or idle)[0]
        else:
            worker = _Worker(self._setup, self._timeout, self._events)
            self._workers.append(worker)
        worker.start(task, attempt)

    def wait(self, seconds: float) -> list[FinishedTask]:
        """Return the tasks that have ended; a crashed one is first tried once more."""
        finished = []
        if self._closed:
            raise RuntimeError("the pool is closed")
        deadlines = [w.deadline for w in self._workers if w.deadline is not None]
        until = min([time.monotonic() + seconds, *deadlines])
        with contextlib.suppress(queue.Empty):
            worker, message = self._events.get(timeout=max(0.0, until - time.monotonic()))
            while True:
                finished += self._handle(worker, message)
                worker, message = self._events.get_nowait()
        now = time.monotonic()
        for worker in [w for w in self._workers if w.deadline is not None and w.deadline < now]:
            error = f"stopped after {self._timeout:g} seconds"
            timeout = Outcome(status="timeout", error=error, trace=worker.stderr_tail())
            finished.append(worker.finish(timeout))
            self._remove(worker)
        return finished

    def _handle(self, worker: _Worker, message: Any) -> list[FinishedTask]:
        if worker not in self._workers:
            return []  # a late message of a worker that exceeded its time limit
        if message == "ready":
            worker.mark_ready()
            return []
        if isinstance(message, Outcome):
            return [worker.finish(message)]
        # the worker process has exited
        crash = Outcome(status="crashed", error=worker.exit_reason(), trace=worker.stderr_tail())
        self._remove(worker)
        if worker.task is None or self._closed:
            return []
        if worker.attempt < MAX_ATTEMPTS:
            self.submit(worker.task, worker.attempt + 1)
            return []
        return [worker.finish(crash)]

    def _remove(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        worker.kill()

    def running(self) -> list[Task]:
        """Return the tasks of all workers."""
        return [worker.task for worker in self._workers if worker.task is not None]

    def cancel(self, longer_than: float = 0.0) -> list[Task]:
        """Kill the workers that have run a task for longer than these seconds."""
        busy = [worker for worker in self._workers if worker.task is not None]
        slow = [worker for worker in busy if not longer_than or worker.seconds() > longer_than]
        tasks = [worker.task for worker in slow if worker.task is not None]
        for worker in slow:
            self._remove(worker)
        return tasks

    def close(self) -> None:
        """Kill all workers; only the tasks they were running are lost."""
        self._closed = True
        while self._workers:
            self._remove(self._workers[-1])


class _Worker:
    """One worker process, with one thread that sends to it and one that receives from it."""

    def __init__(self, setup: bytes, timeout: float | None, events: queue.SimpleQueue) -> None:
        self.task: Task | None = None
        self.attempt = 0
        self.data: tuple[str, dict] | None = None
        self.deadline: float | None = None
        self._timeout, self._ready = timeout, False
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 (read after a crash)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "consilience.benchmark.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
            start_new_session=True,  # only the parent handles an interrupt from the terminal
        )
        sink, source = self.process.stdin, self.process.stdout
        assert sink is not None
        assert source is not None
        # sent by a thread: data may be large, and the worker takes a while to start
        self._outbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._send, args=(sink,), daemon=True),
            threading.Thread(target=self._receive, args=(source, events), daemon=True),
        ]
        for thread in self._threads:
            thread.start()
        self._outbox.put(setup)

    def _send(self, sink: IO[bytes]) -> None:
        # the receiving thread notices when the worker has exited
        with contextlib.suppress(OSError):
            while (packed := self._outbox.get()) is not None:
                write_frame(sink, packed)

    def _receive(self, source: IO[bytes], events: queue.SimpleQueue) -> None:
        try:
            while True:
                events.put((self, read_frame(source)))
        except Exception:  # closed, or the last message was truncated
            events.put((self, None))

    def start(self, task: Task, attempt: int) -> None:
        """Send a task; its time limit counts from when the worker is ready."""
        self.task, self.attempt = task, attempt
        self.data = (task.data, task.data_parameters)
        self._stderr.seek(0)
        self._stderr.truncate()
        self._outbox.put(pack(task))
        self._start_clock()
        if self._ready:
            self.mark_ready()

    def mark_ready(self) -> None:
        """Note that the worker is up and, if it has a task, working on it."""
        self._ready = True
        self._start_clock()
        if self.task is not None and self._timeout is not None:
            self.deadline = self._start_monotonic + self._timeout + GRACE_SECONDS

    def _start_clock(self) -> None:
        self.started, self._start_monotonic = time.time(), time.monotonic()

    def seconds(self) -> float:
        """Seconds since the task began; 0 while the worker starts."""
        return time.monotonic() - self._start_monotonic if self._ready else 0.0

    def finish(self, outcome: Outcome) -> FinishedTask:
        """Return the current task with its outcome; the worker is idle afterwards."""
        assert self.task is not None
        seconds = time.monotonic() - self._start_monotonic
        finished = FinishedTask(self.task, outcome, self.started, seconds)
        self.task = self.deadline = None
        return finished

    def stderr_tail(self) -> str:
        """The end of what the process wrote to standard error."""
        self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, self._stderr.tell() - STDERR_TAIL_BYTES))
        lines = self._stderr.read().decode(errors="replace").splitlines()
        # the interpreter's list of imported extension modules is no help
        return "\n".join(line for line in lines if not line.startswith("Extension modules:"))

    def exit_reason(self) -> str:
        """How the process ended."""
        code = self.process.wait()
        if code >= 0:
            return f"the worker exited with code {code}"
        try:
            return f"the worker was killed by {signal.Signals(-code).name}"
        except ValueError:
            return f"the worker was killed by signal {-code}"

    def kill(self) -> None:
        """Kill the process and any processes that it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self.process.pid, signal.SIGKILL)
            else:
                self.process.kill()
        self.process.wait()
        self._outbox.put(None)
        for thread in self._threads:
            thread.join()
        for file in (self.process.stdin, self.process.stdout, self._stderr):
            assert file is not None
            with contextlib.suppress(OSError):
                file.close()
