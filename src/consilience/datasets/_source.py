"""Where a data set comes from, and the way from there to the arrays in the folder.

``load`` reads the arrays; if they are not there, ``fetch`` downloads the originals, unpacks and
converts them, checks the outcome and puts it in the folder in one step.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from consilience.datasets._archives import find_file, unpack
from consilience.datasets._download import MIRROR_ADVICE, RemoteFile, check_checksum, download
from consilience.datasets._store import (
    DatasetError,
    damaged_file_error,
    data_folder,
    read_arrays,
    write_arrays,
)

__all__ = ["DatasetSource", "DownloadRoute", "digest", "fetch", "load"]

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class StorageError(DatasetError):
    """The folder cannot take a data set."""


@dataclass(frozen=True)
class DownloadRoute:
    """One way to the originals: files to download, and the function that reads them.

    ``convert`` takes the folder with the unpacked files and yields pairs of a file stem and its
    arrays. ``members`` are checksums of files inside the archives.
    """

    remotes: tuple[RemoteFile, ...]
    convert: Callable
    members: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class DatasetSource:
    """A data set on the network.

    ``rows`` gives the number of labels of each file, ``digests`` the checksums of arrays in it, so
    that whatever route was taken leads to the same data.
    """

    folder: str
    routes: tuple[DownloadRoute, ...] = ()
    rows: dict[str, int] = field(default_factory=dict)
    digests: dict[str, dict[str, str]] = field(default_factory=dict)


def load(source, stem, build, data_home=None, download_if_missing=True, progress=None):
    """Read ``stem.npz`` of a source and give its arrays to ``build``, which makes the Bunch."""
    home = data_folder(data_home)
    path = home / source.folder / f"{stem}.npz"
    if not path.exists():
        if not source.routes:
            raise DatasetError(
                f"{path} is not there, and it cannot be downloaded: point data_home= or "
                "CONSILIENCE_DATA to a folder that has it"
            )
        if not download_if_missing:
            raise DatasetError(f"{path} is not there, and download_if_missing is False")
        fetch(source, home, progress)
    arrays = read_arrays(path)
    try:
        return build(arrays)
    except (LookupError, ValueError, TypeError) as error:
        raise damaged_file_error(path, error) from error


def fetch(source, home, progress=None):
    """Download, convert, check and store; nothing half made is left behind."""
    failures = []
    for route in source.routes:
        try:
            with _plain_errors(home):
                home.mkdir(parents=True, exist_ok=True)
                with tempfile.TemporaryDirectory(prefix=".fetch-", dir=home) as work:
                    _follow(source, route, home, Path(work), progress)
            return
        except StorageError:  # another route would end the same way
            raise
        except DatasetError as error:
            failures.append(error)
    if len(failures) == 1:
        raise failures[0]
    raise DatasetError(" | ".join(map(str, failures))) from failures[-1]


def _follow(source, route, home, work, progress):
    packed, files, origin = work / "packed", work / "files", []
    packed.mkdir()
    for number, remote in enumerate(route.remotes):
        path, url = download(remote, packed, progress)
        origin.append(f"{url} sha256:{_sha256(path)}")
        unpack(path, files / str(number))
    for name, known_hash in route.members.items():
        check_checksum(find_file(files, name), known_hash)
    for stem, arrays in _converted(route, files):
        _check(source, stem, arrays)
        write_arrays(home / source.folder / f"{stem}.npz", {**arrays, "origin": np.array(origin)})


def _converted(route, work):
    """The converter's arrays; what it stumbles over is a file of another form."""
    names = ", ".join(remote.name for remote in route.remotes)
    try:
        yield from route.convert(work)
    except OSError:
        raise
    except Exception as error:  # readers fail in many ways on what they do not know
        raise DatasetError(
            f"{names} cannot be read ({error}); its publisher may have changed it. {MIRROR_ADVICE}"
        ) from error


def _check(source, stem, arrays):
    rows = source.rows.get(stem)
    if rows is not None and len(arrays["y"]) != rows:
        raise DatasetError(f"{stem} has {len(arrays['y'])} samples instead of {rows}")
    for key, expected in source.digests.get(stem, {}).items():
        if digest(arrays[key]) != expected:
            raise DatasetError(
                f"{stem}: the values of {key} are not the known ones; the publisher may have "
                "changed them"
            )


def digest(array):
    """Checksum of an array's type, shape and values."""
    array = np.ascontiguousarray(array)
    head = f"{array.dtype.newbyteorder('<').str} {array.shape}".encode()
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return hashlib.sha256(head + little.tobytes()).hexdigest()


def _sha256(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextlib.contextmanager
def _plain_errors(home):
    """Say in one sentence that the disk is full or cannot be written."""
    try:
        yield
    except DatasetError:
        raise
    except OSError as error:
        problem = "there is no space left" if error.errno in FULL else "it cannot be written"
        raise StorageError(
            f"the data set cannot be stored in {home}: {problem} ({error.strerror or error}); "
            "pass data_home= or set CONSILIENCE_DATA to another folder"
        ) from error
