"""Shared by several commands: options, folders, numbers of processes."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from consilience.benchmark.bounds import MAX_SEED, check_bounds
from consilience.io import check_key

__all__ = [
    "Quiet",
    "Scheduler",
    "SigningKey",
    "check_positive",
    "check_seed_and_jobs",
    "connect",
    "make_folder",
    "make_importable",
    "n_cores",
    "parse_costs",
    "parse_list",
    "parse_seconds",
    "read_signing_key",
]

MAX_JOBS = 4096
CONNECTION_SECONDS = 10
MAX_KEY_BYTES = 4096
MAX_LIMIT = 1e9  # seconds or gigabytes

Quiet = Annotated[
    bool, typer.Option("--quiet", help="Print plain lines, suitable for a log, not a progress bar.")
]

# a secret on the command line would be seen by every user of the machine
SigningKey = Annotated[
    str | None,
    typer.Option(
        help="Sign the model, or accept only a model signed, with the secret key in this file, "
        "or in the environment variable NAME with env:NAME."
    ),
]


Scheduler = Annotated[
    str | None, typer.Option(help="Address of a Dask scheduler to run on instead.")
]


@contextlib.contextmanager
def connect(scheduler_address: str | None) -> Iterator[Any]:
    """Connect to a Dask scheduler; yield None without an address."""
    if scheduler_address is None:
        yield None
        return
    try:
        from distributed import Client
    except ImportError:
        raise ValueError("--scheduler needs Dask; pip install 'consilience[dask]'") from None
    # a lost connection is reported in one sentence, and not by the log of Dask as well
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        client = Client(scheduler_address, timeout=CONNECTION_SECONDS)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"--scheduler {scheduler_address}: no Dask scheduler answers there "
            f"({(str(error).splitlines() or [''])[0]})"
        ) from None
    with client:
        if not client.nthreads():
            raise ValueError(f"--scheduler {scheduler_address}: the cluster has no workers")
        yield client


def check_seed_and_jobs(seed: int, jobs: int) -> None:
    """Check the range of --seed and --jobs."""
    check_bounds("--jobs", jobs, 1, MAX_JOBS)
    check_bounds("--seed", seed, 0, MAX_SEED)


def check_positive(option: str, value: float | None) -> None:
    """Check that an optional number is positive and finite."""
    if value is not None and not 0 < value < MAX_LIMIT:
        raise ValueError(f"{option} must be a positive number below {MAX_LIMIT:g}, got {value:g}")


def make_folder(path: Path) -> None:
    """Create a folder and its parents unless they exist."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"the folder {path} cannot be created: {error.strerror}") from None


def make_importable(folder: str | Path) -> None:
    """Let own methods and loaders be imported from a folder, here and in worker processes."""
    path = str(Path(folder).absolute())
    if path not in sys.path:
        sys.path.insert(0, path)


def parse_list(text: str | None) -> list[str]:
    """Split a list at its commas."""
    return [part.strip() for part in text.split(",") if part.strip()] if text else []


def parse_seconds(text: str | None, option: str = "--time-budget") -> float | None:
    """Convert ``90``, ``90s``, ``10m`` or ``2h`` to seconds."""
    if text is None:
        return None
    units = {"s": 1.0, "m": 60.0, "h": 3600.0}
    number, unit = (text[:-1], text[-1]) if text[-1:] in units else (text, "s")
    try:
        seconds = float(number) * units[unit]
    except ValueError:
        raise ValueError(f"{option} must be like 90s, 10m or 2h, got {text!r}") from None
    if not 0 < seconds < float("inf"):
        raise ValueError(f"{option} must be positive, got {text!r}")
    return seconds


def parse_costs(text: str | None) -> dict[str, float] | None:
    """Convert ``rna=300,protein=900`` to numbers by view."""
    if text is None:
        return None
    costs: dict[str, float] = {}
    for part in parse_list(text):
        view, _, number = part.rpartition("=")
        if view in costs:
            raise ValueError(f"--costs names the view {view!r} twice")
        try:
            costs[view] = float(number)
        except ValueError:
            view = ""
        if not view:
            raise ValueError(f"--costs must be like rna=300,protein=900, got {text!r}")
    return costs


def read_signing_key(source: str | None) -> bytes | None:
    """Bytes of a key file, all of them, or those of an environment variable (``env:NAME``)."""
    if source is None:
        return None
    if source.startswith("env:"):
        key = os.environ.get(source[4:], "").encode(errors="surrogateescape")
        if not key:
            raise ValueError(f"--signing-key {source}: this environment variable is not set")
    else:
        key = _read_key_file(source)
    try:
        check_key(key)
    except ValueError as error:
        raise ValueError(f"--signing-key {source}: {error}") from None
    return key


def _read_key_file(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            key = file.read(MAX_KEY_BYTES + 1)
    except OSError as error:
        raise ValueError(f"--signing-key {path} cannot be read: {error.strerror}") from None
    if len(key) > MAX_KEY_BYTES:
        raise ValueError(f"--signing-key {path} has more than {MAX_KEY_BYTES} bytes; is it a key?")
    return key


def n_cores() -> int:
    """Number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
