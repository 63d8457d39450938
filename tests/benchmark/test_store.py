import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from benchmark.studies import tasks_on
from consilience.benchmark import processes
from consilience.benchmark import store as module
from consilience.benchmark.store import Store, StoreError
from consilience.benchmark.tasks import task_hash
from consilience.benchmark.work import Outcome

TASKS = tasks_on("digits", ["Concat", "Mono"], n=4)
KEYS = [task_hash(task) for task in TASKS]


def done(accuracy=0.5, **options):
    return Outcome(status="done", metrics={"accuracy": accuracy}, **options)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results.sqlite"


def test_stored_records_are_read_back(path):
    outcome = done(best_params={"c": 1.5}, notes=["a note"], diagnostics={"p": {"view": 0.25}})
    with Store(path) as store:
        runner = store.register_runner()
        assert store.add(TASKS[0], outcome, 0.0, 1.5)
    with Store(path) as store:
        (record,) = store.records()
        assert record.task == TASKS[0]
        assert record.outcome == outcome
        assert (record.seconds, record.started) == (1.5, "1970-01-01T00:00:00+00:00")
        assert record.runner == runner
        assert store.statuses() == {KEYS[0]: "done"}
        assert store.environments()[runner]["python"] == sys.version.split()[0]
        assert store.predictions(KEYS[0]) is None


def test_a_store_can_be_closed_by_another_thread(path):
    """As garbage collection does if it runs there."""
    store = Store(path)
    store.register_runner()
    thread = threading.Thread(target=store.close)
    thread.start()
    thread.join()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        store._db.execute("SELECT 1")
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT count(*) FROM claims").fetchone() == (0,)


def test_the_first_result_stays(path):
    with Store(path) as one, Store(path) as two:
        assert one.add(TASKS[0], done(0.25), 0.0, 1.0)
        assert not two.add(TASKS[0], done(0.75), 0.0, 1.0)
        assert two.record(KEYS[0]).outcome.metrics == {"accuracy": 0.25}
        two.delete([KEYS[0]])
        assert one.statuses() == {}


def test_claims_of_the_living_are_honoured(path):
    with Store(path) as one, Store(path) as two:
        one.register_runner()
        two.register_runner()
        assert one.claim(KEYS) == KEYS[0]
        assert two.claim(KEYS) == KEYS[1]
        assert one.claim(KEYS) == KEYS[2]
        one.add(TASKS[0], done(), 0.0, 1.0)
        assert two.claim(KEYS[:3]) is None
    with Store(path) as three:  # the others are gone, and so are their claims
        three.register_runner()
        assert three.claim(KEYS) == KEYS[1]


