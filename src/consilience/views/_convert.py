"""Conversion of every accepted input format to MultiViewData.

``as_multiview`` converts input that consists of several matrices, ``read_views`` also selects views
by name for an estimator, and ``split_columns`` splits a single matrix into column groups.
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
from consilience.views._index import empty_labels, id_array, row_labels, unique_labels

__all__ = ["as_multiview", "is_matrix", "read_views", "split_columns"]


def as_multiview(X: Any) -> MultiViewData:
    """Convert several matrices that describe the same samples.

    Parameters
    ----------
    X : MultiViewData, dict, list, tuple, ndarray, dataframe, MuData, AnnData or xarray object
        A dict, list or tuple contains 2-D arrays (or arrays of more dimensions, for a
        ``ViewTransformer``); an ndarray has shape (n_samples, n_views, n_columns); a dataframe has
        two column levels, the first of which is the view name. The views of lists, tuples and
        ndarrays are named ``view0``, ``view1``, ...; the other formats have names. A single 2-D
        array is one view. In MuData, a view is missing for the samples without that modality.

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
    if isinstance(X, Mapping) and not _is_instance(X, "xarray", "Dataset"):
        return MultiViewData(X)
    for reader in (_read_mudata, _read_anndata, _read_xarray, _read_column_levels):
        data = reader(X)
        if data is not None:
            return data
    if isinstance(X, (list, tuple)) and len(X) and not _is_table_of_rows(X):
        return MultiViewData(dict(zip(default_names(len(X)), X, strict=True)))
    is_array = storage.is_lazy(X) or isinstance(X, np.ma.MaskedArray)
    array = X if is_array else np.asarray(X)
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
    """Return True for input that is left to scikit-learn to validate as one 2-D matrix."""
    if sp.issparse(X):  # first, because SciPy's DOK format is also a dict
        return True
    if isinstance(X, (MultiViewData, Mapping)) or _has_column_levels(X):
        return False
    if any(_is_instance(X, module, name) for module, name in _FOREIGN):
        return False
    if isinstance(X, (list, tuple)):
        return _is_table_of_rows(X)
    return np.ndim(X) != 3 if isinstance(X, np.ndarray) else True


def read_views(X: Any, views: Any) -> MultiViewData:
    """Convert input of several matrices and select the views named in ``views`` (None: all)."""
    data = as_multiview(X)
    if views is None:
        return data
    if not is_name_list(views):
        raise ValueError(
            "views= groups the columns of a single matrix, but X already consists of several views "
            f"({', '.join(data.view_names)}); use views=None or a list of view names"
        )
    unknown = [name for name in views if name not in data]
    if unknown:
        raise ValueError(
            f"views= contains {storage.format_list(unknown)}, but X has the views "
            f"{storage.format_list(data.view_names)}"
        )
    return data.select(views)


def split_columns(X: Any, views: Any, names: Any = None, labels: Any = None) -> MultiViewData:
    """Split a single matrix into views by groups of its columns.

    ``labels`` are its row labels, by default the index of a dataframe. They may be repeated, as in
    a bootstrap sample, because the rows of a single matrix need not be matched.
    """
    columns = column_groups(views, X.shape[1], names)
    labels = row_labels(X) if labels is None else labels
    if labels is not None and empty_labels(labels):
        labels = None
    data = MultiViewData(
        {name: storage.take_columns(X, cols) for name, cols in columns.items()}, sample_ids=labels
    )
    return data if data.groups is None else data.with_groups(None)


def _is_table_of_rows(X: Any) -> bool:
    """Return True for a list of rows (numbers, strings or flat sequences), not of matrices."""
    if any(len(getattr(row, "shape", ())) > 1 for row in X):
        return False
    first = X[0] if len(X) else None
    return np.ndim(np.asarray(first, dtype=object if isinstance(first, str) else None)) < 2


# -- formats of other libraries, identified by name to avoid importing them -------------------

_FOREIGN = (
    ("mudata", "MuData"),
    ("anndata", "AnnData"),
    ("xarray", "Dataset"),
    ("xarray", "DataArray"),
)


def _is_instance(X: Any, module: str, name: str) -> bool:
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(X, getattr(loaded, name))


