"""Safe unpacking of archives from untrusted sources.

Members are written one by one, as regular files, below one new folder. Absolute names, names with
"..", links, devices, and encrypted or repeated members are rejected, as is an archive that unpacks
to far more than its own size. The kind of an archive is detected from its first bytes, and nested
archives are unpacked next to themselves.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import os
import re
import shutil
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

from consilience.datasets._store import DatasetError

__all__ = ["UnpackLimit", "find_file", "unpack"]

COMPRESSION_OPENERS: dict[bytes, Callable[..., Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}
TAR_MAGIC = b"ustar"
ZIP_MAGICS = (b"PK\x03\x04", b"PK\x05\x06")
MAX_NESTING = 2
CHUNK_BYTES = 1 << 16
MAX_NAME_CHARS, MAX_PART_CHARS = 1000, 255
# allowed in file names; other characters are written as %XX, which every file system can store
SAFE_NAME_CHARS = "".join(chr(c) for c in range(0x20, 0x7F) if chr(c) not in '<>:"|?*%/\\')


@dataclass
class UnpackLimit:
    """Remaining number of bytes and files that may be written, including nested archives."""

    size: int = 2 << 30
    files: int = 50_000

    @classmethod
    def for_archive(cls, path: Path, ratio: int = 200, floor: int = 16 << 20) -> UnpackLimit:
        """Limit the size to ``ratio`` times that of the archive, more than any data set needs."""
        return cls(size=min(cls.size, floor + ratio * os.path.getsize(path)))

    def count_bytes(self, n_bytes: int) -> None:
        """Count bytes before they are written."""
        self.size -= n_bytes
        if self.size < 0:
            raise DatasetError("rejected: it unpacks to far more than a data set would")

    def count_file(self) -> None:
        """Count one member."""
        self.files -= 1
        if self.files < 0:
            raise DatasetError("rejected: it has too many members")


class MeteredStream(io.RawIOBase):
    """A stream that counts bytes against a limit as they are read."""

    def __init__(self, stream: IO[bytes], limit: UnpackLimit) -> None:
        self.stream, self.limit = stream, limit

    def readable(self) -> bool:
        """Return True: the stream can be read."""
        return True

    def read(self, size: int | None = -1) -> bytes:
        """Read at most ``size`` bytes."""
        n_bytes = CHUNK_BYTES if size is None or size < 0 else min(size, CHUNK_BYTES)
        block = self.stream.read(n_bytes)
        self.limit.count_bytes(len(block))
        return block


def unpack(
    path: str | Path,
    folder: str | Path,
    limit: UnpackLimit | None = None,
    depth: int = MAX_NESTING,
) -> None:
    """Unpack a file into a new folder; a file that is not an archive is copied there.

    Parameters
    ----------
    path : Path
        An archive: zip, tar, gz, bz2, xz or compressed tar.
    folder : Path
        Destination, which must not exist yet.
    limit : UnpackLimit, optional
        How much may be written; by default it depends on the size of the archive.
    depth : int, default=2
        Number of levels of nested archives to unpack as well.
    """
    path, folder = Path(path), Path(folder)
    limit = UnpackLimit.for_archive(path) if limit is None else limit
    try:
        with _reject_repeated(folder.name):
            folder.mkdir(parents=True)
        with open(path, "rb") as file:
            _unpack_stream(file, path, folder, limit)
    except DatasetError as error:
        raise DatasetError(f"{path.name}: {error}") from error
    except Exception as error:  # the readers raise all kinds of errors, bz2 even OSError
        if isinstance(error, OSError) and error.errno is not None:  # of the disk
            raise
        raise DatasetError(f"{path.name} is not a readable archive ({error})") from error
    if depth:
        inner = [p for p in sorted(folder.rglob("*")) if p.is_file() and _is_archive(p)]
        for packed in inner:
            unpack(packed, packed.with_name(f"{packed.name}.unpacked"), limit, depth - 1)


def find_file(folder: str | Path, name: str) -> Path:
    """Find the file of that name, the least nested if there are several."""
    safe_name = quote(name, safe=SAFE_NAME_CHARS)
    matches = [p for p in Path(folder).rglob("*") if p.name == safe_name]
    if not matches:
        raise DatasetError(f"no file {name} in the download; its publisher may have changed it")
    return min(matches, key=lambda p: (len(p.parts), str(p)))


def _is_archive(path: Path) -> bool:
    with open(path, "rb") as file:
        return _detect_kind(file.read(512)) is not None


def _detect_kind(head: bytes) -> str | Callable[..., Any] | None:
    """Return "zip", "tar", a function that opens a compressed file, or None."""
    if head.startswith(ZIP_MAGICS):
        return "zip"
    if head[257:262] == TAR_MAGIC:
        return "tar"
    openers = COMPRESSION_OPENERS.items()
    return next((opener for magic, opener in openers if head.startswith(magic)), None)


def _unpack_stream(file: IO[bytes], path: Path, folder: Path, limit: UnpackLimit) -> None:
    kind = _detect_kind(file.read(512))
    file.seek(0)
    if kind == "zip":
        _unpack_zip(file, folder, limit)
    elif kind == "tar":
        _unpack_tar(file, folder, limit)
    elif not callable(kind):
        _write(MeteredStream(file, limit), folder, path.name, limit)
    else:
        with kind(file) as stream:
            is_tar = stream.read(512)[257:262] == TAR_MAGIC
            stream.seek(0)
            if is_tar:
                _unpack_tar(stream, folder, limit)
            else:
                name = re.sub(r"\.(gz|bz2|xz)$", "", path.name)
                _write(MeteredStream(stream, limit), folder, name, limit)


def _unpack_zip(file: IO[bytes], folder: Path, limit: UnpackLimit) -> None:
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            kind = stat.S_IFMT(member.external_attr >> 16)
            if member.is_dir() and kind in (0, stat.S_IFDIR):
                _make_folder(folder, member.filename, limit)
                continue
            if kind not in (0, stat.S_IFREG):
                raise DatasetError(f"rejected: {member.filename!r} is not a regular file")
            with archive.open(member) as content:
                _write(MeteredStream(content, limit), folder, member.filename, limit)


def _unpack_tar(file: IO[bytes], folder: Path, limit: UnpackLimit) -> None:
    # reading is limited as well as writing, since headers could fill the memory
    metered: Any = MeteredStream(file, replace(limit))
    with tarfile.open(fileobj=metered, mode="r|") as archive:
        for member in archive:
            if member.isdir():
                _make_folder(folder, member.name, limit)
                continue
            if not member.isreg() or member.issparse():
                raise DatasetError(f"rejected: {member.name!r} is not a regular file")
            content = archive.extractfile(member)
            assert content is not None  # a regular file
            _write(MeteredStream(content, limit), folder, member.name, limit)
    while metered.read():  # to the end, where the checksum is verified
        pass


def _member_path(folder: Path, name: str, limit: UnpackLimit) -> Path:
    """Path of a member, always below the folder."""
    limit.count_file()
    parts = [part for part in name.split("/") if part not in ("", ".")]
    bad = (
        not parts
        or name.startswith("/")
        or ".." in parts
        or "\\" in name
        or re.match(r"[A-Za-z]:", name)
        or any(ord(c) < 32 or ord(c) == 127 for c in name)
        or len(name) > MAX_NAME_CHARS
    )
    if bad:
        raise DatasetError(f"rejected: a member is called {name[:80]!r}")
    path = folder.joinpath(*(quote(part, safe=SAFE_NAME_CHARS) for part in parts))
    if max(len(part) for part in path.parts) > MAX_PART_CHARS:
        raise DatasetError(f"rejected: a member is called {name[:80]!r}")
    if not path.resolve().is_relative_to(folder.resolve()):
        raise DatasetError(f"rejected: {name!r} is outside the folder")
    return path


def _make_folder(folder: Path, name: str, limit: UnpackLimit) -> None:
    if name.strip("./"):  # "./" is the folder itself
        with _reject_repeated(name):
            _member_path(folder, name, limit).mkdir(parents=True, exist_ok=True)


def _write(content: Any, folder: Path, name: str, limit: UnpackLimit) -> None:
    path = _member_path(folder, name, limit)
    with _reject_repeated(name):
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "xb") as file:
            shutil.copyfileobj(content, file, CHUNK_BYTES)


@contextlib.contextmanager
def _reject_repeated(name: str) -> Iterator[None]:
    try:
        yield
    except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
        raise DatasetError(f"rejected: two members are called {name!r}") from error
