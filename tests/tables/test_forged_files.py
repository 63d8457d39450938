"""Forged data files never crash, hang or exhaust the memory: one sentence, or a valid result."""

import json
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from benchmark.studies import command
from conftest import FULL
from consilience.comparison.inputs import read_files
from consilience.tables import parse_files
from tables.forged_files import (
    N_ROWS,
    arguments_for,
    honest_files,
    write_forged_files,
    write_labels,
)

TESTS = Path(__file__).parents[1]
BATCH_FILES = 100
MAX_SECONDS, MAX_STUDY_SECONDS = 5.0, 20.0  # of the processor; files that are valid are compared
# all precise edits in the full run, a sample of them else
SIZES = {"n_edits": None, "n_mutated": 600} if FULL else {"n_edits": 40, "n_mutated": 24}
STRIDE = 1 if FULL else 13
COMMAND_LINE_SHARE = 1 if FULL else 8  # one in so many; the others are only read
N_OWN_PROCESSES = 40 if FULL else 1

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")


def read_in_child(paths, one_in):
    """Results by path; a file without a result has ended the process."""
    child = subprocess.run(
        [sys.executable, "-m", "tables.read_forged", str(one_in)],
        input="\n".join(map(str, paths)),
        capture_output=True,
        text=True,
        cwd=TESTS,
        timeout=10 * BATCH_FILES * MAX_SECONDS,
    )
    lines = [json.loads(line) for line in child.stdout.splitlines()]
    started = [line["path"] for line in lines[::2]]
    assert len(lines) == 2 * len(paths), (started[-1:], child.returncode, child.stderr[-2000:])
    return dict(zip(started, lines[1::2], strict=True))


def is_one_sentence(result):
    if result["code"] in (0, 1):
        return result["message"] == ""
    return result["code"] == 2 and result["message"].count("\n") == 1


def test_forged_files_are_one_sentence(tmp_path):
    paths = write_forged_files(tmp_path, stride=STRIDE, **SIZES)
    results = {}
    for start in range(0, len(paths), BATCH_FILES):
        results |= read_in_child(paths[start : start + BATCH_FILES], COMMAND_LINE_SHARE)
    wrong = {path: result for path, result in results.items() if not is_one_sentence(result)}
    assert not wrong
    limits = {2: MAX_SECONDS}
    slow = {
        path: result
        for path, result in results.items()
        if result["seconds"] > limits.get(result["code"], MAX_STUDY_SECONDS)
    }
    assert not slow
    counts = Counter(result["code"] for result in results.values())
    print(f"{len(results)} forged files: {counts}")
    assert counts[2] > len(results) / 2


def test_forged_files_in_processes_of_their_own(tmp_path):
    """The same without a test around it, with worker processes and a folder to write to."""
    paths = write_forged_files(tmp_path, n_edits=100, n_mutated=100)
    for path in random.Random(0).sample(paths, N_OWN_PROCESSES):
        files, target = arguments_for(path)
        out = tmp_path / "out" / path.name
        options = ["--methods", "Late fusion", "--cv", "2", "--repeats", "1", "--out", out]
        done = subprocess.run(
            command("compare", *files, "--target", target, *options, "--quiet"),
            capture_output=True, text=True, timeout=600,
        )  # fmt: skip
        assert "Traceback" not in done.stderr
        if done.returncode == 2:
            assert done.stderr.count("\n") == 1, done.stderr
            assert not out.exists()
        else:
            assert done.returncode == 0, done.stderr
            assert (out / "report.html").exists()


def test_honest_files_are_read(tmp_path):
    write_labels(tmp_path)
    for number, (suffix, content) in enumerate(honest_files(tmp_path)):
        path = tmp_path / f"honest{number}.{suffix}"
        path.write_bytes(content)
        files, target = arguments_for(path)
        assert read_files(parse_files(files), target=target).summary.samples == N_ROWS
