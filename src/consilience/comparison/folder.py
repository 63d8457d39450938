"""The folder of a comparison: it holds one study, and another one is never mixed with it."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from consilience.comparison.record import DERIVED_OPTIONS, RUN_FILE_NAME, Run, read_run

__all__ = [
    "CARD_FILE_NAME",
    "FEATURES_FILE_NAME",
    "MODEL_FILE_NAME",
    "REPORT_FILE_NAME",
    "RESULTS_FILE_NAME",
    "STORE_FILE_NAME",
    "claim_folder",
    "holds_study",
]

MODEL_FILE_NAME = "model.skops"
REPORT_FILE_NAME = "report.html"
STORE_FILE_NAME = "results.sqlite"
RESULTS_FILE_NAME = "results.csv"
CARD_FILE_NAME = "model_card.md"
FEATURES_FILE_NAME = "features.csv"
STUDY_FILE_NAMES = (RUN_FILE_NAME, MODEL_FILE_NAME, REPORT_FILE_NAME, STORE_FILE_NAME)
WRITTEN_FILE_NAMES = (*STUDY_FILE_NAMES, RESULTS_FILE_NAME, CARD_FILE_NAME, FEATURES_FILE_NAME)


def holds_study(folder: Path) -> bool:
    """Return whether a folder has files of a comparison."""
    return any((folder / name).exists() for name in STUDY_FILE_NAMES)


def claim_folder(
    folder: Path, run: Run, *, force: bool = False, inputs: Collection[Path] = ()
) -> Path | None:
    """Make a folder that belongs to this run alone.

    A folder with the same study is continued. One with another study is an error, or with
    ``force`` is renamed as a whole, so that no file of it can remain; its new path is returned.
    The input files must not be moved or written over.
    """
    _check_written_names(folder, inputs)
    old = None
    if holds_study(folder):
        reason = _difference(folder, run)
        if reason and not force:
            raise ValueError(
                f"{folder} contains another study ({reason}); choose another folder, or set the "
                "old one aside with --force (force=True in Python)"
            )
        old = _set_aside(folder, inputs) if reason else None
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"the folder {folder} cannot be created: {error.strerror}") from None
    if not holds_study(folder):
        try:
            run.write(folder, replace=False)  # first, so that whatever follows has an owner
        except FileExistsError:  # another process was faster
            return claim_folder(folder, run, inputs=inputs)
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


def _check_written_names(folder: Path, inputs: Collection[Path]) -> None:
    """Check that no input file has the name of a file that the study writes."""
    written = {(folder / name).absolute() for name in WRITTEN_FILE_NAMES}
    written |= {path.resolve() for path in written}
    for path in inputs:
        if {path.absolute(), path.resolve()} & written:
            raise ValueError(
                f"{path} is an input, and the study would write over it in {folder}; choose "
                "another folder, or rename the file"
            )


def _set_aside(folder: Path, inputs: Collection[Path]) -> Path:
    moved = folder.resolve()
    for path in inputs:
        if {moved, folder.absolute()} & {*path.absolute().parents, *path.resolve().parents}:
            raise ValueError(
                f"the folder {folder} cannot be set aside, because it contains the input {path}; "
                "choose another folder"
            )
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
