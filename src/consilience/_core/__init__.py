"""Compiled kernels behind one nanobind module: loops only, plain arrays in and out."""

from consilience._core._core import rbf_epilogue, smo_joint, smo_pair, sparse_gram

__all__ = ["rbf_epilogue", "smo_joint", "smo_pair", "sparse_gram"]
