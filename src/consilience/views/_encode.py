"""Tables with text or categories as numbers: one 0/1 column for each frequent category.

Numeric columns stay as they are. Categories unknown at fit, or rare, have 0 in all columns, and so
have empty cells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from consilience.views import _storage as storage
from consilience.views._data import MultiViewData

__all__ = ["TableCodes", "encode_tables", "fit_table_codes"]

# categories that get a column of their own
MAX_CATEGORIES = 30


@dataclass(frozen=True, eq=False)
class TableCodes:
    """For each column of a table its categories, or None if it holds numbers."""

    categories: tuple[tuple[Any, ...] | None, ...]

    def encode(self, view: Any, name: str) -> np.ndarray:
        """The table as floats; a column of categories becomes one column for each of them."""
        if not storage.is_dataframe(view):
            raise ValueError(
                f"view {name!r} had columns of categories in fit and is no table now; pass a "
                "dataframe with the same columns"
            )
        frame = nw.from_native(view, eager_only=True)
        blocks = []
        for j, known in enumerate(self.categories):
            column = frame[:, j]
            if known is None:
                values = storage.column_to_numeric(column, column.dtype)
                if values is None:
                    raise ValueError(
                        f"view {name!r}: column {column.name!r} held numbers in fit, not now"
                    )
                blocks.append(values[:, None])
            else:
                codes = {value: k for k, value in enumerate(known)}
                result = [codes.get(value, -1) for value in column.to_list()]
                blocks.append(np.eye(len(known) + 1)[result][:, :-1])
        return np.hstack(blocks)


def fit_table_codes(data: MultiViewData) -> dict[str, TableCodes]:
    """Codes of the views that are tables with columns of categories."""
    codes = {}
    for v, (name, view) in enumerate(data.items()):
        if data.kinds[name] == "features" and storage.is_dataframe(view):
            result = _categories(storage.take_rows(view, np.flatnonzero(data.present[:, v])), name)
            if any(known is not None for known in result):
                codes[name] = TableCodes(tuple(result))
    return codes


def encode_tables(data: MultiViewData, codes: Mapping[str, TableCodes]) -> MultiViewData:
    """The container with its tables of categories as numbers."""
    if not codes:
        return data
    views = dict(data._views)
    for v, name in enumerate(data.view_names):
        if name in codes and data.present[:, v].any():
            views[name] = codes[name].encode(views[name], name)
    return MultiViewData._from_parts(views, data.kinds, data.present, data.sample_ids, data._origin)


def _categories(view: Any, name: str) -> list[tuple[Any, ...] | None]:
    frame = nw.from_native(view, eager_only=True)
    out: list[tuple[Any, ...] | None] = []
    for j, (column, dtype) in enumerate(frame.schema.items()):
        if storage.column_to_numeric(frame[:, j], dtype) is not None:
            out.append(None)
            continue
        if dtype.is_temporal() or dtype.is_nested():
            raise ValueError(
                f"view {name!r} has columns that are neither numbers nor categories: {column!r}"
            )
        counts = Counter(v for v in frame[:, j].to_list() if v is not None and v == v)
        ranked = sorted(counts.items(), key=lambda item: (-item[1], str(item[0])))
        out.append(tuple(value for value, _ in ranked[:MAX_CATEGORIES]))
    return out
