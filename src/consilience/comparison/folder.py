"""The folder of a comparison: it holds one study, and another one is never mixed with it."""

from __future__ import annotations

from pathlib import Path

from consilience.comparison.record import DERIVED_OPTIONS, RUN_FILE_NAME, Run, read_run

__all__ = ["MODEL_FILE_NAME", "REPORT_FILE_NAME", "STORE_FILE_NAME", "claim_folder", "holds_study"]

MODEL_FILE_NAME = "model.skops"
REPORT_FILE_NAME = "report.html"
STORE_FILE_NAME = "results.sqlite"
STUDY_FILE_NAMES = (RUN_FILE_NAME, MODEL_FILE_NAME, REPORT_FILE_NAME, STORE_FILE_NAME)


def holds_study(folder: Path) -> bool:
    """Return whether a folder has files of a comparison."""
    return any((folder / name).exists() for name in STUDY_FILE_NAMES)


def claim_folder(folder: Path, run: Run, *, force: bool = False) -> Path | None:
    """Make a folder that belongs to this run alone.

    A folder with the same study is continued. One with another study is an error, or with
    ``force`` is renamed as a whole, so that no file of it can remain; its new path is returned.
    """
    old = None
    if holds_study(folder):
        reason = _difference(folder, run)
        if reason and not force:
            raise ValueError(
                f"{folder} contains another study ({reason}); choose another folder, or set the "
                "old one aside with --force (force=True in Python)"
            )
        old = _set_aside(folder) if reason else None
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"the folder {folder} cannot be created: {error.strerror}") from None
    if not holds_study(folder):
        try:
            run.write(folder, replace=False)  # first, so that whatever follows has an owner
        except FileExistsError:  # another process was faster
            return claim_folder(folder, run)
    return old


def _difference(folder: Path, run: Run) -> str:
    """How the study in a folder differs from a run; empty if they are the same."""
    try:
        other = read_run(folder)
    except ValueError as error:
        return str(error)
    if (other.fingerprint or other.compute_fingerprint()) == run.fingerprint:
        return ""
    mine, theirs = run.options, other.options
    ignored = ("allow_partial", *DERIVED_OPTIONS)
    names = [name for name in mine.__struct_fields__ if name not in ignored]
    options = [name for name in names if getattr(mine, name) != getattr(theirs, name)]
    if other.data.data_hash != run.data.data_hash or other.data.name != run.data.name:
        return "of other data"
    if options:
        return f"with other settings: {', '.join(options)}"
    return f"of version {other.version}" if other.version != run.version else "of other methods"


def _set_aside(folder: Path) -> Path:
    here = Path.cwd()
    if folder.resolve() in (here, *here.parents):  # relative paths would still lead into it
        raise ValueError(
            f"the folder {folder} cannot be set aside, because it contains the working directory"
        )
    number = 1
    while (target := folder.with_name(f"{folder.name}.old-{number}")).exists():
        number += 1
    try:
        return folder.rename(target)
    except OSError as error:
        raise ValueError(f"the folder {folder} cannot be set aside: {error.strerror}") from None
