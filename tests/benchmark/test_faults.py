"""The command line under kill, interrupt, a full disk, and two at a time."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from benchmark.studies import (
    FULL,
    N_TASKS,
    SUITE,
    command,
    count_results,
    run_in_process,
    start,
    table,
)
from consilience.benchmark.store import Store

POSIX = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
KILLS = 24 if FULL else 1


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    path = tmp_path_factory.mktemp("suite") / "small.toml"
    path.write_text(SUITE)
    return path


@pytest.fixture(scope="module")
def undisturbed(suite, tmp_path_factory):
    """Results and printed accuracies of a run that nobody disturbs."""
    out = tmp_path_factory.mktemp("undisturbed")
    run_in_process("bench", suite, "--out", out, "--quiet")
    return results(out), accuracies(out)


def results(out):
    with Store(out / "results.sqlite") as store:
        return table(store.records())


def accuracies(out):
    lines = (out / "small.csv").read_text().splitlines()
    # without the seconds, which are the last column
    return [line.rpartition(",")[0] for line in lines if ",accuracy," in line]


def workers_of(pid):
    result = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in result]


def is_there(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@POSIX
def test_two_runs_finish_what_killed_runs_left(suite, undisturbed, tmp_path):
    rng = np.random.default_rng(0)
    orphans = []
    for kill in range(KILLS):
        before, wanted = count_results(tmp_path), int(rng.integers(0, 3))
        run = start("bench", suite, "--out", tmp_path, "--quiet", start_new_session=True)
        while run.poll() is None and count_results(tmp_path) - before < wanted:
            time.sleep(0.01)
        time.sleep(rng.uniform(0, 4 if wanted == 0 else 0.4))
        if run.poll() is None:
            orphans += workers_of(run.pid) if Path("/proc/self").exists() else []
            os.kill(run.pid, signal.SIGKILL)
        run.communicate()
        assert run.returncode in (0, -signal.SIGKILL), kill
        with Store(tmp_path / "results.sqlite") as store:
            assert store._db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            assert len(store.statuses()) >= before
    runs = [start("bench", suite, "--out", tmp_path, "--quiet") for _ in range(2)]
    ends = [run.communicate(timeout=300) for run in runs]
    assert [run.returncode for run in runs] == [0, 0], ends
    expected, printed = undisturbed
    assert len(expected) == N_TASKS
    assert results(tmp_path) == expected
    assert accuracies(tmp_path) == printed
    deadline = time.monotonic() + 30
    while any(map(is_there, orphans)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(map(is_there, orphans))  # workers end when nobody is left to tell


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="forks of Linux")
def test_forked_runs_finish_what_killed_forks_left(undisturbed, tmp_path):
    program = [sys.executable, "-m", "benchmark.forked_runs", "bench", str(tmp_path)]
    program.append(str(48 if FULL else 3))
    subprocess.run(program, check=True, timeout=600, cwd=Path(__file__).parents[1])
    expected, _ = undisturbed
    folders = list(tmp_path.iterdir())
    assert len(folders) == (6 if FULL else 1)
    for folder in folders:
        assert results(folder) == expected


@POSIX
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM] if FULL else [signal.SIGTERM])
def test_interrupt_leaves_a_readable_store(suite, undisturbed, tmp_path, sign):
    run = start("bench", suite, "--out", tmp_path, "--quiet", start_new_session=True)
    while run.poll() is None and count_results(tmp_path) < 3:
        time.sleep(0.01)
    workers = workers_of(run.pid) if Path("/proc/self").exists() else []
    os.killpg(run.pid, sign)  # as a terminal does
    _, err = run.communicate(timeout=60)
    assert run.returncode == 128 + sign
    assert not any(map(is_there, workers))
    assert [p.name for p in tmp_path.iterdir() if p.suffix == ".tmp"] == []
    assert "consilience: stopped; run the same command to continue" in err
    assert "Traceback" not in err
    expected, _ = undisturbed
    result = results(tmp_path)
    assert 3 <= len(result) <= N_TASKS
    assert all(result[key] == expected[key] for key in result)


@pytest.mark.skipif(
    not FULL, reason="with CONSILIENCE_TEST_ALL=1; test_store.py has a full disk too"
)
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs Linux")
def test_a_full_disk_ends_the_run_with_one_sentence(suite, undisturbed, tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    # room for some results, not for all of them and the write-ahead log
    mount = f"mount -t tmpfs -o size=100k tmpfs {folder}"
    if subprocess.run(["unshare", "-Urm", "sh", "-c", mount], capture_output=True).returncode:
        pytest.skip("no small file system can be made here")
    line = subprocess.list2cmdline(command("bench", suite, "--out", folder, "--quiet"))
    script = (
        f"{mount}; {line}; echo code $?; mount -o remount,size=10m {folder}; "
        f"{line} && cp {folder}/small.csv {folder}/results.sqlite {tmp_path}"
    )
    ended = subprocess.run(["unshare", "-Urm", "sh", "-c", script], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert "code 1" in ended.stdout
    assert ended.stderr.count("no space left for") == 1
    assert "Traceback" not in ended.stderr
    expected, printed = undisturbed
    assert results(tmp_path) == expected
    assert accuracies(tmp_path) == printed
