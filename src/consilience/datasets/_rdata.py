"""Reader of R's ``.rda`` files with tables, matrices, factors and lists of them.

The format is that of ``save(..., ascii = FALSE)``: big-endian, versions 2 and 3, here already
uncompressed. Every item starts with a word of flags: its type in the low byte, then whether it has
attributes and a tag. Symbols are written once and later referred to by number. Functions,
environments and other live objects are rejected; nothing is ever executed.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["MIXOMICS", "RVector", "as_dict", "read_factor", "read_rda", "read_table"]

# data folder of the mixOmics package, at a fixed version
MIXOMICS = (
    "https://raw.githubusercontent.com/mixOmicsTeam/mixOmics/"
    "6e148b5912fe8f4da73e8cc0413c0c3e9638589f/data"
)
# type codes of R
SYMBOL, PAIRLIST, CHARACTERS, STRINGS, LIST = 1, 2, 9, 16, 19
ALTREP, NIL, REFERENCE = 238, 254, 255
NUMBER_DTYPES = {10: ">i4", 13: ">i4", 14: ">f8"}  # logical, integer, real
HAS_ATTRIBUTES, HAS_TAG = 1 << 9, 1 << 10


@dataclass
class RVector:
    """A vector or list of R with its attributes (names, dim, levels, …)."""

    values: Any
    attributes: dict[Any, Any] = field(default_factory=dict)


class Reader:
    """Reader of the items in a file, one after the other."""

    def __init__(self, content: bytes) -> None:
        self.content, self.position = content, 0
        self.symbols: list[Any] = []

    def take(self, n: int) -> bytes:
        """Read the next n bytes."""
        if n < 0 or self.position + n > len(self.content):
            raise ValueError("the R file ends too early")
        self.position += n
        return self.content[self.position - n : self.position]

    def integer(self) -> int:
        """Read the next integer."""
        return struct.unpack(">i", self.take(4))[0]

    def item(self) -> Any:
        """Read the next object."""
        return self.object(self.integer() & 0xFFFFFFFF)

    def object(self, flags: int) -> Any:
        """Read the object that starts with these flags."""
        kind = flags & 0xFF
        if kind in (0, NIL):
            return None
        if kind == REFERENCE:
            number = flags >> 8 or self.integer()
            if not 0 < number <= len(self.symbols):
                raise ValueError("the R file refers to a symbol that does not exist")
            return self.symbols[number - 1]
        if kind == SYMBOL:
            self.symbols.append(self.item())
            return self.symbols[-1]
        if kind == CHARACTERS:
            length = self.integer()
            return None if length == -1 else self.take(length).decode("utf-8", "replace")
        if kind == PAIRLIST:
            return self.pairs(flags)
        if kind == ALTREP:
            return self.altrep()
        return self.vector(kind, flags)

    def pairs(self, flags: int) -> list[tuple[Any, Any]]:
        """Read a linked list, whose first link has these flags, as pairs of tag and value."""
        pairs = []
        while flags & 0xFF == PAIRLIST:
            if flags & HAS_ATTRIBUTES:
                self.item()
            tag = self.item() if flags & HAS_TAG else None
            pairs.append((tag, self.item()))
            flags = self.integer() & 0xFFFFFFFF
        if (rest := self.object(flags)) is not None:  # a pair of two values, not a list
            pairs.append((None, rest))
        return pairs

    def vector(self, kind: int, flags: int) -> RVector:
        """Read numbers, strings or a list, with attributes."""
        if kind not in NUMBER_DTYPES and kind not in (STRINGS, LIST):
            raise ValueError(f"the R file has an object of type {kind}, which is not data")
        length = self.integer()
        values: Any
        if kind in NUMBER_DTYPES:
            dtype = np.dtype(NUMBER_DTYPES[kind])
            values = np.frombuffer(self.take(length * dtype.itemsize), dtype=dtype)
            values = values.astype(dtype.newbyteorder("="))
        else:
            if not 0 <= length <= len(self.content):
                raise ValueError("the R file ends too early")
            values = [self.item() for _ in range(length)]
        return RVector(values, dict(self.item()) if flags & HAS_ATTRIBUTES else {})

    def altrep(self) -> RVector:
        """Read a vector in an alternative representation: a range, or a wrapped vector."""
        info, state, attributes = self.item(), self.item(), self.item()
        name = info[0][1]
        if name in ("compact_intseq", "compact_realseq"):
            length, start, step = state.values
            values = start + step * np.arange(int(length))
            vector = RVector(values.astype(np.int32) if name == "compact_intseq" else values)
        elif name.startswith("wrap_"):
            vector = state.values[0] if isinstance(state, RVector) else state[0][1]
        else:
            raise ValueError(f"the R file has a vector in the unknown representation {name}")
        return RVector(vector.values, {**vector.attributes, **dict(attributes or [])})


def read_rda(path: Path) -> dict[str, RVector]:
    """Read the objects of an ``.rda`` file by name."""
    content = path.read_bytes()
    if content[:7] not in (b"RDX2\nX\n", b"RDX3\nX\n"):
        raise ValueError(f"{path.name} is not an R data file")
    reader = Reader(content)
    reader.take(7)
    version, _, _ = (reader.integer() for _ in range(3))
    if version == 3:
        reader.take(reader.integer())  # the native encoding
    try:
        objects = reader.item()
    except RecursionError:
        raise ValueError(f"{path.name} is nested too deeply") from None
    if not isinstance(objects, list):
        raise ValueError(f"{path.name} contains no named objects")
    return dict(objects)


def as_strings(vector: RVector) -> np.ndarray:
    """Convert a vector of strings to an array."""
    return np.array(["" if value is None else value for value in vector.values])


def as_dict(vector: RVector) -> dict[str, RVector]:
    """Convert a list with names to a dict."""
    return dict(zip(as_strings(vector.attributes["names"]).tolist(), vector.values, strict=True))


def read_factor(vector: RVector) -> tuple[np.ndarray, np.ndarray]:
    """Codes, starting at zero, and levels of a factor."""
    levels = as_strings(vector.attributes["levels"])
    if vector.values.min() < 1 or vector.values.max() > len(levels):
        raise ValueError("a factor of the R file has values without a level")
    return vector.values - 1, levels


def read_table(vector: RVector) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values, row names and column names of a matrix or a data frame."""
    attributes = vector.attributes
    if "dim" in attributes:
        values = vector.values.reshape(attributes["dim"].values, order="F")
        rows, columns = (as_strings(names) for names in attributes["dimnames"].values)
        return values, rows, columns
    columns = as_strings(attributes["names"])
    values = np.column_stack([column.values for column in vector.values])
    names = attributes["row.names"]
    if isinstance(names.values, list):
        return values, as_strings(names), columns
    return values, np.arange(1, len(values) + 1).astype(str), columns
