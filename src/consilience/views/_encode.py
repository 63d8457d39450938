"""One-hot encoding of the categorical columns of dataframes.

Numeric columns are left unchanged. Rare categories, categories not seen in fit and empty cells are
encoded as 0 in all columns.
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

MAX_CATEGORIES = 30  # number of most frequent categories that get a column of their own


@dataclass(frozen=True, eq=False)
class TableCodes:
    """Categories of each column of a table; None for numeric columns."""

    categories: tuple[tuple[Any, ...] | None, ...]

    def encode(self, view: Any, name: str) -> np.ndarray:
        """Encode a table as floats, with one column for each category."""
        if not storage.is_dataframe(view):
            raise ValueError(
                f"view {name!r} had categorical columns in fit but is not a dataframe now; pass a "
                "dataframe with the same columns"
            )
        frame = nw.from_native(view, eager_only=True)
        blocks = []
        for j, categories in enumerate(self.categories):
            column = frame[:, j]
            if categories is None:
                values = storage.column_to_numeric(column, column.dtype)
                if values is None:
                    raise ValueError(
                        f"view {name!r}: column {column.name!r} was numeric in fit but is not now"
                    )
                blocks.append(values[:, None])
            else:
                code_of = {value: k for k, value in enumerate(categories)}
                codes = [code_of.get(value, -1) for value in column.to_list()]
                blocks.append(np.eye(len(categories) + 1)[codes][:, :-1])
        return np.hstack(blocks)


def fit_table_codes(data: MultiViewData) -> dict[str, TableCodes]:
    """Learn the categories of the views that are tables with categorical columns."""
    codes = {}
    for v, (name, view) in enumerate(data.items()):
        if data.kinds[name] == "features" and storage.is_dataframe(view):
            rows = np.flatnonzero(data.present[:, v])
            categories = _categories(storage.take_rows(view, rows), name)
            if any(values is not None for values in categories):
                codes[name] = TableCodes(tuple(categories))
    return codes


def encode_tables(data: MultiViewData, codes: Mapping[str, TableCodes]) -> MultiViewData:
    """Encode the tables with categorical columns."""
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
                f"view {name!r} has a column that is neither numeric nor categorical: {column!r}"
            )
        counts = Counter(v for v in frame[:, j].to_list() if v is not None and v == v)
        ranked = sorted(counts.items(), key=lambda item: (-item[1], str(item[0])))
        out.append(tuple(value for value, _ in ranked[:MAX_CATEGORIES]))
    return out
