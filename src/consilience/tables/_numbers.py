"""Numbers in columns of text: decimal commas, and marks such as "-" for a missing one.

In a file with decimal commas, points separate thousands: 1.500 is 1500. Only a column with a number
that cannot be read that way, such as 0.25 or 12.5, has decimal points nevertheless.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from consilience.tables._table import Points, Table, TableError, import_pyarrow
from consilience.views._storage import format_list

__all__ = ["clean_numbers", "describe_points", "unify_points"]

# missing among numbers, but a category among words: the strand of a gene is + or -
MISSING_NUMBERS = (
    "-", "--", "---", "–", "—", ".", "..", "n.d.", "nd", "ND", "n.a.", "N.A.", "NA.", "missing",
    "unknown", "#DIV/0!", "#VALUE!", "#REF!", "#NUM!", "#NULL!", "#NAME?",
)  # fmt: skip
NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$|^[+-]?(inf|Inf|nan)$"
COMMA_NUMBER = r"^[+-]?(\d+,?\d*|,\d+)([eE][+-]?\d+)?$"
THOUSANDS = r"^[+-]?[1-9]\d{0,2}(\.\d{3})+(,\d+)?$"


def clean_numbers(
    path: str,
    frame: Any,
    decimal: str,
    skip: Collection[str] = (),
    meanings: Mapping[str, str] | None = None,
) -> tuple[Any, dict[str, Points]]:
    """Write the numbers of text columns with a decimal point, and empty the marks between them.

    Columns in which anything else occurs, and those to skip, stay as they are. ``meanings`` are
    those of points in columns of the training files. Returns the frame and the points of columns
    in a file with decimal commas.
    """
    pa = import_pyarrow()
    points: dict[str, Points] = {}
    for i, name in enumerate(frame.column_names):
        column = frame.column(i)
        if name in skip or not pa.types.is_string(column.type):
            continue
        meaning = ""
        if decimal == ",":
            meaning = _inspect_points(path, name, column, (meanings or {}).get(name, ""))
        if meaning:
            points[name] = Points(meaning, column)
        cleaned = _clean_points(column, meaning, decimal)
        if cleaned is not None:
            frame = frame.set_column(i, name, cleaned)
    return frame, points


def unify_points(tables: Sequence[Table]) -> list[Table]:
    """Give the points of a column the same meaning in all files of a view.

    They are decimal points in all files if they can be nothing else in one of them.
    """
    sources: dict[str, str] = {}
    for table in tables:
        for name, points in table.points.items():
            if points.meaning == "decimals":
                sources.setdefault(name, table.path)
    return [_with_decimal_points(table, sources) for table in tables]


def _with_decimal_points(table: Table, sources: Mapping[str, str]) -> Table:
    """Read columns that have decimal points in the files ``sources`` in the same way."""
    frame, points = table.frame, dict(table.points)
    for name in [n for n, p in points.items() if n in sources and p.meaning == "thousands"]:
        cells = points[name].cells
        meaning = _inspect_points(table.path, name, cells, "decimals", sources[name])
        points[name] = Points(meaning, cells)
        column = _clean_points(cells, meaning, ",")
        position = frame.column_names.index(name)
        frame = frame.set_column(position, name, cells if column is None else column)
    note = table.note.removesuffix(describe_points(table.points)) + describe_points(points)
    return replace(table, frame=frame, points=points, note=note)


def _inspect_points(
    path: str, name: str, column: Any, meaning: str = "", source: str = "the training files"
) -> str:
    """What points mean in a column of a file with decimal commas: "thousands" or "decimals".

    Empty if there is none, or if the column consists of other text or is an error of its own.
    ``meaning`` is what they mean in ``source``, if that is known.
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
    is_decimal = pc.match_substring_regex(with_point, NUMBER)
    if not pc.all(pc.or_(is_thousands, is_decimal)).as_py():
        return ""
    # the first cell that shows one or the other
    decimals = with_point.filter(pc.invert(is_thousands))[:1].to_pylist()
    thousands = with_point.filter(pc.invert(is_decimal))[:1].to_pylist()
    commas = others.filter(pc.match_substring(others, ","))[:1].to_pylist()
    if not decimals and meaning == "decimals":
        thousands = thousands or commas
    places = {
        "thousands": [*map(repr, thousands), *([source] if meaning == "thousands" else [])],
        "decimals": [*map(repr, decimals), *([source] if meaning == "decimals" else [])],
    }
    if all(places.values()):
        raise TableError(
            f"{path}: the points of column {name!r} separate thousands in "
            f"{places['thousands'][0]}, but not in {places['decimals'][0]}, in a file with decimal "
            "commas; write them all in one way"
        )
    if not places["decimals"]:
        return "thousands"
    return "" if commas else "decimals"


def _clean_points(column: Any, meaning: str, decimal: str) -> Any | None:
    """The column as numbers with decimal points; None if it is so, or cannot be."""
    if meaning == "thousands":
        column = _remove_points(column)
        cleaned = _clean_column(column, decimal)
        return column if cleaned is None else cleaned
    return _clean_column(column, "." if meaning == "decimals" else decimal)


def _remove_points(column: Any) -> Any:
    """Numbers without separators of thousands; marks such as "n.d." stay."""
    import pyarrow.compute as pc

    trimmed = pc.utf8_trim_whitespace(column)
    is_number = pc.match_substring_regex(trimmed, THOUSANDS)
    return pc.if_else(is_number, pc.replace_substring(trimmed, ".", ""), trimmed)


def describe_points(points: Mapping[str, Points]) -> str:
    """Describe what points mean in a file with decimal commas; empty if there are none."""
    thousands = [name for name, each in points.items() if each.meaning == "thousands"]
    decimals = [name for name, each in points.items() if each.meaning == "decimals"]
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
