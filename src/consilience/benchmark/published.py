"""When the bundled suites were run: what their published pages say about themselves.

``python -m consilience.benchmark.published docs/results`` collects it from the pages in
``published.toml``, which is part of the package and which ``consilience suites`` shows.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from importlib.resources import files
from pathlib import Path

from msgspec import Struct

from consilience._atomic_write import write_atomically
from consilience.benchmark.suite import suite_names

__all__ = ["PublishedRun", "page_name", "published_runs", "read_page"]

RECORDS = files("consilience.benchmark") / "published.toml"
PAGE_NAMES = {"default": "default-bench"}  # default.md is the page about the classifier itself
COMMAND = re.compile(r"^Recompute this page: `(?P<command>[^`]+)`", re.MULTILINE)
DIGEST = re.compile(r"^Suite: `[^`]+`, SHA-256 `(?P<sha256>[0-9a-f]{64})`", re.MULTILINE)
RUN = re.compile(
    r"^Run: (?P<coverage>(?:in full|in part|all data sets but ).*), last on (?P<date>\S+), "
    r"consilience (?P<version>.+)$",
    re.MULTILINE,
)


class PublishedRun(Struct, frozen=True):
    """What a page says about the run it reports on."""

    coverage: str
    date: str
    version: str
    sha256: str
    command: str


def page_name(suite_name: str) -> str:
    """Name, without an extension, of the files that the results of a suite are published in."""
    return PAGE_NAMES.get(suite_name, suite_name)


def read_page(text: str) -> PublishedRun | None:
    """Read a page; None if it does not say which suite it was made from."""
    command, digest, run = COMMAND.search(text), DIGEST.search(text), RUN.search(text)
    if command is None or digest is None or run is None:
        return None
    return PublishedRun(**run.groupdict(), **digest.groupdict(), **command.groupdict())


def published_runs() -> dict[str, PublishedRun]:
    """Published runs of the bundled suites by name."""
    if not RECORDS.is_file():
        return {}
    records = tomllib.loads(RECORDS.read_text(encoding="utf-8"))
    return {name: PublishedRun(**record) for name, record in records.items()}


def format_records(folder: Path) -> str:
    """The records of all pages of bundled suites in a folder, as TOML."""
    blocks = ["# written by: python -m consilience.benchmark.published docs/results"]
    for name in suite_names():
        path = folder / f"{page_name(name)}.md"
        run = read_page(path.read_text(encoding="utf-8")) if path.is_file() else None
        if run is not None:
            fields = {key: getattr(run, key) for key in run.__struct_fields__}
            # a string of JSON is one of TOML
            lines = [f"{key} = {json.dumps(value)}" for key, value in fields.items()]
            blocks.append("\n".join([f'["{name}"]', *lines]))
    return "\n\n".join(blocks) + "\n"


if __name__ == "__main__":
    write_atomically(Path(str(RECORDS)), format_records(Path(sys.argv[1])))
