"""Numbers in columns of text: decimal commas, separators, per cent signs, marks such as "-".

In a file with decimal commas, points separate thousands: 1.500 is 1500. Only a column with a number
that cannot be read that way, such as 0.25 or 12.5, has decimal points nevertheless. In other files,
commas separate thousands, and points do so in a column with a number such as 1.234.567. Numbers
with a per cent sign are per cents: 12.5% is 12.5.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from consilience.tables._table import (
    BLANKS,
    EXCEL_ERRORS,
    Points,
    Table,
    TableError,
    import_pyarrow,
)
from consilience.views._storage import format_list

__all__ = ["CleanNumbers", "clean_numbers", "describe_points", "unify_points"]

# missing among numbers, but a category among words: the strand of a gene is + or -
MISSING_NUMBERS = (
    "-", "--", "---", "–", "—", ".", "..", "n.d.", "nd", "ND", "n.a.", "N.A.", "NA.", "missing",
    "unknown", *EXCEL_ERRORS,
)  # fmt: skip
NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$|^[+-]?(inf|Inf|nan)$"
COMMA_NUMBER = r"^[+-]?(\d+,?\d*|,\d+)([eE][+-]?\d+)?$"
THOUSANDS = r"^[+-]?[1-9]\d{0,2}(\.\d{3})+(,\d+)?$"
MILLIONS = r"^[+-]?[1-9]\d{0,2}(\.\d{3}){2,}(,\d+)?$"  # which can be no decimals
COMMA_THOUSANDS = r"^[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?$"
COMMA_MILLIONS = r"^[+-]?[1-9]\d{0,2}((,\d{3}){2,}|(,\d{3})+\.\d+)$"
BLANK_THOUSANDS = rf"^[+-]?[1-9]\d{{0,2}}([{BLANKS}]\d{{3}})+([.,]\d+)?$"
UNCLEAR = r"^[+-]?[1-9]\d{0,2}\.\d{3}$"
SMALL_INTEGER = r"^[+-]?\d{1,3}$"
SEPARATING = ("thousands", "points")
# what a meaning in a file with decimal points is in one with decimal commas
OTHER_FILES = {"points": "thousands", "commas": ""}
MINUS = "\u2212"  # the character, which is no hyphen
PER_CENT = r"\s*%$"
ZERO = r"^[+-]?0*[.,]?0*$"


@dataclass
class CleanNumbers:
    """A frame whose numbers have decimal points, and how the columns were written."""

    frame: Any
    points: dict[str, Points] = field(default_factory=dict)
    separated: list[str] = field(default_factory=list)  # by blanks, in thousands
    percents: frozenset[str] = frozenset()

    def describe(self) -> str:
        """What differs from plain numbers; what is said of points comes last."""
        commas = [name for name, each in self.points.items() if each.meaning == "commas"]
        separated, parts = sorted({*self.separated, *commas}), []
        if self.percents:
            parts.append(f"per cent signs removed in {format_list(sorted(self.percents))}")
        if separated:
            parts.append(f"separators of thousands removed in {format_list(separated)}")
        return ", ".join([*parts, *filter(None, [describe_points(self.points)])])


def clean_numbers(
    path: str,
    frame: Any,
    decimal: str,
    skip: Collection[str] = (),
    meanings: Mapping[str, str] | None = None,
    is_decimal_known: bool = True,
) -> CleanNumbers:
    """Write the numbers of text columns with a decimal point, and empty the marks between them.

    Columns in which anything else occurs, and those to skip, stay as they are. ``meanings`` are
    those of points and commas in columns of the training files. If ``decimal`` is not known but
    taken for granted, columns that could be read otherwise are named.
    """
    pa = import_pyarrow()
    import pyarrow.compute as pc

    clean = CleanNumbers(frame)
    percents: set[str] = set()
    for i, name in enumerate(frame.column_names):
        column = frame.column(i)
        if name in skip or not pa.types.is_string(column.type):
            continue
        meaning = (meanings or {}).get(name, "")
        if decimal == "." and meaning != "points" and _is_numeric(column):
            if not is_decimal_known and _is_unclear(column):
                clean.points[name] = Points("unclear", column)
            continue
        body, has_signs = _remove_signs(pc.replace_substring(column, MINUS, "-"))
        body, has_blanks = _remove_blanks(body)
        has_minus = pc.any(pc.match_substring(column, MINUS)).as_py()
        if decimal == ",":
            meaning = _inspect_points(path, name, body, OTHER_FILES.get(meaning, meaning))
        else:
            meaning = _inspect_separators(path, name, body, meaning, is_decimal_known)
        cleaned = _clean_points(body, meaning, decimal)
        if has_signs or has_blanks or has_minus:
            cleaned = body if cleaned is None else cleaned
            if not _is_numeric(cleaned):
                continue
        if meaning:
            clean.points[name] = Points(meaning, body)
        percents |= {name} if has_signs else set()
        clean.separated += [name] if has_blanks else []
        if cleaned is not None:
            clean.frame = clean.frame.set_column(i, name, cleaned)
    clean.percents = frozenset(percents)
    return clean


def _is_numeric(column: Any) -> bool:
    """Whether all cells of a column of text are numbers as they are."""
    pa = import_pyarrow()
    import pyarrow.compute as pc

    try:
        pc.utf8_trim_whitespace(column).cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def _is_unclear(column: Any) -> bool:
    """Whether the points in a column of numbers could separate thousands as well."""
    import pyarrow.compute as pc

    cells = pc.utf8_trim_whitespace(column).drop_null()
    has_point = pc.match_substring(cells, ".")
    with_point, others = cells.filter(has_point), cells.filter(pc.invert(has_point))
    is_unclear = pc.all(pc.match_substring_regex(with_point, UNCLEAR))  # null without a cell
    is_small = pc.all(pc.match_substring_regex(others, SMALL_INTEGER), min_count=0)
    return bool(is_unclear.as_py() and is_small.as_py())


def _known_cells(column: Any) -> Any:
    """Cells that are neither empty nor marks of missing numbers, without blanks around them."""
    import pyarrow.compute as pc

    cells = pc.utf8_trim_whitespace(column).drop_null()
    return cells.filter(pc.invert(pc.is_in(cells, import_pyarrow().array(MISSING_NUMBERS))))


def _remove_signs(column: Any) -> tuple[Any, bool]:
    """The column without per cent signs, if all numbers but zeros have one, and whether so."""
    import pyarrow.compute as pc

    cells = _known_cells(column)
    has_sign = pc.match_substring_regex(cells, PER_CENT)
    is_zero = pc.match_substring_regex(cells, ZERO)
    if not pc.any(has_sign).as_py() or not pc.all(pc.or_(has_sign, is_zero)).as_py():
        return column, False
    return pc.replace_substring_regex(pc.utf8_trim_whitespace(column), PER_CENT, ""), True


def _remove_blanks(column: Any) -> tuple[Any, bool]:
    """The column without blanks or apostrophes between thousands, and whether it had some."""
    import pyarrow.compute as pc

    cells = _known_cells(column)
    is_separated = pc.match_substring_regex(cells, BLANK_THOUSANDS)
    is_number = pc.match_substring_regex(cells, f"{NUMBER}|{COMMA_NUMBER}")
    if not pc.any(is_separated).as_py() or not pc.all(pc.or_(is_separated, is_number)).as_py():
        return column, False
    trimmed = pc.utf8_trim_whitespace(column)
    is_separated = pc.match_substring_regex(trimmed, BLANK_THOUSANDS)
    plain = pc.replace_substring_regex(trimmed, f"[{BLANKS}]", "")
    return pc.if_else(is_separated, plain, trimmed), True


def _inspect_separators(
    path: str, name: str, column: Any, meaning: str, is_decimal_known: bool
) -> str:
    """What separates thousands in a column of a file with decimal points: "points", "commas".

    Empty if nothing does, or nothing shows it. ``meaning`` is that of the training files.
    """
    import pyarrow.compute as pc

    cells = _known_cells(column)
    if pc.any(pc.match_substring_regex(cells, MILLIONS)).as_py() or meaning == "points":
        other = "thousands" if meaning == "points" else ""
        return "points" if _inspect_points(path, name, column, other) == "thousands" else ""
    has_comma = pc.match_substring(cells, ",")
    with_comma, others = cells.filter(has_comma), cells.filter(pc.invert(has_comma))
    is_separated = pc.match_substring_regex(with_comma, COMMA_THOUSANDS)
    if not len(with_comma) or not pc.all(is_separated).as_py():
        return ""
    if not pc.all(pc.match_substring_regex(others, NUMBER), min_count=0).as_py():
        return ""
    shows = pc.any(pc.match_substring_regex(with_comma, COMMA_MILLIONS)).as_py()
    return "commas" if shows or is_decimal_known or meaning == "commas" else ""


def unify_points(tables: Sequence[Table]) -> list[Table]:
    """Give the points of a column the same meaning in all files of a view.

    They are decimal points in all files if they can be nothing else in one of them.
    """
    sources: dict[str, dict[str, str]] = {"decimals": {}, "points": {}, "thousands": {}}
    for table in tables:
        for name, points in table.points.items():
            sources.get(points.meaning, {}).setdefault(name, table.path)
    tables = [_with_decimal_points(table, sources["decimals"]) for table in tables]
    return [_with_separating_points(table, sources) for table in tables]


def _with_separating_points(table: Table, sources: Mapping[str, Mapping[str, str]]) -> Table:
    """Read columns whose points separate thousands in other files in the same way."""
    frame, points = table.frame, dict(table.points)
    unclear = [name for name, each in points.items() if each.meaning == "unclear"]
    others = [n for n in sources["points"] if n in frame.column_names and n not in points]
    places = {**sources["thousands"], **sources["points"]}
    for name in [*others, *(name for name in unclear if name in places)]:
        source = places[name]
        cells = frame[name]
        if not import_pyarrow().types.is_string(cells.type):
            raise TableError(
                f"the points of column {name!r} separate thousands in {source}; write the column "
                f"without them there, since {table.path} has plain numbers"
            )
        if _inspect_points(table.path, name, cells, "thousands", source) == "thousands":
            points[name] = Points("points", cells)
            column = _clean_points(cells, "points", ".")
            frame = frame.set_column(frame.column_names.index(name), name, column)
    start = table.note.removesuffix(describe_points(table.points)) or f"{table.path}: "
    note = start + describe_points(points) if points else table.note
    return replace(table, frame=frame, points=points, note=note)


def _with_decimal_points(table: Table, sources: Mapping[str, str]) -> Table:
    """Read columns that have decimal points in the files ``sources`` in the same way."""
    frame, points = table.frame, dict(table.points)
    for name in [n for n, p in points.items() if n in sources and p.meaning in SEPARATING]:
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

    cells = _known_cells(column)
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
            f"{places['thousands'][0]}, but not in {places['decimals'][0]}; write them all in one "
            "way"
        )
    if not places["decimals"]:
        return "thousands"
    return "" if commas else "decimals"


def _clean_points(column: Any, meaning: str, decimal: str) -> Any | None:
    """The column as numbers with decimal points; None if it is so, or cannot be."""
    if meaning in SEPARATING:
        column = _remove(column, ".", THOUSANDS)
        cleaned = _clean_column(column, ",")
        return column if cleaned is None else cleaned
    if meaning == "commas":
        column = _remove(column, ",", COMMA_THOUSANDS)
        cleaned = _clean_column(column, ".")
        return column if cleaned is None else cleaned
    return _clean_column(column, "." if meaning == "decimals" else decimal)


def _remove(column: Any, separator: str, pattern: str) -> Any:
    """Numbers without separators of thousands; marks such as "n.d." stay."""
    import pyarrow.compute as pc

    trimmed = pc.utf8_trim_whitespace(column)
    is_number = pc.match_substring_regex(trimmed, pattern)
    return pc.if_else(is_number, pc.replace_substring(trimmed, separator, ""), trimmed)


def describe_points(points: Mapping[str, Points]) -> str:
    """Describe what points mean where they are not what they usually are; empty if nowhere."""
    thousands = [name for name, each in points.items() if each.meaning in SEPARATING]
    decimals = [name for name, each in points.items() if each.meaning == "decimals"]
    unclear = [name for name, each in points.items() if each.meaning == "unclear"]
    parts = []
    if thousands:
        parts.append(f"points taken as separators of thousands in {format_list(thousands)}")
    if decimals:
        parts.append(f"decimal points in {format_list(decimals)}")
    if unclear:
        parts.append(
            f"points taken as decimal points in {format_list(unclear)} (if they separate "
            "thousands, add --decimal ,)"
        )
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
