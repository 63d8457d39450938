"""Outputs of the transformers of single views: column names, dataframes, rows without the view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp

from consilience.views import _storage as storage
from consilience.views._columns import column_groups, is_name_list
from consilience.views._data import MultiViewData
from consilience.views._index import has_index

__all__ = [
    "default_columns",
    "expand_rows",
    "input_columns",
    "row_index",
    "to_dataframe",
    "with_index",
]


def default_columns(n_columns: int) -> list[str]:
    """Names of columns without names, as in scikit-learn: x0, x1, ..."""
    return [f"x{j}" for j in range(n_columns)]


def input_columns(estimator: Any, input_features: Any = None) -> dict[str, list[str] | None]:
    """Names of the input columns of each view; None if a view is not a feature matrix.

    ``input_features`` names the columns of all views, if they have no names.
    """
    layout, known = estimator._layout, getattr(estimator, "view_feature_names_in_", {})
    widths = dict(zip(layout.names, layout.widths, strict=True))
    columns = {
        view: default_columns(width) if isinstance(width, int) else None
        for view, width in widths.items()
    }
    if input_features is not None:
        names = np.asarray([str(name) for name in input_features], dtype=object)
        _check_input_features(estimator, names)
        if None not in columns.values():
            is_grouped = estimator.views is not None and not is_name_list(estimator.views)
            groups = estimator.views if is_grouped else widths
            seen = names.tolist() if hasattr(estimator, "feature_names_in_") else None
            groups = column_groups(groups, len(names), seen)
            columns = {view: names[group].tolist() for view, group in groups.items()}
    return columns | {view: names.tolist() for view, names in known.items()}


def _check_input_features(estimator: Any, names: np.ndarray) -> None:
    if len(names) != estimator.n_features_in_:
        raise ValueError(
            "input_features should have length equal to number of features "
            f"({estimator.n_features_in_}), got {len(names)}"
        )
    if not np.array_equal(getattr(estimator, "feature_names_in_", names), names):
        raise ValueError("input_features is not equal to feature_names_in_")


def row_index(data: MultiViewData, name: str) -> Any:
    """Row labels of a dataframe made of a view: its own index, or the sample ids, or None."""
    view = data._views[name]
    if has_index(view):
        return view.index
    return data.sample_ids if data._ids_are_labels else None


def to_dataframe(values: Any, backend: Any, columns: Sequence[str]) -> Any:
    """Convert a matrix or a dataframe to one of another library; a dataframe keeps its columns."""
    if storage.is_dataframe(values):
        frame = nw.from_native(values, eager_only=True)
        if frame.implementation == nw.Implementation.from_backend(backend):
            return values
        return nw.from_dict(frame.to_dict(), backend=backend).to_native()
    if values.dtype.kind == "O":
        lists = {column: values[:, j].tolist() for j, column in enumerate(columns)}
        return nw.from_dict(lists, backend=backend).to_native()
    return nw.from_numpy(values, schema=list(columns), backend=backend).to_native()


def with_index(frame: Any, index: Any) -> Any:
    """Return a pandas dataframe with these row labels (None: 0, 1, ...); others have none."""
    if not hasattr(frame, "set_axis"):
        return frame
    return frame.set_axis(range(len(frame)) if index is None else index, axis=0)


def expand_rows(output: Any, present: np.ndarray) -> Any:
    """Expand the rows of present samples to all rows; missing ones are NaN (sparse: empty)."""
    if present.all():
        return output
    if storage.is_dataframe(output):
        return _expand_frame(output, present)
    if sp.issparse(output):
        output = output.tocsr()
        ends = output.indptr[np.concatenate([[0], np.cumsum(present)])]
        shape = len(present), output.shape[1]
        # the index type is kept, because scikit-learn's trees do not support 64-bit indices
        return type(output)((output.data, output.indices, ends), shape=shape)
    shape = len(present), *output.shape[1:]
    if output.dtype.kind == "O":
        expanded = np.full(shape, None, dtype=object)
    else:
        expanded = np.full(shape, np.nan, dtype=np.result_type(output.dtype, np.float32))
    expanded[present] = output
    return expanded


def _expand_frame(output: Any, present: np.ndarray) -> Any:
    frame = nw.from_native(output, eager_only=True)
    if all(dtype.is_numeric() for dtype in frame.schema.values()):
        values = expand_rows(frame.to_numpy(), present)
        return to_dataframe(values, frame.implementation, frame.columns)
    rows = np.maximum(np.cumsum(present) - 1, 0)
    frame = nw.from_native(storage.take_rows(output, rows), eager_only=True)
    is_present = nw.new_series("present", present, backend=frame.implementation)
    columns = {
        name: nw.from_dict({name: frame[name], "present": is_present})
        .select(nw.when(nw.col("present")).then(nw.col(name)).alias(name))
        .get_column(name)
        for name in frame.columns
    }
    return nw.from_dict(columns).to_native()
