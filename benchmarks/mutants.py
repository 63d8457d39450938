"""Mutation testing: do the tests of a folder notice a small random change of its code?

One operator, comparison, condition or constant inside a function is changed at a time, in a
temporary copy of ``src``, and the tests of the mirrored folder that call the function are run on
it, the quickest first and at most ``--seconds`` of them. Which tests call what is noted once for
each file of tests, in ``build/mutants``. Every mutant runs in a fork of a process that has already
imported the libraries. The full run takes about an hour of processor time:

python benchmarks/mutants.py --count 300 [--seed 0] [--package tables views] [--seconds 20]
python benchmarks/mutants.py --quick
"""

import argparse
import ast
import compileall
import contextlib
import importlib
import itertools
import json
import os
import py_compile
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path

import pytest
from _called_functions import CallRecorder, Selection, exchange_code
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
CALLS = ROOT / "build" / "mutants"
MIRRORS = {"sparse": "sparse_family"}  # folders of tests with another name than their package


def folder_of(site: Site) -> tuple[str, list[Path]]:
    """Name and files of the tests that mirror the package of a site."""
    if site.package != "top level":
        name = MIRRORS.get(site.package, site.package.strip("_"))
        return name, sorted((TESTS / name).rglob("test_*.py"))
    files = [f for f in sorted(TESTS.rglob("test_*.py")) if "golden" not in f.parts]
    own = re.compile(rf"consilience(\.| import .*\b){site.path.stem}\b")
    name = f"test_{site.path.stem.strip('_')}"
    files = [f for f in files if f.stem == name or own.search(f.read_text())]
    if not files:
        return "common", sorted((TESTS / "common").glob("test_*.py"))
    return site.path.stem, files


def run_pytest(tests: list[str], plugin: object, seconds: float, log: Path) -> None:
    """Run tests and leave with pytest's code (in a fork)."""
    os.setsid()
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 5))
    redirect_output(log)
    code = pytest.main(["-q", "-p", "no:cacheprovider", *tests], plugins=[plugin])
    os._exit(int(code))


def redirect_output(log: Path) -> None:
    with log.open("w") as stream:
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)


def passes(tests: list[str], plugin: object, seconds: float, log: Path) -> bool:
    """Whether all tests pass within the given processor time."""
    arguments = (tests, plugin, seconds, log)
    process = get_context("fork").Process(target=run_pytest, args=arguments)
    process.start()
    process.join(10 * seconds)  # of the clock, for a mutant that sleeps
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.join()
    if process.exitcode == pytest.ExitCode.NO_TESTS_COLLECTED:
        sys.exit(f"no tests:\n{log.read_text()[-3000:]}")
    return process.exitcode == pytest.ExitCode.OK


def record_calls(source: Path, log: Path, files: list[Path]) -> list[dict]:
    """Return what each test of some files calls; tests that fail here (in a fork) are left out."""
    stale = [f for f in files if not is_newer(record_of(f), f)]
    if stale:
        CALLS.mkdir(parents=True, exist_ok=True)
        part = CALLS / f"{os.getpid()}.part"
        passes([str(f) for f in stale], CallRecorder(source, part), 3600, log)
        lines = part.read_text().splitlines(keepends=True)
        part.unlink()
        for file in stale:
            own = f'{{"test": "{file.relative_to(ROOT)}::'
            record_of(file).write_text("".join(line for line in lines if line.startswith(own)))
    return [json.loads(line) for f in files for line in record_of(f).read_text().splitlines()]


def record_of(file: Path) -> Path:
    return CALLS / f"{'.'.join(file.relative_to(TESTS).with_suffix('').parts)}.jsonl"


def is_newer(path: Path, than: Path) -> bool:
    return path.exists() and path.stat().st_mtime >= than.stat().st_mtime


def tests_of(site: Site, recorded: list[dict], seconds: float) -> tuple[list[str], float]:
    """Tests that call the function of a site, then those that may call it; and their time.

    A function that no test calls in its own process is tried with all tests of the folder.
    """
    key = f"{site.path.relative_to(PACKAGE)}:{site.function}"
    calling = [test for test in recorded if key in test["functions"]]
    others = [test for test in recorded if test not in calling and not test["complete"]]
    chosen, total = [], 0.0
    for group in (calling, others) if calling else (recorded,):
        for test in sorted(group, key=lambda test: test["seconds"]):
            if chosen and total + test["seconds"] > seconds:
                break
            chosen.append(test["test"])
            total += test["seconds"]
    return chosen, total


def as_mutants_are_written(path: Path) -> str:
    """The source without comments: its functions begin at the same lines as those of mutants."""
    return ast.unparse(ast.parse(path.read_text()))


