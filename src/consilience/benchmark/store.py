"""The store: results of tasks in one SQLite file, one transaction per result.

A result is written once, under the hash of its task; a second write has no effect. Any number of
runners may therefore share a store, and a runner that is killed loses only unfinished tasks.
Claims keep runners from doing the same work twice. A claim holds as long as its runner is alive;
where that cannot be determined, only time is lost. The file must be on a local disk, since SQLite's
write-ahead log does not work over a network.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import socket
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import msgspec

from consilience.benchmark.predictions import Predictions
from consilience.benchmark.processes import is_alive, own_uuid
from consilience.benchmark.tasks import Task, task_hash
from consilience.benchmark.work import Outcome

__all__ = ["Record", "Store", "StoreError", "environment"]

SCHEMA_VERSION = 2
BUSY_SECONDS = 30.0
SCHEMA = """
CREATE TABLE IF NOT EXISTS runners (
  id INTEGER PRIMARY KEY, host TEXT, pid INTEGER, process_uuid TEXT, heartbeat REAL, started TEXT,
  environment TEXT);
CREATE TABLE IF NOT EXISTS results (
  task_hash TEXT PRIMARY KEY, task TEXT NOT NULL, status TEXT NOT NULL, runner INTEGER,
  started TEXT, seconds REAL, outcome TEXT NOT NULL, predictions BLOB);
