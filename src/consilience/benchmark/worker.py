"""A worker process: reads tasks from standard input and writes outcomes to standard output.

It is started as ``python -m consilience.benchmark.worker``, so it needs nothing from the main
module of its parent, and it exits when the parent does. Anything that a method prints goes to
standard error, which the parent reads after a crash.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import pickle
import queue
import signal
import struct
import sys
import threading
from typing import IO, Any

__all__ = ["pack", "read_frame", "serve", "write_frame"]

HEADER = struct.Struct("<Q")


def pack(message: Any) -> bytes:
    """Pickle a message."""
    return pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)


def write_frame(file: IO[bytes], packed: bytes) -> None:
    """Write a packed message, preceded by its length."""
    file.write(HEADER.pack(len(packed)))
    file.write(packed)
    file.flush()


def read_frame(file: IO[bytes]) -> Any:
    """Read the next message; raise EOFError if the other side has closed."""
    head = file.read(HEADER.size)
    if len(head) < HEADER.size:
        raise EOFError
    (size,) = HEADER.unpack(head)
    content = file.read(size)
    if len(content) < size:
        raise EOFError
    return pickle.loads(content)


def _receive(source: IO[bytes], messages: queue.SimpleQueue) -> None:
    """Queue incoming messages; exit when the parent is gone."""
    try:
        while True:
            messages.put(read_frame(source))
    except (EOFError, OSError):
        os._exit(0)


def serve(source: IO[bytes], sink: IO[bytes]) -> None:
    """Run tasks and return their outcomes until the other side closes."""
    messages: queue.SimpleQueue = queue.SimpleQueue()
    setup = read_frame(source)
    threading.Thread(target=_receive, args=(source, messages), daemon=True).start()

    from threadpoolctl import threadpool_limits

    from consilience.benchmark.memory import limit_memory
    from consilience.benchmark.problems import ProblemCache
    from consilience.benchmark.work import execute, failure, warm_up
    from consilience.methods import with_own_methods

    if setup.initializer is not None:
        setup.initializer()
    problems, methods = ProblemCache(setup.problems), with_own_methods(setup.methods)
    warmed_up: set[str] = set()
    write_frame(sink, pack("ready"))
    while True:
        task = messages.get()
        if setup.timeout is not None:
            # shows where the task was when, a moment later, the parent kills this process
            faulthandler.dump_traceback_later(setup.timeout)
        try:
            problem = problems.get(task.data, task.data_parameters, task.data_source)
            # one thread, since both rounding of sums and times depend on the number of threads
            with threadpool_limits(1), limit_memory(setup.memory):
                if task.method not in warmed_up:
                    warmed_up.add(task.method)
                    warm_up(task, methods)
                outcome = execute(task, problem, methods)
        except Exception as error:  # data that cannot be loaded
            outcome = failure("failed", error)
        faulthandler.cancel_dump_traceback_later()
        write_frame(sink, pack(outcome))


def main() -> None:
    """Reserve standard output for messages; whatever methods print goes to standard error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt means
    faulthandler.enable()
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with contextlib.suppress(BrokenPipeError):
        serve(sys.stdin.buffer, sink)


if __name__ == "__main__":
    main()
