"""Unpacking archives that strangers have made.

Nothing is trusted: members are written one by one, as regular files, below one new folder.
Absolute names, names with "..", links, devices, encrypted or repeated members are refused, and so
is whatever grows too far beyond the size of the archive. The kind of an archive is told by its
first bytes, and archives inside archives are unpacked beside themselves.
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
import zlib
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

from consilience.datasets._store import DatasetError

__all__ = ["UnpackLimit", "find_file", "unpack"]

STREAMS = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}
USTAR = b"ustar"
ZIPS = (b"PK\x03\x04", b"PK\x05\x06")
DEPTH = 2  # archives inside an archive
CHUNK = 1 << 16
# kept in file names as they are; the rest is written as %XX, which every file system can store
PLAIN = "".join(chr(c) for c in range(0x20, 0x7F) if chr(c) not in '<>:"|?*%/\\')
BROKEN = (
    zipfile.BadZipFile,
    tarfile.TarError,
    lzma.LZMAError,
    zlib.error,
    gzip.BadGzipFile,
    EOFError,
    NotImplementedError,  # a compression zipfile does not know
    RuntimeError,  # zipfile: encrypted
    ValueError,
)


@dataclass
class UnpackLimit:
    """What may still be written: bytes and files, archives inside archives included."""

    size: int = 2 << 30
    files: int = 50_000

    @classmethod
    def for_archive(cls, path, ratio=200, floor=16 << 20):
        """Data sets shrink by far less than ``ratio`` when they are packed; bombs by more."""
        return cls(size=min(cls.size, floor + ratio * os.path.getsize(path)))

    def take(self, n_bytes):
        """Count bytes, before they are kept."""
        self.size -= n_bytes
        if self.size < 0:
            raise DatasetError("refused: it unpacks to far more than a data set would")

    def take_file(self):
        """Count one member."""
        self.files -= 1
        if self.files < 0:
            raise DatasetError("refused: it has too many members")


class MeteredStream(io.RawIOBase):
    """A stream whose reader pays for every byte, before a file or the memory is full of them."""

    def __init__(self, stream, budget):
        self.stream, self.budget = stream, budget

    def readable(self):
        """It is a stream to read from."""
        return True

    def read(self, size=-1):
        """At most ``size`` bytes."""
        block = self.stream.read(CHUNK if size is None or size < 0 else min(size, CHUNK))
        self.budget.take(len(block))
        return block


def unpack(path, folder, budget=None, depth=DEPTH):
    """Unpack a file into a new folder; a file that is no archive is copied there.

    Parameters
    ----------
    path : Path
        An archive: zip, tar, gz, bz2, xz or compressed tar.
    folder : Path
        Where to; it must not exist yet.
    budget : Budget, optional
        How much may be written.
    depth : int, default=2
        How many levels of archives inside the archive are unpacked too.
    """
    path, folder = Path(path), Path(folder)
    budget = UnpackLimit.for_archive(path) if budget is None else budget
    try:
        with _one_of_a_name(folder.name):
            folder.mkdir(parents=True)
        with open(path, "rb") as file:
            _unpack_stream(file, path, folder, budget)
    except DatasetError as error:
        raise DatasetError(f"{path.name}: {error}") from error
    except BROKEN as error:
        raise DatasetError(f"{path.name} is not a readable archive ({error})") from error
    if depth:
        inner = [p for p in sorted(folder.rglob("*")) if p.is_file() and _is_archive(p)]
        for packed in inner:
            unpack(packed, packed.with_name(f"{packed.name}.unpacked"), budget, depth - 1)


def find_file(folder, name):
    """The file of that name, the least deep if there are several."""
    result = [p for p in Path(folder).rglob("*") if p.name == quote(name, safe=PLAIN)]
    if not result:
        raise DatasetError(f"no file {name} in the download; its publisher may have changed it")
    return min(result, key=lambda p: (len(p.parts), str(p)))


def _is_archive(path):
    with open(path, "rb") as file:
        return _kind(file.read(512)) is not None


def _kind(head):
    if head.startswith(ZIPS):
        return "zip"
    if head[257:262] == USTAR:
        return "tar"
    return next((opener for magic, opener in STREAMS.items() if head.startswith(magic)), None)


def _unpack_stream(file, path, folder, budget):
    kind = _kind(file.read(512))
    file.seek(0)
    if kind == "zip":
        _unpack_zip(file, folder, budget)
    elif kind == "tar":
        _unpack_tar(file, folder, budget)
    elif kind is None:
        _write(MeteredStream(file, budget), folder, path.name, budget)
    else:
        with kind(file) as stream:
            packed_tar = stream.read(512)[257:262] == USTAR
            stream.seek(0)
            if packed_tar:
                _unpack_tar(stream, folder, budget)
            else:
                name = re.sub(r"\.(gz|bz2|xz)$", "", path.name)
                _write(MeteredStream(stream, budget), folder, name, budget)


def _unpack_zip(file, folder, budget):
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            kind = stat.S_IFMT(member.external_attr >> 16)
            if member.is_dir() and kind in (0, stat.S_IFDIR):
                _make_folder(folder, member.filename, budget)
                continue
            if kind not in (0, stat.S_IFREG):
                raise DatasetError(f"refused: {member.filename!r} is not a regular file")
            with archive.open(member) as content:
                _write(MeteredStream(content, budget), folder, member.filename, budget)


def _unpack_tar(file, folder, budget):
    # what is read is bounded as well as what is written: headers fill the memory, holes the disk
    metered = MeteredStream(file, replace(budget))
    with tarfile.open(fileobj=metered, mode="r|") as archive:
        for member in archive:
            if member.isdir():
                _make_folder(folder, member.name, budget)
                continue
            if not member.isreg() or member.issparse():
                raise DatasetError(f"refused: {member.name!r} is not a regular file")
            _write(MeteredStream(archive.extractfile(member), budget), folder, member.name, budget)
    while metered.read():  # up to the checksum at the end
        pass


def _target(folder, name, budget):
    """Where a member goes: always below the folder."""
    budget.take_file()
    parts = [part for part in name.split("/") if part not in ("", ".")]
    bad = (
        not parts
        or name.startswith("/")
        or ".." in parts
        or "\\" in name
        or re.match(r"[A-Za-z]:", name)
        or any(ord(c) < 32 or ord(c) == 127 for c in name)
        or len(name) > 1000
    )
    if bad:
        raise DatasetError(f"refused: a member is called {name[:80]!r}")
    target = folder.joinpath(*(quote(part, safe=PLAIN) for part in parts))
    if max(len(part) for part in target.parts) > 255:
        raise DatasetError(f"refused: a member is called {name[:80]!r}")
    if not target.resolve().is_relative_to(folder.resolve()):
        raise DatasetError(f"refused: {name!r} leads out of the folder")
    return target


def _make_folder(folder, name, budget):
    if name.strip("./"):  # "./" is the folder itself
        with _one_of_a_name(name):
            _target(folder, name, budget).mkdir(parents=True, exist_ok=True)


def _write(content, folder, name, budget):
    target = _target(folder, name, budget)
    with _one_of_a_name(name):
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(target, "xb") as file:
            shutil.copyfileobj(content, file, CHUNK)


@contextlib.contextmanager
def _one_of_a_name(name):
    try:
        yield
    except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
        raise DatasetError(f"refused: two members are called {name!r}") from error
