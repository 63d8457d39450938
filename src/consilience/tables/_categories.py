"""Categories: one spelling in all files, and those that a model knows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import narwhals as nw

from consilience.tables._table import Table, plain_text, text_column

__all__ = ["Categories", "category_column", "count_unseen", "find_categories"]

Categories = tuple[tuple[str, tuple[str, ...]], ...]  # columns, and the categories of each
MAX_KNOWN_CATEGORIES = 1000  # of a column; more are not recorded
WHOLE_NUMBER = re.compile(r"([+-]?(?:0|[1-9]\d*))\.0+|([+-]0)")


def spell_category(cell: str) -> str:
    """The same text for 1.0 and 1, and for TRUE and True: programs write them in either way."""
    if cell.casefold() in ("true", "false"):
        return cell.capitalize()
    number = WHOLE_NUMBER.fullmatch(cell)
    if number is None:
        return plain_text(cell)
    return "0" if number[1] in (None, "-0", "+0") else number[1]


def category_column(table: Table, name: str, known: Sequence[str] | None = ()) -> list[str | None]:
    """Cells as categories, None where missing; those of a model are spelled as it knows them.

    If ``known`` is None, all cells stay as they are spelled.
    """
    cells = text_column(table, name)
    if known is None:
        return cells
    spelling = _spell_cells(set(cells), known)
    return [spelling[cell] for cell in cells]


def count_unseen(table: Table, name: str, known: Sequence[str]) -> tuple[int, int]:
    """Number of cells that are none of the known categories, and of cells that are not empty."""
    counts = Counter(text_column(table, name))
    categories, spelling = set(known), _spell_cells(set(counts), known)
    given = {cell: n for cell, n in counts.items() if spelling[cell] is not None}
    n_unseen = sum(n for cell, n in given.items() if spelling[cell] not in categories)
    return n_unseen, sum(given.values())


def _spell_cells(cells: set[str | None], known: Sequence[str]) -> dict[str | None, str | None]:
    """The category of each distinct cell; None if it is missing."""
    spelling = {spell_category(category.strip()): category for category in known}
    spelling |= {category: category for category in known}
    # an empty text is a category in a dataframe in memory only
    categories: dict[str | None, str | None] = {None: "" if "" in spelling else None}
    for cell in cells:
        if cell is None:
            continue
        spelled = spell_category(cell)
        categories[cell] = spelling.get(cell) or spelling.get(spelled, spelled)
    return categories


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
