"""Roles of columns: what is a feature, what identifies a sample, and what is left out and why.

Identifiers are recognised by their values: text that is never repeated, and whole numbers that
would hardly all be different, or in order, if they had been measured. A name such as ``id`` lowers
the threshold, but never decides alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from consilience._model_types import model_type
from consilience.tables._dates import (
    date_formats,
    is_compact_date,
    is_epoch_time,
    to_timestamps,
)
from consilience.tables._table import decode_categories, float_columns, import_pyarrow
from consilience.tables._words import find_words

__all__ = ["ColumnContent", "ColumnRole", "assign_role", "inspect_column", "measured_columns"]

ID_NAME = re.compile(
    r"(?i:(^|.*[^a-z0-9])(id|key|patient|sample|subject|barcode|uuid|guid|mrn)|id[^a-z0-9].*)"
    r"|.*[a-z]I[dD]"
)
UNNAMED_INDEX = re.compile(r"Unnamed: \d+|index|level_0|__index_level_\d+__|")
# probability that measured whole numbers are all different (and in order) by chance
MAX_CHANCE = 1e-6
MAX_CHANCE_WITH_NAME = 1e-2
MIN_TEXT_ROWS = 5  # in fewer rows, categories may be all different
MIN_DISTINCT_SHARE = 0.9  # of text that is not a category
MIN_SENTENCE_WORDS = 3.0  # mean number of words of free text
MIN_DISTINCT_SENTENCES = 0.5
MIN_PHRASE_WORDS = 1.5  # mean number of words of names, titles and the like
MAX_EXACT_INTEGER = 2.0**53
MIN_DATE_NUMBER = 19_000_000  # smaller numbers are neither days nor seconds since 1970
COLUMNS_AT_ONCE = 2000


@dataclass(frozen=True)
class ColumnContent:
    """What a column contains, and why it is no feature (empty if it is one)."""

    kind: str  # "number", "category", "date" or "text"
    reason: str = ""

    @property
    def is_identifier(self) -> bool:
        """Whether the values identify the samples."""
        return self.reason.startswith("identifier")


@model_type("tables.ColumnRole")
@dataclass(frozen=True)
class ColumnRole:
    """Role of a column of a view: number, category, date, text, key, target, groups or left out.

    Examples
    --------
    >>> from consilience.tables import ColumnRole
    >>> ColumnRole("blood", "patient", "key").role
    'key'
    """

    view: str
    column: str
    role: str
    reason: str = ""  # why it is left out
    words: tuple[str, ...] = ()  # of free text in a dataframe
    date_format: str = ""  # of dates that are text in a dataframe


NUMBER, CATEGORY, TEXT = (ColumnContent(kind) for kind in ("number", "category", "text"))
LONG_CODES = ColumnContent("number", "identifier: codes of many digits")


def assign_role(
    view: str, column: str, content: ColumnContent, keep: Collection[str]
) -> ColumnRole:
    """Role of a column that could be a feature."""
    if content.reason and column not in keep:
        return ColumnRole(view, column, "left out", content.reason)
    return ColumnRole(view, column, content.kind)


def inspect_column(
    column: Any,
    name: str,
    *,
    order: np.ndarray | None = None,
    text_as_numbers: bool = True,
) -> ColumnContent:
    """Determine what an Arrow column contains.

    Parameters
    ----------
    column : Arrow array
        The cells.
    name : str
        Name of the column.
    order : int array, optional
        Order of the rows, where it is not that of the file.
    text_as_numbers : bool
        Whether text such as "1.5" is a number, as in csv files.

    Returns
    -------
    ColumnContent
    """
    pa = import_pyarrow()
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column, text_as_numbers = decode_categories(column), False
    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return ColumnContent("date", "date")
    if pa.types.is_boolean(kind):
        return NUMBER
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        if _has_long_codes(column):
            return LONG_CODES
        return _inspect_numbers(_to_floats(column), name, order)
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return CATEGORY
    trimmed = pc.utf8_trim_whitespace(column)
    if text_as_numbers:
        try:
            numbers = _to_floats(trimmed)
        except pa.ArrowInvalid:
            pass
        else:
            if _has_long_codes(trimmed):
                return LONG_CODES
            is_padded = pc.any(pc.match_substring_regex(trimmed, r"^0\d+$")).as_py()
            return _inspect_numbers(numbers, name, order, bool(is_padded))
    if to_timestamps(trimmed.drop_null()) is not None and trimmed.null_count < len(trimmed):
        return ColumnContent("date", "date")
    return _inspect_text([cell for cell in trimmed.to_pylist() if cell], name, text_as_numbers)


def measured_columns(frame: Any, columns: Sequence[str]) -> set[str]:
    """Names of columns of floats that are measurements at first sight.

    They have a fraction, or a repeated value, and are too small for a date. Others may be
    measurements as well; ``inspect_column`` decides, one column at a time.
    """
    pa = import_pyarrow()
    named = [name for name in columns if not UNNAMED_INDEX.fullmatch(name)]
    floats = [name for name in named if frame.schema.field(name).type == pa.float64()]
    measured: set[str] = set()
    for start in range(0, len(floats), COLUMNS_AT_ONCE):
        names = floats[start : start + COLUMNS_AT_ONCE]
        values = float_columns(frame.select(names)).T
        with np.errstate(invalid="ignore"):
            is_small = ~(np.fmax.reduce(values, axis=1) >= MIN_DATE_NUMBER)
            has_fraction = ((values != np.floor(values)) & np.isfinite(values)).any(axis=1)
            whole = np.flatnonzero(is_small & ~has_fraction)
            is_repeated = (np.diff(np.sort(values[whole]), axis=1) == 0).any(axis=1)
        accepted = [*np.flatnonzero(is_small & has_fraction), *whole[is_repeated]]
        measured |= {names[j] for j in accepted}
    return measured


def _has_long_codes(column: Any) -> bool:
    """Whether integers are too long for a float, and nearly all different."""
    pa = import_pyarrow()
    import pyarrow.compute as pc

    if pa.types.is_integer(column.type):
        largest = pc.max(column).as_py()
        is_long = largest is not None and largest >= MAX_EXACT_INTEGER
    elif pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        is_long = pc.any(pc.match_substring_regex(column, r"^\d{17,}$")).as_py()
    else:
        return False
    return bool(is_long) and len(column.unique()) > MIN_DISTINCT_SHARE * len(column)


def _to_floats(column: Any) -> np.ndarray:
    pa = import_pyarrow()
    values = column.cast(pa.float64(), safe=False) if column.type != pa.float64() else column
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)


def _inspect_numbers(
    values: np.ndarray, name: str, order: np.ndarray | None, is_padded: bool = False
) -> ColumnContent:
    known = values if order is None else values[order]
    known = known[np.isfinite(known)]
    if len(known) < 2 or known.min() == known.max():
        return NUMBER
    if len(known) >= MIN_TEXT_ROWS and is_epoch_time(known):
        return ColumnContent("number", "date: a time counted from 1970")
    if (known != np.floor(known)).any():
        return NUMBER  # fractions are measured
    if len(known) >= MIN_TEXT_ROWS and is_compact_date(known):
        return ColumnContent("number", "date, written like 20241231")
    if UNNAMED_INDEX.fullmatch(name) and _counts_rows(known):
        return ColumnContent("number", "identifier: the index of a dataframe")
    n_distinct = len(np.unique(known))
    if n_distinct < len(known) or np.abs(known).max() >= MAX_EXACT_INTEGER:
        return NUMBER
    if is_padded and len(known) >= MIN_TEXT_ROWS:
        return ColumnContent("number", "identifier: every value is different, with leading zeros")
    max_chance = MAX_CHANCE_WITH_NAME if ID_NAME.fullmatch(name) else MAX_CHANCE
    if _log_chance(known) < math.log(max_chance):
        return ColumnContent("number", "identifier: whole numbers, every one is different")
    if ID_NAME.fullmatch(name) and len(known) >= MIN_TEXT_ROWS:
        return ColumnContent("number", "identifier: every value is different")
    return NUMBER


def _counts_rows(values: np.ndarray) -> bool:
    """Whether the numbers are all different, or mostly count up by one."""
    return len(np.unique(values)) == len(values) or bool((np.diff(values) == 1).mean() > 0.5)


def _log_chance(values: np.ndarray) -> float:
    """Log probability that numbers drawn evenly from their range are all different, in this order.

    The order counts only if the values rise or fall strictly.
    """
    n = len(values)
    unique = np.unique(values)
    step = np.gcd.reduce(np.diff(unique).astype(np.int64))
    size = (unique[-1] - unique[0]) / max(int(step), 1) + 1
    if size > 1e12:  # lgamma would cancel
        log_chance = -n * n / (2 * size)
    else:
        log_chance = math.lgamma(size + 1) - math.lgamma(size - n + 1) - n * math.log(size)
    steps = np.diff(values)
    if (steps > 0).all() or (steps < 0).all():
        log_chance -= math.lgamma(n + 1) - math.log(2)
    return log_chance


def _inspect_text(cells: list[str], name: str, text_as_numbers: bool) -> ColumnContent:
    if not cells:
        return CATEGORY
    if date_formats(cells):
        return ColumnContent("date", "date")
    if text_as_numbers and 2 * sum(map(_is_number, cells)) >= len(cells):
        return CATEGORY  # numbers with a typo, an error of its own
    share = len(set(cells)) / len(cells)
    n_words = sum(len(cell.split()) for cell in cells) / len(cells)
    if n_words >= MIN_SENTENCE_WORDS and share >= MIN_DISTINCT_SENTENCES:
        has_words = bool(find_words(cells))
        return TEXT if has_words else ColumnContent("text", "text: no word occurs in two rows")
    enough_rows = len(cells) >= (2 if ID_NAME.fullmatch(name) else MIN_TEXT_ROWS)
    kind = "text" if n_words >= MIN_PHRASE_WORDS else "category"  # if it is used nevertheless
    if enough_rows and share == 1:
        return ColumnContent(kind, "identifier: every value is different")
    if enough_rows and share > MIN_DISTINCT_SHARE:
        return ColumnContent(kind, "identifier: nearly every value is different")
    return CATEGORY


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", ".").removesuffix("%"))
    except ValueError:
        return False
    return True