def test_claims_of_the_dead_are_taken_over(path, monkeypatch):
    script = f"""
        import os, sys
        from consilience.benchmark.store import Store
        store = Store({str(path)!r})
        store.register_runner()
        print(store.claim({KEYS[:2]!r}), flush=True)
        os.kill(os.getpid(), 9)
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.stdout.strip() == KEYS[0]
    with Store(path) as store:
        store.register_runner()
        # its number may have gone to another process: then only silence tells
        monkeypatch.setattr(processes.os, "kill", lambda pid, signal: None)
        assert store.claim(KEYS[:1]) is None
        monkeypatch.setattr(processes, "STALE_SECONDS", -1.0)
        assert store.claim(KEYS[:1]) == KEYS[0]


FORK = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="forks of Linux")


@pytest.fixture
def fork():
    """Run a function in a child process, which then waits; return its id and the result."""
    children = []

    def forked(function):
        reader, writer = os.pipe()
        children.append(os.fork())
        if children[-1] == 0:
            try:
                os.write(writer, (repr(function()) + "\n").encode())
                time.sleep(60)
            finally:
                os._exit(1)
        os.close(writer)
        with open(reader) as answer:
            return children[-1], answer.readline() or "failed"

    yield forked
    for pid in children:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


@FORK
@pytest.mark.parametrize("reopened", [True, False])
def test_claims_of_a_killed_fork_are_taken_over(path, fork, reopened):
    """Forks have the memory of their parent, but not its identity."""
    with Store(path) as store:
        mine = store.register_runner()

        def claim_in_fork():
            child = Store(path) if reopened else store  # a connection must not be shared either
            if reopened:
                child.register_runner()
            return child.claim(KEYS[:1]), child._runner != mine

        sibling, answer = fork(claim_in_fork)
        assert answer == f"{(KEYS[0], True)}\n"
        _, answer = fork(lambda: Store(path).claim(KEYS[:1]))
        assert answer == "None\n"  # it is alive
        assert store.claim(KEYS[:2]) == KEYS[1]
        os.kill(sibling, signal.SIGKILL)
        wait_for_end(sibling)  # but nobody has asked for its exit code, so its id is still taken
        assert store.claim(KEYS[:1]) == KEYS[0]
        assert store.statuses() == {}


@FORK
def test_a_process_of_the_same_id_is_another_process(path, fork):
    with Store(path) as store:
        store.register_runner()
        other, _ = fork(lambda: None)
        # a runner that had the id of a process that is running now
        store._db.execute("UPDATE runners SET pid = ?, process_uuid = 'another'", [other])
        store.claim(KEYS[:1])
        with Store(path) as second:
            second.register_runner()
            assert second.claim(KEYS[:1]) == KEYS[0]


def wait_for_end(pid):
    while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
        time.sleep(0.01)


def test_a_full_store_keeps_what_it_has(path):
    with Store(path) as store:
        store.register_runner()
        store.add(TASKS[0], done(), 0.0, 1.0)
        pages = store._db.execute("PRAGMA page_count").fetchone()[0]
        store._db.execute(f"PRAGMA max_page_count={pages + 1}")
        with pytest.raises(StoreError, match=r"no space left for .*run the same command again"):
            store.add(TASKS[1], done(notes=["x" * 100_000]), 0.0, 1.0)
        assert list(store.statuses()) == KEYS[:1]
        store._db.execute("PRAGMA max_page_count=100000")
        assert store.add(TASKS[1], done(), 0.0, 1.0)
    with Store(path) as store:
        assert list(store.statuses()) == KEYS[:2]


def test_a_full_disk(tmp_path):
    """A file system of one megabyte, of which the run fills what the results leave."""
    script = f"""
        import os, sys
        sys.path[:0] = {sys.path!r}
        from benchmark.test_store import TASKS, done
        from consilience.benchmark.store import Store, StoreError
        os.chdir({str(tmp_path)!r})
        store = Store("results.sqlite")
        store.register_runner()
        store.add(TASKS[0], done(), 0.0, 1.0)
        filler = os.open("filler", os.O_CREAT | os.O_WRONLY)
        try:
            while True:
                os.write(filler, b"x" * 512)
        except OSError as error:
            assert error.errno == 28, error
        os.close(filler)
        written = 1
        try:
            for task in TASKS[1:]:
                store.add(task, done(notes=["x" * 20_000]), 0.0, 1.0)
                written += 1
        except StoreError as error:
            print(error)
        assert written < len(TASKS)
        store.close()
        os.remove("filler")
        with Store("results.sqlite") as store:
            assert store._db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            assert len(store.statuses()) == written, (store.statuses(), written)
            for task in TASKS:
                store.add(task, done(), 0.0, 1.0)
            assert len(list(store.records())) == len(TASKS)
        print("fine")
    """
    _on_small_disk(tmp_path, script)


def _on_small_disk(folder, script):
    if shutil.which("unshare") is None:
        pytest.skip("needs unshare for a small file system")
    program = folder.parent / "program.py"
    program.write_text(textwrap.dedent(script))
    mount = f"mount -t tmpfs -o size=1m tmpfs {folder}"
    if subprocess.run(["unshare", "-Urm", "sh", "-c", mount], capture_output=True).returncode:
        pytest.skip("no small file system can be made here")
    shell = f"{mount} && exec {sys.executable} {program}"
    ended = subprocess.run(["unshare", "-Urm", "sh", "-c", shell], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert "no space left for" in ended.stdout
    assert ended.stdout.endswith("fine\n")


def test_other_files_are_not_stores(path, tmp_path, monkeypatch):
    path.write_text("no database at all, but long enough to be looked at " * 20)
    with pytest.raises(StoreError, match="damaged or not a store"):
        Store(path)
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE people (name TEXT)")
    db.close()
    with pytest.raises(StoreError, match="some other SQLite database"):
        Store(other)
    newer = tmp_path / "newer.sqlite"
    Store(newer).close()
    monkeypatch.setattr(module, "SCHEMA_VERSION", 99)
    with pytest.raises(StoreError, match="another version of consilience"):
        Store(newer)
    with pytest.raises(StoreError, match="cannot be opened"):
        Store(tmp_path / "nowhere" / "results.sqlite")


@pytest.mark.skipif(os.name != "posix" or os.getuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(StoreError, match="cannot be opened"):
        Store(tmp_path / "results.sqlite")


def test_a_damaged_store_says_so(path):
    with Store(path) as store:
        for task in TASKS:
            store.add(task, done(notes=["x" * 5000]), 0.0, 1.0)
    content = bytearray(path.read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(StoreError, match="is damaged"), Store(path) as store:
        list(store.records())


def test_other_processes_can_look_up_who_this_is(monkeypatch, tmp_path):
    if processes.BOOT_ID_FILE.exists():
        assert processes.own_uuid() == processes._lookup_uuid(os.getpid())
    monkeypatch.setattr(processes, "PROC", tmp_path)  # as on other systems
    assert processes._lookup_uuid(os.getpid()) is None
    random = processes.own_uuid()
    assert len(random) == 32
    assert processes.own_uuid() == random
