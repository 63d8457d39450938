"""Folders that are full, cannot be written to, or are links: one sentence, and nothing is lost.

All cases run in one child process, which may mount file systems of its own.
"""

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
MOUNT = """
mkdir full fixed && mount -t tmpfs -o size=64k tmpfs full && mount -t tmpfs tmpfs fixed &&
echo old > full/p.csv && echo old > full/m.skops && echo old > fixed/p.csv &&
echo old > fixed/m.skops && mkdir fixed/bench && mount -o remount,ro fixed
"""


def on_small_disks(folder, program):
    """Output of a program that runs where the disk ``full`` is small and ``fixed`` read-only."""

    def run(script):
        return subprocess.run(
            ["unshare", "-Urm", "sh", "-c", script],
            capture_output=True, text=True, cwd=folder,
        )  # fmt: skip

    if sys.platform != "linux" or run("mkdir t; mount -t tmpfs tmpfs t").returncode:
        pytest.skip("no file systems can be mounted here")
    (folder / "program.py").write_text(f"import sys; sys.path.insert(0, {str(TESTS)!r})\n{program}")
    ended = run(f"{MOUNT.strip()} && exec {sys.executable} program.py")
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()


PROGRAM = r"""
import contextlib, io, os, re
from pathlib import Path
import numpy as np
from benchmark.studies import SUITE, run_serially
from consilience import io as models
from consilience.cli import main, suites
from consilience.fusion import LateFusionClassifier
from consilience.tables import FileArgument, TableModel, read_tables

suites.run_tasks = run_serially
rng = np.random.default_rng(0)
X, y = {"a": rng.normal(size=(50, 2000))}, np.arange(50) % 2
fitted = LateFusionClassifier().fit(X, y)
Path("two.csv").write_text("id,z,y\n" + "".join(f"{i},{i % 2},{'ab'[i % 2]}\n" for i in range(20)))
read = read_tables([FileArgument(Path("two.csv"), None)], target="y", on="id")
late = LateFusionClassifier().fit(read.data, read.target)
models.save(TableModel(late, read.views, "Late fusion", "y", key="id"), "model.skops")
Path("new.csv").write_text("id,z\n" + "".join(f"{i},1\n" for i in range(9000)))
Path("small.toml").write_text(SUITE)

BENCH = ["bench", "small.toml", "--splits", "1", "--quiet"]

def call(*arguments):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(list(arguments))
        except SystemExit as end:
            code = end.code
    return code, re.sub("^.* fits, .*\n", "", err.getvalue()).strip()

def saved(path):
    try:
        models.save(fitted, path)
    except OSError as error:
        return str(error)

def report(*values):
    print(*values, sep=" | ")

for folder in ("full", "fixed"):
    report("save", saved(f"{folder}/m.skops"))
    report("predict", *call("predict", "model.skops", "new.csv", "--out", f"{folder}/p.csv"))
    report("files", *sorted(os.listdir(folder)))
    report("kept", *(Path(folder, name).read_text().strip() for name in ("m.skops", "p.csv")))
    report("bench", *call(*BENCH, "--out", f"{folder}/bench"))
report("results", *call(*BENCH, "--out", "here", "--results", "fixed/bench"))
report("again", *call(*BENCH, "--out", "here", "--results", "there"))
os.symlink("nowhere", "dangling")
report("dangling", *call(*BENCH, "--out", "dangling"))
os.symlink("here", "linked")
report("linked", *call(*BENCH, "--out", "linked"))
os.symlink("here/p.csv", "p.csv")
report("link", *call("predict", "model.skops", "new.csv", "--out", "p.csv"))
report("link", os.path.islink("p.csv"), os.path.exists("here/p.csv"))
report("parent", *call("predict", "model.skops", "new.csv", "--out", "new.csv/p.csv"))
"""


EXPECTED = """
save | [Errno 28] No space left on device: 'full/m.skops'
predict | 2 | consilience: full/p.csv: No space left on device
files | m.skops | p.csv
kept | old | old
bench | 1 | consilience: no space left for full/bench/results.sqlite; stored results are safe, so \
free some space and run the same command again
save | [Errno 30] Read-only file system: 'fixed/m.skops'
predict | 2 | consilience: fixed/p.csv: Read-only file system
files | bench | m.skops | p.csv
kept | old | old
bench | 1 | consilience: fixed/bench/results.sqlite cannot be opened for writing: unable to open \
database file
results | 2 | consilience: fixed/bench/fits: Read-only file system
again | 0 |
dangling | 2 | consilience: the folder dangling cannot be created: File exists
linked | 0 |
link | 0 |
link | True | True
parent | 2 | consilience: the folder new.csv cannot be created: File exists
"""


def test_full_and_read_only_disks_and_links(tmp_path):
    lines = [line.rstrip() for line in on_small_disks(tmp_path, PROGRAM)]
    assert lines == [line.rstrip() for line in EXPECTED.strip().splitlines()]
