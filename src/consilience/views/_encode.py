"""One-hot encoding of the categorical columns of dataframes.

Numeric columns are left unchanged. Rare categories, categories not seen in fit and empty cells are
encoded as 0 in all columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, time, timedelta
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp

from consilience._model_types import model_type
from consilience.views import _storage as storage
from consilience.views._data import MultiViewData

__all__ = ["TableCodes", "encode_tables", "fit_codes", "fit_table_codes", "mixed_tables"]

MAX_CATEGORIES = 30  # number of most frequent categories that get a column of their own


@model_type("views.TableCodes")
@dataclass(frozen=True, eq=False)
class TableCodes:
    """Categories of each column of a table; None for numeric columns."""

    categories: tuple[tuple[Any, ...] | None, ...]

    @property
    def has_categories(self) -> bool:
        """Whether some column is categorical."""
        return any(values is not None for values in self.categories)

    @property
    def is_indicator(self) -> np.ndarray:
        """Mask of the encoded columns that stand for a category."""
        widths = [1 if values is None else len(values) for values in self.categories]
        is_category = np.array([values is not None for values in self.categories], dtype=bool)
        return np.repeat(is_category, widths)

    @property
    def width(self) -> int:
        """Number of encoded columns."""
        return len(self.is_indicator)

    def encode(self, view: Any, name: str) -> np.ndarray:
        """Encode a table as floats, with one column for each category."""
        if not storage.is_dataframe(view):
            raise ValueError(
                f"view {name!r} had categorical columns in fit but is not a dataframe now; pass a "
                "dataframe with the same columns"
            )
        frame = nw.from_native(view, eager_only=True)
        blocks = [np.empty((len(frame), 0))]
        for j, categories in enumerate(self.categories):
            column = frame[:, j]
            if categories is None:
                values = storage.column_to_numeric(column, column.dtype)
                if values is None and column.is_null().all():
                    values = np.full(len(frame), np.nan)  # a column of None has no numeric dtype
                if values is None:
                    raise ValueError(
                        f"view {name!r}: column {column.name!r} was numeric in fit but is not now"
                    )
                blocks.append(values[:, None])
            else:
                _check_types(column, categories, name)
                code_of = {value: k for k, value in enumerate(categories)}
                codes = [code_of.get(value, -1) for value in column.to_list()]
                blocks.append(np.eye(len(categories) + 1)[codes][:, :-1])
        return np.hstack(blocks)


def _check_types(column: nw.Series, categories: tuple[Any, ...], name: str) -> None:
    """Raise an error if the categories of fit were texts and no cell is one now, or the reverse."""
    are_texts = {isinstance(value, str) for value in categories}
    if len(are_texts) != 1:
        return
    values = [value for value in column.drop_nulls().to_list() if value == value]
    if not values or are_texts & {isinstance(value, str) for value in values}:
        return
    kind, expected = "not", "texts"
    if isinstance(values[0], (int, float, np.number)):
        kind = "numeric"
    elif isinstance(values[0], str):
        kind, expected = "text", "numbers"
    raise ValueError(
        f"view {name!r}: column {column.name!r} was categorical in fit but is {kind} now, got "
        f"{values[0]!r}; convert it to the {expected} of fit"
    )


def fit_codes(view: Any, name: str) -> TableCodes:
    """Learn the categories of one table."""
    frame = nw.from_native(view, eager_only=True)
    columns = [frame[:, j] for j in range(frame.shape[1])]
    return TableCodes(tuple(_categories(column, name) for column in columns))


def fit_table_codes(data: MultiViewData) -> dict[str, TableCodes]:
    """Learn the categories of the views that are tables with categorical columns."""
    codes = {}
    for v, (name, view) in enumerate(data.items()):
        if data.kinds[name] == "features" and storage.is_dataframe(view):
            rows = np.flatnonzero(data.present[:, v])
            codes[name] = fit_codes(storage.take_rows(view, rows), name)
    return {name: table_codes for name, table_codes in codes.items() if table_codes.has_categories}


def mixed_tables(codes: Mapping[str, TableCodes]) -> tuple[str, ...]:
    """Names of the tables with numeric columns beside the categorical ones."""
    return tuple(name for name, own in codes.items() if not own.is_indicator.all())


def encode_tables(data: MultiViewData, codes: Mapping[str, TableCodes]) -> MultiViewData:
    """Encode the tables with categorical columns."""
    if not codes:
        return data
    views = dict(data._views)
    for v, name in enumerate(data.view_names):
        if name in codes:
            is_present = data.present[:, v].any()
            empty = sp.csr_array((len(data), codes[name].width))
            views[name] = codes[name].encode(views[name], name) if is_present else empty
    return data._replace(views)


def _categories(column: nw.Series, name: str) -> tuple[Any, ...] | None:
    """Most frequent categories of a column; None if it is numeric."""
    dtype = column.dtype
    if storage.column_to_numeric(column, dtype) is not None:
        return None
    if dtype.is_temporal() or dtype.is_nested():
        raise ValueError(
            f"view {name!r} has a column that is neither numeric nor categorical: {column.name!r}"
        )
    values = column.drop_nulls().to_list()
    if any(not _can_be_category(value) for value in values):
        raise ValueError(
            f"view {name!r}: the values of column {column.name!r} are no numbers, texts or "
            "categories"
        )
    counts = Counter(v for v in values if v == v)
    ranked = sorted(counts.items(), key=lambda item: (-item[1], str(item[0])))
    return tuple(value for value, _ in ranked[:MAX_CATEGORIES])


def _can_be_category(value: Any) -> bool:
    """Return False for dates, complex values and those that cannot be hashed or compared."""
    kind = type(value)
    if kind.__hash__ is None or kind.__eq__ is object.__eq__:
        return False
    is_period = hasattr(value, "to_timestamp")  # of pandas, a date of its own
    return not is_period and not isinstance(
        value, (complex, np.complexfloating, date, time, timedelta)
    )
