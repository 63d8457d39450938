"""Files of matrices: npz (dense or sparse) and svmlight.

What a file declares about its content is checked before memory is allocated for it, and the
indices of sparse matrices before they are used.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp

from consilience.tables._table import LABEL, QUERY, Table, TableError, check_memory, import_pyarrow
from consilience.views._sparse import validate_sparse

__all__ = ["align_svmlight", "check_sparse", "read_npz", "read_svmlight"]

MAX_SPARSE_COLUMNS = 2**26  # every method needs vectors of that length
MAX_EMPTY_ROWS = 10**6
FLOAT_BYTES = 8
HEADER_READERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def read_npz(path: Path) -> Table | dict[str, Table]:
    """Read the matrix of a file of ``scipy.sparse.save_npz``, or all arrays of ``np.savez``."""
    pa = import_pyarrow()
    # opened here, since np.load does not close a broken file
    with open(path, "rb") as content:
        _check_members(path, content)
        with np.load(content, allow_pickle=False) as file:
            is_sparse = "format" in file.files and "shape" in file.files
            arrays = {} if is_sparse else {name: file[name] for name in file.files}
        if is_sparse:
            content.seek(0)
            return Table(str(path), pa.table({}), check_sparse(path, sp.load_npz(content)))
    return _to_tables(path, arrays)


def _check_members(path: Path, content: IO[bytes]) -> None:
    """Check the declared shape of every array against its size, and the total against memory."""
    total = 0
    with zipfile.ZipFile(content) as archive:
        for member in archive.infolist():
            name = member.filename.removesuffix(".npy")
            if name == member.filename:
                raise TableError(f"{path}: {name!r} is not an array")
            with archive.open(member) as file:
                version = np.lib.format.read_magic(file)
                if version not in HEADER_READERS:
                    raise TableError(f"{path}: array {name!r} has an unknown format {version}")
                shape, _, dtype = HEADER_READERS[version](file)
                n_bytes = member.file_size - file.tell()
            n_items = math.prod(shape)
            if min(shape, default=0) < 0 or dtype.itemsize == 0 or 0 in shape[1:]:
                raise TableError(f"{path}: array {name!r} has shape {shape} of {dtype}")
            if n_items * dtype.itemsize != n_bytes and not dtype.hasobject:
                raise TableError(
                    f"{path}: array {name!r} has shape {shape} of {dtype}, but {n_bytes} bytes"
                )
            total += n_items * max(dtype.itemsize, FLOAT_BYTES)
    check_memory(path, total)
    content.seek(0)


def _to_tables(path: Path, arrays: dict[str, np.ndarray]) -> Table | dict[str, Table]:
    """Matrices become tables, and arrays of one dimension columns of each of them."""
    pa = import_pyarrow()
    matrices = {name: array for name, array in arrays.items() if array.ndim == 2}
    columns = {name: array for name, array in arrays.items() if array.ndim == 1}
    if len(matrices) + len(columns) < len(arrays):
        wrong = next(n for n in arrays if n not in matrices and n not in columns)
        raise TableError(f"{path}: array {wrong!r} has {arrays[wrong].ndim} dimensions, not 1 or 2")
    if not arrays:
        raise TableError(f"{path} contains no arrays")
    if len({len(array) for array in arrays.values()}) > 1:
        raise TableError(f"the arrays of {path} have different numbers of rows")
    frame = pa.table({name: pa.array(_to_list(path, a, name)) for name, a in columns.items()})
    if not matrices:
        return Table(str(path), frame)
    tables = {}
    for name, array in matrices.items():
        if array.dtype.kind not in "biuf":
            raise TableError(f"{path}: array {name!r} contains {array.dtype}, not numbers")
        tables[name] = Table(str(path), frame, array.astype(np.float64))
    return tables if len(tables) > 1 else next(iter(tables.values()))


def _to_list(path: Path, array: np.ndarray, name: str) -> list[Any]:
    if array.dtype.kind == "S":
        return np.char.decode(array, "utf-8").tolist()
    if array.dtype.kind not in "biufUM":
        raise TableError(f"{path}: array {name!r} contains {array.dtype}, neither numbers nor text")
    return array.tolist()


def check_sparse(path: Path, matrix: Any) -> sp.csr_array:
    """Return a matrix as valid CSR; its shape must not be far larger than what it contains."""
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise TableError(f"{path} contains a sparse matrix of shape {matrix.shape}")
    n_rows, n_columns = matrix.shape
    if n_columns > MAX_SPARSE_COLUMNS:
        raise TableError(
            f"{path} has {n_columns} columns; at most {MAX_SPARSE_COLUMNS} are supported"
        )
    if n_rows > max(MAX_EMPTY_ROWS, 10 * matrix.data.size):
        raise TableError(f"{path} has {n_rows} rows, but only {matrix.data.size} values")
    if matrix.data.dtype.kind not in "biuf":
        raise TableError(f"{path} contains {matrix.data.dtype}, not numbers")
    try:
        return sp.csr_array(validate_sparse(matrix, path.stem))
    except ValueError as error:
        raise TableError(f"{path}: {error}") from None


def read_svmlight(
    path: Path, n_features: int | None = None, first_index: int | None = None
) -> Table:
    """Read a text file of ``label index:value index:value …``.

    ``first_index`` is the number of the first feature; None is 1 unless the file contains a 0.
    """
    from sklearn.datasets import load_svmlight_file

    pa = import_pyarrow()
    matrix, labels, queries = load_svmlight_file(str(path), query_id=True, zero_based=True)
    has_zero = bool((matrix.indices == 0).any())
    if first_index is None:
        first_index = 0 if has_zero else 1
    elif first_index == 1 and has_zero:
        raise TableError(
            f"{path} has a feature with index 0, but the indices of the training files begin at 1"
        )
    width = max(1, matrix.shape[1] - first_index)
    if n_features is not None and width > n_features:
        raise TableError(f"{path} has {width} features, but the model has {n_features}")
    shape = len(labels), n_features or width
    matrix = sp.csr_array((matrix.data, matrix.indices - first_index, matrix.indptr), shape)
    columns = {LABEL: labels, **({QUERY: queries} if np.any(queries) else {})}
    content = check_sparse(path, matrix)
    return Table(str(path), pa.table(columns), content, first_index=first_index)


def align_svmlight(tables: Sequence[Table]) -> list[Table]:
    """Number the features of svmlight files alike: from 0 if the indices of any of them do."""
    if any(table.first_index is None for table in tables):
        return list(tables)
    first = min(table.first_index or 0 for table in tables)
    shifts = [(table.first_index or 0) - first for table in tables]
    width = max(t.matrix.shape[1] + shift for t, shift in zip(tables, shifts, strict=True))
    return [
        replace(table, matrix=_shift_columns(table.matrix, shift, width), first_index=first)
        for table, shift in zip(tables, shifts, strict=True)
    ]


def _shift_columns(matrix: sp.csr_array, shift: int, width: int) -> sp.csr_array:
    content = matrix.data, matrix.indices + shift, matrix.indptr
    return sp.csr_array(content, (matrix.shape[0], width))
