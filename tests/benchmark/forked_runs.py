"""Studies in forked processes that are killed; run as a program, since it must have no threads.

Arguments: the kind of study ("bench" or "compare"), a folder, the number of kills. Nobody asks for
the exit codes of killed processes before the end, so that their ids stay taken.
"""

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

from benchmark.studies import SUITE, count_results
from comparison.test_resume import ARGUMENTS
from consilience.benchmark.planning import plan
from consilience.benchmark.pool import InProcessPool, WorkerSetup
from consilience.benchmark.run import run_tasks
from consilience.benchmark.store import Store
from consilience.benchmark.suite import parse_suite
from consilience.cli import main

KILLS_PER_FOLDER = 8


def bench(folder):
    """All tasks of the small suite, run in this process."""
    tasks, _ = plan(parse_suite(SUITE, "small"))
    folder.mkdir(exist_ok=True)
    with Store(folder / "results.sqlite") as store:
        for _ in run_tasks(tasks, store, pool=InProcessPool(WorkerSetup())):
            pass


def compare(folder):
    """A comparison with worker processes."""
    try:
        main([*ARGUMENTS, str(folder)])
    except SystemExit as end:
        if end.code:
            raise


def fork(function, folder):
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            function(folder)
            code = 0
        finally:
            os._exit(code)
    return pid


def kill_runs(function, folder, n_kills, rng):
    """Kill runs at random moments, half of them after their next result, then run to the end."""
    killed = []
    for _ in range(n_kills):
        n_before = count_results(folder)
        pid = fork(function, folder)
        if rng.random() < 0.5:
            deadline = time.monotonic() + 20
            while count_results(folder) <= n_before and time.monotonic() < deadline:
                time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.2))
        os.kill(pid, signal.SIGKILL)
        killed.append(pid)
    runs = [fork(function, folder) for _ in range(2 if function is bench else 1)]
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in runs]
    for pid in killed:
        os.waitpid(pid, 0)
    assert codes == [0] * len(runs), codes


if __name__ == "__main__":
    study, parent = {"bench": bench, "compare": compare}[sys.argv[1]], Path(sys.argv[2])
    rng, left = np.random.default_rng(0), int(sys.argv[3])
    while left > 0:
        n_kills = min(left, KILLS_PER_FOLDER)
        kill_runs(study, parent / f"killed{left}", n_kills, rng)
        left -= n_kills