def copy_source(folder: Path) -> Path:
    """Copy the package with its compiled core; hashed bytecode is never taken for a mutant's."""
    source = folder / "src"
    shutil.copytree(PACKAGE, source / PACKAGE.name, ignore=shutil.ignore_patterns("__pycache__"))
    core = "import consilience._core._core as core; print(core.__file__)"
    found = subprocess.run(
        [sys.executable, "-c", core], check=True, capture_output=True, text=True
    ).stdout.strip()
    shutil.copy(found, source / PACKAGE.name / "_core")
    for path in (source / PACKAGE.name).rglob("*.py"):
        path.write_text(as_mutants_are_written(path))
    (source / "sitecustomize.py").write_text(DROP_EDITABLE_FINDER)
    mode = py_compile.PycInvalidationMode.CHECKED_HASH
    compileall.compile_dir(source, quiet=1, invalidation_mode=mode)
    os.environ["PYTHONPATH"] = os.pathsep.join([str(source), os.environ.get("PYTHONPATH", "")])
    return source


def sample(sites: list[Site], count: int, choose: random.Random) -> Iterator[Site]:
    """Random sites, from each package in turn."""
    packages = [
        choose.sample(group, len(group))
        for package in sorted({site.package for site in sites})
        if (group := [site for site in sites if site.package == package])
    ]
    rounds = itertools.zip_longest(*packages)
    return itertools.islice((site for turn in rounds for site in turn if site), count)


class MutatedModule:
    """A plugin that mutates a module in memory and has the given tests run."""

    def __init__(self, path: Path, source: str, tests: list[str]) -> None:
        self.path, self.source, self.selection = path, source, Selection(tests)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        self.selection.pytest_collection_modifyitems(items)
        exchange_code(self.path, compile(self.source, str(self.path), "exec"))


def try_mutants(source: Path, log: Path, sites: list[Site], seconds: float, seed: str) -> None:
    """Try the mutants of one folder of tests, and print a line for each."""
    choose = random.Random(seed)
    sys.path[:] = [str(source), *(p for p in sys.path if Path(p) not in (ROOT / "src", source))]
    exec(DROP_EDITABLE_FINDER)
    consilience = importlib.import_module("consilience")
    assert Path(consilience.__file__).is_relative_to(source), consilience.__file__
    name, files = folder_of(sites[0])
    recorded = record_calls(source, log, files)
    collect(files)
    if not survives(source, sites[0], as_mutants_are_written(sites[0].path), recorded, 3, log):
        sys.exit(f"tests of {name} fail without any mutation:\n{log.read_text()[-3000:]}")
    for site in sites:
        mutated, change = mutate(site, choose)
        survived = survives(source, site, mutated, recorded, seconds, log)
        report(site, change, survived, log)


def survives(
    source: Path, site: Site, mutated: str, recorded: list[dict], seconds: float, log: Path
) -> bool:
    """Whether the tests that call the function of a site pass on the mutated module."""
    tests, total = tests_of(site, recorded, seconds)
    copied = source / PACKAGE.name / site.path.relative_to(PACKAGE)
    copied.write_text(mutated)  # for the processes that tests start
    files = sorted({test.split("::")[0] for test in tests})
    passed = passes(["-x", *files], MutatedModule(copied, mutated, tests), 20 + 3 * total, log)
    copied.write_text(as_mutants_are_written(site.path))
    return passed


def collect(files: list[Path]) -> None:
    """Import test files as pytest does, so that forks find them imported."""
    out, err = os.dup(1), os.dup(2)
    redirect_output(Path(os.devnull))
    pytest.main(["--collect-only", "-q", "-p", "no:cacheprovider", *map(str, files)])
    os.dup2(out, 1)
    os.dup2(err, 2)


def report(site: Site, change: str, survived: bool, log: Path) -> None:
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", log.read_text(), re.MULTILINE)
    if "INTERNALERROR" in log.read_text():
        sys.exit(log.read_text()[-3000:])
    where = f"{site.path.relative_to(ROOT)}:{site.line} {site.function}"
    outcome = "SURVIVED" if survived else f"killed by {failed[1] if failed else 'time limit'}"
    print(f"{site.package}\t{where}\t{change}\t{outcome}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=20, help="number of mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--package", nargs="*", default=[], help="folders or modules; default all")
    parser.add_argument("--seconds", type=float, default=20, help="tests for one mutant")
    parser.add_argument("--quick", action="store_true", help="two mutants of a small module")
    args = parser.parse_args()
    if args.quick:
        args.count, args.package = 2, ["_atomic_write"]
    os.environ.update(ENVIRONMENT)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    os.chdir(ROOT)
    chosen = list(sample(find_sites(args.package), args.count, random.Random(args.seed)))
    folders: dict[str, list[Site]] = defaultdict(list)
    for site in chosen:
        folders[folder_of(site)[0]].append(site)
    with tempfile.TemporaryDirectory() as folder:
        source, log = copy_source(Path(folder)), Path(folder) / "log"
        for name in PRELOADED:
            importlib.import_module(name)
        for name, sites in folders.items():
            arguments = (source, log, sites, args.seconds, f"{args.seed} {name}")
            process = get_context("fork").Process(target=try_mutants, args=arguments)
            process.start()
            process.join()


if __name__ == "__main__":
    main()
