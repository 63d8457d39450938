"""Matrices without rows or columns, and copies of files without any matrix, are refused."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from consilience.tables import FileArgument, TableError
from consilience.tables._matrix_files import check_sparse
from consilience.tables._omics import _read_matrix
from consilience.tables._var_columns import plan_var_copies


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


def test_copies_with_columns_about_features_need_matrices(tmp_path):
    with pytest.raises(TableError, match="--write-var needs an h5ad or h5mu file"):
        plan_var_copies([FileArgument(tmp_path / "a.csv", None)], tmp_path)
    (copy,) = plan_var_copies([FileArgument(tmp_path / "m.h5ad", "rna")], tmp_path / "out")
    assert copy.target == tmp_path / "out" / "m.h5ad"
