"""Mutation testing: do the tests of a folder notice a small random change of its code?

One operator, comparison, condition or constant inside a function is changed at a time, in a
temporary copy of ``src``, and the tests of the mirrored folder are run on it. Every mutant runs in
a fork of a process that has already imported the libraries. The full run takes hours:

python benchmarks/mutants.py --count 300 [--seed 0] [--package tables views] [--seconds 60]
python benchmarks/mutants.py --quick
"""

import argparse
import compileall
import contextlib
import importlib
import os
import py_compile
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from multiprocessing import get_context
from pathlib import Path

from _mutations import PACKAGE, Site, find_sites, mutate

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"
ENVIRONMENT = {"SCIPY_ARRAY_API": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
PRELOADED = (
    *("pytest", "numpy", "scipy.optimize", "scipy.sparse", "scipy.stats", "pandas", "narwhals"),
    *("sklearn.ensemble", "sklearn.svm", "sklearn.pipeline", "sklearn.model_selection"),
    *("sklearn.utils.estimator_checks", "sklearn.datasets", "matplotlib.figure", "skops.io"),
)
# the finder of an editable install comes before every path; child processes read sitecustomize
DROP_EDITABLE_FINDER = """
import sys
sys.meta_path[:] = [f for f in sys.meta_path if "ScikitBuild" not in type(f).__name__]
"""
# pytest's code for "all tests passed"
PASSED = 0


def tests_of(site: Site) -> list[str]:
    """Test files of the mirrored folder, those about the module or function first."""
    name = site.path.stem.strip("_")
    if site.package == "top level":
        files = sorted(TESTS.rglob("test_*.py"))
        imported = re.compile(rf"consilience(\.| import .*\b){site.path.stem}\b")
        files = [f for f in files if f.stem == f"test_{name}" or imported.search(f.read_text())]
        files = files or sorted((TESTS / "common").glob("test_*.py"))
    else:
        files = sorted((TESTS / site.package.strip("_")).rglob("test_*.py"))

    def distance(path: Path) -> tuple[bool, bool, bool, int]:
        text = path.read_text()
        module = site.path.relative_to(PACKAGE).with_suffix("").as_posix().replace("/", ".")
        return name not in path.stem, site.function not in text, module not in text, len(text)

    return [str(path) for path in sorted(files, key=distance)]


def run_pytest(source: Path, log: Path, tests: list[str]) -> None:
    """Run the tests on the package in ``source`` and leave with pytest's code (in a fork)."""
    os.setsid()
    with log.open("w") as stream:
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
    sys.path[:] = [str(source), *(p for p in sys.path if Path(p) not in (ROOT / "src", source))]
    exec(DROP_EDITABLE_FINDER)
    consilience = importlib.import_module("consilience")
    assert Path(consilience.__file__).is_relative_to(source), consilience.__file__
    code = importlib.import_module("pytest").main(["-x", "-q", "-p", "no:cacheprovider", *tests])
    os._exit(int(code))


def passes(source: Path, log: Path, tests: list[str], seconds: float) -> bool:
    """Whether all tests pass in time."""
    process = get_context("fork").Process(target=run_pytest, args=(source, log, tests))
    process.start()
    process.join(seconds)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.join()
    return process.exitcode == PASSED


def copy_source(folder: Path) -> Path:
    """Copy the package with its compiled core; hashed bytecode is never taken for a mutant's."""
    source = folder / "src"
    shutil.copytree(PACKAGE, source / PACKAGE.name, ignore=shutil.ignore_patterns("__pycache__"))
    core = "import consilience._core._core as core; print(core.__file__)"
    found = subprocess.run(
        [sys.executable, "-c", core], check=True, capture_output=True, text=True
    ).stdout.strip()
    shutil.copy(found, source / PACKAGE.name / "_core")
    (source / "sitecustomize.py").write_text(DROP_EDITABLE_FINDER)
    mode = py_compile.PycInvalidationMode.CHECKED_HASH
    compileall.compile_dir(source, quiet=1, invalidation_mode=mode)
    os.environ["PYTHONPATH"] = os.pathsep.join([str(source), os.environ.get("PYTHONPATH", "")])
    return source


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=20, help="number of mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--package", nargs="*", default=[], help="folders or modules; default all")
    parser.add_argument("--seconds", type=float, default=30, help="minimum time limit of a mutant")
    parser.add_argument("--quick", action="store_true", help="two mutants of a small module")
    args = parser.parse_args()
    if args.quick:
        args.count, args.package = 2, ["_atomic_write"]
    os.environ.update(ENVIRONMENT)
    os.chdir(ROOT)
    choose = random.Random(args.seed)
    sites = find_sites(args.package)
    chosen = choose.sample(sites, min(args.count, len(sites)))
    counts: Counter[tuple[str, bool]] = Counter()
    durations: dict[frozenset[str], float] = {}
    with tempfile.TemporaryDirectory() as folder:
        source, log = copy_source(Path(folder)), Path(folder) / "log"
        for name in PRELOADED:
            importlib.import_module(name)
        for number, site in enumerate(chosen, 1):
            tests = tests_of(site)[: 1 if args.quick else None]
            suite = frozenset(tests)
            if suite not in durations:  # also shows that the tests pass on the code as it is
                start = time.perf_counter()
                if not passes(source, log, tests, 20 * args.seconds):
                    sys.exit(f"tests fail without any mutation:\n{log.read_text()[-3000:]}")
                durations[suite] = time.perf_counter() - start
                print(f"     {site.package}: {durations[suite]:.0f} s without mutation", flush=True)
            mutated, change = mutate(site, choose)
            copied = source / PACKAGE.name / site.path.relative_to(PACKAGE)
            copied.write_text(mutated)
            survived = passes(source, log, tests, max(args.seconds, 3 * durations[suite]))
            copied.write_text(site.path.read_text())
            counts[site.package, survived] += 1
            outcome = "SURVIVED" if survived else "killed"
            failed = re.search(r"^(?:FAILED|ERROR) (\S+)", log.read_text(), re.MULTILINE)
            where = f"{site.path.relative_to(ROOT)}:{site.line} {site.function}"
            print(f"{number:4d} {outcome:8s} {where}: {change}", flush=True)
            if failed:
                print(f"     by {failed[1]}", flush=True)
    for package in sorted({package for package, _ in counts}):
        killed, survived = counts[package, False], counts[package, True]
        print(f"{package:14s} {killed} of {killed + survived} killed")
    killed = sum(n for (_, survived), n in counts.items() if not survived)
    print(f"{killed} of {counts.total()} mutants killed ({killed / max(counts.total(), 1):.0%})")


if __name__ == "__main__":
    main()