CREATE TABLE IF NOT EXISTS claims (task_hash TEXT PRIMARY KEY, runner INTEGER NOT NULL);
"""
RECORD_COLUMNS = "task_hash, task, outcome, started, seconds, runner"
_INHERITED: list[sqlite3.Connection] = []  # connections of the process this one was forked from
PACKAGES = ("consilience", "numpy", "scipy", "scikit-learn")


class StoreError(Exception):
    """The store cannot be used; the message explains why and what to do."""


@dataclass(frozen=True)
class Record:
    """A stored result."""

    task_hash: str
    task: Task
    outcome: Outcome
    started: str
    seconds: float
    runner: int

    @property
    def done(self) -> bool:
        """Whether the task succeeded."""
        return self.outcome.status == "done"


def environment() -> dict[str, Any]:
    """Describe versions and machine, which are recorded with every run."""
    info: dict[str, Any] = {"python": platform.python_version()}
    for name in PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            info[name] = version(name)
    info["system"] = f"{platform.system()} {platform.machine()}"
    info["cores"] = os.cpu_count()
    with contextlib.suppress(AttributeError, ValueError, OSError):
        pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
        info["memory_gb"] = round(pages * size / 2**30, 1)
    return info


class Store:
    """Results of tasks; as a context manager it closes the file.

    Examples
    --------
    >>> from consilience.benchmark import Store
    >>> with Store(":memory:") as store:
    ...     list(store.records())
    []
    """

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        self._runner: int | None = None
        self._pid = os.getpid()
        with self._database_errors():
            self._connect()

    def _connect(self) -> None:
        # a store that is forgotten may be closed by the garbage collection of another thread
        self._db = sqlite3.connect(
            self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            self._prepare()
        except BaseException:
            self._db.close()
            raise

    def _reopen_after_fork(self) -> None:
        """Open the file again: SQLite does not allow a connection to be used by a fork."""
        _INHERITED.append(self._db)  # closing it here would release locks of the other process
        self._pid, was_registered = os.getpid(), self._runner is not None
        self._runner = None
        self._connect()
        if was_registered:
            self.register_runner()

    def _prepare(self) -> None:
        self._enable_write_ahead_log()
        self._db.execute("PRAGMA synchronous=FULL")
        (schema_version,) = self._db.execute("PRAGMA user_version").fetchone()
        if schema_version not in (0, SCHEMA_VERSION):
            raise StoreError(
                f"{self.path} was written by another version of consilience (schema "
                f"{schema_version}, expected {SCHEMA_VERSION}); use a new folder"
            )
        if schema_version == 0:
            (n_tables,) = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()
            known = self._db.execute("SELECT 1 FROM sqlite_master WHERE name = 'results'")
            if n_tables and known.fetchone() is None:
                raise StoreError(f"{self.path} is some other SQLite database; use a new folder")
            with self._transaction():
                for statement in SCHEMA.split(";"):
                    self._db.execute(statement)
                self._db.execute(f"PRAGMA user_version={SCHEMA_VERSION}")

    def _enable_write_ahead_log(self) -> None:
        """Enable the log, retrying since SQLite does not wait for a process that does the same."""
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                self._db.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                busy = (error.sqlite_errorname or "").startswith("SQLITE_BUSY")
                if not busy or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release claims and close the file."""
        if self._pid != os.getpid():
            _INHERITED.append(self._db)
            return
        with contextlib.suppress(sqlite3.Error):
            if self._runner is not None:
                self._db.execute("DELETE FROM claims WHERE runner = ?", [self._runner])
        self._runner = None
        self._db.close()

    # -- results -----------------------------------------------------------------------------

    def add(
        self,
        task: Task,
        outcome: Outcome,
        started: float,
        seconds: float,
        *,
        runner: int | None = None,
    ) -> bool:
        """Write a result in one transaction; return False if another runner was first.

        ``runner`` is the number of the one that ran the task, by default this one.
        """
        key = task_hash(task)
        plain_outcome = msgspec.to_builtins(outcome)
        del plain_outcome["predictions"]
        row = (
            key,
            msgspec.json.encode(task, order="sorted").decode(),
            outcome.status,
            self._runner if runner is None else runner,
            datetime.fromtimestamp(started, UTC).isoformat(timespec="seconds"),
            seconds,
            json.dumps(plain_outcome, default=_to_builtin),
            outcome.predictions,
        )
        with self._database_errors(), self._transaction():
            self._db.execute("DELETE FROM claims WHERE task_hash = ?", [key])
            written = self._db.execute(
                "INSERT INTO results VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", row
            )
        return written.rowcount == 1

    def delete(self, task_hashes: Iterable[str]) -> None:
        """Delete results, so that their tasks are run again."""
        with self._database_errors(), self._transaction():
            rows = [(key,) for key in task_hashes]
            self._db.executemany("DELETE FROM results WHERE task_hash = ?", rows)

    def statuses(self) -> dict[str, str]:
        """Return the status of every stored result by task hash."""
        with self._database_errors():
            return dict(self._db.execute("SELECT task_hash, status FROM results"))

    def records(self, task_hashes: Iterable[str] | None = None) -> Iterator[Record]:
        """Return stored results, all or those of these tasks, in the order they were written."""
        wanted = None if task_hashes is None else set(task_hashes)
        query = f"SELECT {RECORD_COLUMNS} FROM results ORDER BY rowid"
        with self._database_errors():
            rows = self._db.execute(query).fetchall()
        return (_to_record(row) for row in rows if wanted is None or row[0] in wanted)

    def record(self, key: str) -> Record:
        """Return the result of one task."""
        query = f"SELECT {RECORD_COLUMNS} FROM results WHERE task_hash = ?"
        with self._database_errors():
            return _to_record(self._db.execute(query, [key]).fetchone())

    def predictions(self, key: str) -> Predictions | None:
        """Return the predictions of a task, or None if they were not kept."""
        query = "SELECT predictions FROM results WHERE task_hash = ?"
        with self._database_errors():
            row = self._db.execute(query, [key]).fetchone()
        return None if row is None or row[0] is None else Predictions.from_bytes(row[0])

    # -- runners -----------------------------------------------------------------------------

    def register_runner(self) -> int:
        """Register this process as a runner and return its number."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        machine = json.dumps(environment())
        row = (socket.gethostname(), os.getpid(), own_uuid(), time.time(), now, machine)
        with self._database_errors(), self._transaction():
            columns = "host, pid, process_uuid, heartbeat, started, environment"
            insert = f"INSERT INTO runners ({columns}) VALUES (?, ?, ?, ?, ?, ?)"
            added = self._db.execute(insert, row)
        self._runner = added.lastrowid
        assert self._runner is not None
        return self._runner

    def add_runner(self, machine: Mapping[str, Any]) -> int:
        """Record a runner whose results come from elsewhere, as ``environments`` returned it."""
        own = {key: value for key, value in machine.items() if key != "started"}
        with self._database_errors(), self._transaction():
            insert = "INSERT INTO runners (started, environment) VALUES (?, ?)"
            added = self._db.execute(insert, (machine["started"], json.dumps(own)))
        assert added.lastrowid is not None
        return added.lastrowid

    def heartbeat(self) -> None:
        """Record that this runner is alive."""
        with self._database_errors():
            update = "UPDATE runners SET heartbeat = ? WHERE id = ?"
            self._db.execute(update, [time.time(), self._runner])

    def environments(self) -> dict[int, dict[str, Any]]:
        """Return versions, machine and start time of every runner."""
        with self._database_errors():
            rows = self._db.execute("SELECT id, started, environment FROM runners").fetchall()
        return {runner: {"started": started, **json.loads(text)} for runner, started, text in rows}

    def claim(self, keys: Iterable[str]) -> str | None:
        """Claim and return the first task that is neither done nor claimed by a live runner."""
        with self._database_errors(), self._transaction():
            claimed = self._active_claims()
            for key in keys:
                if key in claimed:
                    continue
                query = "SELECT 1 FROM results WHERE task_hash = ?"
                if self._db.execute(query, [key]).fetchone() is None:
                    insert = "INSERT OR REPLACE INTO claims VALUES (?, ?)"
                    self._db.execute(insert, [key, self._runner])
                    return key
        return None

    def release(self, keys: Iterable[str]) -> None:
        """Give up claims on tasks that were not finished."""
        with self._database_errors(), self._transaction():
            delete = "DELETE FROM claims WHERE task_hash = ? AND runner = ?"
            self._db.executemany(delete, [(key, self._runner) for key in keys])

    def _active_claims(self) -> set[str]:
        claims = self._db.execute("SELECT task_hash, runner FROM claims").fetchall()
        query = "SELECT id, host, pid, process_uuid, heartbeat FROM runners"
        claiming = {runner for _, runner in claims}
        alive = {
            runner
            for runner, *process in self._db.execute(query).fetchall()
            if runner in claiming and is_alive(*process)
        }
        return {key for key, runner in claims if runner in alive}

    # -- errors ------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):  # on a full disk SQLite has rolled back itself
                self._db.execute("ROLLBACK")
            raise

    @contextlib.contextmanager
    def _database_errors(self) -> Iterator[None]:
        """Turn errors of SQLite into a StoreError that explains them."""
        try:
            if self._pid != os.getpid():
                self._reopen_after_fork()
            yield
        except sqlite3.DatabaseError as error:
            raise StoreError(self._explain(error)) from error

    def _explain(self, error: sqlite3.DatabaseError) -> str:
        name = getattr(error, "sqlite_errorname", "") or ""
        if name.startswith("SQLITE_FULL"):
            return (
                f"no space left for {self.path}; stored results are safe, so free some space and "
                "run the same command again"
            )
        if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            return f"{self.path} has been locked by another process for over {BUSY_SECONDS:g} s"
        if name.startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PERM")):
            return f"{self.path} cannot be opened for writing: {error}"
        if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
            return f"{self.path} is damaged or not a store of results: {error}; use a new folder"
        return f"{self.path}: {error}"


def _to_record(row: tuple) -> Record:
    key, task_json, outcome_json, started, seconds, runner = row
    try:
        task = msgspec.json.decode(task_json, type=Task)
        outcome = msgspec.convert(json.loads(outcome_json), type=Outcome)
    except (msgspec.MsgspecError, ValueError, TypeError) as error:
        raise StoreError(f"the stored result {key} is damaged: {error}; use a new folder") from None
    return Record(key, task, outcome, started, seconds, runner)


def _to_builtin(value: Any) -> Any:
    """Convert NumPy scalars and arrays to built-in types."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"cannot store {type(value).__name__}")