def _has_column_levels(X: Any) -> bool:
    return getattr(getattr(X, "columns", None), "nlevels", 1) > 1


def _read_column_levels(X: Any) -> MultiViewData | None:
    if not _has_column_levels(X):
        return None
    top = dict.fromkeys(X.columns.get_level_values(0))
    return MultiViewData(dict(zip(_as_strings(top), (X[name] for name in top), strict=True)))


def _as_strings(labels: Any) -> list[str]:
    names = [str(label) for label in labels]
    if len(set(names)) < len(names):
        raise ValueError(
            f"view names must be distinct as strings, got {storage.format_list(labels)}"
        )
    return names


def _read_mudata(X: Any) -> MultiViewData | None:
    if not _is_instance(X, "mudata", "MuData"):
        return None
    ids = _observation_names(X)
    views, present = {}, np.zeros((len(ids), len(X.mod)), dtype=bool)
    for v, (name, part) in enumerate(X.mod.items()):
        rows = part.obs_names.get_indexer(ids)
        views[name] = storage.take_rows(storage.validate_view(part.X, name), np.maximum(rows, 0))
        present[:, v] = (rows >= 0) & ~storage.missing_rows(views[name])
    data = MultiViewData(views, present=present, sample_ids=ids)
    return data._with_column_names({n: _variable_names(part) for n, part in X.mod.items()})


def _read_anndata(X: Any) -> MultiViewData | None:
    if not _is_instance(X, "anndata", "AnnData"):
        return None
    data = MultiViewData({"X": X.X}, sample_ids=_observation_names(X))
    return data._with_column_names({"X": _variable_names(X)})


def _variable_names(X: Any) -> tuple[Any, ...]:
    return tuple(X.var_names.tolist())


def _observation_names(X: Any) -> np.ndarray:
    names = id_array(X.obs_names.tolist())
    unique_labels(names, "obs_names")
    return names


def _read_xarray(X: Any) -> MultiViewData | None:
    if _is_instance(X, "xarray", "DataArray"):
        if X.ndim not in (2, 3):
            return None
        labels = _coordinate_labels(X, X.dims[0])
        columns = _coordinate_names(X, X.dims[-1])
        if X.ndim == 2:
            data = MultiViewData({"view0": X.values}, sample_ids=labels)
            return data._with_column_names({"view0": columns} if columns else {})
        view_dim = X.dims[1]
        names = _as_strings(X[view_dim].values.tolist()) if view_dim in X.coords else None
        names = names or default_names(X.shape[1])
        views = {name: X.values[:, v] for v, name in enumerate(names)}
        data = MultiViewData(views, sample_ids=labels)
        return data._with_column_names(dict.fromkeys(names, columns) if columns else {})
    if _is_instance(X, "xarray", "Dataset"):
        sample_dim = next(iter(X.data_vars.values())).dims[0]
        parts = {str(k): v for k, v in X.data_vars.items()}
        bad = [k for k, v in parts.items() if v.ndim != 2 or sample_dim not in v.dims]
        if bad:
            raise ValueError(
                f"every variable of the Dataset must have two dimensions, one of them "
                f"{sample_dim!r}; {storage.format_list(bad)} does not"
            )
        parts = {k: v.transpose(sample_dim, ...) for k, v in parts.items()}
        given = {k: _coordinate_names(v, v.dims[1]) for k, v in parts.items()}
        data = MultiViewData(
            {k: v.values for k, v in parts.items()}, sample_ids=_coordinate_labels(X, sample_dim)
        )
        return data._with_column_names({k: names for k, names in given.items() if names})
    return None


def _coordinate_names(X: Any, dim: Any) -> tuple[Any, ...] | None:
    """Names of the columns of an xarray object; None if it has none."""
    return tuple(X.indexes[dim].tolist()) if dim in X.indexes else None


def _coordinate_labels(X: Any, dim: Any) -> np.ndarray | None:
    """Labels of the samples in an xarray object; None if it has none or they number positions."""
    if dim not in X.indexes:
        return None
    return unique_labels(id_array(X.indexes[dim].tolist()), f"the coordinate {dim!r}")
