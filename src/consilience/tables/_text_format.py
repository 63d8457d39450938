"""How a text file is written: delimiter, decimal mark, encoding, comments, lines above the header.

What the user does not say is determined from the first lines; whatever differs from a plain csv
file is shown.
"""

from __future__ import annotations

import csv
import itertools
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from consilience.tables._content import file_kind, read_sample
from consilience.tables._table import BLANKS, COMMA_THOUSANDS, DECIMAL_COMMA, TableError

__all__ = ["DELIMITERS", "ReadOptions", "TextFormat", "sniff_format"]

DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": "\t", ".dat": "\t"}
NAMES = {"\t": "tab", ";": "semicolon", " ": "blank", "|": "|", ",": "comma"}
DELIMITER_NAMES = {"\\t": "\t", "tab": "\t", "comma": ",", "semicolon": ";", "space": " "}
DELIMITER_LINE = re.compile(r'"?sep=([^"\w])"?', re.IGNORECASE)
SAMPLE_LINES = 60
MAX_TITLE_LINES = 20
POINT_MILLIONS = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3}){2,}")  # which can be no decimals
POINT_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+")  # or a decimal point
COMMA_AFTER_THOUSANDS = re.compile(POINT_THOUSANDS.pattern + r",\d+")
BLANK = re.compile(f"[{BLANKS}]")
BLANK_THOUSANDS = re.compile(rf"[+-]?[1-9]\d{{0,2}}([{BLANKS}]\d{{3}})+([.,]\d+)?")
DECIMAL_POINT = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")


@dataclass(frozen=True)
class ReadOptions:
    """What the user says about text files; None is determined from the file.

    ``text_columns`` are columns that must stay text, such as keys, with their leading zeros. In
    the column of ``labels``, words that are read as missing are counted. A model knows the decimal
    mark of its training files, for files that do not show theirs, and what points and commas mean
    in single columns.

    Examples
    --------
    >>> from consilience.tables import ReadOptions
    >>> ReadOptions(decimal=",", na=("-999",)).decimal
    ','
    """

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    comment: str | None = None
    na: tuple[str, ...] = ()  # spellings of a missing value besides the usual ones
    text_columns: frozenset[str] = frozenset()
    labels: str = ""
    default_decimal: str = ""
    points: tuple[tuple[str, str], ...] = ()  # columns, and their meaning, as in Points

    def __post_init__(self) -> None:
        delimiter = DELIMITER_NAMES.get(self.delimiter or "", self.delimiter)
        object.__setattr__(self, "delimiter", delimiter)
        if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\n\r'):
            raise TableError(f"the delimiter must be one character, got {delimiter!r}")
        if self.decimal not in (None, ".", ","):
            raise TableError(f"--decimal must be . or , but is {self.decimal!r}")
        if self.decimal is not None and self.decimal == delimiter:
            raise TableError(f"--decimal and --delimiter cannot both be {delimiter!r}")
        if self.encoding is not None:
            try:
                "".encode(self.encoding)
            except LookupError:
                raise TableError(f"--encoding {self.encoding!r} is unknown") from None


@dataclass(frozen=True)
class TextFormat:
    """How a text file is written."""

    delimiter: str
    decimal: str = "."
    encoding: str = "utf-8"
    comment: str = ""  # first character of lines to skip
    n_title_lines: int = 0  # lines above the header, besides comments
    has_row_names: bool = False  # a first column that the header does not name
    has_trailing_delimiter: bool = False  # in the rows, but not in the header
    has_old_line_ends: bool = False  # carriage returns only
    is_decimal_known: bool = False  # rather than taken for granted

    @property
    def is_plain(self) -> bool:
        """Whether the lines can be read as they are."""
        is_unusual = self.comment or self.n_title_lines or self.has_old_line_ends
        return not is_unusual and self.delimiter != " "

    def describe(self, default_delimiter: str) -> str:
        """Describe what differs from a plain file; empty if nothing does."""
        parts = []
        if self.delimiter != default_delimiter:
            parts.append(f"delimiter {NAMES.get(self.delimiter, repr(self.delimiter))}")
        if self.decimal != ".":
            parts.append("decimal comma")
        if self.encoding not in ("utf-8", "utf-8-sig"):
            parts.append(f"encoding {self.encoding}")
        if self.comment:
            parts.append(f"lines that start with {self.comment!r} skipped")
        if self.n_title_lines:
            lines = "line" if self.n_title_lines == 1 else "lines"
            parts.append(f"{self.n_title_lines} {lines} above the header skipped")
        if self.has_row_names:
            parts.append("first column taken as row names")
        if self.has_trailing_delimiter:
            parts.append("delimiter at the end of every row ignored")
        return ", ".join(parts)


