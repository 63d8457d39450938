"""Numbers in columns of text: decimal commas, and marks such as "-" for a missing one.

In a file with decimal commas, points separate thousands: 1.500 is 1500. Only a column in which no
number can be read that way, such as one of 0.25 and 12.5, has decimal points nevertheless.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from consilience.tables._table import TableError, import_pyarrow
from consilience.views._storage import format_list

__all__ = ["clean_numbers"]

# missing among numbers, but a category among words: the strand of a gene is + or -
MISSING_NUMBERS = (
    "-", "--", "---", "–", "—", ".", "..", "n.d.", "nd", "ND", "n.a.", "N.A.", "NA.", "missing",
    "unknown", "#DIV/0!", "#VALUE!", "#REF!", "#NUM!", "#NULL!", "#NAME?",
)  # fmt: skip
NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$|^[+-]?(inf|Inf|nan)$"
COMMA_NUMBER = r"^[+-]?(\d+,?\d*|,\d+)([eE][+-]?\d+)?$"
THOUSANDS = r"^[+-]?[1-9]\d{0,2}(\.\d{3})+(,\d+)?$"


def clean_numbers(
    path: str, frame: Any, decimal: str, skip: Collection[str] = ()
) -> tuple[Any, str]:
    """Write the numbers of text columns with a decimal point, and empty the marks between them.

    Columns in which anything else occurs, and those to skip, stay as they are. Returns the frame
    and a note about points in a file with decimal commas.
    """
    pa = import_pyarrow()
    by_meaning: dict[str, list[str]] = {"thousands": [], "decimals": []}
    for i, name in enumerate(frame.column_names):
        column = frame.column(i)
        if name in skip or not pa.types.is_string(column.type):
            continue
        points = _inspect_points(path, name, column) if decimal == "," else ""
        if points:
            by_meaning[points].append(name)
        if points == "thousands":
            column = _remove_points(column)
            frame = frame.set_column(i, name, column)
        cleaned = _clean_column(column, "." if points == "decimals" else decimal)
        if cleaned is not None:
            frame = frame.set_column(i, name, cleaned)
    return frame, _describe_points(**by_meaning)


def _inspect_points(path: str, name: str, column: Any) -> str:
    """What points mean in a column of a file with decimal commas: "thousands" or "decimals".

    Empty if there is none, or if the column consists of other text or is an error of its own.
    """
    import pyarrow.compute as pc

    cells = pc.utf8_trim_whitespace(column).drop_null()
    cells = cells.filter(pc.invert(pc.is_in(cells, import_pyarrow().array(MISSING_NUMBERS))))
    has_point = pc.match_substring(cells, ".")
    if not pc.any(has_point).as_py():
        return ""
    with_point, others = cells.filter(has_point), cells.filter(pc.invert(has_point))
    if not pc.all(pc.match_substring_regex(others, COMMA_NUMBER), min_count=0).as_py():
        return ""
    is_thousands = pc.match_substring_regex(with_point, THOUSANDS)
    if pc.all(is_thousands).as_py():
        return "thousands"
    is_decimal = pc.match_substring_regex(with_point, NUMBER)
    if not pc.all(pc.or_(is_thousands, is_decimal)).as_py():
        return ""
    if pc.any(is_thousands).as_py():
        first = with_point.filter(is_thousands)[0].as_py()
        other = with_point.filter(pc.invert(is_thousands))[0].as_py()
        raise TableError(
            f"{path}: the points of column {name!r} separate thousands in {first!r}, but not in "
            f"{other!r}, in a file with decimal commas; write them all in one way"
        )
    return "" if pc.any(pc.match_substring(others, ",")).as_py() else "decimals"


def _remove_points(column: Any) -> Any:
    """Numbers without separators of thousands; marks such as "n.d." stay."""
    import pyarrow.compute as pc

    trimmed = pc.utf8_trim_whitespace(column)
    is_number = pc.match_substring_regex(trimmed, THOUSANDS)
    return pc.if_else(is_number, pc.replace_substring(trimmed, ".", ""), trimmed)


def _describe_points(thousands: list[str], decimals: list[str]) -> str:
    parts = []
    if thousands:
        parts.append(f"points taken as separators of thousands in {format_list(thousands)}")
    if decimals:
        parts.append(f"decimal points in {format_list(decimals)}")
    return ", ".join(parts)


def _clean_column(column: Any, decimal: str) -> Any | None:
    """The column in which all cells are numbers or empty; None if it is so, or cannot be."""
    pa = import_pyarrow()
    import pyarrow.compute as pc

    trimmed = pc.utf8_trim_whitespace(column)
    try:
        trimmed.cast(pa.float64())
    except pa.ArrowInvalid:
        pass
    else:
        return None
    is_mark = pc.is_in(trimmed, pa.array(MISSING_NUMBERS))
    cells = pc.if_else(is_mark, pa.scalar(None, pa.string()), trimmed)
    if cells.null_count == len(cells):
        return None
    pattern = COMMA_NUMBER if decimal == "," else NUMBER
    if not pc.all(pc.match_substring_regex(cells, pattern)).as_py():
        return None
    return pc.replace_substring(cells, ",", ".") if decimal == "," else cells
