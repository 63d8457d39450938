"""Numbers that are text because of what is written beside them, such as $3.20 or 12 kg.

They would become categories or identifiers without a word; notes name the columns.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import narwhals as nw

from consilience.tables._roles import ColumnRole
from consilience.tables._table import Table, import_pyarrow, text_column
from consilience.views import MultiViewData

__all__ = ["text_number_notes", "unit_notes"]

CURRENCY = r"[$€£¥₹]"
DIGITS = r"\d[\d.,]*(?:[eE][+-]?\d+)?"
NUMBER = re.compile(rf"[+-]?{DIGITS}")
SUFFIX = r"(?P<blank>\s*)(?P<unit>[^\d\s.,].*)"
MEASURE = re.compile(rf"[+-]?(?:{CURRENCY}\s*[+-]?{DIGITS}|{DIGITS}{SUFFIX})")
MAX_UNITS = 3  # different ones in a column
MIN_NUMBERS = 3  # different cells; fewer are categories such as 1x and 2x


def shows_unit(cells: Collection[str]) -> bool:
    """Whether all cells are numbers with a unit: one for all, or one of a few after a blank."""
    matches = [MEASURE.fullmatch(cell) for cell in set(cells)]
    measures = [match for match in matches if match]
    if len(measures) < len(matches) or len(measures) < MIN_NUMBERS:
        return False
    units = {(match["unit"] or "").strip().casefold() for match in measures}
    has_blanks = all(match["blank"] for match in measures)
    return len(units) == 1 or (has_blanks and len(units) <= MAX_UNITS)


def shows_fractions(cells: Collection[str]) -> bool:
    """Whether all cells are numbers as text, and some have a point or a comma."""
    texts = set(cells)
    is_number = len(texts) >= MIN_NUMBERS and all(map(NUMBER.fullmatch, texts))
    return is_number and any("." in text or "," in text for text in texts)


def unit_notes(
    tables: Mapping[str, Table], sources: Mapping[str, str], roles: Sequence[ColumnRole]
) -> list[str]:
    """Name the columns of tables in which every cell is a number with a unit.

    ``sources`` are the tables of the views.
    """
    notes = []
    columns = {name: _readable_columns(table) for name, table in tables.items()}
    for role in roles:
        source = sources.get(role.view, "")
        kind = columns.get(source, {}).get(role.column, "")
        if not kind or role.role == "date":
            continue
        table = tables[source]
        if role.role == "number":
            trait = _code_trait(table.frame[role.column])
            if trait:
                notes.append(
                    f"{table.path}: the whole numbers of column {role.column!r} {trait}; if they "
                    f"are codes, add --categorical {role.column}"
                )
            continue
        cells = [cell for cell in text_column(table, role.column) if cell is not None]
        if kind == "text" and shows_unit(cells):
            notes.append(
                f"{table.path}: the numbers of column {role.column!r} have a unit, such as "
                f"{cells[0]!r}, so it is {_describe_use(role)}; write the numbers alone to use "
                "them as numbers"
            )
    return notes


def _readable_columns(table: Table) -> dict[str, str]:
    """Columns of text and of integers, and which they are; there may be many others."""
    types = import_pyarrow().types
    kinds = {field.name: field.type for field in table.frame.schema}
    texts = {name: "text" for name, kind in kinds.items() if types.is_string(kind)}
    return texts | {name: "integer" for name, kind in kinds.items() if types.is_integer(kind)}


def _code_trait(column: Any) -> str:
    """What is lost if the whole numbers of a column are read as numbers; empty if nothing is."""
    import pyarrow.compute as pc

    if _is_rounded(column):
        return "have so many digits that different ones become equal"
    if import_pyarrow().types.is_string(column.type):
        is_padded = pc.match_substring_regex(pc.utf8_trim_whitespace(column), r"^0\d+$")
        return "have leading zeros" if pc.any(is_padded).as_py() else ""
    return ""


def _is_rounded(column: Any) -> bool:
    """Whether different whole numbers of a column are the same float."""
    pa = import_pyarrow()
    import pyarrow.compute as pc

    if pa.types.is_string(column.type):
        column = pc.utf8_trim_whitespace(column).drop_null()
        is_long = pc.any(pc.match_substring_regex(column, r"^[+-]?\d{16,}$")).as_py()
    else:
        is_long = pa.types.is_integer(column.type)
    if not is_long:
        return False
    cells = column.drop_null().unique()
    return len(cells.cast(pa.float64(), safe=False).unique()) < len(cells)


def text_number_notes(data: MultiViewData, roles: Sequence[ColumnRole]) -> list[str]:
    """Name the columns of dataframes in which every cell is a number, but written as text."""
    notes = []
    by_column = {(role.view, role.column): role for role in roles if role.role != "date"}
    for view in dict.fromkeys(role.view for role in roles):
        frame = nw.from_native(data[view], eager_only=True)
        for j, (name, dtype) in enumerate(frame.schema.items()):
            role = by_column.get((view, str(name)))
            if role is None or dtype != nw.String:
                continue
            values = frame[:, j].drop_nulls().to_list()
            cells = [value.strip() for value in values if isinstance(value, str)]
            if shows_unit(cells) or shows_fractions(cells):
                notes.append(
                    f"view {view!r}: the numbers of column {role.column!r} are text, such as "
                    f"{cells[0]!r}, so it is {_describe_use(role)}; convert it to numbers to use "
                    "them as such"
                )
    return notes


def _describe_use(role: ColumnRole) -> str:
    if role.reason:
        return "left out"
    return "used as words" if role.role == "text" else "used as categories"
