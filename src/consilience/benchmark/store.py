"""The store: results of tasks in one SQLite file, one commit for each.

A result is written once, under the address of its task; whoever writes a second one changes
nothing. So any number of runners may share a store, and one that is killed loses only what it had
not finished. Claims keep runners from doing the same work twice: they are honoured as long as the
runner that made them is alive, and nothing but time is lost where that cannot be told. The file
must lie on a disk of this machine: SQLite's write-ahead log does not work over a network.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import socket
import sqlite3
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec

from consilience.benchmark.predictions import Predictions
from consilience.benchmark.tasks import Task, task_hash
from consilience.benchmark.work import Outcome

__all__ = ["Record", "Store", "StoreError", "environment"]

SCHEMA_VERSION = 1
BUSY_SECONDS = 30.0
STALE_SECONDS = 60.0  # a runner silent for so long counts as gone
TABLES = """
CREATE TABLE IF NOT EXISTS runners (
  id INTEGER PRIMARY KEY, host TEXT, pid INTEGER, process TEXT, beat REAL, started TEXT,
  environment TEXT);
CREATE TABLE IF NOT EXISTS results (
  task TEXT PRIMARY KEY, spec TEXT NOT NULL, status TEXT NOT NULL, runner INTEGER,
  started TEXT, seconds REAL, outcome TEXT NOT NULL, predictions BLOB);
