"""Sources of data sets, and how they are downloaded and converted.

``load`` reads the arrays of a data set from the folder of data sets. If they are missing, ``fetch``
downloads the original files, unpacks, converts and checks them, and stores the arrays atomically.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np

from consilience._atomic_write import write_atomically
from consilience.datasets._archives import find_file, unpack
from consilience.datasets._download import MIRROR_ADVICE, RemoteFile, check_checksum, download
from consilience.datasets._store import (
    Arrays,
    DatasetError,
    damaged_file_error,
    data_folder,
    read_arrays,
    write_arrays,
)

__all__ = ["DatasetSource", "DownloadRoute", "digest", "fetch", "load"]

FIRST_USE_FILE_NAME = "first-use.sha256"
DISK_FULL_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
T = TypeVar("T")


class StorageError(DatasetError):
    """A data set cannot be stored in the folder."""


@dataclass(frozen=True)
class DownloadRoute:
    """One way to obtain a data set: files to download, and the function that converts them.

    ``convert`` takes the folder with the unpacked files and yields pairs of a file stem and its
    arrays. ``members`` are checksums of files inside the archives.
    """

    remotes: tuple[RemoteFile, ...]
    convert: Callable[[Path], Iterator[tuple[str, Arrays]]]
    members: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class DatasetSource:
    """A data set that can be downloaded.

    ``rows`` is the number of labels in each file, and ``digests`` are checksums of its arrays, so
    that all routes lead to the same data.
    """

    folder: str
    routes: tuple[DownloadRoute, ...] = ()
    rows: dict[str, int] = field(default_factory=dict)
    digests: dict[str, dict[str, str]] = field(default_factory=dict)


def load(
    source: DatasetSource,
    stem: str,
    build: Callable[[Arrays], T],
    data_home: str | os.PathLike | None = None,
    download_if_missing: bool = True,
    progress: bool | None = None,
) -> T:
    """Read ``stem.npz`` of a source and pass its arrays to ``build``."""
    home = data_folder(data_home)
    path = home / source.folder / f"{stem}.npz"
    if not path.exists():
        if not source.routes:
            raise DatasetError(
                f"{path} does not exist and cannot be downloaded: set data_home= or "
                "CONSILIENCE_DATA to a folder that has it"
            )
        if not download_if_missing:
            raise DatasetError(f"{path} does not exist, and download_if_missing is False")
        fetch(source, home, progress)
    arrays = read_arrays(path)
    try:
        return build(arrays)
    except (LookupError, ValueError, TypeError) as error:
        raise damaged_file_error(path, error) from error


def fetch(source: DatasetSource, home: Path, progress: bool | None = None) -> None:
    """Download, convert, check and store a data set; nothing incomplete is left behind."""
    failures: list[DatasetError] = []
    for route in source.routes:
        try:
            with _storage_errors(home):
                home.mkdir(parents=True, exist_ok=True)
                with tempfile.TemporaryDirectory(prefix=".fetch-", dir=home) as work:
                    _fetch_route(source, route, home, Path(work), progress)
            return
        except StorageError:  # another route would fail in the same way
            raise
        except DatasetError as error:
            failures.append(error)
    if len(failures) == 1:
        raise failures[0]
    raise DatasetError(" | ".join(map(str, failures))) from failures[-1]


def _fetch_route(
    source: DatasetSource, route: DownloadRoute, home: Path, work: Path, progress: bool | None
) -> None:
    packed, files = work / "packed", work / "files"
    origin: list[str] = []
    record = home / source.folder / FIRST_USE_FILE_NAME
    trusted = _read_checksums(record)
    packed.mkdir()
    for number, remote in enumerate(route.remotes):
        path, url = download(remote, packed, progress)
        checksum = _sha256(path)
        origin.append(f"{url} sha256:{checksum}")
        if remote.trust_first_use and trusted.setdefault(remote.name, checksum) != checksum:
            raise DatasetError(
                f"{remote.name} differs from its first download (sha256 {checksum} instead of "
                f"{trusted[remote.name]}); if its publisher has changed it, delete {record}"
            )
        unpack(path, files / str(number))
    for name, known_hash in route.members.items():
        check_checksum(find_file(files, name), known_hash)
    for stem, arrays in _convert(route, files):
        _check_arrays(source, stem, arrays)
        write_arrays(home / source.folder / f"{stem}.npz", {**arrays, "origin": np.array(origin)})
    if trusted:
        lines = [f"{checksum}  {name}\n" for name, checksum in trusted.items()]
        write_atomically(record, "".join(lines))


def _read_checksums(path: Path) -> dict[str, str]:
    """Read checksums by file name, in the format of ``sha256sum``."""
    if not path.exists():
        return {}
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    pairs = (line.split(maxsplit=1) for line in lines)
    return {pair[1]: pair[0] for pair in pairs if len(pair) == 2}


def _convert(route: DownloadRoute, work: Path) -> Iterator[tuple[str, Arrays]]:
    """Convert the files; any error means that they do not have the expected format."""
    names = ", ".join(remote.name for remote in route.remotes)
    try:
        yield from route.convert(work)
    except DatasetError:
        raise
    except Exception as error:  # readers raise all kinds of errors for unexpected content
        if isinstance(error, OSError) and error.errno is not None:  # of the disk
            raise
        raise DatasetError(
            f"{names} cannot be read ({error}); its publisher may have changed it. {MIRROR_ADVICE}"
        ) from error


def _check_arrays(source: DatasetSource, stem: str, arrays: Arrays) -> None:
    rows = source.rows.get(stem)
    if rows is not None and len(arrays["y"]) != rows:
        raise DatasetError(f"{stem} has {len(arrays['y'])} samples instead of {rows}")
    for key, expected in source.digests.get(stem, {}).items():
        if digest(arrays[key]) != expected:
            raise DatasetError(
                f"{stem}: the values of {key} have an unexpected checksum; the publisher may have "
                "changed them"
            )


def digest(array: np.ndarray) -> str:
    """Checksum of the dtype, shape and values of an array."""
    array = np.ascontiguousarray(array)
    head = f"{array.dtype.newbyteorder('<').str} {array.shape}".encode()
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return hashlib.sha256(head + little.tobytes()).hexdigest()


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextlib.contextmanager
def _storage_errors(home: Path) -> Iterator[None]:
    """Turn errors of writing into one sentence."""
    try:
        yield
    except DatasetError:
        raise
    except OSError as error:
        is_full = error.errno in DISK_FULL_ERRORS
        problem = "there is no space left" if is_full else "it cannot be written"
        raise StorageError(
            f"the data set cannot be stored in {home}: {problem} ({error.strerror or error}); "
            "pass data_home= or set CONSILIENCE_DATA to another folder"
        ) from error
