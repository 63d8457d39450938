"""A worker process: reads tasks from its standard input, writes outcomes to its standard output.

It is a plain ``python -m consilience.benchmark.worker``, so that it needs nothing from the main
module of whoever started it, and ends as soon as that process does. What the work prints goes to
standard error, which the parent keeps for the case of a crash.
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
    """A pickled message."""
    return pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)


def write_frame(file: IO[bytes], packed: bytes) -> None:
    """One packed message with its length in front."""
    file.write(HEADER.pack(len(packed)))
    file.write(packed)
    file.flush()


def read_frame(file: IO[bytes]) -> Any:
    """The next message; EOFError where the other side is gone."""
    head = file.read(HEADER.size)
    if len(head) < HEADER.size:
        raise EOFError
    (size,) = HEADER.unpack(head)
    content = file.read(size)
    if len(content) < size:
        raise EOFError
    return pickle.loads(content)


def _listen(source: IO[bytes], messages: queue.SimpleQueue) -> None:
    """Pass messages on; without a parent there is nothing left to work for."""
    try:
        while True:
            messages.put(read_frame(source))
    except (EOFError, OSError):
        os._exit(0)


def serve(source: IO[bytes], sink: IO[bytes]) -> None:
    """Answer tasks until the other side closes."""
    messages: queue.SimpleQueue = queue.SimpleQueue()
    setup = read_frame(source)
    threading.Thread(target=_listen, args=(source, messages), daemon=True).start()

    from threadpoolctl import threadpool_limits

    from consilience.benchmark.memory import limited
    from consilience.benchmark.problems import ProblemCache
    from consilience.benchmark.work import execute, failure, warm_up

    if setup.initializer is not None:
        setup.initializer()
    problems = ProblemCache(setup.problems)
    warm: set[str] = set()
    write_frame(sink, pack("ready"))
    while True:
        task = messages.get()
        if setup.timeout is not None:
            # the parent ends the process a moment later; this says where it was
            faulthandler.dump_traceback_later(setup.timeout)
        try:
            problem = problems.get(task.data, task.data_parameters)
            # one thread: sums of several threads depend on their number, and so do times
            with threadpool_limits(1), limited(setup.memory):
                if task.method not in warm:
                    warm.add(task.method)
                    warm_up(task)
                outcome = execute(task, problem)
        except Exception as error:  # data that cannot be loaded
            outcome = failure("failed", error)
        faulthandler.cancel_dump_traceback_later()
        write_frame(sink, pack(outcome))


def main() -> None:
    """Keep the way to the parent for messages; prints of the work go to standard error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt means
    faulthandler.enable()
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with contextlib.suppress(BrokenPipeError):
        serve(sys.stdin.buffer, sink)


if __name__ == "__main__":
    main()
