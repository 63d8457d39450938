"""Categories: one spelling in all files, and those that a model knows."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

import narwhals as nw

from consilience.tables._table import Table, text_column

__all__ = ["Categories", "category_column", "count_unseen", "find_categories"]

Categories = tuple[tuple[str, tuple[str, ...]], ...]  # columns, and the categories of each
MAX_KNOWN_CATEGORIES = 1000  # of a column; more are not recorded
WHOLE_NUMBER = re.compile(r"([+-]?(?:0|[1-9]\d*))\.0+")


def spell_category(cell: str) -> str:
    """The same text for 1.0 and 1, and for TRUE and True: programs write them in either way."""
    if cell.casefold() in ("true", "false"):
        return cell.capitalize()
    number = WHOLE_NUMBER.fullmatch(cell)
    return number[1] if number else cell


def category_column(table: Table, name: str, known: Sequence[str] = ()) -> list[str | None]:
    """Cells as categories, None where missing; those of a model are spelled as it knows them."""
    spelling = {spell_category(category.strip()): category for category in known}
    spelling |= {category: category for category in known}
    empty = "" if "" in spelling else None  # a category in a dataframe in memory only

    def find(cell: str) -> str:
        spelled = spell_category(cell)
        return spelling.get(cell) or spelling.get(spelled, spelled)

    return [empty if cell is None else find(cell) for cell in text_column(table, name)]


def count_unseen(table: Table, name: str, known: Sequence[str]) -> tuple[int, int]:
    """Number of cells that are none of the known categories, and of cells that are not empty."""
    cells = [cell for cell in category_column(table, name, known) if cell is not None]
    categories = set(known)
    return sum(cell not in categories for cell in cells), len(cells)


def find_categories(content: Any, columns: Collection[str]) -> Categories:
    """Categories of the columns of a dataframe, unless they are very many or not only text."""
    wanted = set(map(str, columns))
    if not wanted:
        return ()
    frame = nw.from_native(content, eager_only=True)
    categories = []
    for j, name in enumerate(map(str, frame.columns)):
        if name not in wanted:
            continue
        values = {value for value in frame[:, j].drop_nulls().to_list() if value == value}
        is_text = {type(value) for value in values} == {str}
        if is_text and len(values) <= MAX_KNOWN_CATEGORIES:
            categories.append((name, tuple(sorted(values))))
    return tuple(categories)
