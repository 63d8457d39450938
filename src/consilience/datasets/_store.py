"""The folder of data sets on disk, and how data sets are read from it.

The folder has one sub-folder per data set with NumPy ``.npz`` files: plain arrays, never pickles.
It is given by the argument ``data_home``, else by the environment variable ``CONSILIENCE_DATA``,
else it is in the user's cache. A copy of such a folder serves as an offline mirror.
"""

from __future__ import annotations

import io
import os
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import Bunch

from consilience._atomic_write import write_atomically
from consilience.views import MultiViewData

__all__ = [
    "Arrays",
    "DatasetError",
    "LoadedData",
    "as_bunch",
    "damaged_file_error",
    "data_folder",
    "leading_rows_split",
    "read_arrays",
    "sparse_parts",
    "sparse_view",
    "write_arrays",
]

DATA_HOME_VARIABLE = "CONSILIENCE_DATA"
Arrays = dict[str, Any]  # NumPy arrays and scalars by name
LoadedData = Any  # a Bunch, or with return_X_y a pair of MultiViewData and labels


class DatasetError(OSError):
    """A data set is missing, unobtainable or damaged; the message says what to do."""


def data_folder(data_home: str | os.PathLike | None = None) -> Path:
    """Folder of all data sets: ``data_home``, ``CONSILIENCE_DATA`` or the user's cache."""
    given = data_home if data_home is not None else os.environ.get(DATA_HOME_VARIABLE)
    if given:
        return Path(given).expanduser()
    try:
        from platformdirs import user_cache_path
    except ImportError:
        raise DatasetError(
            "no folder for data sets: pass data_home=, set CONSILIENCE_DATA, or "
            "pip install 'consilience[data]' for a cache in the user's home"
        ) from None
    return user_cache_path("consilience", appauthor=False) / "data"


def read_arrays(path: Path) -> Arrays:
    """Read all arrays of an ``.npz`` file; if that fails, the file is reported as damaged."""
    try:
        with open(path, "rb") as file:
            arrays = np.load(file, allow_pickle=False)
            if not isinstance(arrays, np.lib.npyio.NpzFile):
                raise ValueError("a single array, not an archive of arrays")
            with arrays:
                return {key: arrays[key] for key in arrays.files}
    except PermissionError as error:
        raise DatasetError(f"{path} cannot be read ({error.strerror})") from error
    except (ValueError, KeyError, EOFError, zlib.error, zipfile.BadZipFile, OSError) as error:
        raise damaged_file_error(path, error) from error


def write_arrays(path: Path, arrays: Arrays) -> None:
    """Write an ``.npz`` file atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    write_atomically(path, buffer.getvalue())


def damaged_file_error(path: Path, reason: object) -> DatasetError:
    """Return the error for a file whose content is not as expected."""
    return DatasetError(
        f"{path} is damaged ({reason}); delete that file and fetch the data set again"
    )


def sparse_view(arrays: Arrays, name: str) -> sp.csr_array:
    """Return the CSR matrix stored as ``name_data``, ``_indices``, ``_indptr`` and ``_shape``."""
    data, indices, indptr, shape = (
        arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr", "shape")
    )
    if data.dtype.kind != "f":
        data = data.astype(np.float64)
    view = sp.csr_array((data, indices, indptr), shape=tuple(shape))
    view.check_format(full_check=True)
    return view


def sparse_parts(name: str, view: sp.csr_array) -> Arrays:
    """Return the arrays that store a CSR matrix, as read by ``sparse_view``."""
    view.sort_indices()
    return {
        f"{name}_data": view.data,
        f"{name}_indices": view.indices.astype(np.int32),
        f"{name}_indptr": view.indptr.astype(np.int32),
        f"{name}_shape": np.array(view.shape, dtype=np.int64),
    }


def leading_rows_split(n_train: int, n: int) -> dict[str, dict[str, np.ndarray]]:
    """Official split whose first ``n_train`` rows are for training and the others for test."""
    rows = np.arange(n)
    return {"official": {"train": rows[:n_train], "test": rows[n_train:]}}


def as_bunch(
    descr: str,
    views: Mapping[str, Any],
    target: Any,
    target_names: Any,
    *,
    splits: Mapping[str, Mapping[str, np.ndarray]] | None = None,
    feature_names: Mapping[str, np.ndarray] | None = None,
    sample_info: Mapping[str, np.ndarray] | None = None,
    present: np.ndarray | None = None,
    sample_ids: np.ndarray | None = None,
    kinds: Mapping[str, str] | None = None,
    return_X_y: bool = False,
) -> LoadedData:
    """Build what every loader returns."""
    data = MultiViewData(views, present=present, sample_ids=sample_ids, kinds=kinds)
    target = np.asarray(target).astype(np.intp)
    target_names = np.asarray(target_names)
    if target.shape != (len(data),) or not 0 <= target.min() <= target.max() < len(target_names):
        raise ValueError(f"labels of shape {target.shape} do not fit {len(data)} samples")
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        target_names=target_names,
        splits=splits or {},
        feature_names=feature_names or {},
        sample_info=sample_info or {},
        DESCR=descr,
    )
