"""Mutation testing: do the tests of a folder notice a small random change of its code?

One operator, comparison, condition or constant inside a function is changed at a time, in memory
and in a temporary copy of ``src``, and tests of the mirrored folder are run on it: for at most
``--seconds`` of processor time, first those that call the function (see ``_mutant_session.py``).

The sample of a package depends on the seed alone, so a run can be made in slices; ``--skip`` leaves
out its beginning, for a second sample, and ``--again`` tries only the survivors that the log of an
earlier run of the same sample lists, after tests were added or with more time:

python benchmarks/mutants.py --count 300 [--seed 0] [--package tables views] [--seconds 20]
python benchmarks/mutants.py --count 15 --package tables --skip 15
python benchmarks/mutants.py --count 300 --again LOG
python benchmarks/mutants.py --quick
"""

import argparse
import ast
import compileall
import importlib
import itertools
import os
import py_compile
import random
import re
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
from _called_functions import note_calls
from _mutant_session import SURVIVED, MutantSession
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


def import_copy(source: Path) -> set[str]:
    """Import the copied package; return the set in which its functions note their calls."""
    sys.path[:] = [str(source), *(p for p in sys.path if Path(p) not in (ROOT / "src", source))]
    exec(DROP_EDITABLE_FINDER)
    consilience = importlib.import_module("consilience")
    assert Path(consilience.__file__).is_relative_to(source), consilience.__file__
    return note_calls(source / PACKAGE.name)


def sample(sites: list[Site], skip: int, count: int, seed: int) -> Iterator[Site]:
    """Random sites, from each package in turn; those of a package depend on the seed alone."""
    packages = [
        random.Random(f"{seed} {package}").sample(group, len(group))
        for package in dict.fromkeys(site.package for site in sites)
        if (group := [site for site in sites if site.package == package])
    ]
    rounds = itertools.zip_longest(*packages)
    found = (site for turn in rounds for site in turn if site)
    return itertools.islice(found, skip, skip + count)


def try_mutants(
    source: Path, sites: list[Site], seconds: float, seed: int, called: set[str]
) -> None:
    """Try the mutants of one folder of tests, and print a line for each."""
    _, files = folder_of(sites[0])
    out = os.dup(1)
    log = source.parent / "log"
    with log.open("w") as stream:
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)

    def report(line: str) -> None:
        os.write(out, f"{line}\n".encode())

    options = ["-q", "--tb=short", "-p", "no:cacheprovider", f"--basetemp={source.parent / 'tmp'}"]
    session = MutantSession(source, sites, seconds, seed, called, report)
    pytest.main([*options, *map(str, files)], plugins=[session])
    text = log.read_text()
    if "INTERNALERROR" in text or " error" in text:
        report(text[-3000:])
    os._exit(0)


def survivors(log: Path, sites: list[Site], seed: int) -> list[Site]:
    """Those of a sample whose mutants survived according to a log of it."""
    lines = [line.split("\t") for line in log.read_text().splitlines()]
    survived = {tuple(line[1:3]) for line in lines if line[-1] == SURVIVED}
    return [site for site in sites if (site.place, mutate(site, seed)[1]) in survived]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=20, help="number of mutants")
    parser.add_argument("--skip", type=int, default=0, help="mutants to leave out before these")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--package", nargs="*", default=[], help="folders or modules; default all")
    parser.add_argument("--seconds", type=float, default=20, help="tests for one mutant")
    parser.add_argument("--again", type=Path, metavar="LOG", help="only the survivors of a run")
    parser.add_argument("--quick", action="store_true", help="two mutants of a small module")
    args = parser.parse_args()
    if args.quick:
        args.count, args.package = 2, ["_atomic_write"]
    os.environ.update(ENVIRONMENT)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    if args.again:
        args.again = args.again.resolve()
    os.chdir(ROOT)
    chosen = list(sample(find_sites(args.package), args.skip, args.count, args.seed))
    if args.again:
        chosen = survivors(args.again, chosen, args.seed)
    folders: dict[str, list[Site]] = defaultdict(list)
    for site in chosen:
        folders[folder_of(site)[0]].append(site)
    with tempfile.TemporaryDirectory() as folder:
        source = copy_source(Path(folder))
        for name in PRELOADED:
            importlib.import_module(name)
        called = import_copy(source)
        for sites in folders.values():
            arguments = (source, sites, args.seconds, args.seed, called)
            process = get_context("fork").Process(target=try_mutants, args=arguments)
            process.start()
            process.join()


if __name__ == "__main__":
    main()
