"""The fits behind a published page, in a file beside it, so that a later run can continue them.

A gzip file of JSON lines: the versions and machines of the runners, then one line for each fit. A
fit is found by the hash of its task; those of a suite that has changed since are not used.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from consilience._atomic_write import write_atomically
from consilience.benchmark.run import pending_tasks
from consilience.benchmark.store import Record, Store
from consilience.benchmark.tasks import Task
from consilience.benchmark.work import Outcome

__all__ = ["fits_path", "reuse_fits", "write_fits"]


class PublishedFit(Struct, frozen=True):
    """A fit that succeeded, without its task."""

    task_hash: str
    runner: int
    started: str
    seconds: float
    outcome: Outcome


def fits_path(folder: Path, suite_name: str) -> Path:
    """Where the fits of a suite are in a folder of results."""
    return folder / "fits" / f"{suite_name}.jsonl.gz"


def write_fits(
    path: Path, records: Iterable[Record], environments: Mapping[int, dict[str, Any]]
) -> None:
    """Write the fits that succeeded, in the order of their hashes; the same fits, the same file."""
    done = sorted((r for r in records if r.done), key=lambda record: record.task_hash)
    runners = {runner: environments[runner] for runner in sorted({r.runner for r in done})}
    fits = [PublishedFit(r.task_hash, r.runner, r.started, r.seconds, r.outcome) for r in done]
    lines = b"".join(msgspec.json.encode(item) + b"\n" for item in [runners, *fits])
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, gzip.compress(lines, mtime=0))


def reuse_fits(path: Path, tasks: Iterable[Task], store: Store) -> int:
    """Add the published fits of pending tasks to a store; return how many there were."""
    pending = pending_tasks(tasks, store)
    try:
        lines = gzip.decompress(path.read_bytes()).splitlines()
        environments = msgspec.json.decode(lines[0], type=dict[int, dict[str, Any]])
        fits = [msgspec.json.decode(line, type=PublishedFit) for line in lines[1:]]
        fits = [fit for fit in fits if fit.task_hash in pending]
        starts = [datetime.fromisoformat(fit.started).timestamp() for fit in fits]
        runners = {fit.runner: environments[fit.runner] for fit in fits}
        for machine in runners.values():
            datetime.fromisoformat(machine["started"])
    except (EOFError, zlib.error, gzip.BadGzipFile, ValueError, LookupError, TypeError) as error:
        raise ValueError(f"{path} has no published fits that can be read: {error!r}") from None
    numbers = {runner: store.add_runner(machine) for runner, machine in runners.items()}
    for fit, start in zip(fits, starts, strict=True):
        task = pending[fit.task_hash]
        store.add(task, fit.outcome, start, fit.seconds, runner=numbers[fit.runner])
    return len(fits)
