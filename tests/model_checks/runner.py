"""Load and predict forged files in child processes, watched for crashes, hangs and memory."""

import json
import os
import pickle
import random
import re
import resource
import select
import subprocess
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

MAX_SECONDS = 5.0  # of the processor, for a file
TIMEOUT_SECONDS = 30.0  # on a busy machine
MAX_WAITS = 10
MAX_GROWTH_BYTES = 64 * 2**20  # of the peak of a process that predicts a few rows of small models
METHODS = ("predict", "predict_proba", "decision_function")
ADDRESS_SPACE_BYTES = 16 * 2**30


# a file may say that its model takes other views or columns than the honest one
OTHER_INPUT = re.compile(
    r"were not seen in fit|columns, but had|different columns than in fit|view in fit but is|"
    r"features, but \w+ is expecting|X has no view names|no column for|lacks the columns|"
    r"cannot be matched with those seen in fit"
)


def outcome(path, rows) -> str:
    """ "refused", "finite", or what is wrong."""
    from consilience.io import ModelFileError, load

    try:
        model = load(path)
    except ModelFileError:
        return "refused"
    except Exception as error:
        return f"load raised {type(error).__name__}: {error}"
    try:
        for method in METHODS:
            if hasattr(model, method):
                output = np.asarray(getattr(model, method)(rows))
                if output.dtype.kind in "fc" and not np.isfinite(output).all():
                    return f"{method} is not finite"
    except Exception as error:
        if OTHER_INPUT.search(str(error)):
            return "other input"
        return f"{method} raised {type(error).__name__}: {error}"
    return "finite"


def peak_bytes() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def child(folder: Path) -> None:
    """Handle the cases that come in, one line each."""
    from model_checks.forge import forge

    is_sanitized = bool(os.environ.get("LD_PRELOAD"))
    if not is_sanitized:  # the address sanitizer reserves terabytes
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE_BYTES,) * 2)
    warnings.simplefilter("ignore")
    models = pickle.loads((folder / "models.pickle").read_bytes())
    path = folder / f"forged-{os.getpid()}.skops"
    warmed_up = set()
    print("ready", flush=True)
    for line in sys.stdin:
        trials, name, *edit = json.loads(line)
        content, rows = models[name]
        if name not in warmed_up:  # imports and caches are no part of a case
            path.write_bytes(content)
            said = outcome(path, rows)
            assert said == "finite", said
            warmed_up.add(name)
        forged = forge(content, edit, trials)
        if forged is None:
            print("same", flush=True)
            continue
        path.write_bytes(forged)
        before = resident_bytes()
        Path("/proc/self/clear_refs").write_text("5")  # resets the peak
        start = time.process_time()
        said = outcome(path, rows)
        if time.process_time() - start > MAX_SECONDS:
            said = f"slow: {time.process_time() - start:.0f} s, {said}"
        if peak_bytes() - before > MAX_GROWTH_BYTES and not is_sanitized:
            said = f"memory {(peak_bytes() - before) >> 20} MB, {said}"
        print(said.replace("\n", " ")[:200], flush=True)


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


class Child:
    """A process that handles cases."""

    def __init__(self, folder: Path) -> None:
        paths = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
        self.process = subprocess.Popen(
            [sys.executable, "-c", "import sys, pathlib; from model_checks import runner; "
             "runner.child(pathlib.Path(sys.argv[1]))", str(folder)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        if self.read(120) != "ready":
            raise RuntimeError(self.process.communicate()[1])

    def ask(self, case) -> str:
        """Outcome of a case; the process has ended if it is a crash or a hang."""
        try:
            self.process.stdin.write(json.dumps(case) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        return self.read(TIMEOUT_SECONDS)

    def read(self, timeout) -> str:
        start, ready = self.cpu_seconds(), []
        for _ in range(MAX_WAITS):  # a process that gets no time of a busy machine does not hang
            ready, _, _ = select.select([self.process.stdout], [], [], timeout)
            if ready or self.cpu_seconds() - start > MAX_SECONDS:
                break
        line = self.process.stdout.readline() if ready else ""
        if line:
            return line.strip()
        self.process.kill()
        errors = self.process.communicate()[1].strip().splitlines()[-1:]
        return f"hang of {timeout} s" if not ready else f"crash {self.process.returncode} {errors}"

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        self.process.communicate()


def sample(cases: dict[str, list], n_cases: int, seed: int = 0) -> list:
    """As many cases of each model and kind of edit, drawn without replacement, by model."""
    rng = random.Random(seed)
    groups: dict = {}
    for name, each in cases.items():
        for case in each:
            groups.setdefault((name, case[1].split()[0]), []).append([name, *case])
    shuffled = [rng.sample(group, len(group)) for group in groups.values()]
    rng.shuffle(shuffled)
    drawn: list = []
    while len(drawn) < n_cases and any(shuffled):
        drawn += [group.pop() for group in shuffled if group]
    return sorted(drawn[:n_cases])


def run(folder: Path, models, cases, trials: bool = True) -> tuple[Counter, list]:
    """Counts of outcomes, and the cases that are neither refused nor finite.

    Without ``trials`` the files say that no trial was passed, and predictions may raise.
    """
    (folder / "models.pickle").write_bytes(pickle.dumps(models))
    counts, wrong = Counter(), []
    process = Child(folder)
    for case in cases:
        said = process.ask([trials, *case])
        good = said in ("refused", "finite", "same", "other input")
        if not trials and said.startswith(METHODS):
            good, said = True, "raised or not finite"
        counts[said if good else said.split()[0]] += 1
        if not good:
            wrong.append((case, said))
        if process.process.returncode is not None:
            process = Child(folder)
    process.close()
    return counts, wrong
