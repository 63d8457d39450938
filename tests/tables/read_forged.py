"""Read the files that are named on standard input, with limits; one line of JSON for each."""

import contextlib
import io
import json
import os
import resource
import sys
import time
import traceback
from pathlib import Path

from benchmark.studies import run_serially
from consilience.cli import main, suites
from consilience.comparison import execution
from consilience.comparison.inputs import read_files
from consilience.tables import parse_files
from tables.forged_files import arguments_for

MEMORY_BYTES = 2 * 2**30  # beyond what the libraries take


def limit_memory():
    (size,) = [
        int(line.split()[1]) * 1024
        for line in Path("/proc/self/status").read_text().splitlines()
        if line.startswith("VmSize")
    ]
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY_BYTES, resource.RLIM_INFINITY))


def read(path):
    """What reading a file for a comparison comes to: "valid", or the error."""
    files, target = arguments_for(path)
    try:
        read_files(parse_files(files), target=target)
    except (ValueError, TypeError) as error:
        return {"code": 2, "message": f"{error}\n"}
    return {"code": 0, "message": ""}


def compare(path):
    """The same by the command line."""
    err = io.StringIO()
    files, target = arguments_for(path)
    options = ["--target", target, "--methods", "Late fusion", "--cv", "2", "--repeats", "1"]
    with contextlib.redirect_stderr(err), contextlib.redirect_stdout(io.StringIO()):
        try:
            main(["compare", *files, *options, "--quiet"])
        except SystemExit as end:
            code = end.code
    return {"code": code, "message": err.getvalue() if code == 2 else ""}


if __name__ == "__main__":
    execution.run_tasks = suites.run_tasks = run_serially
    one_in = int(sys.argv[1])  # this share of the files goes through the command line
    limit_memory()
    output = os.fdopen(os.dup(1), "w", buffering=1)
    for number, line in enumerate(sys.stdin):
        path = Path(line.strip())
        print(json.dumps({"path": str(path)}), file=output)  # a crash leaves only this
        start = time.process_time()  # the machine may be busy
        try:
            result = (compare if number % one_in == 0 else read)(path)
        except BaseException:
            result = {"code": None, "message": traceback.format_exc()}
        result["seconds"] = time.process_time() - start
        print(json.dumps(result), file=output)
