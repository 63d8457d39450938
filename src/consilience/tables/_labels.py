"""Labels and groups: columns that may occur in several tables."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from consilience.tables._table import Table, TableError, text_column

__all__ = ["convert_labels", "merge_column"]

MAX_FRACTIONAL_CLASSES = 20  # more distinct fractional labels are measurements, not classes


def merge_column(
    tables: Mapping[str, Table], rows: Mapping[str, np.ndarray], column: str, option: str
) -> list[str | None]:
    """Cells of a column for all samples, from all tables that have it; they must agree."""
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
            if old is not None and new is not None and old != new:
                raise TableError(
                    f"{option} {column}: the files disagree, for the same sample one has {old!r} "
                    f"and {table.path} has {new!r}"
                )
            merged[i] = old if new is None else new
    return merged


def convert_labels(cells: list[str | None], target: str) -> np.ndarray:
    """Convert labels to integers if all of them are, else leave them as text."""
    labels = [cell for cell in cells if cell is not None]
    different = sorted(set(labels))
    if len(different) < 2:
        raise TableError(
            f"--target {target} has only one class, {different[0]!r}; at least two are needed"
        )
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
