"""Where the data sets lie on disk, and how they are read.

One folder holds one sub-folder per set with NumPy ``.npz`` files in it: plain arrays, never
pickles. It is the ``data_home`` of the caller, or the environment variable ``CONSILIENCE_DATA``, or
the user's cache. An offline mirror is such a folder that somebody else has filled.
"""

from __future__ import annotations

import os
import tempfile
import zipfile
import zlib
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.utils import Bunch

from consilience.views import MultiViewData

__all__ = [
    "DatasetError",
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


class DatasetError(OSError):
    """A data set is not here, cannot be had, or is damaged; the message says what to do."""


def data_folder(data_home=None):
    """The folder of all data sets: ``data_home``, ``CONSILIENCE_DATA`` or the user's cache."""
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


def read_arrays(path):
    """All arrays of an ``.npz`` file; a file that cannot be read whole is called damaged."""
    try:
        with open(path, "rb") as file:
            arrays = np.load(file, allow_pickle=False)
            if not isinstance(arrays, np.lib.npyio.NpzFile):
                raise ValueError("one array, not an archive of arrays")
            with arrays:
                return {key: arrays[key] for key in arrays.files}
    except PermissionError as error:
        raise DatasetError(f"{path} must not be read ({error.strerror})") from error
    except (ValueError, KeyError, EOFError, zlib.error, zipfile.BadZipFile, OSError) as error:
        raise damaged_file_error(path, error) from error


def write_arrays(path, arrays):
    """Write an ``.npz`` file in one step: other processes see all of it or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=".npz", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez_compressed(file, **arrays)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def damaged_file_error(path, reason):
    """The error for a file in the cache that is not what it should be."""
    return DatasetError(
        f"{path} is damaged ({reason}); delete that file and fetch the data set again"
    )


def sparse_view(arrays, name):
    """The CSR matrix stored as ``name_data``, ``name_indices``, ``name_indptr``, ``name_shape``."""
    data, indices, indptr, shape = (
        arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr", "shape")
    )
    if data.dtype.kind != "f":
        data = data.astype(np.float64)
    view = sp.csr_array((data, indices, indptr), shape=tuple(shape))
    view.check_format(full_check=True)
    return view


def sparse_parts(name, view):
    """The arrays that store a CSR matrix."""
    view.sort_indices()
    return {
        f"{name}_data": view.data,
        f"{name}_indices": view.indices.astype(np.int32),
        f"{name}_indptr": view.indptr.astype(np.int32),
        f"{name}_shape": np.array(view.shape, dtype=np.int64),
    }


def leading_rows_split(n_train, n):
    """The official split of files whose first ``n_train`` rows are the training part."""
    rows = np.arange(n)
    return {"official": {"train": rows[:n_train], "test": rows[n_train:]}}


def as_bunch(
    descr,
    views,
    target,
    target_names,
    *,
    splits=None,
    feature_names=None,
    sample_info=None,
    present=None,
    sample_ids=None,
    kinds=None,
    return_X_y=False,
):
    """What every loader returns."""
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
