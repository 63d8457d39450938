"""Reader of R's ``.rda`` files, as far as tables, matrices, factors and lists of them go.

The format is that of ``save(..., ascii = FALSE)``: big-endian, versions 2 and 3, here already
uncompressed. Every item begins with a word of flags: its type in the low byte, then whether it has
attributes and a tag. Symbols are written once and referred to by number afterwards. Functions,
environments and other live objects are refused; nothing is ever executed.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import numpy as np

__all__ = ["MIXOMICS", "RVector", "as_dict", "read_factor", "read_rda", "read_table"]

# the package whose data are read, at a fixed version
MIXOMICS = (
    "https://raw.githubusercontent.com/mixOmicsTeam/mixOmics/"
    "6e148b5912fe8f4da73e8cc0413c0c3e9638589f/data"
)
SYMBOL, PAIRLIST, CHARACTERS, STRINGS, LIST = 1, 2, 9, 16, 19
ALTREP, NIL, REFERENCE = 238, 254, 255
NUMBERS = {10: ">i4", 13: ">i4", 14: ">f8"}  # logical, integer, real
HAS_ATTRIBUTES, HAS_TAG = 1 << 9, 1 << 10


@dataclass
class RVector:
    """A vector or list of R with its attributes (names, dim, levels, …)."""

    values: object
    attributes: dict = field(default_factory=dict)


class Reader:
    """Reads one item after another from the bytes of a file."""

    def __init__(self, content):
        self.content, self.at, self.symbols = content, 0, []

    def take(self, n):
        """The next n bytes."""
        if n < 0 or self.at + n > len(self.content):
            raise ValueError("the R file ends too early")
        self.at += n
        return self.content[self.at - n : self.at]

    def integer(self):
        """The next whole number."""
        return struct.unpack(">i", self.take(4))[0]

    def item(self):
        """The next object."""
        return self.object(self.integer() & 0xFFFFFFFF)

    def object(self, flags):
        """The object that begins with these flags."""
        kind = flags & 0xFF
        if kind in (0, NIL):
            return None
        if kind == REFERENCE:
            number = flags >> 8 or self.integer()
            if not 0 < number <= len(self.symbols):
                raise ValueError("the R file refers to a symbol that is not there")
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

    def pairs(self, flags):
        """A linked list as pairs of tag and value, from the flags of its first link."""
        result = []
        while flags & 0xFF == PAIRLIST:
            if flags & HAS_ATTRIBUTES:
                self.item()
            tag = self.item() if flags & HAS_TAG else None
            result.append((tag, self.item()))
            flags = self.integer() & 0xFFFFFFFF
        if (rest := self.object(flags)) is not None:  # a pair of two values, not a list
            result.append((None, rest))
        return result

    def vector(self, kind, flags):
        """Numbers, strings or a list, with attributes."""
        if kind not in NUMBERS and kind not in (STRINGS, LIST):
            raise ValueError(f"the R file has an object of type {kind}, which is not data")
        length = self.integer()
        if kind in NUMBERS:
            dtype = np.dtype(NUMBERS[kind])
            values = np.frombuffer(self.take(length * dtype.itemsize), dtype=dtype)
            values = values.astype(dtype.newbyteorder("="))
        else:
            if not 0 <= length <= len(self.content):
                raise ValueError("the R file ends too early")
            values = [self.item() for _ in range(length)]
        return RVector(values, dict(self.item()) if flags & HAS_ATTRIBUTES else {})

    def altrep(self):
        """A vector in a compact form of its own: a range, or one that is only wrapped."""
        info, state, attributes = self.item(), self.item(), self.item()
        name = info[0][1]
        if name in ("compact_intseq", "compact_realseq"):
            length, start, step = state.values
            values = start + step * np.arange(int(length))
            vector = RVector(values.astype(np.int32) if name == "compact_intseq" else values)
        elif name.startswith("wrap_"):
            vector = state.values[0] if isinstance(state, RVector) else state[0][1]
        else:
            raise ValueError(f"the R file has a vector of the form {name}")
        return RVector(vector.values, {**vector.attributes, **dict(attributes or [])})


def read_rda(path):
    """The objects of an ``.rda`` file by name."""
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
        raise ValueError(f"{path.name} holds no named objects")
    return dict(objects)


def strings(vector):
    """A vector of strings as an array."""
    return np.array(["" if value is None else value for value in vector.values])


def as_dict(vector):
    """A list with names as a dict."""
    return dict(zip(strings(vector.attributes["names"]).tolist(), vector.values, strict=True))


def read_factor(vector):
    """Codes from zero and the levels of a factor."""
    levels = strings(vector.attributes["levels"])
    if vector.values.min() < 1 or vector.values.max() > len(levels):
        raise ValueError("a factor of the R file has values without a level")
    return vector.values - 1, levels


def read_table(vector):
    """Values, row names and column names of a matrix or a data frame."""
    attributes = vector.attributes
    if "dim" in attributes:
        values = vector.values.reshape(attributes["dim"].values, order="F")
        rows, columns = (strings(names) for names in attributes["dimnames"].values)
        return values, rows, columns
    columns = strings(attributes["names"])
    values = np.column_stack([column.values for column in vector.values])
    names = attributes["row.names"]
    if isinstance(names.values, list):
        return values, strings(names), columns
    return values, np.arange(1, len(values) + 1).astype(str), columns
