"""Matrices without rows or columns are refused by name."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from consilience.tables import TableError
from consilience.tables._matrix_files import check_sparse
from consilience.tables._omics import _read_matrix


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_sparse_matrices(shape):
    with pytest.raises(TableError, match=r"m.npz contains a sparse matrix of shape \(\d, \d\)"):
        check_sparse(Path("m.npz"), sp.csr_array(shape))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_matrices_of_h5ad_files(tmp_path, shape):
    h5py = pytest.importorskip("h5py")
    anndata = pytest.importorskip("anndata")
    with h5py.File(tmp_path / "m.h5ad", "w") as file:
        anndata.io.write_elem(file, "X", np.zeros(shape))
        with pytest.raises(TableError, match=r"m.h5ad: X has shape \(\d, \d\)"):
            _read_matrix(Path("m.h5ad"), file, "X")
