"""Row labels of dataframes and series: which row is which sample.

A default index (0, 1, ...) numbers positions. Any other index holds labels, and matrices, labels,
groups and weights of the same samples must have the same ones in the same order. Values without an
index, such as arrays and polars dataframes, are matched by position without a check.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from consilience.views._pairwise import id_array
from consilience.views._storage import format_list, is_lazy, is_nan

if TYPE_CHECKING:
    from consilience.views._data import MultiViewData

__all__ = [
    "align_rows",
    "check_aligned",
    "check_given_ids",
    "check_mask",
    "check_series",
    "empty_labels",
    "find_labels",
    "has_index",
    "id_array",
    "is_default",
    "row_labels",
    "unique_labels",
]

BOOLEAN = ("bool", "boolean", "bool[pyarrow]")


def has_index(values: Any) -> bool:
    """Return True for a dataframe or series whose rows have labels, as in pandas."""
    return hasattr(getattr(values, "index", None), "get_indexer")


def row_labels(values: Any) -> np.ndarray | None:
    """Labels of the rows of a dataframe or series; None for values without an index."""
    return id_array(values.index.tolist()) if has_index(values) else None


def is_default(labels: np.ndarray) -> bool:
    """Return True for the labels 0, 1, ..., which number positions."""
    return labels.dtype.kind in "iu" and np.array_equal(labels, np.arange(len(labels)))


def empty_labels(labels: np.ndarray) -> list[int]:
    """Rows whose label is None or NaN."""
    return [row for row, label in enumerate(labels.tolist()) if label is None or is_nan(label)]


def unique_labels(labels: np.ndarray, owner: str) -> np.ndarray | None:
    """Check that labels are complete and unique; None for a default index."""
    if is_default(labels):
        return None
    empty = empty_labels(labels)
    if empty:
        raise ValueError(f"{owner} has no label in row {empty[0]}")
    repeated = [label for label, count in Counter(labels.tolist()).items() if count > 1]
    if repeated:
        raise ValueError(
            f"{owner} has repeated labels: {format_list(repeated)}; pass sample_ids= to "
            "MultiViewData if these rows belong to the same sample or group, or use "
            "reset_index(drop=True) if they do not"
        )
    return labels


def find_labels(views: Mapping[str, Any]) -> np.ndarray | None:
    """Return the row labels of dataframes, which must agree; None if they number positions."""
    labels = {name: row_labels(view) for name, view in views.items() if has_index(view)}
    first_name, first = next(iter(labels.items()), ("", None))
    for name, other in labels.items():
        if first is None or other is None:
            continue
        _check_same_labels(first_name, first, name, other)
    return None if first is None else unique_labels(first, f"the index of view {first_name!r}")


def _check_same_labels(name: str, labels: np.ndarray, other: str, other_labels: np.ndarray) -> None:
    if labels.tolist() == other_labels.tolist():
        return
    if _is_reordered(labels, other_labels):
        raise ValueError(
            f"views {name!r} and {other!r} have the same row labels in a different order, but "
            "rows are matched by position; reindex one of them or join by key with from_tables"
        )
    if is_default(labels) and is_default(other_labels):
        return  # the container raises the error about different lengths
    for default, one, two in ((labels, name, other), (other_labels, other, name)):
        if is_default(default):
            raise ValueError(
                f"view {one!r} has a default index, but the rows of view {two!r} have labels; set "
                f"the index of {one!r} to these labels, or use MultiViewData.from_tables"
            )
    raise ValueError(
        f"views {name!r} and {other!r} have different row labels: "
        f"{_describe_difference(labels, other_labels, f'view {name!r}', f'view {other!r}')}; join "
        "them with MultiViewData.from_tables, or pass sample_ids if their rows correspond"
    )


def check_given_ids(views: Mapping[str, Any], sample_ids: Any, ids: np.ndarray) -> None:
    """Raise an error if ``sample_ids`` are in another order than the index of a dataframe."""
    index_of_ids = row_labels(sample_ids)
    for name, view in views.items():
        labels = row_labels(view)
        if labels is None or is_default(labels):
            continue
        if _is_reordered(labels, ids):
            raise ValueError(
                f"sample_ids and the index of view {name!r} have the same labels in a different "
                "order"
            )
        if index_of_ids is not None and _is_reordered(labels, index_of_ids):
            raise ValueError(
                f"the index of sample_ids and that of view {name!r} have the same labels in a "
                "different order"
            )


def check_aligned(data: MultiViewData, **values: Any) -> None:
    """Raise an error if a series has other labels than the samples, or in a different order.

    The keywords are the names of the values in messages. A default index numbers positions.
    """
    if data._ids_are_labels and not is_lazy(data.sample_ids):
        check_series(data.sample_ids, **values)


def check_mask(key: Any, ids: Any) -> None:
    """Check the labels of a series that selects rows by truth values; others hold positions."""
    is_mask = has_index(key) and str(getattr(key, "dtype", "")) in BOOLEAN
    if is_mask and not is_lazy(ids):
        check_series(ids, mask=key)


def check_series(ids: np.ndarray | None, **values: Any) -> None:
    """Check series as in ``check_aligned``, given the labels of the samples; not if None."""
    for parameter, value in values.items():
        labels = row_labels(value)
        if ids is None or labels is None or labels.tolist() == ids.tolist():
            continue
        if _is_reordered(labels, ids):
            raise ValueError(
                f"{parameter} has the labels of the samples in a different order than X; reorder "
                f"it with data.align({parameter}), where data = as_multiview(X)"
            )
        if len(labels) == len(ids) and not is_default(labels):
            difference = _describe_difference(labels, ids, parameter, "X")
            raise ValueError(
                f"the index of {parameter} and the samples of X have different labels: "
                f"{difference}; reorder {parameter} with data.align({parameter}), or pass "
                f"{parameter}.to_numpy() if the rows correspond"
            )


def align_rows(values: Any, sample_ids: Any) -> Any:
    """Return the rows of a series or dataframe with the labels ``sample_ids``."""
    labels = row_labels(values)
    if labels is None:
        raise TypeError(
            f"align requires a pandas Series or DataFrame, whose index names the samples, got "
            f"{type(values).__name__}"
        )
    row_of_label = {label: row for row, label in enumerate(labels.tolist())}
    ids = np.asarray(sample_ids).tolist()
    unknown = [label for label in ids if label not in row_of_label]
    if unknown:
        raise ValueError(
            f"the index has no label for {len(unknown)} of the {len(ids)} samples: "
            f"{format_list(unknown)}"
        )
    counts, wanted = Counter(labels.tolist()), set(ids)
    repeated = [label for label, count in counts.items() if count > 1 and label in wanted]
    if repeated:
        raise ValueError(f"the index has several rows for the samples {format_list(repeated)}")
    return values.iloc[[row_of_label[label] for label in ids]]


def _is_reordered(labels: np.ndarray, others: np.ndarray) -> bool:
    """Return True if the labels are the same, but in a different order."""
    first, second = labels.tolist(), others.tolist()
    return len(first) == len(second) and first != second and Counter(first) == Counter(second)


def _describe_difference(labels: np.ndarray, others: np.ndarray, name: str, other: str) -> str:
    """Name a label that only one side has, e.g. ``'p7' is only in y``."""
    for only, rest, owner in ((labels, others, name), (others, labels, other)):
        unknown = Counter(only.tolist()) - Counter(rest.tolist())
        if unknown:
            return f"{next(iter(unknown))!r} is only in {owner}"
    return "some labels are repeated"
