"""Content of text files: decompressed, decoded to UTF-8, and bounded by the memory.

``rna.csv.gz`` is a csv file of the view ``rna``: the extension of the compression comes last.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from consilience.tables._table import TableError, check_memory, import_pyarrow

__all__ = ["COMPRESSIONS", "file_kind", "file_stem", "open_utf8", "read_sample"]

COMPRESSIONS = (".gz", ".bz2", ".zst", ".zip")
BLOCK_BYTES = 2**20
SAMPLE_BYTES = 2**18
BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def file_kind(path: Path) -> str:
    """Extension that says how the content is read, in lower case: ".csv" of ``rna.csv.gz``."""
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix in COMPRESSIONS else suffix


def file_stem(path: Path) -> str:
    """Name of a file without its extensions: "rna" of ``rna.csv.gz``."""
    return Path(path.stem).stem if path.suffix.lower() in COMPRESSIONS else path.stem


@contextmanager
def _open_decompressed(path: Path) -> Iterator[IO[bytes]]:
    suffix = path.suffix.lower()
    if suffix == ".gz":
        with gzip.open(path, "rb") as file:
            yield cast(IO[bytes], file)
    elif suffix == ".bz2":
        with bz2.open(path, "rb") as bz2_file:
            yield bz2_file
    elif suffix == ".zst":
        with import_pyarrow().input_stream(str(path), compression="zstd") as stream:
            yield cast(IO[bytes], io.BufferedReader(_ArrowStream(stream)))
    elif suffix == ".zip":
        with zipfile.ZipFile(path) as archive, archive.open(_only_member(path, archive)) as member:
            yield member
    else:
        with open(path, "rb") as plain:
            yield plain


def _only_member(path: Path, archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    """The file of an archive; systems add hidden ones of their own."""
    members = [
        member
        for member in archive.infolist()
        if not member.is_dir() and not member.filename.startswith(("__MACOSX", "."))
    ]
    if len(members) != 1:
        raise TableError(
            f"{path} contains {len(members)} files; a zip file must contain one table, so unpack it"
        )
    if members[0].flag_bits & 1:
        raise TableError(f"{path} is encrypted; unpack it with its password first")
    return members[0]


class _ArrowStream(io.RawIOBase):
    """Bytes of an Arrow stream."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read up to the size of the buffer."""
        content = self._stream.read(len(buffer))
        buffer[: len(content)] = content
        return len(content)


class _Utf8Stream(io.RawIOBase):
    """Content of a file in UTF-8, whatever its encoding, in at most as many bytes as memory has."""

    def __init__(self, path: Path, file: IO[bytes], encoding: str) -> None:
        self._path, self._file = path, file
        is_utf8 = encoding in ("utf-8", "utf-8-sig")
        self._text = None if is_utf8 else io.TextIOWrapper(file, encoding, newline="")
        self._is_first, self._n_bytes, self._rest = True, 0, b""

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read up to the size of the buffer."""
        if not self._rest:
            self._rest = self._next_block()
        n = min(len(buffer), len(self._rest))
        buffer[:n], self._rest = self._rest[:n], self._rest[n:]
        return n

    def _next_block(self) -> bytes:
        if self._text is None:
            block = self._file.read(BLOCK_BYTES)
        else:
            block = self._text.read(BLOCK_BYTES).encode()
        if self._is_first:
            self._is_first = False
            block = block.removeprefix(codecs.BOM_UTF8)
        self._n_bytes += len(block)
        check_memory(self._path, self._n_bytes)
        return block

    def detach(self) -> None:
        """Leave the file open for its owner."""
        if self._text is not None:
            self._text.detach()


@contextmanager
def open_utf8(path: Path, encoding: str) -> Iterator[IO[bytes]]:
    """Open the decompressed content of a file as UTF-8 without a byte order mark."""
    with _open_decompressed(path) as file:
        stream = _Utf8Stream(path, file, encoding)
        try:
            yield cast(IO[bytes], io.BufferedReader(stream, BLOCK_BYTES))
        finally:
            stream.detach()


def read_sample(path: Path) -> tuple[bytes, str]:
    """First bytes of the decompressed content, and the encoding they show."""
    with _open_decompressed(path) as file:
        sample = file.read(SAMPLE_BYTES)
    if not sample:
        raise TableError(f"{path} is empty")
    return sample, _sniff_encoding(sample)


def _sniff_encoding(sample: bytes) -> str:
    for mark, encoding in BYTE_ORDER_MARKS:
        if sample.startswith(mark):
            return encoding
    # every other byte of Latin letters in UTF-16 is zero
    for encoding, zeros in (("utf-16-le", sample[1:200:2]), ("utf-16-be", sample[:200:2])):
        if len(zeros) > 1 and zeros.count(0) > 0.9 * len(zeros):
            return encoding
    try:
        # the sample may end within a letter
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return single_byte_encoding(sample)
    return "utf-8"


def single_byte_encoding(content: bytes) -> str:
    """Windows-1252, or Latin-1 if it has bytes that the former does not define."""
    undefined = {0x81, 0x8D, 0x8F, 0x90, 0x9D}
    return "latin-1" if undefined & set(content) else "cp1252"
