"""Files of HDF5 are measured before they are read, and do not lead to other files."""

import h5py
import numpy as np
import pytest

from consilience.tables import read_file
from consilience.tables._table import TableError
from tables.forged_files import h5

HUGE = 2**42  # values that a file declares and does not contain


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "cells.h5ad"
    path.write_bytes(h5(tmp_path, "h5ad"))
    return path


@pytest.mark.parametrize("place", ["obs/y/codes", "obs/_index", "var/_index", "X/data", "X/more"])
def test_declared_sizes_are_checked_before_anything_is_read(path, place):
    with h5py.File(path, "a") as file:
        attributes = dict(file[place].attrs) if place in file else {}
        if place in file:
            del file[place]
        file.create_dataset(place, shape=(HUGE,), dtype="i1", chunks=(2**20,))
        file[place].attrs.update(attributes)
    with pytest.raises(TableError, match=r"cells\.h5ad needs 32,768 GB of memory"):
        read_file(path)


@pytest.mark.parametrize("place", ["obs", "X", "X/data"])
def test_links_into_other_files_are_not_followed(path, tmp_path, place):
    other = tmp_path / "other.h5ad"
    other.write_bytes(path.read_bytes())
    with h5py.File(path, "a") as file:
        del file[place]
        file[place] = h5py.ExternalLink(str(other), place)
    with pytest.raises(TableError, match="is in another file"):
        read_file(path)


def test_raw_bytes_of_other_files_are_not_read(path, tmp_path):
    (tmp_path / "secret").write_bytes(bytes(8 * 24 * 6))
    with h5py.File(path, "a") as file:
        del file["X"]
        file.create_dataset(
            "X", (24, 6), "f8", external=[(str(tmp_path / "secret"), 0, h5py.h5f.UNLIMITED)]
        )
        file["X"].attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})
    with pytest.raises(TableError, match="X is in another file"):
        read_file(path)


def test_groups_that_contain_themselves(path):
    with h5py.File(path, "a") as file:
        file["X/again"] = file["X"]
    assert read_file(path)["cells"].matrix.shape == (24, 6)


def test_repeated_names_of_many_variables(path):
    """Quadratic once: minutes."""
    n = 200_000
    with h5py.File(path, "a") as file:
        del file["var/_index"], file["X"]
        names = np.repeat([f"gene {i}" for i in range(n // 2)], 2).astype(object)
        file.create_dataset("var/_index", data=names, dtype=h5py.string_dtype())
        file["var/_index"].attrs.update(
            {"encoding-type": "string-array", "encoding-version": "0.2.0"}
        )
        file.create_dataset("X", data=np.zeros((24, n), dtype="i1"))
        file["X"].attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})
    with pytest.raises(TableError, match=r"has several variables named 'gene 0'"):
        read_file(path)
