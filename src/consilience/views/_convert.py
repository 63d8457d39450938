"""From any accepted input to MultiViewData.

``as_multiview`` reads several-matrix inputs; ``read_views`` is the estimators' door, which adds
two-dimensional input with ``views=`` column groups and the choice of views by name.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from consilience.views import _storage as storage
from consilience.views._columns import column_groups, default_names, is_name_list
from consilience.views._data import MultiViewData

__all__ = ["as_multiview", "is_matrix", "read_views", "split_columns"]


def as_multiview(X: Any) -> MultiViewData:
    """Read several matrices about the same samples.

    Parameters
    ----------
    X : MultiViewData, dict, list, tuple, ndarray, dataframe, MuData, AnnData or xarray object
        A dict, list or tuple holds 2-D arrays; an ndarray has shape (n_samples, n_views,
        n_columns); a dataframe has two levels of columns, the first of which names the view.
        Lists, tuples and ndarrays name their views ``view0``, ``view1``, ...; the others bring
        names. One 2-D array is one view. MuData samples lacking a modality miss that view.

    Returns
    -------
    MultiViewData

    Examples
    --------
    >>> import numpy as np
    >>> from consilience import as_multiview
    >>> as_multiview([np.zeros((3, 2)), np.ones((3, 4))]).view_names
    ('view0', 'view1')
    """
    if isinstance(X, MultiViewData):
        return X
    if sp.issparse(X) or (storage.is_dataframe(X) and not _has_column_levels(X)):
        return MultiViewData({"view0": X})
    if isinstance(X, Mapping) and not _is_from("xarray", "Dataset", X):
        return MultiViewData(X)
    for reader in (_read_mudata, _read_anndata, _read_xarray, _read_column_levels):
        data = reader(X)
        if data is not None:
            return data
    if isinstance(X, (list, tuple)) and len(X) and not _is_table_of_rows(X):
        return MultiViewData(dict(zip(default_names(len(X)), X, strict=True)))
    array = X if storage.is_lazy(X) else np.asarray(X)
    if array.ndim == 3:
        return MultiViewData({n: array[:, v] for v, n in enumerate(default_names(array.shape[1]))})
    if array.ndim == 2:
        return MultiViewData({"view0": array})
    raise ValueError(
        "expected MultiViewData, a dict or list of 2-D arrays, or a 3-D array; got "
        f"{type(X).__name__} of shape {array.shape}. Reshape your data: a single feature is "
        "array.reshape(-1, 1), a single sample array.reshape(1, -1)"
    )


def is_matrix(X: Any) -> bool:
    """True for what scikit-learn would read as one 2-D matrix (or fail to, with its own words)."""
    if sp.issparse(X):  # first, because SciPy's DOK format is a dict as well
        return True
    if isinstance(X, (MultiViewData, Mapping)) or _has_column_levels(X):
        return False
    if any(_is_from(*kind, X) for kind in _FOREIGN):
        return False
    if isinstance(X, (list, tuple)):
        return _is_table_of_rows(X)
    return np.ndim(X) != 3 if isinstance(X, np.ndarray) else True


def read_views(X: Any, views: Any) -> MultiViewData:
    """Views of several-matrix input, those that ``views`` names (all of them for None)."""
    data = as_multiview(X)
    if views is None:
        return data
    if not is_name_list(views):
        raise ValueError(
            "views= groups the columns of one matrix, but X already comes as several views "
            f"({', '.join(data.view_names)}); leave views=None or give names of views to use"
        )
    unknown = [name for name in views if name not in data]
    if unknown:
        raise ValueError(
            f"views= names {storage.format_list(unknown)}, but X has the views "
            f"{storage.format_list(data.view_names)}"
        )
    return data.select(views)


def split_columns(X: Any, views: Any, names: Any = None) -> MultiViewData:
    """Views of one numeric matrix (ndarray or CSR) by groups of its columns."""
    groups = column_groups(views, X.shape[1], names)
    return MultiViewData({name: storage.take_columns(X, cols) for name, cols in groups.items()})


def _is_table_of_rows(X: Any) -> bool:
    """A list of rows (numbers, strings or flat sequences), as opposed to a list of matrices."""
    if any(len(getattr(row, "shape", ())) > 1 for row in X):
        return False
    first = X[0] if len(X) else None
    return np.ndim(np.asarray(first, dtype=object if isinstance(first, str) else None)) < 2


# -- formats of other libraries, known by name so that none of them is imported ---------------

_FOREIGN = (
    ("mudata", "MuData"),
    ("anndata", "AnnData"),
    ("xarray", "Dataset"),
    ("xarray", "DataArray"),
)


def _is_from(module: str, name: str, X: Any) -> bool:
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(X, getattr(loaded, name))


def _has_column_levels(X: Any) -> bool:
    return getattr(getattr(X, "columns", None), "nlevels", 1) > 1


def _read_column_levels(X: Any) -> MultiViewData | None:
    if not _has_column_levels(X):
        return None
    top = dict.fromkeys(X.columns.get_level_values(0))
    return MultiViewData(dict(zip(_text_names(top), (X[name] for name in top), strict=True)))


def _text_names(labels: Any) -> list[str]:
    names = [str(label) for label in labels]
    if len(set(names)) < len(names):
        raise ValueError(f"view names must differ as text, got {storage.format_list(labels)}")
    return names


def _read_mudata(X: Any) -> MultiViewData | None:
    if not _is_from("mudata", "MuData", X):
        return None
    ids = X.obs_names.to_numpy()
    views, present = {}, np.zeros((len(ids), len(X.mod)), dtype=bool)
    for v, (name, part) in enumerate(X.mod.items()):
        rows = part.obs_names.get_indexer(ids)
        present[:, v] = rows >= 0
        views[name] = storage.take_rows(storage.validate_view(part.X, name), np.maximum(rows, 0))
    return MultiViewData(views, present=present, sample_ids=ids)


def _read_anndata(X: Any) -> MultiViewData | None:
    if not _is_from("anndata", "AnnData", X):
        return None
    return MultiViewData({"X": X.X}, sample_ids=X.obs_names.to_numpy())


def _read_xarray(X: Any) -> MultiViewData | None:
    if _is_from("xarray", "DataArray", X):
        if X.ndim != 3:
            return as_multiview(X.values) if X.ndim == 2 else None
        label = X.dims[1]
        names = _text_names(X[label].values.tolist()) if label in X.coords else None
        names = names or default_names(X.shape[1])
        return MultiViewData({name: X.values[:, v] for v, name in enumerate(names)})
    if _is_from("xarray", "Dataset", X):
        first = next(iter(X.data_vars.values())).dims[0]
        parts = {str(k): v for k, v in X.data_vars.items()}
        bad = [k for k, v in parts.items() if v.ndim != 2 or first not in v.dims]
        if bad:
            raise ValueError(
                f"every variable of the Dataset must have two dimensions, one of them {first!r}; "
                f"{storage.format_list(bad)} does not"
            )
        return MultiViewData({k: v.transpose(first, ...).values for k, v in parts.items()})
    return None
