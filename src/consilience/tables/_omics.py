"""Files of single-cell and multi-omics tools: h5ad (AnnData) and h5mu (MuData).

The matrix is the view, and the columns of ``.obs`` may be the target, the groups or the key. Only
what is needed is read.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from consilience._suggest import suggest
from consilience.tables._matrix_files import check_sparse
from consilience.tables._table import Table, TableError, check_memory, import_pyarrow
from consilience.views._storage import format_list

__all__ = ["import_readers", "read_frame", "read_h5ad", "read_h5mu"]

FLOAT_BYTES = 8
MATRIX_DIMENSIONS = 2


def import_readers() -> tuple[Any, Any]:
    """Import h5py and the reader of elements; the error says how to install them."""
    try:
        import h5py
        from anndata.io import read_elem
    except ImportError:
        raise ImportError("h5ad files need anndata; pip install 'consilience[omics]'") from None
    return h5py, read_elem


def read_h5ad(path: Path, part: str | None) -> Table:
    """Read X, or a layer or ``obsm/NAME``, with the columns of obs."""
    h5py, _ = import_readers()
    with h5py.File(path, "r") as file:
        return _read_annotated(path, file, part)


def read_h5mu(path: Path, part: str | None) -> dict[str, Table]:
    """Read every modality, with its own columns of obs and those of the whole file."""
    h5py, _ = import_readers()
    with h5py.File(path, "r") as file:
        if "mod" not in file:
            raise TableError(f"{path} has no modalities; is it an h5ad file?")
        names = list(file["mod"])
        if part is not None and part not in names:
            raise TableError(
                f"{path} has no modality {part!r}{suggest(part, names)}; it has "
                f"{format_list(names)}"
            )
        shared = read_frame(path, file, "obs")
        wanted = names if part is None else [part]
        tables = {name: _read_annotated(path, file["mod"][name], None, shared) for name in wanted}
    # they have different rows, as tables of different files
    return {n: replace(t, path=f"{path}, modality {n!r}") for n, t in tables.items()}


def _read_annotated(path: Path, group: Any, part: str | None, shared: Any = None) -> Table:
    pa = import_pyarrow()
    obs = read_frame(path, group, "obs")
    matrix, names = _read_matrix(path, group, part)
    if matrix.shape[0] != len(obs):
        raise TableError(f"{path}: X has {matrix.shape[0]} rows, but obs has {len(obs)}")
    if shared is not None:
        known = shared.reindex(obs.index)
        # by position, since a join would repeat the rows of names that occur twice
        obs = obs.assign(**{c: known[c].array for c in known.columns if c not in obs.columns})
    key = str(obs.index.name or "index")
    key = key if key not in obs.columns else "obs_names"
    columns = {key: pa.array([str(name) for name in obs.index], pa.string())}
    for name in obs.columns:
        column = _to_arrow(obs[name])
        if column is not None:
            columns[str(name)] = column
    names = names or _column_names(path, group, part, matrix.shape[1])
    return Table(str(path), pa.table(columns), matrix, matrix_columns=names, key=key)


def _to_arrow(series: Any) -> Any:
    """A column of obs; None for contents that are neither numbers nor text."""
    pa = import_pyarrow()
    try:
        column = pa.array(series, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError):
        return None
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
    return None if pa.types.is_nested(column.type) or pa.types.is_binary(column.type) else column


def read_frame(path: Path, group: Any, name: str) -> Any:
    """Read ``obs`` or ``var`` of a file or modality as a dataframe."""
    _, read_elem = import_readers()
    if name not in group:
        raise TableError(f"{path} has no {name}")
    _check_element(path, group, name)
    frame = read_elem(group[name])
    if not hasattr(frame, "columns"):
        raise TableError(f"{path}: {name} is no table")
    return frame


def _location(path: Path, group: Any, part: str | None) -> str:
    """Where the matrix is: "X", "layers/counts" or "obsm/X_pca"."""
    if part is None:
        if "X" not in group:
            raise TableError(f"{path} has no X; name a layer with {path.name}#LAYER")
        return "X"
    known = [f"{kind}/{name}" for kind in ("layers", "obsm") for name in group.get(kind, {})]
    for location in (part, f"layers/{part}", f"obsm/{part}"):
        if location in known or location == "X":
            return location
    raise TableError(
        f"{path} has no {part!r}{suggest(part, known)}; it has {format_list(['X', *known])}"
    )


def _read_matrix(path: Path, group: Any, part: str | None) -> tuple[Any, list[str] | None]:
    """The matrix, and the names of its columns if it has its own."""
    _, read_elem = import_readers()
    location = _location(path, group, part)
    _check_element(path, group, location)
    matrix = read_elem(group[location])
    names = [str(name) for name in matrix.columns] if hasattr(matrix, "columns") else None
    matrix = matrix.to_numpy() if hasattr(matrix, "to_numpy") else matrix
    if not hasattr(matrix, "shape") or len(matrix.shape) != MATRIX_DIMENSIONS:
        raise TableError(f"{path}: {location} is no matrix")
    if 0 in matrix.shape:
        raise TableError(f"{path}: {location} has shape {matrix.shape}")
    if matrix.dtype.kind not in "biuf":
        raise TableError(f"{path}: {location} contains {matrix.dtype}, not numbers")
    if not sp.issparse(matrix):
        return np.asarray(matrix, dtype=np.float64), names
    return check_sparse(path, matrix).astype(np.float64), names


def _check_element(path: Path, group: Any, name: str) -> None:
    """Check that an element is in this file, and that what it declares fits in memory."""
    h5py, _ = import_readers()
    n_values, visited = 0, set()
    waiting = [(group, name)]
    while waiting:
        parent, key = waiting.pop()
        element = parent[key]
        is_external = element.file.id != group.file.id or getattr(element, "external", None)
        if is_external:
            raise TableError(f"{path}: {name} is in another file; only the file itself is read")
        address = h5py.h5o.get_info(element.id).addr
        if address not in visited:
            visited.add(address)
            n_values += math.prod(getattr(element, "shape", None) or (0,))
            waiting += [(element, child) for child in element] if hasattr(element, "keys") else []
    check_memory(path, n_values * FLOAT_BYTES)


def _column_names(path: Path, group: Any, part: str | None, width: int) -> list[str]:
    if part is not None and _location(path, group, part).startswith("obsm/"):
        name = part.removeprefix("obsm/")
        return [f"{name}_{j}" for j in range(width)]
    names = [str(name) for name in read_frame(path, group, "var").index]
    if len(names) != width:
        raise TableError(f"{path}: X has {width} columns, but var has {len(names)}")
    if len(set(names)) < width:
        repeated = sorted(name for name, count in Counter(names).items() if count > 1)[:5]
        raise TableError(f"{path} has several variables named {format_list(repeated)}")
    return names
