"""The pool of worker processes that runs tasks.

A worker that is killed, crashes, or takes too long loses its own task only; a fresh one takes its
place.
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

from consilience.benchmark import memory
from consilience.benchmark.problems import Problem
from consilience.benchmark.tasks import Task
from consilience.benchmark.work import Outcome
from consilience.benchmark.worker import pack, read_frame, write_frame

__all__ = ["FinishedTask", "Pool", "ProcessPool", "WorkerSetup"]

GRACE_SECONDS = 0.5  # seconds for a worker to write down where it was
MAX_ATTEMPTS = 2  # a crash may come from outside: one more try
STDERR_TAIL_BYTES = 20_000


@dataclass(frozen=True)
class WorkerSetup:
    """What every worker is told: data in memory, limits, and a function to call first."""

    problems: Mapping[str, Problem] = field(default_factory=dict)
    timeout: float | None = None
    memory: int | None = None
    initializer: Callable[[], None] | None = None

    def __post_init__(self) -> None:
        if self.timeout is not None and not self.timeout > 0:
            raise ValueError(f"the time limit must be positive, got {self.timeout}")
        if self.memory is not None:
            if self.memory <= 0:
                raise ValueError(f"the memory limit must be positive, got {self.memory}")
            if not memory.can_limit_memory():
                raise ValueError("a memory limit can be kept on Linux only; leave it out")


@dataclass(frozen=True)
class FinishedTask:
    """A task that is over, how it went, and when it began (seconds since the epoch)."""

    task: Task
    outcome: Outcome
    started: float
    seconds: float


class Pool(Protocol):
    """Where tasks run."""

    def free(self) -> int:
        """How many more tasks can be taken."""

    def submit(self, task: Task) -> None:
        """Take a task; never called when none is free."""

    def wait(self, seconds: float) -> list[FinishedTask]:
        """Tasks that ended, after at most this time."""

    def close(self) -> None:
        """End all work at once."""


class ProcessPool:
    """Worker processes of this machine, started when they are first needed."""

    def __init__(self, jobs: int, setup: WorkerSetup) -> None:
        if jobs < 1:
            raise ValueError(f"jobs must be at least 1, got {jobs}")
        self._jobs, self._timeout = jobs, setup.timeout
        self._setup = pack(setup)  # here, where an error is the caller's
        self._events: queue.SimpleQueue = queue.SimpleQueue()
        self._workers: list[_Worker] = []
        self._closed = False

    def free(self) -> int:
        """How many workers have nothing to do or could still be started."""
        return self._jobs - sum(worker.task is not None for worker in self._workers)

    def submit(self, task: Task, attempt: int = 1) -> None:
        """Give a task to the idle worker that last used its data, or to a new worker."""
        idle = [worker for worker in self._workers if worker.task is None]
        same = [worker for worker in idle if worker.data == (task.data, task.data_parameters)]
        if same or (idle and len(self._workers) == self._jobs):
            worker = (same or idle)[0]
        else:
            worker = _Worker(self._setup, self._timeout, self._events)
            self._workers.append(worker)
        worker.start(task, attempt)

    def wait(self, seconds: float) -> list[FinishedTask]:
        """Tasks that ended; a crashed one is tried once more before it counts."""
        done = []
        if self._closed:
            raise RuntimeError("the pool is closed")
        deadlines = [w.deadline for w in self._workers if w.deadline is not None]
        until = min([time.monotonic() + seconds, *deadlines])
        with contextlib.suppress(queue.Empty):
            worker, message = self._events.get(timeout=max(0.0, until - time.monotonic()))
            while True:
                done += self._take(worker, message)
                worker, message = self._events.get_nowait()
        now = time.monotonic()
        for worker in [w for w in self._workers if w.deadline is not None and w.deadline < now]:
            limit = f"stopped after {self._timeout:g} seconds"
            done.append(
                worker.finish(Outcome(status="timeout", error=limit, trace=worker.last_words()))
            )
            self._drop(worker)
        return done

    def _take(self, worker: _Worker, message: Any) -> list[FinishedTask]:
        if worker not in self._workers:
            return []  # killed for its time limit, and now it says goodbye
        if message == "ready":
            worker.begin()
            return []
        if isinstance(message, Outcome):
            return [worker.finish(message)]
        # the worker is gone
        crash = Outcome(status="crashed", error=worker.ended(), trace=worker.last_words())
        self._drop(worker)
        if worker.task is None or self._closed:
            return []
        if worker.attempt < MAX_ATTEMPTS:
            self.submit(worker.task, worker.attempt + 1)
            return []
        return [worker.finish(crash)]

    def _drop(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        worker.kill()

    def close(self) -> None:
        """Kill all workers; what they were doing is lost, nothing else."""
        self._closed = True
        while self._workers:
            self._drop(self._workers[-1])


class _Worker:
    """One worker process, with a thread that talks and one that listens to it."""

    def __init__(self, setup: bytes, timeout: float | None, events: queue.SimpleQueue) -> None:
        self.task: Task | None = None
        self.attempt = 0
        self.data: tuple[str, dict] | None = None
        self.deadline: float | None = None
        self._timeout, self._ready = timeout, False
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (kept for a crash)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "consilience.benchmark.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
            start_new_session=True,  # an interrupt from the terminal is for the parent alone
        )
        sink, source = self.process.stdin, self.process.stdout
        assert sink is not None
        assert source is not None
        # data may be large and the worker takes its time to start: nobody waits for it
        self._outbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._talk, args=(sink,), daemon=True),
            threading.Thread(target=self._listen, args=(source, events), daemon=True),
        ]
        for thread in self._threads:
            thread.start()
        self._outbox.put(setup)

    def _talk(self, sink: IO[bytes]) -> None:
        # a worker that is gone is noticed by the thread that listens
        with contextlib.suppress(OSError):
            while (packed := self._outbox.get()) is not None:
                write_frame(sink, packed)

    def _listen(self, source: IO[bytes], events: queue.SimpleQueue) -> None:
        try:
            while True:
                events.put((self, read_frame(source)))
        except Exception:  # closed, or a last message cut short
            events.put((self, None))

    def start(self, task: Task, attempt: int) -> None:
        """Send a task; the clock starts when the worker is up."""
        self.task, self.attempt = task, attempt
        self.data = (task.data, task.data_parameters)
        self._log.seek(0)
        self._log.truncate()
        self._outbox.put(pack(task))
        self.began, self._clock = time.time(), time.monotonic()
        if self._ready:
            self.begin()

    def begin(self) -> None:
        """The worker is up, and at work if it has a task."""
        self._ready = True
        self.began, self._clock = time.time(), time.monotonic()
        if self.task is not None and self._timeout is not None:
            self.deadline = self._clock + self._timeout + GRACE_SECONDS

    def finish(self, outcome: Outcome) -> FinishedTask:
        """The task is over."""
        assert self.task is not None
        ended = FinishedTask(self.task, outcome, self.began, time.monotonic() - self._clock)
        self.task = self.deadline = None
        return ended

    def last_words(self) -> str:
        """The end of what the process wrote to standard error."""
        self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, self._log.tell() - STDERR_TAIL_BYTES))
        lines = self._log.read().decode(errors="replace").splitlines()
        # the interpreter's list of everything that is imported tells nothing
        return "\n".join(line for line in lines if not line.startswith("Extension modules:"))

    def ended(self) -> str:
        """How the process ended."""
        code = self.process.wait()
        if code >= 0:
            return f"the worker ended with code {code}"
        try:
            return f"the worker was ended by {signal.Signals(-code).name}"
        except ValueError:
            return f"the worker was ended by signal {-code}"

    def kill(self) -> None:
        """End the process, and any that it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self.process.pid, signal.SIGKILL)
            else:
                self.process.kill()
        self.process.wait()
        self._outbox.put(None)
        for thread in self._threads:
            thread.join()
        for file in (self.process.stdin, self.process.stdout, self._log):
            assert file is not None
            with contextlib.suppress(OSError):
                file.close()
