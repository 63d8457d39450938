"""Numbers in columns of text: decimal commas, and marks such as "-" for a missing one."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from consilience.tables._table import import_pyarrow

__all__ = ["clean_numbers"]

# missing among numbers, but a category among words: the strand of a gene is + or -
MISSING_NUMBERS = (
    "-", "--", "---", "–", "—", ".", "..", "n.d.", "nd", "ND", "n.a.", "N.A.", "NA.", "missing",
    "unknown", "#DIV/0!", "#VALUE!", "#REF!", "#NUM!", "#NULL!", "#NAME?",
)  # fmt: skip
NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$|^[+-]?(inf|Inf|nan)$"
COMMA_NUMBER = r"^[+-]?(\d+,?\d*|,\d+)([eE][+-]?\d+)?$"


def clean_numbers(frame: Any, decimal: str, skip: Collection[str] = ()) -> Any:
    """Write the numbers of text columns with a decimal point, and empty the marks between them.

    Columns in which anything else occurs, and those to skip, stay as they are.
    """
    pa = import_pyarrow()
    for i, name in enumerate(frame.column_names):
        column = frame.column(i)
        if name not in skip and pa.types.is_string(column.type):
            cleaned = _clean_column(column, decimal)
            if cleaned is not None:
                frame = frame.set_column(i, name, cleaned)
    return frame


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
