"""Readers of the file formats in which the data sets are published."""

from __future__ import annotations

import io
import mmap
import re
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file

__all__ = ["has_word_zero", "read_arff", "read_idx", "read_labelled_words", "read_ts"]

IDX_TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


def read_idx(path: Path) -> np.ndarray:
    """Read the array of an idx file: a magic number, the lengths of the axes, the values."""
    content = path.read_bytes()
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] not in IDX_TYPES:
        raise ValueError(f"{path.name} is not an idx file")
    start = 4 + 4 * content[3]
    shape = np.frombuffer(content[4:start], dtype=">u4")
    values = np.frombuffer(content[start:], dtype=IDX_TYPES[content[2]])
    if len(shape) != content[3] or values.size != np.prod(shape, dtype=np.int64):
        raise ValueError(f"{path.name} has {values.size} values for the shape {shape.tolist()}")
    return values.reshape(shape)


def read_arff(path: Path) -> np.ndarray:
    """Read the numbers of a dense ARFF file, one row per line after ``@data``."""
    with open(path, encoding="ascii") as file:
        for line in file:
            if line.strip().lower() == "@data":
                return np.loadtxt(file, delimiter=",", dtype=np.uint8, comments="%", ndmin=2)
    raise ValueError(f"{path.name} has no @data")


def read_ts(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Read series and labels of a .ts file: dimensions separated by colons, the label last.

    Returns
    -------
    values : ndarray of shape (n_samples, n_dimensions, length)
    labels : ndarray of str
    """
    series, labels, in_data = [], [], False
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(map(str.strip, file), start=1):
            if not line or line.startswith("#"):
                continue
            if not in_data:
                in_data = line.lower() == "@data"
                continue
            *dimensions, label = line.split(":")
            try:
                series.append([[float(value) for value in d.split(",")] for d in dimensions])
            except ValueError as error:
                raise ValueError(f"{path.name}, line {number}: {error}") from None
            labels.append(label.strip())
    lengths = {(len(dimensions), *map(len, dimensions)) for dimensions in series}
    if len(lengths) != 1:
        raise ValueError(f"{path.name} has {len(lengths)} different shapes of series")
    return np.array(series), np.array(labels)


def has_word_zero(path: Path) -> bool:
    """Whether word indices start at zero, that is, some line has the index 0."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return re.search(rb"[ \t]0:", content) is not None


def read_labelled_words(
    path: Path, n_words: int, zero_based: bool
) -> tuple[sp.csr_array, np.ndarray]:
    """Read bags of words, one document per line: ``label index:value index:value …``.

    Returns
    -------
    words : csr_array of shape (n_documents, n_words), float32
    labels : ndarray of str
    """
    labels, lines = [], []
    with open(path, "rb") as file:
        for line in file:
            label, _, words = line.strip().partition(b" ")
            if label:
                labels.append(label.decode("ascii"))
                lines.append(b"0 " + words)
    words, _ = load_svmlight_file(
        io.BytesIO(b"\n".join(lines)), n_features=n_words, dtype=np.float32, zero_based=zero_based
    )
    return sp.csr_array(words), np.array(labels)
