"""Labels and groups: columns that may occur in several tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from consilience.tables._categories import spell_category
from consilience.tables._table import Table, TableError, text_column
from consilience.views._storage import format_list

__all__ = [
    "convert_labels",
    "drop_rare_classes",
    "merge_column",
    "missing_label_notes",
    "similar_class_notes",
]

MAX_NAMED_CLASSES = 10
MAX_FRACTIONAL_CLASSES = 20  # more distinct fractional labels are measurements, not classes


def merge_column(
    tables: Mapping[str, Table],
    rows: Mapping[str, np.ndarray],
    column: str,
    option: str,
    known: Sequence[str] = (),
) -> list[str | None]:
    """Cells of a column for all samples, from all tables that have it; they must agree.

    What is spelled in two ways, as 1 and 1.0, is the same, and spelled as in ``known``.
    """
    merged: list[str | None] = []
    seen: set[str] = set()
    for name, table in tables.items():
        if column not in table.columns or table.path in seen:
            continue
        seen.add(table.path)
        cells = text_column(table, column)
        aligned = [cells[row] if row >= 0 else None for row in rows[name]]
        if not merged:
            merged = aligned
            continue
        for i, (old, new) in enumerate(zip(merged, aligned, strict=True)):
            both = old is not None and new is not None
            if both and spell_category(str(old)) != spell_category(str(new)):
                raise TableError(
                    f"{option} {column}: the files disagree, for the same sample one has {old!r} "
                    f"and {table.path} has {new!r}"
                )
            merged[i] = new if old is None else old
    return _spell_alike(merged, known)


def _spell_alike(cells: list[str | None], known: Sequence[str]) -> list[str | None]:
    """Cells that differ only in how a number or a truth value is spelled, as one text each."""
    spellings: dict[str, list[str]] = {}
    for cell in dict.fromkeys([*known, *cells]):
        if cell is not None:
            spellings.setdefault(spell_category(cell), []).append(cell)
    chosen = {
        cell: variants[0] if len(variants) == 1 or variants[0] in known else spelled
        for spelled, variants in spellings.items()
        for cell in variants
    }
    chosen |= {cell: cell for cell in known}
    return [None if cell is None else chosen[cell] for cell in cells]


def missing_label_notes(tables: Mapping[str, Table], target: str) -> list[str]:
    """Name words such as "None" that are read as missing labels but may be meant as a class."""
    notes = []
    for table in tables.values():
        for word, n in sorted(table.missing_words.get(target, {}).items()):
            rows = "row" if n == 1 else "rows"
            notes.append(
                f"{table.path}: {target!r} is {word!r} in {n} {rows}, which is read as a missing "
                "label; if it is a class, give it another name"
            )
    return list(dict.fromkeys(notes))


def similar_class_notes(labels: np.ndarray, target: str) -> list[str]:
    """Name classes that differ only in case, blanks or quotation marks."""
    spellings: dict[str, list[str]] = {}
    for name in map(str, np.unique(labels)):
        spellings.setdefault("".join(name.split()).strip("'\"").casefold(), []).append(name)
    similar = [names for names in spellings.values() if len(names) > 1]
    return [
        f"the classes {format_list(names)} of {target} differ only in case, blanks or quotation "
        "marks; if they are the same, spell them alike"
        for names in similar[:MAX_NAMED_CLASSES]
    ]


def drop_rare_classes(
    labels: list[str | None], minimum: int, target: str, notes: list[str]
) -> list[str | None]:
    """Remove the labels of classes with fewer samples than the minimum."""
    counts = Counter(label for label in labels if label is not None)
    rare = {label: count for label, count in counts.items() if count < minimum}
    if not rare:
        return labels
    named = [f"{label} ({count})" for label, count in sorted(rare.items())]
    notes.append(
        f"left out: classes of {target} with fewer than {minimum} samples: "
        f"{format_list(named, limit=MAX_NAMED_CLASSES)}"
    )
    return [None if label in rare else label for label in labels]


def convert_labels(cells: list[str | None], target: str, missing: Sequence[str] = ()) -> np.ndarray:
    """Convert labels to integers if all of them are, else leave them as text.

    ``missing`` are the notes about words that were read as missing labels.
    """
    labels = [cell for cell in cells if cell is not None]
    different = sorted(set(labels))
    if len(different) < 2:
        message = f"--target {target} has only one class, {different[0]!r}; at least two are needed"
        raise TableError("; ".join([message, *missing]))
    try:
        numbers = [float(text) for text in different]
    except ValueError:
        return np.array(labels, dtype=str)
    are_integers = all(
        number.is_integer() and str(int(number)) == text
        for number, text in zip(numbers, different, strict=True)
    )
    if not are_integers and len(different) > MAX_FRACTIONAL_CLASSES:
        raise TableError(
            f"--target {target} has {len(different)} different fractional numbers; labels must be "
            "classes, not measurements"
        )
    return (
        np.array(labels, dtype=str).astype(np.int64)
        if are_integers
        else np.array(labels, dtype=str)
    )