CREATE TABLE IF NOT EXISTS claims (task TEXT PRIMARY KEY, runner INTEGER NOT NULL);
"""
COLUMNS = "task, spec, outcome, started, seconds, runner"
PROCESS = uuid4().hex  # a process number comes back, this does not
PACKAGES = ("consilience", "numpy", "scipy", "scikit-learn")


class StoreError(Exception):
    """The store cannot be used; the message says why and what to do."""


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
        """Whether the task ended well."""
        return self.outcome.status == "done"


def environment() -> dict[str, Any]:
    """Versions and machine, recorded with every run."""
    result: dict[str, Any] = {"python": platform.python_version()}
    for name in PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            result[name] = version(name)
    result["system"] = f"{platform.system()} {platform.machine()}"
    result["cores"] = os.cpu_count()
    with contextlib.suppress(AttributeError, ValueError, OSError):
        pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
        result["memory_gb"] = round(pages * size / 2**30, 1)
    return result


class Store:
    """Results of tasks; a context manager that closes the file."""

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        self._runner: int | None = None
        with self._errors():
            self._db = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None)
            try:
                self._open()
            except BaseException:
                self._db.close()
                raise

    def _open(self) -> None:
        self._write_ahead()
        self._db.execute("PRAGMA synchronous=FULL")
        (result,) = self._db.execute("PRAGMA user_version").fetchone()
        if result not in (0, SCHEMA_VERSION):
            raise StoreError(
                f"{self.path} was written by another version of consilience (layout {result}, this "
                f"one has {SCHEMA_VERSION}); use a new folder"
            )
        if result == 0:
            (tables,) = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()
            known = self._db.execute("SELECT 1 FROM sqlite_master WHERE name = 'results'")
            if tables and known.fetchone() is None:
                raise StoreError(f"{self.path} is a database of something else; use a new folder")
            with self._transaction():
                for statement in TABLES.split(";"):
                    self._db.execute(statement)
                self._db.execute(f"PRAGMA user_version={SCHEMA_VERSION}")

    def _write_ahead(self) -> None:
        """Switch to a write-ahead log; SQLite does not wait for another process that does so."""
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
        """Give back claims and close the file."""
        with contextlib.suppress(sqlite3.Error):
            if self._runner is not None:
                self._db.execute("DELETE FROM claims WHERE runner = ?", [self._runner])
        self._runner = None
        self._db.close()

    # -- results -----------------------------------------------------------------------------

    def add(self, task: Task, outcome: Outcome, started: float, seconds: float) -> bool:
        """Write a result in one commit; False if another runner was first."""
        key = task_hash(task)
        plain = msgspec.to_builtins(outcome)
        predictions = outcome.predictions
        del plain["predictions"]
        when = datetime.fromtimestamp(started, UTC).isoformat(timespec="seconds")
        row = (
            key,
            msgspec.json.encode(task, order="sorted").decode(),
            outcome.status,
            self._runner,
            when,
            seconds,
            json.dumps(plain, default=_plain),
            predictions,
        )
        with self._errors(), self._transaction():
            self._db.execute("DELETE FROM claims WHERE task = ?", [key])
            written = self._db.execute(
                "INSERT INTO results VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", row
            )
        return written.rowcount == 1

    def forget(self, addresses: Iterable[str]) -> None:
        """Remove results, so that their tasks are done again."""
        with self._errors(), self._transaction():
            rows = [(key,) for key in addresses]
            self._db.executemany("DELETE FROM results WHERE task = ?", rows)

    def statuses(self) -> dict[str, str]:
        """Status by address of everything that is stored."""
        with self._errors():
            return dict(self._db.execute("SELECT task, status FROM results"))

    def records(self, addresses: Iterable[str] | None = None) -> Iterator[Record]:
        """Stored results, all or those of these tasks, in the order they were written."""
        wanted = None if addresses is None else set(addresses)
        with self._errors():
            rows = self._db.execute(f"SELECT {COLUMNS} FROM results ORDER BY rowid").fetchall()
        return (_record(row) for row in rows if wanted is None or row[0] in wanted)

    def record(self, key: str) -> Record:
        """The result of one task."""
        with self._errors():
            rows = self._db.execute(f"SELECT {COLUMNS} FROM results WHERE task = ?", [key])
            return _record(rows.fetchone())

    def predictions(self, key: str) -> Predictions | None:
        """Predictions of a task that kept them."""
        with self._errors():
            rows = self._db.execute("SELECT predictions FROM results WHERE task = ?", [key])
            result = rows.fetchone()
        return None if result is None or result[0] is None else Predictions.from_bytes(result[0])

    # -- runners -----------------------------------------------------------------------------

    def register_runner(self) -> int:
        """Register this process as one that works on the store."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        machine = json.dumps(environment())
        row = (socket.gethostname(), os.getpid(), PROCESS, time.time(), now, machine)
        with self._errors(), self._transaction():
            columns = "host, pid, process, beat, started, environment"
            insert = f"INSERT INTO runners ({columns}) VALUES (?, ?, ?, ?, ?, ?)"
            added = self._db.execute(insert, row)
        self._runner = added.lastrowid
        assert self._runner is not None
        return self._runner

    def beat(self) -> None:
        """Say that this runner is alive."""
        with self._errors():
            update = "UPDATE runners SET beat = ? WHERE id = ?"
            self._db.execute(update, [time.time(), self._runner])

    def environments(self) -> dict[int, dict[str, Any]]:
        """Versions, machine and date of every run."""
        with self._errors():
            rows = self._db.execute("SELECT id, started, environment FROM runners").fetchall()
        return {key: {"started": started, **json.loads(text)} for key, started, text in rows}

    def claim(self, keys: Iterable[str]) -> str | None:
        """The first of these tasks that is neither done nor claimed by a living runner."""
        with self._errors(), self._transaction():
            taken = self._living_claims()
            for key in keys:
                if key in taken:
                    continue
                done = self._db.execute("SELECT 1 FROM results WHERE task = ?", [key]).fetchone()
                if done is None:
                    claimed = "INSERT OR REPLACE INTO claims VALUES (?, ?)"
                    self._db.execute(claimed, [key, self._runner])
                    return key
        return None

    def _living_claims(self) -> set[str]:
        claims = self._db.execute("SELECT task, runner FROM claims").fetchall()
        runners = self._db.execute("SELECT id, host, pid, process, beat FROM runners").fetchall()
        claiming = {runner for _, runner in claims}
        alive = {row[0] for row in runners if row[0] in claiming and _is_alive(*row[1:])}
        return {task for task, runner in claims if runner in alive}

    # -- errors ------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):  # a full disk has rolled back by itself
                self._db.execute("ROLLBACK")
            raise

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise StoreError(self._explain(error)) from error

    def _explain(self, error: sqlite3.DatabaseError) -> str:
        name = getattr(error, "sqlite_errorname", "") or ""
        if name.startswith("SQLITE_FULL"):
            return (
                f"no space left for {self.path}; what is stored is safe, make room and run the "
                "same command again"
            )
        if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            return f"{self.path} is locked by another process for more than {BUSY_SECONDS:g} s"
        if name.startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PERM")):
            return f"{self.path} cannot be opened for writing: {error}"
        if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
            return f"{self.path} is damaged or no store of results: {error}; use a new folder"
        return f"{self.path}: {error}"


def _is_alive(host: str, pid: int, process: str, beat: float) -> bool:
    """Whether a runner is still there, as far as that can be told from here."""
    if process == PROCESS:
        return True
    if time.time() - beat > STALE_SECONDS:
        return False
    if host != socket.gethostname() or not hasattr(os, "killpg"):
        return True  # elsewhere, or on a system where asking would end the process
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return pid != os.getpid()


def _record(row: tuple) -> Record:
    key, spec, outcome, started, seconds, runner = row
    task = msgspec.json.decode(spec, type=Task)
    result = msgspec.convert(json.loads(outcome), type=Outcome)
    return Record(key, task, result, started, seconds, runner)


def _plain(value: Any) -> Any:
    """NumPy scalars and arrays as plain values."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"cannot store {type(value).__name__}")
