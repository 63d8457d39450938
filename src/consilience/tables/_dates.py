"""Dates: which columns hold them, and their conversion to days."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np

from consilience.tables._table import Table, TableError, import_pyarrow

__all__ = [
    "date_column",
    "date_formats",
    "describe_format",
    "find_date_format",
    "is_compact_date",
    "is_epoch_time",
    "to_days",
    "to_timestamps",
]

MICROSECONDS_PER_DAY = 86_400e6
DATE_TEXT = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T]\d{1,2}:\d{2}.*)?")
CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?.*")
HALF_DAY = re.compile(r"([aApP])\.?[mM]\.?$")
YEAR_FIRST = ("%Y-%m-%d", "%Y/%m/%d")  # which cannot be mistaken
DATE_FORMATS = (
    *YEAR_FIRST, "%d.%m.%Y", "%d.%m.%y", "%d-%m-%Y", "%d/%m/%Y", "%d/%m/%y", "%m/%d/%Y", "%m/%d/%y",
)  # fmt: skip
EXAMPLE = datetime(2024, 12, 31)
# 2000-01-01 to 2050-01-01 in seconds; times are also counted in milli-, micro- and nanoseconds
EPOCH_SECONDS = 946_684_800, 2_524_608_000
MAX_EPOCH_RATIO = 1.2  # about ten years; measurements of this size vary more
EPOCH_UNITS = 1, 10**3, 10**6, 10**9


def date_column(table: Table, name: str, pattern: str = "") -> np.ndarray:
    """Dates, in the format of training, as days since 1970-01-01, NaN where missing."""
    days = to_days(table.frame[name], pattern)
    if days is None:
        raise TableError(f"{table.path}: column {name!r} must contain {describe_format(pattern)}")
    return days


def describe_format(pattern: str) -> str:
    """How dates of a format are written."""
    if pattern in ("", *YEAR_FIRST):
        return "dates written like 2024-12-31 or 2024-12-31 08:30"
    return f"dates written like {EXAMPLE.strftime(pattern)}, as in training, or like 2024-12-31"


def to_days(column: Any, pattern: str = "") -> np.ndarray | None:
    """Days since 1970-01-01 of an Arrow column of dates, NaN where missing; None for others.

    Dates that are text have the year first, or the format ``pattern``.
    """
    if column is not None and import_pyarrow().types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    timestamps = None if column is None else to_timestamps(column)
    if timestamps is not None:
        microseconds = timestamps.cast(import_pyarrow().int64()).to_pylist()
        days = np.array([np.nan if v is None else v for v in microseconds], dtype=np.float64)
        return days / MICROSECONDS_PER_DAY
    if column is None or str(column.type) not in ("string", "large_string"):
        return None
    cells = [cell.strip() if cell else None for cell in column.to_pylist()]
    known = [cell for cell in cells if cell]
    formats = [f for f in date_formats(known) if f in (pattern, *YEAR_FIRST)]
    return np.array([_days(cell, formats[0]) for cell in cells]) if formats else None


def _days(cell: str | None, pattern: str) -> float:
    if not cell:
        return np.nan
    day, _, clock = cell.replace("T", " ").partition(" ")
    parsed = datetime.strptime(day, pattern)
    hours = CLOCK.fullmatch(clock)
    parts = [int(part or 0) for part in hours.groups()] if hours else [0, 0, 0]
    half = HALF_DAY.search(clock)
    if half:  # 12 AM is midnight
        parts[0] = parts[0] % 12 + (12 if half[1] in "pP" else 0)
    seconds = 3600 * parts[0] + 60 * parts[1] + parts[2]
    return (parsed - datetime(1970, 1, 1)).days + seconds / 86_400


def to_timestamps(column: Any) -> Any | None:
    """Arrow timestamps of a column of dates or of text in ISO format; None for other columns."""
    pa = import_pyarrow()
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        zone = getattr(kind, "tz", None)
        return column.cast(pa.timestamp("us", zone), safe=False)
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return None
    trimmed = pc.utf8_trim_whitespace(column)
    for zone in (None, "UTC"):
        try:
            return trimmed.cast(pa.timestamp("us", zone))
        except pa.ArrowInvalid:
            continue
    return None


def date_formats(cells: Sequence[str]) -> list[str]:
    """The usual formats of dates that all cells have; none if there are no cells."""
    if not cells or not all(DATE_TEXT.fullmatch(cell) for cell in cells):
        return []
    days = {re.split("[ T]", cell)[0] for cell in cells}
    return [pattern for pattern in DATE_FORMATS if all(_parses(day, pattern) for day in days)]


def find_date_format(column: Any) -> str | None:
    """The format of an Arrow column of dates; empty if it is no text, or text in ISO format.

    None if the dates, such as 1/2/2024, may have the day or the month first.
    """
    if import_pyarrow().types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if to_timestamps(column) is not None or str(column.type) not in ("string", "large_string"):
        return ""
    formats = date_formats([cell.strip() for cell in column.to_pylist() if cell and cell.strip()])
    return None if len(formats) > 1 else (formats or [""])[0]


def _parses(text: str, pattern: str) -> bool:
    try:
        datetime.strptime(text, pattern)
    except ValueError:
        return False
    return True


def is_epoch_time(numbers: np.ndarray) -> bool:
    """Whether all numbers are times between 2000 and 2050, within ten years, counted from 1970."""
    low, high = EPOCH_SECONDS
    if numbers.max() > MAX_EPOCH_RATIO * numbers.min():
        return False
    return any(
        bool((numbers >= low * unit).all() and (numbers < high * unit).all())
        for unit in EPOCH_UNITS
    )


def is_compact_date(integers: np.ndarray) -> bool:
    """Whether all numbers are dates such as 20241231."""
    if not ((integers >= 19000101) & (integers < 21000000)).all():
        return False
    return all(_parses(f"{int(number)}", "%Y%m%d") for number in np.unique(integers))