def sniff_format(path: Path, options: ReadOptions) -> TextFormat:
    """Determine the format of a file from its first lines, where the options leave it open."""
    sample, encoding = read_sample(path)
    encoding = options.encoding or encoding
    text = sample.decode(encoding, errors="replace").removeprefix("\ufeff")
    if "\0" in text:
        raise TableError(f"{path} contains zero bytes: it is not a text file")
    lines = text.splitlines(keepends=True)
    if len(lines) > 1 and not text.endswith(("\n", "\r")):
        lines.pop()  # it may have been cut
    comment = options.comment if options.comment is not None else _sniff_comment(lines)
    if comment:
        lines = [line for line in lines if not line.startswith(comment)]
    lines = [line for line in lines if line.strip()][:SAMPLE_LINES]
    # spreadsheets write the delimiter into a line of its own
    named = DELIMITER_LINE.fullmatch(lines[0].strip("\r\n")) if lines else None
    lines = lines[1:] if named else lines
    default = DELIMITERS[file_kind(path)]
    delimiter = options.delimiter or (named and named[1]) or _sniff_delimiter(lines, default)
    rows = _parse(lines, delimiter)
    n_titles = _count_title_lines(rows)
    rows = rows[n_titles:]
    n_titles += 1 if named else 0
    has_extra_cell = _has_extra_cell(rows)
    known_decimal = options.decimal or _sniff_decimal(rows[1:])
    default_decimal = options.default_decimal if options.default_decimal != delimiter else ""
    # the last column could be empty as well, but a delimiter too many is far more common
    is_trailing = has_extra_cell and not any(row[-1].strip() for row in rows[1:])
    return TextFormat(
        delimiter,
        known_decimal or default_decimal or ".",
        encoding,
        comment,
        n_titles,
        has_extra_cell and not is_trailing,
        is_trailing,
        "\r" in text and "\n" not in text,
        bool(known_decimal),
    )


def _parse(lines: list[str], delimiter: str) -> list[list[str]]:
    try:
        rows = list(csv.reader(lines, delimiter=delimiter, skipinitialspace=delimiter == " "))
    except csv.Error:
        return []  # the reader of the whole file says what is wrong
    return [row for row in rows if row]


def _sniff_comment(lines: list[str]) -> str:
    """Return "#" if the file begins with such lines and goes on without; else nothing."""
    starts = ["#" if line.startswith("#") else "" for line in lines if line.strip()]
    if not starts or not starts[0] or all(starts):
        return ""
    # a header such as "#chrom,start" is followed by lines of as many columns
    n_comments = sum(1 for _ in itertools.takewhile(bool, starts))
    known = [line for line in lines if line.strip()]
    counts = [max(line.count(d) for d in ",;\t|") for line in known]
    is_header = n_comments == 1 and counts[0] > 0 and counts[0] == counts[1]
    return "" if is_header and not known[0].startswith(("# ", "##")) else "#"


def _sniff_delimiter(lines: list[str], default: str) -> str:
    """The delimiter that divides most lines into the same number of cells, of at least two.

    If several do, one that divides the first line as well: decimal commas may divide the others.
    """
    candidates = dict.fromkeys([default, ",", ";", "\t", "|", " "])
    best, best_score = default, (0.0, False, 0)
    for delimiter in candidates:
        rows = _parse(lines, delimiter)
        n_titles = _count_title_lines(rows)
        rows = rows[n_titles:]
        if not rows or len(rows[0]) < 2:
            continue
        expected = len(rows[1]) if _has_extra_cell(rows) else len(rows[0])
        share = sum(len(row) == expected for row in rows[1:]) / max(1, len(rows) - 1)
        weight = 0.5 if delimiter == " " else 1.0  # blanks also occur within cells
        width = expected if delimiter != default else 10**9
        score = (round(weight * share, 2), n_titles == 0, width)
        if share > 0.5 and score > best_score:
            best, best_score = delimiter, score
    return best


def _count_title_lines(rows: list[list[str]]) -> int:
    """Number of lines above the header: those with one cell, above rows of at least three."""
    n = 0
    while n < min(MAX_TITLE_LINES, len(rows)) and sum(map(bool, map(str.strip, rows[n]))) == 1:
        n += 1
    if n == 0 or n >= len(rows) - 1:
        return 0
    widths = Counter(len(row) for row in rows[n:])
    return n if widths.most_common(1)[0][0] >= 3 else 0


def _has_extra_cell(rows: list[list[str]]) -> bool:
    """Whether every row has one cell more than the header: a name first, or nothing at its end.

    R writes tables with row names; others end each row with a delimiter.
    """
    return len(rows) > 1 and all(len(row) == len(rows[0]) + 1 for row in rows[1:])


def _sniff_decimal(rows: list[list[str]]) -> str:
    """The mark of most numbers; empty if none has one that cannot separate thousands."""
    cells = [_bare_number(cell) for row in rows for cell in row]
    with_comma = [cell for cell in cells if _has_decimal_comma(cell)]
    n_commas = 0 if all(map(COMMA_THOUSANDS.fullmatch, with_comma)) else len(with_comma)
    n_points = sum(
        1 for cell in cells if DECIMAL_POINT.fullmatch(cell) and not POINT_THOUSANDS.fullmatch(cell)
    )
    if not n_commas and not n_points:
        return ""
    return "," if n_commas > n_points else "."


def _bare_number(cell: str) -> str:
    """A number without its per cent sign and the blanks between its thousands."""
    cell = cell.strip().removesuffix("%").rstrip()
    return BLANK.sub("", cell) if BLANK_THOUSANDS.fullmatch(cell) else cell


def _has_decimal_comma(cell: str) -> bool:
    return bool(
        DECIMAL_COMMA.fullmatch(cell)
        or COMMA_AFTER_THOUSANDS.fullmatch(cell)
        or POINT_MILLIONS.fullmatch(cell)
    )
